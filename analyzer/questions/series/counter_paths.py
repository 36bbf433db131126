r"""Selects series by counter paths as PDH writes them: `\machine\object(parent/instance#index)\counter`, with `*` and `?` (PDH
reference, "Specifying a Counter Path"). A path that fits no series is told the most similar ones.

Names are compared without case, whichever of its names a series goes by: English, localised, GUID or number. Objects, instances and
counters may themselves hold parentheses and backslashes (`Processor Information (kernel)`, share names), so a path cannot be taken
apart safely. Whole paths are compared instead.

Counters are chosen before anything is made of instances, because there may be very many of these: those that a selection may want,
and those that they are computed with.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from heapq import nlargest
from itertools import product
from typing import Any

from analyzer.interfaces.buffers.winperf_layout import CounterDefinition
from analyzer.interfaces.pcq.perflib_samples import counter_of
from analyzer.questions.series.series_and_points import Select, Series
from analyzer.questions.series.series_keys import counter_names, counterset_names, index_names, is_id
from analyzer.results.calls.query_state import QueryView
from analyzer.results.methods.perflib import NONE_ID, is_base
from analyzer.results.records.record_types import Endpoint
from analyzer.results.reported_names.counter_name_tables import NameTable
from analyzer.results.reported_names.counterset_catalog import Catalog

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
        """Always true: series that no counter path selects are numbered too, so that a path that fits nothing can be compared with
        all of them."""
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


# ------------------------------------------------------------------------------------------------------ choice of counters


# Fields of the registration information that name what a counter is computed with, by what that is.
COMPANION_FIELDS: Mapping[str, str] = {
    "base": "base_counter_id",
    "object_ticks": "perf_time_id",
    "object_freq": "perf_freq_id",
    "multi": "multi_id",
}


class CounterChoice:
    """The counters of which counter paths (`select`) want series. Without any, all are chosen."""

    def __init__(self, select: Select | None) -> None:
        self._select = select
        self._known: dict[tuple[Any, ...], bool] = {}
        self._companions: dict[tuple[str, str], frozenset[int]] = {}

    def holds(
        self, server: Endpoint, query: QueryView | None, catalog: Catalog
    ) -> Callable[[int, int | None], bool] | None:
        """Returns the test whether counter paths have an answer's value read, by its block and the counter that this states; None
        if all are read."""
        if self._select is None:
            return None

        def is_read(block: int, counter_id: int | None) -> bool:
            counterset, counter = counter_of(query, block, counter_id)
            return self.takes(server, counterset, counter, catalog) or (
                counterset is not None and counter in self._companions_of(server, counterset, catalog)
            )

        return is_read

    def takes(self, server: Endpoint, counterset: str | None, counter_id: int | None, catalog: Catalog) -> bool:
        """Whether series of this PerflibV2 counter may be selected. An unknown counterset has no names."""
        if self._select is None:
            return True
        key = server.ip, counterset, counter_id
        known = self._known.get(key)
        if known is None:
            objects = counterset_names(catalog, counterset) if counterset is not None else ()
            known = self._select.takes_counter(objects, counter_names(catalog, counterset, counter_id))
            self._known[key] = known
        return known

    def _companions_of(self, server: Endpoint, counterset: str, catalog: Catalog) -> frozenset[int]:
        """Returns the counters of a counterset that those which counter paths chose are computed with."""
        key = server.ip, counterset
        known = self._companions.get(key)
        if known is None:
            entry = catalog.countersets.get(counterset)
            known = self._companions[key] = frozenset(
                counter.info[field]
                for counter_id, counter in (entry.counters.items() if entry is not None else ())
                if counter.info is not None and self.takes(server, counterset, counter_id, catalog)
                for field in COMPANION_FIELDS.values()
                if counter.info[field] != NONE_ID
            )
        return known

    def columns(
        self, server: Endpoint, object_index: int, definitions: Sequence[CounterDefinition], table: NameTable
    ) -> list[bool]:
        """Returns for each counter of a winperf object whether counter paths have its values read. They do if the counter may be
        selected, if it is the base of such a counter, or if it distinguishes instances. If no counter may be selected, none is
        read."""
        taken = [self.takes_index(server, object_index, one.name_index, table) for one in definitions]
        if all(taken) or not any(taken):
            return taken
        bases = [is_base(one.counter_type) for one in definitions]
        return [
            is_taken or (bases[at] and at > 0 and taken[at - 1]) or is_id(definitions[at].name_index, table)
            for at, is_taken in enumerate(taken)
        ]

    def takes_index(self, server: Endpoint, object_index: int, counter_index: int, table: NameTable) -> bool:
        """Whether series of this winperf counter may be selected."""
        if self._select is None:
            return True
        key = server.ip, object_index, counter_index
        known = self._known.get(key)
        if known is None:
            objects, counters = index_names(table, "object", object_index), index_names(table, "counter", counter_index)
            known = self._known[key] = self._select.takes_counter(objects, counters)
        return known
