"""Event trace logs: packets of NDIS packet capture and of pktmon become frames, in the order of their times, each once."""

import gzip
from collections.abc import Iterator
from io import BytesIO
from itertools import groupby
from pathlib import Path
from struct import pack, pack_into

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.capture.capture_reader import CaptureReader
from analyzer.capture.first_bytes import is_etl
from analyzer.capture.frame_blocks import Frame, FrameBlock
from analyzer.core.events import Problem
from analyzer.core.limits import Limits
from tests.build.capture import Pcapng, frames_of, pcap, read
from tests.build.etl import (
    CYCLES,
    END,
    NATIVE_80211,
    NDIS,
    PKTMON,
    QPC,
    RAS,
    RECEIVE,
    START,
    SYSTEM_TIME,
    T0,
    WHOLE,
    WIRELESS_WAN,
    Etl,
    extended,
    ndis_packet,
    other_kinds,
    pktmon_component,
    pktmon_packet,
    sized,
    switch_packet,
    text,
    trace_of,
)
from tests.written import Outcomes

FRAME = bytes(range(60))
IPV4 = b"\x02" * 12 + b"\x08\0" + b"\x45\0\x05\xdc" + bytes(8) + b"\x0a\0\0\1\x0a\0\0\2" + bytes(40)


def frames_in(folder: Path, data: bytes, **options: object) -> tuple[list[Frame], list[Problem]]:
    path = folder / "trace.etl"
    path.write_bytes(data)
    frames, problems, _ = read(path, **options)
    return frames, problems


def texts(problems: list[Problem], kind: str) -> str:
    return " ".join(problem.text for problem in problems if problem.kind == kind)


def test_a_trace_has_the_frames_that_were_captured(tmp_path: Path) -> None:
    given_frames = frames_of(500)
    frames, problems = frames_in(tmp_path, trace_of(given_frames, processors=3))
    assert [(frame.time_ns, frame.data) for frame in frames] == given_frames
    assert [frame.frame for frame in frames] == list(range(1, 501))
    assert not problems


@settings(max_examples=40)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=120), st.sampled_from([1024, 2048, 8192]))
def test_whichever_processor_wrote_a_packet_the_order_is_that_of_times(processors: list[int], size: int) -> None:
    given_frames = frames_of(len(processors))
    etl = Etl(buffer_size=size)
    for (time_ns, frame), processor in zip(given_frames, processors, strict=True):
        etl.ndis(time_ns, frame, processor=processor)
    stream = BytesIO(etl.data())
    stream.name = "trace.etl"
    frames, problems, _ = read(stream)
    assert [(frame.time_ns, frame.data) for frame in frames] == given_frames
    assert not problems


def test_a_buffer_that_was_written_last_may_hold_the_first_packet(tmp_path: Path) -> None:
    etl = Etl(buffer_size=1024).ndis(T0, b"first" * 10, processor=9)
    for number in range(1, 200):
        etl.ndis(T0 + number * 1000, FRAME, processor=number % 2)
    frames, _ = frames_in(tmp_path, etl.data(), block_bytes=1)
    assert frames[0].data == b"first" * 10
    assert [frame.time_ns for frame in frames] == sorted(frame.time_ns for frame in frames)


@pytest.mark.parametrize(
    ("clock", "frequency"), [(QPC, 10_000_000), (QPC, 3_579_545), (SYSTEM_TIME, 10**7), (CYCLES, 2_400_000_000)]
)
@pytest.mark.parametrize("pointer_size", [4, 8])
def test_times_are_utc_whichever_clock_counted(tmp_path: Path, clock: int, frequency: int, pointer_size: int) -> None:
    etl = Etl(clock=clock, frequency=frequency, pointer_size=pointer_size)
    wanted = [T0, T0 + 1_234_567_800, T0 + 86_400 * 10**9]
    for time_ns in wanted:
        etl.ndis(time_ns, FRAME)
    frames, _ = frames_in(tmp_path, etl.data())
    assert [frame.time_ns for frame in frames] == pytest.approx(wanted, abs=10**9 // frequency + 1, rel=0)


def pktmon(*packets: bytes, number: int = 160) -> Etl:
    etl = Etl()
    for at, packet in enumerate(packets):
        etl.event(T0 + at * 1000, PKTMON, number, packet, keyword=0)
    return etl


def among_others() -> Etl:
    etl = Etl().ndis(T0, FRAME)
    for event in other_kinds(etl.stamp(T0)):
        etl.raw(event)
    etl.event(T0, "00000000-0000-0000-0000-000000000001", 7, b"x")
    return etl.computer(T0, "PC").ndis(T0 + 1000, FRAME)


def many_events() -> Etl:
    etl = Etl(buffer_size=1 << 17).ndis(T0, b"a" * 60_000, keyword=START)
    for _ in range(5):
        etl.ndis(T0, b"b" * 60_000, keyword=0)
    return etl.ndis(T0, b"z" * 60_000, keyword=END).ndis(T0 + 1000, FRAME)


def endless() -> Etl:
    """Ten are forgotten, of which one ends without its beginning, and nine do not end."""
    etl = Etl(buffer_size=1 << 17)
    for thread in range(20):
        etl.ndis(T0, bytes(40_000), keyword=START, thread=thread)
    return etl.ndis(T0, b"", keyword=END, thread=0).ndis(T0, b"", keyword=END, thread=19)


def at_components() -> Etl:
    seen = [(1, 1, 5), (1, 1, 6), (1, 2, 5), (2, 1, 5), (1, 2, 6)]
    packets = (pktmon_packet(IPV4, group, number=number, component=each, wire=1514) for group, number, each in seen)
    etl = Etl().event(T0, PKTMON, 20, pktmon_component(5, "TCP/IP"), keyword=0)
    for at, packet in enumerate(packets):
        etl.event(T0 + at * 1000, PKTMON, 160, packet, keyword=0)
    return etl


def wrong_clock() -> bytes:
    data = bytearray(trace_of(frames_of(9)))
    data[72 + 32 + 56 + 16 + 172 + 4 + 24] = 9
    return bytes(data)


SIX = b"\x02" * 12 + b"\x86\xdd" + b"\x60\0\0\0" + pack(">H", 1000) + bytes(60)
OUTSIDE = IPV4.replace(b"\x0a\0\0\1", b"\xc0\0\2\1")
NAMED = {FRAME: "FRAME", IPV4: "IPV4", OUTSIDE: "IPV4 from outside", IPV4[14:]: "IPV4 alone", SIX: "IPV6"}
CASES: dict[str, Etl | bytes] = {
    "events of every other kind are passed over": among_others(),
    **{
        f"extended data items stand before the packet: {len(items)}": (
            Etl().event(T0, NDIS, 1001, ndis_packet(FRAME), items=extended(*items))
        )
        for items in ((b"1",), (b"12345678", b"", b"abc"))
    },
    "the keywords tell the link type, and NDIS leaves the bit of what it decrypted, which is cleared": (
        Etl()
        .ndis(T0, FRAME)
        .ndis(T0 + 1000, b"\x45" + bytes(40), keyword=WHOLE | WIRELESS_WAN)
        .ndis(T0 + 2000, b"\x08\x41" + bytes(40), keyword=WHOLE | NATIVE_80211 | RECEIVE)
    ),
    "what was cut has the length that its IP header states": (
        Etl()
        .ndis(T0, IPV4)
        .ndis(T0 + 1000, SIX)
        .ndis(T0 + 2000, FRAME)
        .ndis(T0 + 3000, IPV4[14:], keyword=WHOLE | WIRELESS_WAN)
    ),
    "a packet in several events is one frame": (
        Etl()
        .ndis(T0, b"a" * 20, keyword=START)
        .ndis(T0 + 1000, b"c" * 20, keyword=START, thread=200)
        .ndis(T0 + 2000, b"A" * 20, keyword=0)
        .ndis(T0 + 3000, b"C" * 20, keyword=END, thread=200)
        .ndis(T0 + 4000, b"z" * 20, keyword=END)
    ),
    "a packet without its beginning or end has a number and is left out": (
        Etl().ndis(T0, FRAME, keyword=END).ndis(T0 + 1000, FRAME).ndis(T0 + 2000, FRAME, keyword=START)
    ),
    "a packet of more events than a frame may have bytes is cut": many_events(),
    "bytes of packets that do not end are kept within a limit": endless(),
    "packets of virtual switches and VPNs are frames": (
        Etl()
        .event(T0, NDIS, 1003, switch_packet(FRAME, vlan=7, destinations=("a", "bc")))
        .event(T0 + 1000, NDIS, 1002, ndis_packet(b"metadata"))
        .event(T0 + 2000, RAS, 5001, text("{domain}") + text("user") + sized(IPV4), keyword=0)
    ),
    "one packet at several components is one frame": at_components(),
    "what a NAT changed is another packet": pktmon(
        *(
            pktmon_packet(packet, 9, kind=kind)
            for packet, kind in ((IPV4, 1), (OUTSIDE, 1), (OUTSIDE[14:], 3), (IPV4[14:], 3))
        )
    ),
    "packets without a group are all different": pktmon(*[pktmon_packet(FRAME, 0)] * 3, number=170),
    "packets above the network layer are left out": pktmon(pktmon_packet(b"GET /", 1, kind=4), pktmon_packet(FRAME, 2)),
    "packets that Windows dropped are frames and told": (
        pktmon(pktmon_packet(IPV4, 1)).event(T0 + 1000, PKTMON, 170, pktmon_packet(FRAME, 2, component=9), keyword=0)
    ),
    "lost events and buffers are problems": Etl(events_lost=3, buffers_lost=2).ndis(T0, FRAME),
    "a mark of lost events is a problem": Etl().ndis(T0, FRAME).flush(0, flags=0x22),
    "a trace that was not stopped or has no packets says so": Etl(ended_ns=None),
    "compressed buffers are told in one sentence": Etl().ndis(T0, FRAME).flush(0, flags=0x60).ndis(T0 + 1000, FRAME),
    "packets that are shorter than they say are left out": (
        Etl()
        .event(T0, NDIS, 1001, ndis_packet(FRAME, size=61))
        .event(T0, NDIS, 1003, switch_packet(FRAME)[:-250])
        .event(T0, PKTMON, 160, pktmon_packet(FRAME, 1)[:-1])
        .event(T0, RAS, 5002, b"x\0")
        .event(T0, PKTMON, 20, b"\5")
    ),
    "a damaged header of the trace, the clock of which nothing counts, ends it": wrong_clock(),
    "the unused end of a file that was made in advance is no damage": trace_of([(T0, FRAME)]) + bytes(5 * 8192),
}


def said(trace: Etl | bytes) -> Iterator[str]:
    """Each frame with its time and bytes, those that are alike once, and what is said of the trace."""
    stream = BytesIO(trace if isinstance(trace, bytes) else trace.data())
    stream.name = "trace.etl"
    frames, problems, _ = read(stream, limits=Limits(trace_waiting=400_000))
    for frame in frames:
        data = bytes(frame.data)
        runs = " ".join(f"{byte:02x}*{len([*each])}" for byte, each in groupby(data))
        yield f"{frame.frame} at {frame.time_ns - T0} link {frame.link_type} {NAMED.get(data, runs)} of {frame.original_length}"
    for problem in problems:
        yield f"{problem.kind} at {problem.frames}: {problem.text}"


OUTCOMES = Outcomes(Path(__file__).with_name("etl.txt"), CASES, said)


@pytest.mark.parametrize("name", CASES)
def test_a_trace_gives_the_packets_in_it_and_what_is_wrong_with_it(name: str) -> None:
    OUTCOMES.holds(name)


def test_what_traces_give_is_as_written() -> None:
    OUTCOMES.is_as_written()


def test_a_damaged_buffer_costs_itself_alone(tmp_path: Path) -> None:
    given_frames = frames_of(400)
    data = bytearray(trace_of(given_frames, processors=1, buffer_size=4096))
    data[2 * 4096 : 2 * 4096 + 4] = b"\xff\xff\xff\xff"
    pack_into("<H", data, 4 * 4096 + 72, 3)
    # Filled with less than its own header.
    pack_into("<I", data, 6 * 4096 + 48, 71)
    frames, problems = frames_in(tmp_path, bytes(data))
    assert 0 < 400 - len(frames) < 120
    assert {frame.data for frame in frames} <= {frame for _, frame in given_frames}
    assert "3 buffers of the trace are damaged" in texts(problems, "malformed")


def test_a_trace_that_grows_while_it_is_read_says_so(tmp_path: Path) -> None:
    path = tmp_path / "trace.etl"
    path.write_bytes(trace_of(frames_of(300)))
    items = iter(CaptureReader([path]))
    with path.open("ab") as file:
        file.write(bytes(8192))
    found = list(items)
    assert sum(len(item) for item in found if isinstance(item, FrameBlock)) == 300
    assert "the file grew while it was read" in texts(
        [item for item in found if isinstance(item, Problem)], "truncated"
    )


@pytest.mark.parametrize("size", [100, 8192 + 50, 3 * 8192 + 5000])
def test_a_trace_that_is_cut_gives_what_is_there(tmp_path: Path, size: int) -> None:
    given_frames = frames_of(300)
    frames, problems = frames_in(tmp_path, trace_of(given_frames, processors=1)[:size])
    assert [frame.data for frame in frames] == [frame for _, frame in given_frames[: len(frames)]]
    assert problems


def test_packets_far_out_of_order_wait_within_a_limit(tmp_path: Path) -> None:
    etl = Etl(buffer_size=1024)
    for number in range(300):
        # Each buffer begins with a packet of the beginning and goes on with one of the end.
        etl.ndis(T0 + number * 1000, FRAME).ndis(T0 + 10**12 + number * 1000, bytes(700)).flush(0)
    data = etl.data()
    frames, problems = frames_in(tmp_path, data, block_bytes=1)
    assert not problems
    assert [frame.time_ns for frame in frames] == sorted(frame.time_ns for frame in frames)
    frames, problems = frames_in(tmp_path, data, block_bytes=1, limits=Limits(trace_waiting=10_000))
    assert len(frames) == 600
    assert "some are out of order" in texts(problems, "limit")


def test_more_buffers_than_the_limit_are_not_read(tmp_path: Path) -> None:
    data = trace_of(frames_of(400), processors=1, buffer_size=1024)
    frames, problems = frames_in(tmp_path, data, limits=Limits(trace_buffers=3))
    assert 0 < len(frames) < 400
    assert "more than 3 buffers" in texts(problems, "limit")


def test_a_trace_is_read_compressed_from_a_stream_and_in_a_set(tmp_path: Path) -> None:
    given_frames = frames_of(90)
    packed = tmp_path / "trace.etl.gz"
    packed.write_bytes(gzip.compress(trace_of(given_frames[0::3])))
    other = tmp_path / "b.pcapng"
    section = Pcapng().section().interface(resolution=9)
    for time_ns, frame in given_frames[1::3]:
        section.enhanced(time_ns, frame)
    other.write_bytes(section.data)
    third = tmp_path / "c.pcap"
    third.write_bytes(pcap(given_frames[2::3]))
    frames, problems, _ = read([packed, other, third])
    assert [(frame.time_ns, frame.data) for frame in frames] == given_frames
    assert not problems


@given(st.binary(max_size=300))
def test_other_files_are_not_taken_for_traces(data: bytes) -> None:
    assert not is_etl(data)


def test_traces_are_recognised_by_their_first_event() -> None:
    assert is_etl(Etl().data()[:512])
    assert is_etl(Etl(pointer_size=4).data()[:512])
    assert not is_etl(pcap(frames_of(9)))
    assert not is_etl(bytes(512))
