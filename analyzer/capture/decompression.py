"""Opens sources as streams of plain bytes: paths, standard input and open files, compressed or not.

Compression is recognised by its first bytes, never by the name. Decompressing (`decompressors`) is incremental, so an archive of
any size or ratio costs no more memory than one read.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from errno import EMFILE
from io import BytesIO
from os import SEEK_CUR, fstat
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, BinaryIO, Protocol

from analyzer.capture.first_bytes import capture_format
from analyzer.core.errors import InputError
from analyzer.core.limits import DEFAULTS, Limits

if TYPE_CHECKING:
    from analyzer.capture.file_digest import HashedFile

_SNIFF_BYTES = 512
GZIP, ZSTD, LZ4, XZ, BZIP2 = "gzip", "zstd", "lz4", "xz", "bzip2"
COMPRESSION = (
    (b"\x1f\x8b", GZIP),
    (b"\x28\xb5\x2f\xfd", ZSTD),
    (b"\x04\x22\x4d\x18", LZ4),
    (b"\xfd7zXZ\x00", XZ),
    (b"BZh", BZIP2),
)


class ByteStream(Protocol):
    """The decompressed bytes of a source, from front to end. A short read is the end. `damage` then states why it came too early,
    or is None."""

    @property
    def damage(self) -> str | None: ...

    @property
    def is_live(self) -> bool:
        """Whether the stream of decompressed bytes comes from a pipe, so that `read_some` returns the bytes that have come, not all
        that was asked for."""

    @property
    def is_limited(self) -> bool:
        """Whether decompression ended at a limit, and not by damage."""

    def read(self, size: int) -> bytes: ...

    def read_some(self, size: int) -> bytes:
        """Reads decompressed bytes like `read`; but of a pipe that is still written, it returns those that have come. No bytes are
        its end."""

    def step_back(self, size: int) -> bool:
        """Makes the last `size` bytes of the decompressed stream the next to be read, if that costs nothing, and returns whether it
        was possible."""

    def any_place(self) -> AnyPlace | None:
        """Returns the decompressed bytes for reading at any place, None if that is costly."""

    def close(self) -> None: ...


def read_on(stream: ByteStream, rest: bytes, size: int) -> tuple[bytes, bool]:
    """Reads about `size` more bytes of a decompressed source behind the bytes that are left. Returns all, and whether that is the
    end."""
    if rest and len(rest) < size and stream.step_back(len(rest)):
        rest = b""
    more = stream.read_some(size)
    return rest + more if rest else more, len(more) < (1 if stream.is_live else size)


class _AsOpened:
    """A source file to decompress, which is read up to its length at opening. Bytes that are appended meanwhile are not read."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._size = size
        self._at = 0
        self._furthest = 0

    def read(self, size: int) -> bytes:
        data = self._file.read(min(size, self._size - self._at))
        self._at += len(data)
        return data

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int) -> None:
        self._at = self._file.seek(offset, whence)

    def tell(self) -> int:
        return max(self._at, self._furthest)

    def change(self) -> str | None:
        """Returns a sentence on how the length of the source file changed since it was opened for decompression, None if it is
        unchanged."""
        now = fstat(self._file.fileno()).st_size
        if now == self._size:
            return None
        what = "grew" if now > self._size else "became shorter"
        return f"the file {what} while it was read, from {self._size:,} to {now:,} bytes; nothing is read"

    @property
    def closed(self) -> bool:
        return self._file.closed

    def at_any_place(self) -> AnyPlace | None:
        return AnyPlace(self, self._file.fileno(), self._size) if hasattr(os, "pread") else None

    def reached(self, at: int) -> None:
        """Notes that somebody read the uncompressed source file up to a place."""
        self._furthest = max(self._furthest, at)

    def close(self) -> None:
        self._file.close()


class AnyPlace:
    """A source file without compression that is read at any place, up to its length at opening."""

    def __init__(self, file: _AsOpened, descriptor: int, size: int) -> None:
        self._file = file
        self._descriptor = descriptor
        self.size = size
        self._failed: str | None = None

    @property
    def damage(self) -> str | None:
        """The reason why the uncompressed source file could not be read completely, or cannot be relied on."""
        return self._failed or self._file.change()

    def read(self, position: int, length: int) -> bytes:
        """Reads `length` bytes of a source file that needs no decompression, from any place on. It returns fewer at the end of the
        file, or if reading fails."""
        parts: list[bytes] = []
        left = min(length, self.size - position)
        while left > 0:
            try:
                part = os.pread(self._descriptor, left, position)
            except OSError as error:
                self._failed = f"reading failed: {error.strerror or error}"
                break
            if not part:
                break
            parts.append(part)
            position, left = position + len(part), left - len(part)
        self._file.reached(position)
        return parts[0] if len(parts) == 1 else b"".join(parts)


class FileStream:
    """A source file without compression, read from front to end."""

    def __init__(
        self,
        file: BinaryIO | HashedFile,
        *,
        owned: bool,
        live: bool = False,
        sized: _AsOpened | None = None,
    ) -> None:
        """`sized` is the source file itself, if it has an end."""
        self._sized = sized
        self.is_live = live
        self.damage: str | None = None
        self._file = file
        self.is_limited = False
        # How many bytes were read.
        self.taken = 0
        self._owned = owned
        self._seekable = owned and file.seekable()

    def read(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size > 0:
            try:
                part = self._file.read(size)
            except OSError as error:
                self.damage = f"reading failed: {error.strerror or error}"
                break
            if not part:
                self.damage = self._sized.change() if self._sized is not None else None
                break
            parts.append(part)
            size -= len(part)
            self.taken += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def read_some(self, size: int) -> bytes:
        if not self.is_live:
            return self.read(size)
        # A buffered file may hold some already; a raw one gives what there is.
        read_once = getattr(self._file, "read1", self._file.read)
        try:
            part: bytes = read_once(size)
        except OSError as error:
            self.damage = f"reading failed: {error.strerror or error}"
            return b""
        self.taken += len(part)
        return part

    def step_back(self, size: int) -> bool:
        # Only files we opened ourselves: a position in somebody else's is theirs.
        if not self._seekable:
            return False
        self._file.seek(-size, SEEK_CUR)
        self.taken -= size
        return True

    def any_place(self) -> AnyPlace | None:
        return self._sized.at_any_place() if self._sized is not None else None

    def close(self) -> None:
        if self._owned:
            self._file.close()


class Peeked:
    """A byte stream, decompressed or to be, whose first bytes were looked at. It returns them again."""

    def __init__(self, head: bytes, stream: ByteStream) -> None:
        self._head = head
        self._stream = stream

    @property
    def damage(self) -> str | None:
        return self._stream.damage

    @property
    def is_limited(self) -> bool:
        return self._stream.is_limited

    @property
    def is_live(self) -> bool:
        return self._stream.is_live

    def read_some(self, size: int) -> bytes:
        if not self.is_live:
            return self.read(size)
        head, self._head = self._head[:size], self._head[size:]
        return head or self._stream.read_some(size)

    def read(self, size: int) -> bytes:
        if not self._head:
            return self._stream.read(size)
        head, self._head = self._head[:size], self._head[size:]
        return head + self._stream.read(size - len(head)) if size > len(head) else head

    def step_back(self, size: int) -> bool:
        return not self._head and self._stream.step_back(size)

    def any_place(self) -> AnyPlace | None:
        return self._stream.any_place()

    def close(self) -> None:
        self._stream.close()


class DecompressorMemory:
    """The memory that the decompressors of all open files may take together."""

    def __init__(self, limits: Limits = DEFAULTS) -> None:
        self._most = self._left = limits.decompressors

    def reserve(self, size: int, name: str) -> None:
        """Reserves decompressor memory for one file. Raises `InputError` if too little is left."""
        if size > self._left:
            raise DecompressorLimitError(
                f"{name}: the compressed files that overlap in time would take more than {self._most} bytes of memory to "
                "decompress; this one is not read.",
                hint="Decompress it beforehand, or read the files one after the other.",
            )
        self._left -= size

    def give_back(self, size: int) -> None:
        """Gives back the memory of a decompressor whose file is closed."""
        self._left += size


class DecompressorLimitError(InputError):
    """The error that a file is not read, because other files take all memory for decompressors."""


def _compression_of(head: bytes) -> str | None:
    for magic, kind in COMPRESSION:
        if head.startswith(magic):
            return kind
    # A zstd file may begin with a skippable frame (RFC 8878 section 3.1.2); seekable ones do.
    if len(head) >= 4 and head[0] & 0xF0 == 0x50 and head[1:4] == b"\x2a\x4d\x18":
        return ZSTD
    return None


def open_stream(
    source: Path | BinaryIO,
    name: str,
    limits: Limits = DEFAULTS,
    *,
    memory: DecompressorMemory | None = None,
    through: Callable[[BinaryIO], BinaryIO | HashedFile] | None = None,
    live: bool = False,
) -> tuple[ByteStream, tuple[str, ...]]:
    """Opens a source as a stream of decompressed bytes. Returns it, and the compressions that were removed, outermost first.

    `memory` is what decompressors may take, shared with other files. `through` is called with the opened file, and gives what it is
    read through. A `live` source that is not compressed is read as its bytes come.
    """
    memory = memory if memory is not None else DecompressorMemory(limits)
    try:
        opened = source.open("rb", buffering=0) if isinstance(source, Path) else source
    except OSError as error:
        raise _unreadable(name, error) from None
    owned = isinstance(source, Path)
    sized: _AsOpened | None = None
    if owned and S_ISREG((found := fstat(opened.fileno())).st_mode) and found.st_size:
        opened = sized = _AsOpened(opened, found.st_size)  # type: ignore[assignment]
    file = FileStream(opened if through is None else through(opened), owned=owned, live=live, sized=sized)
    stream: ByteStream = file
    wrappings: list[str] = []
    try:
        while True:
            head = stream.read(_SNIFF_BYTES)
            failed = stream.damage
            stream = Peeked(head, stream)
            if failed and not head and not wrappings:
                raise InputError(f"{name}: {failed}", hint="Check the disk or share the file lies on.")
            kind = _compression_of(head)
            if kind is None:
                return stream, tuple(wrappings)
            wrappings.append(kind)
            if len(wrappings) > limits.wrappings:
                raise InputError(f"{name} is compressed more than {limits.wrappings} times over.")
            from analyzer.capture.decompressors import decompressed  # loaded when a capture needs one

            stream = decompressed(kind, head, stream, file, name, memory, limits)
    except BaseException:
        stream.close()
        raise


def capture_in(data: bytes) -> str | None:
    """Decompresses the beginning of these bytes, if they are compressed, and names the capture that they are: `a pcap capture` or
    `a gzip-compressed pcapng capture`. None if they are none."""
    try:
        stream, wrappings = open_stream(BytesIO(data), "these bytes")
    except InputError:
        return None
    try:
        found = capture_format(stream.read(_SNIFF_BYTES))
    finally:
        stream.close()
    if found is None or not wrappings:
        return found
    return f"a {' and '.join(wrappings)}-compressed {found.removeprefix('a ').removeprefix('an ')}"


def _unreadable(name: str, error: OSError) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError(f"{name}: there is no such file.", hint="Check the path; quote it if it has spaces.")
    if isinstance(error, IsADirectoryError):
        return InputError(f"{name} is a directory.", hint=f"Name the captures in it: '{name}/*.pcap*'.")
    if isinstance(error, PermissionError):
        return InputError(
            f"{name}: you may not read this file.",
            hint="Captures are often written by root: copy it or change its owner.",
        )
    if error.errno == EMFILE:
        return InputError(
            f"{name}: too many files overlap in time to be open at once.",
            hint="Merge them beforehand (mergecap), or raise the limit (ulimit -n).",
        )
    return InputError(f"{name}: {error.strerror or error}.")
