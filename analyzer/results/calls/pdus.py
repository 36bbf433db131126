"""The PDUs of one request or answer: their bytes once, the place of each stub in them, and the unsealed stub.

A reply may come in thousands of PDUs, and they are rarely looked at one by one. So they are joined, and a few numbers say where
each begins. A `Fragment` is made when it is asked for. A stub that was not sealed is read out of the same bytes.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import sub
from typing import overload

from msgspec import Struct

from analyzer.core.absence import Missing
from analyzer.core.byte_origins import NOWHERE, FrameExtent, Source, joined_place, spanned
from analyzer.core.traced_bytes import EMPTY, StoredBytes, TracedBytes


class Fragment(Struct, frozen=True):
    """One DCERPC PDU of a request or response: its captured bytes, and where its stub lies in it.

    `plain` is the opened stub without padding.
    """

    pdu: TracedBytes
    stub_start: int
    stub_stop: int
    plain: TracedBytes | Missing


# The result for a stub: it was in clear (None), it was opened (bytes), or it could not be read.
Plain = bytes | Missing | None


class Pdus(Sequence[Fragment]):
    """DCERPC PDUs of a call's side that were carried in the same way.

    `whole` has their bytes. `stops` says where each ends in them (None for a single PDU). `bounds` has the start and stop of the
    stub in each PDU. `unsealed` is the joined stub if it was sealed. `plains` is the result for each stub if these differ. `step`
    names the step that unsealed them.
    """

    __slots__ = ("bounds", "known_stub", "plains", "step", "stops", "unsealed", "whole")

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
        self.known_stub: TracedBytes | None = unsealed

    @classmethod
    def of_one(cls, whole: TracedBytes, start: int, stop: int, plain: Plain, step: str) -> Pdus:
        """Returns the only PDU of a call's side. Its stub lies from `start` to `stop`, `plain` is the result for it."""
        bounds = array("I", (start, stop))
        if plain is None:
            made = cls(whole, None, bounds, step)
            made.known_stub = TracedBytes(whole.data[start:stop], whole.source, whole.start + start, whole.steps)
            return made
        if isinstance(plain, Missing):
            return cls(whole, None, bounds, step, (plain,))
        unsealed = TracedBytes(plain, whole.source, whole.start + start, (*whole.steps, step))
        return cls(whole, None, bounds, step, None, unsealed)

    @classmethod
    def from_lengths(
        cls, whole: TracedBytes, lengths: Sequence[int], bounds: array[int], plains: tuple[Plain, ...], step: str
    ) -> Pdus:
        """Returns the PDUs of a call's side. `lengths` are their lengths in `whole`, `plains` the results for their stubs."""
        if len(lengths) == 1:
            return cls.of_one(whole, bounds[0], bounds[1], plains[0], step)
        stops = array("I", accumulate(lengths))
        if plains.count(None) == len(plains):
            return cls(whole, stops, bounds, step)
        found = [plain for plain in plains if isinstance(plain, bytes)]
        if len(found) < len(plains):
            return cls(whole, stops, bounds, step, plains)
        place = stub_place(whole, stops, bounds)
        return cls(whole, stops, bounds, step, None, TracedBytes(b"".join(found), *place, (*whole.steps, step)))

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
        return self._fragment(at, sum(self.bounds[1 : 2 * at : 2]) - sum(self.bounds[0 : 2 * at : 2]))

    def __iter__(self) -> Iterator[Fragment]:
        first = 0
        for at in range(len(self)):
            yield self._fragment(at, first)
            first += self.bounds[2 * at + 1] - self.bounds[2 * at]

    def _fragment(self, at: int, first: int) -> Fragment:
        """Returns one of a call's PDUs; its stub begins at `first` in the joined stub."""
        start, stop = self.bounds[2 * at], self.bounds[2 * at + 1]
        plain: Plain = self.plains[at] if self.plains is not None else None
        if self.unsealed is not None:
            plain = self.unsealed.part(first, first + stop - start)
        return fragment_of(self.pdu(at), start, stop, plain, self.step)

    def pdu(self, at: int) -> TracedBytes:
        """Returns the captured bytes of one of a call's PDUs."""
        stops, whole = self.stops, self.whole
        if stops is None:
            # Bytes that are not in memory are read, once for all who look at them.
            return whole if type(whole) is TracedBytes else whole[:]
        return whole[stops[at - 1] if at else 0 : stops[at]]

    def __reduce__(self) -> tuple[type[Pdus], tuple[object, ...]]:
        return Pdus, (self.whole, self.stops, self.bounds, self.step, self.plains, self.unsealed)

    @property
    def frames(self) -> tuple[int, ...]:
        """Ids of the frames that carried these PDUs, ascending, each once."""
        return self.whole.frames

    @property
    def frame_range(self) -> tuple[int, int] | None:
        """The lowest and the highest id of the frames that carried these PDUs."""
        whole = self.whole
        return whole.source.frame_range(whole.start, whole.start + len(whole))

    def stub_bytes(self, length: int) -> bytes:
        """Returns the first `length` bytes of the PDUs' joined stub, without their origins."""
        return self.stub().part(0, length)

    def stub(self) -> TracedBytes:
        """Returns the joined stubs of all PDUs of a call's side. Stubs that could not be read are left out."""
        if self.known_stub is not None:
            return self.known_stub
        if self.plains is not None:
            return TracedBytes.rejoined([one.plain for one in self if isinstance(one.plain, TracedBytes)])
        if self.stops is None:
            self.known_stub = self.whole[self.bounds[0] : self.bounds[1]]
        else:
            self.known_stub = _joined_stub(self.whole, self.stops, self.bounds)
        return self.known_stub


class _ClearStubs(Struct, frozen=True):
    """A store of the clear stubs in the bytes of several PDUs, one behind the other, with the `stops` and `bounds` of `Pdus`.
    `starts` has where each stub begins among the stubs, and one more entry for the end."""

    whole: TracedBytes
    stops: Sequence[int]
    bounds: Sequence[int]
    starts: Sequence[int]

    def read(self, position: int, length: int) -> bytes:
        starts, part, stop = self.starts, self.whole.part, position + length
        numbers = range(bisect_right(starts, position) - 1, bisect_left(starts, stop)) if length > 0 else ()
        found = []
        for number in numbers:
            start = starts[number]
            shift = (self.stops[number - 1] if number else 0) + self.bounds[2 * number] - start
            found.append(part(shift + max(position, start), shift + min(stop, starts[number + 1])))
        return b"".join(found)


class _ClearStubsSource(Source):
    """The source of the joined clear stubs of several PDUs. Where they were captured is found on request: of most only both ends
    are read."""

    __slots__ = ("_bounds", "_place", "_stops", "_whole")

    def __init__(self, whole: TracedBytes, stops: array[int], bounds: array[int]) -> None:
        self._whole, self._stops, self._bounds = whole, stops, bounds
        self._place: tuple[Source, int] | None = None

    def extents(self, start: int, stop: int) -> Iterator[FrameExtent]:
        if self._place is None:
            self._place = stub_place(self._whole, self._stops, self._bounds)
        source, first = self._place
        return source.extents(first + start, first + stop)


def _joined_stub(whole: TracedBytes, stops: array[int], bounds: array[int]) -> TracedBytes:
    """Returns the joined clear stubs of several PDUs. They are joined anew at each access."""
    starts = [0, *accumulate(map(sub, bounds[1::2], bounds[::2]))]
    if not starts[-1]:
        return EMPTY
    store, source = _ClearStubs(whole, stops, bounds, starts), _ClearStubsSource(whole, stops, bounds)
    return StoredBytes.from_store(store, 0, starts[-1], source, 0, whole.steps)


# The PDUs of a message: carried alike, or not.
Fragments = Pdus | tuple[Fragment, ...]


def stub_of(fragments: Fragments) -> TracedBytes:
    """Returns the joined stubs of a call's PDUs. Stubs that could not be read are left out."""
    if not isinstance(fragments, tuple):
        stub = fragments.known_stub
        return fragments.stub() if stub is None else stub
    return TracedBytes.rejoined([one.plain for one in fragments if isinstance(one.plain, TracedBytes)])


def pdu_at(fragments: Fragments, at: int) -> TracedBytes:
    """Returns the captured bytes of one of a call's PDUs."""
    return fragments[at].pdu if isinstance(fragments, tuple) else fragments.pdu(at)


def pdus_alone(fragments: Fragments) -> Iterator[TracedBytes]:
    """Yields the captured bytes of each of these PDUs, without the result for its stub."""
    return (pdu_at(fragments, at) for at in range(len(fragments)))


def frame_range_of(fragments: Fragments) -> tuple[int, int] | None:
    """The lowest and the highest id of the frames that carried PDUs of a call."""
    if not isinstance(fragments, tuple):
        return fragments.frame_range
    return spanned([fragment.pdu.frame_range for fragment in fragments])


def frames_of(fragments: Fragments) -> tuple[int, ...]:
    """Ids of the frames that carried PDUs of a call, ascending, each once."""
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


def clear_stubs(stops: array[int] | None, bounds: array[int]) -> list[tuple[int, int]]:
    """Returns where the clear stub of each PDU lies in the bytes of all PDUs. `stops` says where each PDU ends (None for a single
    one), `bounds` where its stub begins and ends in it. Empty stubs are left out."""
    bases = [0, *stops[:-1]] if stops is not None else [0]
    stubs = zip(bases, bounds[::2], bounds[1::2], strict=True)
    return [(base + start, base + stop) for base, start, stop in stubs if start < stop]


def ends_in(packed: bytes, pdus: int) -> tuple[array[int], array[int]]:
    """Unpacks from the packed bounds of a call's PDUs where the stubs of several begin and end, and where each PDU ends."""
    ends = array("I", packed)
    return ends[: 2 * pdus], ends[2 * pdus :]


def stub_place(whole: TracedBytes, stops: array[int] | None, bounds: array[int]) -> tuple[Source, int]:
    """Returns where the joined stubs of a call's PDUs were captured: a source, and their first position in it."""
    stubs = clear_stubs(stops, bounds)
    if not stubs:
        return NOWHERE, 0
    first = whole.start
    return joined_place(
        [whole.source] * len(stubs), [first + start for start, _ in stubs], [stop - start for start, stop in stubs]
    )
