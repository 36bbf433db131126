"""The second engine without tshark: what is asked of it, what is made of its words, and how files take turns."""

import asyncio
import errno
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from analyzer.core.errors import InputError
from analyzer.core.events import Event, Problem
from analyzer.core.frame_ids import frame_id
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.packet import tshark_engine
from analyzer.transport.packet.frame_dissector import LostSegment
from analyzer.transport.packet.segment import SegmentBatch
from analyzer.transport.packet.tshark_engine import (
    _BATCH,
    _BATCHES_AHEAD,
    Complaint,
    TsharkEngine,
    _nanoseconds,
)

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("1700000000", 1_700_000_000 * SECOND),
        ("1700000000.000000001", 1_700_000_000 * SECOND + 1),
        ("1700000000.5", 1_700_000_000 * SECOND + 500_000_000),
        ("1700000000.123456789123", 1_700_000_000 * SECOND + 123_456_789),
        ("-1.250000000", -1_250_000_000),
        ("-0.000000001", -1),
        # As tshark 4.2 and later write it (ISO 8601).
        ("2023-11-14T22:13:20.000000007Z", 1_700_000_000 * SECOND + 7),
        ("2023-11-14T22:13:20Z", 1_700_000_000 * SECOND),
        ("1969-12-31T23:59:59.75Z", -SECOND - 750_000_000),
    ],
)
def test_times_of_frames_are_whole_nanoseconds(text: str, expected: int) -> None:
    assert _nanoseconds(text) == expected


def test_a_missing_program_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tshark_engine.shutil, "which", lambda name: f"/bin/{name}" if name == "tshark" else None)
    assert tshark_engine.find_tshark() == "/bin/tshark"
    with pytest.raises(InputError, match="There is no tshark at /opt/x"):
        tshark_engine.find_tshark("/opt/x")
    monkeypatch.setattr(tshark_engine.shutil, "which", lambda _name: None)
    with pytest.raises(InputError, match="tshark is not installed; on Debian and Ubuntu it is the package `tshark`"):
        tshark_engine.find_tshark()


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> TsharkEngine:
    monkeypatch.setattr(tshark_engine, "find_tshark", lambda _path: "tshark")
    (tmp_path / "a.pcap").write_bytes(b"")
    return TsharkEngine(tmp_path / "a.pcap")


def test_of_tshark_only_what_is_below_our_layers_is_asked(
    engine: TsharkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its reassembly of TCP and what is above is switched off, which of IP is on; raw bytes come with each field."""
    asked: list[Any] = []
    monkeypatch.setattr(tshark_engine, "open_capture", lambda *given, **named: asked.append((given, named)))
    engine._open(Path("x"), ["-j", "frame"])
    assert asked == [
        (
            (Path("x"), "tshark"),
            {
                "use_json": True,
                "include_raw": True,
                "override_prefs": {
                    "tcp.desegment_tcp_streams": "FALSE",
                    "tcp.analyze_sequence_numbers": "FALSE",
                    "tcp.relative_sequence_numbers": "FALSE",
                    "tcp.calculate_timestamps": "FALSE",
                    "ip.defragment": "TRUE",
                    "ipv6.defragment": "TRUE",
                },
                "custom_parameters": [
                    *("-j", "frame", "--disable-protocol", "nbss", "--disable-protocol", "smb"),
                    *("--disable-protocol", "smb2", "--disable-protocol", "dcerpc"),
                ],
            },
        )
    ]


def layer(name: str, fields: dict[str, Any], *inner: dict[str, Any]) -> Any:
    duplicates = [SimpleNamespace(_all_fields=one) for one in inner]
    return SimpleNamespace(layer_name=name, _all_fields=fields, duplicate_layers=duplicates)


IP = {"ip.src": "192.0.2.1", "ip.dst": "192.0.2.2"}
TCP = {
    "tcp.srcport": "50000",
    "tcp.dstport": "445",
    "tcp.seq": "1000",
    "tcp.ack": "2000",
    "tcp.flags": "0x0118",
    "tcp.window_size_value": "8192",
    "tcp.len": "5",
    "tcp.payload_raw": ["68656c6c6f", 54, 5, 0, 30],
}
WHOLE = (bytes(54) + b"hello").hex()


def packet(
    *layers: Any,
    protocols: str = "eth:ethertype:ip:tcp",
    whole: str | None = WHOLE,
    number: int = 7,
    time: str = "5.5",
    captured: int = 59,
) -> Any:
    info = SimpleNamespace(_all_fields={"frame.protocols": protocols, "frame.cap_len": str(captured)})
    raw = [SimpleNamespace(layer_name="frame_raw", value=whole)] if whole is not None else []
    return SimpleNamespace(
        frame_info=info, layers=[*raw, *layers], number=str(number), sniff_timestamp=time, length="60"
    )


def segment_of(engine: TsharkEngine, made: Any) -> Any:
    found = engine._segment(made, 7, 99)
    if not isinstance(found, SegmentBatch):
        return found
    (segment,) = list(found)
    return segment


@pytest.mark.parametrize("whole", [None, WHOLE[2:], WHOLE[:-2]])
def test_a_payload_that_does_not_lie_in_its_frame_counts_from_its_own_beginning(
    engine: TsharkEngine, whole: str | None
) -> None:
    segment = segment_of(engine, packet(layer("ip", IP), layer("tcp", TCP), whole=whole))
    assert segment.payload.data == b"hello"
    assert segment.payload.origin(0, 5)[0].start == 0


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"tcp.len": "9"}, (b"hello", 4, 2000)),
        ({"tcp.len": "3"}, (b"hello", 0, 2000)),
        ({"tcp.payload_raw": None}, (b"", 5, 2000)),
        ({"tcp.ack": None}, (b"hello", 0, 0)),
    ],
)
def test_what_was_not_captured_of_a_segment_is_counted(
    engine: TsharkEngine, changes: dict[str, str | None], expected: tuple[bytes, int, int]
) -> None:
    fields = {name: value for name, value in {**TCP, **changes}.items() if value is not None}
    segment = segment_of(engine, packet(layer("ip", IP), layer("tcp", fields)))
    assert (segment.payload.data, segment.missing, segment.ack) == expected


@pytest.mark.parametrize(
    "missing", ["tcp.srcport", "tcp.dstport", "tcp.seq", "tcp.flags", "tcp.window_size_value", "tcp.len"]
)
@pytest.mark.parametrize(("captured", "kind"), [(59, "truncated"), (60, "malformed")])
def test_a_header_that_was_cut_is_lost_for_another_reason_than_one_that_makes_no_sense(
    engine: TsharkEngine, missing: str, captured: int, kind: Any
) -> None:
    fields = {name: value for name, value in TCP.items() if name != missing}
    made = packet(layer("ip", IP), layer("tcp", fields), captured=captured)
    assert segment_of(engine, made) == LostSegment(kind, None, 7, 99)


@pytest.mark.parametrize(
    ("protocols", "layers", "captured", "kind"),
    [
        ("eth:ethertype:ip", [layer("ip", {})], 59, "truncated"),
        ("eth:ethertype:ipv6", [layer("ipv6", {"ipv6.src": "::1"})], 59, "truncated"),
        ("eth:ethertype:ip:tcp", [layer("ip", IP)], 59, "truncated"),
        ("eth:ethertype:ip", [layer("ip", {"ip.version": "8"})], 60, "malformed"),
        ("eth:ethertype:ip:udp:ip", [layer("ip", IP, {"ip.version": "4"})], 60, "malformed"),
        ("eth:ethertype:ip", [layer("ip", IP)], 59, None),
        ("eth", [], 59, "truncated"),
        ("eth:ethertype:vlan", [], 59, "truncated"),
        ("eth", [], 60, None),
        ("eth:ethertype:arp", [], 59, None),
        ("eth:ethertype:ip:udp", [layer("ip", IP)], 59, None),
        ("eth:ethertype:ip:icmp:ip", [layer("ip", {})], 59, None),
    ],
)
def test_a_frame_whose_ip_header_is_not_whole_is_lost(
    engine: TsharkEngine, protocols: str, layers: list[Any], captured: int, kind: Any
) -> None:
    made = packet(*layers, protocols=protocols, captured=captured)
    assert segment_of(engine, made) == (LostSegment(kind, None, 7, 99) if kind else None)


@pytest.mark.parametrize("is_in_frame", [True, False])
def test_a_payload_behind_options_that_tshark_cannot_read_is_taken_from_the_frame(
    engine: TsharkEngine, *, is_in_frame: bool
) -> None:
    """tshark stops at such options and states no payload. A header of joined fragments lies in no frame."""
    fields = {name: value for name, value in TCP.items() if name != "tcp.payload_raw"} | {
        "tcp.hdr_len": "20",
        "tcp.srcport_raw": ["c350", 34, 2, 0, 5],
        "tcp.dstport_raw": ["01bd", 36, 2, 0, 5],
        "tcp.seq_raw": ["000003e8", 38, 4, 0, 5],
    }
    header = "c35001bd000003e8" if is_in_frame else "c35001bd000003e9"
    whole = bytes(34).hex() + header + bytes(12).hex() + b"hello".hex()
    segment = segment_of(engine, packet(layer("ip", IP), layer("tcp", fields), whole=whole))
    assert (segment.payload.data, segment.missing) == ((b"hello", 0) if is_in_frame else (b"", 5))
    if is_in_frame:
        assert segment.payload.origin(0, 5)[0].start == 54


SIX = {"ipv6.src": "2001:db8::1", "ipv6.dst": "2001:db8::2"}


@pytest.mark.parametrize(
    ("protocols", "layers", "src"),
    [
        ("eth:ethertype:ipv6:tcp", [layer("ipv6", SIX)], "2001:db8::1"),
        # Of several headers the innermost below the last TCP.
        ("eth:ip:ipv6:tcp:data", [layer("ip", IP), layer("ipv6", SIX)], "2001:db8::1"),
        ("eth:ipv6:ip:tcp", [layer("ipv6", SIX), layer("ip", IP)], "192.0.2.1"),
        ("eth:ip:gre:ip:tcp", [layer("ip", IP, {"ip.src": "192.0.2.3", "ip.dst": "192.0.2.4"})], "192.0.2.3"),
        ("eth:ip:tcp:data:ipv6", [layer("ip", IP), layer("ipv6", SIX)], "192.0.2.1"),
        # None: what an ICMP message quotes, no TCP, no header below it or none given.
        ("eth:ip:icmp:ip:tcp", [layer("ip", IP)], None),
        ("eth:ipv6:icmpv6:ipv6:tcp", [layer("ipv6", SIX)], None),
        ("eth:ip:udp", [layer("ip", IP)], None),
        ("eth:tcp", [layer("ip", IP)], None),
        ("eth:ip:tcp", [layer("ipv6", SIX)], None),
    ],
)
def test_the_innermost_addresses_are_those_of_the_segment(
    engine: TsharkEngine, protocols: str, layers: list[Any], src: str | None
) -> None:
    found = segment_of(engine, packet(*layers, layer("tcp", TCP), protocols=protocols, captured=60))
    assert (found.src.ip if found is not None else None) == src


def test_ends_are_remembered_up_to_a_bound(engine: TsharkEngine) -> None:
    one = engine._end("192.0.2.1", "445")
    assert engine._end("192.0.2.1", "445") is one
    engine._ends.update({("x", str(port)): one for port in range((1 << 16) - 1)})
    assert len(engine._ends) == 1 << 16
    assert engine._end("192.0.2.1", "445") is one
    assert engine._end("192.0.2.1", "446") == Endpoint("192.0.2.1", 446)
    assert len(engine._ends) == 1


class CrashError(Exception):
    """In place of pyshark's, which need not be installed."""


class Capture:
    """What pyshark opens."""

    def __init__(self, given: list[Any], *, last: str | None = None, crash: str | None = None) -> None:
        self.input_filepath = Path("made.pcap")
        self._given, self._crash, self._last_error_line = given, crash, last
        self._running_processes, self.closed, self.turns = {1}, 0, 0
        self.eventloop = SimpleNamespace(run_until_complete=self._turn, close=lambda: self._close_loop())

    def _turn(self, waiting: Any) -> None:
        waiting.close()
        self.turns += 1

    def _close_loop(self) -> None:
        self.closed += 10

    def close(self) -> None:
        self.closed += 1

    def __iter__(self) -> Iterator[Any]:
        yield from self._given
        if self._crash is not None:
            raise CrashError(self._crash)


@pytest.mark.parametrize(
    ("last", "crash", "complaint"),
    [
        (None, None, None),
        ("Running as user root", None, None),
        ("tshark: The file is cut short. ", None, "The file is cut short."),
        (None, "ended with 2", "ended with 2"),
        ("Running as user root", "ended with 2", "Running as user root"),
        ("tshark: damaged", "ended with 2", "damaged"),
    ],
)
def test_what_tshark_says_of_a_file_comes_last(
    last: str | None, crash: str | None, complaint: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyshark", "pyshark.capture", "pyshark.capture.capture"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(TSharkCrashException=CrashError))
    capture = Capture([1, 2], last=last, crash=crash)
    assert list(tshark_engine.packets(capture)) == [1, 2, *([Complaint(complaint)] if complaint is not None else [])]
    assert (capture.closed, capture.turns, capture._running_processes) == (11, 1, set())


def frames_of(engine: TsharkEngine, monkeypatch: pytest.MonkeyPatch, given: list[Any]) -> list[Any]:
    monkeypatch.setattr(engine, "_open", lambda *_: None)
    monkeypatch.setattr(tshark_engine, "packets", lambda _capture: iter(given))
    return list(engine._read(0))


def test_what_was_read_is_counted(engine: TsharkEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    arp = "eth:ethertype:arp"
    made = [packet(number=1, time="5.5", protocols=arp), packet(number=2, time="4.75", protocols=arp)]
    made.append(packet(layer("ip", IP), layer("tcp", TCP), number=3, time="6"))
    del made[1].frame_info._all_fields["frame.cap_len"]
    found = frames_of(engine, monkeypatch, [*made, Complaint("cut short")])
    assert [time for time, _ in found] == [5_500_000_000, 4_750_000_000, 6 * SECOND, 6 * SECOND]
    assert [len(events) for _, events in found] == [0, 0, 1, 1]
    assert found[-1][1] == [Problem("truncated", "capture", (frame_id(0, 3),), "tshark: cut short")]
    assert (engine.info.frames, engine.info.bytes) == (3, 59 + 60 + 59)
    assert (engine.info.first_time_ns, engine.info.last_time_ns) == (4_750_000_000, 6 * SECOND)


def test_a_file_that_tshark_does_not_read_at_all_is_refused_or_left_out(
    engine: TsharkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="tshark: no capture"):
        frames_of(engine, monkeypatch, [Complaint("no capture")])
    engine._is_one_of_several = True
    ((time, (problem,)),) = frames_of(engine, monkeypatch, [Complaint("no capture")])
    assert time == 0
    assert problem.kind == "unreadable"
    assert "tshark: no capture" in problem.text


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        # Two that overlap, one behind the other, and a file whose own times go back.
        ([[1, 4, 6], [2, 3, 9]], [(0, 1), (1, 2), (1, 3), (0, 4), (0, 6), (1, 9)]),
        ([[5, 6], [1, 2]], [(1, 1), (1, 2), (0, 5), (0, 6)]),
        ([[1, 8, 2, 9], [3, 8]], [(0, 1), (1, 3), (0, 8), (0, 2), (1, 8), (0, 9)]),
        ([[1, 2], [2, 3], [2]], [(0, 1), (0, 2), (1, 2), (2, 2), (1, 3)]),
    ],
)
def test_files_take_turns_by_time(
    times: list[list[int]], expected: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tshark_engine, "find_tshark", lambda _path: "tshark")
    paths: list[str | Path] = [tmp_path / f"{number}.pcap" for number in range(len(times))]
    for path in paths:
        Path(path).write_bytes(b"")
    engine = TsharkEngine(paths)

    def read(at: int) -> Iterator[tuple[int, list[Event]]]:
        for time in times[at]:
            yield time, [Problem("note", "capture", (at, time), "x")]

    monkeypatch.setattr(engine, "_read", read)
    monkeypatch.setattr(engine, "_first_time", lambda at: times[at][0])
    assert [event.frames for event in engine if isinstance(event, Problem)] == expected


def test_a_thread_hands_over_in_batches_and_stops_when_nobody_listens() -> None:
    assert (_BATCH, _BATCHES_AHEAD) == (64, 8)
    for count in (0, 1, 63, 64, 65, 200):
        assert list(tshark_engine.in_thread(lambda count=count: iter(range(count)))) == list(range(count))
    made, ended = [0], threading.Event()

    def endless() -> Iterator[int]:
        try:
            while True:
                made[0] += 1
                yield made[0]
        finally:
            ended.set()

    items = tshark_engine.in_thread(endless)
    assert [next(items) for _ in range(3)] == [1, 2, 3]
    items.close()
    assert ended.is_set()
    # What was made: what was handed over, what waited, and the batch in between.
    assert made[0] <= (_BATCHES_AHEAD + 2) * _BATCH

    def fails() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        list(tshark_engine.in_thread(fails))


@pytest.mark.parametrize(
    ("given", "expected"),
    [([], 0), ([Complaint("no capture")], 0), ([packet(time="5.5"), packet(time="7")], 5_500_000_000)],
)
def test_a_file_begins_with_its_first_frame_or_at_zero(
    given: list[Any], expected: int, engine: TsharkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(engine, "_open", lambda *given: asked.append(given))
    monkeypatch.setattr(tshark_engine, "packets", lambda _capture: iter(given))
    assert engine._first_time(0) == expected
    assert asked == [(engine._paths[0], ["-c", "1", "-j", "frame"])]


def test_what_the_system_refuses_is_said_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pyshark opens the file and starts tshark at the first packet; neither is a mistake of the program where it fails."""

    class Refused:
        input_filepath = tmp_path / "a.pcap"
        _running_processes: ClassVar[set[Any]] = set()

        def __init__(self, *_: Any, eventloop: Any = None, **__: Any) -> None:
            self.eventloop = eventloop or asyncio.new_event_loop()
            if eventloop is not None:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

        def __iter__(self) -> Iterator[Any]:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))

        def close(self) -> None:
            """Nothing runs."""

    monkeypatch.setattr("pyshark.FileCapture", Refused)
    monkeypatch.setattr(tshark_engine, "find_tshark", lambda _path: "tshark")
    (tmp_path / "a.pcap").touch()
    with pytest.raises(InputError, match=r"^tshark cannot read .*a\.pcap: Too many open files$"):
        tshark_engine.open_capture(tmp_path / "a.pcap", None)
    with pytest.raises(InputError, match=r"^tshark cannot read .*a\.pcap: No such file or directory$"):
        list(tshark_engine.packets(Refused()))


def test_so_many_incomplete_datagrams_are_followed_and_others_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tshark_engine, "REMEMBERED", 3)
    monkeypatch.setattr(tshark_engine, "_is_cut", lambda packet: False)
    datagrams = tshark_engine._Datagrams()
    fragment = {"ip.src": "10.0.0.1", "ip.dst": "10.0.0.2", "ip.proto": "6", "ip.flags": "0x1", "ip.frag_offset": "8"}
    for number in range(1, 9):
        assert datagrams.note(None, {**fragment, "ip.id": str(number)}, number, 1000 * number)
    lost = list(datagrams.lost())
    assert [(one.kind, one.frame, one.more) for one in lost] == [("gap", 1, 4), *(("gap", at, 0) for at in (6, 7, 8))]
