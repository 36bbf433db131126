"""Traced bytes: bytes that remember which frames carried them.

A `TracedBytes` is immutable. Slicing and joining keep the address; `replaced` (decryption, decompression) keeps it and
notes the step. Where a byte came from is computed on request, and costs nothing otherwise.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Protocol

from msgspec import Struct

from analyzer.core.byte_origins import (
    NOWHERE,
    FrameExtent,
    FrameTable,
    PackedOrigins,
    SharedSource,
    Source,
    joined_place,
    located_parts,
)


class ByteStore(Protocol):
    """A byte store: it returns its bytes by position."""

    def read(self, position: int, length: int) -> bytes:
        """Reads `length` bytes from a position on, for traced bytes that lie in this store."""


class TracedBytes(Struct, frozen=True):
    """Immutable bytes that know which frames carried them. `steps` names what was done to the bytes `data`, outermost first."""

    data: bytes
    source: Source
    start: int = 0
    steps: tuple[str, ...] = ()

    @classmethod
    def of_frame(cls, data: bytes, frame: int, offset: int = 0, time_ns: int = 0) -> TracedBytes:
        """Makes traced bytes of one frame: `data` as captured in it, its first byte at `offset` of the frame."""
        return cls(data, FrameTable.of_one(len(data), frame, offset, time_ns))

    @classmethod
    def join(cls, parts: Iterable[TracedBytes]) -> TracedBytes:
        """Joins traced bytes, one part behind the other. The result has every step that any part went through."""
        whole = [part for part in parts if len(part)]
        if len(whole) == 1:
            return whole[0]
        return cls(b"".join([part.data for part in whole]), *_place_of(whole), _steps_of(whole))

    @classmethod
    def pick(cls, spans: Sequence[tuple[TracedBytes, int, int]]) -> TracedBytes:
        """Joins slices of traced bytes like `join`. Each span is a piece with start and stop."""
        if len(spans) == 1:
            piece, start, stop = spans[0]
            return piece if stop - start == len(piece) else piece[start:stop]
        return cls(data_of(spans), *cls.place(spans))

    @staticmethod
    def place(spans: Sequence[tuple[TracedBytes, int, int]]) -> tuple[Source, int, tuple[str, ...]]:
        """Returns the source of the traced bytes that `pick` makes, their start in it, and their steps."""
        firsts, lengths = [piece.start + start for piece, start, _ in spans], [stop - start for _, start, stop in spans]
        return *joined_place([piece.source for piece, _, _ in spans], firsts, lengths), _steps_of(
            [each[0] for each in spans]
        )

    @staticmethod
    def rejoined(parts: Iterable[TracedBytes]) -> TracedBytes:
        """Returns traced bytes that join parts which are kept anyway. They are joined anew at each access."""
        whole = [part for part in parts if len(part)]
        if len(whole) < 2:
            return whole[0] if whole else EMPTY
        store = _PartStore(whole, [0, *accumulate(map(len, whole))])
        return StoredBytes.from_store(store, 0, store.starts[-1], *_place_of(whole), _steps_of(whole))

    def view(self, start: int, stop: int) -> TracedBytes:
        """Returns a slice of traced bytes that are kept anyway. It holds no bytes of its own, and is cut anew at each access."""
        if not 0 <= start <= stop <= len(self):
            start, stop, _ = slice(start, stop).indices(len(self))
        return StoredBytes.from_store(self, start, max(stop - start, 0), self.source, self.start + start, self.steps)

    def settled(self, start: int, stop: int) -> tuple[TracedBytes, tuple[int, int] | None]:
        """Returns the traced bytes `start` to `stop`, and the times of their earliest and latest frame. Their packed origins hold
        nothing of a layer."""
        packed, times = self.source.located(self.start + start, self.start + stop)
        return self.moved(start, stop, PackedOrigins(packed, stop - start)), times

    @staticmethod
    def settled_place(spans: Iterable[tuple[TracedBytes, int, int]]) -> tuple[PackedOrigins, tuple[int, int] | None]:
        """Returns the packed origins of what `pick` makes, and the times of its earliest and latest frame. No span is empty."""
        parts = [(piece.source, piece.start + start, piece.start + stop) for piece, start, stop in spans]
        packed, times = located_parts(parts)
        return PackedOrigins(packed, sum([stop - start for _, start, stop in parts])), times

    def __len__(self) -> int:
        return len(self.data)

    def lead(self, length: int) -> bytes:
        """Returns at least the first `length` of the traced bytes; more only if these are joined already."""
        return self.data

    def part(self, start: int, stop: int) -> bytes:
        """Returns the plain bytes `start` to `stop` of the traced bytes."""
        return self.data[start:stop]

    def read(self, position: int, length: int) -> bytes:
        """Reads `length` of these traced bytes from a position on."""
        return self.data[position : position + length]

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
        """Returns the traced bytes `start` to `stop` with another source, from its position 0 on."""
        return TracedBytes(self.data[start:stop], source, 0, self.steps)

    def replaced(self, data: bytes, step: str) -> TracedBytes:
        """Returns traced bytes that `step` (decryption, decompression) made of these. With equal lengths byte i keeps the address
        of byte i; else all share all addresses."""
        steps = (*self.steps, step)
        if len(data) == len(self):
            return TracedBytes(data, self.source, self.start, steps)
        return TracedBytes(data, SharedSource(self.source, self.start, len(self)), 0, steps)

    def extents(self) -> Iterator[FrameExtent]:
        """Yields the frame extents where the traced bytes were captured, in the order of the bytes."""
        yield from self.source.extents(self.start, self.start + len(self))

    def last_extents(self, most: int) -> Iterable[FrameExtent]:
        """Returns at most the last `most` frame extents of the traced bytes, the last one first."""
        return self.source.last_extents(self.start, self.start + len(self), most)

    def origin(self, start: int, stop: int) -> tuple[FrameExtent, ...]:
        """Returns the frame extents of the traced bytes `start` to `stop`. Neighbouring runs of one frame are one extent."""
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
    def packed_origins(self) -> bytes:
        """The origins of the traced bytes in packed form (`core.byte_origins`)."""
        return self.source.located(self.start, self.start + len(self))[0]

    @property
    def frames(self) -> tuple[int, ...]:
        """The ids of the frames that carried the traced bytes, ascending, each once."""
        return self.source.frames(self.start, self.start + len(self))

    def note_frames(self, frames: set[int]) -> None:
        """Adds the frames that carried these `TracedBytes` to a set."""
        self.source.note_frames(self.start, self.start + len(self), frames)

    @property
    def times(self) -> tuple[int, int] | None:
        """The capture times of the earliest and the latest frame of the traced bytes, None for no bytes."""
        return self.source.times(self.start, self.start + len(self))

    @property
    def frame_range(self) -> tuple[int, int] | None:
        """The lowest and the highest id of the frames that carried the traced bytes, None for no bytes."""
        return self.source.frame_range(self.start, self.start + len(self))

    @property
    def first_time_ns(self) -> int | None:
        """The capture time of the earliest frame of the traced bytes, None for no bytes."""
        times = self.times
        return times[0] if times is not None else None

    @property
    def last_time_ns(self) -> int | None:
        """The capture time of the latest frame of the traced bytes, None for no bytes."""
        times = self.times
        return times[1] if times is not None else None

    def time_ns_at(self, position: int) -> int:
        """Returns the capture time of the frame that carried one of the traced bytes, 0 if there is none."""
        return self.source.moment(self.start + position) if position < len(self) else 0


def data_of(spans: Iterable[tuple[TracedBytes, int, int]]) -> bytes:
    """Returns the bytes of slices of traced bytes, joined."""
    return b"".join([memoryview(piece.data)[start:stop] for piece, start, stop in spans])


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
    """Returns the source of joined traced bytes, and their start in it."""
    return joined_place([part.source for part in parts], [part.start for part in parts], [len(part) for part in parts])


class StoredBytes(TracedBytes, frozen=True, kw_only=True):
    """Traced bytes that lie in a store, from a position of it on. They, or a part of them, are read at each access."""

    store: ByteStore
    position: int
    length: int

    @classmethod
    def from_store(
        cls, store: ByteStore, position: int, length: int, source: Source, start: int = 0, steps: tuple[str, ...] = ()
    ) -> StoredBytes:
        """Makes traced bytes of `length` bytes of a store, from a position on."""
        return cls(b"", source, start, steps, store=store, position=position, length=length)

    @property  # type: ignore[misc]
    def data(self) -> bytes:
        return self.store.read(self.position, self.length)

    def moved(self, start: int, stop: int, source: Source) -> TracedBytes:
        return StoredBytes.from_store(self.store, self.position + start, stop - start, source, 0, self.steps)

    def part(self, start: int, stop: int) -> bytes:
        if not 0 <= start <= stop <= self.length:
            start, stop, _ = slice(start, stop).indices(self.length)
        return self.store.read(self.position + start, max(stop - start, 0))

    def read(self, position: int, length: int) -> bytes:
        return self.store.read(self.position + position, length)

    def __getitem__(self, where: slice) -> TracedBytes:
        start, stop, step = where.indices(self.length)
        if step != 1:
            return super().__getitem__(where)
        return TracedBytes(self.part(start, stop), self.source, self.start + start, self.steps)

    def __len__(self) -> int:
        return self.length

    def __reduce__(self) -> tuple[type[TracedBytes], tuple[bytes, Source, int, tuple[str, ...]]]:
        # Another process has another store.
        return TracedBytes, (self.data, self.source, self.start, self.steps)


class _PartStore(Struct, frozen=True, eq=False):
    """A store of the parts that traced bytes are joined from: at least two, none empty. `starts` has one more entry for the end."""

    parts: Sequence[TracedBytes]
    starts: list[int]

    def read(self, position: int, length: int) -> bytes:
        stop = position + length
        parts, starts = self.parts, self.starts
        if length <= 0:
            return b""
        first, last = bisect_right(starts, position) - 1, bisect_left(starts, stop)
        begin = position - starts[first]
        if last == first + 1:
            return parts[first].read(begin, length)
        between = [part.data for part in parts[first + 1 : last - 1]]
        end = parts[last - 1].read(0, stop - starts[last - 1])
        return b"".join([parts[first].read(begin, len(parts[first]) - begin), *between, end])


class _Concatenation(TracedBytes, frozen=False, kw_only=True):  # type: ignore[misc]
    """Traced bytes that are joined at the first access. Until then, slices are cut from their parts: at least two, none empty."""

    parts: list[TracedBytes]
    length: int
    found: tuple[Source, int] | None = None
    starts: list[int] | None = None
    joined: bytes | None = None

    # The parts are joined on request: of most only the first bytes are read.
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
    """A queue of traced bytes for layers that wait for a whole message: it appends pieces and gives whole messages.

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
        """The capture time of the first traced byte in the buffer, None if it is empty."""
        return self._parts[0].time_ns_at(self._used) if self._parts else None

    def append(self, item: TracedBytes) -> None:
        size = len(item.data)
        if size:
            self._parts.append(item)
            self.length += size

    def peek(self, length: int) -> bytes:
        """Returns the first `length` traced bytes in the queue as plain bytes, fewer if it holds fewer."""
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

    def take_bytes(self, length: int) -> TracedBytes:
        """Removes and returns the first `length` traced bytes of the queue. Raises `ValueError` if it holds fewer."""
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
        return self.take_bytes(self.length)


EMPTY = TracedBytes(b"", NOWHERE)


def untraced(data: bytes) -> TracedBytes:
    """Returns traced bytes that come from no capture."""
    return TracedBytes(data, NOWHERE)
