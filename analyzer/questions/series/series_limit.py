"""Limits how many series are made of a capture. It chooses instances before anything is made of them: there may be very many.

What is chosen are names of instances: those that were read first. All instances of a chosen name are read in every answer, and none
of any other name. So a series has all of its readings or none, and nothing is said of it that the answers do not say. A counterset
that is too large takes no further names from then on.

The page of `report` has such a limit. `samples` and `counters` have none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from itertools import compress, islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from analyzer.interfaces.buffers.perf_data_layout import Grid, PerfDataLayout, Singles
from analyzer.interfaces.buffers.value_rows import PerfRow
from analyzer.interfaces.buffers.winperf_layout import WinPerfObject
from analyzer.interfaces.pcq.perflib_samples import counterset_of
from analyzer.questions.series.series_and_points import Key
from analyzer.questions.series.series_keys import counterset_names, folded, index_names
from analyzer.results.calls.call import Call
from analyzer.results.calls.query_state import QueryView
from analyzer.results.reported_names.counter_name_tables import NameTable
from analyzer.results.reported_names.counterset_catalog import Catalog

if TYPE_CHECKING:
    import numpy.typing as npt

# Which of some instances or values are read, None for all.
Mask: TypeAlias = "npt.NDArray[np.bool_] | None"
# Instances by what stands for their names, and how many values each has.
_Rows = tuple[Sequence[Hashable], int]

# At most so many series of one counterset as one client polls it, and of the whole capture.
MOST_OF_A_SET, MOST_IN_ALL = 1 << 13, 50_000
# A chosen name may be that of more and more instances. A set with so many times its limit is read no further.
_TIMES = 4


class SeriesLeftOut(Struct, frozen=True):
    """What a limit left out of a machine's counterset: so many `readings`. An answer had `instances` at most, and `kept` were read.
    Without a `group`, they are blocks without instances."""

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
    """What the answers of one layout lose of one counterset: so many `readings`. They have `instances`, and `kept` are read."""

    of: _CutSet
    readings: int
    instances: int
    kept: int

    def count_answer(self) -> None:
        """Counts one more answer of this layout of which a limit cuts instances."""
        cut = self.of
        cut.readings += self.readings
        cut.kept, cut.instances = max(cut.kept, self.kept), max(cut.instances, self.instances)


class ChosenInstances(Struct, frozen=True, eq=False):
    """The instances of an answer that are read, for each part of it (a block, an object). `blocks` are the positions of blocks of
    which not all are read."""

    parts: Sequence[Mask]
    cuts: Sequence[CutAnswer] = ()
    blocks: frozenset[int] = frozenset()


class SeriesLimit:
    """Limits the series of a capture. `states` are those that were met so far, by their keys (`value_plans.Registry`)."""

    def __init__(self, of_set: int = MOST_OF_A_SET, in_all: int = MOST_IN_ALL) -> None:
        self.of_set, self.in_all = of_set, in_all
        # Countersets of which not all instances are read, by their viewers.
        self.sets: dict[Key, _CutSet] = {}
        # How many of them are read no further. A choice that was made before an end holds no longer.
        self.ends = 0
        # Those of which nothing is read because there is no room left, whoever polls them.
        self.unread: dict[tuple[str, str | None], _CutSet] = {}
        # How many blocks without instances each viewer's answers had while all were read.
        self._blocks: dict[Key, int] = {}
        # The names of instances of the first so many series, by viewer and group.
        self._names: dict[Key, dict[Key, set[Key]]] = {}
        self._num_named = 0

    def left_out(self) -> list[SeriesLeftOut]:
        """Returns what was left out of each machine's countersets, the most first."""
        found: dict[tuple[str, str | None], SeriesLeftOut] = {}
        for one in (*self.sets.values(), *self.unread.values()):
            if one.readings:
                known = found.get((one.server, one.group), SeriesLeftOut(one.server, one.group, 0, 0, 0))
                kept, instances = max(known.kept, one.kept), max(known.instances, one.instances)
                readings = known.readings + one.readings
                found[one.server, one.group] = SeriesLeftOut(one.server, one.group, kept, instances, readings)
        return sorted(found.values(), key=lambda one: -one.readings)

    def of_perf_data(
        self, viewer: Key, call: Call, layout: PerfDataLayout, catalog: Catalog, states: Mapping[Key, Any]
    ) -> ChosenInstances:
        """Limits a PerflibV2 answer of this layout: chooses its instances, and its blocks without instances."""
        choice = _Choice(self, viewer, call.server.ip, states, len(layout.data_sizes))
        found: list[Mask] = [None] * len(layout.parts)
        if choice.is_everything:
            self._note_blocks(viewer, _end_of_blocks(layout.parts))
            return ChosenInstances(found)
        sets: dict[Key, list[int]] = {}
        for number, part in enumerate(layout.parts):
            key = _set_of(call.query, part.block) if isinstance(part, Grid) else _BLOCKS
            sets.setdefault(key, []).append(number)
        cut: set[int] = set()
        for key, numbers in sets.items():
            parts = [layout.parts[number] for number in numbers]
            blocks = [part.block for part in parts if isinstance(part, Grid)]
            rows: list[_Rows] = [
                (list(map(folded, part.names)), len(part.data_sizes))
                if isinstance(part, Grid)
                else (part.block.tolist(), 1)
                for part in parts
            ]
            label, known = self._set_of_blocks(choice, call, blocks, catalog)
            masks = choice.masks(key, label, rows, known)
            if all(mask is None for mask in masks):
                self._note_blocks(viewer, _end_of_blocks(parts))
            for number, part, mask in zip(numbers, parts, masks, strict=True):
                found[number] = mask
                if mask is not None:
                    cut.update([part.block] if isinstance(part, Grid) else part.block[~mask].tolist())
        return ChosenInstances(found, choice.cuts, frozenset(cut))

    def of_perf_rows(
        self, viewer: Key, call: Call, rows: Sequence[PerfRow], catalog: Catalog, states: Mapping[Key, Any]
    ) -> ChosenInstances:
        """Limits an irregular PerflibV2 answer: chooses its values. Its only part are its rows."""
        choice = _Choice(self, viewer, call.server.ip, states, len(rows))
        sets: dict[Key, list[int]] = {}
        for number, row in enumerate(rows):
            key = _BLOCKS if row.instance is None else _set_of(call.query, row.block)
            sets.setdefault(key, []).append(number)
        cut, is_read = set[int](), np.ones(len(rows), np.bool_)
        for key, numbers in sets.items():
            is_of_blocks = key == _BLOCKS
            names = [rows[one].block if is_of_blocks else folded(rows[one].instance) for one in numbers]
            blocks = list(dict.fromkeys(rows[one].block for one in numbers))
            label, known = self._set_of_blocks(choice, call, [] if is_of_blocks else blocks, catalog)
            (mask,) = choice.masks(key, label, [(names, 1)], known)
            if mask is not None:
                is_read[numbers] = mask
                cut.update(blocks)
                kept = len(set(compress(names, mask.tolist())))
                choice.cuts[-1] = replace(choice.cuts[-1], instances=len(set(names)), kept=kept)
            elif is_of_blocks:
                self._note_blocks(viewer, blocks[-1] + 1)
        return ChosenInstances([is_read if cut else None], choice.cuts, frozenset(cut))

    def of_winperf(
        self, viewer: Key, call: Call, objects: Sequence[WinPerfObject], table: NameTable, states: Mapping[Key, Any]
    ) -> ChosenInstances:
        """Limits a winperf answer: chooses the instances of its objects."""
        sizes = [sum(definition.size != 0 for definition in item.definitions) for item in objects]
        total = sum(size * len(item.instances) for size, item in zip(sizes, objects, strict=True))
        choice = _Choice(self, viewer, call.server.ip, states, total)
        if choice.is_everything:
            return ChosenInstances([None] * len(objects))
        found: list[Mask] = []
        for size, item in zip(sizes, objects, strict=True):
            group = ("object", item.name_index)
            label = index_names(table, "object", item.name_index)[0]
            names = [folded(one.name) if one.name else ("", one.unique_id) for one in item.instances]
            found += choice.masks(group, label, [(names, size)], partial(choice.names_read, {group}, _winperf_name))
        return ChosenInstances(found, choice.cuts)

    def names_of(self, viewer: Key, states: Mapping[Key, Any]) -> Mapping[Key, set[Key]]:
        """Returns the names of instances that the series of a viewer have so far and that count for the limit, by group."""
        for key in islice(states, self._num_named, None) if len(states) > self._num_named else ():
            self._names.setdefault(key[0], {}).setdefault(key[1], set()).add(key[2])
        self._num_named = len(states)
        return self._names.get(viewer, {})

    def _note_blocks(self, viewer: Key, end: int) -> None:
        """Notes for the limit of series that a viewer's blocks without instances are read up to this one."""
        if end > self._blocks.get(viewer, 0):
            self._blocks[viewer] = end

    def _set_of_blocks(
        self, choice: _Choice, call: Call, blocks: Sequence[int], catalog: Catalog
    ) -> tuple[str | None, Callable[[], set[Hashable]]]:
        """Returns the name of the counterset whose instances in these blocks are limited, and a function that finds the names that
        were read so far. Without `blocks`, it is for those without instances, and finds their positions."""
        if not blocks:
            return None, lambda: set(range(self._blocks.get(choice.viewer, 0)))
        known = call.query.blocks if call.query is not None else {}
        groups: set[Key] = {known[block].key if block in known else ("block", block) for block in blocks}
        guid = counterset_of(call.query, blocks[0])
        label = counterset_names(catalog, guid)[0] if guid is not None else f"block {blocks[0]}"
        return label, partial(choice.names_read, groups, lambda name: name[0])


class _Choice:
    """The choice of instances of one answer with `size` values, counterset by counterset. `cuts` are what it leaves out."""

    def __init__(self, limit: SeriesLimit, viewer: Key, server: str, states: Mapping[Key, Any], size: int) -> None:
        self.viewer = viewer
        self.cuts: list[CutAnswer] = []
        self._limit, self._server, self._states = limit, server, states
        # How many series there may still be, and whether all values of the answer may be new ones.
        self._room = limit.in_all - len(states)
        self._has_room = size <= self._room
        self.is_everything = self._has_room and size <= limit.of_set and not limit.sets

    def names_read(self, groups: Iterable[Key], name_of: Callable[[Key], Hashable]) -> set[Hashable]:
        """Returns what stands for the names of instances in some groups of series that were read so far, and count for the
        limit."""
        names = self._limit.names_of(self.viewer, self._states)
        return {name_of(name) for group in groups for name in names.get(group, ())}

    def masks(
        self, key: Key, label: str | None, rows: Sequence[_Rows], known: Callable[[], set[Hashable]]
    ) -> list[Mask]:
        """Returns which rows of a counterset are read. `known` finds the names that were read so far."""
        of_set = self._limit.of_set
        size = sum(len(names) * columns for names, columns in rows)
        cut = self._limit.sets.get((self.viewer, *key))
        if cut is None:
            if size <= of_set and self._has_room:
                return [None] * len(rows)
            taken = known()
            if self._takes_all(rows, taken) and size <= _TIMES * of_set:
                return [None] * len(rows)
            cut = _CutSet(self._server, label, taken)
            if taken or self._room > 0:
                self._limit.sets[self.viewer, *key] = cut
            else:
                # There will never be room again.
                cut = self._limit.unread.setdefault((self._server, label), cut)
        taken = cut.taken
        masks = [np.fromiter((name in taken for name in names), np.bool_, len(names)) for names, _ in rows]
        kept = sum(int(mask.sum()) * columns for mask, (_, columns) in zip(masks, rows, strict=True))
        if not cut.is_ended and kept > _TIMES * of_set:
            cut.is_ended = True
            self._limit.ends += 1
        if cut.is_ended:
            kept = 0
            masks = [np.zeros(len(mask), np.bool_) for mask in masks]
        instances, read = max(len(mask) for mask in masks), max(int(mask.sum()) for mask in masks)
        self.cuts.append(CutAnswer(cut, size - kept, instances, read))
        return list(masks)

    def _takes_all(self, rows: Sequence[_Rows], taken: set[Hashable]) -> bool:
        """Adds the new names of a counterset that fit in the limit to those that were read so far (`taken`). Returns whether all
        fit."""
        counts: Counter[Hashable] = Counter()
        for names, columns in rows:
            for name, count in Counter(names).items():
                counts[name] += count * columns
        used = sum(counts[name] for name in taken if name in counts)
        is_whole = True
        for name, count in counts.items():
            if name in taken:
                continue
            if used + count > self._limit.of_set or count > self._room:
                is_whole = False
                continue
            taken.add(name)
            used += count
            self._room -= count
        return is_whole


# Stands for all blocks without instances: they have one value each as a rule.
_BLOCKS: Key = ("blocks",)


def _set_of(query: QueryView | None, block: int) -> Key:
    """Returns what stands for the counterset of a block in the limit of series."""
    guid = counterset_of(query, block)
    return ("set", guid) if guid is not None else ("block", block)


def _end_of_blocks(parts: Iterable[Grid | Singles]) -> int:
    """Returns the position behind the last block without instances, for the limit of series."""
    return max((int(part.block[-1]) + 1 for part in parts if not isinstance(part, Grid) and len(part)), default=0)


def _winperf_name(name: Key) -> Hashable:
    """Returns what stands for the name of a winperf series' instance in the limit of series."""
    _, _, _, text, *unnamed = name
    return text or ("", *unnamed)
