"""Where the calls of an analysis stand in the dataset of `collect` that it was made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# A conversation's number stands in front of its own numbers, which have so many bits.
NUMBER_SHIFT = 32


class DatasetOrigin:
    """The dataset that an analysis was made of, by its directory or URL. `numbers` are those that calls have in its tables, in
    the order of the calls; they are not sorted. `cases` are the files of its conversations, by number, where they are on this
    machine."""

    def __init__(self, path: str, captures: int, numbers: npt.NDArray[np.int64], cases: Mapping[int, str]) -> None:
        self.path, self.captures, self.cases = path, captures, cases
        self._numbers = numbers
        self._order = numbers.argsort()

    def known_as(self, number: int) -> int:
        """The number in the dataset's tables of a call of the analysis."""
        return int(self._numbers[number - 1])

    def number_of(self, known: int) -> int:
        """The number in the analysis of a call of the dataset's tables."""
        return int(self._order[self._numbers.searchsorted(known, sorter=self._order)]) + 1

    def in_case(self, known: int) -> tuple[str, int] | None:
        """The case that has a call of the dataset's tables, and its number there; None where the case is on another machine."""
        case = self.cases.get(known >> NUMBER_SHIFT)
        return (case, known & ((1 << NUMBER_SHIFT) - 1)) if case is not None else None
