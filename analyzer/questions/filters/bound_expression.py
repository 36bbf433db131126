"""Bound expressions: a filter with its meaning, as questions about values of fields, for one call or for many at once."""

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
    """A block of calls that a filter judges at once, by their numbers."""

    def holds(self, fields: Sequence[FilterField]) -> bool:
        """Tells a bound expression whether the calls have columns for all of these filter fields."""
        ...

    def values(self, fields: Sequence[FilterField], numbers: Numbers) -> tuple[Numbers, Sequence[Resolve]]:
        """Gives a bound expression the combinations of values that these fields have, each once, and which combination each call
        has."""
        ...

    def looked_at(self, expression: Expression, numbers: Numbers) -> Mask:
        """Gives a bound expression those of these calls that pass it, by reading the calls themselves."""
        ...


class Asked(Struct, frozen=True):
    """A single bound question of a filter about the values of some fields."""

    fields: tuple[FilterField, ...]
    passes: Callable[[Resolve], bool]

    def passing(self, rows: CallBlock, numbers: Numbers) -> Mask:
        """Returns which of these calls pass this question of the filter."""
        if not rows.holds(self.fields):
            return rows.looked_at(self, numbers)
        codes, found = rows.values(self.fields, numbers)
        return np.array([self.passes(one) for one in found], np.bool_)[codes]


class Joined(Struct, frozen=True):
    """Bound parts of a filter joined by an operator: none, all, any, or an odd number of them must hold."""

    operator: Literal["not", "and", "or", "xor"]
    parts: tuple[Expression, ...]

    @property
    def fields(self) -> tuple[FilterField, ...]:
        return tuple(dict.fromkeys(field for part in self.parts for field in part.fields))

    def passes(self, values: Resolve) -> bool:
        """Whether a record or call with these values passes the joined parts of a filter."""
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
        """Returns which of these calls pass the joined parts of a filter. Reads a call only if its columns do not decide."""
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
        """Yields steps that judge a filter's joined parts: first by columns, then together all that need the calls themselves."""
        by_columns = [part for part in self.parts if rows.holds(part.fields)]
        by_calls = [part for part in self.parts if not rows.holds(part.fields)]
        for part in (*by_columns, *(part for part in by_calls if isinstance(part, Joined))):
            yield partial(part.passing, rows)
        if of_calls := tuple(part for part in by_calls if isinstance(part, Asked)):
            yield partial(rows.looked_at, Joined(self.operator, of_calls))


Expression = Asked | Joined
