"""The state of a query handle when a call was made: the counters it held, and the counter of each block of an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, overload

from msgspec import Struct

from analyzer.results.methods.perflib import NONE_ID

if TYPE_CHECKING:
    from analyzer.results.records.sample import IdSource


class Identifier(Struct, frozen=True):
    """A counter in the state of a query handle: _PERF_COUNTER_IDENTIFIER ([MS-PCQ] section 2.2.4.6). `counter_id` and `instance_id`
    may be 0xFFFFFFFF (all)."""

    counterset: str
    status: int
    counter_id: int
    instance_id: int
    index: int
    instance: str | None

    @property
    def key(self) -> tuple[str, int, int, str | None]:
        """Returns what identifies a counter of a query handle: all fields but status and index; names ignore case."""
        return self.counterset, self.counter_id, self.instance_id, self.instance and self.instance.casefold()

    @property
    def names_one_counter(self) -> bool:
        return self.counter_id != NONE_ID

    @property
    def names_one_instance(self) -> bool:
        return self.instance is not None and not any(mark in self.instance for mark in "*?")


class Held(Sequence[Identifier]):
    """The counters of a query handle at some time: the first of a list that only grows.

    Clients add counters one by one, so that a copy for every call would take the square of their number.
    """

    __slots__ = ("_items", "_size")

    def __init__(self, items: Sequence[Identifier]) -> None:
        self._items, self._size = items, len(items)

    @classmethod
    def first(cls, items: Sequence[Identifier], size: int) -> Held:
        """The first `size` counters of a list, as a query handle held them."""
        held = cls(items)
        held._size = size
        return held

    @property
    def whole(self) -> Sequence[Identifier]:
        """Returns the present list of the query handle's counters: it may have grown."""
        return self._items

    @overload
    def __getitem__(self, place: int) -> Identifier: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Identifier, ...]: ...

    def __getitem__(self, place: int | slice) -> Identifier | tuple[Identifier, ...]:
        if isinstance(place, slice):
            return tuple(self)[place]
        if not -self._size <= place < self._size:
            raise IndexError(place)
        return self._items[place % self._size]

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Identifier]:
        return islice(self._items, self._size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))


class InOrder(Mapping[int, Identifier]):
    """Maps the position of a block to the counter at this position among those that a query handle held."""

    __slots__ = ("_held",)

    def __init__(self, held: Held) -> None:
        self._held = held

    @property
    def held(self) -> Held:
        return self._held

    def __getitem__(self, block: int) -> Identifier:
        if not 0 <= block < len(self._held):
            raise KeyError(block)
        return self._held[block]

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self._held)))

    def __repr__(self) -> str:
        return repr(dict(self))


class QueryView(Struct, frozen=True):
    """The state of a query handle when a call was made.

    `number` counts the handles of the capture from 1. `blocks` maps the position of a block in a data answer to its counter, if the
    capture states it. `id_source` says how it is known: by the `Index` of QueryCounterInfo, or by a replay of ValidateCounters. If
    neither is captured, `blocks` is empty, and `unknown` is a sentence that says why. `held` are the counters in the order of their
    blocks if it is known, else in the order of adding; None if unknown. `counterset` is the one counterset that they all belong to.
    """

    handle: str
    number: int
    blocks: Mapping[int, Identifier]
    counterset: str | None
    id_source: IdSource | None = None
    held: Sequence[Identifier] | None = None
    unknown: str | None = None
