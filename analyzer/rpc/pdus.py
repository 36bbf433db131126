"""The PDUs of one request or answer, kept together: their bytes once, where each stub lies in them, and what was opened of it.

A reply may come in thousands of PDUs, and nearly nobody looks at them one by one. So they are joined, a few numbers say where each
begins, and a `Fragment` is made when somebody asks for it. The stub is read out of the same bytes where nothing was sealed.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import overload

from msgspec import Struct

from analyzer.core.absence import Missing
from analyzer.core.shelf import Kept
from analyzer.core.traced import EMPTY, Extent, Source, TracedBytes, spanned


class Fragment(Struct, frozen=True):
    """One PDU of a request or response: as it was captured, and where its stub lies in it.

    `plain` is the opened stub without padding.
    """

    pdu: TracedBytes
    stub_start: int
    stub_stop: int
    plain: TracedBytes | Missing


# What came of a stub: it was in clear (None), it was opened, or it is not to be had.
Plain = bytes | Missing | None


# Piece, where a PDU begins in it, its length, where its stub begins and stops in the PDU, what came of it, and what opened it.
_Row = tuple[TracedBytes, int, int, int, int, Plain, str]


class PduList:
    """The PDUs of a message that is still coming in. Several may come in one piece, and nothing is copied until all are there."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: list[_Row] = []

    def add(self, piece: TracedBytes, at: int, length: int, start: int, stop: int, plain: Plain, step: str) -> None:
        """The PDU at `at` of a piece, its stub from `start` to `stop` of the PDU. `step` names what opened `plain`, should it
        have been sealed."""
        self._rows.append((piece, at, length, start, stop, plain, step))

    def _runs(self) -> list[tuple[TracedBytes, int, int]]:
        """Piece, first and last byte of the PDUs, neighbours together."""
        runs: list[tuple[TracedBytes, int, int]] = []
        before, first, last = EMPTY, 0, 0
        for piece, at, length, _, _, _, _ in self._rows:
            if piece is not before or at != last:
                if last > first:
                    runs.append((before, first, last))
                before, first = piece, at
            last = at + length
        return [*runs, (before, first, last)]

    def note_frames(self, frames: set[int]) -> None:
        for piece, first, last in self._runs():
            piece.source.note_frames(piece.start + first, piece.start + last, frames)

    @property
    def times(self) -> tuple[int, int] | None:
        """Times of the earliest and the latest frame."""
        return spanned(
            [piece.source.times(piece.start + first, piece.start + last) for piece, first, last in self._runs()]
        )

    def kept(self) -> Sequence[Fragment]:
        """All of them, for good."""
        if not self._rows:
            return ()
        if len(self._rows) == 1:
            piece, at, length, start, stop, plain, step = self._rows[0]
            whole = piece if length == len(piece) else piece[at : at + length]
            return Pdus(whole, (length,), array("I", (start, stop)), (plain,), step)
        pieces, _, lengths, starts, stops, plains, steps = zip(*self._rows, strict=True)
        whole = TracedBytes.pick(self._runs())
        opened_by = set(steps) - {""}
        if len(opened_by) <= 1 and {piece.steps for piece in pieces} == {whole.steps}:
            bounds = array("I", chain.from_iterable(zip(starts, stops, strict=True)))
            return Pdus(whole, lengths, bounds, plains, next(iter(opened_by), ""))
        # Differently carried or opened: nobody's ordinary traffic, so it may cost more.
        return tuple(
            [
                _fragment(piece[at : at + length], start, stop, plain, step or next(iter(opened_by), ""))
                for piece, at, length, start, stop, plain, step in self._rows
            ]
        )


class Pdus(Sequence[Fragment]):
    """PDUs that were carried alike."""

    __slots__ = ("_bounds", "_opened", "_plains", "_step", "_stops", "_whole")

    def __init__(
        self, whole: TracedBytes, lengths: Sequence[int], bounds: array[int], plains: tuple[Plain, ...], step: str
    ) -> None:
        self._whole = Kept(whole.data, whole.source, whole.start, whole.steps)
        # Where each PDU ends in them all; most messages are one PDU, and need no telling.
        self._stops = array("I", accumulate(lengths)) if len(lengths) > 1 else None
        self._bounds = bounds
        self._step = step
        self._plains: tuple[Plain, ...] | None = None
        self._opened: Kept | None = None
        if len(plains) == 1:
            if isinstance(plain := plains[0], bytes):
                self._opened = Kept(plain, whole.source, whole.start + bounds[0], (*whole.steps, step))
            elif plain is not None:
                self._plains = (plain,)
            return
        if plains.count(None) == len(plains):
            return
        opened = [plain for plain in plains if isinstance(plain, bytes)]
        if len(opened) == len(plains):
            source = _StubSource(self._whole, self._stops, bounds)
            self._opened = Kept(b"".join(opened), source, 0, (*whole.steps, step))
        else:
            self._plains = plains

    @property
    def kept(self) -> tuple[Kept, ...]:
        """The bytes that all this takes."""
        return (self._whole,) if self._opened is None else (self._whole, self._opened)

    def __len__(self) -> int:
        return len(self._bounds) // 2

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(self._whole)

    @property
    def whole(self) -> TracedBytes:
        """Their bytes, one behind the other."""
        return self._whole

    @overload
    def __getitem__(self, where: int) -> Fragment: ...

    @overload
    def __getitem__(self, where: slice) -> Sequence[Fragment]: ...

    def __getitem__(self, where: int | slice) -> Fragment | Sequence[Fragment]:
        if isinstance(where, slice):
            return [self[at] for at in range(*where.indices(len(self)))]
        at = range(len(self))[where]
        start, stop = self._bounds[2 * at], self._bounds[2 * at + 1]
        plain: Plain = self._plains[at] if self._plains is not None else None
        if self._opened is not None:
            first = sum(self._bounds[1 : 2 * at : 2]) - sum(self._bounds[0 : 2 * at : 2])
            plain = self._opened.part(first, first + stop - start)
        stops = self._stops
        pdu = self._whole[:] if stops is None else self._whole[stops[at - 1] if at else 0 : stops[at]]
        return _fragment(pdu, start, stop, plain, self._step)

    def stub(self) -> TracedBytes:
        """The stubs of all PDUs, joined; what is not to be had is left out."""
        if self._opened is not None:
            return self._opened
        if self._plains is not None:
            return TracedBytes.gather([one.plain for one in self if isinstance(one.plain, TracedBytes)])
        if self._stops is None:
            return self._whole.view(self._bounds[0], self._bounds[1])
        return _ClearStub(self)


def stub_of(fragments: Sequence[Fragment]) -> TracedBytes:
    """The stubs of fragments, joined; what is not to be had is left out."""
    if isinstance(fragments, Pdus):
        return fragments.stub()
    return TracedBytes.gather([one.plain for one in fragments if isinstance(one.plain, TracedBytes)])


def times_of(fragments: Sequence[Fragment]) -> tuple[int, int] | None:
    """Times of the earliest and the latest frame that carried fragments."""
    if isinstance(fragments, Pdus):
        return fragments.whole.times
    return spanned([fragment.pdu.times for fragment in fragments])


def frame_range_of(fragments: Sequence[Fragment]) -> tuple[int, int] | None:
    """The lowest and the highest id of the frames that carried fragments."""
    if isinstance(fragments, Pdus):
        return fragments.whole.frame_range
    return spanned([fragment.pdu.frame_range for fragment in fragments])


def kept_by(fragments: Sequence[Fragment]) -> tuple[Kept, ...]:
    """The bytes that fragments take, as far as they may lie on a shelf."""
    return fragments.kept if isinstance(fragments, Pdus) else ()


def frames_of(fragments: Sequence[Fragment]) -> tuple[int, ...]:
    """Ids of the frames that carried fragments, ascending, each once."""
    if isinstance(fragments, Pdus):
        return fragments.whole.frames
    frames: set[int] = set()
    for fragment in fragments:
        fragment.pdu.note_frames(frames)
    return tuple(sorted(frames))


def _fragment(pdu: TracedBytes, start: int, stop: int, plain: Plain, step: str) -> Fragment:
    if plain is None:
        return Fragment(pdu, start, stop, pdu.view(start, stop))
    return Fragment(pdu, start, stop, pdu[start:stop].replaced(plain, step) if isinstance(plain, bytes) else plain)


def _stubs(stops: array[int] | None, bounds: array[int]) -> list[tuple[int, int]]:
    """Where the stub of each PDU lies in them all, by where each PDU ends (None: there is but one), and where its stub begins and
    ends in it."""
    bases = [0, *stops[:-1]] if stops is not None else [0]
    return [(base + start, base + stop) for base, start, stop in zip(bases, bounds[::2], bounds[1::2], strict=True)]


class _StubSource(Source):
    """The stubs of PDUs, one behind the other: byte i was captured where byte i of those parts of the PDUs was."""

    __slots__ = ("_bounds", "_starts", "_stops", "_whole")

    def __init__(self, whole: TracedBytes, stops: array[int] | None, bounds: array[int]) -> None:
        """See `_stubs`."""
        self._whole, self._stops, self._bounds = whole, stops, bounds
        # Where each stub begins in them all, and where in the PDUs; looked for when somebody asks.
        self._starts: tuple[list[int], list[int]] | None = None

    def _pieces(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        if stop <= start:
            return
        if self._starts is None:
            ranges = _stubs(self._stops, self._bounds)
            lengths = [last - first for first, last in ranges]
            self._starts = [0, *accumulate(lengths)], [first for first, _ in ranges]
        (starts, firsts), base = self._starts, self._whole.start
        at = bisect_right(starts, start) - 1
        while at < len(firsts) and starts[at] < stop:
            first = base + firsts[at] - starts[at]
            if starts[at] < starts[at + 1]:
                yield first + max(start, starts[at]), first + min(stop, starts[at + 1])
            at += 1

    def extents(self, start: int, stop: int) -> Iterator[Extent]:
        for first, last in self._pieces(start, stop):
            yield from self._whole.source.extents(first, last)


class _ClearStub(TracedBytes):
    """A stub that was never sealed: it is read out of its PDUs whenever somebody asks."""

    __slots__ = ("_length", "_pdus", "_source")

    def __init__(self, pdus: Pdus) -> None:
        self.start, self.steps = 0, pdus._whole.steps
        self._pdus = pdus
        self._source: Source | None = None
        self._length = sum(pdus._bounds[1::2]) - sum(pdus._bounds[::2])

    @property
    def source(self) -> Source:  # type: ignore[override]
        if self._source is None:
            self._source = _StubSource(self._pdus._whole, self._pdus._stops, self._pdus._bounds)
        return self._source

    @property
    def data(self) -> bytes:  # type: ignore[override]
        return self.part(0, self._length)

    def part(self, start: int, stop: int) -> bytes:
        pdus = self._pdus
        bounds, stops = pdus._bounds, pdus._stops
        assert stops is not None
        if 0 <= start < stop <= bounds[1] - bounds[0]:
            return pdus._whole.part(bounds[0] + start, bounds[0] + stop)
        if self._length - bounds[-1] + bounds[-2] <= start < stop <= self._length:
            shift = stops[-2] + bounds[-1] - self._length
            return pdus._whole.part(shift + start, shift + stop)
        ranges = _stubs(stops, bounds)
        whole = memoryview(pdus._whole.data)
        if start == 0 and stop == self._length:
            return b"".join([whole[first:last] for first, last in ranges])
        out = []
        for first, last in ranges:
            length = last - first
            if start < length and stop > 0:
                out.append(whole[first + max(start, 0) : first + min(stop, length)])
            start, stop = start - length, stop - length
        return b"".join(out)

    def __len__(self) -> int:
        return self._length
