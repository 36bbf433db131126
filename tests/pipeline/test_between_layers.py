"""What the pipeline does between the layers: the ends of blocks, a capture while it is read, and the packets of calls."""

from collections.abc import Generator, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.core.errors import InputError
from analyzer.core.events import BlockEnds, Conflict, Event, Moment, Problem
from analyzer.core.limits import Limits
from analyzer.pipeline import segment_sources as segments_module
from analyzer.pipeline.live_reading import Stream
from analyzer.pipeline.packet_rereading import packets_of
from analyzer.pipeline.run import analyze
from analyzer.results.analysis import CaptureFacts
from analyzer.results.calls.call import Call
from analyzer.results.captured_packets import Packets
from analyzer.transport.smb import smb2_session_setup
from analyzer.transport.smb.smb3_crypto import check_signature
from tests import truth
from tests.build.calls import Calls, analysis_of, winreg
from tests.build.rpc import CHANNEL

NS = 1_000_000_000
NOTE = Problem("note", "test", (), "a note")


class _Block(SimpleNamespace):
    """Frames by number and time."""

    def __init__(self, *frames: tuple[int, int]) -> None:
        numbers, times = zip(*frames, strict=True)
        super().__init__(frames=np.array(numbers), times_ns=np.array(times))

    def __len__(self) -> int:
        return len(self.frames)


class _Dissector:
    """Yields what it is asked for by name; `since_ns` is what it waits for."""

    def __init__(self, since_ns: int | None = None) -> None:
        self.since_ns = since_ns

    def feed(self, block: _Block) -> Iterator[Any]:
        yield f"fed {len(block)}"

    def flush(self) -> Iterator[Any]:
        yield "flushed"

    def finish(self) -> Iterator[Any]:
        yield "finished"


def read(blocks: Iterable[Any], since_ns: int | None = None, **options: Any) -> list[Any]:
    return list(segments_module.segments_of(blocks, _Dissector(since_ns), **options))


def test_problems_of_files_pass_and_all_frames_are_counted() -> None:
    seen: list[tuple[int, int]] = []
    blocks = [_Block((1, 10), (2, 20)), NOTE, _Block((3, 30))]
    found = read(blocks, progress=lambda count, position: seen.append((count, position)), position=lambda: 7)
    assert found == ["fed 2", NOTE, "fed 1", "finished"]
    assert seen == [(2, 7), (3, 7)]


def test_a_block_ends_behind_its_latest_frame() -> None:
    """Of several of one time, behind that with the highest number; a block that is older ends no earlier than one before."""
    blocks = [_Block((1, 10), (2, 30), (5, 30), (4, 30), (3, 20)), _Block((6, 5)), _Block((7, 30))]
    found = read(blocks, is_drained=lambda: False)
    assert found == [
        *("fed 5", BlockEnds((30, 6))),
        *("fed 1", BlockEnds((30, 6))),
        *("fed 1", BlockEnds((30, 8))),
        "finished",
    ]


@pytest.mark.parametrize(("since", "before"), [(5, (5, 0)), (30, (30, 0)), (31, (30, 3)), (None, (30, 3))])
def test_a_block_ends_before_what_waits_for_more(since: int | None, before: Moment) -> None:
    """What waits since a moment is read at that moment, whatever its number."""
    assert read([_Block((2, 30))], since, is_drained=lambda: False)[1] == BlockEnds(before)


def test_what_waits_for_order_is_given_out_when_nothing_more_is_there() -> None:
    assert read([_Block((2, 30))], is_drained=lambda: True) == ["fed 1", "flushed", BlockEnds((30, 3)), "finished"]


# ----------------------------------------------------------------------------------------- a capture while it is read


class _CallStream:
    """Gives out the calls it took when it is asked for what is before a moment."""

    def __init__(self) -> None:
        self.held: list[Call] = []
        self.asked: list[tuple[Moment | None, tuple[Any, ...]]] = []
        self.tally: dict[Any, int] = {}

    def take_call(self, call: Call) -> list[Problem]:
        self.held.append(call)
        return [Problem("note", "calls", (), f"call {call.call_id} was taken")]

    def until(self, before: Moment | None, passed_over: Iterable[Any]) -> Iterator[Call]:
        self.asked.append((before, tuple(passed_over)))
        yield from [one for one in self.held if before is None or one.time_ns < before[0]]
        self.held = [one for one in self.held if before is not None and one.time_ns >= before[0]]

    def notes(self) -> list[Problem]:
        return [Problem("note", "calls", (), "noted at the end")]


class _Collected:
    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.conflicts: list[Conflict] = []
        self.early: list[tuple[str, int]] = []

    def take_event(self, event: Event) -> None:
        if isinstance(event, Problem):
            self.problems.append(event)

    def ends_early(self, error: Exception, frames: int) -> None:
        self.early.append((str(error), frames))

    def unlisted(self) -> Iterator[Problem]:
        yield Problem("note", "test", (), "more of them")

    def analysis(self, capture: CaptureFacts, calls: Any, catalogs: Any, names: Any, *, secrets_given: bool) -> Any:
        analysis = analysis_of()
        return replace(analysis, capture=capture, calls=calls, secrets_given=secrets_given)


class _Given:
    """A stream, and what is behind it."""

    def __init__(self, *events: Any, open_since: int | None = None, **options: Any) -> None:
        self.calls, self.collected = _CallStream(), _Collected()
        self.is_closed = False
        self.frames = 0
        self.stream = Stream(
            self._events(events),
            lambda since: open_since,
            lambda before: [f"open before {before}"],
            self.calls,
            self.collected,
            self.facts,
            None,
            None,
            Limits(order_time=2),
            notes=[NOTE],
            **options,
        )

    def facts(self) -> CaptureFacts:
        first, last = (100, 200) if self.frames else (None, None)
        return CaptureFacts(("a.pcap",), self.frames, self.frames * 60, first, last, {"10.0.0.1": "SRV1"})

    def _events(self, events: tuple[Any, ...]) -> Generator[Event]:
        try:
            for event in events:
                self.frames += 1
                if isinstance(event, Exception):
                    raise event
                yield event
        finally:
            self.is_closed = True


def texts(found: Iterable[Any]) -> list[Any]:
    """Calls by their number on the wire, problems by their text, and ends of blocks as they are."""
    return [
        one.call_id if isinstance(one, Call) else one.text if isinstance(one, Problem) else one.before for one in found
    ]


ONE, TWO = analysis_of(*(Calls().exchange(3, b"", b"") for _ in range(2))).calls
LATE = replace(TWO, call_id=2, time_ns=9 * NS)


def test_calls_come_at_the_end_of_a_block_and_problems_before_them() -> None:
    given = _Given(ONE, BlockEnds((5 * NS, 3)), LATE, BlockEnds((6 * NS, 4)))
    assert texts(given.stream) == [
        *("call 1 was taken", 1, (5 * NS, 3)),
        *("call 2 was taken", (6 * NS, 4), 2),
        *("noted at the end", "a note", "more of them"),
    ]
    assert given.calls.asked == [
        ((5 * NS, 3), (f"open before {5 * NS}",)),
        ((6 * NS, 4), (f"open before {6 * NS}",)),
        (None, ()),
    ]
    assert given.is_closed


@pytest.mark.parametrize(("open_since", "before"), [(NS, (NS, 0)), (5 * NS, (5 * NS, 0)), (6 * NS, (5 * NS, 3))])
def test_what_is_open_keeps_later_calls_back(open_since: int, before: Moment) -> None:
    given = _Given(BlockEnds((5 * NS, 3)), open_since=open_since)
    assert texts(given.stream)[0] == (5 * NS, 3)
    assert given.calls.asked[0][0] == before


def test_what_is_known_of_the_capture_grows() -> None:
    """Before its end, the files and the time of its first frame."""
    given = _Given(ONE, BlockEnds((5 * NS, 3)), LATE)
    reading = iter(given.stream)
    assert not given.stream.is_finished
    next(reading)
    assert given.stream.analysis.capture == CaptureFacts(("a.pcap",), 0, 0, 100, None, {"10.0.0.1": "SRV1"})
    assert not given.stream.analysis.secrets_given
    list(reading)
    assert given.stream.is_finished
    assert given.stream.analysis.capture == CaptureFacts(("a.pcap",), 3, 180, 100, 200, {"10.0.0.1": "SRV1"})
    assert not given.stream.analysis.secrets_given
    assert len(given.stream.analysis.calls) == 0


def test_exchanges_of_other_interfaces_are_calls_too() -> None:
    given = _Given(Calls("12345678-1234-1234-1234-1234567890ab").exchange(3, b"", b""))
    assert texts(given.stream)[:2] == ["call 1 was taken", 1]


def test_a_failure_ends_the_reading_where_nobody_is_told() -> None:
    """Errors of input are the user's in either case."""
    given = _Given(ONE, ValueError("a test"))
    with pytest.raises(ValueError, match="a test"):
        list(given.stream)
    assert given.is_closed
    failed: list[Exception] = []
    given = _Given(ONE, error := ValueError("a test"), failed=failed.append)
    assert texts(given.stream) == ["call 1 was taken", 1, "noted at the end", "a note", "more of them"]
    assert failed == [error]
    assert given.collected.early == [("a test", 2)]
    given = _Given(InputError("no such file"), failed=failed.append)
    with pytest.raises(InputError):
        list(given.stream)
    assert failed == [error]


def test_names_of_a_file_are_filled_in_once_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """When its first call of counters comes, and at the end again, when the capture has said what it says."""
    asked: list[set[str]] = []

    def fill(catalogs: Any, names: Any, servers: Iterable[str], metadata: Any, *, instead: Any) -> Iterator[Problem]:
        asked.append(set(servers))
        yield Problem("note", "names", (), "it contradicts")

    monkeypatch.setattr("analyzer.pipeline.live_reading.fill_from_metadata", fill)
    other = replace(ONE, channel=1, server=replace(ONE.server, ip="10.0.0.7"))
    (registry,) = analysis_of(
        winreg(channel=replace(CHANNEL, server=replace(ONE.server, ip="10.0.0.8"))).open_key()
    ).calls
    stranger = replace(
        ONE, server=replace(ONE.server, ip="10.0.0.9"), interface=replace(ONE.interface, uuid=None, name=None)
    )
    calls = (ONE, ONE, other, registry, stranger)
    given = _Given(*calls, metadata=[object()])
    found = texts(given.stream)
    assert asked == [{"10.0.0.1"}, {"10.0.0.7"}, {"10.0.0.8"}, {"10.0.0.1", "10.0.0.7", "10.0.0.8"}]
    assert found[-4:] == ["noted at the end", "a note", "it contradicts", "more of them"]
    asked.clear()
    list(_Given(*calls).stream)
    assert asked == []


# ------------------------------------------------------------------------------------------------- packets of calls


def test_packets_of_some_calls_are_theirs_and_no_more_than_may_be_held() -> None:
    capture = next(one for one in truth.captures() if one.file == "v1_samba_sambapy_krb5sha384_krb5_seal.pcap")
    keyring = Keyring.load(capture.secrets_path)
    analysis = analyze([capture.path], keyring)

    def frames_of(packets: Packets) -> set[int]:
        return set(packets._ids)

    def packets(**options: Any) -> Packets:
        return packets_of([capture.path], analysis, keyring, **options)

    every, one = packets(), packets(numbers=[1])
    wanted = {frame for call in analysis.calls for frame in call.frames}
    assert frames_of(every) >= wanted
    assert set(analysis.calls[0].frames) <= frames_of(one) < frames_of(every)
    held_frames = map(every.frame, sorted(frames_of(every)))
    sizes = [len(frame.data) for frame in held_frames if frame is not None]
    for count in (0, 1, 3):
        for least, held in ((sum(sizes[:count]), count), (sum(sizes[:count]) + sizes[count] - 1, count)):
            assert len(frames_of(packets(most_bytes=least))) == held


def test_signatures_are_checked_by_the_first_reading_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    capture = next(one for one in truth.captures() if one.file == "v1_samba_sambapy_krb5sha384_krb5_seal.pcap")
    keyring = Keyring.load(capture.secrets_path)
    checked: list[int] = []

    def check(algorithm: int, *given: Any, **named: Any) -> bool:
        checked.append(algorithm)
        return check_signature(algorithm, *given, **named)

    monkeypatch.setattr(smb2_session_setup, "check_signature", check)
    analysis = analyze([capture.path], keyring)
    assert len(checked) == 31
    packets = packets_of([capture.path], analysis, keyring)
    assert len(checked) == 31
    assert packets.lacking.startswith("it is beyond the first")
