"""pcapng files: sections, interfaces, clocks and every block that carries a frame."""

from io import BytesIO
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.capture.speculative import SpeculativeScan
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
    frames, problems, _ = read(BytesIO(section * 3000))
    assert len(frames) == 3000
    assert not problems


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1500), st.integers(0, 2500), st.integers(0, 2**32), st.integers(0, 70_000), st.booleans())
def test_the_fast_walk_finds_what_the_plain_one_finds(count, size, seed, cut, big):
    sizes = [(seed * (n + 1) >> 3) % (size + 1) for n in range(count)]
    frames = [(T0 + n * 10**6, (b"\6\0\0\0\x40\0\0\0" * size)[:length]) for n, length in enumerate(sizes)]
    data = pcapng(frames, order=">" if big else "<")
    data = data[: max(len(data) - cut, 48)]
    assert read(BytesIO(data))[:2] == read(BytesIO(data), fast=False)[:2]


@settings(max_examples=60, deadline=None)
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
