"""Decompresses captures within bounds of size and memory: gzip (RFC 1952), Zstandard (RFC 8878), lz4 frames, xz and bzip2."""

from __future__ import annotations

import bz2
import lzma
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

from analyzer.capture.decompression import (
    BZIP2,
    COMPRESSION,
    GZIP,
    LZ4,
    XZ,
    ZSTD,
    AnyPlace,
    ByteStream,
    DecompressorMemory,
    FileStream,
)
from analyzer.core.limits import Limits

_COMPRESSED_READ = 256 * 1024
# What a decompressor is given at once: what it leaves of it, because a member ended, is copied. Of a block of lz4, which often has
# 64 KiB, parts would be copied too.
_COMPRESSED_PIECE = 64 * 1024
_DECOMPRESSED_PIECE = 1024 * 1024
# RFC 8878 asks decoders for 8 MiB at least; zstd --long makes 128 MiB. More would let a file decide over our memory.
FEWEST_ZSTD_WINDOW, MAX_ZSTD_WINDOW = 1 << 23, 1 << 27
# xz -9 takes 65 MiB.
_FEWEST_XZ_MEMORY, MAX_XZ_MEMORY = 1 << 20, 1 << 27

# What the others take, with the input that is read ahead: 32 KiB of window, blocks of 4 MiB, blocks of 900 kB four times.
_COSTS = {GZIP: 1 << 19, LZ4: 1 << 23, BZIP2: 1 << 22}


class _Filling(ABC):
    """A stream of decompressed bytes whose reads always return all bytes that were asked for, up to its end."""

    is_live = False

    @abstractmethod
    def read(self, size: int) -> bytes: ...

    def read_some(self, size: int) -> bytes:
        return self.read(size)

    def step_back(self, size: int) -> bool:
        return False

    def any_place(self) -> AnyPlace | None:
        return None


class _Decompressor(Protocol):
    """A decompressor that gives plain bytes. `damage` states why they ended too early, or is None."""

    damage: str | None
    is_limited: bool

    def some(self, size: int) -> bytes:
        """Returns the next decompressed bytes, at most `size`; none at the end."""

    def close(self) -> None: ...


class _Bounded(_Filling):
    """Limits decompression: gives plain bytes as long as they are in proportion to the bytes read of the file."""

    def __init__(self, stream: _Decompressor, file: FileStream, limits: Limits) -> None:
        self._stream = stream
        self._file = file
        self._limits = limits
        self._given = 0
        self._has_reached_limit = False

    @property
    def is_limited(self) -> bool:
        return self._has_reached_limit or self._stream.is_limited

    @property
    def damage(self) -> str | None:
        if self._has_reached_limit:
            return (
                f"the file is read no further: it becomes more than {self._limits.decompressed_ratio} times its size "
                "(--max-ratio allows more)"
            )
        return self._stream.damage

    def read(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size > 0:
            left = self._limits.decompressed_free + self._limits.decompressed_ratio * self._file.taken - self._given
            if left <= 0:
                self._has_reached_limit = True
                break
            part = self._stream.some(min(size, left, _DECOMPRESSED_PIECE))
            if not part:
                break
            self._given += len(part)
            size -= len(part)
            parts.append(part)
        return b"".join(parts)

    def close(self) -> None:
        self._stream.close()


class _Member(Protocol):
    """The decompressor of one compressed member, with the methods that bz2, lzma and lz4 have."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool:
        """Whether the decompressor has no more output without new input."""

    @property
    def unused_data(self) -> bytes | None: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _GzipMember:
    """ISA-L's gzip decompressor with the methods of the others. It keeps the input that did not fit."""

    def __init__(self) -> None:
        from isal import isal_zlib  # loaded when a capture needs it

        self._inner = isal_zlib.decompressobj(wbits=31)
        self._damage: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # its stub has an instance
        self._held = b""
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        try:
            out = self._inner.decompress(self._held + data if self._held else data, max_length)
        except self._damage as error:
            raise ValueError(str(error)) from error
        self._held = self._inner.unconsumed_tail
        self.needs_input = len(out) < max_length
        return out


def _lz4_member(most: int) -> _Member:
    from lz4.frame import LZ4FrameDecompressor  # loaded when a capture needs it

    member: _Member = LZ4FrameDecompressor()
    return member


_MEMBERS: dict[str, Callable[[int], _Member]] = {
    GZIP: lambda most: _GzipMember(),
    LZ4: _lz4_member,
    XZ: lambda most: lzma.LZMADecompressor(memlimit=most),
    BZIP2: lambda most: bz2.BZ2Decompressor(),
}


class _Decompressed:
    """The plain bytes of one or more compressed members, one behind the other."""

    def __init__(self, kind: str, stream: ByteStream, most: int) -> None:
        """`most` is the number of bytes of memory that the decompressor may take, as far as it can be bounded."""
        self.damage: str | None = None
        self.is_limited = False
        self._kind = kind
        self._most = most
        self._magic = next(magic for magic, name in COMPRESSION if name == kind)
        self._stream = stream
        self._member: _Member = _MEMBERS[kind](most)
        self._ended = False
        # Compressed bytes that were read, and how many of them the members have taken.
        self._input = b""
        self._taken = 0

    def some(self, size: int) -> bytes:
        part = b""
        try:
            while not part and not self._ended:
                part = self._of_member(size)
        except (OSError, EOFError, ValueError, RuntimeError, lzma.LZMAError) as error:
            self.damage = f"the {self._kind} data is damaged ({error})"
            self._ended = True
        return part

    def _of_member(self, size: int) -> bytes:
        """Returns the next plain bytes of the compressed member, perhaps none yet."""
        needs_input = self._member.needs_input
        data = self._next_input() if needs_input else b""
        if needs_input and not data:
            self._ended = True
            self.is_limited = self._stream.is_limited
            self.damage = self._stream.damage or f"the {self._kind} data ends in the middle"
            return b""
        part = self._member.decompress(data, size)
        if self._member.eof:
            self._next_member(self._member.unused_data or b"")
        return part

    def _next_input(self) -> bytes:
        if self._taken >= len(self._input):
            self._input, self._taken = self._stream.read(_COMPRESSED_READ), 0
        piece = self._input[self._taken : self._taken + _COMPRESSED_PIECE]
        self._taken += len(piece)
        return piece

    def _next_member(self, rest: bytes) -> None:
        # Between and after members there may be padding (xz: groups of four zero bytes; gzip: what tapes add).
        rest = rest.lstrip(b"\0")
        while len(rest) < len(self._magic):
            more = self._next_input()
            if not more:
                break
            rest = (rest + more).lstrip(b"\0")
        if rest.startswith(self._magic):
            if len(rest) <= self._taken:
                self._taken -= len(rest)
            else:
                self._input, self._taken = rest + self._input[self._taken :], 0
            self._member = _MEMBERS[self._kind](self._most)
            return
        self._ended = True
        self.damage = f"{self._kind} data is followed by something else" if rest else self._stream.damage

    def close(self) -> None:
        self._stream.close()


class _ZstdStream:
    """The plain bytes of Zstandard frames."""

    def __init__(self, stream: ByteStream, most: int) -> None:
        """`most` is the largest window, in bytes, that the zstd frames may have."""
        import zstandard  # loaded when a capture needs it

        self.damage: str | None = None
        self.is_limited = False
        self._stream = stream
        self._error = zstandard.ZstdError
        decompressor = zstandard.ZstdDecompressor(max_window_size=most)
        self._reader = decompressor.stream_reader(stream, read_across_frames=True, closefd=False)  # type: ignore[arg-type]

    def some(self, size: int) -> bytes:
        try:
            part = self._reader.read(size)
        except self._error as error:
            self.damage = f"the zstd data is damaged ({error})"
            return b""
        if not part:
            self.damage, self.is_limited = self._stream.damage, self._stream.is_limited
        return part

    def close(self) -> None:
        self._stream.close()


class _Charged(_Filling):
    """A compressed stream that holds its share of the decompressor memory until it is closed."""

    def __init__(self, stream: ByteStream, memory: DecompressorMemory, size: int) -> None:
        self._stream = stream
        self._memory = memory
        self._size = size

    @property
    def damage(self) -> str | None:
        return self._stream.damage

    @property
    def is_limited(self) -> bool:
        return self._stream.is_limited

    def read(self, size: int) -> bytes:
        return self._stream.read(size)

    def close(self) -> None:
        self._memory.give_back(self._size)
        self._size = 0
        self._stream.close()


def _cost_of(kind: str, head: bytes) -> int:
    """Returns how much memory decompressing takes: a power of two, from the first bytes of the compressed file."""
    if kind == ZSTD:
        import zstandard

        try:
            window = int(zstandard.get_frame_parameters(head).window_size)
        except zstandard.ZstdError:  # a skippable frame comes first, or it is damaged
            window = 0
        return min(max(1 << (window - 1).bit_length(), FEWEST_ZSTD_WINDOW), MAX_ZSTD_WINDOW)
    if kind == XZ:
        size = _FEWEST_XZ_MEMORY
        while size < MAX_XZ_MEMORY:
            try:
                lzma.LZMADecompressor(memlimit=size).decompress(head, 1)
            except lzma.LZMAError as error:
                if "emory" in str(error):
                    size *= 2
                    continue
            break
        return size
    return _COSTS[kind]


def decompressed(
    kind: str, head: bytes, stream: ByteStream, file: FileStream, name: str, memory: DecompressorMemory, limits: Limits
) -> ByteStream:
    """Returns the decompressed bytes of a stream that begins with `head`, and is read of `file`. Its decompressor takes a share of
    `memory`; raises `DecompressorLimitError` if too little is left."""
    cost = _cost_of(kind, head)
    memory.reserve(cost, name)
    charged = _Charged(stream, memory, cost)
    plain = _ZstdStream(charged, cost) if kind == ZSTD else _Decompressed(kind, charged, cost)
    return _Bounded(plain, file, limits)
