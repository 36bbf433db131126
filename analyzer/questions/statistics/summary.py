"""What a capture amounts to in numbers: response times by method, polls and their rhythm, who called, and which errors came.

In: an analysis. Out: records, in an order that does not change from run to run. Times are in nanoseconds. A median of an
even number of values is the mean of the middle two, rounded down; the 95th percentile is the smallest value that at least
95 % do not exceed. Jitter is the mean distance of intervals from their median.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, UnsetType, field

from analyzer.core.absence import Missing
from analyzer.core.win32 import win32_name
from analyzer.interfaces.contents.lines import buffer_damage, numbered
from analyzer.interfaces.pcq.layer import identifiers_of
from analyzer.questions.statistics.shown import ShownCalls
from analyzer.results import winreg
from analyzer.results.analysis import Analysis
from analyzer.results.call import Call, InterfaceFacts, PerformanceRead
from analyzer.results.call_table import Context
from analyzer.results.name_tables import table_language, value_in_words
from analyzer.results.perflib import Opnum
from analyzer.results.record import Endpoint
from analyzer.results.statistics import (
    ErrorKind,
    ErrorStatsRecord,
    IdentityStatsRecord,
    MethodStatsRecord,
    PollStatsRecord,
    Spread,
)
from analyzer.transport.rpc.status import fault_name

# Before Python 3.12 `array` takes no parameter at run time, when a struct's fields are looked up.
if TYPE_CHECKING:
    Integers = array[int]
else:
    Integers = array

# So many calls, and their frames, stand for all that a record is about.
MOST_CALLS = 256


def spread_of(values: array[int]) -> Spread:
    """How numbers are spread."""
    if not values:
        return Spread(0, 0, None, None, None, None)
    # Numbers of 8 bytes, where a list of as many integers is 40 bytes each.
    ordered, count = np.sort(np.array(values, np.int64)), len(values)
    middle = (int(ordered[(count - 1) // 2]) + int(ordered[count // 2])) // 2
    # The nearest rank: ceil(0.95 n), counted from 1.
    return Spread(
        count, sum(values), int(ordered[0]), middle, int(ordered[-(-95 * count // 100) - 1]), int(ordered[-1])
    )


def frames_of_calls(analysis: Analysis, calls: Iterable[int]) -> tuple[tuple[int, ...], tuple[int, ...] | UnsetType]:
    """The frames of some calls, ascending, and the file of each where there are several."""
    ids = tuple(sorted({frame for number in calls for frame in analysis.calls[number - 1].frames}))
    return numbered(ids, analysis.capture)


def interface_label(interface: InterfaceFacts) -> str:
    return interface.name or interface.uuid or "unknown"


def method_label(call: Call) -> str:
    opnum = call.opnum
    return call.method or (f"opnum {opnum}" if opnum is not None else "unknown")


_UNREAD = frozenset(("partial", "sealed", "malformed", "response-only"))


def is_unread(call: Call) -> bool:
    """Whether a part of it is missing, damaged, or could not be read. That there is no answer is counted for itself."""
    if call.state in _UNREAD:
        return True
    return any(side is not None and buffer_damage(side) is not None for side in (call.request, call.response))


class Totals(Struct, frozen=True):
    """Calls of all methods. Every number of calls that a display states beside its lists is one of these."""

    calls: int
    failed: int
    retried: int
    unanswered: int
    unread: int


def totals_of(methods: Iterable[MethodStatsRecord]) -> Totals:
    """The sums over methods."""
    rows = [(one.calls, one.failed, one.retried, one.unanswered, one.unread) for one in methods]
    return Totals(*map(sum, zip(*rows, strict=True))) if rows else Totals(0, 0, 0, 0, 0)


class _Method(Struct):
    opnum: int | None
    calls: int = 0
    failed: int = 0
    retried: int = 0
    unanswered: int = 0
    unread: int = 0
    latencies: Integers = field(default_factory=lambda: array("q"))
    requests: Integers = field(default_factory=lambda: array("q"))
    responses: Integers = field(default_factory=lambda: array("q"))
    slowest: tuple[int, int] = (-1, 0)


def method_stats(analysis: Analysis) -> list[MethodStatsRecord]:
    """By interface, then by method number."""
    found: dict[tuple[str, str], _Method] = {}
    for number, call in analysis.shown:
        one = found.setdefault((interface_label(call.interface), method_label(call)), _Method(call.opnum))
        one.calls += 1
        one.failed += call.outcome == "refused"
        one.retried += call.asks_size
        one.unanswered += call.response is None
        one.unread += is_unread(call)
        if call.request is not None:
            one.requests.append(call.request.wire_length)
        if call.response is not None:
            one.responses.append(call.response.wire_length)
        if (latency := call.latency_ns) is not None:
            one.latencies.append(latency)
            one.slowest = max(one.slowest, (latency, -number))
    return [
        _method_record(interface, method, one, analysis)
        for (interface, method), one in sorted(found.items(), key=_by_number)
    ]


def _method_record(interface: str, method: str, one: _Method, analysis: Analysis) -> MethodStatsRecord:
    slowest = -one.slowest[1] or None
    frames, files = frames_of_calls(analysis, () if slowest is None else (slowest,))
    return MethodStatsRecord(
        interface=interface,
        method=method,
        opnum=one.opnum,
        calls=one.calls,
        failed=one.failed,
        retried=one.retried,
        unanswered=one.unanswered,
        unread=one.unread,
        latency_ns=spread_of(one.latencies),
        request_bytes=spread_of(one.requests),
        response_bytes=spread_of(one.responses),
        slowest=slowest,
        frames=frames,
        frame_files=files,
    )


def _by_number(item: tuple[tuple[str, str], _Method]) -> tuple[str, int, str]:
    (interface, method), one = item
    return interface, one.opnum if one.opnum is not None else sys.maxsize, method


class _Polled(Struct):
    """The polls of one handle, or the reads of one value: how many were tried, number and time of the first and the last of them,
    and the times of those that were answered."""

    ends: tuple[Endpoint, Endpoint]
    what: str | None = None
    tried: int = 0
    first: tuple[int, int] = (0, 0)
    last: tuple[int, int] = (0, 0)
    done: Integers = field(default_factory=lambda: array("q"))

    def take(self, number: int, time_ns: int, *, is_new: bool, is_done: bool) -> None:
        if is_new:
            self.last = number, time_ns
            self.first = self.last if not self.tried else self.first
            self.tried += 1
        if is_done:
            # The tries of one read, with ever larger buffers, are one poll, made when the first was.
            self.done.append(self.last[1])


def poll_stats(analysis: Analysis) -> list[PollStatsRecord]:
    """Query handles in the order of their numbers, then values read through winreg in the order of their first read."""
    shown = ShownCalls(analysis)
    polls = (shown.views >= 0) & (shown.column("opnum") == Opnum.QUERY_COUNTER_DATA)
    times, is_done = shown.column("first_time"), shown.answered
    handles: list[tuple[str, _Polled]] = []
    for number, places in shown.by_handle(polls).items():
        first = shown.context(places[0])
        polled = _Polled((first.server, first.client), None, len(places))
        polled.first, polled.last = ((int(shown.numbers[at]), int(times[at])) for at in (places[0], places[-1]))
        polled.done = array("q", times[places[is_done[places]]].tobytes())
        handles.append((f"q{number}", polled))
    reads: dict[tuple[int | None, str], _Polled] = {}
    last: dict[tuple[int | None, str], int] = {}
    # What is read is among what few calls have.
    of_winreg = shown.in_context(lambda context: context.interface.uuid == winreg.INTERFACE)
    for number, call in shown.looked_at(of_winreg & (shown.column("rare") > 0)):
        # A table of names is not polled.
        if call.read is not None and not _is_table(call.read):
            key = call.key_number, call.read.value_name.casefold()
            of_value = reads.get(key)
            if of_value is None:
                words = value_in_words(call.read.value_name, analysis.name_tables.of(call.server), call.read.key)
                of_value = reads[key] = _Polled((call.server, call.client), words)
            is_new = last.get(key) != call.read.number
            of_value.take(number, call.time_ns, is_new=is_new, is_done=call.outcome == "answered")
            last[key] = call.read.number
    handles += [(f"k{key}" if key is not None else "?", polled) for (key, _), polled in reads.items()]
    return [_polls(handle, polled, analysis) for handle, polled in handles]


def _is_table(read: PerformanceRead) -> bool:
    return table_language(read.value_name, read.key) is not None


def _polls(handle: str, polled: _Polled, analysis: Analysis) -> PollStatsRecord:
    (first, first_ns), (last, last_ns) = polled.first, polled.last
    gaps = array("q", np.diff(np.sort(np.array(polled.done, np.int64))).tobytes())
    spread = spread_of(gaps)
    middle = spread.median
    jitter = sum(abs(gap - middle) for gap in gaps) // len(gaps) if middle is not None else None
    frames, files = frames_of_calls(analysis, (first, last))
    server, client = polled.ends
    return PollStatsRecord(
        handle=handle,
        what=polled.what,
        server=server,
        client=client,
        polls=len(polled.done),
        failed=polled.tried - len(polled.done),
        first_call=first,
        last_call=last,
        first_time_ns=first_ns,
        last_time_ns=last_ns,
        intervals_ns=spread,
        jitter_ns=jitter,
        frames=frames,
        frame_files=files,
    )


class _Identity(Struct):
    workstation: str | None = None
    security: dict[str, None] = field(default_factory=dict)
    sessions: dict[str, None] = field(default_factory=dict)
    calls: int = 0
    failed: int = 0
    unread: int = 0
    polls: int = 0
    first: tuple[int, int] | None = None
    last: tuple[int, int] = (0, 0)


_Who = tuple[str | None, str, str, str | None]


def who_of(call: Call | Context) -> _Who:
    """The account that made a call as far as it is known, its client's address, the server's, and the account it claimed to be
    where the server granted another."""
    auth = call.auth
    return auth.user, call.client.ip, call.server.ip, auth.claimed_user


def identity_stats(analysis: Analysis) -> list[IdentityStatsRecord]:
    """In the order of their first calls."""
    found: dict[_Who, _Identity] = {}
    for number, call in analysis.shown:
        one = found.setdefault(who_of(call), _Identity())
        identity = call.identity
        if identity is not None:
            one.workstation = one.workstation or identity.workstation
        one.security[f"{call.auth.type}/{call.auth.level}"] = None
        if call.smb is not None:
            one.sessions[call.smb.session_id] = None
        one.calls += 1
        one.failed += call.outcome == "refused"
        one.unread += is_unread(call)
        one.polls += is_poll(call)
        one.last = number, call.time_ns
        one.first = one.first or one.last
    return [_identity_record(who, one, analysis) for who, one in found.items()]


def _identity_record(who: _Who, one: _Identity, analysis: Analysis) -> IdentityStatsRecord:
    first, last = one.first or one.last, one.last
    frames, files = frames_of_calls(analysis, (first[0], last[0]))
    user, client, server, claimed = who
    return IdentityStatsRecord(
        user=user,
        claimed_user=claimed,
        workstation=one.workstation,
        client_ip=client,
        server_ip=server,
        security=tuple(one.security),
        sessions=tuple(one.sessions),
        calls=one.calls,
        failed=one.failed,
        unread=one.unread,
        polls=one.polls,
        first_call=first[0],
        last_call=last[0],
        first_time_ns=first[1],
        last_time_ns=last[1],
        frames=frames,
        frame_files=files,
    )


def is_performance(call: Call) -> bool:
    """Whether a call is about performance counters, or may be as far as the capture states."""
    if call.is_perflib:
        return True
    if not call.is_winreg:
        return False
    return (
        call.key is not None or call.read is not None or call.request is None or isinstance(call.request.stub, Missing)
    )


def is_poll(call: Call) -> bool:
    """Whether a call was answered with performance data."""
    if call.outcome != "answered":
        return False
    if call.is_perflib:
        return call.opnum == Opnum.QUERY_COUNTER_DATA
    return call.is_winreg and call.response is not None and call.response.buffer_kind == "winperf"


class _Errors(Struct):
    count: int = 0
    calls: dict[int, None] = field(default_factory=dict)


def error_stats(analysis: Analysis) -> list[ErrorStatsRecord]:
    """The most frequent first."""
    found: dict[tuple[ErrorKind, int, str, str], _Errors] = {}

    def note(kind: ErrorKind, code: int, call: Call, number: int) -> None:
        one = found.setdefault((kind, code, interface_label(call.interface), method_label(call)), _Errors())
        one.count += 1
        if len(one.calls) < MOST_CALLS:
            one.calls[number] = None

    for number, call in analysis.shown:
        if call.fault is not None:
            note("fault", call.fault, call, number)
        elif call.status:
            note("return", call.status, call, number)
        for status in _refusals(call):
            note("counter", status, call, number)
    out = []
    for (kind, code, interface, method), one in sorted(found.items(), key=lambda item: (-item[1].count, item[0])):
        frames, files = frames_of_calls(analysis, one.calls)
        out.append(
            ErrorStatsRecord(
                kind=kind,
                code=code,
                name=fault_name(code) if kind == "fault" else win32_name(code),
                interface=interface,
                method=method,
                count=one.count,
                call_numbers=tuple(one.calls),
                frames=frames,
                frame_files=files,
            )
        )
    return out


def _refusals(call: Call) -> Iterator[int]:
    """The status of each counter that an answer of ValidateCounters refuses."""
    if not call.is_perflib or call.opnum != Opnum.VALIDATE_COUNTERS:
        return
    for identifier in identifiers_of(call.response) or () if call.status == 0 else ():
        if identifier.status:
            yield identifier.status
