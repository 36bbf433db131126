"""Sources: they know for each of their bytes the frame in which it was captured.

While layers read, a source is a `FrameTable`, `JoinedSource` or `SharedSource`. It knows times, and holds on to tables of its
connection. What is kept of a whole capture is packed when it is complete (`PackedOrigins`). It answers the same questions, except
those about times.

The packed form: rows of 16 bytes, little-endian: frame id (8), first byte in the frame (4), length (4). A row is the origin of as
many bytes as its length states. Bytes that were made from others without keeping positions (decompression) have the highest bit of
the frame id set. Then the rest of the id is the number of bytes, and "first byte" the number of rows that follow and are the origin
of each of them.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby, islice, pairwise
from operator import add, itemgetter, le, sub
from typing import Literal

import numpy as np
from msgspec import Struct

from analyzer.core.printable_text import Discreet

# Frame id, first byte in the frame, length.
PACKED_EXTENT = struct.Struct("<QII")
PACKED_SHARED = 1 << 63


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


class Source:
    """A source of bytes. It knows in which frames its bytes `start` to `stop` were captured."""

    __slots__ = ()

    def extents(self, start: int, stop: int) -> Iterator[FrameExtent]:
        raise NotImplementedError

    def pack(self, start: int, stop: int, out: bytearray) -> None:
        """Appends the origins of this source's bytes to `out`, in packed form."""
        for extent in self.extents(start, stop):
            out += PACKED_EXTENT.pack(extent.frame, extent.start, extent.length)

    def located(self, start: int, stop: int) -> tuple[bytes, tuple[int, int] | None]:
        """Returns the packed origins and the times of these bytes: the results of `pack` and `times` by one search."""
        out = bytearray()
        self.pack(start, stop, out)
        return bytes(out), self.times(start, stop)

    def located_ranges(self, begins: Sequence[int], ends: Sequence[int]) -> tuple[bytes, tuple[int, int] | None]:
        """Returns the packed origins and the times of some ranges of this source, one behind the other. None is empty."""
        return joined_rows([self.located(begin, end) for begin, end in zip(begins, ends, strict=True)])

    def only_extent(self, start: int, stop: int) -> FrameExtent | None:
        """Returns the one frame extent that these bytes of the source come from, byte by byte. None if there are several or none,
        or if the captured bytes were compressed."""
        found = list(islice(self.extents(start, stop), 2))
        if len(found) != 1 or found[0].length != stop - start:
            return None
        return found[0] if stop - start == 1 or next(iter(self.extents(start, start + 1))).length == 1 else None

    def last_extents(self, start: int, stop: int, most: int) -> Iterable[FrameExtent]:
        """Returns at most the last `most` frame extents of these bytes of the source, the last one first."""
        return list(self.extents(start, stop))[: -most - 1 : -1]

    def note_frames(self, start: int, stop: int, frames: set[int]) -> None:
        """Adds the frames of origin of these bytes of the source to a set."""
        frames.update([extent.frame for extent in self.extents(start, stop)])

    def frames(self, start: int, stop: int) -> tuple[int, ...]:
        """Returns the frames of origin of these bytes of the source, ascending, each once."""
        found: set[int] = set()
        self.note_frames(start, stop, found)
        return tuple(sorted(found))

    def times(self, start: int, stop: int) -> tuple[int, int] | None:
        """Returns the earliest and the latest capture time of these bytes of the source, None for no bytes."""
        times = [extent.time_ns for extent in self.extents(start, stop)]
        return (min(times), max(times)) if times else None

    def moment(self, position: int) -> int:
        """Returns the (earliest) capture time of one byte of the source, 0 if it is unknown."""
        times = self.times(position, position + 1)
        return times[0] if times is not None else 0

    def frame_range(self, start: int, stop: int) -> tuple[int, int] | None:
        """Returns the lowest and the highest frame id among the origins of these bytes of the source, None for no bytes."""
        frames = [extent.frame for extent in self.extents(start, stop)]
        return (min(frames), max(frames)) if frames else None


class FrameTable(Struct, Source, frozen=True, eq=False):
    """A source of bytes that were captured in many frames, piece behind piece. Bytes of several pieces need no source of their own.

    Piece i takes the positions `starts[i]` to `starts[i + 1]`, and lies at `offsets[i]` of frame `frame_ids[i]`. `starts` has one
    more entry for the end, and no piece is empty. Bytes that begin with piece i are `TracedBytes(data, table, starts[i])`. Numbers
    are lists, or arrays if they are columns of a large capture. The maker of a table states whether its frames and times are
    `ordered`: then the first and the last of a range bound all between.
    """

    starts: Sequence[int]
    # Which frame each piece is of, where it lies in that, and when that was captured.
    frame_ids: Sequence[int]
    offsets: Sequence[int]
    times_ns: Sequence[int]
    ordered: bool = False

    @classmethod
    def of_one(cls, length: int, frame: int, offset: int, time_ns: int) -> FrameTable:
        """Makes a source of one frame: `length` bytes, the first of them at `offset` of the frame's captured bytes."""
        return cls([0, length], [frame], [offset], [time_ns], True)

    def extents(self, start: int, stop: int) -> Iterator[FrameExtent]:
        if stop <= start:
            return
        starts = self.starts
        for at in range(bisect_right(starts, start) - 1, bisect_left(starts, stop)):
            first = max(start, starts[at])
            length = min(stop, starts[at + 1]) - first
            yield FrameExtent(self.frame_ids[at], self.offsets[at] + first - starts[at], length, self.times_ns[at])

    def pack(self, start: int, stop: int, out: bytearray) -> None:
        if stop <= start:
            return
        starts, frames, offsets = self.starts, self.frame_ids, self.offsets
        pack = PACKED_EXTENT.pack
        for at in range(bisect_right(starts, start) - 1, bisect_left(starts, stop)):
            begin = starts[at]
            first = start if start > begin else begin
            out += pack(frames[at], offsets[at] + first - begin, min(stop, starts[at + 1]) - first)

    def located(self, start: int, stop: int) -> tuple[bytes, tuple[int, int] | None]:
        starts = self.starts
        if stop > start:
            at = bisect_right(starts, start) - 1
            if stop <= starts[at + 1]:
                # Most messages lie in one piece.
                time_ns, first = self.times_ns[at], self.offsets[at] + start - starts[at]
                return PACKED_EXTENT.pack(self.frame_ids[at], first, stop - start), (time_ns, time_ns)
        return super().located(start, stop)

    def last_extents(self, start: int, stop: int, most: int) -> Iterable[FrameExtent]:
        first = max(bisect_right(self.starts, start) - 1, bisect_left(self.starts, stop) - most)
        return list(self.extents(max(start, self.starts[first]), stop))[::-1] if stop > start else []

    def note_frames(self, start: int, stop: int, frames: set[int]) -> None:
        if stop > start:
            first, last = bisect_right(self.starts, start) - 1, bisect_left(self.starts, stop)
            frames.update(self.frame_ids[first:last])

    def times(self, start: int, stop: int) -> tuple[int, int] | None:
        if stop <= start:
            return None
        first, last = bisect_right(self.starts, start) - 1, bisect_left(self.starts, stop)
        if self.ordered:
            return self.times_ns[first], self.times_ns[last - 1]
        found = self.times_ns[first:last]
        return min(found), max(found)

    def frames(self, start: int, stop: int) -> tuple[int, ...]:
        if stop > start:
            first = bisect_right(self.starts, start) - 1
            if stop <= self.starts[first + 1]:
                return (self.frame_ids[first],)
        return super().frames(start, stop)

    def frames_of(self, begins: Iterable[int], ends: Iterable[int]) -> tuple[int, ...]:
        """Returns the frames of an ordered table that carried some ranges of it. Each range lies behind the one before."""
        starts, frames = self.starts, self.frame_ids
        found: list[int] = []
        at = 0
        for begin, end in zip(begins, ends, strict=True):
            first = bisect_right(starts, begin, at) - 1
            at = bisect_left(starts, end, first)
            found += frames[first:at]
        return tuple(dict.fromkeys(found))

    def pack_ranges(self, begins: Iterable[int], ends: Iterable[int], out: bytearray) -> None:
        """Appends the origins of some ranges of an ordered table to `out`, in packed form. Each range lies behind the one before.
        None is empty."""
        starts, frames, offsets = self.starts, self.frame_ids, self.offsets
        pack = PACKED_EXTENT.pack
        rows: list[bytes] = []
        # The piece that is looked at, where it begins, and where the following one does.
        at = start = following = -1
        for begin, end in zip(begins, ends, strict=True):
            if following <= begin:
                at = bisect_right(starts, begin, at + 1) - 1
                start, following = starts[at], starts[at + 1]
            while following < end:
                rows.append(pack(frames[at], offsets[at] + begin - start, following - begin))
                begin = start = following
                at += 1
                following = starts[at + 1]
            rows.append(pack(frames[at], offsets[at] + begin - start, end - begin))
        out += b"".join(rows)

    def located_ranges(self, begins: Sequence[int], ends: Sequence[int]) -> tuple[bytes, tuple[int, int] | None]:
        if not self.ordered or not all(map(le, ends, begins[1:])):
            return super().located_ranges(begins, ends)
        self.pack_ranges(begins, ends, out := bytearray())
        return bytes(out), self.times(begins[0], ends[-1])

    def moment(self, position: int) -> int:
        return self.times_ns[bisect_right(self.starts, position) - 1]

    def frame_range(self, start: int, stop: int) -> tuple[int, int] | None:
        if stop <= start:
            return None
        first, last = bisect_right(self.starts, start) - 1, bisect_left(self.starts, stop)
        if self.ordered:
            return self.frame_ids[first], self.frame_ids[last - 1]
        found = self.frame_ids[first:last]
        return min(found), max(found)


class JoinedSource(Source):
    """A source of bytes that were joined from several sources. Part i begins at `starts[i]`, with one more entry for the end.

    It knows where the parts came from and does not keep their bytes, which were copied.
    """

    __slots__ = ("_firsts", "_sources", "_starts", "_table")

    def __init__(self, sources: Iterable[Source], firsts: Iterable[int], lengths: Iterable[int]) -> None:
        """Joins sources: part i is `lengths[i]` bytes of `sources[i]` from position `firsts[i]` on."""
        self._table: FrameTable | Literal[False] | None = None
        self._sources = tuple(sources)
        self._firsts = array("q", firsts)
        self._starts = array("q", accumulate(lengths, initial=0))

    def _pieces(self, start: int, stop: int) -> Iterator[tuple[Source, int, int]]:
        """Yields the sources of the joined bytes, each with its positions."""
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
        if start == 0 and stop == self._starts[-1] and (found := self._ordered(start, stop)) is not None:
            found[0].pack_ranges(self._firsts, self._ends(), out)
            return
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
        """Returns the frame table and the range of it that the joined bytes lie in. None unless all come from one ordered table, in
        its order."""
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
        """Returns the position where each part of a joined source ends in its own source."""
        return map(add, self._firsts, map(sub, self._starts[1:], self._starts))

    def times(self, start: int, stop: int) -> tuple[int, int] | None:
        if (found := self._ordered(start, stop)) is not None:
            return found[0].times(found[1], found[2])
        return spanned(piece[0].times(*piece[1:]) for piece in self._pieces(start, stop))

    def frame_range(self, start: int, stop: int) -> tuple[int, int] | None:
        if (found := self._ordered(start, stop)) is not None:
            return found[0].frame_range(found[1], found[2])
        return spanned(piece[0].frame_range(*piece[1:]) for piece in self._pieces(start, stop))


class SharedSource(Struct, Source, frozen=True, eq=False):
    """A source of bytes made from others without keeping positions (decompression): each byte leads back to all of these others."""

    source: Source
    start: int
    length: int

    def extents(self, start: int, stop: int) -> Iterator[FrameExtent]:
        if stop > start:
            yield from self.source.extents(self.start, self.start + self.length)

    def pack(self, start: int, stop: int, out: bytearray) -> None:
        if stop > start:
            rows = bytearray()
            for extent in self.source.extents(self.start, self.start + self.length):
                rows += PACKED_EXTENT.pack(extent.frame, extent.start, extent.length)
            out += PACKED_EXTENT.pack(PACKED_SHARED | (stop - start), len(rows) // PACKED_EXTENT.size, 0)
            out += rows


class PackedOrigins(Struct, Source, eq=False):
    """A source with the packed origins (frames and offsets) of `length` bytes. Position 0 is the first of them."""

    packed: bytes
    length: int
    # The beginning of each part, and its rows. None until more than one row is looked at.
    parts: tuple[list[int], list[tuple[FrameExtent, ...]], list[bool]] | None = None
    # The lowest and the highest frame of all bytes. None until they are asked for.
    ends: tuple[int, int] | None = None

    def _read(self) -> tuple[list[int], list[tuple[FrameExtent, ...]], list[bool]]:
        if self.parts is None:
            lengths: list[int] = []
            parts: list[tuple[FrameExtent, ...]] = []
            shared: list[bool] = []
            rows = PACKED_EXTENT.iter_unpack(self.packed)
            for frame, start, length in rows:
                if frame & PACKED_SHARED:
                    lengths.append(frame ^ PACKED_SHARED)
                    parts.append(tuple([FrameExtent(*next(rows)) for _ in range(start)]))
                    shared.append(True)
                else:
                    lengths.append(length)
                    parts.append((FrameExtent(frame, start, length),))
                    shared.append(False)
            self.parts = [0, *accumulate(lengths)], parts, shared
        return self.parts

    def _pieces(self, start: int, stop: int) -> Iterator[tuple[int, int, int, tuple[FrameExtent, ...], bool]]:
        """Yields the parts of the packed origins: first and last position, where the part begins, its extents, if shared."""
        if stop <= start:
            return
        starts, parts, shared = self._read()
        at = max(bisect_right(starts, start) - 1, 0)
        while at < len(parts) and starts[at] < stop:
            yield max(start, starts[at]), min(stop, starts[at + 1]), starts[at], parts[at], shared[at]
            at += 1

    def extents(self, start: int, stop: int) -> Iterator[FrameExtent]:
        if len(self.packed) == PACKED_EXTENT.size and stop > start:
            frame, offset, _ = PACKED_EXTENT.unpack(self.packed)
            yield FrameExtent(frame, offset + start, stop - start)
            return
        for first, last, begin, extents, is_shared in self._pieces(start, stop):
            if is_shared:
                yield from extents
            elif last > first:
                (extent,) = extents
                yield FrameExtent(extent.frame, extent.start + first - begin, last - first)

    def only_extent(self, start: int, stop: int) -> FrameExtent | None:
        if len(self.packed) == PACKED_EXTENT.size and stop > start:
            frame, offset, _ = PACKED_EXTENT.unpack(self.packed)
            return FrameExtent(frame, offset + start, stop - start)
        return super().only_extent(start, stop)

    def located(self, start: int, stop: int) -> tuple[bytes, tuple[int, int] | None]:
        if start == 0 and stop == self.length:
            return self.packed, None
        return super().located(start, stop)

    def frames(self, start: int, stop: int) -> tuple[int, ...]:
        if stop > start and (frame := only_frame(self.packed)) is not None:
            return (frame,)
        return super().frames(start, stop)

    def note_frames(self, start: int, stop: int, frames: set[int]) -> None:
        if start or stop < self.length:
            super().note_frames(start, stop, frames)
            return
        frames.update(self._all_frames())

    def _all_frames(self) -> list[int]:
        """Returns the frame of each row of packed origins, for questions about all bytes. These are frequent for a long answer."""
        found: list[int] = np.frombuffer(self.packed, "<u8")[:: PACKED_EXTENT.size // 8].tolist()
        # The first row of bytes that share their origin has no frame.
        return found if max(found, default=0) < PACKED_SHARED else [each for each in found if each < PACKED_SHARED]

    def frame_range(self, start: int, stop: int) -> tuple[int, int] | None:
        if stop > start and (frame := only_frame(self.packed)) is not None:
            return frame, frame
        if start or stop < self.length:
            return super().frame_range(start, stop)
        if self.ends is None and (frames := self._all_frames()):
            self.ends = min(frames), max(frames)
        return self.ends

    def pack(self, start: int, stop: int, out: bytearray) -> None:
        for first, last, begin, extents, is_shared in self._pieces(start, stop):
            if is_shared:
                out += PACKED_EXTENT.pack(PACKED_SHARED | (last - first), len(extents), 0)
                for each in extents:
                    out += PACKED_EXTENT.pack(each.frame, each.start, each.length)
            elif last > first:
                (extent,) = extents
                out += PACKED_EXTENT.pack(extent.frame, extent.start + first - begin, last - first)


def only_frame(packed: bytes) -> int | None:
    """Returns the frame that carried all bytes of these packed origins, None if there are several or none."""
    frame: int
    if len(packed) != PACKED_EXTENT.size:
        return None
    frame, _, _ = PACKED_EXTENT.unpack(packed)
    return frame


def packed_length(packed: bytes) -> int:
    """Returns the number of bytes that these packed origins describe. Raises `ValueError` if they are cut."""
    if len(packed) % PACKED_EXTENT.size:
        raise ValueError("origins are cut")
    found, following = 0, 0
    for frame, start, length in PACKED_EXTENT.iter_unpack(packed):
        if following:
            following -= 1
        elif frame & PACKED_SHARED:
            found, following = found + (frame ^ PACKED_SHARED), start
        else:
            found += length
    if following:
        raise ValueError("origins are cut")
    return found


def spanned(ranges: Iterable[tuple[int, int] | None]) -> tuple[int, int] | None:
    """Returns the range (of times or frame ids) that spans all given ranges of sources, None if none is given."""
    found = [each for each in ranges if each is not None]
    return (min(found)[0], max([last for _, last in found])) if found else None


def joined_rows(
    parts: Sequence[tuple[bytes, tuple[int, int] | None]],
) -> tuple[bytes, tuple[int, int] | None]:
    """Joins the packed origins and the times of several ranges of sources."""
    if len(parts) == 1:
        return parts[0]
    return b"".join([packed for packed, _ in parts]), spanned([times for _, times in parts])


def located_parts(parts: Iterable[tuple[Source, int, int]]) -> tuple[bytes, tuple[int, int] | None]:
    """Returns the packed origins and the times of ranges of several sources, one behind the other. None is empty."""
    found = []
    for source, ranges in groupby(parts, itemgetter(0)):
        _, begins, ends = zip(*ranges, strict=True)
        if ends[:-1] == begins[1:]:
            # Neighbours are one range.
            found.append(source.located(begins[0], ends[-1]))
        else:
            found.append(source.located_ranges(begins, ends))
    return joined_rows(found)


def joined_place(sources: list[Source], firsts: list[int], lengths: list[int]) -> tuple[Source, int]:
    """Returns the source of joined bytes of several sources, and their start. Part i is `lengths[i]` bytes from `firsts[i]`."""
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
        joined = [JoinedSource(sources[at:to], firsts[at:to], lengths[at:to]) for at, to in groups]
        return JoinedSource(joined, [0] * len(joined), [sum(lengths[at:to]) for at, to in groups]), 0
    return JoinedSource(sources, firsts, lengths), 0


# Bytes that a test or `decode` brings were not captured.
NOWHERE: Source = PackedOrigins(b"", 0)
