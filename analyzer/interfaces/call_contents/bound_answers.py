"""Binds the data answer of a call to its meaning: values, their layout, the query handle, and the names that the server reported.

The counter, instance and series of a value depend on three things: the layout of its answer, the query that it answers, and the
names that its server reported. They do not depend on the value. A `Binding` stands for these three. Samples, counters and displays
keep in it what they derive from it, once for all answers that share it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from analyzer.core.caches import Kept
from analyzer.interfaces.buffers.perf_data_layout import PERF_DATA, Grid, Part, PerfDataLayout, PerfDataParts
from analyzer.interfaces.buffers.value_rows import PerfData, PerfRow, WinPerf
from analyzer.interfaces.buffers.winperf_layout import WINPERF, WinperfLayout, WinPerfObject, WinperfParts
from analyzer.interfaces.pcq.perflib_samples import PerflibSample, counter_of, samples_of
from analyzer.results.analysis import Analysis
from analyzer.results.calls.query_state import Identifier, QueryView
from analyzer.results.methods.perflib import is_text
from analyzer.results.records.record_types import Endpoint
from analyzer.results.reported_names.counter_name_tables import NameTable
from analyzer.results.reported_names.counterset_catalog import Catalog

if TYPE_CHECKING:
    import numpy.typing as npt

_Made = TypeVar("_Made")
Bools: TypeAlias = "npt.NDArray[np.bool_]"


class Binding(Struct, frozen=True, eq=False):
    """A layout of data answers bound to the query that they answer (None: winperf, or unknown) and the names of their server."""

    layout: PerfDataLayout | WinperfLayout
    query: QueryView | None
    server: Endpoint
    catalog: Catalog
    names: NameTable
    has_text: bool
    # Results that others made from the binding, by their own keys: the eight that were used last.
    _made: Kept[Any] = field(default_factory=lambda: Kept(8))

    def once(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """Returns what was made under a key for the answers of this binding; makes it on first use."""
        made: _Made = self._made.get(key, make, lambda _: 1)
        return made

    @property
    def num_values(self) -> int:
        """Returns how many values each answer that is bound like this has."""
        layout = self.layout
        return len(layout.places) if isinstance(layout, WinperfLayout) else len(layout.data_sizes)

    def samples(
        self, is_read: Callable[[int, int | None], bool] | None = None, chosen: Sequence[Bools | None] | None = None
    ) -> dict[int, PerflibSample]:
        """Returns the samples of a bound answer by place, with values and clocks of 0. `is_read` selects blocks and counters.
        `chosen` selects instances, or values if a part has no instances: for each part those that are read, None for all."""
        assert isinstance(self.layout, PerfDataLayout)
        known = self.query.blocks if self.query is not None else {}
        places: list[int] = []
        rows: list[PerfRow] = []
        begin = 0
        for part, some in zip(self.layout.parts, chosen or [None] * len(self.layout.parts), strict=True):
            mask = None if is_read is None else _are(part, is_read, known)
            if mask is None and some is None:
                places += range(begin, begin + len(part))
                rows += part_rows(part)
            elif mask is None or mask.any():
                places += (begin + np.flatnonzero(_values_of(part, mask, some))).tolist()
                if isinstance(part, Grid):
                    rows += part_rows(part, mask=mask, chosen=some)
                else:
                    rows += part_rows(part, mask=_values_of(part, mask, some))
            begin += len(part)
        return dict(zip(places, samples_of(answer_of(rows), self.query, self.catalog), strict=True))


class Bindings:
    """Binds the data answers of an analysis to their queries, and keeps the bindings that were met last."""

    MAX_VALUES = 1_000_000

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        # A binding keeps layout and query alive, so that no others can have their identity.
        self._known: Kept[Binding] = Kept(self.MAX_VALUES)

    def perflib(self, server: Endpoint, query: QueryView | None, data: bytes) -> tuple[PerfDataParts, Binding] | None:
        """Returns a PerflibV2 data answer to a query with its binding; None if it is irregular or has text among its values."""
        read = PERF_DATA.read(data)
        if read is None or read.layout.texts:
            return None
        binding = self._binding(server, read.layout, query)
        return None if binding.has_text else (read, binding)

    def winperf(self, server: Endpoint, data: bytes) -> tuple[WinperfParts, Binding] | None:
        """Returns a PERF_DATA_BLOCK with its binding; None if it is irregular."""
        read = WINPERF.read(data)
        return (read, self._binding(server, read.layout, None)) if read is not None else None

    def _binding(self, server: Endpoint, layout: PerfDataLayout | WinperfLayout, query: QueryView | None) -> Binding:
        def make() -> Binding:
            catalog = self._analysis.catalogs.catalog_of(server)

            def is_of_text(block: int, counter_id: int | None) -> bool:
                entry = catalog.counter(*counter_of(query, block, counter_id))
                return entry is not None and is_text(entry.type)

            known = query.blocks if query is not None else {}
            parts = layout.parts if isinstance(layout, PerfDataLayout) else ()
            has_text = any(len(part) and _are(part, is_of_text, known).any() for part in parts)
            return Binding(layout, query, server, catalog, self._analysis.name_tables.table_of(server), has_text)

        return self._known.get((id(layout), id(query), server), make, lambda made: made.num_values)


def _are(part: Part, is_so: Callable[[int, int | None], bool], known: Mapping[int, Identifier]) -> Bools:
    """Returns which counters in a part of a bound answer satisfy a condition; if it has no instances, which values do."""
    if isinstance(part, Grid):
        return np.array([is_so(part.block, counter) for counter in _counters(part)], np.bool_)
    blocks, counters = part.block, part.counter_id
    # Blocks that are not known differ by nothing but their counters.
    is_known = np.isin(blocks, list(known))
    keys = np.where(is_known, blocks + 1, 0) << 33 | counters + 1
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    pairs = zip(blocks[first].tolist(), counters[first].tolist(), strict=True)
    made = [is_so(block, counter if counter >= 0 else None) for block, counter in pairs]
    return np.array(made, np.bool_)[which]


def _values_of(part: Part, mask: Bools | None, chosen: Bools | None) -> Bools:
    """Returns which values in a part of a bound answer are read: those of the counters in `mask`, and of the `chosen` instances."""
    columns = len(part.data_sizes) if isinstance(part, Grid) else 1
    count = len(part) // columns if columns else 0
    if not isinstance(part, Grid):
        found = np.ones(count, np.bool_) if mask is None else mask
        return found if chosen is None else found & chosen
    of_counters = np.ones(columns, np.bool_) if mask is None else mask
    of_instances = np.ones(count, np.bool_) if chosen is None else chosen
    made: Bools = (of_instances[:, None] & of_counters).reshape(-1)
    return made


def _counters(part: Grid) -> Sequence[int | None]:
    return part.counter_ids if part.counter_ids is not None else [None] * len(part.data_sizes)


def part_rows(
    part: Part, most_instances: int | None = None, mask: Bools | None = None, chosen: Bools | None = None
) -> Iterator[PerfRow]:
    """Yields the rows of a part of a bound answer, with values of 0, for the first `most_instances` instances, or for the `chosen`
    ones. `mask` selects counters, or values if the part has no instances."""
    if isinstance(part, Grid):
        columns = [(counter, bytes(held)) for counter, held in zip(_counters(part), part.data_sizes, strict=True)]
        columns = columns if mask is None else [columns[place] for place in np.flatnonzero(mask).tolist()]
        numbers, names = part.instance_ids[:most_instances].tolist(), part.names[:most_instances]
        if chosen is not None:
            which = np.flatnonzero(chosen).tolist()
            numbers, names = [numbers[place] for place in which], [names[place] for place in which]
        for name, number in zip(names, numbers, strict=True):
            for counter, data in columns:
                yield PerfRow(part.block, part.block_type, part.status, counter, name, number, data)
        return
    arrays = part.block, part.block_type, part.status, part.counter_id, part.data_size
    values = (array if mask is None else array[mask] for array in arrays)
    for block, kind, status, counter, held in zip(*(array.tolist() for array in values), strict=True):
        yield PerfRow(
            *(block, kind, status),
            *(None if counter < 0 else counter, None, None),
            None if held < 0 else bytes(held),
        )


def answer_of(rows: Iterable[PerfRow]) -> PerfData:
    """A bound PerflibV2 answer of these rows, with clocks of 0."""
    return PerfData(None, None, 0, 0, 0, None, tuple(rows), None, ())


def numbered(item: WinPerfObject, most_instances: int | None = None) -> WinPerfObject:
    """Returns a winperf object as a bound answer has it, with the number of each counter as its value. Keeps the first
    `most_instances` instances."""
    values = tuple(range(len(item.definitions)))
    return replace(item, instances=tuple([replace(one, values=values) for one in item.instances[:most_instances]]))


def block_of(objects: tuple[WinPerfObject, ...], clocks: tuple[int, int, int] = (0, 0, 0)) -> WinPerf:
    """A bound PERF_DATA_BLOCK of these winperf objects."""
    return WinPerf(False, None, None, None, None, *clocks, None, objects, None, ())
