"""Readings of the same counter put together: an analysis in, one `Point` a raw value out, with what a monitor would have shown.

A series is one counter of one instance as one client saw it. Two readings make a pair when both belong to it:

* PerflibV2: the same query handle, the same counter added to it, the same instance by name and InstanceId.
* winperf: the same open of the pipe (some clients open a performance key anew for each read, so that the key proves nothing),
  object, counter and instance. What distinguishes instances of one name: the UniqueID, else what the object's own counters
  "ID Process" and "ID Thread" say, else the position among those of the name, as long as their number stays the same.

A pair is broken, and the reason given, where an answer in between lacked the instance or had an error in its place
(`interrupted`), where the name now belongs to another (`instance-changed`) or to a different number of instances nothing else
distinguishes (`ambiguous-instance`), and by what `formulas` finds in clocks and values. A lost answer breaks no pair: the
rate over the longer interval is right, `missed` counts them.

Bases, multipliers and object clocks are those of the same answer: by the ids of the registration information (PerflibV2), or
by adjacency and the object's header (winperf). One reading a series is held, whatever the length of the capture.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import islice, takewhile
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from analyzer.buffers import perf_data_rows, winperf_rows
from analyzer.core.win32 import win32_name
from analyzer.model.analysis import Analysis
from analyzer.model.call import Call
from analyzer.model.catalog import Catalog, Described
from analyzer.model.name_tables import NameTable
from analyzer.model.perflib import NONE_ID, Opnum
from analyzer.model.query import Identifier
from analyzer.model.record import Endpoint
from analyzer.model.sample import Aggregate
from analyzer.pcq.samples import PerflibSample
from analyzer.pcq.samples import samples_of as perflib_samples_of
from analyzer.series.formulas import (
    AGGREGATES,
    ATTRIB_NO_DISPLAY,
    Formatted,
    Reading,
    Why,
    aggregate,
    format_raw,
    formula_of,
    has_own_clock,
    unit_of,
)
from analyzer.winperf.samples import WinperfSample
from analyzer.winperf.samples import samples_of as winperf_samples_of

Source = Literal["perflib-v2", "winperf"]
Key = tuple[Any, ...]
# What distinguishes instances of one name: the kind of proof, and the proof.
Identity = tuple[Any, ...]

_SINGLE_INSTANCE = 0x00
# InstanceType of sets whose values the client puts together ([MS-PCQ] section 2.2.4.1): of all instances, of those it chose, of
# all that ever were.
_AGGREGATE, _MULTI_AGGREGATE, _AGGREGATE_HISTORY = 0x04, 0x06, 0x0C

# Title indices of the counters that identify instances, and their names (winperf.h reference, base set).
_ID_COUNTERS = {784: "ID Process", 804: "ID Thread"}


class Series(Struct, frozen=True):
    """One counter of one instance as one client saw it. `number` counts from 1 in the order of first readings.

    `objects` and `counters` are all names that the object (the counterset) and the counter go by, the one to show first;
    `instance` is as in a counter path, with parent and position; None for none. `added` is what the client added to its query
    to get it, as a path, None where that is not known. `aggregate` is what several instances were put together as, by us.
    """

    number: int
    source: Source
    server: Endpoint
    client: Endpoint
    handle: str
    objects: tuple[str, ...]
    counters: tuple[str, ...]
    instance: str | None
    counter_type: int | None
    unit: str | None
    scale: int
    attributes: int
    added: str | None = None
    aggregate: Aggregate | None = None

    @property
    def path(self) -> str:
        """`\\\\10.0.0.5\\Processor(_Total)\\% Processor Time`."""
        return f"\\\\{self.server.ip}{self.local_path}"

    @property
    def local_path(self) -> str:
        group = f"{self.objects[0]}({self.instance})" if self.instance else self.objects[0]
        return f"\\{group}\\{self.counters[0]}"

    @property
    def is_hidden(self) -> bool:
        """Whether a monitor does not list it: bases, and what its attributes say is not for display."""
        formula = formula_of(self.counter_type) if self.counter_type is not None else None
        return (formula is not None and formula.kind == "base") or bool(self.attributes & ATTRIB_NO_DISPLAY)


class Point(Struct, frozen=True):
    """One reading of a series, formatted. `sample` is None for an aggregate.

    `previous_call` is the call whose answer holds the other reading of the pair, `interval_ns` lies between the two answers in
    the capture and `server_interval_ns` between their performance clocks; `missed` answers of the handle were lost between.
    """

    series: Series
    call: int
    time_ns: int
    handle: str
    sample: PerflibSample | WinperfSample | None
    formatted: Formatted
    previous_call: int | None = None
    interval_ns: int | None = None
    server_interval_ns: int | None = None
    missed: int = 0
    aggregated: int | None = None
    left_out: int | None = None


class _State(Struct):
    """A series and the reading that the next one pairs with. Of PerflibV2 also the counter's registration information, and which
    aggregate its values go into."""

    series: Series
    wanted: bool
    info: Mapping[str, Any] | None = None
    pool: Key | None = None
    reading: Reading | None = None
    call: int = 0
    time_ns: int = 0
    answers: int = 0
    lost: int = 0


class _Group(Struct):
    """What is answered together: the instances of one counter added to a query, or of one object."""

    answers: int = 0
    before: dict[Key, set[Identity]] = field(default_factory=dict)
    now: dict[Key, set[Identity]] = field(default_factory=dict)


class _Viewer(Struct):
    """A query handle, or an open of the pipe for winperf. `lost` counts answers that could not be read in full, `lost_before`
    those before the one that is being read."""

    lost: int = 0
    lost_before: int = 0
    groups: dict[Key, _Group] = field(default_factory=dict)


class _Place(Struct, frozen=True):
    """Where a reading belongs: its group, the name of its instance there, and what distinguishes it from others of that name."""

    group: Key
    name: Key
    identity: Identity
    # The position among those of the name in this answer, for showing.
    ordinal: int = 0


Select = Callable[[Series], bool]


def points(analysis: Analysis, select: Select | None = None) -> Iterator[Point]:
    """Every reading of the series that `select` takes (all if None), in the order of the calls, of the calls that are shown.

    A reading that is not shown still is the one before the next.
    """
    found = _Pairing(analysis, select).points()
    if analysis.part is None:
        return found
    shown = analysis.shown
    last = shown.numbers[-1] if shown else 0
    return (point for point in takewhile(lambda point: point.call <= last, found) if shown.holds(point.call))


class _Pairing:
    def __init__(self, analysis: Analysis, select: Select | None) -> None:
        self._analysis = analysis
        self._select = select
        self._viewers: dict[Key, _Viewer] = {}
        self._states: dict[Key, _State] = {}
        # The handle through which a client last read a counter, to say why a pair is none.
        self._handles: dict[Key, str] = {}
        # The last values of instances of sets that remember those that are gone.
        self._remembered: dict[Key, dict[Key, Fraction]] = {}

    def points(self) -> Iterator[Point]:
        for number, call in enumerate(self._analysis.calls, 1):
            if call.is_perflib:
                if call.opnum == Opnum.QUERY_COUNTER_DATA:
                    yield from self._perflib(number, call)
            elif call.is_winreg and call.read is not None:
                yield from self._winperf(number, call)

    def _viewer(self, key: Key) -> _Viewer:
        return self._viewers.setdefault(key, _Viewer())

    # PerflibV2

    def _perflib(self, number: int, call: Call) -> Iterator[Point]:
        viewer_key: Key = ("q", call.query.number) if call.query is not None else ("c", call.channel)
        viewer = self._viewer(viewer_key)
        side = call.response
        if side is None or side.buffer is None or side.buffer_kind != "perf-data":
            viewer.lost += call.state != "complete"
            return
        answer = perf_data_rows(side.buffer.data)
        catalog = self._analysis.catalogs.of(call.server)
        samples = list(perflib_samples_of(answer, call.query, catalog))
        blocks: Mapping[int, Identifier] = call.query.blocks if call.query is not None else {}
        damaged = answer.problem is not None or call.state != "complete"
        reply = _Reply(samples, catalog)
        places = list(_perflib_places(samples, blocks, catalog))
        # What the blocks mean may be unknown for a while (see `pcq.queries`): for a series, that is an answer lost.
        damaged = damaged or (bool(samples) and not blocks)
        answered = (known.key for block, known in blocks.items() if block < (answer.num_blocks or 0))
        self._begin(viewer, places, answered, damaged=damaged)
        handle = f"q{call.query.number}" if call.query is not None else "q?"
        pools: dict[Key, _Pool] = {}
        for sample, place in zip(samples, places, strict=True):
            key = (viewer_key, place.group, place.name, place.identity, sample.counter_id)
            state = self._states.get(key)
            if state is None:
                state = self._state(key, self._perflib_series(call, handle, sample, place, catalog))
                entry = catalog.counter(sample.counterset, sample.counter_id)
                state.info = entry.info if entry is not None else None
                state.pool = _pool_key(sample, blocks, catalog)
            pool_key = state.pool
            if not state.wanted and pool_key is None:
                continue
            reading = reply.reading(sample, state.info)
            point = self._paired(viewer, place, state, reading, (number, call, handle, sample))
            formatted = self._through(call, handle, sample, reply.explained(point.formatted, sample, state.info, call))
            point = replace(point, formatted=formatted) if formatted is not point.formatted else point
            if state.wanted:
                yield point
            if pool_key is not None:
                if pool_key not in pools:
                    pools[pool_key] = _Pool.of(state.series, catalog, sample)
                pools[pool_key].take((place.name, place.identity), point)
        for counter, pool in pools.items():
            yield from self._aggregated((viewer_key, *counter), pool, (number, call, handle))

    def _through(self, call: Call, handle: str, sample: PerflibSample, formatted: Formatted) -> Formatted:
        """The same, where a first reading of this handle is none of its client, with a word of that."""
        if sample.counterset is None or sample.counter_id is None:
            return formatted
        what = (sample.counterset, sample.counter_id, _folded(sample.instance), sample.instance_id)
        key = (call.server.ip, call.client.ip, *what)
        before = self._handles.get(key)
        self._handles[key] = handle
        if formatted.why is not Why.FIRST_SAMPLE or formatted.reason is not None or before in (None, handle):
            return formatted
        return replace(formatted, reason=f"the first through this handle; {before} read it before")

    def _perflib_series(
        self, call: Call, handle: str, sample: PerflibSample, place: _Place, catalog: Catalog
    ) -> Series:
        entry = catalog.counter(sample.counterset, sample.counter_id)
        info = entry.info if entry is not None and entry.info is not None else {}
        known = sample.counter_id is not None
        counters = [*_all_names(entry), f"counter {sample.counter_id}" if known else "unknown counter"]
        if known:
            counters.append(str(sample.counter_id))
        instance = sample.instance or None
        if instance is None and sample.instance_id and not _is_single(catalog, sample.counterset):
            instance = f"id {sample.instance_id}"
        return Series(
            0,
            "perflib-v2",
            call.server,
            call.client,
            handle,
            _counterset_names(catalog, sample),
            tuple(dict.fromkeys(counters)),
            _numbered(instance, place),
            sample.counter_type,
            unit_of(sample.counter_type),
            info.get("default_scale", 0),
            info.get("attributes", 0),
            _added(call.query.blocks.get(sample.block) if call.query is not None else None, catalog),
        )

    def _aggregated(self, key: Key, pool: _Pool, where: tuple[int, Call, str]) -> Iterator[Point]:
        """One value for all instances of a counter, as the set's type and AggregateFunc ask of the client."""
        place = (*key, "aggregate")
        state = self._states.get(place) or self._state(place, pool.series)
        if not state.wanted:
            return
        values = pool.values
        if pool.keeps_history:
            remembered = self._remembered.setdefault(key, {})
            remembered.update(values)
            values = remembered
        value = aggregate(pool.function, list(values.values())) if values else None
        formatted = (
            Formatted(value) if value is not None else Formatted(None, Why.NO_INSTANCES, "no instance has a value")
        )
        number, call, handle = where
        assert call.response is not None
        first_ns = call.response.first_time_ns
        yield Point(
            state.series, number, first_ns, handle, None, formatted, aggregated=len(values), left_out=pool.left_out
        )

    # winperf

    def _winperf(self, number: int, call: Call) -> Iterator[Point]:
        viewer_key: Key = ("k", call.channel)
        viewer = self._viewer(viewer_key)
        side = call.response
        if side is None or side.buffer is None or side.buffer_kind != "winperf":
            viewer.lost += call.state != "complete"
            return
        block = winperf_rows(side.buffer.data)
        names = self._analysis.name_tables.of(call.server)
        samples = winperf_samples_of(block, names)
        handle = f"k{call.key_number}" if call.key_number is not None else "k?"
        rows: list[list[WinperfSample]] = []
        scales: list[list[int]] = []
        for item in block.objects:
            for instance in item.instances:
                present = [
                    definition
                    for definition, _ in zip(item.definitions, instance.values, strict=False)
                    if definition.size != 0
                ]
                rows.append(list(islice(samples, len(present))))
                scales.append([definition.default_scale for definition in present])
        places = _winperf_places(rows)
        damaged = block.problem is not None or call.state != "complete"
        # An object of metadata alone was not asked for values, so that it has none says nothing of its instances.
        answered = (("object", item.name_index) for item in block.objects if not item.is_metadata)
        self._begin(viewer, (place for place in places if place is not None), answered, damaged=damaged)
        for row, row_scales, place in zip(rows, scales, places, strict=True):
            if place is None:
                continue
            seen: Counter[int] = Counter()
            for at, (sample, scale) in enumerate(zip(row, row_scales, strict=True)):
                key = (
                    viewer_key,
                    place.group,
                    place.name,
                    place.identity,
                    sample.counter_index,
                    seen[sample.counter_index],
                )
                seen[sample.counter_index] += 1
                state = self._states.get(key)
                if state is None:
                    state = self._state(key, _winperf_series(call, handle, sample, place, scale, names))
                if not state.wanted:
                    continue
                reading = _winperf_reading(sample, row[at + 1] if at + 1 < len(row) else None)
                yield self._paired(viewer, place, state, reading, (number, call, handle, sample))

    # both

    def _state(self, key: Key, series: Series) -> _State:
        """A series begins."""
        series = replace(series, number=len(self._states) + 1)
        state = self._states[key] = _State(series, self._select is None or self._select(series))
        return state

    @staticmethod
    def _begin(viewer: _Viewer, places: Iterable[_Place], answered: Iterable[Key], *, damaged: bool) -> None:
        """An answer begins: which groups it answers, and with which instances. One that is damaged proves nothing of what it
        lacks."""
        viewer.lost_before = viewer.lost
        viewer.lost += damaged
        fresh: dict[Key, dict[Key, set[Identity]]] = {} if damaged else {key: {} for key in answered}
        for place in places:
            fresh.setdefault(place.group, {}).setdefault(place.name, set()).add(place.identity)
        for group_key, now in fresh.items():
            group = viewer.groups.setdefault(group_key, _Group())
            group.answers += not damaged
            group.before, group.now = group.now, now

    def _paired(
        self,
        viewer: _Viewer,
        place: _Place,
        state: _State,
        reading: Reading,
        where: tuple[int, Call, str, PerflibSample | WinperfSample],
    ) -> Point:
        """The value of a reading, paired with the one before it; the reading takes that one's place."""
        number, call, handle, sample = where
        assert call.response is not None
        time_ns = call.response.first_time_ns
        group = viewer.groups[place.group]
        if reading.raw is None and isinstance(sample, PerflibSample) and sample.data_size is None:
            status = win32_name(sample.block_status) or f"error {sample.block_status}"
            return Point(state.series, number, time_ns, handle, sample, Formatted(None, Why.ERROR_BLOCK, status))
        older = state.reading
        absent = group.answers - state.answers - 1 if older is not None else 0
        formatted = format_raw(state.series.counter_type, older if absent <= 0 else None, reading)
        if formatted.why is Why.FIRST_SAMPLE:
            formatted = _why_first(formatted, group, place, absent if older is not None else None)
        formula = formula_of(state.series.counter_type) if state.series.counter_type is not None else None
        if older is not None and absent <= 0 and formula is not None and formula.delta:
            point = Point(
                state.series,
                number,
                time_ns,
                handle,
                sample,
                formatted,
                state.call,
                time_ns - state.time_ns,
                _clock_interval(older, reading),
                viewer.lost_before - state.lost,
            )
        else:
            point = Point(state.series, number, time_ns, handle, sample, formatted)
        state.reading, state.call, state.time_ns = reading, number, time_ns
        state.answers, state.lost = group.answers, viewer.lost
        return point


def _why_first(formatted: Formatted, group: _Group, place: _Place, absent: int | None) -> Formatted:
    """Why a reading has none before it."""
    if absent:
        answers = "the answer" if absent == 1 else f"{absent} answers"
        return replace(formatted, why=Why.INTERRUPTED, reason=f"{answers} in between had no value of it")
    gone = group.before.get(place.name, set()) - group.now.get(place.name, set())
    if not gone:
        return formatted
    if place.identity[0] == "nth":
        before, now = len(group.before[place.name]), len(group.now[place.name])
        reason = f"{_instances(now)} of that name, {before} in the answer before, and nothing distinguishes them"
        return replace(formatted, why=Why.AMBIGUOUS_INSTANCE, reason=reason)
    others = ", ".join(sorted(_identity_words(identity) for identity in gone))
    reason = f"{_identity_words(place.identity)}; in the answer before, the name belonged to {others}"
    return replace(formatted, why=Why.INSTANCE_CHANGED, reason=reason)


def _instances(count: int) -> str:
    return "one instance" if count == 1 else f"{count} instances"


def _identity_words(identity: Identity) -> str:
    kind, *values = identity
    return f"{kind} {'/'.join(str(value) for value in values)}" if kind != "nth" else f"position {values[0]}"


def _clock_interval(older: Reading, newer: Reading) -> int | None:
    """The time between two answers by the server's performance clock."""
    if older.ticks is None or newer.ticks is None or not newer.freq or newer.freq != older.freq:
        return None
    return (newer.ticks - older.ticks) * 1_000_000_000 // newer.freq


# PerflibV2


class _Reply:
    """The values of one data answer by what they are, so that a counter finds its base in the same answer."""

    def __init__(self, samples: list[PerflibSample], catalog: Catalog) -> None:
        self._catalog = catalog
        self._values: dict[Key, list[PerflibSample]] = {}
        for sample in samples:
            if sample.counterset is not None and sample.counter_id is not None and isinstance(sample.raw, int):
                name = (sample.counterset, sample.counter_id, _folded(sample.instance))
                self._values.setdefault(name, []).append(sample)

    def reading(self, sample: PerflibSample, info: Mapping[str, Any] | None) -> Reading:
        base = self._companion(sample, info, "base_counter_id")
        ticks = self._companion(sample, info, "perf_time_id")
        freq = self._companion(sample, info, "perf_freq_id")
        multi = self._companion(sample, info, "multi_id")
        return Reading(
            sample.raw,
            sample.data_size,
            _number(base),
            base.data_size if base is not None else None,
            sample.perf_time_stamp,
            sample.perf_freq,
            sample.perf_time_100ns,
            _number(ticks),
            _number(freq),
            _number(multi),
        )

    def _companion(
        self, sample: PerflibSample, info: Mapping[str, Any] | None, field_name: str
    ) -> PerflibSample | None:
        """The value of the counter that a field of the registration information names, for the same instance."""
        counter_id = info[field_name] if info is not None else NONE_ID
        if counter_id == NONE_ID or sample.counterset is None:
            return None
        found = self._values.get((sample.counterset, counter_id, _folded(sample.instance)), [])
        if not _is_single(self._catalog, sample.counterset):
            found = [
                one
                for one in found
                if one.instance_id == sample.instance_id or one.instance_id is None or sample.instance_id is None
            ]
        # The block a value stands in is collected at once; another block of the answer may hold the same counter again.
        candidates = [one for one in found if one.block == sample.block] or found
        return candidates[0] if len({(one.raw, one.data_size) for one in candidates}) == 1 else None

    def explained(
        self, formatted: Formatted, sample: PerflibSample, info: Mapping[str, Any] | None, call: Call
    ) -> Formatted:
        """The same, with what the capture says of a type, or of the base, clock or multiplier that is missing."""
        query = call.query
        if formatted.why is Why.TYPE_UNKNOWN and sample.counterset is None and query is not None and query.unknown:
            return replace(formatted, reason=f"{formatted.reason}: {query.unknown}")
        if formatted.why not in _COMPANIONS or info is None or sample.counter_type is None:
            return formatted
        if formatted.why is Why.NO_CLOCK and not has_own_clock(sample.counter_type):
            return formatted
        for field_name, spelling in _COMPANIONS[formatted.why]:
            counter_id = info[field_name]
            if counter_id == NONE_ID:
                return replace(formatted, reason=f"its {spelling} names no counter")
            if self._companion(sample, info, field_name) is None:
                added = (
                    query is None or query.held is None or any(_covers(one, sample, counter_id) for one in query.held)
                )
                where = "is not in the answer" if added else "was not added to the query"
                return replace(formatted, reason=f"counter {counter_id}, its {spelling}, {where}; inconclusive")
        return formatted


# What is missing, by the fields that name it.
_COMPANIONS: dict[Why | None, tuple[tuple[str, str], ...]] = {
    Why.NO_BASE: (("base_counter_id", "BaseCounterId"),),
    Why.NO_MULTIPLIER: (("multi_id", "MultiId"),),
    Why.NO_CLOCK: (("perf_time_id", "PerfTimeId"), ("perf_freq_id", "PerfFreqId")),
}


def _covers(held: Identifier, sample: PerflibSample, counter_id: int) -> bool:
    """Whether a counter that a handle holds brings another counter of a sample's instance along."""
    if held.counterset != sample.counterset or held.counter_id not in (counter_id, NONE_ID):
        return False
    return not held.names_one_instance or _folded(held.instance) == _folded(sample.instance)


def _number(sample: PerflibSample | None) -> int | None:
    return sample.raw if sample is not None and isinstance(sample.raw, int) else None


def _perflib_places(
    samples: list[PerflibSample], blocks: Mapping[int, Identifier], catalog: Catalog
) -> Iterator[_Place]:
    """Where each value belongs. Instances of one name and id in one block are distinguished by their position alone."""
    keys = []
    groups: dict[int, Key] = {block: known.key for block, known in blocks.items()}
    for sample in samples:
        group = groups.setdefault(sample.block, ("block", sample.block))
        instance_id = None if _is_single(catalog, sample.counterset) else sample.instance_id
        keys.append((group, (_folded(sample.instance),), sample.counter_id, instance_id))
    counts = Counter(keys)
    seen: Counter[Key] = Counter()
    ordinals: Counter[Key] = Counter()
    for key in keys:
        group, name, counter_id, instance_id = key
        identity: Identity = ("InstanceId", instance_id)
        if counts[key] > 1:
            identity = ("nth", seen[key], counts[key], instance_id)
            seen[key] += 1
        yield _Place(group, name, identity, ordinals[group, name, counter_id] if name[0] else 0)
        ordinals[group, name, counter_id] += 1


def _is_single(catalog: Catalog, counterset: str | None) -> bool:
    """Whether a set has one instance only, whose name and id mean nothing."""
    entry = catalog.countersets.get(counterset) if counterset is not None else None
    return entry is not None and entry.instance_type == _SINGLE_INSTANCE


def _added(identifier: Identifier | None, catalog: Catalog) -> str | None:
    """`\\Processor Information(*)\\*` for what a client added."""
    if identifier is None:
        return None
    group = catalog.label(identifier.counterset) or identifier.counterset
    entry = catalog.counter(identifier.counterset, identifier.counter_id)
    counter = "*"
    if identifier.names_one_counter:
        counter = (entry.label if entry is not None else None) or f"counter {identifier.counter_id}"
    return f"\\{group}({identifier.instance})\\{counter}" if identifier.instance else f"\\{group}\\{counter}"


def _folded(name: str | None) -> str:
    return (name or "").casefold()


def _all_names(described: Described | None) -> list[str]:
    """Every name something goes by, that for people first."""
    if described is None:
        return []
    names = (described.label, described.english_name, *(name.text for _, name in described.names))
    return [name for name in names if name]


def _counterset_names(catalog: Catalog, sample: PerflibSample) -> tuple[str, ...]:
    guid = sample.counterset
    if guid is None:
        return (f"block {sample.block}",)
    return tuple(dict.fromkeys([*_all_names(catalog.countersets.get(guid)), guid, f"{{{guid}}}"]))


class _Pool(Struct):
    """The values of one counter in several instances of an answer, for an aggregate."""

    series: Series
    function: int
    keeps_history: bool
    values: dict[Key, Fraction] = field(default_factory=dict)
    left_out: int = 0

    @classmethod
    def of(cls, series: Series, catalog: Catalog, sample: PerflibSample) -> _Pool:
        counter = catalog.counter(sample.counterset, sample.counter_id)
        entry = catalog.countersets.get(sample.counterset or "")
        assert counter is not None
        assert counter.info is not None
        assert entry is not None
        whom = "chosen" if entry.instance_type == _MULTI_AGGREGATE else "all"
        function = counter.info["aggregate_func"]
        label = f"{AGGREGATES[function]} of {whom}"
        described = replace(series, instance=label, aggregate=AGGREGATES[function])
        return cls(described, function, entry.instance_type == _AGGREGATE_HISTORY)

    def take(self, instance: Key, point: Point) -> None:
        if point.formatted.value is None:
            self.left_out += instance not in self.values
        else:
            self.values[instance] = point.formatted.value


def _pool_key(sample: PerflibSample, blocks: Mapping[int, Identifier], catalog: Catalog) -> Key | None:
    """Which aggregate a value goes into, if its set is one for which the client aggregates."""
    entry = catalog.countersets.get(sample.counterset) if sample.counterset is not None else None
    counter = catalog.counter(sample.counterset, sample.counter_id)
    if entry is None or counter is None or counter.info is None or counter.info["aggregate_func"] not in AGGREGATES:
        return None
    if entry.instance_type in (_AGGREGATE, _AGGREGATE_HISTORY):
        known = blocks.get(sample.block)
        if known is None or known.names_one_instance:
            return None  # These aggregate all instances, and this client asked for one
    elif entry.instance_type != _MULTI_AGGREGATE:
        return None
    return sample.counterset, sample.counter_id


# winperf


def _winperf_places(rows: list[list[WinperfSample]]) -> list[_Place | None]:
    """Where each instance belongs, None for one without values."""
    names: list[Key] = []
    identities: list[Identity] = []
    for row in rows:
        if not row:
            names.append(())
            identities.append(())
            continue
        first = row[0]
        name: Key = (first.object_index, first.parent_index, _folded(first.parent_instance), _folded(first.instance))
        if not first.instance:
            name = (*name, first.instance_id)
        names.append(name)
        identities.append(_winperf_identity(row))
    same = Counter(zip(names, identities, strict=True))
    seen: Counter[Key] = Counter()
    ordinals: Counter[Key] = Counter()
    places: list[_Place | None] = []
    for row, name, identity in zip(rows, names, identities, strict=True):
        if not row:
            places.append(None)
            continue
        count = same[name, identity]
        if count > 1:
            position = seen[name, identity]
            seen[name, identity] += 1
            identity = ("nth", position, count, *identity)
        places.append(_Place(("object", row[0].object_index), name, identity, ordinals[name]))
        ordinals[name] += 1
    return places


def _winperf_identity(row: list[WinperfSample]) -> Identity:
    """What distinguishes an instance from others of its name: the UniqueID, else the ids that it counts itself."""
    if row[0].instance_id is not None:
        return "UniqueID", row[0].instance_id
    ids: dict[str, int] = {}
    for sample in row:
        if sample.name_source == "capture":
            kind = sample.counter_name if sample.counter_name in _ID_COUNTERS.values() else None
        else:
            kind = _ID_COUNTERS.get(sample.counter_index)
        if kind is not None and isinstance(sample.raw, int):
            ids[kind] = sample.raw
    kinds = sorted(ids)
    return (" and ".join(kinds), *(ids[kind] for kind in kinds)) if ids else ("name",)


def _winperf_series(
    call: Call, handle: str, sample: WinperfSample, place: _Place, scale: int, names: NameTable
) -> Series:
    instance = sample.instance or (str(sample.instance_id) if sample.instance_id is not None else None)
    if instance is not None and sample.parent_instance is not None:
        instance = f"{sample.parent_instance}/{instance}"
    return Series(
        0,
        "winperf",
        call.server,
        call.client,
        handle,
        _index_names(names, "object", sample.object_index),
        _index_names(names, "counter", sample.counter_index),
        _numbered(instance, place),
        sample.counter_type,
        unit_of(sample.counter_type),
        scale,
        0,
    )


def _index_names(table: NameTable, noun: str, index: int) -> tuple[str, ...]:
    best = table.name(index)
    names = [best.text] if best is not None else []
    names += [reported[index] for reported in table.reported.values() if index in reported]
    return tuple(dict.fromkeys((*names, f"{noun} {index}", str(index))))


def _numbered(instance: str | None, place: _Place) -> str | None:
    """An instance as counter paths write it: the second of a name is `#1`."""
    return f"{instance}#{place.ordinal}" if instance is not None and place.ordinal else instance


def _winperf_reading(sample: WinperfSample, follower: WinperfSample | None) -> Reading:
    base = sample.base_raw if isinstance(sample.base_raw, int) else None
    base_size = follower.data_size if base is not None and follower is not None and follower.raw == base else None
    formula = formula_of(sample.counter_type)
    is_multi = formula is not None and formula.multi
    # A precision object timer has a clock of its own, which travels as its base (winperf.h); it goes before the object's.
    has_own_clock = formula is not None and formula.base and formula.clock == "O" and base is not None
    return Reading(
        sample.raw,
        sample.data_size,
        None if is_multi else base,
        None if is_multi else base_size,
        sample.perf_time,
        sample.perf_freq,
        sample.perf_time_100ns,
        None if has_own_clock else sample.object_perf_time,
        sample.object_perf_freq,
        base if is_multi else None,
    )
