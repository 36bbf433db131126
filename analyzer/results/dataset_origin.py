"""The dataset of `collect` that an analysis was made of, and the numbers that its calls have there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# A conversation's number stands in front of its own numbers, which have so many bits.
NUMBER_SHIFT = 32


class DatasetOrigin:
    """The dataset that an analysis was made of, by its directory or URL. `numbers` are the numbers of calls in the dataset's
    tables, in the order of the analysis; they are not sorted. `cases` are the case files on this machine, by the number of their
    conversation."""

    def __init__(self, path: str, captures: int, numbers: npt.NDArray[np.int64], cases: Mapping[int, str]) -> None:
        self.path, self.captures, self.cases = path, captures, cases
        self._numbers = numbers
        self._order = numbers.argsort()

    def known_as(self, number: int) -> int:
        """Returns the number that a call of the analysis has in the dataset's tables."""
        return int(self._numbers[number - 1])

    def number_of(self, known: int) -> int:
        """Returns the number in the analysis of a call with this number in the dataset's tables."""
        return int(self._order[self._numbers.searchsorted(known, sorter=self._order)]) + 1

    def in_case(self, known: int) -> tuple[str, int] | None:
        """Returns the case file with a call of the dataset's tables, and its number there; None if it is on another machine."""
        case = self.cases.get(known >> NUMBER_SHIFT)
        return (case, known & ((1 << NUMBER_SHIFT) - 1)) if case is not None else None
