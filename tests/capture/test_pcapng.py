"""pcapng files: sections, interfaces, clocks and every block that carries a frame."""

from __future__ import annotations

from io import BytesIO
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.capture.frame import Frame
from analyzer.capture.pcapng import time_ns
from analyzer.capture.speculative import SpeculativeScan
from analyzer.core.events import Problem
from analyzer.core.limits import Limits
from tests.build.capture import T0, Pcapng, as_given, frames_of, pcapng, read

FRAMES = frames_of(300)
A, B = b"a" * 60, b"b" * 61


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("fast", [True, False])
def test_either_byte_order_gives_the_same_frames(order, fast):
    frames, problems, _ = read(BytesIO(pcapng(FRAMES, order=order)), fast=fast)
    assert as_given(frames) == FRAMES
    assert not problems


def test_sections_have_their_own_byte_order_and_interfaces():
    file = Pcapng("<").section().interface(1).enhanced(1_000_000, A)
    file.section(">").interface(101).enhanced(2_000_000, B).section("<").interface(113).enhanced(3_000_000, A)
    frames, problems, _ = read(BytesIO(file.data))
    assert [(frame.frame, frame.link_type, frame.time_ns, frame.data) for frame in frames] == [
        (1, 1, 10**9, A),
        (2, 101, 2 * 10**9, B),
        (3, 113, 3 * 10**9, A),
    ]
    assert not problems


def test_interfaces_have_their_own_link_type_and_clock():
    file = Pcapng().section().interface(1, resolution=9).interface(101, resolution=3, offset_s=100)
    file.enhanced(5, A).enhanced(7, B, interface=1).enhanced(6, A)
    frames, _, _ = read(BytesIO(file.data))
    assert [(frame.link_type, frame.time_ns) for frame in frames] == [(1, 5), (101, 100 * 10**9 + 7_000_000), (1, 6)]


@pytest.mark.parametrize(
    ("resolution", "units", "time_ns"),
    [
        (0, 3, 3 * 10**9),
        (6, 1_700_000_000_000_001, T0 + 1000),
        (9, T0 + 1, T0 + 1),
        (12, 1_000_001_999, 1_000_001),
        (0x80 | 1, 3, 1_500_000_000),
        (0x80 | 30, (1_700_000_000 << 30) + (1 << 29), T0 + 500_000_000),
        (0x80 | 32, 1 << 31, 500_000_000),
    ],
)
def test_time_stamps_are_whole_nanoseconds_in_every_resolution(resolution, units, time_ns):
    file = Pcapng().section().interface(resolution=resolution).enhanced(units, A)
    assert read(BytesIO(file.data))[0][0].time_ns == time_ns


@pytest.mark.parametrize("order", ["<", ">"])
def test_all_three_packet_blocks_are_frames_in_their_order(order):
    file = Pcapng(order).section().interface(snaplen=50).interface()
    file.enhanced(5_000, A, wire=1500).simple(b"s" * 50, wire=900).obsolete(6_000, B, interface=1, drops=3)
    frames, problems, _ = read(BytesIO(file.data))
    assert [(frame.frame, frame.time_ns, frame.data, frame.original_length) for frame in frames] == [
        (1, 5_000_000, A, 1500),
        (2, 5_000_000, b"s" * 50, 900),
        (3, 6_000_000, B, 61),
    ]
    assert [problem.kind for problem in problems] == ["note"]


def test_unknown_blocks_are_skipped_and_numbers_are_wiresharks():
    # tshark 4.0 numbers journal entries and custom blocks, and passes over statistics and unknown blocks.
    file = Pcapng().section().block(0x77, b"unknown").interface().enhanced(1, A)
    file.block(9, b"__REALTIME_TIMESTAMP=1\n").enhanced(2, A).block(0xBAD, pack("<I", 32473) + b"x").enhanced(3, A)
    file.block(5, pack("<III", 0, 0, 0)).block(0x99, bytes(4000)).enhanced(4, A)
    assert [frame.frame for frame in read(BytesIO(file.data))[0]] == [1, 3, 5, 6]


def test_a_huge_unknown_block_is_passed_over_without_being_held():
    file = Pcapng().section().interface().enhanced(1, A).block(0x99, bytes(17 * 1024 * 1024)).enhanced(2, B)
    frames, problems, _ = read(BytesIO(file.data))
    assert [frame.data for frame in frames] == [A, B]
    assert not problems
    frames, problems, _ = read(BytesIO(file.data[: 17 * 1024 * 1024]))
    assert [frame.data for frame in frames] == [A]
    assert [problem.kind for problem in problems] == ["truncated"]


def test_names_come_from_name_resolution_blocks():
    file = Pcapng().section().names([("192.0.2.1", "dc1.example"), ("2001:db8::1", "fs.example")])
    reader = read(BytesIO(file.data))[2]
    assert reader.info.names == {"192.0.2.1": "dc1.example", "2001:db8::1": "fs.example"}


def test_secrets_in_the_file_are_noted_and_not_shown():
    file = Pcapng().section().block(10, pack("<II", 0x544C534B, 20) + b"CLIENT_RANDOM 00 112")
    problem = read(BytesIO(file.data))[1][0]
    assert problem.kind == "note"
    assert "TLS key log" in problem.text
    assert "CLIENT_RANDOM" not in problem.text


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("damage", [3, 0xFFFFFFF0, 96])
def test_a_damaged_length_ends_the_file_with_a_problem(fast, damage):
    good = pcapng(FRAMES)
    bad = Pcapng().enhanced(1, A).data
    bad = bad[:4] + pack("<I", damage) + bad[8:]
    frames, problems, _ = read(BytesIO(good + bad + Pcapng().enhanced(1, A).data * 3), fast=fast)
    assert as_given(frames) == FRAMES
    assert [problem.kind for problem in problems] == ["malformed"]


def test_a_cut_file_gives_everything_before_the_cut_and_a_problem():
    frames, problems, _ = read(BytesIO(pcapng(FRAMES)[:-7]))
    assert as_given(frames) == FRAMES[:-1]
    assert [problem.kind for problem in problems] == ["truncated"]


def test_many_interfaces_and_clocks_stay_quick():
    file = Pcapng().section()
    parts = []
    for number in range(3000):
        file.interface(offset_s=number).enhanced(number, A, interface=number)
        parts.append(file.data)
        file.data = b""
    frames, problems, _ = read(BytesIO(b"".join(parts)))
    assert [frame.time_ns for frame in frames] == [n * 10**9 + n * 1000 for n in range(3000)]
    assert not problems


def test_short_sections_are_not_walked_to_the_end_of_the_file(monkeypatch):
    def walk(*_):
        raise AssertionError("a walk through all that is left of the block")

    monkeypatch.setattr(SpeculativeScan, "walk", walk)
    section = Pcapng().section().interface().enhanced(7, A).data
    frames, problems, _ = read(BytesIO(section * 500))
    assert len(frames) == 500
    assert not problems


@settings(max_examples=25)
@given(st.integers(0, 1500), st.integers(0, 2500), st.integers(0, 2**32), st.integers(0, 70_000), st.booleans())
def test_the_fast_walk_finds_what_the_plain_one_finds(count, size, seed, cut, big):
    sizes = [(seed * (n + 1) >> 3) % (size + 1) for n in range(count)]
    frames = [(T0 + n * 10**6, (b"\6\0\0\0\x40\0\0\0" * size)[:length]) for n, length in enumerate(sizes)]
    data = pcapng(frames, order=">" if big else "<")
    data = data[: max(len(data) - cut, 48)]
    assert read(BytesIO(data))[:2] == read(BytesIO(data), fast=False)[:2]


@settings(max_examples=60)
@given(st.binary(max_size=200), st.integers(0, 40_000), st.booleans())
def test_spliced_bytes_give_frames_and_problems_and_nothing_else(noise, place, fast):
    data = pcapng(FRAMES)
    place = 48 + place % (len(data) - 48)
    frames, _, _ = read(BytesIO(data[:place] + noise + data[place:]), fast=fast)
    assert as_given(frames)[:1] == FRAMES[:1] or place < 200


@pytest.mark.parametrize("offset_s", [-(1 << 62), 1 << 62])
@pytest.mark.parametrize("count", [1, 20])
def test_times_beyond_64_bits_of_nanoseconds_stop_at_the_last_there_is(offset_s, count):
    file = Pcapng().section().interface(offset_s=offset_s)
    for unit in range(count):
        file.enhanced(unit, A)
    frames, problems, _ = read(BytesIO(file.data))
    last = (1 << 63) - 1
    assert [frame.time_ns for frame in frames] == [last if offset_s > 0 else -last] * count
    assert [problem.text for problem in problems] == [f"{count} time stamps lie outside of the years 1677 to 2262"]


# Each field of a pcapng block at its bounds (draft-ietf-opsawg-pcapng, section 4): what is read, what is left, what is said.

ORDERS = pytest.mark.parametrize("order", ["<", ">"])
SECOND = 10**9


def opened(file: Pcapng, **options: object) -> tuple[list[Frame], list[Problem]]:
    return read(BytesIO(file.data), **options)[:2]


def described(order: str, options: bytes, *, link_type: int = 1, snaplen: int = 0) -> Pcapng:
    """An interface with these options, and one frame of 3,000,000 units on it."""
    file = Pcapng(order).section().block(1, pack(order + "HHI", link_type, 0, snaplen) + options)
    return file.enhanced(3_000_000, A)


@ORDERS
@pytest.mark.parametrize(
    ("options", "at_ns"),
    [
        ([(9, b"\x03")], 3000 * SECOND),
        ([(9, b"\x03\x00")], 3 * SECOND),  # a resolution is one byte
        ([(9, b"")], 3 * SECOND),
        ([(2, b"eth"), (9, b"\x03")], 3000 * SECOND),  # other options are passed over with their padding
        ([(2, b"eth0"), (9, b"\x03")], 3000 * SECOND),
        ([(2, b"ether"), (9, b"\x03")], 3000 * SECOND),
        ([(0, b""), (9, b"\x03")], 3 * SECOND),  # nothing is read behind the end of options
        ([(9, b"\x03"), (9, b"\x06")], 3 * SECOND),
        ([(14, (5).to_bytes(8, "little"))], None),
        ([(14, bytes(4))], 3 * SECOND),
        ([(9, b"\x7f")], 0),  # finer than a nanosecond in 10**20 steps
    ],
)
def test_options_of_an_interface_are_read_by_their_length(
    order: str, options: list[tuple[int, bytes]], at_ns: int | None
) -> None:
    file = Pcapng(order)
    packed = b"".join(file.option(code, value) for code, value in options)
    if at_ns is None:
        packed = file.option(14, pack(order + "q", -5))
        at_ns = 3 * SECOND - 5 * SECOND
    frames, problems = opened(described(order, packed))
    assert [frame.time_ns for frame in frames] == [at_ns]
    assert not problems


def test_an_interface_too_short_to_say_anything_has_no_known_link_type_and_microseconds() -> None:
    short = Pcapng().section().block(1, b"\1\0\0\0").enhanced(3_000_000, A)
    frames, _ = opened(short)
    assert [(frame.link_type, frame.time_ns) for frame in frames] == [(0xFFFF, 3 * SECOND)]
    whole, _ = opened(described("<", b"", link_type=113))
    assert [(frame.link_type, frame.time_ns) for frame in whole] == [(113, 3 * SECOND)]


@pytest.mark.parametrize(("units", "per_s", "offset", "at_ns"), [(7, 4, 0, 1_750_000_000), (1, 3, -1, -666_666_667)])
def test_a_time_is_rounded_down_to_whole_nanoseconds(units: int, per_s: int, offset: int, at_ns: int) -> None:
    assert time_ns(units, per_s, offset) == at_ns


@ORDERS
@pytest.mark.parametrize(
    ("wire", "snaplen", "held"), [(60, 0, 60), (60, 48, 48), (100, 0, 60), (60, 61, 60), (58, 0, 58)]
)
def test_a_simple_packet_holds_what_the_snapshot_length_left(order: str, wire: int, snaplen: int, held: int) -> None:
    file = Pcapng(order).section().interface(snaplen=snaplen).enhanced(7_000_000, A).simple(A, wire=wire)
    frames, problems = opened(file)
    assert [(len(frame.data), frame.original_length, frame.time_ns) for frame in frames] == [
        (60, 60, 7 * SECOND),
        (held, wire, 7 * SECOND),
    ]
    (note,) = problems
    assert (note.kind, note.frames) == ("note", ())
    assert note.text.startswith("1 frames have no time stamp")


def test_simple_packets_before_any_time_are_at_zero_and_after_a_block_keep_the_last_one() -> None:
    file = Pcapng().section().interface().simple(A).enhanced(5_000_000, A).simple(A).simple(A)
    file.interface(resolution=9).enhanced(4 * SECOND, A, interface=1).simple(A)
    frames, problems = opened(file)
    assert [frame.time_ns // SECOND for frame in frames] == [0, 5, 5, 5, 4, 4]
    assert problems[0].text.startswith("4 frames")
    raw = [frame.time_ns for frame in read(BytesIO(file.data), fast=False)[0]]
    assert raw == [frame.time_ns for frame in frames]


def test_a_simple_packet_without_an_interface_is_left_out() -> None:
    frames, problems = opened(Pcapng().section().simple(A).interface().simple(A))
    assert [frame.frame for frame in frames] == [2]
    assert (problems[0].kind, problems[0].frames) == ("malformed", (1,))


@ORDERS
def test_an_obsolete_packet_counts_its_drops_beside_its_interface(order: str) -> None:
    file = Pcapng(order).section().interface(1).interface(113)
    file.obsolete(1_000_000, A, interface=1, drops=9).obsolete(2_000_000, A, interface=0, drops=0xFFFF)
    frames, problems = opened(file)
    assert [(frame.link_type, frame.time_ns // SECOND) for frame in frames] == [(113, 1), (1, 2)]
    assert not problems


@ORDERS
@pytest.mark.parametrize(("captured", "is_read"), [(60, True), (0, True), (61, False), (64, False), (1 << 31, False)])
def test_a_frame_longer_than_its_block_is_left_out(order: str, captured: int, is_read: bool) -> None:
    head = pack(order + "IIIII", 0, 0, 9, captured, 60)
    file = Pcapng(order).section().interface().enhanced(1, A).block(6, head + A).enhanced(2, A)
    frames, problems = opened(file)
    assert [len(frame.data) for frame in frames] == ([60, captured, 60] if is_read else [60, 60])
    assert [problem.frames for problem in problems] == ([] if is_read else [(2,)])


@pytest.mark.parametrize(
    ("kind", "counts"),
    [
        (9, True),
        (0xBAD, True),
        (0x40000BAD, True),
        (0x204, True),
        (0x208, True),
        (0x216, True),
        (0x217, True),
        (0x221, True),
        (0x222, True),
        (5, False),
        (7, False),
        (8, False),
        (11, False),
        (0x205, False),
        (0x220, False),
    ],
)
def test_what_wireshark_gives_a_number_has_one_here(kind: int, counts: bool) -> None:
    file = Pcapng().section().interface().enhanced(1, A).block(kind, bytes(24)).enhanced(2, A)
    assert [frame.frame for frame in opened(file)[0]] == [1, 3 if counts else 2]


def test_interfaces_beyond_the_bound_are_not_read_and_their_frames_left_out() -> None:
    file = Pcapng().section().interface().interface(113).interface(101)
    file.enhanced(1, A, interface=1).enhanced(2, A, interface=2)
    frames, problems = opened(file, limits=Limits(interfaces=2))
    assert [frame.link_type for frame in frames] == [113]
    assert [(problem.kind, problem.text) for problem in problems if problem.kind == "limit"] == [
        ("limit", "more than 2 interfaces are described; the rest are not read")
    ]
    assert not opened(file, limits=Limits(interfaces=3))[1]


@ORDERS
def test_names_are_read_with_their_bounds(order: str) -> None:
    file = Pcapng(order).section()
    four, six = bytes([10, 0, 0, 1]), bytes(15) + b"\1"
    records = (
        file.option(3, b"unknown")
        + file.option(1, four)  # no name
        + file.option(1, four + b"\0rest")  # an empty one
        + file.option(1, four + b"first\0second\0")
        + file.option(1, four + b"later\0")
        + file.option(2, six + b"x" * 300)
        + file.option(0, b"")
        + file.option(1, bytes([10, 0, 0, 2]) + b"behind\0")
    )
    reader = read(BytesIO(file.block(4, records).interface().enhanced(1, A).data))[2]
    assert dict(reader.info.names) == {"10.0.0.1": "first", "::1": "x" * 255}


def test_names_beyond_the_bound_are_counted() -> None:
    file = Pcapng().section().names([("10.0.0.1", "a"), ("10.0.0.2", "b"), ("10.0.0.1", "c"), ("10.0.0.3", "d")])
    _, problems, reader = read(BytesIO(file.names([("10.0.0.4", "e")]).data), limits=Limits(address_names=2))
    assert dict(reader.info.names) == {"10.0.0.1": "a", "10.0.0.2": "b"}
    assert [problem.text for problem in problems] == ["more than 2 names of addresses; 2 are not read"]


@ORDERS
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (0x544C534B, "a TLS key log"),
        (0x57474B4C, "a WireGuard key log"),
        (0x5353484B, "an SSH key log"),
        (0x12345678, "secrets of type 0x12345678"),
        (0x50435153, None),
    ],
)
def test_secrets_are_named_by_their_kind(order: str, kind: int, words: str | None) -> None:
    file = Pcapng(order).section().block(10, pack(order + "II", kind, 0))
    problems = opened(file)[1]
    assert [words in problem.text for problem in problems if words] == ([True] if words else [])
    assert len(problems) == (words is not None)
    assert not opened(Pcapng(order).section().block(10, b"KLST"))[1]


@pytest.mark.parametrize(
    ("head", "is_read"),
    [
        (pack("<III", 0x0A0D0D0A, 28, 0x1A2B3C4D), True),
        (pack("<III", 0x0A0D0D0A, 28, 0x1A2B3C4E), False),
        (pack("<III", 0x0A0D0D0A, 27, 0x1A2B3C4D), False),
        (pack("<III", 0x0A0D0D0A, (16 << 20) + 1, 0x1A2B3C4D), False),
        (pack("<II", 0x0A0D0D0A, 0x1C000000) + pack(">I", 0x1A2B3C4D), True),
    ],
)
def test_a_section_header_must_be_whole(head: bytes, is_read: bool) -> None:
    first = Pcapng().section().interface().enhanced(1, A)
    order = "<" if head[8:12] != pack(">I", 0x1A2B3C4D) else ">"
    second = Pcapng(order).section()
    rest = Pcapng(order).interface().enhanced(2, A).data
    frames, problems, _ = read(BytesIO(first.data + head + second.data[12:] + rest))
    assert len(frames) == (2 if is_read else 1)
    assert [(problem.kind, problem.frames, "section header" in problem.text) for problem in problems] == (
        [] if is_read else [("malformed", (1,), True)]
    )


@pytest.mark.parametrize(("cut", "words"), [(12, "section header"), (11, "ends in the middle of a block")])
def test_a_damaged_section_header_is_named_once_its_byte_order_is_there(cut: int, words: str) -> None:
    file = Pcapng().section().interface().enhanced(1, A)
    _, (problem,), _ = read(BytesIO(file.data + pack("<III", 0x0A0D0D0A, 28, 7)[:cut]))
    assert words in problem.text


@pytest.mark.parametrize("count", [16, 17])
def test_any_number_of_clocks_gives_the_same_times(count: int) -> None:
    file = Pcapng().section()
    for number in range(count):
        file.interface(resolution=number % 10, offset_s=-number)
    for number in range(count):
        file.enhanced(3 * 10 ** (number % 10), A, interface=number)
    frames, problems = opened(file)
    assert sorted(frame.time_ns for frame in frames) == sorted((3 - number) * SECOND for number in range(count))
    assert [problem.text.partition(";")[0] for problem in problems] == [
        f"the clock of the capture went back by 1.000 s at frame 2, and {count - 2} more times, by 1.000 s at most"
    ]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("cut", [0, 1, 2, 3])
def test_options_and_names_may_end_with_their_block(order: str, cut: int) -> None:
    """Without the option that ends them (draft-ietf-opsawg-pcapng section 3.5): the last is read if all of it is there."""
    file = Pcapng(order).section()
    file.block(1, pack(order + "HHI", 1, 0, 0) + file.option(14, pack(order + "q", 5)))
    record = bytes([192, 0, 2, 1]) + b"abcdefg\0"
    body = pack(order + "HH", 1, len(record)) + record
    if cut:
        body = body[:2] + pack(order + "H", len(record) + cut) + body[4:]
    file.block(4, body).enhanced(1_000_000, A)
    frames, problems, reader = read(BytesIO(file.data))
    assert [frame.time_ns for frame in frames] == [6 * SECOND]
    assert not problems
    assert dict(reader.info.names) == ({} if cut else {"192.0.2.1": "abcdefg"})
    # Of no options and of no names, whatever the length of the block would be as an option.
    for size in range(0, 40, 4):
        other = Pcapng(order).section().interface().block(4, b"").block(0x99, bytes(size)).enhanced(1_000_000, A)
        assert [frame.time_ns for frame in read(BytesIO(other.data))[0]] == [SECOND]
