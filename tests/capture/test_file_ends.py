"""Files that end at any byte, streams that give less than they are asked for, and sizes exactly at a bound."""

import io
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from struct import pack
from typing import Any, BinaryIO, cast

import numpy as np
import pytest
import zstandard

from analyzer.capture import capture_reader as reader_module
from analyzer.capture import decompressors, record_walk
from analyzer.capture import pcapng as pcapng_module
from analyzer.capture.capture_reader import MERGE_BYTES, merged
from analyzer.capture.decompression import DecompressorMemory, open_stream
from analyzer.capture.frame_blocks import FrameBlock, heads_of
from analyzer.core.errors import InputError
from analyzer.core.frame_ids import frame_id
from analyzer.core.limits import Limits
from tests.build.capture import T0, Pcapng, as_given, frames_of, pcap, pcapng, read

A, B = b"a" * 60, b"b" * 61


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions that some kilobytes are enough for."""
    monkeypatch.setattr(record_walk, "FIRST_PARTITION_BYTES", 500)
    monkeypatch.setattr(record_walk, "FEWEST_PARTITION_BYTES", 300)
    monkeypatch.setattr(record_walk, "FEWEST_PARTITIONS", 3)
    monkeypatch.setattr(pcapng_module, "_LAST_STEP", 1024)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("write", [pcap, pcapng])
@pytest.mark.usefixtures("small")
def test_a_file_may_end_at_any_byte_of_its_last_records(write: Any, order: str) -> None:
    given = frames_of(90)
    data = write(given, order=order)
    for cut in range(len(data), len(data) - 200, -1):
        fast, problems, _ = read(BytesIO(data[:cut]))
        plain, plain_problems, _ = read(BytesIO(data[:cut]), fast=False)
        assert as_given(fast) == as_given(plain) == given[: len(fast)]
        assert len(fast) >= 90 - 1 - (len(data) - cut) // 60
        assert problems == plain_problems
        assert [problem.kind for problem in problems] == (
            [] if cut in whole_ends(data, given, write) else ["truncated"]
        )


def whole_ends(data: bytes, given: list[Any], write: Any) -> set[int]:
    """Where a record ends."""
    ends, at = {len(data)}, len(data)
    for _, body in reversed(given[-8:]):
        at -= 16 + len(body) if write is pcap else 32 + len(body) + -len(body) % 4
        ends.add(at)
    return ends


@pytest.mark.parametrize("fast", [True, False])
def test_the_shortest_block_may_be_the_last(fast: bool) -> None:
    """Twelve bytes: a type, and the length twice."""
    for count in (1, 90):
        data = pcapng(frames_of(count)) + Pcapng().block(0x99, b"").data
        frames, problems, _ = read(BytesIO(data), fast=fast)
        assert (len(frames), problems) == (count, [])
        _, problems, _ = read(BytesIO(data[:-1]), fast=fast)
        assert [problem.kind for problem in problems] == ["truncated"]


@pytest.mark.parametrize(
    ("kind", "length", "words"),
    [
        (0x99, 100, None),
        (0x99, 104, None),
        (0x99, 1 << 31, "the file ends in the middle of a block after frame 1"),
        (6, 104, "a block after frame 1 says it is 104 bytes long, which cannot be; the rest of the file is not read"),
        (3, 104, "a block after frame 1 says it is 104 bytes long, which cannot be; the rest of the file is not read"),
        (2, 104, "a block after frame 1 says it is 104 bytes long, which cannot be; the rest of the file is not read"),
        (0x99, 8, "a block after frame 1 says it is 8 bytes long, which cannot be; the rest of the file is not read"),
    ],
)
def test_a_block_longer_than_the_bound_is_passed_over_unless_it_carries_a_frame(
    kind: int, length: int, words: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pcapng_module, "MAX_BLOCK_BYTES", 100)
    body = bytes(min(max(length, 12), 104) - 12)
    file = Pcapng().section().interface().enhanced(1, A)
    file.data += pack("<II", kind, length) + body + pack("<I", length)
    file.enhanced(2, B)
    for block_bytes in (60, 10):
        frames, problems, _ = read(BytesIO(file.data), block_bytes=block_bytes)
        assert [frame.data for frame in frames] == ([A, B] if words is None else [A])
        assert [problem.text for problem in problems] == ([words] if words is not None else [])


@pytest.mark.parametrize("block_bytes", [1 << 16, 150])
def test_of_bad_packets_in_any_number_of_blocks_eight_are_named(block_bytes: int) -> None:
    file = Pcapng().section().interface()
    for _ in range(7):
        file.enhanced(9, A, interface=4).enhanced(1, B)
    for _ in range(5):
        file.enhanced(9, A, interface=4)
    _, (problem,), _ = read(BytesIO(file.data), block_bytes=block_bytes)
    assert problem.frames == (1, 3, 5, 7, 9, 11, 13, 15)
    assert problem.text.startswith("12 packet blocks name an interface")


def test_the_last_nanosecond_of_64_bits_is_within_reach() -> None:
    for times, noted in (([2**63 - 1], 0), ([2**63 - 1, 2**63], 1), ([2**63, 2**63 + 1, 5], 2)):
        file = Pcapng().section().interface(resolution=9)
        for time in times:
            file.enhanced(time, A)
        frames, problems, _ = read(BytesIO(file.data))
        assert [frame.time_ns for frame in frames] == [min(time, 2**63 - 1) for time in times]
        assert [problem.text for problem in problems if "clock" not in problem.text] == (
            [f"{noted} time stamp{'s lie' if noted > 1 else ' lies'} outside of the years 1677 to 2262"]
            if noted
            else []
        )
        assert [problem.text.partition(" at ")[0] for problem in problems if "clock" in problem.text] == (
            ["the clock of the capture went back by 9,223,372,036.855 s"] if times[-1] == 5 else []
        )


# ----------------------------------------------------------------------------------------------------------- streams


class Sparing(io.RawIOBase):
    """A file that gives less than it is asked for, by so much."""

    def __init__(self, data: bytes, less: int) -> None:
        self._data, self._less = BytesIO(data), less

    def read(self, size: int = -1) -> bytes:
        return self._data.read(max(size - self._less, 1))


@pytest.mark.parametrize("less", [0, 1, 2, 1000])
def test_a_stream_is_read_on_until_all_is_there(less: int) -> None:
    data = bytes(range(256)) * 20
    stream, wrappings = open_stream(cast(BinaryIO, Sparing(data, less)), "sparing")
    assert wrappings == ()
    assert [len(stream.read(size)) for size in (1, 2, 500, 3000)] == [1, 2, 500, 3000]
    assert stream.read(9999) == data[3503:]
    assert (stream.read(1), stream.damage) == (b"", None)


def single_segment(size: int) -> bytes:
    """A zstd frame whose window is its content, of so many bytes (RFC 8878 section 3.1.1.1)."""
    return b"\x28\xb5\x2f\xfd" + bytes([0xA0]) + size.to_bytes(4, "little") + b"\x01\0\0"


@pytest.mark.parametrize(
    ("size", "cost"),
    [
        ((1 << 23) - 1, 1 << 23),
        (1 << 23, 1 << 23),
        ((1 << 23) + 1, 1 << 24),
        (1 << 24, 1 << 24),
        ((1 << 24) + 1, 1 << 25),
        (1 << 27, 1 << 27),
        ((1 << 27) + 1, 1 << 27),
    ],
)
def test_a_zstd_window_is_counted_as_the_next_power_of_two(size: int, cost: int) -> None:
    data = single_segment(size)
    assert zstandard.get_frame_parameters(data).window_size == size
    open_stream(BytesIO(data), "x", memory=DecompressorMemory(Limits(decompressors=cost)))
    with pytest.raises(InputError, match="memory"):
        open_stream(BytesIO(data), "x", memory=DecompressorMemory(Limits(decompressors=cost - 1)))


def test_xz_is_counted_up_to_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    import lzma

    data = lzma.compress(b"x", preset=9)
    monkeypatch.setattr(decompressors, "MAX_XZ_MEMORY", 1 << 24)
    open_stream(BytesIO(data), "x", memory=DecompressorMemory(Limits(decompressors=1 << 24)))
    with pytest.raises(InputError, match="memory"):
        open_stream(BytesIO(data), "x", memory=DecompressorMemory(Limits(decompressors=(1 << 24) - 1)))


@pytest.mark.parametrize("number", [0x50, 0x5F])
def test_a_zstd_file_may_begin_with_a_skippable_frame(number: int) -> None:
    """RFC 8878 section 3.1.2."""
    skippable = bytes([number]) + b"\x2a\x4d\x18" + pack("<I", 5) + b"notes"
    data = skippable + zstandard.ZstdCompressor().compress(pcap(frames_of(9)))
    frames, problems, _ = read(BytesIO(data))
    assert (as_given(frames), problems) == (frames_of(9), [])
    for damaged in (bytes([number]) + b"\x2a\x4d\x19" + data[4:], b"\x60" + data[1:]):
        with pytest.raises(InputError, match="no format we know"):
            read(BytesIO(damaged))


# ------------------------------------------------------------------------------------------------------------ merges


class Part:
    """A file of a set, and what it was told of blocks."""

    def __init__(self, number: int, times: list[int]) -> None:
        self.number, self.times = number, times
        self.first_time_ns = times[0] if times else None
        self.sizes: list[int] = []

    def set_block_bytes(self, block_bytes: int) -> None:
        self.sizes.append(block_bytes)

    def items(self, block_bytes: int) -> Iterator[FrameBlock]:
        self.sizes.append(-block_bytes)
        return self._blocks()

    def _blocks(self) -> Iterator[FrameBlock]:
        for at, time in enumerate(self.times):
            data = bytes([self.number % 256, at])
            ones = np.array([1], np.int64)
            starts = np.array([0], np.int64)
            yield FrameBlock(
                data,
                1,
                np.array([frame_id(self.number, at + 1)]),
                np.array([time], np.int64),
                starts,
                ones * 2,
                ones * 2,
                heads_of(data, starts),
            )


def test_files_that_are_merged_share_what_blocks_may_take() -> None:
    parts = [Part(number, [10 + number, 100 + number]) for number in range(3)]
    most = MERGE_BYTES // 2 + 7
    found = [
        int(frame)
        for block in merged(parts, lambda part, size: part.items(size), most)
        if isinstance(block, FrameBlock)
        for frame in block.frames
    ]
    assert found == [frame_id(number, place) for place in (1, 2) for number in range(3)]
    # Each that joins begins with its share, and those that were there have the same from then on.
    half, third = MERGE_BYTES // 2, MERGE_BYTES // 3
    assert [part.sizes for part in parts] == [
        [-most, most, half, third],
        [-half, half, third],
        [-third, third],
    ]
    alone = Part(0, [1])
    list(merged([alone], lambda part, size: part.items(size), 5))
    assert alone.sizes == [-5, 5]


@pytest.mark.parametrize(("count", "lengths"), [(9, [9]), (10, [10]), (11, [5, 6]), (20, [10, 10]), (21, [7, 7, 7])])
def test_blocks_of_many_frames_come_in_pieces_that_are_alike(
    count: int, lengths: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_module, "MOST_FRAMES", 10)
    reader = reader_module.CaptureReader([BytesIO(pcap(frames_of(count)))])
    blocks = [item for item in reader if isinstance(item, FrameBlock)]
    assert [len(block) for block in blocks] == lengths
    assert [int(frame) for block in blocks for frame in block.frames] == list(range(1, count + 1))
    assert [int(time) for block in blocks for time in block.times_ns] == [T0 + n * 1_000_000 for n in range(count)]


def test_a_file_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    for error, words in (
        (FileNotFoundError(2, "x"), "there is no such file"),
        (IsADirectoryError(21, "x"), "is a directory"),
        (PermissionError(13, "x"), "you may not read this file"),
        (OSError(24, "x"), "too many files overlap in time"),
        (OSError(5, "Input/output error"), "Input/output error."),
        (OSError("odd"), "odd."),
    ):

        class Failing(type(tmp_path)):
            def open(self, *_: object, **__: object) -> BinaryIO:
                raise error  # noqa: B023

        with pytest.raises(InputError, match=words):
            open_stream(Failing(tmp_path), "it")
