"""A cache of bounded cost for results that are needed again and again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

_Value = TypeVar("_Value")


class Kept(Generic[_Value]):
    """A cache of values by key, up to a total cost. Above it, the value unused for longest goes first.

    The value that was used last stays, whatever it costs.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[Hashable, tuple[_Value, int]] = {}
        self.cost = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable, make: Callable[[], _Value], cost: Callable[[_Value], int]) -> _Value:
        """Returns the cached value of a key, and makes it if it is not there."""
        known = self._values.pop(key, None)
        if known is None:
            value = make()
            known = value, cost(value)
            self.cost += known[1]
        self._values[key] = known
        while self.cost > self._most and len(self._values) > 1:
            self.cost -= self._values.pop(next(iter(self._values)))[1]
        return known[0]
