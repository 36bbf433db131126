"""How layers are chained and what is passed on to them: who waits, who fails, what is read once more."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from analyzer.auth.keyring import Keyring
from analyzer.capture.capture_reader import CaptureReader
from analyzer.core.errors import InputError
from analyzer.core.events import BlockEnds, CaptureEnds, Problem
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.pipeline import segment_sources as segments_module
from analyzer.pipeline.case import write_case
from analyzer.pipeline.layer_chain import LayerChain
from analyzer.pipeline.live_reading import stream
from analyzer.pipeline.loaded_metadata import metadata_of
from analyzer.pipeline.packet_rereading import follow_messages
from analyzer.pipeline.run import (
    _LISTED_COST,
    EventCollector,
    _collect,
    analyze,
    smb_session_keys,
    tickets_in,
)
from analyzer.results.analysis import CaptureFacts
from analyzer.transport.channel.channels import ChannelClosed
from analyzer.transport.packet.segment import SegmentBatch
from tests import truth
from tests.build.buffers import wide
from tests.build.calls import COUNTERSET, Calls, analysis_of
from tests.build.rpc import CHANNEL
from tests.truth import CAPTURES

CLEAR = CAPTURES / "v1_samba_impacket_smb311_noauth.pcap"
WITH_KDC = "v1_samba_sambapy_krb5sha384_krb5_seal.pcap"
NOTHING = CaptureFacts((), 7, 0, None, None)


class _Layer:
    takes = frozenset({Problem})

    def feed(self, event: Any) -> list[Any]:
        return [event]

    def finish(self) -> list[Any]:
        return []


class _Waiting(_Layer):
    def __init__(self, since: int | None) -> None:
        self._since = since

    def open_since(self, since_ns: int) -> int | None:
        return self._since


@pytest.mark.parametrize(
    ("layers", "since"),
    [
        ([], None),
        ([_Layer()], None),
        ([_Waiting(None), _Layer()], None),
        ([_Waiting(9), _Layer(), _Waiting(5), _Waiting(None)], 5),
        ([_Layer(), _Waiting(9)], 9),
    ],
)
def test_a_chain_waits_since_the_first_of_its_layers_does(layers: list[Any], since: int | None) -> None:
    assert LayerChain(layers).open_since(3) == since


# ------------------------------------------------------------------------------------------------ failures


def failing(error: Exception) -> Any:
    def groups() -> Any:
        yield [Problem("gap", "tcp", (1,), "before")]
        raise error

    return [groups()]


def test_what_nobody_foresaw_ends_the_reading_where_somebody_is_told() -> None:
    told: list[Exception] = []
    error = ValueError("x")
    found = EventCollector(DEFAULTS)
    _collect(failing(error), found, lambda: NOTHING, told.append)
    assert told == [error]
    assert [problem.text for problem in found.problems] == [
        "before",
        "the program failed here (ValueError): nothing beyond frame 7 was read",
    ]
    assert (found.problems[1].kind, found.problems[1].layer, found.problems[1].frames) == ("failed", "pipeline", ())


def test_what_cannot_be_read_is_raised_whoever_is_told() -> None:
    told: list[Exception] = []
    for error, failed in ((InputError("x"), told.append), (ValueError("x"), None), (InputError("x"), None)):
        with pytest.raises(type(error), match="x"):
            _collect(failing(error), EventCollector(DEFAULTS), lambda: NOTHING, failed)
    assert told == []


# ------------------------------------------------------------------------------------------------ what is listed


def test_what_is_listed_is_bounded_by_its_memory() -> None:
    """A record costs 500 bytes as measured, and twice what it is written as."""
    problem = Problem("gap", "tcp", (1,), "text")
    cost = 500 + 2 * len(msgspec.msgpack.encode(problem, enc_hook=str))
    assert _LISTED_COST == 500
    for memory, listed in ((0, 0), (1, 1), (cost, 1), (cost + 1, 2), (2 * cost, 2), (2 * cost + 1, 3)):
        collected = EventCollector(Limits(listed_memory=memory))
        for _ in range(4):
            collected.take_event(problem)
        assert len(collected.problems) == listed, memory
        lacking = [one.text for one in collected.unlisted()]
        assert lacking == [f"{4 - listed} more problems of kind gap were met than are listed"]


def test_what_is_closed_by_the_end_of_the_capture_was_not_closed_in_it() -> None:
    collected = EventCollector(DEFAULTS)
    other = msgspec.structs.replace(CHANNEL, number=9)
    for event in (ChannelClosed(CHANNEL), CaptureEnds(), ChannelClosed(other)):
        collected.take_event(event)
    assert collected.closed == {CHANNEL.number}


def test_names_of_a_file_are_filled_in_where_a_case_is_opened(tmp_path: Path) -> None:
    """As where captures are read: what is known of a server goes to what the case does not state of it."""
    unnamed = analysis_of(Calls().open_query())
    path = tmp_path / "x.pcq"
    with path.open("wb") as out:
        write_case(unnamed, out)
    named = analysis_of(Calls().registration(9, wide("Process V2")))
    metadata = metadata_of(named.catalogs, named.name_tables, "names")
    opened = analyze([path], metadata=[metadata])
    server = unnamed.calls[0].server
    assert opened.catalogs.catalog_of(server).countersets[COUNTERSET].label == "Process V2"
    assert len(opened.calls) == 1
    assert COUNTERSET not in analyze([path]).catalogs.catalog_of(server).countersets
    with pytest.raises(InputError, match="opened alone"):
        analyze([path, path])


# ------------------------------------------------------------------------------------------------ engines


def test_the_other_engine_comes_in_blocks_only_where_calls_are_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments_module, "_SEGMENTS_OF_BLOCK", 2)
    # A problem is no segment, and no block ends at it.
    note = Problem("note", "test", (), "a note")
    batches = [*(next(_batches()) for _ in range(4)), note]
    info = SimpleNamespace(files=("a",), frames=1, bytes=2, first_time_ns=3, last_time_ns=4)

    class Engine(list[Any]):
        def __init__(self, sources: Any) -> None:
            super().__init__(batches)
            self.info = info

    monkeypatch.setattr("analyzer.transport.packet.tshark_engine.TsharkEngine", Engine)
    events, facts = segments_module.tshark_segments(["a"])
    assert list(events) == batches
    assert facts() == CaptureFacts(("a",), 1, 2, 3, 4)
    events, _ = segments_module.tshark_segments(["a"], streaming=True)
    ends = BlockEnds((batches[1].time_ns, 0))
    assert list(events) == [batches[0], ends, batches[1], batches[2], ends, batches[3], note]
    found = [type(event) for event in stream([CLEAR], engine="tshark")]
    assert found.count(BlockEnds) == 2
    assert analyze([CLEAR], engine="tshark").capture == facts()


def _batches() -> Any:
    segments, _ = segments_module.own_segments([CLEAR], None, DEFAULTS)
    return (event for event in segments if isinstance(event, SegmentBatch))


def test_who_asks_for_no_links_of_senders_gets_none() -> None:
    found = analyze([CLEAR])
    assert {link.src for link in found.flow_links} == {link.dst for link in found.flow_links}
    without = analyze([CLEAR], with_links=False)
    assert without.flow_links == ()
    assert without.capture == found.capture


def test_files_are_hashed_only_where_that_is_asked_for() -> None:
    for hashing, names in ((False, []), (True, [str(CLEAR)])):
        options = {"hashing": True} if hashing else {}
        segments, facts = segments_module.own_segments([str(CLEAR)], None, DEFAULTS, **options)
        events = list(segments)
        assert [digest.name for digest in facts().digests] == names
        assert not any(isinstance(event, BlockEnds) for event in events)


# ------------------------------------------------------------------------------------------------ readings for one thing


def test_session_keys_are_those_of_the_truth_and_unreadable_files_are_told(tmp_path: Path) -> None:
    capture = truth.captures()[0]
    keyring = Keyring.load(capture.secrets_path)
    keys = smb_session_keys([capture.path], keyring)
    assert len(keys) == len({session.session_id for session in analyze([capture.path], keyring).sessions})
    assert {len(key) for key in keys.values()} == {16}
    broken = tmp_path / "broken.pcap"
    broken.write_bytes(b"this is no capture")
    told: list[Problem] = []
    assert smb_session_keys([capture.path, str(broken)], keyring, lost=told.append) == keys
    assert [problem.kind for problem in told] == ["unreadable"]
    assert smb_session_keys([capture.path, str(broken)], keyring) == keys


def test_messages_and_segments_are_followed_once_more() -> None:
    messages: list[Any] = []
    segments: list[SegmentBatch] = []
    follow_messages(
        [CLEAR], Keyring(), DEFAULTS, message_log=lambda *given: messages.append(given), segment_log=segments.append
    )
    assert len(messages) > 50
    assert [segment.frame for segment in segments[:3]] == [segment.frame for segment in list(_batches())[:3]]
    assert len(segments) == len(list(_batches()))
    again: list[Any] = []
    follow_messages([CLEAR], Keyring(), DEFAULTS, message_log=lambda *given: again.append(given))
    assert len(again) == len(messages)


def test_tickets_are_found_in_the_traffic_of_a_kdc() -> None:
    found = [len(tickets_in(CaptureReader([CAPTURES / name]), DEFAULTS)) for name in (CLEAR.name, WITH_KDC)]
    assert found == [0, 1]
