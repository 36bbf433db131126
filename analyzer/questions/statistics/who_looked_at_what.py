"""Finds activity in performance traffic: who looked at what on which machine, and which processes the answers showed.

Listing countersets is reconnaissance. Polling Process is a process list of the server, image names and process ids included, poll
by poll. Network and Terminal Services sets describe its interfaces, connections and logged-on sessions. In: an analysis. Out: an
`Activity` for each account, client, server, kind and target, and a `ProcessSighting` of each process that an answer showed, each
with the calls that carried it.

A counterset or object is known by its English name, which the server or a metadata file states. If nothing states the English name
of a winperf object, its title index identifies it, if that is the base system's.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import UNSET, Struct, field

from analyzer.core.array_functions import distinct
from analyzer.core.caches import Kept
from analyzer.core.error_code_names import win32_name
from analyzer.interfaces.buffers.buffer_trees import decode_buffer
from analyzer.interfaces.buffers.perf_data_layout import PERF_DATA, Grid, PerfDataLayout
from analyzer.interfaces.buffers.value_rows import PerfColumns, perf_data_columns, winperf_rows
from analyzer.interfaces.buffers.winperf_layout import WINPERF, WinperfLayout, WinPerfObject, counter_values
from analyzer.interfaces.call_contents.damaged_buffers import Damages
from analyzer.interfaces.pcq.perflib_samples import counterset_of
from analyzer.questions.statistics.shown_call_columns import ShownCalls
from analyzer.questions.statistics.summary import MOST_CALLS, Integers, frames_of_calls, is_poll, who_of
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call, PerformanceRead
from analyzer.results.calls.call_row_columns import Context
from analyzer.results.calls.query_state import Identifier, QueryView
from analyzer.results.methods import perflib, winreg
from analyzer.results.methods.perflib import NONE_ID, Opnum, RequestCode
from analyzer.results.records.capture_records import OmissionRecord
from analyzer.results.records.sample import Source
from analyzer.results.records.statistics import ActivityKind, ActivityRecord, Category, ImageRecord, Who
from analyzer.results.reported_names.counter_name_tables import (
    WELL_KNOWN,
    NameTable,
    is_index,
    table_language,
    value_in_words,
)
from analyzer.results.reported_names.counterset_catalog import Catalog
from analyzer.results.reported_names.server_names import Named
from analyzer.transport.rpc.rpc_names import fault_name

if TYPE_CHECKING:
    import numpy.typing as npt

# English names of countersets and objects whose values describe processes (their instances are image names), about the
# network and its connections, about users that are logged on. Anchored at the start, case does not matter.
_CATEGORIES: Mapping[Category, re.Pattern[str]] = {
    "process": re.compile(r"(?:process|thread|full image|image|job object details)(?:\Z| v\d| details)", re.I),
    "network": re.compile(
        r"network |tcpv|udpv|ipv[46]|icmp|tcp\Z|udp\Z|ip\Z|nbt connection|server\Z|server sessions|redirector\Z|smb |"
        r"physical network|per processor network|wfpv|ipsec|ras |dns|dhcp",
        re.I,
    ),
    "terminal-services": re.compile(r"terminal services|remotefx|remote desktop|user input delay", re.I),
}
# Objects whose instances are processes by their image names; of a thread, the parent instance is.
IMAGES = re.compile(r"process(?:\Z| v\d)", re.I)
_PROCESS_ID = "id process"
# A DWORD. A larger value is no process id, even if the counter has this name.
MAX_PROCESS_ID = 0xFFFFFFFF
_TOTAL = "_Total"

# A server that invents processes without end must not make us remember them all.
MAX_IMAGES = 100_000
# Nor a client that polls thousands of countersets, or changes what it polls each time: so many are looked at over all polls.
MAX_POLLED = 20_000_000
# Stands for the target of calls that stayed encrypted.
SEALED = "something that is sealed"
_EMPTY = "empty answer"
# Value names are the client's to choose; more different ones than that say nothing more.
MAX_DETAILS = 32


class Activity(Struct, frozen=True):
    """An activity: what one account did to one target, over the whole capture.

    `target` is a GUID or a title index, None for calls about no single one; `name` its name for people; `detail` says more in
    words. `calls` are the numbers of all such calls. `failed` counts those that the server refused or did not answer. `read` are
    the numbers of those whose answer held what was asked for. `unread` counts the others by their outcome. `refused` counts those
    that were refused for another reason than too small a buffer. `altered` counts those that others may have changed.
    """

    kind: ActivityKind
    who: Who
    category: Category | None
    target: str | int | None
    name: str | None
    detail: str | None
    calls: Sequence[int]
    failed: int
    read: Sequence[int]
    unread: Mapping[str, int]
    refused: int
    first_time_ns: int
    last_time_ns: int
    altered: int = 0


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


class ActivityFindings(Struct, frozen=True):
    """The findings about activity: deeds and images, and how many sightings of images and polls were left out because there were
    too many. `lists` are the answers that listed all processes of a machine, by number and time of their calls, ascending."""

    activities: tuple[Activity, ...]
    images: Sequence[ProcessSighting]
    forgotten_images: int
    forgotten_polls: int = 0
    lists: Mapping[ListKey, Sequence[tuple[int, int]]] = {}


def activity_record(one: Activity, analysis: Analysis) -> ActivityRecord:
    """The record of an activity, with the first of its calls."""
    calls = tuple(one.calls[:MOST_CALLS])
    frames, files = frames_of_calls(analysis, calls)
    return ActivityRecord(
        kind=one.kind,
        who=one.who,
        category=one.category,
        target=one.target,
        name=one.name,
        detail=one.detail,
        count=len(one.calls),
        call_numbers=calls,
        failed=one.failed,
        with_data=len(one.read),
        without_data=dict(one.unread),
        first_time_ns=one.first_time_ns,
        last_time_ns=one.last_time_ns,
        frames=frames,
        frame_files=files,
        altered=one.altered or UNSET,
    )


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


def omissions(found: ActivityFindings) -> Iterator[OmissionRecord]:
    """Yields records of the activities and images that were left out because there were too many."""
    if found.forgotten_images:
        text = f"{found.forgotten_images} sightings of processes beyond the first {MAX_IMAGES} are not listed"
        yield OmissionRecord(text=text)
    if found.forgotten_polls:
        text = f"{found.forgotten_polls} polls of too many different counters are not listed among the findings"
        yield OmissionRecord(text=text)


def findings(analysis: Analysis, damages: Damages | None = None) -> ActivityFindings:
    """Returns activities in the order of their first calls, and images in the order of their first sighting. Notes the damage of
    answers to polls in `damages`."""
    return _ActivitySearch(analysis, Damages() if damages is None else damages).found()


def category_of(name: str | None) -> Category | None:
    """Returns the category of a counterset or object that somebody looked at, by its English name, None for no category."""
    if name is not None:
        for category, pattern in _CATEGORIES.items():
            if pattern.match(name):
                return category
    return None


class _Deeds(Struct):
    category: Category | None
    name: str | None
    details: dict[str, None] = field(default_factory=dict)
    calls: Integers = field(default_factory=lambda: array("q"))
    failed: int = 0
    read: Integers = field(default_factory=lambda: array("q"))
    unread: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    first_ns: int = 0
    last_ns: int = 0

    def count_call(self, number: int, call: Call, *, holds: bool, is_damaged: bool) -> None:
        """Counts one more call of an activity, whose answer `holds` something."""
        is_read = call.outcome == "answered" and holds
        self.take_answer(number, call.time_ns, None if is_read else _ending(call, is_damaged=is_damaged))
        self.failed += call.outcome in ("refused", "asked")
        self.refused += call.outcome == "refused" and not call.asks_size

    def take_answer(self, number: int, time_ns: int, ending: str | None) -> None:
        """Counts one more call of an activity; `ending` says why its answer showed nothing, None for an answer with data."""
        self.first_ns = min(self.first_ns, time_ns) if self.calls else time_ns
        self.last_ns = max(self.last_ns, time_ns)
        self.calls.append(number)
        if ending is None:
            self.read.append(number)
        else:
            self.unread[ending] += 1


# Methods that ask about a counterset or poll one; sealed, they do not state which.
_ABOUT_SOMETHING: Mapping[int, ActivityKind] = {
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: "describe-counterset",
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: "list-instances",
    Opnum.QUERY_COUNTER_DATA: "poll",
}

# Names of the request codes.
_CODES: Mapping[int, str] = RequestCode.names

_Target = str | int | None
# A target with its category and its name; that of calls about no single one.
_What = tuple[_Target, Category | None, str | None]
_NOTHING: _What = (None, None, None)
# A process and its id, where the answer states it.
_Seen = tuple[ImageKey, int | None]
# The query handle or the read of a value that was tried, by its number.
_Tried = tuple[Source, int]


class _Poll(NamedTuple):
    """The activities of equal polls: by one caller, to one query, with answers of one layout. Each has the reason why it showed
    nothing, if so."""

    deeds: tuple[tuple[_Deeds, str | None], ...]
    # They are kept, so that no others can have their identity.
    layout: PerfDataLayout
    view: QueryView


class _ObjectBlock(Struct, frozen=True):
    """The objects of a PERF_DATA_BLOCK that an activity looked at. With a `layout`, the values of their instances stand in `data`
    alone."""

    objects: tuple[WinPerfObject, ...] = ()
    data: bytes = b""
    layout: WinperfLayout | None = None
    is_damaged: bool = False

    def has_values(self, item: WinPerfObject) -> bool:
        """Whether an object of a PERF_DATA_BLOCK has an instance with a value."""
        if self.layout is not None:
            return bool(item.instances and item.definitions)
        return any(instance.values for instance in item.instances)

    def values(self, place: int, column: int) -> list[int | str | None]:
        """Returns the values of one counter of the object at a place, one for each instance; None for an instance without one."""
        if self.layout is not None:
            return counter_values(self.data, self.layout, place, column)
        rows = (instance.values for instance in self.objects[place].instances)
        return [row[column] if column < len(row) else None for row in rows]


class _ActivitySearch:
    # The most deeds to keep for layouts of answers, by query and caller.
    MAX_KEPT = 100_000

    def __init__(self, analysis: Analysis, damages: Damages) -> None:
        self._analysis, self._damages = analysis, damages
        self._polls: Kept[_Poll] = Kept(self.MAX_KEPT)
        self._deeds: dict[tuple[ActivityKind, Who, _Target, bool], _Deeds] = {}
        self._images: dict[ImageKey, dict[int | None, ProcessSighting]] = {}
        self._lists: dict[ListKey, dict[int, int]] = {}
        self._kept = self._forgotten = self._forgotten_polls = 0
        self._polled_sets: dict[int, tuple[str, ...]] = {}
        self._show_images: dict[int, bool] = {}
        # Calls that asked with too small a buffer, by query handle or read: they count where no other of it was answered.
        self._tries: dict[_Tried, Integers] = {}
        self._answered: set[_Tried] = set()
        self._left = MAX_POLLED

    def found(self) -> ActivityFindings:
        calls, shown = self._analysis.calls, ShownCalls(self._analysis)
        is_perflib = shown.is_of(perflib.INTERFACE)
        is_perflib &= shown.is_one("opnum", Opnum.ENUMERATE_COUNTER_SET, *_ABOUT_SOMETHING)
        is_winreg = shown.is_of(winreg.INTERFACE)
        is_wanted = is_perflib | (is_winreg & (shown.column("rare") > 0))
        (places, lengths), views = shown.buffers("response"), shown.views
        is_poll = is_perflib & shown.answered & (shown.column("opnum") == Opnum.QUERY_COUNTER_DATA)
        is_poll &= (places >= 0) & (views >= 0) & shown.is_one("response_buffer_kind", "perf-data")
        columns = shown.numbers, is_poll, views, shown.column("context"), shown.column("first_time"), places, lengths
        contexts, log = calls.table.contexts, calls.table.log
        for number, is_plain, view, context, time_ns, place, length in zip(
            *(column[is_wanted].tolist() for column in columns), strict=True
        ):
            if is_plain:
                data = log.read(place, length)
                if self._plain_poll(number, time_ns, calls.states[view], contexts[context], data):
                    continue
            call = calls[number - 1]
            if call.is_perflib:
                self._perflib(number, call)
            elif call.is_winreg and call.read is not None:
                self._winperf(number, call)
        for tries in self._tries.values():
            for number in tries:
                self._note_data(number, self._analysis.calls[number - 1])
        if self._tries:
            for deeds in self._deeds.values():
                deeds.calls = array("q", sorted(deeds.calls))
        altered = set(shown.numbers[shown.altered].tolist())
        activities = sorted(
            (
                Activity(
                    kind,
                    who,
                    deeds.category,
                    target,
                    deeds.name,
                    ", ".join(deeds.details) or None,
                    deeds.calls,
                    deeds.failed,
                    deeds.read,
                    deeds.unread,
                    deeds.refused,
                    deeds.first_ns,
                    deeds.last_ns,
                    len(altered.intersection(deeds.calls)) if altered else 0,
                )
                for (kind, who, target, _), deeds in self._deeds.items()
            ),
            key=lambda activity: (activity.calls[0], str(activity.target)),
        )
        images = [one for by_pid in self._images.values() for one in by_pid.values()]
        images.sort(key=attrgetter("first_call"))
        lists = {key: sorted(calls.items()) for key, calls in self._lists.items()}
        return ActivityFindings(tuple(activities), images, self._forgotten, self._forgotten_polls, lists)

    def _note(
        self,
        kind: ActivityKind,
        call: Call,
        number: int,
        target: _What,
        detail: str | None = None,
        *,
        holds: bool,
        is_damaged: bool = False,
    ) -> None:
        """Notes a call as its caller's activity. Its answer `holds` what was asked for, at least before any damage."""
        which, category, name = target
        key = kind, Who(*who_of(call)), which, detail == SEALED
        deeds = self._deeds.setdefault(key, _Deeds(category, name))
        deeds.count_call(number, call, holds=holds, is_damaged=is_damaged)
        if detail is not None and len(deeds.details) < MAX_DETAILS:
            deeds.details[detail] = None

    def _is_try(self, tried: _Tried, number: int, call: Call) -> bool:
        """Whether a call of an activity only asked for a size; it is kept in case no other call gets an answer."""
        if call.asks_size and tried not in self._answered:
            self._tries.setdefault(tried, array("q")).append(number)
        if call.outcome == "answered":
            self._tries.pop(tried, None)
        return call.asks_size

    def _note_data(self, number: int, call: Call) -> None:
        """Notes the activity of a poll or a read, answered or not."""
        if call.is_perflib:
            self._note_poll(number, call)
        else:
            self._note_read(number, call)

    def _see(self, call: Call, number: int, seen: Iterable[_Seen], listed: Iterable[str | int]) -> None:
        """Notes the processes that one answer shows, each of which is `seen` once. The answer lists all processes of the targets
        `listed`, unless others may have changed it."""
        viewer, time_ns = (Who(*who_of(call)),), call.time_ns
        source: Source = "perflib-v2" if call.is_perflib else "winperf"
        may_be_changed = call.is_altered
        for target in listed if not may_be_changed else ():
            self._lists.setdefault((call.server.ip, source, target), {})[number] = time_ns
        images = self._images
        for key, pid in seen:
            by_pid = images.get(key)
            one = _seen_before(key, pid, by_pid) if by_pid is not None else None
            if one is None and self._kept >= MAX_IMAGES:
                self._forgotten += 1
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

    # PerflibV2

    def _perflib(self, number: int, call: Call) -> None:
        catalog = self._analysis.catalogs.catalog_of(call.server)
        opnum, guid = call.opnum, call.counterset
        if opnum is not None and opnum in _ABOUT_SOMETHING and call.state == "sealed":
            self._note(_ABOUT_SOMETHING[opnum], call, number, _NOTHING, SEALED, holds=False)
        elif opnum == Opnum.ENUMERATE_COUNTER_SET:
            count = _countersets_enumerated(call)
            words = f"{count} countersets" if count is not None else None
            self._note("list-countersets", call, number, _NOTHING, words, holds=bool(count))
        elif opnum == Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO and guid is not None:
            words = _code_words(call.request_code)
            self._note("describe-counterset", call, number, _counterset(guid, catalog), words, holds=_has_bytes(call))
        elif opnum == Opnum.ENUMERATE_COUNTER_SET_INSTANCES and guid is not None:
            self._note("list-instances", call, number, _counterset(guid, catalog), holds=_has_bytes(call))
            if call.outcome == "answered" and _is_of_images(guid, catalog):
                seen, is_whole = _listed(call, guid)
                self._see(call, number, seen, (guid,) if is_whole and seen else ())
        elif opnum == Opnum.QUERY_COUNTER_DATA and call.query is not None:
            tried: _Tried = "perflib-v2", call.query.number
            if not self._is_try(tried, number, call):
                self._note_data(number, call)
            if call.outcome == "answered":
                self._answered.add(tried)

    def _plain_poll(self, number: int, time_ns: int, view: QueryView, context: Context, data: bytes) -> bool:
        """Notes the activity of an answered poll by the layout of its answer. Returns False if the call must be read."""
        if view.held is None or self._may_show_images(view, context):
            return False
        read = PERF_DATA.read(data)
        if read is None:
            return False
        self._damages.note_sound(number, "response")
        tried: _Tried = "perflib-v2", view.number
        self._tries.pop(tried, None)
        self._answered.add(tried)
        if polled := self._countersets(view, view.held):
            key = id(read.layout), id(view), id(context)
            poll = self._polls.get(
                key, lambda: self._poll_of(read.layout, view, context, polled), lambda made: len(made.deeds)
            )
            for deeds, ending in poll.deeds:
                deeds.take_answer(number, time_ns, ending)
        return True

    def _poll_of(self, layout: PerfDataLayout, view: QueryView, context: Context, polled: Sequence[str]) -> _Poll:
        catalog, who = self._analysis.catalogs.catalog_of(context.server), Who(*who_of(context))
        shown = _sets_shown(view, _blocks_with_values(layout))
        deeds = []
        for guid in polled:
            which, category, name = _counterset(guid, catalog)
            one = self._deeds.setdefault(("poll", who, which, False), _Deeds(category, name))
            # A block that nothing attributes to a counterset may be of any that is held.
            deeds.append((one, None if guid in shown or None in shown else _EMPTY))
        return _Poll(tuple(deeds), layout, view)

    def _may_show_images(self, view: QueryView, context: Context) -> bool:
        """Whether answers to a query may show processes."""
        known = self._show_images.get(id(view))
        if known is None:
            catalog = self._analysis.catalogs.catalog_of(context.server)
            sets = {view.counterset, *(known.counterset for known in view.blocks.values())}
            known = any(one is not None and _is_of_images(one, catalog) for one in sets)
            self._show_images[id(view)] = known
        return known

    def _note_poll(self, number: int, call: Call) -> None:
        assert call.query is not None
        catalog = self._analysis.catalogs.catalog_of(call.server)
        side = call.response if call.outcome == "answered" else None
        images = _ImageBlocks.blocks_of(call.query, catalog)
        columns = None
        if side is not None and side.buffer is not None:
            columns = perf_data_columns(side.buffer.data, images.id_counters)
        blocks = distinct(columns.block[columns.data_size >= 0]).tolist() if columns is not None else []
        shown = _sets_shown(call.query, blocks)
        is_damaged = columns is not None and columns.problem is not None
        if side is not None and columns is not None and not is_damaged:
            self._damages.note(number, "response", side, None)
        if call.query.held is None:
            words = f"what is not known: {call.query.unknown}"
            self._note("poll", call, number, _NOTHING, words, holds=bool(shown), is_damaged=is_damaged)
            return
        for guid in self._countersets(call.query, call.query.held):
            # A block that nothing attributes to a counterset may be of any that is held.
            holds = guid in shown or None in shown
            self._note("poll", call, number, _counterset(guid, catalog), holds=holds, is_damaged=is_damaged)
        if columns is not None:
            listed = () if is_damaged else _listed_whole(call.query, blocks, catalog)
            self._see(call, number, _polled(call.server.ip, columns, images), listed)

    def _countersets(self, view: QueryView, held: Sequence[Identifier]) -> tuple[str, ...]:
        """Returns the countersets that a query handle was polled for. Polls without a change between them share a view."""
        known = self._polled_sets.get(id(view))
        if known is None:
            self._left -= len(held)
            known = tuple(dict.fromkeys(identifier.counterset for identifier in held)) if self._left > 0 else ()
            self._polled_sets[id(view)] = known
        self._left -= len(known)
        if self._left > 0:
            return known
        self._forgotten_polls += 1
        return ()

    # winperf

    def _winperf(self, number: int, call: Call) -> None:
        assert call.read is not None
        if not self._is_try(("winperf", call.read.number), number, call):
            self._note_read(number, call)

    def _note_read(self, number: int, call: Call) -> None:
        assert call.read is not None
        table = self._analysis.name_tables.table_of(call.server)
        side = call.response
        if table_language(call.read.value_name, call.read.key) is not None:
            words = value_in_words(call.read.value_name, table, call.read.key)
            has_names = side is not None and side.buffer_kind == "name-table" and any(side.buffer_data)
            self._note("read-names", call, number, _NOTHING, words, holds=has_names)
            return
        answer = self._answer_of(side.buffer_data) if side is not None and is_poll(call) else _ObjectBlock()
        is_damaged = answer.is_damaged
        if not answer.objects:
            self._note_asked(number, call, table, is_damaged=is_damaged)
            return
        server = call.server.ip
        seen: dict[_Seen, None] = {}
        listed: list[int] = []
        for place, item in enumerate(answer.objects):
            # Metadata states which counters an object has, not their values.
            kind: ActivityKind = "describe-counterset" if item.is_metadata else "poll"
            holds = item.is_metadata or answer.has_values(item)
            target = _object(item.name_index, table)
            self._note(kind, call, number, target, _as(call.read), holds=holds, is_damaged=is_damaged)
            english = _english(item.name_index, table)
            if english is None or not IMAGES.match(english):
                continue
            if holds and not is_damaged:
                listed.append(item.name_index)
            column = _process_id_column([definition.name_index for definition in item.definitions], table)
            values = answer.values(place, column) if column is not None else [None] * len(item.instances)
            for instance, value in zip(item.instances, values, strict=True):
                pid = value if isinstance(value, int) and 0 <= value <= MAX_PROCESS_ID else None
                if instance.name and instance.name != _TOTAL:
                    seen[(server, "winperf", item.name_index, instance.name, None), pid] = None
        self._see(call, number, seen, listed)

    def _answer_of(self, data: bytes) -> _ObjectBlock:
        """Returns the objects of a PERF_DATA_BLOCK: with the layout of a regular one, else with all values."""
        if (block := WINPERF.read(data)) is not None:
            return _ObjectBlock(block.layout.objects, data, block.layout)
        rows = winperf_rows(data)
        return _ObjectBlock(rows.objects, is_damaged=rows.problem is not None)

    def _note_asked(self, number: int, call: Call, table: NameTable, *, is_damaged: bool) -> None:
        """Notes the activity of a read whose answer had no object, for the objects that it asked for by number."""
        assert call.read is not None
        first, *others = call.read.value_name.split()[: MAX_DETAILS + 1] or [""]
        is_metadata = first.casefold().startswith("metadata")
        indices = [int(word) for word in (others if is_metadata else [first, *others]) if is_index(word)]
        kind: ActivityKind = "describe-counterset" if is_metadata else "poll"
        for index in indices:
            target = _object(index, table)
            self._note(kind, call, number, target, _as(call.read), holds=False, is_damaged=is_damaged)
        if not indices:
            words = f'the value "{call.read.value_name}"'
            self._note(kind, call, number, _NOTHING, words, holds=False, is_damaged=is_damaged)


def _seen_before(key: ImageKey, pid: int | None, by_pid: dict[int | None, ProcessSighting]) -> ProcessSighting | None:
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


def _ending(call: Call, *, is_damaged: bool) -> str:
    """Returns in words why a call of an activity showed nothing."""
    match call.outcome:
        case "refused" if call.fault is not None:
            return f"fault {fault_name(call.fault) or hex(call.fault)}"
        case "refused":
            assert call.status is not None
            return "too small a buffer" if call.asks_size else win32_name(call.status) or f"error {call.status}"
        case "asked":
            return "no answer"
        case "unreadable":
            return call.state
        case _:
            return "damaged answer" if is_damaged else _EMPTY


def _as(read: PerformanceRead) -> str:
    return f'asked for as "{read.value_name}"'


def _object(index: int, table: NameTable) -> _What:
    name = table.name(index)
    return index, category_of(_english(index, table)), name.text if name is not None else None


def _has_bytes(call: Call) -> bool:
    """Whether the answer to a call of an activity carries any data."""
    start, stop = (call.response.buffer_span if call.response is not None else None) or (0, 0)
    return stop > start


def _blocks_with_values(layout: PerfDataLayout) -> Iterator[int]:
    """Yields the blocks in the layout of a data answer by which somebody saw a value."""
    for part in layout.parts:
        if not isinstance(part, Grid):
            yield from distinct(part.block[part.data_size >= 0]).tolist()
        elif len(part):
            yield part.block


def _sets_shown(view: QueryView, blocks: Iterable[int]) -> frozenset[str | None]:
    """Returns the countersets that these blocks of an answer showed to who asked; None among them stands for a block that may be of
    any."""
    return frozenset(counterset_of(view, block) for block in blocks)


def _counterset(guid: str, catalog: Catalog) -> _What:
    return guid, category_of(_english_of(guid, catalog)), catalog.label(guid)


def _english_of(guid: str, catalog: Catalog) -> str | None:
    entry = catalog.countersets.get(guid)
    return entry.label if entry is not None else None


def _is_of_images(guid: str, catalog: Catalog) -> bool:
    name = _english_of(guid, catalog)
    return name is not None and IMAGES.match(name) is not None


def _countersets_enumerated(call: Call) -> int | None:
    answered = call.response if call.outcome == "answered" else None
    count = answered.params.get("pdwOutSize") if answered is not None else None
    return count if isinstance(count, int) else None


def _code_words(code: int | None) -> str | None:
    return _CODES.get(code, f"code {code}") if code is not None else None


def _listed(call: Call, guid: str) -> tuple[Mapping[_Seen, None], bool]:
    """Returns the process instances that an answer of EnumerateCounterSetInstances showed, and whether its list is whole."""
    side = call.response
    if side is None or side.buffer is None or side.buffer_kind != "instances":
        return {}, False
    read = decode_buffer("instances", side.buffer.data)
    seen: dict[_Seen, None] = {}
    for item in read.tree.get("instances", ()):
        name = item.get("name")
        if name and name != _TOTAL:
            seen[(call.server.ip, "perflib-v2", guid, name, item.get("instance_id")), None] = None
    return seen, read.problem is None


class _ImageBlocks(NamedTuple):
    """The blocks in answers to a query that may show processes. `every` is the counterset of all blocks if it is one of processes;
    `process_ids` are the counters that state process ids."""

    blocks: Mapping[int, Identifier]
    every: str | None
    process_ids: frozenset[tuple[str, int]]

    @classmethod
    def blocks_of(cls, view: QueryView, catalog: Catalog) -> _ImageBlocks:
        blocks = {block: known for block, known in view.blocks.items() if _is_of_images(known.counterset, catalog)}
        every = view.counterset if view.counterset is not None and _is_of_images(view.counterset, catalog) else None
        sets = {known.counterset for known in blocks.values()} | ({every} if every is not None else set())
        process_ids = frozenset((one, counter) for one in sets for counter in _process_ids(one, catalog))
        return cls(blocks, every, process_ids)

    @property
    def id_counters(self) -> frozenset[int]:
        """The numbers of the counters that state process ids."""
        return frozenset(counter for _, counter in self.process_ids)


def _polled(server: str, columns: PerfColumns, images: _ImageBlocks) -> Iterable[_Seen]:
    """Returns the processes in the blocks of a data answer that are those of a process counterset, each once."""
    blocks, every, process_ids = images
    if not blocks and every is None:
        return ()
    seen: dict[ImageKey, int | None] = {}
    telling = _telling(columns, images.id_counters)
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


def _listed_whole(view: QueryView, blocks: Iterable[int], catalog: Catalog) -> Iterator[str]:
    """Yields the process countersets of which a query asks for all instances, and which have values in these blocks of an answer.
    A block without any states an error, not that nothing runs."""
    for known in (view.blocks[block] for block in blocks if block in view.blocks):
        if known.instance in (None, "", "*") and _is_of_images(known.counterset, catalog):
            yield known.counterset


def _process_ids(guid: str, catalog: Catalog) -> Iterator[int]:
    """The counters of a counterset that state the ids of the processes that an answer showed."""
    entry = catalog.countersets.get(guid)
    for number, counter in entry.counters.items() if entry is not None else ():
        if (counter.label or "").casefold() == _PROCESS_ID:
            yield number


def _telling(columns: PerfColumns, process_ids: frozenset[int]) -> npt.NDArray[np.int64]:
    """Returns the rows of a data answer that may show a process or its id. These are the first value of each instance in a block,
    values of counters for process ids, and values whose block does not name their counter. Error values do not count."""
    rows = np.flatnonzero(columns.data_size >= 0)
    counters = columns.counter_id[rows]
    is_telling = (counters < 0) | np.isin(counters, list(process_ids))
    is_telling[:1] = True
    for column in (columns.block, columns.instance, columns.instance_id):
        is_telling[1:] |= column[rows[1:]] != column[rows[:-1]]
    return rows[is_telling]


def _english(index: int, table: NameTable) -> str | None:
    """Returns the English name of an object that somebody looked at, by its title index: the reported one, else the base
    system's."""
    named: Named = table.named(index)
    return named.english.text if named.english is not None else WELL_KNOWN.get(index)


def _process_id_column(indices: list[int], table: NameTable) -> int | None:
    for at, index in enumerate(indices):
        if (_english(index, table) or "").casefold() == _PROCESS_ID:
            return at
    return None
