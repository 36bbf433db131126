"""A filter with its meaning: what is asked of the values of fields, of one record or call, or of many calls at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from msgspec import Struct

from analyzer.questions.filters.filterable_fields import FilterField

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]

# Gives the values of a field, none where it has none. Times and durations are in nanoseconds.
Resolve = Callable[[FilterField], Sequence[Any]]


class CallBlock(Protocol):
    """A block of calls that a filter asks about at once, by their numbers."""

    def holds(self, fields: Sequence[FilterField]) -> bool:
        """Whether all of these fields of a filter are columns of the calls."""
        ...

    def values(self, fields: Sequence[FilterField], numbers: Numbers) -> tuple[Numbers, Sequence[Resolve]]:
        """The values that these fields of a filter have together, each combination once, and for each call which of them it has."""
        ...

    def looked_at(self, expression: Expression, numbers: Numbers) -> Mask:
        """Whether these calls pass the filter, by the calls themselves."""
        ...


class Asked(Struct, frozen=True):
    """A filter's question about the values of some fields."""

    fields: tuple[FilterField, ...]
    passes: Callable[[Resolve], bool]

    def passing(self, rows: CallBlock, numbers: Numbers) -> Mask:
        """Which of these calls pass the filter's question."""
        if not rows.holds(self.fields):
            return rows.looked_at(self, numbers)
        codes, found = rows.values(self.fields, numbers)
        return np.array([self.passes(one) for one in found], np.bool_)[codes]


class Joined(Struct, frozen=True):
    """Joined parts of a filter of which none, all, any, or an odd number must hold."""

    operator: Literal["not", "and", "or", "xor"]
    parts: tuple[Expression, ...]

    @property
    def fields(self) -> tuple[FilterField, ...]:
        return tuple(dict.fromkeys(field for part in self.parts for field in part.fields))

    def passes(self, values: Resolve) -> bool:
        """Whether what has these values passes the joined parts of a filter."""
        passed = (part.passes(values) for part in self.parts)
        match self.operator:
            case "not":
                return not any(passed)
            case "and":
                return all(passed)
            case "or":
                return any(passed)
            case "xor":
                return sum(passed) % 2 == 1

    def passing(self, rows: CallBlock, numbers: Numbers) -> Mask:
        """Which of these calls pass the joined parts of a filter. Calls are looked at where columns leave it open alone."""
        if self.operator == "not":
            return ~self.parts[0].passing(rows, numbers)
        if self.operator == "xor":
            return reduce(np.logical_xor, (part.passing(rows, numbers) for part in self.parts))
        goes_on = self.operator == "and"
        found = np.full(len(numbers), goes_on)
        left = np.arange(len(numbers))
        for passing in self._in_steps(rows):
            if not len(left):
                break
            passed = found[left] = passing(numbers[left])
            left = left[passed == goes_on]
        return found

    def _in_steps(self, rows: CallBlock) -> Iterator[Callable[[Numbers], Mask]]:
        """The steps of a filter's joined parts: columns first, and at once what only the calls themselves answer."""
        by_columns = [part for part in self.parts if rows.holds(part.fields)]
        by_calls = [part for part in self.parts if not rows.holds(part.fields)]
        for part in (*by_columns, *(part for part in by_calls if isinstance(part, Joined))):
            yield partial(part.passing, rows)
        if of_calls := tuple(part for part in by_calls if isinstance(part, Asked)):
            yield partial(rows.looked_at, Joined(self.operator, of_calls))


Expression = Asked | Joined
