"""Makes a `ProcessRecord` for each process of a machine that any answer of an analysis shows.

`who_looked_at_what.findings` sees in answers about Process that a process was there, and when. If answers that list processes lack
it, it started or ended between two of them. Parent, start, processor time and memory are displayed values of the instance
(`series.reading_batches`), in the answers that state the same process id.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from msgspec import UNSET, Struct, UnsetType, field

from analyzer.core.array_functions import distinct
from analyzer.core.times import NS_PER_S
from analyzer.interfaces.call_contents.machine_names import machine_names
from analyzer.questions.processes.odd_processes import name_marks, parent_marks
from analyzer.questions.series.series_keys import counter_names
from analyzer.questions.statistics.summary import frames_of_calls
from analyzer.questions.statistics.who_looked_at_what import (
    IMAGES,
    MAX_PROCESS_ID,
    ActivityFindings,
    ListKey,
    ProcessSighting,
    findings,
)
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call_row_columns import KIND_NUMBERS
from analyzer.results.records.process import Course, ProcessMark, ProcessRecord
from analyzer.results.records.sample import Why
from analyzer.results.records.statistics import Who

if TYPE_CHECKING:
    import numpy.typing as npt

    from analyzer.questions.series.displayed_points import Series
    from analyzer.questions.series.reading_batches import Batch
    from analyzer.questions.series.values_by_layout import ValuePlan

_PID, _PARENT, _ELAPSED, _CPU, _MEMORY = range(5)
_COUNTERS = {
    "id process": _PID,
    "creating process id": _PARENT,
    "elapsed time": _ELAPSED,
    "% processor time": _CPU,
    "working set": _MEMORY,
}
# Instances of Process V2 are called by name and process id.
_WITH_PID = re.compile(r"(?P<name>.+):(?P<pid>\d+)", re.DOTALL)
# For Idle and System, Windows counts from the beginning of its own clock, 1601.
_LONGEST_S = 100 * 366 * 86_400
# An instance without a process id.
_NO_PID = -1

# Server, name and process id. Where nothing states the id, what the instance was seen as.
_Key = tuple[str, str, int | None, tuple[str, str | int, int | None] | None]
_FramesOfCalls = tuple[tuple[int, ...], tuple[int, ...] | UnsetType]
_Floats: TypeAlias = "npt.NDArray[np.float64]"
_Part: TypeAlias = "tuple[npt.NDArray[np.int64], _Floats]"


class _Values(Struct):
    """The counter values of one process. Answers of one plan make a part: their times, and the value that each states."""

    parent: int | None = None
    started_ns: int | None = None
    cpu: list[_Part] = field(default_factory=list)
    memory: list[_Part] = field(default_factory=list)


class ProcessTable(Struct, frozen=True):
    """The table of processes, by columns: machine by machine, in the order of their first sightings. A record is made of a row when
    it is looked at.

    `keys` have server, name and process id. `first` and `last` are the first and the last sighting of each process.
    """

    keys: Sequence[_Key]
    images: Sequence[Sequence[ProcessSighting]]
    first: Sequence[ProcessSighting]
    last: Sequence[ProcessSighting]
    parent_pids: Sequence[int | None]
    parent_names: Sequence[str | None]
    oddities: Sequence[tuple[ProcessMark, ...]]
    answers: Sequence[int]
    altered: Sequence[int]
    seen_by: Sequence[tuple[Who, ...]]
    machines: Mapping[str, str]
    # Looked for in all answers when it is first asked for.
    _values: Callable[[], Sequence[_Values]]
    _lists: Mapping[ListKey, Sequence[tuple[int, int]]]
    _frames_of: Callable[[int, int], _FramesOfCalls]

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[ProcessRecord]:
        return map(self.record, range(len(self)))

    def record(self, row: int) -> ProcessRecord:
        """The record of the process in a row."""
        server, name, pid, _ = self.keys[row]
        first, last, images, values = self.first[row], self.last[row], self.images[row], self._values()[row]
        frames, files = self._frames_of(first.first_call, last.last_call)
        before, after = self._lists.get(first.key[:3], ()), self._lists.get(last.key[:3], ())
        earlier = bisect_left(before, (first.first_call,))
        later = bisect_left(after, (last.last_call + 1,))
        return ProcessRecord(
            server_ip=server,
            server_name=self.machines.get(server),
            name=name,
            pid=pid,
            parent_pid=values.parent,
            parent_name=self.parent_names[row],
            started_ns=values.started_ns,
            started_after_ns=before[earlier - 1][1] if earlier else None,
            ended_before_ns=after[later][1] if later < len(after) else None,
            first_time_ns=first.first_time_ns,
            last_time_ns=last.last_time_ns,
            answers=self.answers[row],
            cpu=_course(values.cpu),
            memory=_course(values.memory),
            oddities=self.oddities[row],
            sources=tuple(dict.fromkeys(image.key[1] for image in images)),
            seen_by=self.seen_by[row],
            first_call=first.first_call,
            last_call=last.last_call,
            frames=frames,
            frame_files=files,
            altered=self.altered[row] or UNSET,
        )


def process_table(analysis: Analysis, found: ActivityFindings, known: ProcessValues | None = None) -> ProcessTable:
    """Returns the table of processes in the findings about counters. `known` has their values, if all readings were read before."""
    sighted = _by_machine(_sighted(found.images))
    keys, images = list(sighted), list(sighted.values())

    @cache
    def values() -> list[_Values]:
        read = known
        if read is None:
            from analyzer.questions.series.reading_batches import readings  # few captures state what is read there

            read = ProcessValues()
            for batch in readings(analysis, _OfProcesses()):
                read.take_readings(batch)
        return read.rows(keys)

    with_parents = values() if keys and may_state_parents(analysis) else [_Values()] * len(keys)
    services: dict[str, frozenset[int]] = {}
    for server, name, pid, _ in keys:
        if pid is not None and name.casefold() == "services":
            services[server] = services.get(server, frozenset()) | {pid}
    parents = [one.parent for one in with_parents]
    none: frozenset[int] = frozenset()
    oddities = [
        name_marks(name) + (parent_marks(name, parent, services.get(server, none)) if parent is not None else ())
        for (server, name, _, _), parent in zip(keys, parents, strict=True)
    ]
    return ProcessTable(
        keys,
        images,
        [some[0] if len(some) == 1 else min(some, key=attrgetter("first_call")) for some in images],
        [some[0] if len(some) == 1 else max(some, key=attrgetter("last_call")) for some in images],
        parents,
        _parent_names(keys, with_parents),
        oddities,
        [some[0].calls if len(some) == 1 else sum(one.calls for one in some) for some in images],
        [some[0].altered if len(some) == 1 else sum(one.altered for one in some) for some in images],
        [
            some[0].seen_by if len(some) == 1 else tuple(dict.fromkeys(who for one in some for who in one.seen_by))
            for some in images
        ],
        {ip: names[0] for ip, names in machine_names(analysis).items()},
        values,
        found.lists,
        # Many processes are seen first and last in the same two calls.
        cache(lambda *calls: frames_of_calls(analysis, calls)),
    )


def process_records(analysis: Analysis) -> list[ProcessRecord]:
    """The processes, machine by machine in the order of their first sightings."""
    return list(process_table(analysis, findings(analysis)))


def _sighted(images: Iterable[ProcessSighting]) -> dict[_Key, list[ProcessSighting]]:
    """Returns the sightings of each process, from all countersets."""
    found: dict[_Key, list[ProcessSighting]] = {}
    for image in images:
        server, source, target, name, instance_id = image.key
        pid = image.pid
        if ":" in name:
            name, pid = _named(name, pid)
        key = server, name, pid, ((source, target, instance_id) if pid is None else None)
        if (known := found.get(key)) is None:
            found[key] = [image]
        else:
            known.append(image)
    return found


def _by_machine(sighted: dict[_Key, list[ProcessSighting]]) -> dict[_Key, list[ProcessSighting]]:
    """Sorts processes by machine, in the order in which the machines were first seen."""
    machines = {server: number for number, server in enumerate(dict.fromkeys(key[0] for key in sighted))}
    if len(machines) <= 1:
        return sighted
    return dict(sorted(sighted.items(), key=lambda item: machines[item[0][0]]))


def _named(name: str, pid: int | None) -> tuple[str, int | None]:
    """Splits an instance name into the name of a process and its process id."""
    match = _WITH_PID.fullmatch(name)
    if match is not None and pid in (None, int(match["pid"])):
        return match["name"], int(match["pid"])
    return name, pid


def _parent_names(keys: Sequence[_Key], values: Sequence[_Values]) -> list[str | None]:
    """Returns the name of each process's parent, if exactly one process has the parent's id and is not younger."""
    if all(one.parent is None for one in values):
        return [None] * len(keys)
    by_pid: dict[tuple[str, int | None], list[int]] = {}
    for row, (server, _, pid, _) in enumerate(keys):
        by_pid.setdefault((server, pid), []).append(row)

    def parent_of(row: int) -> str | None:
        parent, started = values[row].parent, values[row].started_ns
        if parent is None:
            return None
        older = [
            other
            for other in by_pid.get((keys[row][0], parent), ())
            if other != row and not (started and (began := values[other].started_ns) and began > started)
        ]
        return keys[older[0]][1] if len(older) == 1 else None

    return [parent_of(row) for row in range(len(keys))]


def _course(parts: Sequence[_Part]) -> Course | None:
    """Returns how a value of a process went. Parts may cover the same time: their answers came in turns."""
    if not parts:
        return None
    first_part, last_part = min(parts, key=lambda part: part[0][0]), max(parts, key=lambda part: part[0][-1])
    values = np.concatenate([values for _, values in parts])
    first, last = float(first_part[1][0]), float(last_part[1][-1])
    return Course(len(values), first, last, float(values.min()), float(values.mean()), float(values.max()))


# Values


def may_state_parents(analysis: Analysis) -> bool:
    """Whether values of the analysis may state who created a process: in answers of the registry, or of a counter for it."""
    kinds = analysis.calls.column("response_buffer_kind")
    return bool((kinds == KIND_NUMBERS["winperf"]).any()) or any(
        _kind_of(counter_names(catalog, guid, number)) == _PARENT
        for _, catalog in analysis.catalogs
        for guid, entry in catalog.countersets.items()
        for number in entry.counters
    )


class _OfProcesses:
    """Selects the series whose counters describe a process."""

    def takes_counter(self, objects: Sequence[str], counters: Sequence[str]) -> bool:
        return _kind_of_series(objects, counters) is not None

    def __call__(self, series: Series) -> bool:
        return bool(series.instance)


def _kind_of_series(objects: Sequence[str], counters: Sequence[str]) -> int | None:
    """Returns which fact about a process the counters of an object state, None for any others."""
    kind = _kind_of(counters)
    return kind if kind is not None and any(IMAGES.match(name) is not None for name in objects) else None


def _kind_of(counters: Sequence[str]) -> int | None:
    """Returns which fact about a process a counter states (times, memory, id), None for any other counter."""
    return next((_COUNTERS[name.casefold()] for name in counters if name.casefold() in _COUNTERS), None)


class ProcessValues:
    """Gathers the counter values of processes from batches of readings."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, int | None], _Values] = {}

    def take_readings(self, batch: Batch) -> None:
        """Takes what the readings of a batch, of processes or of anything, state of processes."""
        for plan, rows in batch.plans:
            if len(rows):
                _take(self._found, batch, _Instances(plan), rows)

    def rows(self, keys: Iterable[_Key]) -> list[_Values]:
        """Returns what the readings state of each process."""
        nothing = _Values()
        return [self._found.get(key[:3], nothing) for key in keys]


class _Instances:
    """The process instances of a plan: the instance of each place, and which fact about it the place states."""

    def __init__(self, plan: ValuePlan) -> None:
        numbers: dict[tuple[str, str, str | None, int | None], int] = {}
        kind_of = cache(_kind_of_series)
        self.kinds = np.full(len(plan), -1, np.int64)
        self.numbers = np.zeros(len(plan), np.int64)
        self.names: list[tuple[str, str]] = []
        for place, (series, sample) in enumerate(zip(plan.series, plan.samples, strict=True)):
            kind = kind_of(series.objects, series.counters)
            if kind is None or not series.instance or sample is None or sample.instance is None:
                continue
            key = series.server.ip, series.objects[0], series.instance, sample.instance_id
            if key not in numbers:
                numbers[key] = len(numbers)
                self.names.append((series.server.ip, sample.instance))
            self.kinds[place], self.numbers[place] = kind, numbers[key]


def _take(
    found: dict[tuple[str, str, int | None], _Values], batch: Batch, instances: _Instances, rows: npt.NDArray[np.int64]
) -> None:
    """Takes the values of processes from the rows of a batch that one plan describes."""
    from analyzer.questions.series.formatted_columns import CODES

    rows = rows[instances.kinds[batch.place[rows]] >= 0]
    places = batch.place[rows]
    kinds, why = instances.kinds[places], batch.why[rows]
    is_id = (kinds == _PID) | (kinds == _PARENT)
    is_wanted = (why == 0) | (is_id & (why == CODES[Why.TYPE_UNKNOWN]))
    rows, places, is_id = rows[is_wanted], places[is_wanted], is_id[is_wanted]
    if not len(rows):
        return
    # An id is what it is, whatever type its counter has.
    shown = np.where(is_id, batch.raw[rows].astype(np.float64), batch.value[rows])
    shown[is_id & (shown > MAX_PROCESS_ID)] = np.nan
    which = batch.answer[rows]
    answers = distinct(which)
    at = np.searchsorted(answers, which)
    table = np.full((len(_COUNTERS), len(answers), len(instances.names)), np.nan)
    table[instances.kinds[places], at, instances.numbers[places]] = shown
    times = np.array([batch.answers[answer].time_ns for answer in answers.tolist()], np.int64)
    pids = np.where(np.isnan(table[_PID]), _NO_PID, table[_PID]).astype(np.int64)

    def process(number: int, pid: int) -> _Values:
        server, name = instances.names[number]
        return found.setdefault((server, *_named(name, pid if pid != _NO_PID else None)), _Values())

    # Nearly all are one process in all these answers.
    is_one = (pids == pids[0]).all(axis=0)
    ones = np.flatnonzero(is_one)
    _note(list(map(process, ones.tolist(), pids[0, ones].tolist())), table[:, :, ones], times)
    for number in np.flatnonzero(~is_one).tolist():
        for pid in dict.fromkeys(pids[:, number].tolist()):
            is_its = pids[:, number] == pid
            _note([process(number, pid)], table[:, is_its, number, None], times[is_its])


def _note(processes: Sequence[_Values], table: _Floats, times: npt.NDArray[np.int64]) -> None:
    """Notes the values of processes in some answers. The `table` has them by fact, answer and process; NaN is none."""
    has = ~np.isnan(table)
    first, counts = has.argmax(axis=1), has.sum(axis=1)
    is_stated, is_whole = (counts > 0).tolist(), (counts == len(times)).tolist()
    for number, one in enumerate(processes):
        if one.parent is None and is_stated[_PARENT][number]:
            one.parent = int(table[_PARENT, first[_PARENT, number], number])
        if one.started_ns is None and is_stated[_ELAPSED][number]:
            at = first[_ELAPSED, number]
            elapsed = float(table[_ELAPSED, at, number])
            if elapsed < _LONGEST_S:
                one.started_ns = int(times[at]) - round(elapsed * NS_PER_S)
        for parts, kind in ((one.cpu, _CPU), (one.memory, _MEMORY)):
            if is_stated[kind][number]:
                values, its = table[kind, :, number], has[kind, :, number]
                parts.append((times, values.copy()) if is_whole[kind][number] else (times[its], values[its]))
