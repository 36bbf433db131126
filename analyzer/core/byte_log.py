"""Logs for the bytes that are kept of a capture: appended once, read in parts, and in a temporary file if they are many.

The first `room` bytes stay in memory. Later bytes are written to a nameless temporary file (in `$TMPDIR`), which ends with the
process. If no file can be written, all bytes stay in memory.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Protocol
from weakref import finalize

# The log is written and read in pieces of this size.
_SEGMENT = 1 << 18


class SpillFile:
    """A temporary file for bytes of a log. It is made when the first bytes come."""

    def __init__(self) -> None:
        self._file: int | None = None
        self._end = 0

    def put(self, data: bytes) -> int | None:
        """Writes bytes of a log to the spill file. Returns their place in it, None if they could not be written."""
        if not hasattr(os, "pwrite"):
            return None  # Windows has no reading and writing at a place
        if self._file is None:
            from tempfile import TemporaryFile

            try:
                file = TemporaryFile(buffering=0)  # noqa: SIM115
            except OSError:
                return None
            # Whoever holds bytes that lie here holds this object, and the last of them closes the file.
            finalize(self, file.close)
            self._file = file.fileno()
        place, left = self._end, memoryview(data)
        try:
            while left:
                left = left[os.pwrite(self._file, left, place + len(data) - len(left)) :]
        except OSError:
            return None
        self._end += len(data)
        return place

    def read(self, place: int, length: int) -> bytes:
        assert self._file is not None
        out = os.pread(self._file, length, place)
        while len(out) < length:
            more = os.pread(self._file, length - len(out), place + len(out))
            if not more:
                raise OSError("the temporary file is shorter than what was written to it")
            out += more
        return out


class Log:
    """A log of bytes, appended one behind the other. A position counts from the first byte, 0."""

    __slots__ = ("_file", "_places", "_room", "_seen", "_starts", "_tail", "_tail_start", "_whole", "end")

    def __init__(self, room: int) -> None:
        self._room = room
        self._file = SpillFile()
        # The position of what is appended next.
        self.end = 0
        # The beginning of each segment, and its bytes or its place in the file.
        self._starts = array("q")
        self._places: list[bytes | int] = []
        # What was appended last, in parts, and where it begins: it is joined when it is written or read.
        self._tail: list[bytes] = []
        self._tail_start = 0
        # Segments that were appended whole, of which parts are read alone; the others are read as they were written.
        self._whole: set[int] = set()
        # The segment that was read last: where it begins, and its bytes. Several threads may read what nobody appends to any more:
        # each looks at the segment it took.
        self._seen: tuple[int, bytes] = (0, b"")

    def append(self, data: bytes) -> int:
        """Appends bytes to the log and returns their position."""
        return self.extend((data,), len(data))

    def extend(self, parts: Sequence[bytes], length: int) -> int:
        """Appends bytes that come in parts to the log, `length` bytes in all. Returns their position."""
        position = self.end
        self.end += length
        if length >= _SEGMENT:
            self._flush()
            self._put(position, b"".join(parts), whole=True)
            return position
        self._tail += parts
        if self.end - self._tail_start >= _SEGMENT:
            self._flush()
        return position

    def _flush(self) -> None:
        """Writes what was appended to the log in short pieces. What is appended next begins at its end."""
        if self._tail:
            self._put(self._tail_start, b"".join(self._tail))
            self._tail = []
        self._tail_start = self.end

    def _put(self, start: int, data: bytes, *, whole: bool = False) -> None:
        place: int | None = None
        if self._room < len(data):
            place = self._file.put(data)
        else:
            self._room -= len(data)
        last = len(self._places) - 1
        before = self._places[last] if whole and last in self._whole else None
        if isinstance(before, int) and place == before + start - self._starts[last]:
            return  # it goes on where the one before it ends
        if whole:
            self._whole.add(len(self._places))
        self._starts.append(start)
        self._places.append(data if place is None else place)

    def read(self, position: int, length: int) -> bytes:
        """Reads `length` bytes of the log from a position on."""
        # Most reads lie in the segment that was read last.
        start, data = self._seen
        first = position - start
        found = data[first : first + length] if 0 <= first < len(data) else self._read(position, length)
        if len(found) == length:
            return found
        # They were not appended at once.
        parts, missing = [found], length - len(found)
        while missing and found:
            found = self._read(position + length - missing, missing)
            parts.append(found)
            missing -= len(found)
        return b"".join(parts)

    def _read(self, position: int, length: int) -> bytes:
        """Reads bytes of one segment of the log, as far as the segment goes."""
        tail = self._tail_start
        if position >= tail:
            last = b"".join(self._tail)
            self._tail = [last]
            return last[position - tail : position - tail + length]
        at = bisect_right(self._starts, position) - 1
        start = self._starts[at]
        first = position - start
        stop = self._starts[at + 1] if at + 1 < len(self._starts) else tail
        held = self._places[at]
        if isinstance(held, int):
            if at in self._whole:
                return self._file.read(held + first, min(length, stop - position))
            held = self._file.read(held, stop - start)
        self._seen = start, held
        return held[first : first + length]

    def pieces(self) -> Iterator[bytes]:
        """Yields all bytes of the log, in order."""
        self._flush()
        for at, held in enumerate(self._places):
            if isinstance(held, bytes):
                yield held
                continue
            length = (self._starts[at + 1] if at + 1 < len(self._starts) else self.end) - self._starts[at]
            for first in range(0, length, _SEGMENT):
                yield self._file.read(held + first, min(_SEGMENT, length - first))


class Readable(Protocol):
    """Bytes outside a log, such as those of a file, which are read at any position."""

    @property
    def size(self) -> int: ...

    def read(self, position: int, length: int) -> bytes: ...


class ReadLog(Log):
    """A saved log that lies in a file and is only read."""

    __slots__ = ("_source",)

    def __init__(self, source: Readable) -> None:
        super().__init__(0)
        self._source, self.end = source, source.size

    def append(self, data: bytes) -> int:
        raise TypeError("a log of a file is only read")

    def read(self, position: int, length: int) -> bytes:
        return self._source.read(position, length)

    def pieces(self) -> Iterator[bytes]:
        for first in range(0, self.end, _SEGMENT):
            yield self.read(first, min(_SEGMENT, self.end - first))
