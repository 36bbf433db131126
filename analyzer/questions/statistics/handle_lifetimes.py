"""The lifetime of each query handle, from its opening to its end: every call on it, and the counters it held at that time.

In: an analysis. Out: `HandleLifetime` values in the order of the handles' numbers. [MS-PCQ] section 3.1.1.1 keeps a list of
counters with each handle. `pcq.queries` follows what the calls say about it; this module orders and judges it. Was the handle used
after it was closed, outside the association group that it was given out in, or without being given out? [MS-RPCE] section 3.1.1.5
ties a context handle to the association group it was made in.

The records of `handles` have each query handle with its events and counters, and what it held when, as positions in these.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from msgspec import UNSET, Struct
from msgspec.structs import replace

from analyzer.core.caches import once_for_each
from analyzer.core.error_code_names import win32_name
from analyzer.interfaces.buffers.struct_layouts import DATA_HEADER, promised_blocks
from analyzer.interfaces.pcq.perflib_layer import identifiers_in, identifiers_of
from analyzer.questions.statistics.shown_call_columns import ShownCalls
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call, CallState, Side
from analyzer.results.calls.call_row_columns import STATES, Context
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.calls.query_state import Identifier, QueryView
from analyzer.results.connection import Bound
from analyzer.results.methods import perflib
from analyzer.results.methods.perflib import NONE_ID, Opnum
from analyzer.results.records.handle import (
    CounterFacts,
    End,
    EventCounter,
    EventKind,
    HandleEvent,
    HandleRecord,
    Holding,
    Origin,
    Violation,
)
from analyzer.results.records.record_types import Endpoint
from analyzer.results.reported_names.counterset_catalog import Catalog
from analyzer.transport.rpc.rpc_names import fault_name, fault_words

if TYPE_CHECKING:
    from analyzer.questions.statistics.shown_call_columns import Numbers


# ----------------------------------------------------------------------------------------------------- handle lifetimes


class HandleCall(Struct, frozen=True):
    """One call on a query handle, in its lifetime. `call` is its number in the timeline.

    `view` is the state of the handle when the call was made. `identifiers` are those in the answer of an add, a remove or an info,
    each with its own `status`; None if there is no answer or it is damaged. `asked` are those of the request. `blocks` is the
    number of blocks that the header of a poll's answer states.
    """

    kind: EventKind
    call: int
    time_ns: int
    client: Endpoint
    channel: int
    state: CallState
    status: int | None
    fault: int | None
    view: QueryView
    asked: tuple[Identifier, ...] | None = None
    identifiers: tuple[Identifier, ...] | None = None
    blocks: int | None = None
    violations: tuple[Violation, ...] = ()

    @property
    def succeeded(self) -> bool:
        return self.state == "complete" and self.status == 0

    @property
    def fault_words(self) -> str:
        """Says with which fault the call on the handle ended. It must have ended with one."""
        assert self.fault is not None
        return fault_words(self.fault)


class HandleEvents(Sequence[HandleCall]):
    """The calls on a query handle in order, in columns. Polls differ only in number and time. An event is made when it is looked
    at."""

    def __init__(self, events: Iterable[HandleCall] = ()) -> None:
        self._calls, self._times, self._kinds = array("q"), array("q"), array("I")
        # The rest of each event, without number and time; one for all polls that are alike.
        self._alike: list[HandleCall] = []
        self._numbers: dict[tuple[object, ...], int] = {}
        for event in events:
            self.append(event)

    def append(self, event: HandleCall) -> None:
        key: tuple[object, ...] = (len(self._alike),)
        if event.kind == "poll":
            key = (event.client, event.channel, event.state, event.status, event.fault, id(event.view), event.blocks)
            key = (*key, event.violations)
        self.append_alike(event.call, event.time_ns, key, lambda: event)

    def append_alike(self, call: int, time_ns: int, key: tuple[object, ...], make: Callable[[], HandleCall]) -> None:
        """Appends a call on a query handle that differs from others of its key only in number and time; makes the first one."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._alike)
            self._alike.append(make())
        self._calls.append(call)
        self._times.append(time_ns)
        self._kinds.append(number)

    @property
    def calls(self) -> Sequence[int]:
        """The numbers of the calls on the query handle."""
        return self._calls

    def __len__(self) -> int:
        return len(self._calls)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self._calls))

    def __iter__(self) -> Iterator[HandleCall]:
        return self.where(lambda alike: True)

    def where(self, is_wanted: Callable[[HandleCall], bool]) -> Iterator[HandleCall]:
        """Yields the wanted calls in the lifetime of a query handle. It asks once for events that are alike, so number and time
        must not matter."""
        wanted = [alike if is_wanted(alike) else None for alike in self._alike]
        for kind, call, time_ns in zip(self._kinds, self._calls, self._times, strict=True):
            if (alike := wanted[kind]) is not None:
                yield replace(alike, call=call, time_ns=time_ns)

    @overload
    def __getitem__(self, where: int) -> HandleCall: ...

    @overload
    def __getitem__(self, where: slice) -> Sequence[HandleCall]: ...

    def __getitem__(self, where: int | slice) -> HandleCall | Sequence[HandleCall]:
        if isinstance(where, slice):
            return [self[at] for at in range(*where.indices(len(self)))]
        alike = self._alike[self._kinds[where]]
        return replace(alike, call=self._calls[where], time_ns=self._times[where])


class HandleLifetime(Struct, frozen=True):
    """The lifetime of one query handle. `number` counts the handles of the capture from 1, as `q1` in the timeline.

    `opened` and `closed` are the numbers of the calls that opened and closed it, None if no successful call was captured. `clients`
    and `channels` are all that used it, in the order of their first use. `reason` is a sentence about an origin or end that is not
    plain.
    """

    server: Endpoint
    handle: str
    number: int
    clients: tuple[Endpoint, ...]
    channels: tuple[int, ...]
    origin: Origin
    opened: int | None
    end: End
    closed: int | None
    reason: str | None
    events: HandleEvents

    @property
    def polls(self) -> tuple[HandleCall, ...]:
        return tuple(self.events.where(lambda event: event.kind == "poll"))


_KINDS: dict[int, EventKind] = {
    Opnum.OPEN_QUERY_HANDLE: "open",
    Opnum.CLOSE_QUERY_HANDLE: "close",
    Opnum.QUERY_COUNTER_INFO: "info",
    Opnum.QUERY_COUNTER_DATA: "poll",
}
# The columns of a call: the numbers of its method, context, state, status, fault and view.
_Stated = tuple[int, int, int, int, int, int]
_ON_A_HANDLE = {*_KINDS, Opnum.VALIDATE_COUNTERS}


@once_for_each
def handle_lifetimes(analysis: Analysis) -> tuple[HandleLifetime, ...]:
    """The lifetimes of all query handles that a call of the capture names, in the order of their numbers."""
    groups = {
        bound.channel.number: bound.assoc_group_id for bound in analysis.bounds if bound.assoc_group_id is not None
    }
    lifetimes: dict[int, _Lifetime] = {}
    unread: dict[int | str, tuple[int, int]] = {}
    calls = analysis.calls
    contexts, states, log = calls.table.contexts, calls.states, calls.table.log
    every = ShownCalls(replace(analysis, part=None))
    is_perflib = every.is_of(perflib.INTERFACE)
    # Others may have changed its pipe or its context too, so that it seems to be of another interface or of none.
    altered, disordered = every.altered, analysis.calls.disordered
    may_be = is_perflib | altered | every.in_context(lambda context: context.interface.uuid is None)
    columns = [
        is_perflib,
        *(every.column(name) for name in ("context", "opnum", "first_time", "state", "status", "fault")),
    ]
    columns += [every.views, every.is_one("state", "complete"), altered, every.answered, *_stated(every)]
    for (
        number,
        of_perflib,
        context,
        opnum,
        time_ns,
        state,
        status,
        fault,
        view,
        is_complete,
        is_altered,
        is_answered,
        is_stated,
        place,
        length,
    ) in zip(*(column[may_be].tolist() for column in (every.numbers, *columns)), strict=True):
        is_disordered = number in disordered
        if is_altered or is_disordered or not of_perflib or (not is_complete and view < 0):
            shared = contexts[context]
            where = shared.server.ip if is_altered else shared.channel
            unread[where] = unread.get(where, (number,))[0], number
        if of_perflib and view >= 0 and opnum in _ON_A_HANDLE:
            query = states[view]
            lifetime = lifetimes.get(query.number)
            if lifetime is None:
                lifetime = lifetimes[query.number] = _Lifetime(contexts[context].server, query, calls, groups)
            lifetime.note_use(number, contexts[context], is_answered=is_answered, is_disordered=is_disordered)
            lifetime.is_in_doubt |= is_altered and opnum == Opnum.OPEN_QUERY_HANDLE
            if not is_stated:
                lifetime.take_call(number)
                continue
            data = log.read(place, length) if length else b""
            lifetime.take_stated(number, time_ns, (opnum, context, state, status, fault, view), data)
    evidence = _Evidence(analysis, unread)
    return tuple(lifetimes[number].lifetime(evidence) for number in sorted(lifetimes))


def shown_lifetimes(analysis: Analysis) -> tuple[HandleLifetime, ...]:
    """Returns the lifetimes of the query handles that shown calls name, with only these calls. Origin and end are judged by all
    calls."""
    lifetimes = handle_lifetimes(analysis)
    if analysis.part is None:
        return lifetimes
    shown = analysis.shown
    found = (
        replace(one, events=HandleEvents(event for event in one.events if shown.holds(event.call))) for one in lifetimes
    )
    return tuple(lifetime for lifetime in found if lifetime.events)


def _stated(calls: ShownCalls) -> tuple[Numbers, Numbers, Numbers]:
    """Returns which calls in lifetimes of handles columns state in full (their requests have no list of counters). Also returns the
    place and length of each answer's list, or of the header of a data answer."""
    places, lengths = calls.buffers("response")
    is_poll, has_buffer = calls.column("opnum") == Opnum.QUERY_COUNTER_DATA, calls.column("response_buffer_kind") >= 0
    is_stated = (calls.column("opnum") != Opnum.VALIDATE_COUNTERS) & (calls.column("request_buffer_kind") < 0)
    is_data, is_list = (calls.is_one("response_buffer_kind", kind) for kind in ("perf-data", "identifiers"))
    is_stated &= ~has_buffer | (np.where(is_poll, is_data, is_list) & (places >= 0))
    lengths = np.where(is_poll, np.minimum(lengths, DATA_HEADER.size), lengths)
    return is_stated, places, np.where(has_buffer, lengths, 0)


class _Evidence:
    """What a handle's lifetime is judged by, beside its calls: the gaps of the capture that matter for it.

    `unread` is by channel the first and the last unread call, which may be any on any handle; by address of the server, the first
    and the last of which a signature does not fit. `lost_frame` is the last frame of a loss.
    """

    def __init__(self, analysis: Analysis, unread: Mapping[int | str, tuple[int, int]]) -> None:
        # Channels whose handles can only have been given out in the capture: it shows them begin, and the association group too.
        joined = {bound.channel.number for bound in analysis.bounds if bound.joins_group}
        groups = {_group(bound) for bound in analysis.bounds if bound.channel.number not in joined}
        self.bound = {
            bound.channel.number
            for bound in analysis.bounds
            if bound.channel.number not in joined or _group(bound) in groups
        }
        self.unread = unread
        self.lost_frame = max(
            (max(problem.frames) for problem in analysis.problems if problem.kind == "gap" and problem.frames),
            default=-1,
        )


class _Lifetime:
    def __init__(self, server: Endpoint, query: QueryView, calls: OrderedCalls, groups: dict[int, int]) -> None:
        self._server, self._query, self._calls, self._groups = server, query, calls, groups
        self._clients: dict[Endpoint, None] = {}
        self._channels: dict[int, None] = {}
        self._events = HandleEvents()
        self._opened: int | None = None
        self._closed: int | None = None
        # Others may have changed the call that opened it, and so its value.
        self.is_in_doubt = False
        self._tried_to_close = False
        # The last call on it that the server carried out, or the first of all.
        self._last_served = 0
        # The channel of its first use that succeeded, which is the one it was given out on where that was captured.
        self._home: int | None = None
        # Whether its last use and its close have their place in the order of the calls for certain.
        self._is_certain = self._is_close_certain = True
        # The violations of its last use.
        self._violations: tuple[Violation, ...] = ()

    def note_use(self, number: int, context: Context, *, is_answered: bool, is_disordered: bool) -> None:
        """Notes one more use of the handle in its lifetime, and what is wrong with it."""
        channel = context.channel
        if is_answered or not self._channels:
            self._last_served = number
        if self._home is None and is_answered:
            self._home = channel
        self._clients[context.client] = None
        self._channels[channel] = None
        violations: list[Violation] = []
        self._is_certain = not is_disordered
        if self._closed is not None and self._is_certain and self._is_close_certain:
            violations.append("after-close")
        if self._home not in (None, channel):
            here, there = self._groups.get(channel), self._groups.get(self._home)
            # A context handle is valid on all associations of its group ([MS-RPCE] section 3.1.1.5).
            if here is None or there is None:
                violations.append("other-channel")
            elif here != there:
                violations.append("other-association")
        self._violations = tuple(violations)

    def take_stated(self, number: int, time_ns: int, what: _Stated, data: bytes) -> None:
        """Takes into the handle's lifetime a call that columns state in full. `data` is the list in its answer, or the header of a
        data answer. Polls with equal statements are alike."""
        if what[0] == Opnum.QUERY_COUNTER_DATA:
            key = (*what, promised_blocks(data), self._violations)
            self._events.append_alike(number, time_ns, key, lambda: self._stated(number, time_ns, what, data))
        else:
            self._append(self._stated(number, time_ns, what, data))

    def take_call(self, number: int) -> None:
        """Takes a call on the query handle that columns do not state in full."""
        self._append(self._event(number))

    def _append(self, event: HandleCall) -> None:
        self._events.append(event)
        if event.kind == "open":
            self._opened = event.call
        elif event.kind == "close" and self._closed is None:
            if event.succeeded:
                self._closed, self._is_close_certain = event.call, self._is_certain
            self._tried_to_close |= event.state != "complete"

    def _stated(self, number: int, time_ns: int, what: _Stated, data: bytes) -> HandleCall:
        opnum, context, state, status, fault, view = what
        shared, is_poll = self._calls.table.contexts[context], opnum == Opnum.QUERY_COUNTER_DATA
        return HandleCall(
            _KINDS[opnum],
            number,
            time_ns,
            shared.client,
            shared.channel,
            STATES[state],
            None if status < 0 else status,
            None if fault < 0 else fault,
            self._calls.states[view],
            identifiers=identifiers_in(data) if data and not is_poll else None,
            blocks=promised_blocks(data) if is_poll else None,
            violations=self._violations,
        )

    def _event(self, number: int) -> HandleCall:
        call = self._calls[number - 1]
        assert call.query is not None
        return HandleCall(
            _kind(call),
            number,
            call.time_ns,
            call.client,
            call.channel,
            call.state,
            call.status,
            call.fault,
            call.query,
            asked=_identifiers(call.request),
            identifiers=_identifiers(call.response),
            blocks=_blocks(call.response),
            violations=self._violations,
        )

    @property
    def _last_frame(self) -> int:
        """The last frame of all calls on the query handle."""
        calls = (self._calls[number - 1] for number in self._events.calls)
        return max(side.last_frame for call in calls for side in (call.request, call.response) if side is not None)

    def lifetime(self, evidence: _Evidence) -> HandleLifetime:
        origin, end = self._origin(evidence), self._end(evidence)
        reasons = [reason for _, reason in (origin, end) if reason is not None]
        return HandleLifetime(
            self._server,
            self._query.handle,
            self._query.number,
            tuple(self._clients),
            tuple(self._channels),
            origin[0],
            self._opened,
            end[0],
            self._closed,
            "; ".join(reasons) or None,
            self._events,
        )

    def _origin(self, evidence: _Evidence) -> tuple[Origin, str | None]:
        if self._opened is not None:
            return "opened", None
        channel, first = next(iter(self._channels)), self._events[0].call
        if channel not in evidence.bound:
            return "not captured", "the beginning of the channel, or of its association group, is not in the capture"
        places = channel, self._server.ip
        if (
            any(evidence.unread.get(place, (first + 1, first))[0] <= first for place in places)
            or evidence.lost_frame >= 0
        ):
            return "not captured", "a call that was not read may have opened it"
        return "never opened", "no call gave this handle out, and nothing of its channel is missing"

    def _end(self, evidence: _Evidence) -> tuple[End, str | None]:
        if self._closed is not None:
            return "closed", None
        if self.is_in_doubt:
            return "unknown", "a signature of the call that opened it does not fit"
        if self._tried_to_close:
            return "unknown", "whether CloseQueryHandle succeeded is not in the capture"
        last = self._last_served
        places: tuple[int | str, ...] = (*self._channels, self._server.ip)
        if any(evidence.unread.get(place, (last, last))[1] > last for place in places):
            return "unknown", "a call that was not read may have closed it"
        if evidence.lost_frame >= 0 and evidence.lost_frame > self._last_frame:
            return "unknown", "bytes were lost after its last use"
        return "never closed", None


def _group(bound: Bound) -> tuple[str, int | None]:
    return bound.channel.server.ip, bound.assoc_group_id


def _kind(call: Call) -> EventKind:
    opnum = call.opnum
    assert opnum is not None
    if opnum == Opnum.VALIDATE_COUNTERS:
        added = call.request.params.get("dwAdd") != 0 if call.request is not None else True
        return "add" if added else "remove"
    return _KINDS[opnum]


def _identifiers(side: Side | None) -> tuple[Identifier, ...] | None:
    return identifiers_of(side) if side is not None and side.buffer_kind == "identifiers" else None


def _blocks(side: Side | None) -> int | None:
    if side is None or side.buffer is None or side.buffer_kind != "perf-data":
        return None
    return promised_blocks(side.buffer.part(0, min(len(side.buffer), DATA_HEADER.size)))


# ------------------------------------------------------------------------------------------------------- handle records


# A client that changes a long list before each poll must not make the record as long as the square of it.
MAX_POSITIONS = 2_000_000
_NOT_LISTED = f"not listed: the polls of this handle held more than {MAX_POSITIONS} counters in different lists"
_Key = tuple[str, int, int, str | None]


def handle_records(analysis: Analysis) -> Iterator[HandleRecord]:
    """Yields the lifetimes of all shown query handles as records of `handles`, in the order of their numbers."""
    return (handle_record(lifetime, analysis) for lifetime in shown_lifetimes(analysis))


def handle_record(lifetime: HandleLifetime, analysis: Analysis) -> HandleRecord:
    """Returns the record of a query handle's lifetime. `counters` lists each counter once. `holdings` lists each set of counters
    that it held, as positions in `counters`. Each poll states its holding."""
    catalog = analysis.catalogs.catalog_of(lifetime.server)
    counters: dict[_Key, int] = {}
    listed: list[CounterFacts] = []

    def place(identifier: Identifier) -> int:
        if identifier.key not in counters:
            counters[identifier.key] = len(listed)
            listed.append(CounterFacts(**_counter_keys(identifier, catalog)))
        return counters[identifier.key]

    holdings: list[Holding] = []
    known: dict[int, int] = {}
    positions = 0
    events = []
    for event in lifetime.events:
        holding = None
        if event.kind == "poll":
            holding = known.setdefault(id(event.view), len(holdings))
            if holding == len(holdings):
                holdings.append(_holding(event.view, place, is_listed=positions < MAX_POSITIONS))
                positions += len(event.view.held or ())
        events.append(_event_record(event, holding, analysis, catalog))
    return HandleRecord(
        handle=f"q{lifetime.number}",
        uuid=lifetime.handle,
        server=lifetime.server,
        clients=lifetime.clients,
        channels=lifetime.channels,
        origin=lifetime.origin,
        opened=lifetime.opened,
        end=lifetime.end,
        closed=lifetime.closed,
        reason=lifetime.reason,
        first_time_ns=lifetime.events[0].time_ns,
        last_time_ns=lifetime.events[-1].time_ns,
        polls=sum(event.succeeded for event in lifetime.polls),
        counters=tuple(listed),
        holdings=tuple(holdings),
        events=tuple(events),
        altered=any(event.altered is True for event in events) or UNSET,
    )


def _event_record(event: HandleCall, holding: int | None, analysis: Analysis, catalog: Catalog) -> HandleEvent:
    is_answered = event.identifiers is not None
    identifiers = event.identifiers if event.identifiers is not None else event.asked
    frames, files = analysis.capture.numbered(analysis.calls.frames(event.call))
    counters = None
    if identifiers is not None:
        counters = tuple(
            EventCounter(
                **_counter_keys(one, catalog),
                # Counters that only the request names have no status yet.
                status=one.status if is_answered else None,
                status_name=win32_name(one.status) if is_answered else None,
                index=one.index if event.kind == "info" and is_answered else None,
            )
            for one in identifiers
        )
    return HandleEvent(
        kind=event.kind,
        call=event.call,
        time_ns=event.time_ns,
        frames=frames,
        frame_files=files,
        client=event.client,
        channel=event.channel,
        state=event.state,
        status=event.status,
        status_name=win32_name(event.status) if event.status is not None else None,
        fault=event.fault,
        fault_name=fault_name(event.fault) if event.fault is not None else None,
        violations=event.violations,
        holding=holding,
        counters=counters,
        blocks=event.blocks,
        altered=event.call in analysis.calls.altered or UNSET,
    )


def _holding(view: QueryView, place: Callable[[Identifier], int], *, is_listed: bool) -> Holding:
    """Returns, for the record of a handle's lifetime, the counters that it held, and the counter of each block of a data answer, as
    positions in the handle's `counters`."""
    if not is_listed:
        return Holding(None, None, view.id_source, _NOT_LISTED)
    blocks = None
    if view.held is not None and view.id_source is not None:
        size = max(view.blocks, default=-1) + 1
        # An index that a server made up must not become a list of that length.
        if size <= 2 * len(view.held) + 16:
            named = [view.blocks.get(block) for block in range(size)]
            blocks = tuple([place(identifier) if identifier is not None else None for identifier in named])
    held = tuple([place(identifier) for identifier in view.held]) if view.held is not None else None
    return Holding(held, blocks, view.id_source, view.unknown)


def _counter_keys(identifier: Identifier, catalog: Catalog) -> dict[str, Any]:
    """Returns the keys of a counter identifier for the record of a handle. None means all counters, or any instance number."""
    one = identifier.counter_id if identifier.names_one_counter else None
    entry = catalog.counter(identifier.counterset, one)
    return {
        "counterset": identifier.counterset,
        "counterset_name": catalog.label(identifier.counterset),
        "counter_id": one,
        "counter_name": entry.label if entry is not None else None,
        "instance": identifier.instance,
        "instance_id": identifier.instance_id if identifier.instance_id != NONE_ID else None,
    }
