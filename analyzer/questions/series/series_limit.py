"""Limits how many series are made of a capture. It chooses instances before anything is made of them, because there may be very many.

What is chosen are names of instances: those that were read first. All instances of a chosen name are read in every answer, and none
of any other name. So a series has all of its readings or none, and nothing is said of it that the answers do not say. A counterset
that is too large takes no further names from then on.

The page of `report` has such a limit. `samples` and `counters` have none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from msgspec import Struct, field

from analyzer.interfaces.buffers.perf_data_layout import Grid, PerfDataLayout, Singles
from analyzer.interfaces.buffers.value_rows import PerfRow
from analyzer.interfaces.buffers.winperf_layout import WinPerfInstance, WinPerfObject
from analyzer.interfaces.pcq.perflib_samples import counterset_of
from analyzer.questions.series.displayed_points import Key
from analyzer.questions.series.series_keys import counterset_names, folded, index_names
from analyzer.results.calls.call import Call
from analyzer.results.calls.query_state import QueryView
from analyzer.results.records.record_types import Endpoint
from analyzer.results.reported_names.counter_name_tables import NameTable
from analyzer.results.reported_names.counterset_catalog import Catalog

if TYPE_CHECKING:
    import numpy.typing as npt

Bools: TypeAlias = "npt.NDArray[np.bool_]"
# Instances by what stands for their names, and how many values each has.
_Rows = tuple[Sequence[Hashable], int]

# At most so many series of one counterset as one client polls it, and of the whole capture.
MOST_OF_A_SET, MOST_IN_ALL = 1 << 13, 50_000
# A chosen name may be that of more and more instances. A set with so many times its limit is read no further.
_TIMES = 4


class SeriesLeftOut(Struct):
    """What a limit left out of a machine's counterset: `readings` of its instances, of which an answer had `instances` at most, and
    `kept` were read. Without a `group`, they are blocks without instances."""

    server: str
    group: str | None
    kept: int
    instances: int
    readings: int


class _CutSet(Struct, eq=False):
    """A counterset of which not all instances are read: the chosen names, and what an answer had at most."""

    server: str
    group: str | None
    taken: set[Hashable]
    is_ended: bool = False
    kept: int = 0
    instances: int = 0
    readings: int = 0


class CutAnswer(Struct, frozen=True, eq=False):
    """What the answers of one layout lose of one counterset: `readings` of so many instances, of which `kept` are read."""

    of: _CutSet
    readings: int
    instances: int
    kept: int

    def count(self) -> None:
        """Counts one more answer of this layout."""
        cut = self.of
        cut.readings += self.readings
        cut.kept, cut.instances = max(cut.kept, self.kept), max(cut.instances, self.instances)


class Chosen(Struct, eq=False):
    """The instances of an answer that are read: for each part of it (a block, an object) which of them, None for all. `blocks` are
    the positions of blocks of which not all are read."""

    parts: list[Bools | None]
    cuts: list[CutAnswer] = field(default_factory=list)
    blocks: frozenset[int] = frozenset()


class SeriesLimit:
    """Limits the series of a capture. `states` are those that were met so far, by their keys (`values_by_layout.Registry`)."""

    def __init__(self, of_set: int = MOST_OF_A_SET, in_all: int = MOST_IN_ALL) -> None:
        self._of_set, self._in_all = of_set, in_all
        self._sets: dict[Key, _CutSet] = {}
        # How many blocks without instances each viewer's answers had while all were read.
        self._blocks: dict[Key, int] = {}

    def left_out(self) -> list[SeriesLeftOut]:
        """Returns what was left out of each machine's countersets, the most first."""
        found: dict[tuple[str, str | None], SeriesLeftOut] = {}
        for one in self._sets.values():
            if one.readings:
                known = found.setdefault((one.server, one.group), SeriesLeftOut(one.server, one.group, 0, 0, 0))
                known.kept, known.instances = max(known.kept, one.kept), max(known.instances, one.instances)
                known.readings += one.readings
        return sorted(found.values(), key=lambda one: -one.readings)

    def of_perf_data(
        self, viewer: Key, call: Call, layout: PerfDataLayout, catalog: Catalog, states: Mapping[Key, Any]
    ) -> Chosen:
        """Chooses the instances of a PerflibV2 answer of this layout, and its blocks without instances."""
        chosen = Chosen([None] * len(layout.parts))
        if self._fits(len(layout.data_sizes), states):
            self._note_blocks(viewer, (part for part in layout.parts if not isinstance(part, Grid)))
            return chosen
        sets: dict[Key, list[int]] = {}
        for number, part in enumerate(layout.parts):
            key = _set_of(call.query, part.block) if isinstance(part, Grid) else _BLOCKS
            sets.setdefault(key, []).append(number)
        cut: set[int] = set()
        for key, numbers in sets.items():
            parts = [layout.parts[number] for number in numbers]
            grids = [part for part in parts if isinstance(part, Grid)]
            singles = [part for part in parts if not isinstance(part, Grid)]
            rows: list[_Rows] = [(list(map(folded, grid.names)), len(grid.data_sizes)) for grid in grids]
            rows += [(part.block.tolist(), 1) for part in singles]
            label, known = self._set_of_blocks(viewer, call, [grid.block for grid in grids], catalog, states)
            masks = self._masks((viewer, *key), call.server, label, rows, len(states), known, chosen.cuts)
            if all(mask is None for mask in masks):
                self._note_blocks(viewer, singles)
            for number, part, mask in zip(numbers, parts, masks, strict=True):
                chosen.parts[number] = mask
                if mask is not None:
                    cut.update([part.block] if isinstance(part, Grid) else part.block[~mask].tolist())
        chosen.blocks = frozenset(cut)
        return chosen

    def of_perf_rows(
        self, viewer: Key, call: Call, rows: Sequence[PerfRow], catalog: Catalog, states: Mapping[Key, Any]
    ) -> Chosen:
        """Chooses the values of an irregular PerflibV2 answer. Its only part are its rows."""
        if self._fits(len(rows), states):
            return Chosen([None])
        sets: dict[Key, list[int]] = {}
        for number, row in enumerate(rows):
            key = _BLOCKS if row.instance is None else _set_of(call.query, row.block)
            sets.setdefault(key, []).append(number)
        chosen, cut, mask = Chosen([None]), set[int](), np.ones(len(rows), np.bool_)
        for key, numbers in sets.items():
            of_rows = [rows[one].block if key == _BLOCKS else folded(rows[one].instance) for one in numbers]
            names = list(dict.fromkeys(of_rows))
            blocks = list(dict.fromkeys(rows[one].block for one in numbers))
            label, known = self._set_of_blocks(viewer, call, [] if key == _BLOCKS else blocks, catalog, states)
            some: list[_Rows] = [(names, -(-len(numbers) // len(names)))]
            (found,) = self._masks((viewer, *key), call.server, label, some, len(states), known, chosen.cuts)
            if found is not None:
                taken = {name for name, is_taken in zip(names, found.tolist(), strict=True) if is_taken}
                mask[numbers] = [name in taken for name in of_rows]
                cut.update(blocks)
        chosen.parts, chosen.blocks = [mask if cut else None], frozenset(cut)
        return chosen

    def of_winperf(
        self, viewer: Key, call: Call, objects: Sequence[WinPerfObject], table: NameTable, states: Mapping[Key, Any]
    ) -> Chosen:
        """Chooses the instances of the objects of a winperf answer."""
        chosen = Chosen([None] * len(objects))
        for number, item in enumerate(objects):
            size = sum(definition.size != 0 for definition in item.definitions)
            group = ("object", item.name_index)
            label = index_names(table, "object", item.name_index)[0]
            known = _names_before(viewer, states, {group}, _winperf_name)
            some: list[_Rows] = [(_InstanceNames(item.instances), size)]
            key = (viewer, *group)
            (chosen.parts[number],) = self._masks(key, call.server, label, some, len(states), known, chosen.cuts)
        return chosen

    def _fits(self, size: int, states: Mapping[Key, Any]) -> bool:
        """Whether an answer of so many values needs no choice."""
        return not self._sets and size <= self._of_set and len(states) + size <= self._in_all

    def _note_blocks(self, viewer: Key, parts: Iterable[Singles]) -> None:
        """Notes up to which block all blocks without instances are read."""
        last = max((int(part.block[-1]) + 1 for part in parts if len(part)), default=0)
        if last > self._blocks.get(viewer, 0):
            self._blocks[viewer] = last

    def _set_of_blocks(
        self, viewer: Key, call: Call, blocks: Sequence[int], catalog: Catalog, states: Mapping[Key, Any]
    ) -> tuple[str | None, Callable[[], set[Hashable]]]:
        """Returns the name of the counterset that these blocks have instances of, and a function that finds the names that were read
        so far. Without `blocks`, it is for those without instances, and finds their positions."""
        if not blocks:
            return None, lambda: set(range(self._blocks.get(viewer, 0)))
        query = call.query
        known = query.blocks if query is not None else {}
        groups: set[Key] = {known[block].key if block in known else ("block", block) for block in blocks}
        guid = counterset_of(query, blocks[0])
        label = counterset_names(catalog, guid)[0] if guid is not None else f"block {blocks[0]}"
        return label, _names_before(viewer, states, groups, lambda name: name[0])

    def _masks(
        self,
        key: Key,
        server: Endpoint,
        label: str | None,
        rows: Sequence[_Rows],
        states: int,
        known: Callable[[], set[Hashable]],
        cuts: list[CutAnswer],
    ) -> list[Bools | None]:
        """Returns which rows of an answer are read, None for all. `known` are the names that were read so far. Adds what is lost to
        `cuts`."""
        size = sum(len(names) * columns for names, columns in rows)
        cut = self._sets.get(key)
        if cut is None:
            if size <= self._of_set and states + size <= self._in_all:
                return [None] * len(rows)
            taken = self._taken(rows, states, known())
            if taken is None:
                return [None] * len(rows)
            cut = self._sets[key] = _CutSet(server.ip, label, taken)
        taken = cut.taken
        masks = [np.fromiter((name in taken for name in names), np.bool_, len(names)) for names, _ in rows]
        kept = sum(int(mask.sum()) * columns for mask, (_, columns) in zip(masks, rows, strict=True))
        if cut.is_ended or kept > _TIMES * self._of_set:
            cut.is_ended, kept = True, 0
            masks = [np.zeros(len(mask), np.bool_) for mask in masks]
        instances, read = max(len(mask) for mask in masks), max(int(mask.sum()) for mask in masks)
        cuts.append(CutAnswer(cut, size - kept, instances, read))
        return list(masks)

    def _taken(self, rows: Sequence[_Rows], states: int, taken: set[Hashable]) -> set[Hashable] | None:
        """Returns the names of a set that are read: those that were read so far (`taken`), and new ones as far as they fit. Returns
        None if all fit."""
        counts: Counter[Hashable] = Counter()
        for names, columns in rows:
            for name, count in Counter(names).items():
                counts[name] += count * columns
        used = sum(counts[name] for name in taken if name in counts)
        is_whole = True
        for name, count in counts.items():
            if name in taken:
                continue
            if used + count > self._of_set or states + count > self._in_all:
                is_whole = False
                continue
            taken.add(name)
            used += count
            states += count
        return None if is_whole else taken


# Stands for all blocks without instances: they have one value each as a rule.
_BLOCKS: Key = ("blocks",)


def _set_of(query: QueryView | None, block: int) -> Key:
    """Returns what stands for the counterset of a block in the limit of series."""
    guid = counterset_of(query, block)
    return ("set", guid) if guid is not None else ("block", block)


def _names_before(
    viewer: Key, states: Mapping[Key, Any], groups: set[Key], name_of: Callable[[Key], Hashable]
) -> Callable[[], set[Hashable]]:
    """Returns a function that finds the names of instances that were read so far in some groups of series."""
    return lambda: {name_of(key[2]) for key in states if key[0] == viewer and key[1] in groups}


class _InstanceNames(Sequence[Hashable]):
    """What stands for the names of winperf instances in the limit of series. Most answers need none."""

    def __init__(self, instances: Sequence[WinPerfInstance]) -> None:
        self._instances = instances

    def __len__(self) -> int:
        return len(self._instances)

    def __getitem__(self, at: Any) -> Any:
        one = self._instances[at]
        return folded(one.name) if one.name else ("", one.unique_id)


def _winperf_name(name: Key) -> Hashable:
    """Returns what stands for the name of a winperf series' instance in the limit of series."""
    _, _, _, text, *unnamed = name
    return text or ("", *unnamed)
