"""An analysis as the entries of a case, and back (docs/case-file.md). Nothing of a key is among them.

Each column of the table of calls is an entry, in the order of the calls; the log of their bytes is another. All else is one
MessagePack record. Columns are read when somebody asks for them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from ipaddress import ip_address
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import MsgspecError, Struct, msgpack
from msgspec.structs import replace

from analyzer.core.columns import SavedColumns, saved_column
from analyzer.core.errors import CaseError
from analyzer.core.events import Problem
from analyzer.core.naming import Name, Texts
from analyzer.core.origins import pack_origins, packed_length
from analyzer.core.spill import Readable, ReadLog
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.call import Call
from analyzer.results.call_table import (
    FORMATS,
    CallTable,
    Context,
    OrderedCalls,
    PdusRow,
    RareOfSide,
    SharedValues,
    together,
)
from analyzer.results.catalog import Catalogs, CounterEntry, CountersetEntry, Described
from analyzer.results.connection import Bound, FeaturesOffered, Pdu, SmbSession
from analyzer.results.name_tables import NameTables
from analyzer.results.pdus import Pdus
from analyzer.results.perflib import PARAMS
from analyzer.results.query import Held, Identifier, InOrder, QueryView
from analyzer.results.sample import IdSource


class _Counter(Struct, array_like=True):
    english: Name | None
    names: list[tuple[int, Name]]
    helps: list[tuple[int, Name]]
    info: dict[str, Any] | None
    info_source: str | None


class _Counterset(Struct, array_like=True):
    english: Name | None
    names: list[tuple[int, Name]]
    helps: list[tuple[int, Name]]
    guid: str
    provider_name: str | None
    provider_guid: str | None
    instance_type: int | None
    given: list[str]
    counters: dict[int, _Counter]
    instances: dict[int, str | None]


class _NameTable(Struct, array_like=True):
    reported: dict[str, dict[int, str]]
    given: dict[str, dict[int, str]]


class _View(Struct, array_like=True):
    """A state of a query handle. `held` names a list and how many of it; `blocks` are positions in a list of their own, or (`in
    order`) those of what is held."""

    handle: str
    number: int
    counterset: str | None
    id_source: IdSource | None
    unknown: str | None
    held: tuple[int, int] | None
    in_order: tuple[int, int] | None
    blocks: list[tuple[int, Identifier]]


class State(Struct):
    """All of an analysis but its calls, of which it states how many there are and what their numbers stand for."""

    capture: CaptureFacts
    calls: int
    shared: SharedValues
    lists: list[list[Identifier]]
    states: list[_View]
    problems: list[Problem]
    sessions: list[SmbSession]
    bounds: list[Bound]
    pdus: list[Pdu]
    features: list[FeaturesOffered]
    secrets_given: bool
    closed: list[int]
    connections: dict[str, int]
    catalogs: dict[str, dict[str, _Counterset]]
    name_tables: dict[str, _NameTable]


# The entries; a column is the entry of its name.
STATE, LOG = "state/state.msgpack", "state/calls.log"
# A call has as many bytes, at least, its origins and a PDU; of the calls of a small case this is not asked.
_FEWEST_BYTES, _FREE_BYTES = 32, 32 << 10
# The columns of the table, and which state of a query handle a call saw, -1 for none.
_VIEW = "view"
SAVED: Mapping[str, str] = {**FORMATS, _VIEW: "i"}
ENTRIES = (STATE, LOG, *(f"calls/{name}.npy" for name in SAVED))


def dump(analysis: Analysis) -> dict[str, Callable[[], Iterable[bytes]]]:
    """The entries of an analysis, each as what gives its bytes."""
    calls, lists = analysis.calls, _Lists()
    state = State(
        capture=replace(analysis.capture, names=dict(analysis.capture.names)),
        calls=len(calls),
        shared=calls.table.shared,
        states=[_packed_view(view, lists) for view in calls.states],
        lists=lists.items,
        problems=list(analysis.problems),
        sessions=list(analysis.sessions),
        bounds=list(analysis.bounds),
        pdus=list(analysis.pdus),
        features=list(analysis.features),
        secrets_given=analysis.secrets_given,
        closed=sorted(analysis.closed),
        connections=dict(analysis.connections),
        catalogs={
            ip: {guid: _packed_counterset(entry) for guid, entry in catalog.countersets.items()}
            for ip, catalog in analysis.catalogs
        },
        name_tables={ip: _NameTable(*table.packed()) for ip, table in analysis.name_tables.all()},
    )
    packed = msgpack.encode(state)
    columns: dict[str, Callable[[], Iterable[bytes]]] = {
        f"calls/{name}.npy": partial(_column, calls, name) for name in SAVED
    }
    return {**columns, STATE: lambda: (packed,), LOG: calls.table.log.pieces}


def _column(calls: OrderedCalls, name: str) -> Iterable[bytes]:
    return saved_column(np.asarray(calls.views, np.int32) if name == _VIEW else calls.column(name))


def load(entries: Mapping[str, Readable]) -> Analysis:
    """The analysis of which `dump` made these. Whoever wrote them may have written anything: what cannot be is an error of msgspec,
    a `ValueError` or a `LookupError`; in a call it is a `CaseError` when the call is looked at."""
    state, log = entries[STATE], entries[LOG]
    found = msgpack.decode(state.read(0, state.size), type=State)
    if not 0 <= found.calls * _FEWEST_BYTES <= max(log.size, _FREE_BYTES):
        raise ValueError(f"it has {found.calls} calls, and {log.size} bytes of them")
    _check_addresses(found)
    lists = found.lists
    states = [_view(view, lists) for view in found.states]
    sources = {name: entries[f"calls/{name}.npy"] for name in SAVED}
    columns = SavedColumns(SAVED, sources, found.calls)
    views = columns.column(_VIEW)
    if found.calls and not -1 <= views.min() <= views.max() < len(states):
        raise IndexError("calls refer to states of handles that are not there")
    table = _SavedCalls.over(columns, ReadLog(log), found.shared)
    calls = OrderedCalls(table, range(found.calls), array("i", views.astype(np.int32).tobytes()), states)
    catalogs, tables = Catalogs(), NameTables()
    for ip, countersets in found.catalogs.items():
        catalogs.at(ip).countersets.update({guid: _counterset(entry) for guid, entry in countersets.items()})
    for ip, names in found.name_tables.items():
        tables.at(ip).unpack(names.reported, names.given)
    return Analysis(
        capture=found.capture,
        calls=calls,
        problems=tuple(found.problems),
        sessions=tuple(found.sessions),
        bounds=tuple(found.bounds),
        pdus=tuple(found.pdus),
        catalogs=catalogs,
        name_tables=tables,
        secrets_given=found.secrets_given,
        features=tuple(found.features),
        closed=frozenset(found.closed),
        connections=found.connections,
    )


def _check_addresses(state: State) -> None:
    """Raises `ValueError` where an end of a connection has no address."""
    shared = state.shared
    ends = {end for context in shared.contexts for end in (context.client, context.server)}
    ends |= {end for session in state.sessions for end in (session.client, session.server)}
    for ip in {end.ip for end in ends} | {server.ip for server, _ in shared.handle_names}:
        ip_address(ip)


def _check_params(call: Call) -> None:
    """Raises `ValueError` where a call that decoded lacks parameters of its method, or has some of another type."""
    is_whole = call.state == "complete" and call.is_perflib and call.opnum is not None
    for name, side in (("request", call.request), ("response", call.response)):
        if side is None:
            continue
        wanted = PARAMS.get((call.opnum or 0, name), {}) if is_whole and side.problem is None else {}
        if name == "response" and (call.fault is not None or not side.params):
            wanted = {}
        for key, kind in wanted.items():
            value = side.params.get(key)
            if not isinstance(value, kind) and not (kind is str and key == "szMachine" and value is None):
                raise ValueError(f"its {key} is not what its method has")
        for key, value in side.params.items():
            if isinstance(value, dict) and not (
                isinstance(value.get("uuid"), str) and isinstance(value.get("attributes"), int)
            ):
                raise ValueError(f"its {key} is no handle")


# What reading numbers and packed bytes that contradict each other ends in.
_CONTRADICTIONS = (MsgspecError, LookupError, ValueError, TypeError, ArithmeticError, RecursionError)


class _SavedCalls(CallTable):
    """Calls of a case: what does not fit together is a `CaseError`."""

    _is_checked = False

    def read(self, at: int, number: int, query: QueryView | None) -> Call:
        try:
            if not self._is_checked:
                self._check_lengths()
            call = super().read(at, number, query)
            _check_params(call)
            return call
        except _CONTRADICTIONS as error:
            raise CaseError(f"the case is damaged: call {at + 1} cannot be read ({error})") from None

    def column(self, name: str) -> npt.NDArray[Any]:
        try:
            return super().column(name)
        except _CONTRADICTIONS as error:
            raise CaseError(f"the case is damaged: {error}") from None

    def number(self, name: str, at: int) -> int:
        try:
            return super().number(name, at)
        except _CONTRADICTIONS as error:
            raise CaseError(f"the case is damaged: {name} of call {at + 1} cannot be read ({error})") from None

    def context(self, at: int) -> Context:
        try:
            return super().context(at)
        except _CONTRADICTIONS as error:
            raise CaseError(f"the case is damaged: call {at + 1} cannot be read ({error})") from None

    def _check_lengths(self) -> None:
        """Raises `ValueError` where all calls together have more bytes than there are. Otherwise a case of a megabyte, each call of
        which has it whole, would be a gigabyte."""
        stated = sum(int(np.maximum(self.column(name), 0).sum()) for name in FORMATS if name.endswith(_LENGTHS))
        if stated > self.log.end:
            raise ValueError(f"calls have {stated} bytes together, more than there are")
        self._is_checked = True

    def _apart(self, row: PdusRow, rare: RareOfSide) -> list[Pdus]:
        if together([one for one, _ in rare.apart]) != row:
            raise ValueError("PDUs that are not its own")
        return super()._apart(row, rare)

    def _stored(self, row: PdusRow, plains: Any) -> Pdus:
        found = super()._stored(row, plains)
        if packed_length(pack_origins(found.whole)) < len(found.whole):
            raise ValueError("bytes without an origin")
        _check(found)
        return found


# Columns that state how many bytes of the log a call has.
_LENGTHS = ("rare", "params", "origins", "whole", "unsealed", "ends")


def _check(pdus: Pdus) -> None:
    """Raises `ValueError` where stubs do not lie in their PDUs, or PDUs not in the bytes of all."""
    bounds, stops = pdus.bounds, [*pdus.stops] if pdus.stops is not None else [len(pdus.whole)]
    sizes = [stop - start for start, stop in pairwise((0, *stops))]
    starts, ends = bounds[::2], bounds[1::2]
    if not len(starts) == len(ends) == len(sizes) > 0 or stops[-1] > len(pdus.whole) or min(sizes) < 0:
        raise ValueError("PDUs that do not lie in their bytes")
    if any(start > end or end > size for start, end, size in zip(starts, ends, sizes, strict=True)):
        raise ValueError("stubs that do not lie in their PDUs")
    if pdus.plains is not None and len(pdus.plains) != len(sizes):
        raise ValueError("more or fewer stubs than PDUs")


class _Lists:
    """The lists of counters that handles held, each once, however many calls saw the first of it."""

    def __init__(self) -> None:
        self.items: list[list[Identifier]] = []
        self._numbers: dict[int, int] = {}
        self._alive: list[Sequence[Identifier]] = []

    def number_and_length(self, held: Sequence[Identifier]) -> tuple[int, int]:
        """The number of a list, and how many of it."""
        whole = held.whole if isinstance(held, Held) else held
        number = self._numbers.get(id(whole))
        if number is None:
            number = self._numbers[id(whole)] = len(self.items)
            self._alive.append(whole)
            self.items.append(list(whole))
        return number, len(held)


def _packed_view(view: QueryView, lists: _Lists) -> _View:
    in_order = isinstance(view.blocks, InOrder)
    return _View(
        view.handle,
        view.number,
        view.counterset,
        view.id_source,
        view.unknown,
        lists.number_and_length(view.held) if view.held is not None else None,
        lists.number_and_length(view.blocks.held) if isinstance(view.blocks, InOrder) else None,
        [] if in_order else list(view.blocks.items()),
    )


def _view(view: _View, lists: list[list[Identifier]]) -> QueryView:
    held = Held.first(lists[view.held[0]], view.held[1]) if view.held is not None else None
    blocks: Any = dict(view.blocks)
    if view.in_order is not None:
        blocks = InOrder(Held.first(lists[view.in_order[0]], view.in_order[1]))
    return QueryView(view.handle, view.number, blocks, view.counterset, view.id_source, held, view.unknown)


def _packed_counterset(entry: CountersetEntry) -> _Counterset:
    return _Counterset(
        entry.english,
        list(entry.names),
        list(entry.helps),
        entry.guid,
        entry.provider_name,
        entry.provider_guid,
        entry.instance_type,
        sorted(entry.given),
        {
            number: _Counter(
                counter.english, list(counter.names), list(counter.helps), counter.info, counter.info_source
            )
            for number, counter in entry.counters.items()
        },
        entry.instances,
    )


def _counterset(packed: _Counterset) -> CountersetEntry:
    entry = CountersetEntry(
        guid=packed.guid,
        provider_name=packed.provider_name,
        provider_guid=packed.provider_guid,
        instance_type=packed.instance_type,
        given=set(packed.given),
        instances=packed.instances,
    )
    _describe(entry, packed)
    for number, counter in packed.counters.items():
        made = entry.counters[number] = CounterEntry(info=counter.info, info_source=counter.info_source)  # type: ignore[arg-type]
        _describe(made, counter)
    return entry


def _describe(entry: Described, packed: _Counter | _Counterset) -> None:
    entry.english = packed.english
    entry.names, entry.helps = Texts.of(packed.names), Texts.of(packed.helps)
