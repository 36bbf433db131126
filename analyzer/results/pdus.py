"""The PDUs of one request or answer: their bytes once, where each stub lies in them, and what was unsealed of it.

A reply may come in thousands of PDUs, and they are rarely looked at one by one. So they are joined, a few numbers say where each
begins, and a `Fragment` is made when it is asked for. The stub is read out of the same bytes where nothing was sealed.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import overload

from msgspec import Struct

from analyzer.core.absence import Missing
from analyzer.core.traced import Extent, Source, TracedBytes, spanned


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


class Pdus(Sequence[Fragment]):
    """PDUs that were carried alike.

    `whole` is their bytes, `stops` where each ends in them (None: there is but one), `bounds` from where to where in each PDU its
    stub lies. `unsealed` is the joined stub where it was sealed, `plains` what came of each stub where these differ; `step` names
    what unsealed them.
    """

    __slots__ = ("_stub", "bounds", "plains", "step", "stops", "unsealed", "whole")

    def __init__(
        self,
        whole: TracedBytes,
        stops: array[int] | None,
        bounds: array[int],
        step: str = "",
        plains: tuple[Plain, ...] | None = None,
        unsealed: TracedBytes | None = None,
    ) -> None:
        self.whole, self.stops, self.bounds = whole, stops, bounds
        self.step, self.plains, self.unsealed = step, plains, unsealed
        # The stub, where it is held or was asked for before.
        self._stub: TracedBytes | None = unsealed

    @classmethod
    def of(
        cls, whole: TracedBytes, lengths: Sequence[int], bounds: array[int], plains: tuple[Plain, ...], step: str
    ) -> Pdus:
        """So many PDUs one behind the other, and what came of the stub of each."""
        # Most messages are one PDU.
        stops = array("I", accumulate(lengths)) if len(lengths) > 1 else None
        if len(plains) == 1:
            if isinstance(plain := plains[0], bytes):
                unsealed = TracedBytes(plain, whole.source, whole.start + bounds[0], (*whole.steps, step))
                return cls(whole, None, bounds, step, None, unsealed)
            return cls(whole, None, bounds, step, (plain,) if plain is not None else None)
        if plains.count(None) == len(plains):
            return cls(whole, stops, bounds, step)
        found = [plain for plain in plains if isinstance(plain, bytes)]
        if len(found) < len(plains):
            return cls(whole, stops, bounds, step, plains)
        source = StubSource(whole, stops, bounds)
        return cls(whole, stops, bounds, step, None, TracedBytes(b"".join(found), source, 0, (*whole.steps, step)))

    def __len__(self) -> int:
        return len(self.bounds) // 2

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(self.whole)

    @overload
    def __getitem__(self, where: int) -> Fragment: ...

    @overload
    def __getitem__(self, where: slice) -> Sequence[Fragment]: ...

    def __getitem__(self, where: int | slice) -> Fragment | Sequence[Fragment]:
        if isinstance(where, slice):
            return [self[at] for at in range(*where.indices(len(self)))]
        at = range(len(self))[where]
        start, stop = self.bounds[2 * at], self.bounds[2 * at + 1]
        plain: Plain = self.plains[at] if self.plains is not None else None
        if self.unsealed is not None:
            first = sum(self.bounds[1 : 2 * at : 2]) - sum(self.bounds[0 : 2 * at : 2])
            plain = self.unsealed.part(first, first + stop - start)
        stops = self.stops
        pdu = self.whole[:] if stops is None else self.whole[stops[at - 1] if at else 0 : stops[at]]
        return fragment_of(pdu, start, stop, plain, self.step)

    def __reduce__(self) -> tuple[type[Pdus], tuple[object, ...]]:
        return Pdus, (self.whole, self.stops, self.bounds, self.step, self.plains, self.unsealed)

    @property
    def frames(self) -> tuple[int, ...]:
        """Ids of the frames that carried them, ascending, each once."""
        return self.whole.frames

    @property
    def frame_range(self) -> tuple[int, int] | None:
        """The lowest and the highest of `frames`."""
        return self.whole.frame_range

    @property
    def stub_length(self) -> int:
        """How long `stub` is."""
        if self.unsealed is not None or self.plains is not None:
            return len(self.stub())
        return sum(self.bounds[1::2]) - sum(self.bounds[::2])

    def stub_bytes(self, length: int) -> bytes:
        """The first bytes of `stub`, without where they are from."""
        return self.stub().part(0, length)

    def stub(self) -> TracedBytes:
        """The stubs of all PDUs, joined; what is not to be had is left out."""
        if self._stub is not None:
            return self._stub
        if self.plains is not None:
            return TracedBytes.rejoined([one.plain for one in self if isinstance(one.plain, TracedBytes)])
        if self.stops is not None:
            return _ClearStub(self)
        self._stub = self.whole.view(self.bounds[0], self.bounds[1])
        return self._stub


# The PDUs of a message: carried alike, or not.
Fragments = Pdus | tuple[Fragment, ...]


def stub_of(fragments: Fragments) -> TracedBytes:
    """The stubs of fragments, joined; what is not to be had is left out."""
    if not isinstance(fragments, tuple):
        return fragments.stub()
    return TracedBytes.rejoined([one.plain for one in fragments if isinstance(one.plain, TracedBytes)])


def stub_length_of(fragments: Fragments) -> int:
    """How long the stubs of fragments are together."""
    return len(stub_of(fragments)) if isinstance(fragments, tuple) else fragments.stub_length


def frame_range_of(fragments: Fragments) -> tuple[int, int] | None:
    """The lowest and the highest id of the frames that carried fragments."""
    if not isinstance(fragments, tuple):
        return fragments.frame_range
    return spanned([fragment.pdu.frame_range for fragment in fragments])


def frames_of(fragments: Fragments) -> tuple[int, ...]:
    """Ids of the frames that carried fragments, ascending, each once."""
    if not isinstance(fragments, tuple):
        return fragments.frames
    frames: set[int] = set()
    for fragment in fragments:
        fragment.pdu.note_frames(frames)
    return tuple(sorted(frames))


def fragment_of(pdu: TracedBytes, start: int, stop: int, plain: Plain, step: str) -> Fragment:
    if plain is None:
        return Fragment(pdu, start, stop, pdu.view(start, stop))
    return Fragment(pdu, start, stop, pdu[start:stop].replaced(plain, step) if isinstance(plain, bytes) else plain)


def _stubs(stops: array[int] | None, bounds: array[int]) -> list[tuple[int, int]]:
    """Where the stub of each PDU lies in them all, by where each PDU ends (None: there is but one), and where its stub begins and
    ends in it."""
    bases = [0, *stops[:-1]] if stops is not None else [0]
    return [(base + start, base + stop) for base, start, stop in zip(bases, bounds[::2], bounds[1::2], strict=True)]


class StubSource(Source):
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
        self.start, self.steps = 0, pdus.whole.steps
        self._pdus = pdus
        self._source: Source | None = None
        self._length = sum(pdus.bounds[1::2]) - sum(pdus.bounds[::2])

    @property
    def source(self) -> Source:  # type: ignore[override]
        if self._source is None:
            self._source = StubSource(self._pdus.whole, self._pdus.stops, self._pdus.bounds)
        return self._source

    @property
    def data(self) -> bytes:  # type: ignore[override]
        return self.part(0, self._length)

    def part(self, start: int, stop: int) -> bytes:
        pdus = self._pdus
        bounds, stops = pdus.bounds, pdus.stops
        assert stops is not None
        if 0 <= start < stop <= bounds[1] - bounds[0]:
            return pdus.whole.part(bounds[0] + start, bounds[0] + stop)
        if self._length - bounds[-1] + bounds[-2] <= start < stop <= self._length:
            shift = stops[-2] + bounds[-1] - self._length
            return pdus.whole.part(shift + start, shift + stop)
        ranges = _stubs(stops, bounds)
        if start == 0 and stop == self._length:
            data = memoryview(pdus.whole.data)
            return b"".join([data[first:last] for first, last in ranges])
        wanted = []
        for first, last in ranges:
            length = last - first
            if start < length and stop > 0:
                wanted.append((first + max(start, 0), first + min(stop, length)))
            start, stop = start - length, stop - length
        if not wanted:
            return b""
        base = wanted[0][0]
        data = memoryview(pdus.whole.part(base, wanted[-1][1]))
        return b"".join([data[first - base : last - base] for first, last in wanted])

    def __len__(self) -> int:
        return self._length
