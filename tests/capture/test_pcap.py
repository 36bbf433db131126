"""pcap files in every variant give the same frames."""

from io import BytesIO
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.capture.frame_blocks import FrameBlock
from tests.build.capture import IXIA_HW, IXIA_SW, KUZNETZOV, MICRO, NANO, T0, as_given, frames_of, pcap, read

FRAMES = frames_of(300)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("magic", "extra"),
    [(MICRO, b""), (NANO, b""), (KUZNETZOV, bytes(8)), (KUZNETZOV, bytes(12)), (IXIA_HW, b""), (IXIA_SW, b"")],
)
@pytest.mark.parametrize("fast", [True, False])
def test_every_variant_gives_the_same_frames(order, magic, extra, fast):
    frames, problems, reader = read(BytesIO(pcap(FRAMES, order=order, magic=magic, extra=extra)), fast=fast)
    assert as_given(frames) == FRAMES
    assert [frame.frame for frame in frames] == list(range(1, 301))
    assert not problems
    assert reader.info.frames == 300
    assert reader.info.bytes == sum(len(data) for _, data in FRAMES)
    assert (reader.info.first_time_ns, reader.info.last_time_ns) == (FRAMES[0][0], FRAMES[-1][0])


@pytest.mark.parametrize(
    ("network", "link_type"), [(1, 1), (12, 101), (14, 101), (101, 101), (0x34000001, 1), (113, 113), (0xF4000071, 113)]
)
def test_link_types_are_the_registrys_without_the_check_sequence_bits(network, link_type):
    block = next(iter(_blocks(pcap(FRAMES, network=network))))
    assert block.link_type == link_type


def test_a_file_with_a_header_and_no_frames_is_fine():
    frames, problems, reader = read(BytesIO(pcap([])))
    assert (frames, problems, reader.info.frames, reader.info.first_time_ns) == ([], [], 0, None)


def test_a_cut_file_gives_everything_before_the_cut_and_a_problem():
    data = pcap(FRAMES)
    frames, problems, _ = read(BytesIO(data[:-10]))
    assert as_given(frames) == FRAMES[:-1]
    assert [(problem.kind, problem.layer, problem.frames) for problem in problems] == [("truncated", "capture", (299,))]


def test_a_file_cut_in_its_header_is_a_problem():
    frames, problems, _ = read(BytesIO(pcap([])[:20]))
    assert not frames
    assert problems[0].kind == "truncated"


@pytest.mark.parametrize("fast", [True, False])
def test_an_impossible_length_ends_the_file_with_a_problem(fast):
    data = pcap(FRAMES) + pack("<IIII", 1_700_000_000, 0, 0x7FFFFFFF, 0x7FFFFFFF) + pcap(FRAMES)[24:]
    frames, problems, _ = read(BytesIO(data), fast=fast)
    assert as_given(frames) == FRAMES
    assert [problem.kind for problem in problems] == ["malformed"]


def test_frames_that_hold_fake_records_do_not_mislead_the_fast_walk():
    fakes = pcap([(T0 + n, b"z" * 40) for n in range(500)])[24:]
    frames = [(T0 + n * 1000, fakes[: 20_000 + n]) for n in range(200)]
    data = pcap(frames)
    assert as_given(read(BytesIO(data))[0]) == frames
    assert as_given(read(BytesIO(data), fast=False)[0]) == frames


@settings(max_examples=25)
@given(st.integers(1, 4000), st.integers(0, 2500), st.integers(0, 2**32), st.integers(0, 70_000), st.booleans())
def test_the_fast_walk_finds_what_the_plain_one_finds(count, size, seed, cut, big):
    sizes = [(seed * (n + 1) >> 3) % (size + 1) for n in range(count % 1500)]
    frames = [(T0 + n * 10**6, (b"\x00\x65" * size)[:length]) for n, length in enumerate(sizes)]
    data = pcap(frames, order=">" if big else "<")
    data = data[: max(len(data) - cut, 24)]
    assert read(BytesIO(data))[:2] == read(BytesIO(data), fast=False)[:2]


@settings(max_examples=60)
@given(st.binary(max_size=200), st.integers(0, 20_000), st.booleans())
def test_spliced_bytes_give_frames_and_problems_and_nothing_else(noise, place, fast):
    data = pcap(FRAMES)
    place = 24 + place % (len(data) - 24)
    frames, _, _ = read(BytesIO(data[:place] + noise + data[place:]), fast=fast)
    whole = sum(1 for stop in _ends(FRAMES) if stop <= place)
    assert as_given(frames)[:whole] == FRAMES[:whole]


def _ends(frames):
    at = 24
    for _, data in frames:
        at += 16 + len(data)
        yield at


def _blocks(data):
    from analyzer.capture.capture_reader import CaptureReader

    return [item for item in CaptureReader([BytesIO(data)]) if isinstance(item, FrameBlock)]


def _short(extra, fraction, times=2):
    """Records without data, whose headers have `extra` bytes more."""
    return b"".join(pack("<IIII", 1_700_000_000 + n, fraction, 0, 0) + bytes(extra) for n in range(times))


@pytest.mark.parametrize("extra", [8, 12])
@pytest.mark.parametrize("fraction", [0, 999_999])
def test_of_two_headers_that_begin_alike_the_one_that_fits_more_records_is_taken(extra, fraction):
    """The last record ends with the file; a wrong header reads seconds as a fraction, which is all that gives it away."""
    frames, problems, _ = read(BytesIO(pcap([], magic=KUZNETZOV) + _short(extra, fraction)))
    assert [frame.time_ns for frame in frames] == [T0 + n * 10**9 + fraction * 1000 for n in range(2)]
    assert not problems


def test_a_record_alone_has_the_shorter_of_the_headers_that_fit():
    frames, _, _ = read(BytesIO(pcap([], magic=KUZNETZOV) + _short(8, 7, times=1)))
    assert [frame.time_ns for frame in frames] == [T0 + 7000]


@pytest.mark.parametrize(("fraction", "unit"), [(999_999, 1000), (1_000_000, 1)])
def test_a_million_is_no_count_of_microseconds_in_the_last_record_either(fraction, unit):
    data = pcap([], magic=IXIA_HW) + _short(0, 5, times=1) + pack("<IIII", 1_700_000_000, fraction, 0, 0)
    assert [frame.time_ns for frame in read(BytesIO(data))[0]] == [T0 + 5 * unit, T0 + fraction * unit]


@pytest.mark.parametrize(("version", "length"), [((2, 2), 4), ((2, 3), 100), ((2, 4), 100), ((1, 2), 100)])
def test_only_versions_before_2_3_have_their_lengths_the_other_way_round(version, length):
    data = pcap([], version=version) + pack("<IIII", 1_700_000_000, 0, 100, 4) + bytes(100)
    assert [len(frame.data) for frame in read(BytesIO(data), fast=False)[0]][:1] == [length]
