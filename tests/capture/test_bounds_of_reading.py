"""What holds at the edges: of reads, of memory for decompressors, of what a reader says of its files, and of records in a row."""

import bz2
import gzip
import lzma
import sys
from io import BytesIO
from pathlib import Path
from struct import pack
from types import SimpleNamespace
from typing import Any, BinaryIO

import lz4.frame
import numpy as np
import pytest
import zstandard

from analyzer.capture import capture_reader as reader_module
from analyzer.capture import decompression, decompressors
from analyzer.capture.capture_reader import (
    _KEPT_BYTES,
    BLOCK_BYTES,
    FEWEST_BLOCK_BYTES,
    MERGE_BYTES,
    MOST_FRAMES,
    CaptureReader,
    _CaptureFile,
)
from analyzer.capture.decompression import BZIP2, GZIP, LZ4, XZ, ZSTD, DecompressorMemory, open_stream, read_on
from analyzer.capture.decompressors import (
    _COSTS,
    _FEWEST_XZ_MEMORY,
    FEWEST_ZSTD_WINDOW,
    MAX_XZ_MEMORY,
    MAX_ZSTD_WINDOW,
)
from analyzer.capture.frame_blocks import FrameBlock
from analyzer.capture.pcap import (
    _KUZNETZOV_HEADER_LENS,
    _LOOK_AHEAD,
    MAX_FRAME_BYTES,
    _fraction_unit,
    _kuznetzov_header_len,
)
from analyzer.capture.pcapng import MAX_BLOCK_BYTES, MAX_NAME_LEN
from analyzer.capture.record_walk import Chain, walk_plain
from analyzer.core.errors import InputError
from analyzer.core.limits import DEFAULTS, Limits
from tests.build.capture import T0, as_given, frames_of, pcap, read

FRAMES = frames_of(50)
COMPRESSORS: dict[str, Any] = {
    GZIP: gzip.compress,
    ZSTD: zstandard.ZstdCompressor().compress,
    LZ4: lz4.frame.compress,
    XZ: lzma.compress,
    BZIP2: bz2.compress,
}


def test_bounds_are_those_of_their_sources() -> None:
    # Wireshark's WTAP_MAX_PACKET_SIZE_STANDARD, and MAX_BLOCK_SIZE of its pcapng reader.
    assert (MAX_FRAME_BYTES, MAX_BLOCK_BYTES) == (262_144, 16 << 20)
    # RFC 8878 section 3.1.1.1.2 recommends 8 MB; zstd --long has windows of 2^27.
    assert (FEWEST_ZSTD_WINDOW, MAX_ZSTD_WINDOW) == (8 << 20, 128 << 20)
    # The dictionary of xz -9 is 64 MiB, and decoders need at least as much; of xz -0 256 KiB.
    assert (_FEWEST_XZ_MEMORY, MAX_XZ_MEMORY) == (1 << 20, 128 << 20)
    # RFC 1952 has a window of 32 KiB; blocks of lz4 have 4 MiB at most, of bzip2 900 kB, which it holds several times.
    assert {GZIP: 1 << 19, LZ4: 8 << 20, BZIP2: 4 << 20} == _COSTS
    # glibc's DEFAULT_MMAP_THRESHOLD_MAX on 64 bits is 32 MiB; what is asked for stays below it with its own header.
    assert _KEPT_BYTES == (32 << 20) - (64 << 10)
    # Two frames of the greatest length, of which the second shows whether the first was read right.
    assert _LOOK_AHEAD == 2 * 262_144
    # docs/reliability.md: what blocks and merges hold; 64 KiB is what one read of a disk brings.
    assert (BLOCK_BYTES, MOST_FRAMES, MERGE_BYTES, FEWEST_BLOCK_BYTES) == (6 << 20, 12_288, 16 << 20, 64 << 10)
    # RFC 1035 section 2.3.4.
    assert MAX_NAME_LEN == 255
    # Kuznetzov's header has 24 bytes, with ifindex, protocol and packet type; that of SuSE 6.3 four more.
    assert _KUZNETZOV_HEADER_LENS == (24, 28)


# ------------------------------------------------------------------------------------------------------------- reads


class Source:
    """A stream that notes what is asked of it."""

    def __init__(self, data: bytes, *, live: bool = False, steps_back: bool = True) -> None:
        self.is_live, self.is_limited, self.damage = live, False, None
        self._data, self.at, self._steps_back = data, 0, steps_back
        self.stepped: list[int] = []

    def read(self, size: int) -> bytes:
        found = self._data[self.at : self.at + size]
        self.at += len(found)
        return found

    read_some = read

    def step_back(self, size: int) -> bool:
        self.stepped.append(size)
        self.at -= size if self._steps_back else 0
        return self._steps_back

    def close(self) -> None: ...


@pytest.mark.parametrize(
    ("rest", "steps_back", "stepped", "expected"),
    [
        (0, True, [], (b"4567", False)),
        (3, True, [3], (b"1234", False)),
        (3, False, [3], (b"1234567", False)),
        # As much as is to be read: it is joined, for else nothing new would be read.
        (4, True, [], (b"01234567", False)),
    ],
)
def test_what_is_left_over_is_read_again_or_joined(
    rest: int, steps_back: bool, stepped: list[int], expected: tuple[bytes, bool]
) -> None:
    source = Source(b"0123456789", steps_back=steps_back)
    source.at = 4
    assert read_on(source, b"0123"[4 - rest :], 4) == expected
    assert source.stepped == stepped


@pytest.mark.parametrize(
    ("live", "size", "last"), [(False, 3, True), (False, 2, False), (True, 3, False), (True, 2, False)]
)
def test_a_short_read_is_the_end_of_what_is_not_live(live: bool, size: int, last: bool) -> None:
    assert read_on(Source(b"ab", live=live), b"", size) == (b"ab", last)
    assert read_on(Source(b"", live=live), b"", 1) == (b"", True)


class Failing(BytesIO):
    """A disk that fails behind so many bytes."""

    good = 1000

    def read(self, size: int | None = -1) -> bytes:
        if self.tell() >= self.good:
            raise OSError(5, "Input/output error")
        return super().read(min(size or 0, self.good - self.tell()))


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_a_disk_that_fails_below_a_decompressor_is_what_is_said(kind: str) -> None:
    packed = COMPRESSORS[kind](b"".join(n.to_bytes(4, "big") for n in range(40_000)))
    assert len(packed) > 2000
    stream, _ = open_stream(Failing(packed), "it")
    while stream.read(5000):
        pass
    assert stream.damage == "reading failed: Input/output error"


@pytest.mark.parametrize("inner", COMPRESSORS)
@pytest.mark.parametrize("outer", COMPRESSORS)
def test_a_bound_on_what_is_inside_is_a_bound_of_the_whole(inner: str, outer: str) -> None:
    packed = COMPRESSORS[outer](COMPRESSORS[inner](bytes(3_000_000)))
    stream, wrappings = open_stream(BytesIO(packed), "it", Limits(decompressed_free=100_000, decompressed_ratio=1))
    assert wrappings == (outer, inner)
    length = 0
    while part := stream.read(50_000):
        length += len(part)
    assert length <= 100_000 + len(packed)
    assert stream.is_limited
    assert stream.damage is not None
    assert "more than 1 times its size" in stream.damage


def test_what_fails_to_open_gives_its_memory_back() -> None:
    packed = pcap(FRAMES)
    for _ in range(DEFAULTS.wrappings + 1):
        packed = gzip.compress(packed)
    memory = DecompressorMemory(DEFAULTS)
    with pytest.raises(InputError, match="is compressed more than"):
        open_stream(BytesIO(packed), "it", memory=memory)
    assert memory._left == memory._most == DEFAULTS.decompressors
    stream, wrappings = open_stream(BytesIO(gzip.decompress(packed)), "it", memory=memory)
    assert len(wrappings) == DEFAULTS.wrappings
    assert memory._left == memory._most - len(wrappings) * _COSTS[GZIP]
    stream.close()
    stream.close()
    assert memory._left == memory._most


def test_memory_of_decompressors_may_be_used_up_to_its_last_byte() -> None:
    memory = DecompressorMemory(Limits(decompressors=2 * _COSTS[GZIP]))
    packed = gzip.compress(pcap(FRAMES))
    opened = [open_stream(BytesIO(packed), "it", memory=memory)[0] for _ in range(2)]
    with pytest.raises(InputError, match=f"more than {2 * _COSTS[GZIP]} bytes of memory"):
        open_stream(BytesIO(packed), "it", memory=memory)
    opened[0].close()
    open_stream(BytesIO(packed), "it", memory=memory)


@pytest.mark.parametrize("piece", [1, 7, 100, 1 << 14])
@pytest.mark.parametrize("kind", [GZIP, LZ4, XZ, BZIP2])
@pytest.mark.parametrize("padding", [b"", bytes(4), bytes(40)])
def test_members_may_end_at_any_place_of_what_is_read(
    kind: str, piece: int, padding: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Padding of zero bytes between them and behind the last one belongs to nothing (xz: groups of four; tapes: any)."""
    compress = COMPRESSORS[kind]
    monkeypatch.setattr(decompressors, "_COMPRESSED_PIECE", piece)
    parts = [bytes([number]) * 50 for number in range(6)]
    packed = b"".join(compress(part) + padding for part in parts)
    for at_once in (3, 50, 1 << 18):
        monkeypatch.setattr(decompressors, "_COMPRESSED_READ", at_once)
        stream, _ = open_stream(BytesIO(packed), "it")
        assert stream.read(1000) == b"".join(parts)
        assert stream.read(10) == b""
        assert stream.damage is None
        other, _ = open_stream(BytesIO(packed + b"x"), "it")
        assert other.read(1000) == b"".join(parts)
        assert other.damage == f"{kind} data is followed by something else"


# ----------------------------------------------------------------------------------------------------------- readers


def test_a_file_is_named_by_its_path_or_what_it_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    memory = DecompressorMemory(DEFAULTS)

    def name(source: Path | BinaryIO) -> str:
        return _CaptureFile(source, DEFAULTS, memory).name

    named = BytesIO()
    named.name = "socket"
    numbered = BytesIO()
    numbered.name = 7
    assert (name(tmp_path), name(BytesIO()), name(named), name(numbered)) == (
        *(str(tmp_path), "<stream>"),
        *("socket", "<stream>"),
    )
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=named))
    assert (name(named), name(BytesIO())) == ("-", "<stream>")
    monkeypatch.setattr(sys, "stdin", None)
    assert name(named) == "socket"


def test_only_a_live_source_can_have_nothing_for_the_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    file = _CaptureFile(BytesIO(pcap(FRAMES)), DEFAULTS, DecompressorMemory(DEFAULTS))
    asked: list[Any] = []

    def select(*given: Any) -> tuple[list[Any], list[Any], list[Any]]:
        asked.append(given)
        return given[0] if len(asked) > 1 else [], [], []

    monkeypatch.setattr(reader_module.select, "select", select)
    assert not file.is_drained
    file.is_live = True
    assert not file.is_drained
    file.open(1 << 16, {}, fast=True)
    assert len(asked) == 0
    assert file.is_drained
    assert not file.is_drained
    # A fifth of a second is what a person does not notice, and a burst of frames does not last.
    assert [given[3] for given in asked] == [0.2, 0.2]
    file.is_live = False
    assert not file.is_drained
    assert len(asked) == 2
    file.is_live = True
    monkeypatch.setattr(reader_module.select, "select", lambda *_: (_ for _ in ()).throw(ValueError("closed")))
    assert not file.is_drained
    file.close()


def test_files_that_were_read_to_their_end_have_digests(tmp_path: Path) -> None:
    paths = []
    for number in range(2):
        paths.append(tmp_path / f"{number}.pcap")
        paths[-1].write_bytes(pcap(frames_of(50, start=T0 + number * 10**12)))
    for hashing, expected in ((True, [str(path) for path in paths]), (False, [])):
        reader = CaptureReader(paths, hashing=hashing)
        assert reader.digests == ()
        assert len([item for item in reader if isinstance(item, FrameBlock)]) == 2
        assert [digest.name for digest in reader.digests] == expected
        assert reader.position == sum(path.stat().st_size for path in paths)


def test_files_are_closed_where_reading_ends_early(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(frames_of(30_000)))
    reader = CaptureReader([path])
    items = iter(reader)
    assert isinstance(next(items), FrameBlock)
    opened = reader._files[0]._file
    assert not opened.closed
    items.close()
    assert opened.closed
    assert (reader._files[0].reader, reader._files[0]._stream, reader._files[0]._file) == (None, None, None)


# ----------------------------------------------------------------------------------------------------------- records


@pytest.mark.parametrize(
    ("chain", "lengths", "end", "at", "stop", "impossible"),
    [
        # Records of a header of 4 bytes, which hold their length; by hand.
        (Chain("<", 0, 4, 4, smallest=0, largest=9), [0, 3, 9], 0, [0, 4, 11], 24, False),
        (Chain(">", 0, 4, 4, smallest=0, largest=9), [0, 3, 9], 0, [0, 4, 11], 24, False),
        (Chain("<", 0, 4, 4, smallest=0, largest=9), [0, 3, 9], -1, [0, 4], 11, False),
        (Chain("<", 0, 4, 4, smallest=0, largest=8), [0, 3, 9], 0, [0, 4], 11, True),
        (Chain("<", 0, 4, 4, smallest=1, largest=9), [0, 3, 9], 0, [], 0, True),
        (Chain("<", 0, 4, 4, smallest=0, largest=9), [0, 3, 9], 3, [0, 4, 11], 24, False),
        (Chain("<", 0, 4, 4, smallest=0, largest=9), [], 3, [], 0, False),
        # Padded to 4.
        (Chain("<", 0, 4, 4, smallest=0, largest=9, align=4), [0, 3, 8, 5], 0, [0, 4, 12, 24], 36, False),
        (Chain("<", 0, 4, 4, smallest=0, largest=9, align=4), [0, 3, 8, 5], -1, [0, 4, 12], 24, False),
    ],
)
def test_records_are_followed_one_by_one(
    chain: Chain, lengths: list[int], end: int, at: list[int], stop: int, impossible: bool
) -> None:
    data = b"".join(pack(chain.order + "I", length) + b"\xff" * (length + -length % chain.align) for length in lengths)
    data = data[: len(data) + min(end, 0)] + bytes(max(end, 0))
    found = walk_plain(chain, data)
    assert (found.at.tolist(), found.stop, found.impossible) == (at, stop, impossible)
    assert found.at.dtype == np.int64
    for until in range(stop + 3):
        short = walk_plain(chain, data, 0, until)
        assert short.at.tolist() == [one for one in at if one < until]
        # No further than the first record at or after it.
        assert short.stop == next((one for one in [*at, stop] if one >= until), stop)
    if len(at) > 1:
        assert walk_plain(chain, data, at[1]).at.tolist() == at[1:]


def kuznetzov(header: int, *records: tuple[int, int, int]) -> bytes:
    return b"".join(
        pack("<IIII", 1_700_000_000, fraction, captured, wire) + b"\xff" * (header - 16 + captured)
        for fraction, captured, wire in records
    )


@pytest.mark.parametrize(
    ("record", "fits"),
    [
        ((999_999, 4, 4), True),
        ((1_000_000, 4, 4), False),
        ((0, 4, 5), True),
        ((0, 5, 4), False),
        ((0, 0, 0), True),
        ((0, MAX_FRAME_BYTES, MAX_FRAME_BYTES), True),
        ((0, MAX_FRAME_BYTES + 1, MAX_FRAME_BYTES + 1), False),
    ],
)
def test_a_record_of_kuznetzovs_variant_says_nothing_impossible(record: tuple[int, int, int], fits: bool) -> None:
    """Where the second record of a file with long headers could be one, these are the longer headers."""
    data = kuznetzov(28, (7, 4, 4), record)
    assert _kuznetzov_header_len(data, "<") == (28 if fits else 24)
    assert _kuznetzov_header_len(kuznetzov(24, (7, 4, 4), record), "<") == 24
    assert _kuznetzov_header_len(b"", "<") == 24


@pytest.mark.parametrize(
    ("fractions", "unit"),
    [([], 1000), ([999_999] * 3, 1000), ([0, 0, 1_000_000], 1), ([1_000_000], 1), ([4_000_000_000, 0], 1)],
)
def test_a_count_of_microseconds_is_below_a_million(fractions: list[int], unit: int) -> None:
    data = b"".join(pack("<IIII", 1, fraction, 3, 3) + b"\xff" * 3 for fraction in fractions)
    assert _fraction_unit(data, "<") == unit
    assert _fraction_unit(data[:-3] if data else b"", "<") == unit
    if fractions:
        # A header of which a byte is missing is none.
        assert _fraction_unit(data[: 19 * (len(fractions) - 1) + 15], "<") == (
            1000 if all(one < 1_000_000 for one in fractions[:-1]) else 1
        )


@pytest.mark.parametrize("extra", [0, 8, 12])
def test_times_and_lengths_of_records_stand_in_their_first_words(extra: int) -> None:
    """pcap's header (draft-ietf-opsawg-pcap section 5), and Kuznetzov's, which go on behind it."""
    magic = 0xA1B2CD34 if extra else 0xA1B2C3D4
    frames = [(T0 + n * 1_000_000, bytes([n]) * n, n + 5) for n in range(1, 30)]
    found, problems, _ = read(BytesIO(pcap(frames, magic=magic, extra=bytes(extra))))
    assert as_given(found) == [(time, data) for time, data, _ in frames]
    assert [frame.original_length for frame in found] == [wire for _, _, wire in frames]
    assert not problems


def test_streaming_blocks_grow_up_to_a_mebibyte() -> None:
    """What was captured first comes soon, and later more is read at once: 64 KiB and twice as much each time."""
    reader = CaptureReader([BytesIO(pcap((T0 + n, bytes(1000)) for n in range(3500)))], streaming=True)
    lengths = [int(item.captured.sum()) + 16 * len(item) for item in reader if isinstance(item, FrameBlock)]
    # But for what is left of a record and of the first bytes.
    assert all(abs(length - (65536 << place)) < 2100 for place, length in enumerate(lengths[:4]))
    assert reader._block_bytes == 1 << 20
    assert reader_module._MOST_STREAMED == 1 << 20


@pytest.mark.parametrize("owned", [True, False])
def test_bytes_that_are_read_again_are_counted_once(owned: bool) -> None:
    """What a file may become is in proportion to what was read of it."""
    file = BytesIO(b"0123456789")
    stream = decompression.FileStream(file, owned=owned)
    assert (stream.read(6), stream.taken) == (b"012345", 6)
    assert stream.step_back(4) == owned
    assert (stream.taken, file.tell()) == ((2, 2) if owned else (6, 6))
    assert stream.read_some(3) == (b"234" if owned else b"678")
    assert stream.taken == (5 if owned else 9)
    assert stream.read(100) == (b"56789" if owned else b"9")
    assert stream.taken == 10
    stream.close()
    assert file.closed == owned


def test_a_live_file_gives_what_there_is_and_counts_it() -> None:
    class Slow(BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            return super().read(min(size or 0, 3))

    stream = decompression.FileStream(Slow(b"0123456789"), owned=False, live=True)
    assert ([stream.read_some(5) for _ in range(3)], stream.taken) == ([b"012", b"345", b"678"], 9)
    assert (stream.read(5), stream.taken, stream.read_some(5)) == (b"9", 10, b"")

    class Broken(BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            raise OSError(5, "Input/output error")

    broken = decompression.FileStream(Broken(b"x"), owned=False, live=True)
    assert (broken.read_some(5), broken.damage, broken.taken) == (b"", "reading failed: Input/output error", 0)


@pytest.mark.parametrize("kind", [GZIP, XZ])
def test_behind_damage_nothing_more_is_read(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decompressors, "_COMPRESSED_READ", 100)
    monkeypatch.setattr(decompressors, "_COMPRESSED_PIECE", 50)
    packed = bytearray(COMPRESSORS[kind](b"".join(n.to_bytes(4, "big") for n in range(4000))))
    packed[700:760] = b"\xff" * 60
    file = BytesIO(bytes(packed))
    stream, _ = open_stream(file, "it")
    while stream.read(500):
        pass
    assert stream.damage.startswith(f"the {kind} data is damaged (")
    at, damage = file.tell(), stream.damage
    assert at < len(packed) - 200
    assert [stream.read(500) for _ in range(3)] == [b"", b"", b""]
    assert (file.tell(), stream.damage) == (at, damage)
