"""Dumps an analysis as the entries of a case file, and loads it from them (docs/case-file.md). They contain no keys.

The entries are tables: one of the calls, in their order, and some of records (`results/records/saved_record_tables.py`). Beside
them lies the log of the bytes of calls. Only those rows and columns of a table are read that somebody asks for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

from msgspec import UNSET, Struct, UnsetType

from analyzer.core.byte_log import Readable, ReadLog
from analyzer.core.caches import cached_property
from analyzer.core.errors import CaseError
from analyzer.core.events import Problem
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.calls.call import SmbFacts
from analyzer.results.calls.call_row_columns import Context, SharedValues
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.calls.query_state import Held, Identifier, InOrder, QueryView
from analyzer.results.calls.saved_calls import SavedCalls, SavedViews, check_frames, saved_columns, table_of_calls
from analyzer.results.connection import Bound, ClientMarks, FeaturesOffered, FlowLink, Logon, Pdu, SmbSession
from analyzer.results.records.capture_records import EventTrace
from analyzer.results.records.record_types import Endpoint
from analyzer.results.records.sample import IdSource
from analyzer.results.records.saved_record_tables import ROWS_OF_BATCH, Rows, TableFacts, saved
from analyzer.results.reported_names.counter_name_tables import NameTable, NameTables
from analyzer.results.reported_names.counterset_catalog import (
    Catalog,
    Catalogs,
    CounterEntry,
    CountersetEntry,
    Described,
)
from analyzer.results.reported_names.server_names import Name, Texts

if TYPE_CHECKING:
    pass

# ---------------------------------------------------------------------------------------------------------------- case entries


_Row = TypeVar("_Row")
_MAC, _NO_MAC = re.compile(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}"), "00:00:00:00:00:00"
_INTERFACE_VERSION = re.compile(r"[0-9]{1,5}(\.[0-9]{1,5})?")
_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class _Smb(Struct, frozen=True):
    facts: SmbFacts | None


class _SavedText(Struct, frozen=True):
    text: str | None


class _Steps(Struct, frozen=True):
    steps: tuple[str, ...]


class _Handle(Struct, frozen=True):
    server: Endpoint
    uuid: str


class _Number(Struct, frozen=True):
    number: int


class _HostName(Struct, frozen=True):
    ip: str
    name: str


class _First(Struct, frozen=True):
    """The first `count` items of a row of a saved analysis's table `held`."""

    row: int
    count: int


class _Held(Struct, frozen=True):
    items: list[Identifier]


class _SavedState(Struct, frozen=True):
    """A state of a query handle, saved in a case. If the blocks follow the order of some held counters (`in_order`), `blocks` is
    empty."""

    handle: str
    number: int
    counterset: str | None
    id_source: IdSource | None
    unknown: str | None
    held: _First | None
    in_order: _First | None
    blocks: dict[int, Identifier]


class _SavedTexts(Struct, frozen=True):
    english: Name | None
    names: dict[int, Name]
    helps: dict[int, Name]


class _Counterset(Struct, frozen=True):
    server: str
    guid: str
    texts: _SavedTexts
    provider_name: str | None
    provider_guid: str | None
    instance_type: int | None
    given: list[str]


class _Counter(Struct, frozen=True):
    server: str
    guid: str
    counter: int
    texts: _SavedTexts
    info: dict[str, Any] | None
    info_source: str | None


class _Instance(Struct, frozen=True):
    server: str
    guid: str
    instance: int
    name: str | None


class _Title(Struct, frozen=True):
    """A counter name of a name table, saved in a case; `is_given`: it comes from a metadata file."""

    server: str
    language: str
    index: int
    text: str
    is_given: bool


class CaseFacts(Struct, frozen=True, kw_only=True):
    """Facts about the analysis in a case that a reader needs before it reads the tables."""

    files: tuple[str, ...]
    frames: int
    bytes: int
    first_time_ns: int | None
    last_time_ns: int | None
    secrets_given: bool
    connections: dict[str, int]
    tables: dict[str, TableFacts]
    traces: tuple[EventTrace, ...] | UnsetType = UNSET
    redacted: bool | UnsetType = UNSET


class CaseContents(NamedTuple):
    """The contents of a case: facts about the analysis, and its entries, each with a function that yields its bytes."""

    facts: CaseFacts
    entries: dict[str, Callable[[], Iterable[bytes]]]


# The tables of records by their names. Beside them stands that of the calls.
RECORDS: Mapping[str, type[Struct]] = {
    "contexts": Context,
    "smbs": _Smb,
    "texts": _SavedText,
    "steps": _Steps,
    "handles": _Handle,
    "views": _SavedState,
    "held": _Held,
    "problems": Problem,
    "sessions": SmbSession,
    "logons": Logon,
    "flow_links": FlowLink,
    "binds": Bound,
    "pdus": Pdu,
    "features": FeaturesOffered,
    "marks": ClientMarks,
    "closed": _Number,
    "names": _HostName,
    "countersets": _Counterset,
    "counters": _Counter,
    "instances": _Instance,
    "titles": _Title,
}
CALLS, LOG = "calls", "log/calls.log"
ENTRIES = (*(f"tables/{name}.arrow" for name in (CALLS, *RECORDS)), LOG)
# A call has as many bytes, at least, its origins and a PDU; of the calls of a small case this is not asked.
_FEWEST_BYTES, _FREE_BYTES = 32, 32 << 10


def dump(analysis: Analysis) -> CaseContents:
    """Dumps an analysis as tables and a log, the entries that a case file has of it."""
    calls, lists, capture = analysis.calls, _Lists(), analysis.capture
    shared = calls.table.shared
    views = [_packed_view(view, lists) for view in calls.states]
    records: dict[str, Sequence[Any]] = {
        "contexts": shared.contexts,
        "smbs": [_Smb(facts) for facts in shared.smbs],
        "texts": [_SavedText(text) for text in shared.texts],
        "steps": [_Steps(steps) for steps in shared.steps],
        "handles": [_Handle(*handle) for handle in shared.handles],
        "views": views,
        "held": [_Held(items) for items in lists.items],
        "problems": analysis.problems,
        "sessions": analysis.sessions,
        "logons": analysis.logons,
        "flow_links": analysis.flow_links,
        "binds": analysis.bounds,
        "pdus": analysis.pdus,
        "features": analysis.features,
        "marks": analysis.marks,
        "closed": [_Number(number) for number in sorted(analysis.closed)],
        "names": [_HostName(ip, name) for ip, name in capture.names.items()],
        **_packed_catalogs(analysis.catalogs),
        "titles": [*_titles(analysis.name_tables)],
    }
    tables = {CALLS: table_of_calls(calls)} | {name: saved(kind, records[name]) for name, kind in RECORDS.items()}
    facts = CaseFacts(
        files=capture.files,
        frames=capture.frames,
        bytes=capture.bytes,
        first_time_ns=capture.first_time_ns,
        last_time_ns=capture.last_time_ns,
        traces=capture.traces or UNSET,
        redacted=capture.redacted or UNSET,
        secrets_given=analysis.secrets_given,
        connections=dict(analysis.connections),
        tables={name: TableFacts(table.rows, table.widths) for name, table in tables.items()},
    )
    entries: dict[str, Callable[[], Iterable[bytes]]] = {
        f"tables/{name}.arrow": table.pieces for name, table in tables.items()
    }
    return CaseContents(facts, entries | {LOG: calls.table.log.pieces})


def load(facts: CaseFacts, entries: Mapping[str, Readable]) -> Analysis:
    """Loads the analysis of a case from its entries, which `dump` made. Anybody may have written them. Impossible facts raise
    `ValueError` or `LookupError`; an impossible row or column of a table raises `CaseError` when it is looked at."""

    def rows(name: str, kind: type[_Row], check: Callable[[_Row], None] | None = None, at_once: int = 64) -> Rows[_Row]:
        table = facts.tables[name]
        source = entries[f"tables/{name}.arrow"]
        return Rows(name, kind, source, table.rows, table.widths, check=check, at_once=at_once)

    def check_place(one: Problem | SmbSession | Logon | Bound | Pdu | FeaturesOffered | ClientMarks | FlowLink) -> None:
        check_frames(one.frames, len(facts.files))

    def check_link(one: FlowLink) -> None:
        _check_address(one.src)
        _check_address(one.dst)
        if not (0 <= one.hops <= 0xFF and _MAC.fullmatch(one.mac or _NO_MAC)):
            raise ValueError("a hop limit or an address of the link layer that cannot be")
        check_place(one)

    def check_session(one: SmbSession | Logon) -> None:
        _check_ends(one)
        check_place(one)
        if isinstance(one, SmbSession):
            check_frames((*one.undecrypted_frames, *one.wrong_signature_frames), len(facts.files))

    log, count = entries[LOG], facts.tables[CALLS].rows
    if not 0 <= count * _FEWEST_BYTES <= max(log.size, _FREE_BYTES):
        raise ValueError(f"it has {count} calls, and {log.size} bytes of them")
    shared = SharedValues(
        _Kept(rows("contexts", Context, _check_context), lambda one: one),
        _Kept(rows("smbs", _Smb, _check_session), lambda one: one.facts),
        [one.text for one in rows("texts", _SavedText, at_once=ROWS_OF_BATCH)],
        [one.steps for one in rows("steps", _Steps, at_once=ROWS_OF_BATCH)],
        _Kept(rows("handles", _Handle, _check_handle), lambda one: (one.server, one.uuid)),
    )
    lists = _Kept(rows("held", _Held, at_once=16), lambda one: one.items)
    states = _Kept(rows("views", _SavedState, lambda one: _check_uuid(one.handle)), lambda one: _view(one, lists))
    columns = saved_columns(facts.tables[CALLS], entries[f"tables/{CALLS}.arrow"])
    table = SavedCalls.over(columns, ReadLog(log), shared)
    table.files = len(facts.files)
    return Analysis(
        capture=_capture_of(facts, {one.ip: one.name for one in rows("names", _HostName, at_once=ROWS_OF_BATCH)}),
        calls=OrderedCalls(table, range(count), SavedViews(table, len(states)), states),
        problems=rows("problems", Problem, check_place),
        sessions=rows("sessions", SmbSession, check_session),
        logons=rows("logons", Logon, check_session),
        flow_links=rows("flow_links", FlowLink, check_link),
        bounds=rows("binds", Bound, check_place),
        pdus=rows("pdus", Pdu, check_place),
        catalogs=_SavedCatalogs(
            rows("countersets", _Counterset), rows("counters", _Counter), rows("instances", _Instance)
        ),
        name_tables=_SavedNameTables(rows("titles", _Title)),
        secrets_given=facts.secrets_given,
        features=rows("features", FeaturesOffered, check_place),
        marks=rows("marks", ClientMarks, check_place),
        closed=frozenset([one.number for one in rows("closed", _Number, at_once=ROWS_OF_BATCH)]),
        connections=facts.connections,
    )


def _capture_of(facts: CaseFacts, names: dict[str, str]) -> CaptureFacts:
    first, last = facts.first_time_ns, facts.last_time_ns
    of_files = facts.files, facts.frames, facts.bytes
    return CaptureFacts(*of_files, first, last, names, traces=facts.traces or (), redacted=facts.redacted is True)


def _check_address(end: Endpoint) -> None:
    """Raises `ValueError` if an end of a connection in a saved analysis has no valid address or port."""
    ip_address(end.ip)
    if not 0 <= end.port < 1 << 16:
        raise ValueError(f"{end.port} is no port")


def _check_uuid(text: str) -> None:
    """Raises `ValueError` if a text of a saved analysis is no UUID in our spelling."""
    if not _UUID.fullmatch(text):
        raise ValueError(f"{text} is no UUID")


def _check_handle(handle: _Handle) -> None:
    _check_address(handle.server)
    _check_uuid(handle.uuid)


def _check_session(smb: _Smb) -> None:
    """Raises `ValueError` if the SessionId in a saved analysis is no 64-bit number."""
    if smb.facts is not None and not 0 <= int(smb.facts.session_id, 16) < 1 << 64:
        raise ValueError(f"{smb.facts.session_id} is no SessionId")


def _check_context(one: Context) -> None:
    """Raises `ValueError` if a context of calls in a saved analysis has values that no message has room for."""
    _check_ends(one)
    numbers, texts = (one.channel, one.impersonation or 0), (one.interface.uuid, one.interface.version)
    if not all(0 <= number < 1 << 32 for number in numbers) or len((one.pipe or "").encode("utf-16-le")) > 0xFFFF:
        raise ValueError("a channel, a pipe or an impersonation level that cannot be")
    if any(text and not form.fullmatch(text) for text, form in zip(texts, (_UUID, _INTERFACE_VERSION), strict=True)):
        raise ValueError(f"{texts} is no interface")


def _check_ends(carrier: Context | SmbSession | Logon) -> None:
    _check_address(carrier.client)
    _check_address(carrier.server)


class _Kept(Sequence[_Row]):
    """Objects made of the rows of a case's table. Each row is made into an object once."""

    def __init__(self, rows: Rows[Any], make: Callable[[Any], _Row]) -> None:
        self._rows, self._make = rows, make
        self._made: dict[int, _Row] = {}

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, where: int) -> _Row: ...

    @overload
    def __getitem__(self, where: slice) -> Sequence[_Row]: ...

    def __getitem__(self, where: int | slice) -> _Row | Sequence[_Row]:
        if isinstance(where, slice):
            return [self[at] for at in range(*where.indices(len(self)))]
        at = range(len(self))[where]
        if at not in self._made:
            first, rows = self._rows.beside(at)
            self._made.update(enumerate(map(self._make, rows), first))
        return self._made[at]


class _SavedCatalogs(Catalogs):
    """The counterset catalogs saved in a case, read when somebody asks for them."""

    def __init__(self, countersets: Rows[_Counterset], counters: Rows[_Counter], instances: Rows[_Instance]) -> None:
        self._rows = countersets, counters, instances

    @cached_property
    def _by_ip(self) -> dict[str, Catalog]:
        countersets, counters, instances = self._rows
        found: dict[str, Catalog] = {}
        for one in countersets:
            entry = CountersetEntry(
                guid=one.guid,
                provider_name=one.provider_name,
                provider_guid=one.provider_guid,
                instance_type=one.instance_type,
                given=set(one.given),
            )
            _describe(entry, one.texts)
            found.setdefault(one.server, Catalog()).countersets[one.guid] = entry
        try:
            for counter in counters:
                made = CounterEntry(info=counter.info, info_source=counter.info_source)  # type: ignore[arg-type]
                _describe(made, counter.texts)
                found[counter.server].countersets[counter.guid].counters[counter.counter] = made
            for item in instances:
                found[item.server].countersets[item.guid].instances[item.instance] = item.name
        except KeyError as error:
            raise CaseError(f"the case is damaged: a counterset that is not there ({error})") from None
        return found


class _SavedNameTables(NameTables):
    """The tables of counter names saved in a case. They are read when somebody asks for them."""

    def __init__(self, titles: Rows[_Title]) -> None:
        self._rows = titles

    @cached_property
    def _by_ip(self) -> dict[str, NameTable]:
        found: dict[str, NameTable] = {}
        for one in self._rows:
            table = found.setdefault(one.server, NameTable())
            if one.is_given:
                table.give(one.language, {one.index: one.text})
            else:
                table.learn(one.language, {one.index: one.text})
        return found


class _Lists:
    """The lists of counters that query handles held, for a case. A list is saved once, whatever length of it calls saw."""

    def __init__(self) -> None:
        self.items: list[list[Identifier]] = []
        self._numbers: dict[int, int] = {}
        self._alive: list[Sequence[Identifier]] = []

    def number_and_length(self, held: Sequence[Identifier]) -> _First:
        """Returns the number that a list of counters has in the saved analysis, and how many of its first items a query handle
        held."""
        whole = held.whole if isinstance(held, Held) else held
        number = self._numbers.get(id(whole))
        if number is None:
            number = self._numbers[id(whole)] = len(self.items)
            self._alive.append(whole)
            self.items.append(list(whole))
        return _First(number, len(held))


def _packed_view(view: QueryView, lists: _Lists) -> _SavedState:
    in_order = lists.number_and_length(view.blocks.held) if isinstance(view.blocks, InOrder) else None
    held = lists.number_and_length(view.held) if view.held is not None else None
    blocks = {} if in_order is not None else dict(view.blocks)
    return _SavedState(view.handle, view.number, view.counterset, view.id_source, view.unknown, held, in_order, blocks)


def _view(view: _SavedState, lists: Sequence[list[Identifier]]) -> QueryView:
    def first(part: _First | None) -> Held | None:
        if part is None:
            return None
        if not (0 <= part.row < len(lists) and 0 <= part.count <= len(lists[part.row])):
            raise CaseError("the case is damaged: views cannot be read (counters that are not there)")
        return Held.first(lists[part.row], part.count)

    held, in_order = first(view.held), first(view.in_order)
    blocks: Any = InOrder(in_order) if in_order is not None else view.blocks
    return QueryView(view.handle, view.number, blocks, view.counterset, view.id_source, held, view.unknown)


def _packed_catalogs(catalogs: Catalogs) -> dict[str, list[Any]]:
    countersets, counters, instances = list[_Counterset](), list[_Counter](), list[_Instance]()
    for ip, catalog in catalogs:
        for guid, entry in catalog.countersets.items():
            provider = entry.provider_name, entry.provider_guid, entry.instance_type
            countersets.append(_Counterset(ip, guid, _texts(entry), *provider, sorted(entry.given)))
            counters += [
                _Counter(ip, guid, number, _texts(one), one.info, one.info_source)
                for number, one in entry.counters.items()
            ]
            instances += [_Instance(ip, guid, number, name) for number, name in entry.instances.items()]
    return {"countersets": countersets, "counters": counters, "instances": instances}


def _texts(entry: Described) -> _SavedTexts:
    return _SavedTexts(entry.english, dict(entry.names), dict(entry.helps))


def _describe(entry: Described, texts: _SavedTexts) -> None:
    entry.english = texts.english
    entry.names, entry.helps = Texts.collect_texts(texts.names.items()), Texts.collect_texts(texts.helps.items())


def _titles(tables: NameTables) -> Iterator[_Title]:
    for ip, table in tables.all():
        for is_given, texts in enumerate(table.packed()):
            for language, by_index in texts.items():
                yield from (_Title(ip, language, at, text, bool(is_given)) for at, text in by_index.items())
