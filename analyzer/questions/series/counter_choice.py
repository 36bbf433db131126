"""Chooses the counters to read: those that a selection may want, and those that they are computed with.

The choice is made before anything is made of instances, because there may be very many of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from analyzer.interfaces.buffers.winperf_layout import CounterDefinition
from analyzer.interfaces.pcq.perflib_samples import counter_of
from analyzer.interfaces.winperf.winperf_samples import is_base
from analyzer.questions.series.displayed_points import Select
from analyzer.questions.series.series_keys import counter_names, counterset_names, index_names, is_id
from analyzer.results.calls.query_state import QueryView
from analyzer.results.methods.perflib import NONE_ID
from analyzer.results.records.record_types import Endpoint
from analyzer.results.reported_names.counter_name_tables import NameTable
from analyzer.results.reported_names.counterset_catalog import Catalog

# Fields of the registration information that name what a counter is computed with, by what that is.
COMPANION_FIELDS: Mapping[str, str] = {
    "base": "base_counter_id",
    "object_ticks": "perf_time_id",
    "object_freq": "perf_freq_id",
    "multi": "multi_id",
}


class CounterChoice:
    """The counters of which `select` wants series. None selects all."""

    def __init__(self, select: Select | None) -> None:
        self._select = select
        self._known: dict[tuple[Any, ...], bool] = {}
        self._companions: dict[tuple[str, str], frozenset[int]] = {}

    def holds(
        self, server: Endpoint, query: QueryView | None, catalog: Catalog
    ) -> Callable[[int, int | None], bool] | None:
        """Returns the test whether an answer's value is read, by its block and the counter that this states; None if all are."""
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
        """Returns the counters of a counterset that selected counters are computed with."""
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
        """Returns for each counter of a winperf object whether its values are read. They are read if the counter may be selected,
        if it is the base of such a counter, or if it distinguishes instances. If no counter may be selected, none is read."""
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
