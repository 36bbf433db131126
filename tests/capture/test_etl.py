"""Event trace logs: packets of NDIS packet capture and of pktmon become frames, in the order of their times, each once."""

from __future__ import annotations

import gzip
from pathlib import Path
from struct import pack, pack_into

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.capture.etl_buffers import is_etl
from analyzer.capture.frame import Frame, FrameBlock
from analyzer.capture.reader import CaptureReader
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
    from io import BytesIO

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


def test_events_of_every_other_kind_are_passed_over(tmp_path: Path) -> None:
    etl = Etl().ndis(T0, FRAME)
    for event in other_kinds(etl.stamp(T0)):
        etl.raw(event)
    etl.event(T0, "00000000-0000-0000-0000-000000000001", 7, b"x")
    etl.computer(T0, "PC").ndis(T0 + 1000, FRAME)
    frames, problems = frames_in(tmp_path, etl.data())
    assert len(frames) == 2
    assert not problems


@pytest.mark.parametrize("items", [(b"1",), (b"12345678", b"", b"abc")])
def test_extended_data_items_stand_before_the_packet(tmp_path: Path, items: tuple[bytes, ...]) -> None:
    data = Etl().event(T0, NDIS, 1001, ndis_packet(FRAME), items=extended(*items)).data()
    assert [frame.data for frame in frames_in(tmp_path, data)[0]] == [FRAME]


def test_the_keywords_tell_the_link_type(tmp_path: Path) -> None:
    etl = Etl().ndis(T0, FRAME)
    etl.ndis(T0 + 1000, b"\x45" + bytes(40), keyword=WHOLE | WIRELESS_WAN)
    etl.ndis(T0 + 2000, b"\x08\x41" + bytes(40), keyword=WHOLE | NATIVE_80211 | RECEIVE)
    frames, _ = frames_in(tmp_path, etl.data())
    assert [frame.link_type for frame in frames] == [1, 101, 105]
    # NDIS gives decrypted frames, and leaves the bit set that says they are not.
    assert frames[2].data[:2] == b"\x08\x01"


def test_what_was_cut_has_the_length_that_its_ip_header_states(tmp_path: Path) -> None:
    six = b"\x02" * 12 + b"\x86\xdd" + b"\x60\0\0\0" + pack(">H", 1000) + bytes(60)
    etl = Etl().ndis(T0, IPV4).ndis(T0 + 1000, six).ndis(T0 + 2000, FRAME)
    etl.ndis(T0 + 3000, IPV4[14:], keyword=WHOLE | WIRELESS_WAN)
    frames, _ = frames_in(tmp_path, etl.data())
    assert [frame.original_length for frame in frames] == [14 + 1500, 14 + 40 + 1000, 60, 1500]


def test_a_packet_in_several_events_is_one_frame(tmp_path: Path) -> None:
    etl = Etl().ndis(T0, b"a" * 20, keyword=START).ndis(T0 + 1000, b"c" * 20, keyword=START, thread=200)
    etl.ndis(T0 + 2000, b"A" * 20, keyword=0).ndis(T0 + 3000, b"C" * 20, keyword=END, thread=200)
    etl.ndis(T0 + 4000, b"z" * 20, keyword=END)
    frames, problems = frames_in(tmp_path, etl.data())
    assert [(frame.time_ns - T0, frame.data) for frame in frames] == [
        (3000, b"c" * 20 + b"C" * 20),
        (4000, b"a" * 20 + b"A" * 20 + b"z" * 20),
    ]
    assert not problems


def test_a_packet_without_its_beginning_has_a_number_and_is_left_out(tmp_path: Path) -> None:
    etl = Etl().ndis(T0, FRAME, keyword=END).ndis(T0 + 1000, FRAME).ndis(T0 + 2000, FRAME, keyword=START)
    frames, problems = frames_in(tmp_path, etl.data())
    assert [frame.frame for frame in frames] == [2]
    assert "of 2 packets in several events some events are missing" in texts(problems, "gap")
    assert not texts(problems, "unsupported")


def test_a_packet_of_more_events_than_a_frame_may_have_bytes_is_cut(tmp_path: Path) -> None:
    etl = Etl(buffer_size=1 << 17).ndis(T0, b"a" * 60_000, keyword=START)
    for _ in range(5):
        etl.ndis(T0, b"b" * 60_000, keyword=0)
    etl.ndis(T0, b"z" * 60_000, keyword=END).ndis(T0 + 1000, FRAME)
    frames, problems = frames_in(tmp_path, etl.data())
    assert [(len(frame.data), frame.original_length) for frame in frames] == [(262_144, 420_000), (60, 60)]
    assert not problems


def test_bytes_of_packets_that_do_not_end_are_kept_within_a_limit(tmp_path: Path) -> None:
    etl = Etl(buffer_size=1 << 17)
    for thread in range(20):
        etl.ndis(T0, bytes(10_000), keyword=START, thread=thread)
    etl.ndis(T0, b"", keyword=END, thread=0).ndis(T0, b"", keyword=END, thread=19)
    frames, problems = frames_in(tmp_path, etl.data(), limits=Limits(trace_waiting=100_000))
    assert [len(frame.data) for frame in frames] == [10_000]
    # Ten that were forgotten, of which one ends without its beginning, and nine that do not end.
    assert "of 20 packets in several events some events are missing" in texts(problems, "gap")
    assert [frame.frame for frame in frames] == [2]


def test_packets_of_virtual_switches_and_vpns_are_frames(tmp_path: Path) -> None:
    etl = Etl().event(T0, NDIS, 1003, switch_packet(FRAME, vlan=7, destinations=("a", "bc")))
    etl.event(T0 + 1000, NDIS, 1002, ndis_packet(b"metadata"))
    etl.event(T0 + 2000, RAS, 5001, text("{domain}") + text("user") + sized(IPV4), keyword=0)
    frames, problems = frames_in(tmp_path, etl.data())
    assert [(frame.link_type, frame.data) for frame in frames] == [(1, FRAME), (1, IPV4)]
    assert not problems


def test_one_packet_at_several_components_is_one_frame(tmp_path: Path) -> None:
    etl = Etl().event(T0, PKTMON, 20, pktmon_component(5, "TCP/IP"), keyword=0)
    seen = [(1, 1, 5), (1, 1, 6), (1, 2, 5), (2, 1, 5), (1, 2, 6)]
    for at, (group, number, component) in enumerate(seen):
        packet = pktmon_packet(IPV4, group, number=number, component=component, wire=1514)
        etl.event(T0 + at * 1000, PKTMON, 160, packet, keyword=0)
    frames, problems = frames_in(tmp_path, etl.data())
    assert [frame.frame for frame in frames] == [1, 3, 4]
    assert {frame.original_length for frame in frames} == {1514}
    assert "2 frames are packets that pktmon saw before at another component" in texts(problems, "note")


def test_what_a_nat_changed_is_another_packet(tmp_path: Path) -> None:
    inside, outside = IPV4, IPV4.replace(b"\x0a\0\0\1", b"\xc0\0\2\1")
    etl = Etl()
    for at, (packet, kind) in enumerate([(inside, 1), (outside, 1), (outside[14:], 3), (inside[14:], 3)]):
        etl.event(T0 + at * 1000, PKTMON, 160, pktmon_packet(packet, 9, kind=kind), keyword=0)
    assert [frame.data for frame in frames_in(tmp_path, etl.data())[0]] == [inside, outside]


def test_packets_without_a_group_are_all_different(tmp_path: Path) -> None:
    etl = Etl()
    for at in range(3):
        etl.event(T0 + at * 1000, PKTMON, 170, pktmon_packet(FRAME, 0), keyword=0)
    assert len(frames_in(tmp_path, etl.data())[0]) == 3


def test_packets_above_the_network_layer_are_left_out(tmp_path: Path) -> None:
    etl = Etl().event(T0, PKTMON, 160, pktmon_packet(b"GET /", 1, kind=4), keyword=0)
    etl.event(T0 + 1000, PKTMON, 160, pktmon_packet(FRAME, 2), keyword=0)
    frames, problems = frames_in(tmp_path, etl.data())
    assert [frame.frame for frame in frames] == [2]
    assert "1 packets of pktmon begin with no header that is read here" in texts(problems, "unsupported")


def test_packets_that_windows_dropped_are_frames_and_told(tmp_path: Path) -> None:
    etl = Etl().event(T0, PKTMON, 160, pktmon_packet(IPV4, 1), keyword=0)
    etl.event(T0 + 1000, PKTMON, 170, pktmon_packet(FRAME, 2, component=9), keyword=0)
    frames, problems = frames_in(tmp_path, etl.data())
    assert [frame.data for frame in frames] == [IPV4, FRAME]
    assert "1 frames are packets that Windows dropped" in texts(problems, "note")


def test_lost_events_and_buffers_are_problems(tmp_path: Path) -> None:
    _, problems = frames_in(tmp_path, Etl(events_lost=3, buffers_lost=2).ndis(T0, FRAME).data())
    assert "3 events were lost" in texts(problems, "gap")
    assert "2 buffers were lost" in texts(problems, "gap")
    _, problems = frames_in(tmp_path, Etl().ndis(T0, FRAME).flush(0, flags=0x22).data())
    assert "1 buffer of the trace is marked: events before them were lost" in texts(problems, "gap")


def test_a_trace_that_was_not_stopped_or_has_no_packets_says_so(tmp_path: Path) -> None:
    frames, problems = frames_in(tmp_path, Etl(ended_ns=None).data())
    assert not frames
    assert "was not stopped" in texts(problems, "note")
    assert "no event of the trace carries a packet" in texts(problems, "note")


def test_compressed_buffers_are_told_in_one_sentence(tmp_path: Path) -> None:
    etl = Etl().ndis(T0, FRAME).flush(0, flags=0x60).ndis(T0 + 1000, FRAME)
    frames, problems = frames_in(tmp_path, etl.data())
    assert len(frames) == 1
    assert "1 buffer of the trace is compressed" in texts(problems, "unsupported")


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


def test_the_unused_end_of_a_file_that_was_made_in_advance_is_no_damage(tmp_path: Path) -> None:
    given_frames = frames_of(50)
    frames, problems = frames_in(tmp_path, trace_of(given_frames) + bytes(5 * 8192))
    assert len(frames) == 50
    assert not problems


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


def test_packets_that_are_shorter_than_they_say_are_left_out(tmp_path: Path) -> None:
    etl = Etl().event(T0, NDIS, 1001, ndis_packet(FRAME, size=61)).event(T0, NDIS, 1003, switch_packet(FRAME)[:-250])
    etl.event(T0, PKTMON, 160, pktmon_packet(FRAME, 1)[:-1]).event(T0, RAS, 5002, b"x\0").event(T0, PKTMON, 20, b"\5")
    frames, problems = frames_in(tmp_path, etl.data())
    assert not frames
    assert "5 packet events are shorter than they say" in texts(problems, "malformed")


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


def test_a_damaged_header_of_the_trace_ends_it(tmp_path: Path) -> None:
    data = bytearray(trace_of(frames_of(9)))
    # Its clock, as nothing counts.
    data[72 + 32 + 56 + 16 + 172 + 4 + 24] = 9
    frames, problems = frames_in(tmp_path, bytes(data))
    assert not frames
    assert "header of the trace is damaged" in texts(problems, "malformed")
