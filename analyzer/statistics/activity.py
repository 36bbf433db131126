"""What an investigator asks of performance traffic: who looked at what on which machine, and what there was to be seen.

Listing countersets is reconnaissance; polling Process is a process list of the server, image names and process ids included,
poll by poll; Network and Terminal Services sets describe its interfaces, connections and logged-on sessions. In: an analysis.
Out: `Activity` values, one for each account, client, server, kind and target, and `ImageRecord`s, one for each process that was
to be seen, each with the calls that carried it.

A counterset or object is known by its English name, as the server stated it or a metadata file; an object of winperf whose
English name nothing states, by its title index where that is the base system's.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, UnsetType, field

from analyzer.buffers import decode_buffer, perf_data_columns, winperf_rows
from analyzer.core.naming import Named
from analyzer.model.analysis import Analysis
from analyzer.model.call import Call
from analyzer.model.capture import OmissionRecord
from analyzer.model.catalog import Catalog
from analyzer.model.name_tables import WELL_KNOWN, NameTable, value_in_words
from analyzer.model.perflib import NONE_ID, Opnum, RequestCode
from analyzer.model.query import Identifier, QueryView
from analyzer.model.sample import Source
from analyzer.model.statistics import ActivityKind, ActivityRecord, Category, ImageRecord, Who
from analyzer.statistics.summary import MOST_CALLS, Integers, frames_of_calls, has_failed, is_poll, who_of

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
_IMAGES = re.compile(r"process(?:\Z| v\d)", re.I)
_PROCESS_ID = "id process"
# A DWORD; what is more is no process id, whatever the counter is called.
_MAX_PROCESS_ID = 0xFFFFFFFF
_TOTAL = "_Total"

# A server that invents processes without end must not make us remember them all.
MAX_IMAGES = 100_000
# Nor a client that polls thousands of countersets, or changes what it polls each time: so many are looked at over all polls.
MAX_POLLED = 20_000_000
# What stands for the target of calls that stayed encrypted.
SEALED = "something that is sealed"
# Value names are the client's to choose; more different ones than that say nothing more.
MAX_DETAILS = 32


class Activity(Struct, frozen=True):
    """What one account did to one target, over the whole capture.

    `target` is a GUID or a title index, None for calls about no single one; `name` its name for people; `detail` says more
    in words. `calls` are the numbers of all such calls, `failed` how many of these the server refused or did not answer.
    """

    kind: ActivityKind
    who: Who
    category: Category | None
    target: str | int | None
    name: str | None
    detail: str | None
    calls: Sequence[int]
    failed: int
    first_time_ns: int
    last_time_ns: int


class Findings(Struct, frozen=True):
    """Both, and how many sightings of images and how many polls were left out because there were too many."""

    activities: tuple[Activity, ...]
    images: tuple[ImageRecord, ...]
    forgotten_images: int
    forgotten_polls: int = 0


def activity_record(one: Activity, analysis: Analysis) -> ActivityRecord:
    """What an activity comes to, with the first of its calls."""
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
        first_time_ns=one.first_time_ns,
        last_time_ns=one.last_time_ns,
        frames=frames,
        frame_files=files,
    )


def omissions(found: Findings) -> Iterator[OmissionRecord]:
    """What was left out because there was too much of it."""
    if found.forgotten_images:
        text = f"{found.forgotten_images} sightings of processes beyond the first {MAX_IMAGES} are not listed"
        yield OmissionRecord(text=text)
    if found.forgotten_polls:
        text = f"{found.forgotten_polls} polls of too many different counters are not listed among the findings"
        yield OmissionRecord(text=text)


def findings(analysis: Analysis) -> Findings:
    """Activities in the order of their first calls, images in the order of their first sighting."""
    return _Search(analysis).found()


def category_of(name: str | None) -> Category | None:
    """The category of a counterset or object by its English name."""
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
    first_ns: int = 0
    last_ns: int = 0


class _Sightings(Struct):
    first_call: int
    first_ns: int
    who: dict[Who, None] = field(default_factory=dict)
    calls: int = 0
    last_call: int = 0
    last_ns: int = 0


# Methods that ask about a counterset or poll one; sealed, they do not state which.
_ABOUT_SOMETHING: Mapping[int, ActivityKind] = {
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: "describe-counterset",
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: "list-instances",
    Opnum.QUERY_COUNTER_DATA: "poll",
}

_Target = str | int | None
# Server, source, target, name and instance id: what an answer always shows of a process. The process id may come from elsewhere.
_ImageKey = tuple[str, Source, str | int, str, int | None]
_Seen = tuple[_ImageKey, int | None]


class _Search:
    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._deeds: dict[tuple[ActivityKind, Who, _Target], _Deeds] = {}
        self._images: dict[_ImageKey, dict[int | None, _Sightings]] = {}
        self._kept = self._forgotten = self._forgotten_polls = 0
        self._polled_sets: dict[int, tuple[str, ...]] = {}
        self._left = MAX_POLLED
        # Frames of pairs of calls: many processes are seen first and last in the same two.
        self._frames: dict[tuple[int, int], tuple[tuple[int, ...], tuple[int, ...] | UnsetType]] = {}

    def found(self) -> Findings:
        for number, call in self._analysis.shown:
            if call.is_perflib:
                self._perflib(number, call)
            elif call.is_winreg and call.read is not None:
                self._winperf(number, call)
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
                    deeds.first_ns,
                    deeds.last_ns,
                )
                for (kind, who, target), deeds in self._deeds.items()
            ),
            key=lambda activity: (activity.calls[0], str(activity.target)),
        )
        images = sorted(
            (
                self._image((server, source, target, name, instance_id), pid, one)
                for (server, source, target, name, instance_id), by_pid in self._images.items()
                for pid, one in by_pid.items()
            ),
            key=lambda image: image.first_call,
        )
        return Findings(tuple(activities), tuple(images), self._forgotten, self._forgotten_polls)

    def _image(self, key: _ImageKey, pid: int | None, one: _Sightings) -> ImageRecord:
        server, source, target, name, instance_id = key
        ends = one.first_call, one.last_call
        if ends not in self._frames:
            self._frames[ends] = frames_of_calls(self._analysis, ends)
        frames, files = self._frames[ends]
        return ImageRecord(
            server_ip=server,
            source=source,
            target=target,
            name=name,
            pid=pid,
            instance_id=instance_id,
            seen_by=tuple(one.who),
            calls=one.calls,
            first_call=one.first_call,
            last_call=one.last_call,
            first_time_ns=one.first_ns,
            last_time_ns=one.last_ns,
            frames=frames,
            frame_files=files,
        )

    def _note(
        self,
        kind: ActivityKind,
        call: Call,
        number: int,
        target: tuple[_Target, Category | None, str | None],
        detail: str | None = None,
    ) -> None:
        which, category, name = target
        key = kind, Who(*who_of(call)), which
        time_ns = call.time_ns
        deeds = self._deeds.get(key)
        if deeds is None:
            deeds = self._deeds[key] = _Deeds(category, name, first_ns=time_ns)
        deeds.calls.append(number)
        deeds.failed += has_failed(call) or call.response is None
        deeds.last_ns = time_ns
        if detail is not None and len(deeds.details) < MAX_DETAILS:
            deeds.details[detail] = None

    def _see(self, call: Call, number: int, seen: Iterable[_Seen]) -> None:
        """Notes the processes of one answer, each once."""
        who, time_ns = Who(*who_of(call)), call.time_ns
        for key, pid in dict.fromkeys(seen):
            one = self._sightings(key, pid, number, time_ns)
            if one is not None and one.last_call != number:
                one.who[who] = None
                one.calls += 1
                one.last_call, one.last_ns = number, time_ns

    def _sightings(self, key: _ImageKey, pid: int | None, number: int, time_ns: int) -> _Sightings | None:
        """The process, a new one where it was not seen before; None where there are too many."""
        by_pid = self._images.get(key, {})
        if pid in by_pid:
            return by_pid[pid]
        # Instances with a number are one thing as long as no other process id is stated of them; names alone may be of several.
        if key[-1] is not None and len(by_pid) == 1:
            (known,) = by_pid
            if pid is None:
                return by_pid[known]
            if known is None:
                by_pid[pid] = by_pid.pop(None)
                return by_pid[pid]
        if self._kept >= MAX_IMAGES:
            self._forgotten += 1
            return None
        self._kept += 1
        self._images[key] = by_pid
        by_pid[pid] = _Sightings(number, time_ns)
        return by_pid[pid]

    # PerflibV2

    def _perflib(self, number: int, call: Call) -> None:
        catalog = self._analysis.catalogs.of(call.server)
        opnum, guid = call.opnum, call.counterset
        if opnum is not None and opnum in _ABOUT_SOMETHING and call.state == "sealed":
            self._note(_ABOUT_SOMETHING[opnum], call, number, (None, None, None), SEALED)
        elif opnum == Opnum.ENUMERATE_COUNTER_SET:
            self._note("list-countersets", call, number, (None, None, None), _countersets_enumerated(call))
        elif opnum == Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO and guid is not None:
            self._note("describe-counterset", call, number, _counterset(guid, catalog), _code_words(call.request_code))
        elif opnum == Opnum.ENUMERATE_COUNTER_SET_INSTANCES and guid is not None:
            self._note("list-instances", call, number, _counterset(guid, catalog))
            if call.status == 0 and _is_of_images(guid, catalog):
                self._see(call, number, _listed(call, guid))
        elif opnum == Opnum.QUERY_COUNTER_DATA and call.query is not None and is_poll(call):
            if call.query.held is None:
                self._note("poll", call, number, (None, None, None), f"what is not known: {call.query.unknown}")
                return
            for guid in self._countersets(call.query, call.query.held):
                self._note("poll", call, number, _counterset(guid, catalog))
            self._see(call, number, _polled(call, catalog))

    def _countersets(self, view: QueryView, held: Sequence[Identifier]) -> tuple[str, ...]:
        """What was polled; views are shared by polls between which nothing changed."""
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
        table = self._analysis.name_tables.of(call.server)
        side = call.response
        if side is not None and side.buffer_kind == "name-table":
            words = value_in_words(call.read.value_name, table, call.read.key)
            self._note("read-names", call, number, (None, None, None), words)
            return
        if side is None or side.buffer is None or not is_poll(call):
            return
        block = winperf_rows(side.buffer.data)
        server = call.server.ip
        seen: list[_Seen] = []
        for item in block.objects:
            english = _english(item.name_index, table)
            name = table.name(item.name_index)
            target = item.name_index, category_of(english), name.text if name is not None else None
            # Metadata states which counters an object has, not their values.
            kind: ActivityKind = "describe-counterset" if item.is_metadata else "poll"
            self._note(kind, call, number, target, f'asked for as "{call.read.value_name}"')
            if english is None or not _IMAGES.match(english):
                continue
            column = _process_id_column([definition.name_index for definition in item.definitions], table)
            for instance in item.instances:
                value = instance.values[column] if column is not None and column < len(instance.values) else None
                pid = value if isinstance(value, int) and 0 <= value <= _MAX_PROCESS_ID else None
                if instance.name and instance.name != _TOTAL:
                    seen.append(((server, "winperf", item.name_index, instance.name, None), pid))
        self._see(call, number, seen)


def _counterset(guid: str, catalog: Catalog) -> tuple[str, Category | None, str | None]:
    return guid, category_of(_english_of(guid, catalog)), catalog.label(guid)


def _english_of(guid: str, catalog: Catalog) -> str | None:
    entry = catalog.countersets.get(guid)
    return entry.label if entry is not None else None


def _is_of_images(guid: str, catalog: Catalog) -> bool:
    name = _english_of(guid, catalog)
    return name is not None and _IMAGES.match(name) is not None


def _countersets_enumerated(call: Call) -> str | None:
    count = call.response.params.get("pdwOutSize") if call.response is not None and call.status == 0 else None
    return f"{count} countersets" if isinstance(count, int) else None


def _code_words(code: int | None) -> str | None:
    if code is None:
        return None
    return RequestCode(code).name if code in frozenset(RequestCode) else f"code {code}"


def _listed(call: Call, guid: str) -> Iterator[_Seen]:
    """The instances an answer of EnumerateCounterSetInstances names."""
    side = call.response
    if side is None or side.buffer is None or side.buffer_kind != "instances":
        return
    for item in decode_buffer("instances", side.buffer.data).tree.get("instances", ()):
        name = item.get("name")
        if name and name != _TOTAL:
            yield (call.server.ip, "perflib-v2", guid, name, item.get("instance_id")), None


def _polled(call: Call, catalog: Catalog) -> Iterator[_Seen]:
    """The processes in the blocks of a data answer that are those of a process counterset."""
    view, side = call.query, call.response
    if view is None or side is None or side.buffer is None:
        return
    server = call.server.ip
    blocks = {block: known for block, known in view.blocks.items() if _is_of_images(known.counterset, catalog)}
    is_all = view.counterset is not None and _is_of_images(view.counterset, catalog)
    if not blocks and not is_all:
        return
    columns = perf_data_columns(side.buffer.data)
    pids: dict[_ImageKey, int] = {}
    seen: dict[_ImageKey, None] = {}
    rows = zip(
        columns.block.tolist(),
        columns.counter_id.tolist(),
        columns.instance.tolist(),
        columns.instance_id.tolist(),
        columns.value.tolist(),
        columns.is_int.tolist(),
        strict=True,
    )
    counters: dict[tuple[str, int], bool] = {}
    for block, column, place, instance_id, value, is_int in rows:
        known = blocks.get(block)
        counterset = known.counterset if known is not None else view.counterset if is_all else None
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
        key: _ImageKey = (server, "perflib-v2", counterset, name, number if number != NONE_ID else None)
        seen[key] = None
        if counter is None or not is_int:
            continue
        is_pid = counters.get((counterset, counter))
        if is_pid is None:
            entry = catalog.counter(counterset, counter)
            is_pid = entry is not None and (entry.label or "").casefold() == _PROCESS_ID
            counters[counterset, counter] = is_pid
        if is_pid and value <= _MAX_PROCESS_ID:
            pids[key] = value
    for key in seen:
        yield key, pids.get(key)


def _english(index: int, table: NameTable) -> str | None:
    """The English name of a title index: as reported, or the base system's where only a local name is known."""
    named: Named = table.named(index)
    return named.english.text if named.english is not None else WELL_KNOWN.get(index)


def _process_id_column(indices: list[int], table: NameTable) -> int | None:
    for at, index in enumerate(indices):
        if (_english(index, table) or "").casefold() == _PROCESS_ID:
            return at
    return None
