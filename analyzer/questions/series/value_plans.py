"""Value plans: the series and place of each value in an answer, found once for all answers of one layout.

The series of a value, the places of its base, clock and multiplier in the answer, and the names of its instance do not depend on
the value. So they are found from the samples of one answer, and hold for each answer of the same layout to the same query. An
irregular answer (damage, text) has a plan of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, compress
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from analyzer.core.caches import cached_property
from analyzer.core.error_code_names import win32_name
from analyzer.interfaces.buffers.perf_data_layout import PerfDataLayout
from analyzer.interfaces.buffers.value_rows import WinPerf
from analyzer.interfaces.buffers.winperf_layout import WinperfLayout, WinPerfObject
from analyzer.interfaces.call_contents.bound_answers import block_of, numbered
from analyzer.interfaces.pcq.perflib_samples import PerflibSample
from analyzer.interfaces.winperf.winperf_samples import WinperfSample
from analyzer.interfaces.winperf.winperf_samples import samples_of as winperf_samples_of
from analyzer.questions.series.columns_of_readings import (
    BASE,
    FREQ,
    MULTI,
    NUMBER,
    OBJECT_FREQ,
    OBJECT_TICKS,
    SIGNED,
    TICKS,
    TIME,
)
from analyzer.questions.series.counter_paths import COMPANION_FIELDS, CounterChoice
from analyzer.questions.series.formulas import (
    AGGREGATES,
    Formatted,
    Reading,
    format_raw,
    formula_of,
    has_own_clock,
)
from analyzer.questions.series.series_and_points import Key, Sample, Select, Series
from analyzer.questions.series.series_keys import (
    AGGREGATE_HISTORY,
    MULTI_AGGREGATE,
    Identity,
    SeriesPlace,
    WinperfRow,
    folded,
    perflib_instance,
    perflib_places,
    perflib_series,
    pool_key,
    winperf_series,
)
from analyzer.questions.series.series_limit import ChosenInstances, CutAnswer
from analyzer.results.calls.call import Call
from analyzer.results.calls.query_state import Identifier, QueryView
from analyzer.results.methods.perflib import NONE_ID
from analyzer.results.records.sample import Why
from analyzer.results.reported_names.counter_name_tables import NameTable
from analyzer.results.reported_names.counterset_catalog import Catalog

if TYPE_CHECKING:
    import numpy.typing as npt

Ints: TypeAlias = "npt.NDArray[np.int64]"
Bools: TypeAlias = "npt.NDArray[np.bool_]"

NONE = -1
BITS = {"base": BASE, "object_ticks": OBJECT_TICKS, "object_freq": OBJECT_FREQ, "multi": MULTI}


class Instances:
    """The instances of which the answers of one layout have counter values. `groups` are those that they answer, even without
    instances."""

    def __init__(self, places: Iterable[SeriesPlace | None], answered: Iterable[Key] = ()) -> None:
        self._places = [place for place in places if place is not None]
        self.groups = list(dict.fromkeys(chain(answered, (place.group for place in self._places))))

    @cached_property
    def _identities(self) -> dict[tuple[Key, Key], set[Identity]]:
        found: dict[tuple[Key, Key], set[Identity]] = {}
        for place in self._places:
            found.setdefault((place.group, place.name), set()).add(place.identity)
        return found

    def identities_of(self, place: SeriesPlace) -> Set[Identity]:
        """Returns the identities of the instances in a value plan that share group and name with a place."""
        return self._identities.get((place.group, place.name), frozenset())


class Pool(Struct, frozen=True):
    """The readings of an answer that make one aggregate: their rows in the value plan, and the row of the aggregate."""

    key: Key
    row: int
    members: tuple[int, ...]
    function: int
    keeps_history: bool


class ValuePlan(Struct, eq=False, kw_only=True):
    """A value plan: the series and place of the counter values in an answer; a row for each value, then one for each aggregate.

    `at` is the place of a row's value in the answer (-1: an aggregate). `companions` are the places of the values it is computed
    with; `several` lists those with several candidates, which must agree. `ids` number the series from 0. `fixed` has formatted
    values that do not depend on the reading. `instances` are those of the answer, `answered` the viewer's numbers of the groups
    that it answers. `cuts` are what a limit of series left out of the answer.
    """

    layout: PerfDataLayout | WinperfLayout | None
    query: QueryView | None
    series: list[Series]
    samples: list[Sample | None]
    places: list[SeriesPlace]
    infos: list[Mapping[str, Any] | None]
    at: Ints
    ids: Ints
    types: Ints
    sizes: Ints
    is_error: Bools
    is_delta: Bools
    formatted_types: frozenset[int]
    has: npt.NDArray[np.uint16]
    base_sizes: Ints
    companions: dict[str, Ints]
    several: list[tuple[str, int, Sequence[int], bool]]
    objects: Ints | None
    groups: Ints
    instances: Instances
    answered: Ints
    whats: Ints | None
    fixed: dict[int, Formatted]
    pools: list[Pool]
    wanted: Bools
    cuts: Sequence[CutAnswer] = ()
    made: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.at)

    def explained(self, formatted: Formatted, row: int, missing: Callable[[str], bool]) -> Formatted:
        """Returns a formatted value with a better reason, from this plan: what the capture says of its type, or of a `missing`
        base, clock or multiplier."""
        sample, info, query = self.samples[row], self.infos[row], self.query
        if not isinstance(sample, PerflibSample):
            return formatted
        if formatted.why is Why.TYPE_UNKNOWN and sample.counterset is None and query is not None and query.unknown:
            return replace(formatted, reason=f"{formatted.reason}: {query.unknown}")
        if formatted.why not in _COMPANIONS or info is None or sample.counter_type is None:
            return formatted
        if formatted.why is Why.NO_CLOCK and not has_own_clock(sample.counter_type):
            return formatted
        for name, spelling in _COMPANIONS[formatted.why]:
            counter_id = info[COMPANION_FIELDS[name]]
            if counter_id == NONE_ID:
                return replace(formatted, reason=f"its {spelling} names no counter")
            if missing(name):
                held = query.held if query is not None else None
                added = held is None or any(_covers(one, sample, counter_id) for one in held)
                absent = "was not looked for among the values left out here" if self.cuts else "is not in the answer"
                where = absent if added else "was not added to the query"
                return replace(formatted, reason=f"counter {counter_id}, its {spelling}, {where}; inconclusive")
        return formatted


# The companions that a reason is about, with the fields that name them.
_COMPANIONS: dict[Why | None, tuple[tuple[str, str], ...]] = {
    Why.NO_BASE: (("base", "BaseCounterId"),),
    Why.NO_MULTIPLIER: (("multi", "MultiId"),),
    Why.NO_CLOCK: (("object_ticks", "PerfTimeId"), ("object_freq", "PerfFreqId")),
}


def _covers(held: Identifier, sample: PerflibSample, counter_id: int) -> bool:
    """Whether an identifier that a query handle holds may give a value plan another counter of a sample's instance."""
    if held.counterset != sample.counterset or held.counter_id not in (counter_id, NONE_ID):
        return False
    return not held.names_one_instance or folded(held.instance) == folded(sample.instance)


class State(Struct, frozen=True):
    """A counter series as value plans refer to it, numbered from 0, and the facts that all its readings share."""

    id: int
    series: Series
    wanted: bool
    info: Mapping[str, Any] | None = None
    pool: Key | None = None


class Registry:
    """All counter series that the value plans of a capture refer to, in the order of their first readings."""

    def __init__(self, select: Select | None) -> None:
        self._select = select
        self.choice = CounterChoice(select)
        self.states: dict[Key, State] = {}
        self._whats: dict[Key, int] = {}
        self._names: dict[Any, Any] = {}

    def named(self, series: Series) -> Series:
        """Returns a series for the value plans that shares equal names with other series, to save memory."""
        objects, counters, added = (
            self._names.setdefault(one, one) for one in (series.objects, series.counters, series.added)
        )
        return replace(series, objects=objects, counters=counters, added=added)

    def state(
        self,
        key: Key,
        series: Series,
        instance: str | None,
        info: Mapping[str, Any] | None = None,
        pool: Key | None = None,
    ) -> State:
        """Adds a new counter series of an instance, to which value plans refer; returns its state."""
        number = len(self.states)
        series = replace(series, number=number + 1, instance=instance)
        wanted = self._select is None or self._select(series)
        state = self.states[key] = State(number, series, wanted, info, pool)
        return state

    def what(self, call: Call, sample: PerflibSample) -> int:
        """Returns the number that value plans have for the counter and instance of a reading, independent of its handle; -1 if
        unknown."""
        if sample.counterset is None or sample.counter_id is None:
            return NONE
        shown = (sample.counterset, sample.counter_id, folded(sample.instance), sample.instance_id)
        return self._whats.setdefault((call.server.ip, call.client.ip, *shown), len(self._whats))


class PlanRows(Struct):
    """A value plan in the making."""

    states: list[State] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    places: list[SeriesPlace] = field(default_factory=list)
    at: list[int] = field(default_factory=list)
    whats: list[int] = field(default_factory=list)
    companions: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in BITS})
    base_sizes: list[int] = field(default_factory=list)
    several: list[tuple[str, int, Sequence[int], bool]] = field(default_factory=list)
    objects: list[int] = field(default_factory=list)

    def add(self, at: int, state: State, sample: Sample, place: SeriesPlace) -> None:
        self.at.append(at)
        self.states.append(state)
        self.samples.append(sample)
        self.places.append(place)


# PerflibV2


def perflib_plan(
    registry: Registry,
    viewer: Key,
    call: Call,
    handle: str,
    samples: Mapping[int, PerflibSample],
    catalog: Catalog,
) -> tuple[PlanRows, list[SeriesPlace]]:
    """Returns the rows of a PerflibV2 answer's value plan, and the series place of each sample. `samples` has them by their
    places."""
    blocks: Mapping[int, Identifier] = call.query.blocks if call.query is not None else {}
    rows = PlanRows()
    values: dict[Key, list[int]] = {}
    for at, sample in samples.items():
        if sample.counterset is not None and sample.counter_id is not None and isinstance(sample.raw, int):
            values.setdefault((sample.counterset, sample.counter_id, folded(sample.instance)), []).append(at)
    places = list(perflib_places(samples.values(), blocks, catalog))
    columns: dict[tuple[int, int | None], _PerflibColumn | None] = {}
    for (at, sample), place in zip(samples.items(), places, strict=True):
        of_column = sample.block, sample.counter_id
        if of_column not in columns:
            columns[of_column] = _column_of(registry, call, handle, sample, blocks, catalog)
        column = columns[of_column]
        if column is None:
            continue
        key = (viewer, place.group, place.name, place.identity, sample.counter_id)
        state = registry.states.get(key)
        if state is None:
            instance = perflib_instance(sample, place, is_one=column.is_one)
            state = registry.state(key, column.series, instance, column.info, column.pool)
        if not state.wanted and state.pool is None:
            continue
        rows.add(at, state, sample, place)
        rows.whats.append(registry.what(call, sample))
        _add_companions(rows, sample, state.info, values, samples, is_one=column.is_one)
    return rows, places


class _PerflibColumn(Struct, frozen=True):
    """The facts that all instances of a counter in a block share. They are its series without instance, its registration
    information, its aggregate, and whether its counterset has only one instance."""

    series: Series
    info: Mapping[str, Any] | None
    pool: Key | None
    is_one: bool


def _column_of(
    registry: Registry,
    call: Call,
    handle: str,
    sample: PerflibSample,
    blocks: Mapping[int, Identifier],
    catalog: Catalog,
) -> _PerflibColumn | None:
    """Returns the column of a value plan that a sample belongs to; None if the counter is not selected."""
    if not registry.choice.takes(call.server, sample.counterset, sample.counter_id, catalog):
        return None
    entry = catalog.counter(sample.counterset, sample.counter_id)
    series = registry.named(perflib_series(call, handle, sample, catalog))
    info = entry.info if entry is not None else None
    return _PerflibColumn(series, info, pool_key(sample, blocks, catalog), catalog.is_single(sample.counterset))


def _add_companions(
    rows: PlanRows,
    sample: PerflibSample,
    info: Mapping[str, Any] | None,
    values: Mapping[Key, list[int]],
    samples: Mapping[int, PerflibSample],
    *,
    is_one: bool,
) -> None:
    """Adds to a value plan the companions of a sample: the places of the values that the registration information names, for the
    same instance."""
    for name, field_name in COMPANION_FIELDS.items():
        counter_id = info[field_name] if info is not None else NONE_ID
        found: Sequence[int] = ()
        if counter_id != NONE_ID and sample.counterset is not None:
            found = values.get((sample.counterset, counter_id, folded(sample.instance)), ())
        if found and not is_one:
            ids = sample.instance_id
            found = [at for at in found if ids is None or samples[at].instance_id in (ids, None)]
        # The block a value stands in is collected at once; another block of the answer may hold the same counter again.
        if len(found) > 1:
            found = [at for at in found if samples[at].block == sample.block] or found
        place = found[0] if found else NONE
        if len(found) > 1:
            same_size = len({samples[at].data_size for at in found}) == 1
            rows.several.append((name, len(rows.at) - 1, found, same_size))
        rows.companions[name].append(place)
        if name == "base":
            size = samples[place].data_size if found else None
            rows.base_sizes.append(NONE if size is None else size)


# winperf


Columns = Callable[[WinPerfObject], Sequence[bool]]


def winperf_layout_rows(
    layout: WinperfLayout, table: NameTable, columns: Columns, chosen: ChosenInstances | None = None
) -> list[WinperfRow]:
    """Returns the rows of a value plan for a winperf layout: the counter values of each instance that are read. The number of a
    counter stands in for its value. `chosen` says which instances are read, None for all."""
    objects = tuple(numbered(item) if any(columns(item)) else item for item in layout.objects)
    begin = 0
    rows: list[WinperfRow] = []
    block = block_of(objects)
    for place, item in enumerate(objects):
        rows += _rows_of_object(block, place, item, begin, table, columns(item), _of_part(chosen, place))
        begin += len(item.instances) * sum(definition.size != 0 for definition in item.definitions)
    return rows


def winperf_rows_of(
    block: WinPerf, table: NameTable, columns: Columns, chosen: ChosenInstances | None = None
) -> list[WinperfRow]:
    """Returns the rows of a value plan for a winperf block: the counter values of each instance that are read. `chosen` as for
    `winperf_layout_rows`."""
    begin = 0
    rows: list[WinperfRow] = []
    for place, item in enumerate(block.objects):
        rows += _rows_of_object(block, place, item, begin, table, columns(item), _of_part(chosen, place))
        begin += sum(_count_values(item, len(instance.values)) for instance in item.instances)
    return rows


def _of_part(chosen: ChosenInstances | None, place: int) -> Bools | None:
    return chosen.parts[place] if chosen is not None else None


def _count_values(item: WinPerfObject, values: int) -> int:
    """Returns how many of the first `values` counters of a winperf object have a value for the plan; counters without a size have
    none."""
    return sum(definition.size != 0 for definition in item.definitions[:values])


def _rows_of_object(
    block: WinPerf,
    place: int,
    item: WinPerfObject,
    begin: int,
    table: NameTable,
    held: Sequence[bool],
    chosen: Bools | None,
) -> Iterator[WinperfRow]:
    """Yields the rows for the value plan of a winperf object: the counter values of each `chosen` instance (None: of all) that are
    `held`. The values of the object begin at the place `begin`."""
    counters = [number for number, is_held in enumerate(held) if is_held]
    if not counters:
        return
    are_chosen = [True] * len(item.instances) if chosen is None else chosen.tolist()
    part = item if chosen is None else replace(item, instances=tuple(compress(item.instances, are_chosen)))
    if len(counters) < len(held):
        part = replace(
            part,
            definitions=tuple([item.definitions[number] for number in counters]),
            instances=tuple(
                [
                    replace(one, values=tuple([one.values[number] for number in counters if number < len(one.values)]))
                    for one in part.instances
                ]
            ),
        )
    samples = winperf_samples_of(block, table, {place: part})
    sized = np.cumsum([0, *(definition.size != 0 for definition in item.definitions)]).tolist()
    scales = [definition.default_scale for definition in item.definitions]
    for instance, is_chosen in zip(item.instances, are_chosen, strict=True):
        count = min(len(instance.values), len(item.definitions))
        present = [number for number in counters if number < count and item.definitions[number].size != 0]
        if present and is_chosen:
            nths = [sized[number] for number in present]
            yield WinperfRow(
                place,
                begin,
                dict(zip(nths, samples, strict=False)),
                dict(zip(nths, [scales[number] for number in present], strict=True)),
            )
        begin += sized[count]


def winperf_plan(
    registry: Registry,
    viewer: Key,
    call: Call,
    handle: str,
    instances: Sequence[WinperfRow],
    places: Sequence[SeriesPlace],
    table: NameTable,
) -> PlanRows:
    """The rows of a value plan for the instances of a PERF_DATA_BLOCK."""
    rows = PlanRows()
    for row, place in zip(instances, places, strict=True):
        seen: dict[int, int] = {}
        for nth, sample in row.samples.items():
            if not registry.choice.takes_index(call.server, sample.object_index, sample.counter_index, table):
                continue
            number = seen.get(sample.counter_index, 0)
            seen[sample.counter_index] = number + 1
            key = (viewer, place.group, place.name, place.identity, sample.counter_index, number)
            state = registry.states.get(key)
            if state is None:
                series = registry.named(winperf_series(call, handle, sample, place, row.scales[nth], table))
                state = registry.state(key, series, series.instance)
            if not state.wanted:
                continue
            rows.add(row.begin + nth, state, sample, place)
            rows.objects.append(row.item)
            _add_base(rows, sample, row, nth)
    return rows


def _add_base(rows: PlanRows, sample: WinperfSample, row: WinperfRow, nth: int) -> None:
    """Adds the base that follows a winperf counter to a value plan. The base of a multi timer is its multiplier, that of a
    precision object timer its clock (winperf.h)."""
    follower = row.samples.get(nth + 1)
    is_there = isinstance(sample.base_raw, int) and follower is not None and follower.raw == sample.base_raw
    base = row.begin + nth + 1 if is_there else NONE
    formula = formula_of(sample.counter_type)
    is_multi = formula is not None and formula.multi
    has_own_clock = formula is not None and formula.base and formula.clock == "O" and base != NONE
    rows.companions["base"].append(NONE if is_multi else base)
    rows.companions["multi"].append(base if is_multi else NONE)
    rows.companions["object_ticks"].append(NONE if has_own_clock else 0)
    rows.companions["object_freq"].append(0)
    size = follower.data_size if follower is not None and base != NONE and not is_multi else NONE
    rows.base_sizes.append(size)


# both


def plan_of(
    rows: PlanRows,
    registry: Registry,
    catalog: Catalog | None,
    viewer: Key,
    *,
    layout: PerfDataLayout | WinperfLayout | None,
    query: QueryView | None,
    instances: Instances,
    numbered: Callable[[Key], int],
    chosen: ChosenInstances | None = None,
) -> ValuePlan:
    """The value plan of rows as arrays, with the aggregates that they go into. `chosen` says which instances the rows are of, None
    if of all."""
    pools = _pools(rows, registry, catalog, viewer, chosen.blocks if chosen is not None else frozenset())
    states = [*rows.states, *(registry.states[(*pool.key, "aggregate")] for pool in pools)]
    more = len(pools)
    sizes = [NONE if sample.data_size is None else sample.data_size for sample in rows.samples]
    is_error = [
        isinstance(sample, PerflibSample) and sample.raw is None and sample.data_size is None for sample in rows.samples
    ]
    is_winperf = bool(rows.objects)

    def filled(values: Sequence[int]) -> Ints:
        return np.array([*values, *[NONE] * more], np.int64)

    types = filled([NONE if state.series.counter_type is None else state.series.counter_type for state in rows.states])
    formulas = {kind: formula_of(kind) for kind in set(types.tolist()) if kind >= 0}
    changing = {kind for kind, formula in formulas.items() if formula is not None and formula.delta}
    plan = ValuePlan(
        layout=layout,
        query=query,
        series=[state.series for state in states],
        samples=[*rows.samples, *[None] * more],
        places=rows.places,
        infos=[state.info for state in rows.states],
        at=filled(rows.at),
        ids=np.array([state.id for state in states], np.int64),
        types=types,
        sizes=filled(sizes),
        is_error=np.array([*is_error, *[False] * more], np.bool_),
        is_delta=np.array([kind in changing for kind in types.tolist()], np.bool_),
        formatted_types=frozenset(kind for kind, formula in formulas.items() if formula is not None),
        has=_has(rows, more),
        base_sizes=filled(rows.base_sizes),
        companions={name: filled(places) for name, places in rows.companions.items()},
        several=rows.several,
        objects=filled(rows.objects) if is_winperf else None,
        groups=filled([numbered(place.group) for place in rows.places]),
        instances=instances,
        answered=np.array([numbered(key) for key in instances.groups], np.int64),
        whats=filled(rows.whats) if rows.whats else None,
        fixed={},
        pools=pools,
        wanted=np.array([state.wanted for state in states], np.bool_),
        cuts=chosen.cuts if chosen is not None else (),
    )
    _fix_values(plan)
    return plan


def _has(rows: PlanRows, more: int) -> npt.NDArray[np.uint16]:
    """Returns which values the readings of a value plan's rows have (`columns_of_readings.Readings.has`); aggregates (`more`) have
    none."""
    has = np.full(len(rows.at), NUMBER | TICKS | FREQ | TIME | (SIGNED if rows.objects else np.uint16(0)))
    for name, bit in BITS.items():
        has |= np.where(np.array(rows.companions[name], np.int64) != NONE, bit, np.uint16(0))
    return np.concatenate([has, np.zeros(more, np.uint16)])


def _pools(rows: PlanRows, registry: Registry, catalog: Catalog | None, viewer: Key, cut: Set[int]) -> list[Pool]:
    """Returns the aggregates of a value plan. Blocks that are `cut` have none: not all of their instances are read."""
    members: dict[Key, list[int]] = {}
    for row, state in enumerate(rows.states):
        if state.pool is None or rows.samples[row].repeated:
            continue
        sample = rows.samples[row]
        if not (isinstance(sample, PerflibSample) and sample.block in cut):
            members.setdefault(state.pool, []).append(row)
    pools: list[Pool] = []
    for what, found in members.items():
        first, sample = rows.states[found[0]], rows.samples[found[0]]
        assert catalog is not None
        assert isinstance(sample, PerflibSample)
        entry = catalog.countersets[sample.counterset or ""]
        assert first.info is not None
        function = first.info["aggregate_func"]
        key = (viewer, *what)
        place = (*key, "aggregate")
        known = registry.states.get(place)
        if known is None:
            whom = "chosen" if entry.instance_type == MULTI_AGGREGATE else "all"
            label = f"{AGGREGATES[function]} of {whom}"
            known = registry.state(place, replace(first.series, aggregate=AGGREGATES[function]), label)
        if known.wanted:
            row = len(rows.at) + len(pools)
            pools.append(Pool(key, row, tuple(found), function, entry.instance_type == AGGREGATE_HISTORY))
    return pools


def _fix_values(plan: ValuePlan) -> None:
    """Formats those values of a value plan that do not depend on the reading: error blocks, and types without a value."""
    known: dict[Key, Formatted] = {}
    for row, sample in enumerate(plan.samples):
        if sample is None:
            continue
        if plan.is_error[row]:
            assert isinstance(sample, PerflibSample)
            if (status := ("status", sample.block_status)) not in known:
                text = win32_name(sample.block_status) or f"error {sample.block_status}"
                known[status] = Formatted(None, Why.ERROR_BLOCK, text)
            plan.fixed[row] = known[status]
            continue
        formula = formula_of(sample.counter_type) if sample.counter_type is not None else None
        if formula is not None and formula.kind not in ("text", "base"):
            continue
        no_set = isinstance(sample, PerflibSample) and sample.counterset is None
        key = (sample.counter_type, sample.data_size, no_set)
        if key not in known:
            formatted = format_raw(sample.counter_type, None, Reading(0, sample.data_size))
            known[key] = plan.explained(formatted, row, lambda _: False)
        plan.fixed[row] = known[key]
