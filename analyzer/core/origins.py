"""Where bytes were captured, packed: extents as a few bytes each, without the objects that found them out.

A layer's source of bytes holds on to tables of its connection. What is kept of a whole capture is packed when it is complete, and
answers the same questions but those about times.

The form: rows of 16 bytes, little-endian: frame id (8), first byte in the frame (4), length (4). A row is the origin of as many
bytes as its length states. Bytes that were made from others without keeping positions (decompression) have the highest bit of the
frame id set. Then the rest of the id is the number of bytes, and "first byte" the number of rows that follow and are the origin of
each of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from msgspec import Struct

from analyzer.core.traced import PACKED_EXTENT, PACKED_SHARED, FrameExtent, Source, TracedBytes


def pack_origins(data: TracedBytes) -> bytes:
    """Where `data` was captured."""
    return data.source.located(data.start, data.start + len(data))[0]


def only_frame(packed: bytes) -> int | None:
    """The frame that carried all of these bytes, None where there are several or none."""
    frame: int
    if len(packed) != PACKED_EXTENT.size:
        return None
    frame, _, _ = PACKED_EXTENT.unpack(packed)
    return frame


def packed_length(packed: bytes) -> int:
    """The number of bytes that these rows are the origin of. Raises `ValueError` where they are no such rows."""
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


def settled(data: TracedBytes, start: int, stop: int) -> tuple[TracedBytes, tuple[int, int] | None]:
    """The bytes `start` to `stop`, with the times of their earliest and latest frame. Their origins hold nothing of a layer."""
    packed, times = data.source.located(data.start + start, data.start + stop)
    return data.moved(start, stop, PackedOrigins(packed, stop - start)), times


class PackedOrigins(Struct, Source, eq=False):
    """What `pack_origins` packed, of `length` bytes; position 0 is the first of them."""

    packed: bytes
    length: int
    # Where each part begins, and the rows of it; None until more than one row is looked at.
    parts: tuple[list[int], list[tuple[FrameExtent, ...]], list[bool]] | None = None

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
        """First and last position of each part, where it begins, its extents, and whether they are shared."""
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
        """The frame of each row, for those who ask about all bytes: of a long answer they are asked for again and again."""
        # The first row of bytes that share their origin has no frame.
        return [frame for frame, _, _ in PACKED_EXTENT.iter_unpack(self.packed) if not frame & PACKED_SHARED]

    def frame_range(self, start: int, stop: int) -> tuple[int, int] | None:
        if stop > start and (frame := only_frame(self.packed)) is not None:
            return frame, frame
        if start or stop < self.length:
            return super().frame_range(start, stop)
        frames = self._all_frames()
        return (min(frames), max(frames)) if frames else None

    def pack(self, start: int, stop: int, out: bytearray) -> None:
        for first, last, begin, extents, is_shared in self._pieces(start, stop):
            if is_shared:
                out += PACKED_EXTENT.pack(PACKED_SHARED | (last - first), len(extents), 0)
                for each in extents:
                    out += PACKED_EXTENT.pack(each.frame, each.start, each.length)
            elif last > first:
                (extent,) = extents
                out += PACKED_EXTENT.pack(extent.frame, extent.start + first - begin, last - first)
