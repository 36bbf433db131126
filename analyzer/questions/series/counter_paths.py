"""Selects series by counter paths as PDH writes them: `\\\\machine\\object(parent/instance#index)\\counter`, with `*` and `?` (PDH
reference, "Specifying a Counter Path"). A path that fits no series is told the most similar ones.

Names are compared without case, whichever of its names a series goes by: English, localised, GUID or number. Objects, instances and
counters may themselves hold parentheses and backslashes (`Processor Information (kernel)`, share names), so a path cannot be taken
apart safely. Whole paths are compared instead.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from heapq import nlargest
from itertools import product

from analyzer.questions.series.displayed_points import Series

# Of so many paths at most, near misses are looked for, and of each no more than so many characters are compared: in the worst
# case that takes the product of two lengths (`difflib`). A first look at the letters they share leaves the nearest few.
_MOST_PATHS = 5_000
_COMPARED = 120
_NEAREST = 20


class PathPattern:
    """One counter path that a user gave. `matched` states whether any series fitted it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.matched = False
        wanted = text.strip()
        self._has_machine = wanted.startswith("\\\\")
        if not wanted.startswith("\\"):
            wanted = f"\\{wanted}"
        self._pattern = wildcard(wanted)

    def fits(self, series: Series, machines: Iterable[str]) -> bool:
        """Whether this counter path means a series, under any name of the series and of its machine."""
        for path in paths_of(series):
            if self._has_machine:
                found = any(self._pattern.fullmatch(f"\\\\{machine}{path}") for machine in machines)
            else:
                found = self._pattern.fullmatch(path) is not None
            if found:
                self.matched = True
                return True
        return False


class PathSelection:
    """Selects the series that one of the counter paths means; without paths, all. `machines` are the names of each address."""

    def __init__(self, patterns: Sequence[str], machines: Mapping[str, tuple[str, ...]]) -> None:
        self.patterns = [PathPattern(text) for text in patterns]
        self._machines = machines
        self._seen: dict[str, None] = {}

    def takes_counter(self, objects: Sequence[str], counters: Sequence[str]) -> bool:
        """Always true: unselected series are numbered too, so that a path that fits nothing can be compared with all of them."""
        return True

    def __call__(self, series: Series) -> bool:
        if not self.patterns:
            return True
        if len(self._seen) < _MOST_PATHS:
            self._seen[series.local_path] = None
        names = (series.server.ip, *self._machines.get(series.server.ip, ()))
        # All are asked, so that each learns whether it fits anything.
        return sum(pattern.fits(series, names) for pattern in self.patterns) > 0

    def unmatched(self) -> Iterator[tuple[str, list[str]]]:
        """Yields the counter paths that fitted no series, each with the most similar paths."""
        folded = {path[:_COMPARED].casefold(): path for path in self._seen}
        for pattern in self.patterns:
            if not pattern.matched:
                wanted = "\\" + pattern.text.strip().lstrip("\\").casefold()
                if pattern.text.strip().startswith("\\\\"):
                    wanted = "\\" + wanted.removeprefix("\\").partition("\\")[2]
                near = get_close_matches(
                    wanted[:_COMPARED], _sharing_letters(wanted[:_COMPARED], folded), n=3, cutoff=0.5
                )
                yield pattern.text, [folded[path] for path in near]


def _sharing_letters(wanted: str, paths: Iterable[str]) -> list[str]:
    """Returns the counter paths that share the most letters with the wanted one, in any order."""
    letters = Counter(wanted)
    return nlargest(_NEAREST, paths, key=lambda path: (letters & Counter(path)).total() / (len(wanted) + len(path) + 1))


def wildcard(text: str) -> re.Pattern[str]:
    """Returns a regular expression for a part of a counter path with `*` and `?`. It matches whole names and ignores case.

    Each part between stars is looked for behind the one before it, and nowhere else if a later part is not found. A group without
    backtracking (`(?>...)`) keeps the time linear in the name, which comes from the capture.
    """
    first, *others = [_without_stars(part) for part in re.split(r"\*+", text)]
    if others:
        *middle, last = others
        first += "".join(f"(?>.*?{part})" for part in middle) + f".*{last}"
    return re.compile(first, re.IGNORECASE | re.DOTALL)


def _without_stars(part: str) -> str:
    return "".join("." if mark == "?" else re.escape(mark) for mark in part)


def paths_of(series: Series) -> Iterator[str]:
    """Yields every counter path of a series, without its machine."""
    for group, counter in product(series.objects, series.counters):
        yield f"\\{group}({series.instance})\\{counter}" if series.instance else f"\\{group}\\{counter}"


def selection_of(patterns: Iterable[str], machines: Callable[[], Mapping[str, tuple[str, ...]]]) -> PathSelection:
    """Returns the selection of series that counter paths mean. `machines` returns the names of each address. It is only called if a
    path names a machine."""
    wanted = list(patterns)
    named = any(text.strip().startswith("\\\\") for text in wanted)
    return PathSelection(wanted, machines() if named else {})
