"""Sightings of processes: which answers about Process showed that a process was there, to whom, and when.

`who_looked_at_what.py` asks for them while it goes through the calls: an answer of either interface in, the processes that it shows
out. Names of instances are image names, and some counters state process ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import UNSET, Struct

from analyzer.interfaces.buffers.buffer_trees import decode_buffer
from analyzer.interfaces.buffers.value_rows import PerfColumns
from analyzer.interfaces.buffers.winperf_layout import WinPerfObject
from analyzer.questions.statistics.call_statistics import frames_of_calls, who_of
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call
from analyzer.results.calls.query_state import Identifier, QueryView
from analyzer.results.methods.perflib import NONE_ID
from analyzer.results.records.sample import Source
from analyzer.results.records.statistics import ImageRecord, Who
from analyzer.results.reported_names.counter_name_tables import WELL_KNOWN, NameTable
from analyzer.results.reported_names.counterset_catalog import Catalog
from analyzer.results.reported_names.server_names import Named

if TYPE_CHECKING:
    import numpy.typing as npt


# Objects whose instances are processes by their image names; of a thread, the parent instance is.
IMAGES = re.compile(r"process(?:\Z| v\d)", re.I)
_PROCESS_ID = "id process"
# A DWORD. A larger value is no process id, even if the counter has this name.
MAX_PROCESS_ID = 0xFFFFFFFF
_TOTAL = "_Total"

# A server that invents processes without end must not make us remember them all.
MAX_IMAGES = 100_000
# Server, source, target, name and instance id: what an answer always shows of a process. The process id may come from elsewhere.
ImageKey = tuple[str, Source, str | int, str, int | None]


class ProcessSighting(Struct, gc=False):
    """A process as answers about Process showed it: how many answers, who received them, and the first and the last of them by
    number and time of the call. `altered` counts the answers that others may have changed."""

    key: ImageKey
    pid: int | None
    seen_by: tuple[Who, ...]
    calls: int
    first_call: int
    last_call: int
    first_time_ns: int
    last_time_ns: int
    altered: int


# Server, source and target of a list of processes.
ListKey = tuple[str, Source, str | int]


def image_records(images: Iterable[ProcessSighting], analysis: Analysis) -> Iterator[ImageRecord]:
    """Yields the records of sightings, with the frames of their first and last calls."""
    # Many processes are seen first and last in the same two calls.
    frames_between = cache(lambda *calls: frames_of_calls(analysis, calls))
    for one in images:
        server, source, target, name, instance_id = one.key
        frames, files = frames_between(one.first_call, one.last_call)
        yield ImageRecord(
            server_ip=server,
            source=source,
            target=target,
            name=name,
            pid=one.pid,
            instance_id=instance_id,
            seen_by=one.seen_by,
            calls=one.calls,
            first_call=one.first_call,
            last_call=one.last_call,
            first_time_ns=one.first_time_ns,
            last_time_ns=one.last_time_ns,
            frames=frames,
            frame_files=files,
            altered=one.altered or UNSET,
        )


# A process and its id, where the answer states it.
SeenProcess = tuple[ImageKey, int | None]


class ProcessSightings:
    """Collects the sightings of processes, answer by answer. `forgotten` counts those that were too many to be kept."""

    def __init__(self) -> None:
        self.forgotten = self._kept = 0
        self._images: dict[ImageKey, dict[int | None, ProcessSighting]] = {}
        self._lists: dict[ListKey, dict[int, int]] = {}

    def add_answer(self, call: Call, number: int, seen: Iterable[SeenProcess], listed: Iterable[str | int]) -> None:
        """Adds the sightings of one answer, which shows each of the processes `seen` once. The answer lists all processes of the
        targets `listed`, unless others may have changed it."""
        viewer, time_ns = (Who(*who_of(call)),), call.time_ns
        source: Source = "perflib-v2" if call.is_perflib else "winperf"
        may_be_changed = call.is_altered
        for target in listed if not may_be_changed else ():
            self._lists.setdefault((call.server.ip, source, target), {})[number] = time_ns
        images = self._images
        for key, pid in seen:
            by_pid = images.get(key)
            one = _earlier_sighting(key, pid, by_pid) if by_pid is not None else None
            if one is None and self._kept >= MAX_IMAGES:
                self.forgotten += 1
            elif one is None:
                self._kept += 1
                one = ProcessSighting(key, pid, viewer, 1, number, number, time_ns, time_ns, int(may_be_changed))
                if by_pid is None:
                    images[key] = {pid: one}
                else:
                    by_pid[pid] = one
            elif one.last_call != number:
                if viewer[0] not in one.seen_by:
                    one.seen_by += viewer
                one.calls += 1
                one.altered += may_be_changed
                one.last_call, one.last_time_ns = number, time_ns

    def in_order(self) -> list[ProcessSighting]:
        """Returns the sightings in the order of the first calls."""
        images = [one for by_pid in self._images.values() for one in by_pid.values()]
        images.sort(key=attrgetter("first_call"))
        return images

    def lists_in_order(self) -> dict[ListKey, list[tuple[int, int]]]:
        """Returns the answers that listed all processes of a machine, by number and time of their calls, ascending."""
        return {key: sorted(calls.items()) for key, calls in self._lists.items()}


def _earlier_sighting(
    key: ImageKey, pid: int | None, by_pid: dict[int | None, ProcessSighting]
) -> ProcessSighting | None:
    """Returns the earlier sighting of a process among those of its key, None if there is none."""
    if (one := by_pid.get(pid)) is not None:
        return one
    # Instances with a number are one thing as long as no other process id is stated of them; names alone may be of several.
    if key[-1] is not None and len(by_pid) == 1:
        ((known, one),) = by_pid.items()
        if pid is None:
            return one
        if known is None:
            one.pid = pid
            by_pid[pid] = by_pid.pop(None)
            return one
    return None


def english_of_set(guid: str, catalog: Catalog) -> str | None:
    entry = catalog.countersets.get(guid)
    return entry.label if entry is not None else None


def is_of_processes(guid: str, catalog: Catalog) -> bool:
    name = english_of_set(guid, catalog)
    return name is not None and IMAGES.match(name) is not None


def listed_processes(call: Call, guid: str) -> tuple[Mapping[SeenProcess, None], bool]:
    """Returns the processes to be sighted in an answer of EnumerateCounterSetInstances, and whether its list is whole."""
    side = call.response
    if side is None or side.buffer is None or side.buffer_kind != "instances":
        return {}, False
    read = decode_buffer("instances", side.buffer.data)
    seen: dict[SeenProcess, None] = {}
    for item in read.tree.get("instances", ()):
        name = item.get("name")
        if name and name != _TOTAL:
            seen[(call.server.ip, "perflib-v2", guid, name, item.get("instance_id")), None] = None
    return seen, read.problem is None


class ProcessBlocks(NamedTuple):
    """The blocks in answers to a query that may show processes. `every` is the counterset of all blocks if it is one of processes;
    `process_ids` are the counters that state process ids."""

    blocks: Mapping[int, Identifier]
    every: str | None
    process_ids: frozenset[tuple[str, int]]

    @classmethod
    def blocks_of(cls, view: QueryView, catalog: Catalog) -> ProcessBlocks:
        blocks = {block: known for block, known in view.blocks.items() if is_of_processes(known.counterset, catalog)}
        every = view.counterset if view.counterset is not None and is_of_processes(view.counterset, catalog) else None
        sets = {known.counterset for known in blocks.values()} | ({every} if every is not None else set())
        process_ids = frozenset((one, counter) for one in sets for counter in _id_counters_of(one, catalog))
        return cls(blocks, every, process_ids)

    @property
    def id_counters(self) -> frozenset[int]:
        """The numbers of the counters that state the ids of sighted processes."""
        return frozenset(counter for _, counter in self.process_ids)


def polled_processes(server: str, columns: PerfColumns, images: ProcessBlocks) -> Iterable[SeenProcess]:
    """Returns the processes to be sighted in the blocks of a data answer that are those of a process counterset, each once."""
    blocks, every, process_ids = images
    if not blocks and every is None:
        return ()
    seen: dict[ImageKey, int | None] = {}
    telling = _rows_that_show(columns, images.id_counters)
    rows = zip(
        columns.block[telling].tolist(),
        columns.counter_id[telling].tolist(),
        columns.instance[telling].tolist(),
        columns.instance_id[telling].tolist(),
        columns.value[telling].tolist(),
        columns.is_int[telling].tolist(),
        strict=True,
    )
    for block, column, place, instance_id, value, is_int in rows:
        known = blocks.get(block)
        counterset = known.counterset if known is not None else every
        if counterset is None:
            continue
        counter = column if column >= 0 else known.counter_id if known is not None and known.names_one_counter else None
        if place >= 0:
            name, number = columns.instance_names[place], instance_id
        elif known is not None and known.instance and known.names_one_instance:
            name, number = known.instance, known.instance_id
        else:
            continue
        if not name or name == _TOTAL:
            continue
        # An instance of one block and the same of another are one process: they have one name and number.
        key: ImageKey = (server, "perflib-v2", counterset, name, number if number != NONE_ID else None)
        if is_int and (counterset, counter) in process_ids and value <= MAX_PROCESS_ID:
            seen[key] = value
        else:
            seen.setdefault(key, None)
    return seen.items()


def sets_listed_whole(view: QueryView, blocks: Iterable[int], catalog: Catalog) -> Iterator[str]:
    """Yields the process countersets of which these blocks of an answer let all processes be sighted: a query asks for all
    instances, and the blocks have values. A block without any states an error and leaves open what runs."""
    for known in (view.blocks[block] for block in blocks if block in view.blocks):
        if known.instance in (None, "", "*") and is_of_processes(known.counterset, catalog):
            yield known.counterset


def _id_counters_of(guid: str, catalog: Catalog) -> Iterator[int]:
    """The counters of a counterset that state the ids of sighted processes."""
    entry = catalog.countersets.get(guid)
    for number, counter in entry.counters.items() if entry is not None else ():
        if (counter.label or "").casefold() == _PROCESS_ID:
            yield number


def _rows_that_show(columns: PerfColumns, process_ids: frozenset[int]) -> npt.NDArray[np.int64]:
    """Returns the rows of a data answer in which a process or its id may be sighted. These are the first value of each instance in
    a block, values of counters for process ids, and values whose block does not name their counter. Error values do not count."""
    rows = np.flatnonzero(columns.data_size >= 0)
    counters = columns.counter_id[rows]
    is_telling = (counters < 0) | np.isin(counters, list(process_ids))
    is_telling[:1] = True
    for column in (columns.block, columns.instance, columns.instance_id):
        is_telling[1:] |= column[rows[1:]] != column[rows[:-1]]
    return rows[is_telling]


def processes_of_object(server: str, item: WinPerfObject, ids: Sequence[int | str | None]) -> dict[SeenProcess, None]:
    """Returns the processes to be sighted in a winperf object: its instances, with what their counter of process ids has."""
    seen: dict[SeenProcess, None] = {}
    for instance, value in zip(item.instances, ids, strict=True):
        pid = value if isinstance(value, int) and 0 <= value <= MAX_PROCESS_ID else None
        if instance.name and instance.name != _TOTAL:
            seen[(server, "winperf", item.name_index, instance.name, None), pid] = None
    return seen


def english_of_object(index: int, table: NameTable) -> str | None:
    """Returns the English name of an object by its title index, which tells whether processes are sighted in it: the reported one,
    else the base system's."""
    named: Named = table.named(index)
    return named.english.text if named.english is not None else WELL_KNOWN.get(index)


def process_id_column(indices: list[int], table: NameTable) -> int | None:
    for at, index in enumerate(indices):
        if (english_of_object(index, table) or "").casefold() == _PROCESS_ID:
            return at
    return None
