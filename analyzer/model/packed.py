"""An analysis as bytes and back: the packed calls in one log, all else as one MessagePack record. Nothing of a key is among it.

What a case file keeps so that every command can read it (docs/case-file.md).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import pairwise
from operator import add, le
from typing import Any, get_args

from msgspec import MsgspecError, Struct, msgpack
from msgspec.structs import replace

from analyzer.core.errors import CaseError
from analyzer.core.events import Problem
from analyzer.core.naming import Name, Texts
from analyzer.core.origins import pack_origins, packed_length
from analyzer.core.spill import Log
from analyzer.model.analysis import Analysis, CaptureFacts
from analyzer.model.call import Call, CallState
from analyzer.model.catalog import Catalogs, CounterEntry, CountersetEntry, Described
from analyzer.model.connection import Bound, FeaturesOffered, Pdu, SmbSession
from analyzer.model.name_tables import NameTables
from analyzer.model.pdus import Pdus
from analyzer.model.query import Held, Identifier, InOrder, QueryView
from analyzer.model.sample import IdSource
from analyzer.model.store import CallStore, CallWriter, PackedCall, Shared


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
    """All of an analysis but the log of its calls."""

    capture: CaptureFacts
    places: bytes
    lengths: bytes
    shared: Shared
    views: bytes
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


def dump(analysis: Analysis) -> tuple[bytes, Log]:
    """The state of an analysis, and its log: the calls in order, each behind its long parts. No byte is of two calls."""
    writer = CallWriter()
    views: array[int] = array("q")
    states: list[_View] = []
    numbers: dict[int, int] = {}
    lists = _Lists()
    seen: list[QueryView] = []  # so that no other state can have the identity of one
    for call in analysis.calls:
        writer.append(call)
        query = call.query
        if query is None:
            views.append(-1)
            continue
        number = numbers.get(id(query))
        if number is None:
            number = numbers[id(query)] = len(states)
            seen.append(query)
            states.append(_packed_view(query, lists))
        views.append(number)
    places, lengths, shared, log = writer.packed()
    state = State(
        capture=replace(analysis.capture, names=dict(analysis.capture.names)),
        places=places,
        lengths=lengths,
        shared=shared,
        views=views.tobytes(),
        lists=lists.items,
        states=states,
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
    return msgpack.encode(state), log


def load(state: bytes, log: Log) -> Analysis:
    """The analysis of which `dump` made these. Whoever wrote them may have written anything: what cannot be is an error of msgspec,
    a `ValueError` or a `LookupError`; in a call it is a `CaseError` when the call is looked at."""
    found = msgpack.decode(state, type=State)
    lists = found.lists
    states = [_view(view, lists) for view in found.states]
    writer = _ReadCalls.of(log, found.places, found.lengths, found.shared)
    views = array("q", found.views)
    if not len(writer) == len(views) == len(found.lengths) // array("I").itemsize:
        raise ValueError("it says of other calls than it has what they hold")
    if views and not -1 <= min(views) <= max(views) < len(states):
        raise IndexError("calls refer to states of handles that are not there")
    writer.check_places()
    calls = CallStore(writer, range(len(writer)), views, states)
    catalogs, tables = Catalogs(), NameTables()
    for ip, countersets in found.catalogs.items():
        catalogs.at(ip).countersets.update({guid: _counterset(entry) for guid, entry in countersets.items()})
    for ip, table in found.name_tables.items():
        tables.at(ip).unpack(table.reported, table.given)
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


class _ReadCalls(CallWriter):
    """Calls that somebody else packed: what does not fit together is a `CaseError`."""

    def check_places(self) -> None:
        """Raises `ValueError` where calls do not lie one behind the other: each byte of a case is read for one call only."""
        ends = map(add, self._places, self._lengths)
        if len(self) and (self._places[0] < 0 or not all(map(le, ends, self._places[1:]))):
            raise ValueError("calls that lie in each other")

    def read(self, at: int, number: int, query: QueryView | None) -> Call:
        try:
            call = super().read(at, number, query)
            if call.state not in _STATES:
                raise ValueError("a state that no call has")
        except (MsgspecError, LookupError, ValueError, TypeError, ArithmeticError, RecursionError) as error:
            raise CaseError(f"the case is damaged: call {at + 1} cannot be read ({error})") from None
        return call

    def row(self, at: int) -> PackedCall:
        found = super().row(at)
        first, stop = self._places[at - 1] + self._lengths[at - 1] if at else 0, self._places[at]
        sides = [side for side in (found.request, found.response) if side is not None]
        parts = [part for side in sides for pdus in side.pdus for part in (pdus.whole, pdus.origins, pdus.unsealed)]
        logged = [part for part in parts if isinstance(part, tuple)]
        if logged and (
            sum(length for _, length in logged) > stop - first
            or not all(first <= position <= position + length <= stop for position, length in logged)
        ):
            raise ValueError("bytes that are not its own")
        return found

    def _pdus(self, row: Any) -> Pdus:
        found = super()._pdus(row)
        if packed_length(pack_origins(found.whole)) < len(found.whole):
            raise ValueError("bytes without an origin")
        _check(found)
        return found


_STATES = frozenset(get_args(CallState))


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
