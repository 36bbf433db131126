"""Reads answers into columns: calls in, values, clocks, plan (`value_plans`) and instances of each answer out.

A viewer is a query handle, or an open of the pipe for winperf. For each viewer, this module keeps the instances that its groups had
in the answer before, and how many answers there were. Both make or break a pair of readings (`reading_batches`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from analyzer.interfaces.buffers.perf_data_layout import PerfDataLayout
from analyzer.interfaces.buffers.value_rows import perf_data_rows, winperf_rows
from analyzer.interfaces.buffers.winperf_layout import WinperfLayout, WinPerfObject, WinperfParts, mixed_object
from analyzer.interfaces.call_contents.bound_answers import Binding, Bindings
from analyzer.interfaces.pcq.perflib_samples import PerflibSample
from analyzer.interfaces.pcq.perflib_samples import samples_of as perflib_samples_of
from analyzer.questions.series.formulas import formula_of
from analyzer.questions.series.series_and_points import Key, Select
from analyzer.questions.series.series_keys import Identity, SeriesPlace, WinperfRow, id_places, winperf_places
from analyzer.questions.series.series_limit import ChosenInstances, SeriesLimit
from analyzer.questions.series.value_plans import (
    Bools,
    Instances,
    Ints,
    Registry,
    ValuePlan,
    perflib_plan,
    plan_of,
    winperf_layout_rows,
    winperf_plan,
    winperf_rows_of,
)
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call
from analyzer.results.records.sample import Why

if TYPE_CHECKING:
    import numpy.typing as npt

# The largest number of 64 bits.
_MOST = (1 << 64) - 1
Words: TypeAlias = "npt.NDArray[np.uint64]"
Clocks = tuple[int | None, int | None, int | None]


class Answer(Struct, eq=False):
    """The counter values of one answer, and what the pairs of its readings depend on.

    `values` has all values of the answer. `numbers` marks those that are numbers (None: all but error blocks), and `texts` has the
    others. `clocks` are ticks, frequency and system time of the answer, `object_clocks` ticks and frequency of each object.
    `answers` counts the answers of each group so far. `lost` counts the answers of the viewer that could not be read in full, up to
    this one (`lost_before`: before it). `firsts` are rows without an earlier reading, with the reason if there is more to say.
    `data` is the buffer, if the plan has no layout and has all values.
    """

    plan: ValuePlan
    call: int
    time_ns: int
    handle: str
    values: Words
    clocks: Clocks
    numbers: Bools | None = None
    texts: dict[int, str | None] = field(default_factory=dict)
    object_clocks: tuple[Words, Words] | None = None
    answers: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    lost: int = 0
    lost_before: int = 0
    firsts: dict[int, tuple[Why, str | None]] = field(default_factory=dict)
    data: bytes | None = None


class _Viewer(Struct):
    """A viewer of counters: a query handle, or an open of the pipe. `groups` numbers what is answered together: the instances of
    one counter added to a query, or of one object. By these numbers, `answers` counts their answers, `now` has the instances of the
    last answer, `before` those of the answer before."""

    key: Key
    lost: int = 0
    groups: dict[Key, int] = field(default_factory=dict)
    answers: Ints = field(default_factory=lambda: np.zeros(8, np.int64))
    before: list[Instances | None] = field(default_factory=list)
    now: list[Instances | None] = field(default_factory=list)
    last: ValuePlan | None = None

    def numbered(self, key: Key) -> int:
        """Returns the number that a group of counters has in the columns of this viewer's answers; gives a new group a number."""
        number = self.groups.get(key)
        if number is None:
            number = self.groups[key] = len(self.groups)
            self.before.append(None)
            self.now.append(None)
            self.answers = grown(self.answers, number + 1, fill=0)
        return number


class Answers:
    """Reads calls into columns of counter values, answer by answer. The plan of an answer is kept in its binding."""

    def __init__(self, analysis: Analysis, select: Select | None, limit: SeriesLimit | None = None) -> None:
        self._analysis, self._limit = analysis, limit
        self.registry = Registry(select)
        self._viewers: dict[Key, _Viewer] = {}
        self._bindings = Bindings(analysis)
        # By series: whether it had a reading yet; by what is shown (`Registry.what`): the handle that read it last.
        self._seen = np.zeros(64, np.bool_)
        self._handles: dict[str, int] = {}
        self._last_handle: npt.NDArray[np.int32] = np.full(64, -1, np.int32)

    def __iter__(self) -> Iterator[Answer]:
        calls = self._analysis.calls
        for number in calls.readings():
            call, answer = calls[number - 1], None
            if call.is_perflib:
                answer = self._perflib(number, call)
            elif call.read is not None:
                answer = self._winperf(number, call)
            if answer is not None and len(answer.plan):
                yield answer

    def _viewer(self, key: Key) -> _Viewer:
        return self._viewers.setdefault(key, _Viewer(key))

    # PerflibV2

    def _perflib(self, number: int, call: Call) -> Answer | None:
        query = call.query
        viewer = self._viewer(("q", query.number) if query is not None else ("c", call.channel))
        side = call.response
        if side is None or side.buffer_kind != "perf-data":
            viewer.lost += call.state != "complete"
            return None
        assert side.buffer is not None
        handle = f"q{query.number}" if query is not None else "q?"
        data = side.buffer.data
        found = self._bindings.perflib(call.server, query, data)
        catalog = self._analysis.catalogs.catalog_of(call.server)
        is_read = self.registry.choice.holds(call.server, query, catalog)
        is_whole = call.state == "complete"
        if found is not None:
            read, binding = found
            # What the blocks mean may be unknown for a while (see `pcq.query_handles`): for a series, that is an answer lost.
            damaged = not is_whole or (len(read.values) > 0 and not (query is not None and query.blocks))
            plan = binding.once(
                (viewer.key, damaged, self._ends),
                lambda: self._perflib_layout_plan(viewer, call, handle, binding, is_read, read.layout, damaged=damaged),
            )
            clocks = read.perf_time_stamp, read.perf_freq, read.perf_time_100ns
            answer = Answer(plan, number, side.first_time_ns, handle, read.values, clocks)
        else:
            rows = perf_data_rows(data)
            kept = rows
            if is_read is not None:
                kept = replace(rows, rows=tuple(row for row in rows.rows if is_read(row.block, row.counter_id)))
            chosen = None
            if self._limit is not None:
                chosen = self._limit.of_perf_rows(viewer.key, call, kept.rows, catalog, self.registry.states)
                if (some := chosen.parts[0]) is not None:
                    kept = replace(kept, rows=tuple(compress(kept.rows, some.tolist())))
            samples = list(perflib_samples_of(kept, query, catalog))
            damaged = not is_whole or rows.problem is not None
            damaged = damaged or (bool(rows.rows) and not (query is not None and query.blocks))
            held = dict(enumerate(samples))
            blocks = rows.num_blocks or 0
            plan = self._perflib_plan(viewer, call, handle, held, None, blocks, chosen, damaged=damaged)
            values, numbers, texts = _columns([sample.raw for sample in samples])
            stated = rows.perf_time_stamp, rows.perf_freq, rows.perf_time_100ns
            answer = Answer(plan, number, side.first_time_ns, handle, values, stated, numbers, texts)
            if kept is rows:
                answer.data = data
        self._begin(viewer, answer, damaged=damaged)
        return answer

    def _perflib_layout_plan(
        self,
        viewer: _Viewer,
        call: Call,
        handle: str,
        binding: Binding,
        is_read: Callable[[int, int | None], bool] | None,
        layout: PerfDataLayout,
        *,
        damaged: bool,
    ) -> ValuePlan:
        chosen = None
        if self._limit is not None:
            states = self.registry.states
            chosen = self._limit.of_perf_data(viewer.key, call, layout, binding.catalog, states)
        samples = binding.samples(is_read, chosen.parts if chosen is not None else None)
        blocks = len(layout.statuses)
        return self._perflib_plan(viewer, call, handle, samples, binding, blocks, chosen, damaged=damaged)

    def _perflib_plan(
        self,
        viewer: _Viewer,
        call: Call,
        handle: str,
        samples: Mapping[int, PerflibSample],
        binding: Binding | None,
        num_blocks: int,
        chosen: ChosenInstances | None,
        *,
        damaged: bool,
    ) -> ValuePlan:
        catalog = self._analysis.catalogs.catalog_of(call.server)
        rows, places = perflib_plan(self.registry, viewer.key, call, handle, samples, catalog)
        answered: Iterable[Key] = ()
        if not damaged and call.query is not None:
            answered = (known.key for block, known in call.query.blocks.items() if block < num_blocks)
        return plan_of(
            rows,
            self.registry,
            catalog,
            viewer.key,
            layout=binding.layout if binding is not None else None,
            query=call.query,
            instances=Instances(places, answered),
            numbered=viewer.numbered,
            chosen=chosen,
        )

    # winperf

    def _winperf(self, number: int, call: Call) -> Answer | None:
        viewer = self._viewer(("k", call.channel))
        side = call.response
        if side is None or side.buffer_kind != "winperf":
            viewer.lost += call.state != "complete"
            return None
        assert side.buffer is not None
        handle = f"k{call.key_number}" if call.key_number is not None else "k?"
        found = self._bindings.winperf(call.server, side.buffer.data)
        damaged = call.state != "complete"
        if found is not None:
            read, binding = found
            values, numbers, texts = _winperf_values(side.buffer.data, read)
            places = binding.once("ids", lambda: self._ids_of(call, read.layout))
            ids = tuple(zip(places.tolist(), values[places].tolist(), strict=True))
            plan = binding.once(
                (viewer.key, damaged, self._ends, ids),
                lambda: self._winperf_plan(
                    viewer, call, handle, read.layout, {at: texts.get(at, value) for at, value in ids}
                ),
            )
            clocks = read.perf_time, read.perf_freq, read.perf_time_100ns
            answer = Answer(plan, number, side.first_time_ns, handle, values, clocks, numbers, texts)
            answer.object_clocks = _object_clocks(read.object_clocks)
        else:
            block = winperf_rows(side.buffer.data)
            damaged = damaged or block.problem is not None
            table = self._analysis.name_tables.table_of(call.server)
            chosen = self._chosen_instances(viewer, call, block.objects)
            rows = winperf_rows_of(block, table, self._columns_of(call), chosen)
            rows, raws = _renumbered(rows)
            plan = self._winperf_rows_plan(viewer, call, handle, rows, block.objects, None, chosen)
            values, numbers, texts = _columns(raws)
            stated = block.perf_time, block.perf_freq, block.perf_time_100ns
            answer = Answer(plan, number, side.first_time_ns, handle, values, stated, numbers, texts)
            answer.object_clocks = _object_clocks([(item.perf_time, item.perf_freq) for item in block.objects])
        self._begin(viewer, answer, damaged=damaged)
        return answer

    def _winperf_plan(
        self, viewer: _Viewer, call: Call, handle: str, layout: WinperfLayout, ids: dict[int, int | str | None]
    ) -> ValuePlan:
        table = self._analysis.name_tables.table_of(call.server)
        chosen = self._chosen_instances(viewer, call, layout.objects)
        rows = winperf_layout_rows(layout, table, self._columns_of(call), chosen)
        return self._winperf_rows_plan(viewer, call, handle, rows, layout.objects, layout, chosen, ids)

    @property
    def _ends(self) -> int:
        """How many countersets the limit of series ended so far. Columns of answers behind an end are read by new plans."""
        return self._limit.ends if self._limit is not None else 0

    def _chosen_instances(
        self, viewer: _Viewer, call: Call, objects: Sequence[WinPerfObject]
    ) -> ChosenInstances | None:
        """Returns which instances of a winperf answer's objects get columns, None without a limit of series: all do."""
        if self._limit is None:
            return None
        table = self._analysis.name_tables.table_of(call.server)
        return self._limit.of_winperf(viewer.key, call, objects, table, self.registry.states)

    def _columns_of(self, call: Call) -> Callable[[WinPerfObject], list[bool]]:
        """Returns a function that says which counters of an object in a winperf answer get columns."""
        table = self._analysis.name_tables.table_of(call.server)
        return lambda item: self.registry.choice.columns(call.server, item.name_index, item.definitions, table)

    def _ids_of(self, call: Call, layout: WinperfLayout) -> Ints:
        """Returns in which columns of a winperf answer the values stand that distinguish its instances."""
        columns = self._columns_of(call)
        objects = ((item, any(columns(item))) for item in layout.objects)
        return np.array(list(id_places(objects, self._analysis.name_tables.table_of(call.server))), np.int64)

    def _winperf_rows_plan(
        self,
        viewer: _Viewer,
        call: Call,
        handle: str,
        instances: Sequence[WinperfRow],
        objects: Sequence[WinPerfObject],
        layout: WinperfLayout | None,
        chosen: ChosenInstances | None,
        ids: dict[int, int | str | None] | None = None,
    ) -> ValuePlan:
        places = winperf_places(instances, ids)
        table = self._analysis.name_tables.table_of(call.server)
        rows = winperf_plan(self.registry, viewer.key, call, handle, instances, places, table)
        # An object of metadata alone was not asked for values, so that it has none says nothing of its instances.
        present = Instances(places, (("object", item.name_index) for item in objects if not item.is_metadata))
        return plan_of(
            rows,
            self.registry,
            None,
            viewer.key,
            layout=layout,
            query=None,
            instances=present,
            numbered=viewer.numbered,
            chosen=chosen,
        )

    # both

    def _begin(self, viewer: _Viewer, answer: Answer, *, damaged: bool) -> None:
        """Begins the columns of an answer: notes its groups and their instances. A damaged answer proves nothing about what it
        lacks."""
        plan = answer.plan
        for cut in plan.cuts:
            cut.count_answer()
        answer.lost_before = viewer.lost
        viewer.lost += damaged
        answer.lost = viewer.lost
        viewer.answers[plan.answered] += not damaged
        answer.answers = viewer.answers[plan.groups]
        if plan is viewer.last:
            self._read_through(answer)
            return
        for group in plan.answered.tolist():
            viewer.before[group], viewer.now[group] = viewer.now[group], plan.instances
        self._find_firsts(viewer, answer)
        viewer.last = plan
        self._read_through(answer)

    def _find_firsts(self, viewer: _Viewer, answer: Answer) -> None:
        """Notes which rows in the columns of an answer have no earlier reading, and why."""
        plan = answer.plan
        self._seen = grown(self._seen, len(self.registry.states), fill=False)
        live = ~plan.is_error & (plan.at >= 0)
        fresh = live & ~self._seen[plan.ids]
        self._seen[plan.ids[live]] = True
        shown: set[int] = set()
        for row in np.flatnonzero(fresh).tolist():
            formula = formula_of(int(plan.types[row])) if plan.types[row] >= 0 else None
            if formula is None or not formula.delta:
                continue
            group = int(plan.groups[row])
            why, reason = why_first(viewer.before[group], viewer.now[group], plan.places[row])
            if reason is None and plan.whats is not None and (what := int(plan.whats[row])) >= 0:
                before = self._handle_of(what)
                if before not in (None, answer.handle) and what not in shown:
                    reason = f"the first through this handle; {before} read it before"
                shown.add(what)
            if why is not Why.FIRST_SAMPLE or reason is not None:
                answer.firsts[row] = why, reason

    def _handle_of(self, what: int) -> str | None:
        number = int(self._last_handle[what]) if what < len(self._last_handle) else -1
        return list(self._handles)[number] if number >= 0 else None

    def _read_through(self, answer: Answer) -> None:
        """Notes through which handle the columns of an answer were read."""
        whats = answer.plan.whats
        if whats is None:
            return
        self._last_handle = grown(self._last_handle, int(whats.max(initial=0)) + 1, fill=-1)
        self._last_handle[whats[whats >= 0]] = self._handles.setdefault(answer.handle, len(self._handles))


def why_first(before: Instances | None, now: Instances | None, place: SeriesPlace) -> tuple[Why, str | None]:
    """Returns why a row in the columns of an answer has no reading before it: its instance is new, or its name belonged to another
    instance."""
    had = before.identities_of(place) if before is not None else frozenset()
    has = now.identities_of(place) if now is not None else frozenset()
    gone = had - has
    if not gone:
        return Why.FIRST_SAMPLE, None
    if place.identity[0] == "nth":
        were, are = len(had), len(has)
        instances = "one instance" if are == 1 else f"{are} instances"
        reason = f"{instances} of that name, {were} in the answer before, and nothing distinguishes them"
        return Why.AMBIGUOUS_INSTANCE, reason
    others = ", ".join(sorted(_identity_words(identity) for identity in gone))
    reason = f"{_identity_words(place.identity)}; in the answer before, the name belonged to {others}"
    return Why.INSTANCE_CHANGED, reason


def _identity_words(identity: Identity) -> str:
    kind, *values = identity
    return f"{kind} {'/'.join(str(value) for value in values)}" if kind != "nth" else f"position {values[0]}"


def grown(array: npt.NDArray[Any], count: int, *, fill: int) -> npt.NDArray[Any]:
    """Returns a column with room for at least `count` answers or series; the new entries are `fill`."""
    if count <= len(array):
        return array
    more = np.full(max(count, 2 * len(array)) - len(array), fill, array.dtype)
    return np.concatenate([array, more])


def _renumbered(rows: Sequence[WinperfRow]) -> tuple[list[WinperfRow], list[int | str | None]]:
    """Returns the rows of a winperf answer, renumbered as if the answer's columns held only the samples of these rows, and the raw
    values of the samples."""
    found: list[WinperfRow] = []
    raws: list[int | str | None] = []
    for row in rows:
        # Rows that do not follow one another stay apart.
        found.append(replace(row, begin=len(raws)))
        raws += [None] * (max(row.samples) + 1)
        for nth, sample in row.samples.items():
            raws[found[-1].begin + nth] = sample.raw
    return found, raws


def _unsigned(value: int) -> int:
    """Returns a 64-bit clock of a winperf object as the number in its column of the answer, which has no sign."""
    return value & _MOST


def _object_clocks(clocks: Sequence[tuple[int, int]]) -> tuple[Words, Words]:
    ticks, freqs = zip(*clocks, strict=True) if clocks else ((), ())
    return np.array([*map(_unsigned, ticks)], np.uint64), np.array([*map(_unsigned, freqs)], np.uint64)


def _columns(raws: Sequence[int | str | None]) -> tuple[Words, Bools, dict[int, str | None]]:
    """Splits the raw counter values of an answer into columns: numbers, which values are numbers, and the other values. A number of
    more than 64 bits counts as no number: nothing can be computed with it."""
    numbers = [isinstance(raw, int) and raw <= _MOST for raw in raws]
    values = np.array([raw if is_number else 0 for raw, is_number in zip(raws, numbers, strict=True)], np.uint64)
    others = {at: raw if isinstance(raw, str) else None for at, raw in enumerate(raws) if not numbers[at]}
    return values, np.array(numbers, np.bool_), others


def _winperf_values(data: bytes, read: WinperfParts) -> tuple[Words, Bools | None, dict[int, str | None]]:
    """Returns the column of counter values that a winperf answer has, including those of mixed objects."""
    if not any(read.layout.mixed):
        return read.values, None, {}
    pieces: list[Words] = []
    numbers: list[Bools] = []
    texts: dict[int, str | None] = {}
    taken = at = 0
    for number, (item, is_mixed) in enumerate(zip(read.layout.objects, read.layout.mixed, strict=True)):
        held = [definition.size != 0 for definition in item.definitions]
        if is_mixed:
            found = mixed_object(data, read, number)
            raws = [raw for one in found.instances for raw, is_held in zip(one.values, held, strict=True) if is_held]
            values, are_numbers, others = _columns(raws)
            texts |= {at + place: raw for place, raw in others.items()}
        else:
            count = sum(held) * len(item.instances)
            values, taken = read.values[taken : taken + count], taken + count
            are_numbers = np.ones(count, np.bool_)
        pieces.append(values)
        numbers.append(are_numbers)
        at += len(values)
    return np.concatenate(pieces), np.concatenate(numbers), texts
