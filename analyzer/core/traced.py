"""Bytes that remember which frames carried them.

A `TracedBytes` is immutable. Slicing and joining keep the address; `replaced` (decryption, decompression) keeps it and
notes the step. Where a byte came from is computed when somebody asks, and costs nothing when nobody does.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Extent:
    """A run of captured bytes: frame id (see `core.frames`), first byte and length inside that frame's captured bytes."""

    frame: int
    start: int
    length: int
    time_ns: int = field(default=0, compare=False, repr=False)


class Source(Protocol):
    """Something that can say where the bytes `start` to `stop` of it were captured."""

    def extents(self, start: int, stop: int) -> Iterator[Extent]: ...


@dataclass(frozen=True, slots=True)
class FrameSource:
    """All bytes lie in one frame, the first of them at `offset` of its captured bytes."""

    frame: int
    offset: int
    time_ns: int

    def extents(self, start: int, stop: int) -> Iterator[Extent]:
        if stop > start:
            yield Extent(self.frame, self.offset + start, stop - start, self.time_ns)


class _JoinedSource:
    """Bytes gathered from several places; `starts[i]` is where part `i` begins, with one more entry for the end.

    It knows where the parts came from and does not keep their bytes, which were copied.
    """

    __slots__ = ("_places", "_starts")

    def __init__(self, parts: tuple[TracedBytes, ...]) -> None:
        self._places = tuple([(part.source, part.start) for part in parts])
        self._starts = [0, *accumulate(map(len, parts))]

    def extents(self, start: int, stop: int) -> Iterator[Extent]:
        if stop <= start:
            return
        at = bisect_right(self._starts, start) - 1
        while at < len(self._places) and self._starts[at] < stop:
            base = self._starts[at]
            source, first = self._places[at]
            yield from source.extents(first + max(start - base, 0), first + min(stop, self._starts[at + 1]) - base)
            at += 1


class _WholeSource:
    """Bytes made from others without keeping positions (decompression): every slice leads back to all of them."""

    __slots__ = ("_length", "_source", "_start")

    def __init__(self, origin: TracedBytes) -> None:
        self._source, self._start, self._length = origin.source, origin.start, len(origin)

    def extents(self, start: int, stop: int) -> Iterator[Extent]:
        if stop > start:
            yield from self._source.extents(self._start, self._start + self._length)


class TracedBytes:
    """Immutable bytes with an address. `data` is the bytes, `steps` what was done to them, outermost first."""

    __slots__ = ("data", "source", "start", "steps")

    def __init__(self, data: bytes, source: Source, start: int = 0, steps: tuple[str, ...] = ()) -> None:
        self.data = data
        self.source = source
        self.start = start
        self.steps = steps

    @classmethod
    def of_frame(cls, data: bytes, frame: int, offset: int = 0, time_ns: int = 0) -> TracedBytes:
        """`data` as captured in one frame, its first byte at `offset` of the frame."""
        return cls(data, FrameSource(frame, offset, time_ns))

    @classmethod
    def join(cls, parts: Iterable[TracedBytes]) -> TracedBytes:
        """The parts one after the other. The joined bytes carry every step any part went through."""
        whole = tuple([part for part in parts if part.data])
        if len(whole) == 1:
            return whole[0]
        return cls(b"".join([part.data for part in whole]), _JoinedSource(whole), 0, _steps_of(whole))

    @staticmethod
    def gather(parts: Iterable[TracedBytes]) -> TracedBytes:
        """The same as `join` for parts that are kept anyway: the bytes are joined anew whenever they are asked for."""
        whole = tuple(part for part in parts if len(part))
        return whole[0] if len(whole) == 1 else _Gathered(whole)

    def view(self, start: int, stop: int) -> TracedBytes:
        """The same as a slice of bytes that are kept anyway: it holds none, and is cut anew whenever it is asked for."""
        start, stop, _ = slice(start, stop).indices(len(self))
        return _View(self, start, max(stop, start))

    def __len__(self) -> int:
        return len(self.data)

    def __bytes__(self) -> bytes:
        return self.data

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TracedBytes):
            return NotImplemented
        # In how many pieces the bytes came is no part of what they are.
        return self.data == other.data and self.origin(0, len(self)) == other.origin(0, len(other))

    def __hash__(self) -> int:
        return hash(self.data)

    def __repr__(self) -> str:
        frames = ",".join(map(str, self.frames[:3])) + (",..." if len(self.frames) > 3 else "")
        return f"TracedBytes({len(self)} bytes, frames={frames or '-'}, steps={list(self.steps)})"

    def __getitem__(self, where: slice) -> TracedBytes:
        data = self.data
        start, stop, step = where.indices(len(data))
        if step != 1:
            raise ValueError("traced bytes are sliced in steps of 1")
        return TracedBytes(data[start:stop], self.source, self.start + start, self.steps)

    def replaced(self, data: bytes, step: str) -> TracedBytes:
        """What `step` made of these bytes. Of equal length, byte i keeps the address of byte i; else all share all."""
        steps = (*self.steps, step)
        if len(data) == len(self):
            return TracedBytes(data, self.source, self.start, steps)
        return TracedBytes(data, _WholeSource(self), 0, steps)

    def extents(self) -> Iterator[Extent]:
        """Where the bytes were captured, in their own order."""
        yield from self.source.extents(self.start, self.start + len(self))

    def origin(self, start: int, stop: int) -> tuple[Extent, ...]:
        """Where the bytes `start` to `stop` were captured; neighbouring runs of one frame are one extent."""
        merged: list[Extent] = []
        start, stop, _ = slice(start, stop).indices(len(self))
        for extent in self.source.extents(self.start + start, self.start + stop):
            last = merged[-1] if merged else None
            if last is not None and last.frame == extent.frame and last.start + last.length == extent.start:
                merged[-1] = Extent(last.frame, last.start, last.length + extent.length, last.time_ns)
            else:
                merged.append(extent)
        return tuple(merged)

    @property
    def frames(self) -> tuple[int, ...]:
        """Ids of the frames that carried the bytes, ascending, each once."""
        if isinstance(self.source, FrameSource):
            return (self.source.frame,) if len(self) else ()
        return tuple(sorted({extent.frame for extent in self.extents()}))

    @property
    def first_time_ns(self) -> int | None:
        """Time of the earliest frame, None for no bytes."""
        if isinstance(self.source, FrameSource):
            return self.source.time_ns if len(self) else None
        return min((extent.time_ns for extent in self.extents()), default=None)

    @property
    def last_time_ns(self) -> int | None:
        """Time of the latest frame, None for no bytes."""
        if isinstance(self.source, FrameSource):
            return self.source.time_ns if len(self) else None
        return max((extent.time_ns for extent in self.extents()), default=None)


def _steps_of(parts: tuple[TracedBytes, ...]) -> tuple[str, ...]:
    steps: dict[str, None] = {}
    for part in parts:
        if part.steps:
            steps.update(dict.fromkeys(part.steps))
    return tuple(steps)


class _View(TracedBytes):
    """Bytes that are a part of others, and kept there alone."""

    __slots__ = ("_first", "_length", "_whole")

    def __init__(self, whole: TracedBytes, start: int, stop: int) -> None:
        self.source, self.start, self.steps = whole.source, whole.start + start, whole.steps
        self._whole, self._first, self._length = whole, start, stop - start

    @property
    def data(self) -> bytes:  # type: ignore[override]
        return self._whole.data[self._first : self._first + self._length]

    def __len__(self) -> int:
        return self._length


class _Gathered(TracedBytes):
    """Bytes that are kept in their parts alone."""

    __slots__ = ("_length", "_parts")

    def __init__(self, parts: tuple[TracedBytes, ...]) -> None:
        self.source, self.start, self.steps = _JoinedSource(parts), 0, _steps_of(parts)
        self._parts, self._length = parts, sum(map(len, parts))

    @property
    def data(self) -> bytes:  # type: ignore[override]
        return b"".join([part.data for part in self._parts])

    def __len__(self) -> int:
        return self._length


class TracedBuffer:
    """A byte queue for layers that wait until a message is whole: append pieces, take whole messages."""

    __slots__ = ("_length", "_parts")

    def __init__(self) -> None:
        self._parts: list[TracedBytes] = []
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, item: TracedBytes) -> None:
        size = len(item.data)
        if size:
            self._parts.append(item)
            self._length += size

    def peek(self, length: int) -> bytes:
        """The first `length` bytes, fewer where fewer are held."""
        if self._parts and len(self._parts[0].data) >= length:
            return self._parts[0].data[:length]
        out, need = [], length
        for part in self._parts:
            if need <= 0:
                break
            out.append(part.data[:need])
            need -= len(part.data)
        return b"".join(out)

    def take(self, length: int) -> TracedBytes:
        """Removes and returns the first `length` bytes; asking for more than is held is a mistake of the caller."""
        if length > self._length:
            raise ValueError(f"{length} bytes asked for, {self._length} held")
        if length == self._length:
            parts, self._parts, self._length = self._parts, [], 0
            return TracedBytes.join(parts) if parts else EMPTY
        taken: list[TracedBytes] = []
        need, used = length, 0
        for part in self._parts:
            if need <= 0:
                break
            size = len(part.data)
            if size <= need:
                taken.append(part)
                used += 1
            else:
                taken.append(part[:need])
                self._parts[used] = part[need:]
            need -= size
        del self._parts[:used]
        self._length -= length
        return TracedBytes.join(taken) if taken else EMPTY

    def take_all(self) -> TracedBytes:
        return self.take(self._length)


class _NowhereSource:
    """Bytes that were not captured: what a test or `decode` holds in its hand."""

    __slots__ = ()

    def extents(self, start: int, stop: int) -> Iterator[Extent]:
        return iter(())


NOWHERE: Source = _NowhereSource()
EMPTY = TracedBytes(b"", NOWHERE)


def untraced(data: bytes) -> TracedBytes:
    """Bytes that come from no capture."""
    return TracedBytes(data, NOWHERE)
