"""Bytes that remember which frames carried them.

A `TracedBytes` is immutable. Slicing and joining keep the address; `replaced` (decryption, decompression) keeps it and
notes the step. Where a byte came from is computed on request, and costs nothing otherwise.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from operator import add, le, sub
from typing import Literal, Union

from msgspec import Struct

from analyzer.core.discreet import Discreet

# Whole numbers by position: small ones may come as lists, columns of a large capture as `array("q")`.
_Numbers = Union[list[int], "array[int]"]


class FrameExtent(Discreet, frozen=True):
    """A run of captured bytes: frame id (see `core.frame_ids`), first byte and length inside that frame's captured bytes.

    `time_ns` is the frame's time, which the frame id implies: it takes no part in equality.
    """

    hidden = ("time_ns",)
    frame: int
    start: int
    length: int
    time_ns: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrameExtent) and self._place == other._place

    def __hash__(self) -> int:
        return hash(self._place)

    @property
    def _place(self) -> tuple[int, int, int]:
        return self.frame, self.start, self.length


# Frame id, first byte in the frame, length (see `core.origins`).
PACKED_EXTENT = struct.Struct("<QII")
PACKED_SHARED = 1 << 63


class Source:
    """Something that knows where the bytes `start` to `stop` of it were captured."""

    __slots__ = ()

    def extents(self, start: int, stop: int) -> Iterator[FrameExtent]:
        raise NotImplementedError

    def pack(self, start: int, stop: int, out: bytearray) -> None:
        """Adds where these bytes were captured, packed as `core.origins` describes."""
        for extent in self.extents(start, stop):
            out += PACKED_EXTENT.pack(extent.frame, extent.start, extent.length)

    def located(self, start: int, stop: int) -> tuple[bytes, tuple[int, int] | None]:
        """Where and when these bytes were captured: what `pack` and `times` give, looked up once."""
        out = bytearray()
        self.pack(start, stop, out)
        return bytes(out), self.times(start, stop)

    def only_extent(self, start: int, stop: int) -> FrameExtent | None:
        """The one place that these bytes come from, byte by byte; None where there are several or none, or what was captured was
        compressed."""
        found = list(self.extents(start, stop))
        if len(found) != 1 or found[0].length != stop - start:
            return None
        return found[0] if stop - start == 1 or next(iter(self.extents(start, start + 1))).length == 1 else None

    def last_extents(self, start: int, stop: int, most: int) -> Iterable[FrameExtent]:
        """The last of the extents, at most so many, the last one first."""
        return list(self.extents(start, stop))[: -most - 1 : -1]

    def note_frames(self, start: int, stop: int, frames: set[int]) -> None:
        """Adds the frames that carried these bytes."""
        frames.update([extent.frame for extent in self.extents(start, stop)])

    def frames(self, start: int, stop: int) -> tuple[int, ...]:
        """The frames that carried these bytes, ascending, each once."""
        found: set[int] = set()
        self.note_frames(start, stop, found)
        return tuple(sorted(found))

    def times(self, start: int, stop: int) -> tuple[int, int] | None:
        """The earliest and the latest time of these bytes, None for no bytes."""
        times = [extent.time_ns for extent in self.extents(start, stop)]
        return (min(times), max(times)) if times else None

    def moment(self, position: int) -> int:
        """The (earliest) time of one byte, 0 where none is known."""
        times = self.times(position, position + 1)
        return times[0] if times is not None else 0

    def frame_range(self, start: int, stop: int) -> tuple[int, int] | None:
        """The lowest and the highest id of the frames that carried these bytes, None for no bytes."""
        frames = [extent.frame for extent in self.extents(start, stop)]
        return (min(frames), max(frames)) if frames else None


class FrameSource(Struct, Source, frozen=True):
    """All bytes lie in one frame, the first of them at `offset` of its captured bytes."""

    frame: int
    offset: int
    time_ns: int

    def extents(self, start: int, stop: int) -> Iterator[FrameExtent]:
        if stop > start:
            yield FrameExtent(self.frame, self.offset + start, stop - start, self.time_ns)

    def pack(self, start: int, stop: int, out: bytearray) -> None:
        if stop > start:
            out += PACKED_EXTENT.pack(self.frame, self.offset + start, stop - start)

    def note_frames(self, start: int, stop: int, frames: set[int]) -> None:
        if stop > start:
            frames.add(self.frame)

    def times(self, start: int, stop: int) -> tuple[int, int] | None:
        return (self.time_ns, self.time_ns) if stop > start else None

    def frame_range(self, start: int, stop: int) -> tuple[int, int] | None:
        return (self.frame, self.frame) if stop > start else None


class FrameTable(Source):
    """Pieces of many frames, one behind the other; whoever holds bytes of several of them needs no source of their own.

    Piece i takes the positions `starts[i]` to `starts[i + 1]`, and lies at `offsets[i]` of frame `frames[i]`; `starts` has one more
    entry for the end, and no piece is empty. Bytes that begin with piece i are `TracedBytes(data, table, starts[i])`. Who makes a
    table states whether its frames and times are `ordered`: then the first and the last of a range bound all between.
    """

    __slots__ = ("_frames", "_offsets", "_starts", "_times_ns", "ordered")

    def __init__(
        self, starts: _Numbers, frames: _Numbers, offsets: _Numbers, times_ns: _Numbers, *, ordered: bool = False
    ) -> None:
        self._starts, self._frames, self._offsets, self._times_ns = starts, frames, offsets, times_ns
        self.ordered = ordered

    def extents(self, start: int, stop: int) -> Iterator[FrameExtent]:
        if stop <= start:
            return
        starts = self._starts
        for at in range(bisect_right(starts, start) - 1, bisect_left(starts, stop)):
            first = max(start, starts[at])
            length = min(stop, starts[at + 1]) - first
            yield FrameExtent(self._frames[at], self._offsets[at] + first - starts[at], length, self._times_ns[at])

    def pack(self, start: int, stop: int, out: bytearray) -> None:
        if stop <= start:
            return
        starts, frames, offsets = self._starts, self._frames, self._offsets
        pack = PACKED_EXTENT.pack
        for at in range(bisect_right(starts, start) - 1, bisect_left(starts, stop)):
            begin = starts[at]
            first = start if start > begin else begin
            out += pack(frames[at], offsets[at] + first - begin, min(stop, starts[at + 1]) - first)

    def located(self, start: int, stop: int) -> tuple[bytes, tuple[int, int] | None]:
        starts = self._starts
        if stop > start:
            at = bisect_right(starts, start) - 1
            if stop <= starts[at + 1]:
                # Most messages lie in one piece.
                time_ns, first = self._times_ns[at], self._offsets[at] + start - starts[at]
                return PACKED_EXTENT.pack(self._frames[at], first, stop - start), (time_ns, time_ns)
        return super().located(start, stop)

    def last_extents(self, start: int, stop: int, most: int) -> Iterable[FrameExtent]:
        first = max(bisect_right(self._starts, start) - 1, bisect_left(self._starts, stop) - most)
        return list(self.extents(max(start, self._starts[first]), stop))[::-1] if stop > start else []

    def note_frames(self, start: int, stop: int, frames: set[int]) -> None:
        if stop > start:
            first, last = bisect_right(self._starts, start) - 1, bisect_left(self._starts, stop)
            frames.update(self._frames[first:last])

    def times(self, start: int, stop: int) -> tuple[int, int] | None:
        if stop <= start:
            return None
        first, last = bisect_right(self._starts, start) - 1, bisect_left(self._starts, stop)
        if self.ordered:
            return self._times_ns[first], self._times_ns[last - 1]
        found = self._times_ns[first:last]
        return min(found), max(found)

    def frames(self, start: int, stop: int) -> tuple[int, ...]:
        if stop > start:
            first = bisect_right(self._starts, start) - 1
            if stop <= self._starts[first + 1]:
                return (self._frames[first],)
        return super().frames(start, stop)

    def frames_of(self, begins: Iterable[int], ends: Iterable[int]) -> tuple[int, ...]:
        """The frames, of an ordered table, that carried some ranges of it, each behind the one before."""
        starts, frames = self._starts, self._frames
        found: list[int] = []
        at = 0
        for begin, end in zip(begins, ends, strict=True):
            first = bisect_right(starts, begin, at) - 1
            at = bisect_left(starts, end, first)
            found += frames[first:at]
        return tuple(dict.fromkeys(found))

    def moment(self, position: int) -> int:
        return self._times_ns[bisect_right(self._starts, position) - 1]

    def frame_range(self, start: int, stop: int) -> tuple[int, int] | None:
        if stop <= start:
            return None
        first, last = bisect_right(self._starts, start) - 1, bisect_left(self._starts, stop)
        if self.ordered:
            return self._frames[first], self._frames[last - 1]
        found = self._frames[first:last]
        return min(found), max(found)


class _JoinedSource(Source):
    """Bytes joined from several places; `starts[i]` is where part `i` begins, with one more entry for the end.

    It knows where the parts came from and does not keep their bytes, which were copied.
    """

    __slots__ = ("_firsts", "_sources", "_starts", "_table")

    def __init__(self, sources: Iterable[Source], firsts: Iterable[int], lengths: Iterable[int]) -> None:
        """Part i is so many bytes of a source from the first one on."""
        self._table: FrameTable | Literal[False] | None = None
        self._sources = tuple(sources)
        self._firsts = array("q", firsts)
        self._starts = array("q", accumulate(lengths, initial=0))

    def _pieces(self, start: int, stop: int) -> Iterator[tuple[Source, int, int]]:
        """Which positions of which sources the bytes are."""
        if stop <= start:
            return
        starts = self._starts
        for at in range(bisect_right(starts, start) - 1, bisect_left(starts, stop)):
            base, first = starts[at], self._firsts[at]
            yield self._sources[at], first + max(start - base, 0), first + min(stop, starts[at + 1]) - base

    def extents(self, start: int, stop: int) -> Iterator[FrameExtent]:
        for source, first, last in self._pieces(start, stop):
            yield from source.extents(first, last)

    def pack(self, start: int, stop: int, out: bytearray) -> None:
        for source, first, last in self._pieces(start, stop):
            source.pack(first, last, out)

    def note_frames(self, start: int, stop: int, frames: set[int]) -> None:
        for source, first, last in self._pieces(start, stop):
            source.note_frames(first, last, frames)

    def frames(self, start: int, stop: int) -> tuple[int, ...]:
        if start == 0 and stop == self._starts[-1] and (found := self._ordered(start, stop)) is not None:
            return found[0].frames_of(self._firsts, self._ends())
        return super().frames(start, stop)

    def _ordered(self, start: int, stop: int) -> tuple[FrameTable, int, int] | None:
        """The table, where all comes from one that is ordered, in its order; and the range of it that the bytes lie in."""
        if self._table is None:
            self._table = self._one_table()
        if not isinstance(self._table, FrameTable) or stop <= start:
            return None
        starts, firsts = self._starts, self._firsts
        first, last = bisect_right(starts, start) - 1, bisect_left(starts, stop) - 1
        return self._table, firsts[first] + start - starts[first], firsts[last] + stop - starts[last]

    def _one_table(self) -> FrameTable | Literal[False]:
        table = self._sources[0] if self._sources else None
        if not isinstance(table, FrameTable) or not table.ordered:
            return False
        if self._sources.count(table) != len(self._sources):
            return False
        return table if all(map(le, self._ends(), self._firsts[1:])) else False

    def _ends(self) -> Iterator[int]:
        """Where each part ends in its source."""
        return map(add, self._firsts, map(sub, self._starts[1:], self._starts))

    def times(self, start: int, stop: int) -> tuple[int, int] | None:
        if (found := self._ordered(start, stop)) is not None:
            return found[0].times(found[1], found[2])
        return spanned(piece[0].times(*piece[1:]) for piece in self._pieces(start, stop))

    def frame_range(self, start: int, stop: int) -> tuple[int, int] | None:
        if (found := self._ordered(start, stop)) is not None:
            return found[0].frame_range(found[1], found[2])
        return spanned(piece[0].frame_range(*piece[1:]) for piece in self._pieces(start, stop))


class _WholeSource(Source):
    """Bytes made from others without keeping positions (decompression): every slice leads back to all of them."""

    __slots__ = ("_length", "_source", "_start")

    def __init__(self, origin: TracedBytes) -> None:
        self._source, self._start, self._length = origin.source, origin.start, len(origin)

    def extents(self, start: int, stop: int) -> Iterator[FrameExtent]:
        if stop > start:
            yield from self._source.extents(self._start, self._start + self._length)

    def pack(self, start: int, stop: int, out: bytearray) -> None:
        if stop > start:
            rows = bytearray()
            for extent in self._source.extents(self._start, self._start + self._length):
                rows += PACKED_EXTENT.pack(extent.frame, extent.start, extent.length)
            out += PACKED_EXTENT.pack(PACKED_SHARED | (stop - start), len(rows) // PACKED_EXTENT.size, 0)
            out += rows


class TracedBytes(Struct, frozen=True):
    """Immutable bytes with an address. `data` is the bytes, `steps` what was done to them, outermost first."""

    data: bytes
    source: Source
    start: int = 0
    steps: tuple[str, ...] = ()

    @classmethod
    def of_frame(cls, data: bytes, frame: int, offset: int = 0, time_ns: int = 0) -> TracedBytes:
        """`data` as captured in one frame, its first byte at `offset` of the frame."""
        return cls(data, FrameSource(frame, offset, time_ns))

    @classmethod
    def join(cls, parts: Iterable[TracedBytes]) -> TracedBytes:
        """The parts one after the other. The joined bytes carry every step any part went through."""
        whole = [part for part in parts if len(part)]
        if len(whole) == 1:
            return whole[0]
        return cls(b"".join([part.data for part in whole]), *_place_of(whole), _steps_of(whole))

    @classmethod
    def pick(cls, spans: Sequence[tuple[TracedBytes, int, int]]) -> TracedBytes:
        """Joins slices: the bytes from start to stop of pieces, like `join`."""
        if len(spans) == 1:
            piece, start, stop = spans[0]
            return piece if stop - start == len(piece) else piece[start:stop]
        return cls(b"".join([memoryview(piece.data)[start:stop] for piece, start, stop in spans]), *cls.place(spans))

    @staticmethod
    def place(spans: Sequence[tuple[TracedBytes, int, int]]) -> tuple[Source, int, tuple[str, ...]]:
        """Where the bytes that `pick` makes came from, and what was done to them."""
        firsts, lengths = [piece.start + start for piece, start, _ in spans], [stop - start for _, start, stop in spans]
        return *_place([piece.source for piece, _, _ in spans], firsts, lengths), _steps_of([each[0] for each in spans])

    @staticmethod
    def rejoined(parts: Iterable[TracedBytes]) -> TracedBytes:
        """Joins parts that are kept anyway: the bytes are joined anew whenever they are asked for."""
        whole = [part for part in parts if len(part)]
        if len(whole) < 2:
            return whole[0] if whole else EMPTY
        source, start = _place_of(whole)
        return _Rejoined(b"", source, start, _steps_of(whole), parts=whole, starts=[0, *accumulate(map(len, whole))])

    def view(self, start: int, stop: int) -> TracedBytes:
        """A slice of bytes that are kept anyway: it holds none, and is cut anew whenever it is asked for."""
        if not 0 <= start <= stop <= len(self):
            start, stop, _ = slice(start, stop).indices(len(self))
        length = max(stop - start, 0)
        return _PartOfBytes(b"", self.source, self.start + start, self.steps, whole=self, first=start, length=length)

    def __len__(self) -> int:
        return len(self.data)

    def lead(self, length: int) -> bytes:
        """At least the first `length` bytes, and the others only where they are joined already."""
        return self.data

    def part(self, start: int, stop: int) -> bytes:
        """The bytes `start` to `stop` alone."""
        return self.data[start:stop]

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

    def moved(self, start: int, stop: int, source: Source) -> TracedBytes:
        """The bytes `start` to `stop`, as those of another source from its position 0 on."""
        return TracedBytes(self.data[start:stop], source, 0, self.steps)

    def replaced(self, data: bytes, step: str) -> TracedBytes:
        """What `step` made of these bytes. If their lengths are equal, byte i keeps the address of byte i; else all share all."""
        steps = (*self.steps, step)
        if len(data) == len(self):
            return TracedBytes(data, self.source, self.start, steps)
        return TracedBytes(data, _WholeSource(self), 0, steps)

    def extents(self) -> Iterator[FrameExtent]:
        """Where the bytes were captured, in their own order."""
        yield from self.source.extents(self.start, self.start + len(self))

    def last_extents(self, most: int) -> Iterable[FrameExtent]:
        """Where the last bytes were captured, in at most so many extents, the last one first."""
        return self.source.last_extents(self.start, self.start + len(self), most)

    def origin(self, start: int, stop: int) -> tuple[FrameExtent, ...]:
        """Where the bytes `start` to `stop` were captured; neighbouring runs of one frame are one extent."""
        merged: list[FrameExtent] = []
        start, stop, _ = slice(start, stop).indices(len(self))
        for extent in self.source.extents(self.start + start, self.start + stop):
            last = merged[-1] if merged else None
            if last is not None and last.frame == extent.frame and last.start + last.length == extent.start:
                merged[-1] = FrameExtent(last.frame, last.start, last.length + extent.length, last.time_ns)
            else:
                merged.append(extent)
        return tuple(merged)

    @property
    def frames(self) -> tuple[int, ...]:
        """Ids of the frames that carried the bytes, ascending, each once."""
        return self.source.frames(self.start, self.start + len(self))

    def note_frames(self, frames: set[int]) -> None:
        """Adds the ids of the frames that carried the bytes."""
        self.source.note_frames(self.start, self.start + len(self), frames)

    @property
    def times(self) -> tuple[int, int] | None:
        """Times of the earliest and the latest frame, None for no bytes."""
        return self.source.times(self.start, self.start + len(self))

    @property
    def frame_range(self) -> tuple[int, int] | None:
        """The lowest and the highest id of the frames that carried the bytes, None for no bytes."""
        return self.source.frame_range(self.start, self.start + len(self))

    @property
    def first_time_ns(self) -> int | None:
        """Time of the earliest frame, None for no bytes."""
        times = self.times
        return times[0] if times is not None else None

    @property
    def last_time_ns(self) -> int | None:
        """Time of the latest frame, None for no bytes."""
        times = self.times
        return times[1] if times is not None else None

    def time_ns_at(self, position: int) -> int:
        """Time of the frame that carried a byte, 0 where there is none."""
        return self.source.moment(self.start + position) if position < len(self) else 0


def spanned(ranges: Iterable[tuple[int, int] | None]) -> tuple[int, int] | None:
    """From the lowest beginning to the highest end."""
    found = [each for each in ranges if each is not None]
    return (min(found)[0], max([last for _, last in found])) if found else None


def _steps_of(parts: Sequence[TracedBytes]) -> tuple[str, ...]:
    first = parts[0].steps if parts else ()
    if all(part.steps is first for part in parts):
        return first
    steps: dict[str, None] = {}
    for part in parts:
        if part.steps:
            steps.update(dict.fromkeys(part.steps))
    return tuple(steps)


def _place_of(parts: Sequence[TracedBytes]) -> tuple[Source, int]:
    """Where the joined parts came from, as the source and start of what they become."""
    return _place([part.source for part in parts], [part.start for part in parts], [len(part) for part in parts])


def _place(sources: list[Source], firsts: list[int], lengths: list[int]) -> tuple[Source, int]:
    """The same for so many bytes of sources from the first ones on."""
    if sources:
        source, position = sources[0], firsts[0]
        for each, first, length in zip(sources, firsts, lengths, strict=True):
            if each is not source or first != position:
                break
            position += length
        else:
            # Neighbours: their source knows all of them as well as each.
            return source, firsts[0]
    borders = [at for at in range(1, len(sources)) if sources[at] is not sources[at - 1]]
    if borders and len(borders) * 2 < len(sources):
        # Many parts of few sources: those of each are looked up together.
        groups = list(pairwise((0, *borders, len(sources))))
        joined = [_JoinedSource(sources[at:to], firsts[at:to], lengths[at:to]) for at, to in groups]
        return _JoinedSource(joined, [0] * len(joined), [sum(lengths[at:to]) for at, to in groups]), 0
    return _JoinedSource(sources, firsts, lengths), 0


class _PartOfBytes(TracedBytes, frozen=True, kw_only=True):
    """Bytes that are a part of others, and kept there alone."""

    whole: TracedBytes
    first: int
    length: int

    @property  # type: ignore[misc]
    def data(self) -> bytes:
        return self.whole.part(self.first, self.first + self.length)

    def part(self, start: int, stop: int) -> bytes:
        if not 0 <= start <= stop <= self.length:
            start, stop, _ = slice(start, stop).indices(self.length)
        return self.whole.part(self.first + start, self.first + max(start, stop))

    def __len__(self) -> int:
        return self.length


class _Rejoined(TracedBytes, frozen=True, kw_only=True):
    """Bytes that are kept in their parts alone: two at least, none empty. Where the parts themselves come from is not asked."""

    parts: Sequence[TracedBytes]
    starts: list[int]

    @property  # type: ignore[misc]
    def data(self) -> bytes:
        return b"".join([part.data for part in self.parts])

    def part(self, start: int, stop: int) -> bytes:
        start, stop, _ = slice(start, stop).indices(len(self))
        if stop <= start:
            return b""
        parts, starts = self.parts, self.starts
        first, last = bisect_right(starts, start) - 1, bisect_left(starts, stop)
        if last == first + 1:
            return parts[first].part(start - starts[first], stop - starts[first])
        begin, end = start - starts[first], stop - starts[last - 1]
        between = [part.data for part in parts[first + 1 : last - 1]]
        return b"".join([parts[first].part(begin, len(parts[first])), *between, parts[last - 1].part(0, end)])

    def moved(self, start: int, stop: int, source: Source) -> TracedBytes:
        if (start, stop) != (0, len(self)):
            return super().moved(start, stop, source)
        return _Rejoined(b"", source, 0, self.steps, parts=self.parts, starts=self.starts)

    def __len__(self) -> int:
        return self.starts[-1]


class _Concatenation(TracedBytes, frozen=False, kw_only=True):  # type: ignore[misc]
    """Bytes that are joined when they are asked for, once, and until then are slices of their parts: two at least, none empty."""

    parts: list[TracedBytes]
    length: int
    found: tuple[Source, int] | None = None
    starts: list[int] | None = None
    joined: bytes | None = None

    # What it is made of is looked up on request: most are skipped, all but their first bytes.
    @property  # type: ignore[misc]
    def source(self) -> Source:
        if self.found is None:
            self.found = _place_of(self.parts)
        return self.found[0]

    @property  # type: ignore[misc]
    def start(self) -> int:
        if self.found is None:
            self.found = _place_of(self.parts)
        return self.found[1]

    @property  # type: ignore[misc]
    def data(self) -> bytes:
        if self.joined is None:
            if self.found is None:
                self.found = _place_of(self.parts)
            self.joined = b"".join([part.data for part in self.parts])
            self.parts = []
        return self.joined

    def __len__(self) -> int:
        return self.length

    def lead(self, length: int) -> bytes:
        if self.joined is None and len(first := self.parts[0].data) >= length:
            return first
        return self.data

    def time_ns_at(self, position: int) -> int:
        if self.joined is None and position < len(first := self.parts[0]):
            return first.time_ns_at(position)
        return super().time_ns_at(position)

    def __getitem__(self, where: slice) -> TracedBytes:
        start, stop, step = where.indices(self.length)
        if self.joined is not None or step != 1:
            return super().__getitem__(where)
        if stop <= start:
            return TracedBytes(b"", self.source, self.start + start, self.steps)
        starts = self.starts
        if starts is None:
            starts = self.starts = [0, *accumulate(map(len, self.parts))]
        first, last = bisect_right(starts, start) - 1, bisect_left(starts, stop)
        pieces = [part.data for part in self.parts[first:last]]
        pieces[-1] = pieces[-1][: stop - starts[last - 1]]
        pieces[0] = pieces[0][start - starts[first] :]
        return TracedBytes(b"".join(pieces), self.source, self.start + start, self.steps)


class TracedBuffer:
    """A byte queue for layers that wait until a message is whole: append pieces, take whole messages.

    Taking a message costs its own bytes, whatever number is held.
    """

    __slots__ = ("_parts", "_used", "length")

    def __init__(self) -> None:
        self._parts: list[TracedBytes] = []
        # How many bytes of the first part are taken already.
        self._used = 0
        # How many bytes are held.
        self.length = 0

    def __len__(self) -> int:
        return self.length

    @property
    def since_ns(self) -> int | None:
        """The time of the first byte, None where none is held."""
        return self._parts[0].time_ns_at(self._used) if self._parts else None

    def append(self, item: TracedBytes) -> None:
        size = len(item.data)
        if size:
            self._parts.append(item)
            self.length += size

    def peek(self, length: int) -> bytes:
        """The first `length` bytes, fewer where fewer are held."""
        used = self._used
        if self._parts and len(self._parts[0].data) >= used + length:
            return self._parts[0].data[used : used + length]
        out, need = [], length
        for part in self._parts:
            if need <= 0:
                break
            out.append(part.data[used : used + need])
            need -= len(out[-1])
            used = 0
        return b"".join(out)

    def take(self, length: int) -> TracedBytes:
        """Removes and returns the first `length` bytes; asking for more than is held is a mistake of the caller."""
        if length > self.length:
            raise ValueError(f"{length} bytes asked for, {self.length} held")
        if length <= 0:
            return EMPTY
        self.length -= length
        parts, used = self._parts, self._used
        stop = used + length
        first = parts[0]
        size = len(first.data)
        if stop < size:
            self._used = stop
            return first[used:stop]
        if used:
            first = first[used:]
        if stop == size:
            del parts[0]
            self._used = 0
            return first
        taken = [first]
        need = stop - size
        at = 1
        while need:
            part = parts[at]
            size = len(part.data)
            if need < size:
                taken.append(part[:need])
                break
            taken.append(part)
            need -= size
            at += 1
        self._used = need
        del parts[:at]
        return _Concatenation(b"", NOWHERE, 0, _steps_of(taken), parts=taken, length=length)

    def take_all(self) -> TracedBytes:
        return self.take(self.length)


class _NowhereSource(Source):
    """Bytes that were not captured: what a test or `decode` holds in its hand."""

    __slots__ = ()

    def extents(self, start: int, stop: int) -> Iterator[FrameExtent]:
        return iter(())


NOWHERE: Source = _NowhereSource()
EMPTY = TracedBytes(b"", NOWHERE)


def untraced(data: bytes) -> TracedBytes:
    """Bytes that come from no capture."""
    return TracedBytes(data, NOWHERE)
