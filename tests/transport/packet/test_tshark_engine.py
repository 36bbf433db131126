"""The second engine must find what our own layers find: the same segments with the same addresses of their bytes."""

import asyncio
import gzip
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace
from scapy.layers.inet import ICMP, IP, TCP, UDP, fragment
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import GRE, Dot1Q, Ether
from scapy.packet import Packet, Raw
from scapy.utils import wrpcap

from analyzer.capture.capture_reader import CaptureInfo, CaptureReader
from analyzer.core.errors import InputError
from analyzer.core.events import Event, Problem
from analyzer.transport.packet.block_dissector import Dissector
from analyzer.transport.packet.segment import Segment, SegmentBatch, UdpPayload
from analyzer.transport.packet.tshark_engine import TsharkEngine, find_tshark
from tests.build.capture import T0, pcap

pytestmark = pytest.mark.needs("tshark")

CAPTURES = Path(__file__).parents[3] / "captures"
# Length field of direct TCP and the beginning of an SMB2 header: a candidate for our own reader.
SMB = bytes.fromhex("00000044fe534d4240000000") + bytes(60)


@cache
def read(name: str) -> tuple[tuple[Event, ...], CaptureInfo]:
    """What tshark finds in a capture of ours."""
    engine = TsharkEngine(CAPTURES / name)
    return tuple(engine), engine.info


def own(path: Path) -> tuple[list[Event], CaptureInfo]:
    reader, dissector = CaptureReader([path]), Dissector()
    found: list[Event] = []
    for item in reader:
        found.extend([item] if isinstance(item, Problem) else dissector.feed(item))
    found.extend(dissector.finish())
    return found, reader.info


def segments(events: Iterable[Event]) -> list[Segment]:
    """The segments; tshark is not asked for checksums."""
    found = [segment for event in events if isinstance(event, SegmentBatch) for segment in event]
    return [replace(segment, is_doubted=False) for segment in found]


def ether() -> Packet:
    """Both addresses given, or scapy would ask the network for them."""
    return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


def written(path: Path, frames: list[Packet]) -> Path:
    for at, frame in enumerate(frames):
        frame.time = 1_700_000_000 + at / 1000
    wrpcap(str(path), frames)
    return path


def tcp(payload: bytes = SMB, seq: int = 100, flags: str = "PA") -> TCP:
    return TCP(sport=50000, dport=445, seq=seq, ack=7, flags=flags, window=512) / Raw(payload)


@pytest.mark.parametrize("kept", [10, 13, 14, 24, 33, 40])
def test_says_the_same_of_frames_that_are_cut_or_make_no_sense(tmp_path: Path, kept: int) -> None:
    """After each cut frame, one whose TCP header says that it ends within itself, and one whose options tshark cannot read."""
    whole = bytes(ether() / IP(src="192.0.2.1", dst="192.0.2.2") / tcp())
    short = whole[:46] + b"\x20" + whole[47:]
    options = bytes.fromhex("05042c1f0501ae050618a4fd03b10500ae1448766a78815c")
    odd = bytes(ether() / IP(src="192.0.2.1", dst="192.0.2.2") / TCP(dataofs=11) / Raw(options + SMB))
    odd = odd[:34] + whole[34:46] + b"\xb0" + odd[47:]
    kinds = [(whole, len(whole)), (whole[:kept], len(whole)), (short, len(short)), (odd, len(odd))]
    path = tmp_path / "cut.pcap"
    path.write_bytes(pcap((T0 + at, *kind) for at, kind in enumerate(3 * kinds)))
    ours, _ = own(path)
    engine = list(TsharkEngine(path))
    assert segments(engine) == segments(ours)
    assert [len(segment.payload) for segment in segments(engine)] == 6 * [len(SMB)]
    problems = [[one for one in events if isinstance(one, Problem) and one.kind != "note"] for events in (engine, ours)]
    assert problems[0] == problems[1]
    assert [(one.kind, len(one.frames)) for one in problems[0]] == [("truncated", 3), ("malformed", 3)]


@pytest.mark.parametrize(
    "name", ["n_v1_reordered.pcap", "n_v1_snap160.pcap", "n_v1_pcapng.pcapng", "n_v1_midstream.pcap"]
)
def test_finds_the_same_segments_as_our_own_layers(name: str) -> None:
    events, read_info = read(name)
    ours, info = own(CAPTURES / name)
    assert segments(events) == segments(ours)
    assert len(segments(events)) > 50
    assert (read_info.frames, read_info.bytes) == (info.frames, info.bytes)
    assert (read_info.first_time_ns, read_info.last_time_ns) == (info.first_time_ns, info.last_time_ns)


def test_takes_the_innermost_addresses_of_a_tunnel(tmp_path: Path) -> None:
    inner = IP(src="10.0.0.1", dst="10.0.0.2") / tcp()
    path = written(tmp_path / "gre.pcap", [ether() / IP(src="192.0.2.1", dst="192.0.2.2") / GRE() / inner])
    (segment,) = segments(list(TsharkEngine(path)))
    assert (str(segment.src), str(segment.dst)) == ("10.0.0.1:50000", "10.0.0.2:445")
    assert segment.payload.data == SMB
    assert segment.payload.origin(0, 4)[0].start == 14 + 20 + 4 + 20 + 20


def test_reads_ipv6_and_tags(tmp_path: Path) -> None:
    path = written(
        tmp_path / "six.pcap", [ether() / Dot1Q(vlan=3) / IPv6(src="2001:db8::1", dst="2001:db8::2") / tcp()]
    )
    events = list(TsharkEngine(path))
    assert segments(events) == segments(own(path)[0])
    assert str(segments(events)[0].src) == "[2001:db8::1]:50000"


def test_joins_fragments_and_counts_from_the_payload(tmp_path: Path) -> None:
    pieces = fragment(IP(src="192.0.2.1", dst="192.0.2.2") / tcp(SMB * 5), fragsize=64)
    path = written(tmp_path / "fragments.pcap", [ether() / piece for piece in pieces])
    (segment,) = segments(list(TsharkEngine(path)))
    assert segment.payload.data == SMB * 5
    assert segment.frame == len(pieces)
    assert segment.payload.origin(10, 11)[0].start == 10


def test_says_the_same_of_datagrams_that_are_incomplete(tmp_path: Path) -> None:
    """One each without its first, its second and its last fragment, one of another port, one that is cut, one twice whole."""

    def pieces(ident: int, port: int = 445) -> list[bytes]:
        whole = IP(src="192.0.2.1", dst="192.0.2.2", id=ident) / TCP(sport=50000, dport=port) / Raw(SMB * 5)
        return [bytes(ether() / piece) for piece in fragment(whole, fragsize=64)]

    sent = [
        (piece, len(piece))
        for ident in (1, 2, 3)
        for at, piece in enumerate(pieces(ident))
        if at != (0, 1, 5)[ident - 1]
    ]
    sent += [(piece, len(piece)) for piece in pieces(4, port=80)[:3]]
    sent += [(piece[:50], len(piece)) for piece in pieces(5)]
    sent += [(piece, len(piece)) for piece in 2 * pieces(6)]
    path = tmp_path / "fragments.pcap"
    path.write_bytes(pcap((T0 + at * 1000, *one) for at, one in enumerate(sent)))
    engine, ours = [event for event in TsharkEngine(path) if isinstance(event, Problem)], own(path)[0]
    stated = [event for event in ours if isinstance(event, Problem) and event.kind != "note"]
    assert engine == stated
    assert sorted((problem.kind, len(problem.frames)) for problem in engine) == [("gap", 3), ("truncated", 1)]


def test_does_not_take_the_header_an_icmp_message_quotes_for_a_segment(tmp_path: Path) -> None:
    quoted = IP(src="192.0.2.1", dst="192.0.2.2") / tcp()
    frames = [ether() / IP(src="192.0.2.9", dst="192.0.2.1") / ICMP(type=3, code=1) / quoted]
    assert list(TsharkEngine(written(tmp_path / "icmp.pcap", frames))) == []


def test_finds_the_same_datagrams_of_kdcs(tmp_path: Path) -> None:
    """Their replies name the users of tickets (RFC 4120 section 7.2.1)."""
    kdc, client = (IP(src=f"10.0.0.{one}", dst=f"10.0.0.{other}") for one, other in ((53, 2), (2, 53)))
    reply = UDP(sport=88, dport=40000) / Raw(b"k\x82 a reply of a KDC")
    quoted = ICMP(type=3, code=3) / kdc / UDP(sport=88, dport=40001) / Raw(b"k\x82 quoted")
    frames = [
        ether() / kdc / reply,
        ether() / client / UDP(sport=40000, dport=88) / Raw(b"l\x82 a request"),
        ether() / client / UDP(sport=40000, dport=53) / Raw(b"a question about names"),
        ether() / client / quoted,
        ether() / kdc / UDP(sport=88, dport=40000),
        *fragment(ether() / kdc / UDP(sport=88, dport=40000) / Raw(b"k\x82" + bytes(200)), fragsize=120),
    ]
    path = written(tmp_path / "kdc.pcap", frames)
    found = [event.payload.data for event in TsharkEngine(path) if isinstance(event, UdpPayload)]
    assert found == [b"k\x82 a reply of a KDC", b"k\x82" + bytes(200)]
    assert found == [event.payload.data for event in own(path)[0] if isinstance(event, UdpPayload)]


def test_several_files_are_one_capture_in_time_order(tmp_path: Path) -> None:
    frames = [ether() / IP(src="192.0.2.1", dst="192.0.2.2") / tcp(bytes([at]) * 9, 100 + 9 * at) for at in range(6)]
    for at, frame in enumerate(frames):
        frame.time = 1_700_000_000 + at
    wrpcap(str(tmp_path / "odd.pcap"), frames[1::2])
    wrpcap(str(tmp_path / "even.pcap"), frames[::2])
    found = segments(list(TsharkEngine([tmp_path / "odd.pcap", tmp_path / "even.pcap"])))
    assert [segment.payload.data[0] for segment in found] == list(range(6))
    assert found[0].frame == (1 << 40) + 1
    assert found[1].frame == 1


def test_a_file_cut_short_gives_what_it_holds_and_a_problem(tmp_path: Path) -> None:
    whole = (CAPTURES / "n_v1_reordered.pcap").read_bytes()
    path = tmp_path / "cut.pcap"
    path.write_bytes(whole[:-30])
    events = list(TsharkEngine(path))
    assert len(segments(events)) > 50
    assert [event.kind for event in events if isinstance(event, Problem)] == ["truncated"]
    assert "cut short" in str(events[-1])


def test_reads_what_wireshark_opens_compressed(tmp_path: Path) -> None:
    path = tmp_path / "any.name"
    path.write_bytes(gzip.compress((CAPTURES / "n_v1_midstream.pcap").read_bytes()))
    assert segments(list(TsharkEngine(path))) == segments(own(CAPTURES / "n_v1_midstream.pcap")[0])


def test_what_tshark_cannot_read_is_reported_in_its_own_words(tmp_path: Path) -> None:
    path = tmp_path / "novel.txt"
    path.write_text("It was a dark and stormy night.")
    with pytest.raises(InputError, match="isn't a capture file"):
        list(TsharkEngine(path))


def test_a_missing_file_and_a_missing_tshark_are_one_sentence_each(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.pcap"):
        list(TsharkEngine(tmp_path / "nowhere.pcap"))
    with pytest.raises(InputError, match="package `tshark`"):
        find_tshark(str(tmp_path / "tshark"))


def test_stopping_early_leaves_nothing_running() -> None:
    found = iter(TsharkEngine(CAPTURES / "n_v1_reordered.pcap"))
    assert isinstance(next(found), SegmentBatch)
    found.close()


def test_works_where_an_event_loop_runs_already() -> None:
    async def cell() -> int:
        return len(segments(list(TsharkEngine(CAPTURES / "n_v1_midstream.pcap"))))

    assert asyncio.run(cell()) > 50


@pytest.mark.needs("pyshark")
def test_works_where_pyshark_was_used_before() -> None:
    """pyshark leaves a child watcher behind that is attached to its own loop, which is closed by then."""
    import pyshark

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    with pyshark.FileCapture(str(CAPTURES / "n_v1_midstream.pcap")) as capture:
        capture.load_packets(packet_count=1)
    asyncio.set_event_loop(None)
    loop.close()
    assert len(list(TsharkEngine(CAPTURES / "n_v1_midstream.pcap"))) > 50
