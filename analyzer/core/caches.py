"""Keeps results: properties and functions that are computed once for each object, and a cache of bounded cost."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Generic, TypeVar, overload
from weakref import WeakKeyDictionary

# ---------------------------------------------------------------------------------------------------- cached properties


Value = TypeVar("Value")
One = TypeVar("One")


class cached_property(Generic[Value]):  # noqa: N801  # it takes the place of that of functools, which locks before Python 3.12
    """A property that is computed at the first access, and then held by its object.

    Nothing is locked: two threads may compute it at once, and either value counts. The lock of `functools.cached_property` costs
    more than most of what is computed here.
    """

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self._make, self._name = make, make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, one: None, owner: type) -> cached_property[Value]: ...

    @overload
    def __get__(self, one: object, owner: type) -> Value: ...

    def __get__(self, one: object | None, owner: type) -> Value | cached_property[Value]:
        if one is None:
            return self
        value = one.__dict__[self._name] = self._make(one)
        return value


def once_for_each(make: Callable[[One], Value]) -> Callable[[One], Value]:
    """Decorates a function of one object, so that it is called once for each object, and caches its result while the object lives.
    The result must not hold the object. Objects are told apart by identity."""
    known: WeakKeyDictionary[One, Value] = WeakKeyDictionary()

    @wraps(make)
    def found(one: One) -> Value:
        if one not in known:
            known[one] = make(one)
        return known[one]

    return found


# -------------------------------------------------------------------------------------------------------- bounded cache


class Kept(Generic[Value]):
    """A cache of values by key, up to a total cost. Above it, the value unused for longest goes first.

    The value that was used last stays, whatever it costs.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[Hashable, tuple[Value, int]] = {}
        self.cost = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable, make: Callable[[], Value], cost: Callable[[Value], int]) -> Value:
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
