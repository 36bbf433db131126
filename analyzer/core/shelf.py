"""Bytes that are kept to the end of an analysis: in memory while there are few, in a temporary file from then on.

A capture of gigabytes may hold as much of what is looked for, and each report wants it once or twice. The file has no name (it
is gone with the process, however that ends), and nobody but the user can read it. Where none can be made or written, bytes stay
in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from weakref import finalize

from analyzer.core.traced import Source, TracedBytes

# What stays in memory whatever else is there: the objects around such bytes take more.
_SHORT = 512


class Shelf:
    """Takes what is kept: the first `room` bytes stay where they are."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._file: int | None = None
        self._end = 0

    def take(self, items: Iterable[Kept]) -> None:
        for item in items:
            if self._room >= 0:
                self._room -= len(item)
            elif len(item) > _SHORT:
                item.lay_down(self)

    def put(self, data: bytes) -> int | None:
        """Where the bytes lie now, None where they could not be written."""
        if not hasattr(os, "pwrite"):
            return None  # Windows has no reading and writing at a place
        if self._file is None:
            from tempfile import TemporaryFile

            try:
                file = TemporaryFile(buffering=0)  # noqa: SIM115
            except OSError:
                return None
            # Whoever keeps bytes that lie here keeps the shelf, and the last of them closes the file.
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


class Kept(TracedBytes):
    """Bytes that may come to lie on a shelf."""

    __slots__ = ("_held", "_length")

    def __init__(self, data: bytes, source: Source, start: int = 0, steps: tuple[str, ...] = ()) -> None:
        self.source, self.start, self.steps = source, start, steps
        self._held: bytes | tuple[Shelf, int] = data
        self._length = len(data)

    def lay_down(self, shelf: Shelf) -> None:
        """Puts the bytes on a shelf; nothing else about them changes."""
        if isinstance(self._held, bytes) and (place := shelf.put(self._held)) is not None:
            self._held = shelf, place

    @property
    def data(self) -> bytes:  # type: ignore[override]
        return self._held if isinstance(self._held, bytes) else self.part(0, self._length)

    def part(self, start: int, stop: int) -> bytes:
        if isinstance(self._held, bytes):
            return self._held[start:stop]
        shelf, place = self._held
        start, stop, _ = slice(start, stop).indices(self._length)
        return shelf.read(place + start, max(stop - start, 0))

    def __len__(self) -> int:
        return self._length

    def __reduce__(self) -> tuple[type[Kept], tuple[bytes, Source, int, tuple[str, ...]]]:
        # Another process has another shelf.
        return Kept, (self.data, self.source, self.start, self.steps)
