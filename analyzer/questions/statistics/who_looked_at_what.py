"""Finds activity in performance traffic: who looked at what on which machine.

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
from typing import TYPE_CHECKING, NamedTuple

from msgspec import UNSET, Struct, field

from analyzer.core.array_functions import distinct
from analyzer.core.caches import Kept
from analyzer.core.error_code_names import win32_name
from analyzer.interfaces.buffers.perf_data_layout import PERF_DATA, Grid, PerfDataLayout
from analyzer.interfaces.buffers.value_rows import perf_data_columns, winperf_rows
from analyzer.interfaces.buffers.winperf_layout import WINPERF, WinperfLayout, WinPerfObject, counter_values
from analyzer.interfaces.call_contents.damaged_buffers import Damages
from analyzer.interfaces.pcq.perflib_samples import counterset_of
from analyzer.questions.statistics.call_statistics import MOST_CALLS, Integers, frames_of_calls, is_poll, who_of
from analyzer.questions.statistics.process_sightings import (
    IMAGES,
    MAX_IMAGES,
    ListKey,
    ProcessBlocks,
    ProcessSighting,
    ProcessSightings,
    SeenProcess,
    english_of_object,
    english_of_set,
    is_of_processes,
    listed_processes,
    polled_processes,
    process_id_column,
    processes_of_object,
    sets_listed_whole,
)
from analyzer.questions.statistics.shown_call_columns import ShownCalls
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call, PerformanceRead
from analyzer.results.calls.call_row_columns import Context
from analyzer.results.calls.query_state import Identifier, QueryView
from analyzer.results.methods import perflib, winreg
from analyzer.results.methods.perflib import Opnum, RequestCode
from analyzer.results.records.capture_records import OmissionRecord
from analyzer.results.records.sample import Source
from analyzer.results.records.statistics import ActivityKind, ActivityRecord, Category, Who
from analyzer.results.reported_names.counter_name_tables import (
    NameTable,
    is_index,
    table_language,
    value_in_words,
)
from analyzer.results.reported_names.counterset_catalog import Catalog
from analyzer.transport.rpc.rpc_names import fault_words

if TYPE_CHECKING:
    pass

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
        """Whether somebody who looked at an object of a PERF_DATA_BLOCK saw an instance with a value."""
        if self.layout is not None:
            return bool(item.instances and item.definitions)
        return any(instance.values for instance in item.instances)

    def values(self, place: int, column: int) -> list[int | str | None]:
        """Returns what somebody saw who looked at one counter of the object at a place: a value for each instance, None for an
        instance without one."""
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
        self._sightings = ProcessSightings()
        self._forgotten_polls = 0
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
        seen = self._sightings
        images, lists = seen.in_order(), seen.lists_in_order()
        return ActivityFindings(tuple(activities), images, seen.forgotten, self._forgotten_polls, lists)

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
        """Whether somebody only asked for the size of what there is to look at; the call is kept in case no other call gets an
        answer."""
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
            if call.outcome == "answered" and is_of_processes(guid, catalog):
                seen, is_whole = listed_processes(call, guid)
                self._sightings.add_answer(call, number, seen, (guid,) if is_whole and seen else ())
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
        """Whether somebody who looks at what a query holds may see processes."""
        known = self._show_images.get(id(view))
        if known is None:
            catalog = self._analysis.catalogs.catalog_of(context.server)
            sets = {view.counterset, *(known.counterset for known in view.blocks.values())}
            known = any(one is not None and is_of_processes(one, catalog) for one in sets)
            self._show_images[id(view)] = known
        return known

    def _note_poll(self, number: int, call: Call) -> None:
        assert call.query is not None
        catalog = self._analysis.catalogs.catalog_of(call.server)
        side = call.response if call.outcome == "answered" else None
        images = ProcessBlocks.blocks_of(call.query, catalog)
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
            listed = () if is_damaged else sets_listed_whole(call.query, blocks, catalog)
            self._sightings.add_answer(call, number, polled_processes(call.server.ip, columns, images), listed)

    def _countersets(self, view: QueryView, held: Sequence[Identifier]) -> tuple[str, ...]:
        """Returns the countersets that a client looked at by polls on a query handle. Polls without a change between them share a
        view."""
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
        seen: dict[SeenProcess, None] = {}
        listed: list[int] = []
        for place, item in enumerate(answer.objects):
            # Metadata states which counters an object has, not their values.
            kind: ActivityKind = "describe-counterset" if item.is_metadata else "poll"
            holds = item.is_metadata or answer.has_values(item)
            target = _object(item.name_index, table)
            self._note(kind, call, number, target, _as(call.read), holds=holds, is_damaged=is_damaged)
            english = english_of_object(item.name_index, table)
            if english is None or not IMAGES.match(english):
                continue
            if holds and not is_damaged:
                listed.append(item.name_index)
            column = process_id_column([definition.name_index for definition in item.definitions], table)
            ids = answer.values(place, column) if column is not None else [None] * len(item.instances)
            seen |= processes_of_object(server, item, ids)
        self._sightings.add_answer(call, number, seen, listed)

    def _answer_of(self, data: bytes) -> _ObjectBlock:
        """Returns what somebody saw who looked at a PERF_DATA_BLOCK: its objects, with the layout of a regular one, else with all
        values."""
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


def _ending(call: Call, *, is_damaged: bool) -> str:
    """Returns in words why a call of an activity showed nothing."""
    match call.outcome:
        case "refused" if call.fault is not None:
            return fault_words(call.fault)
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
    return index, category_of(english_of_object(index, table)), name.text if name is not None else None


def _has_bytes(call: Call) -> bool:
    """Whether somebody who looked at a counterset was answered with any data."""
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
    return guid, category_of(english_of_set(guid, catalog)), catalog.label(guid)


def _countersets_enumerated(call: Call) -> int | None:
    answered = call.response if call.outcome == "answered" else None
    count = answered.params.get("pdwOutSize") if answered is not None else None
    return count if isinstance(count, int) else None


def _code_words(code: int | None) -> str | None:
    return _CODES.get(code, f"code {code}") if code is not None else None
