"""Summarises a capture in numbers: response times by method, polls and their rhythm, who called, and which errors came.

In: an analysis. Out: records, in an order that does not change from run to run. Times are in nanoseconds. A median of an even
number of values is the mean of the middle two, rounded down; the 95th percentile is the smallest value that at least 95 % do not
exceed. Jitter is the mean distance of intervals from their median.
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.core.array_functions import distinct
from analyzer.core.error_code_names import win32_name
from analyzer.interfaces.call_contents.damaged_buffers import Damages
from analyzer.interfaces.pcq.perflib_layer import identifiers_of
from analyzer.questions.statistics.shown_call_columns import ShownCalls
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call, InterfaceFacts, PerformanceRead
from analyzer.results.calls.call_row_columns import MISSING_NUMBERS, Context
from analyzer.results.methods import perflib, winreg
from analyzer.results.methods.perflib import Opnum
from analyzer.results.methods.return_kinds import ReturnKind
from analyzer.results.records.record_types import Endpoint
from analyzer.results.records.statistics import (
    ErrorKind,
    ErrorStatsRecord,
    IdentityStatsRecord,
    MethodStatsRecord,
    PollStatsRecord,
    Spread,
)
from analyzer.results.reported_names.counter_name_tables import table_language, value_in_words
from analyzer.transport.rpc.rpc_names import fault_name

# Before Python 3.12 `array` takes no parameter at run time, when a struct's fields are looked up.
if TYPE_CHECKING:
    import numpy.typing as npt

    from analyzer.questions.statistics.shown_call_columns import Numbers

    Integers = array[int]
else:
    Integers = array

# The most calls, with their frames, that a record lists.
MOST_CALLS = 256


def spread_of(values: npt.ArrayLike) -> Spread:
    """Returns the spread of whole numbers for statistics: count, sum, least, median, 95th percentile, most."""
    ordered = np.sort(np.asarray(values, np.int64))
    count = len(ordered)
    if not count:
        return Spread(0, 0, None, None, None, None)
    middle = (int(ordered[(count - 1) // 2]) + int(ordered[count // 2])) // 2
    # The nearest rank: ceil(0.95 n), counted from 1.
    total = sum(ordered.tolist())
    return Spread(count, total, int(ordered[0]), middle, int(ordered[-(-95 * count // 100) - 1]), int(ordered[-1]))


def frames_of_calls(analysis: Analysis, calls: Iterable[int]) -> tuple[tuple[int, ...], tuple[int, ...] | UnsetType]:
    """Returns the frames of the calls that statistics or other records count, ascending, and the file of each frame if there are
    several files."""
    ids = tuple(sorted({frame for number in calls for frame in analysis.calls.frames(number)}))
    return analysis.capture.numbered(ids)


def interface_label(interface: InterfaceFacts) -> str:
    return interface.name or interface.uuid or "unknown"


def method_label(method: str | None, opnum: int | None) -> str:
    """Returns the method of a call as statistics show it: its name, else its opnum."""
    return method or (f"opnum {opnum}" if opnum is not None else "unknown")


# Interface and method, as they are shown.
_Labels = tuple[str, str]


def _by_method(shown: ShownCalls) -> dict[_Labels, Numbers]:
    """Groups the places of calls by interface and method for statistics, in the order of the first call of each."""
    found: dict[_Labels, list[Numbers]] = {}
    for places in shown.alike("context", "method", "opnum"):
        first = places[:1]
        method, opnum = (next(shown.values(name, first)) for name in ("method", "opnum"))
        labels = interface_label(shown.context(places[0]).interface), method_label(method, opnum)
        found.setdefault(labels, []).append(places)
    return {labels: np.sort(np.concatenate(places)) for labels, places in found.items()}


class Totals(Struct, frozen=True):
    """The statistics of calls of all methods. Every display of total call counts uses them."""

    calls: int
    failed: int
    retried: int
    unanswered: int
    unread: int


def totals_of(methods: Iterable[MethodStatsRecord]) -> Totals:
    """The sums of the statistics over all methods: calls, and those that failed, were retried, unanswered or unread."""
    rows = [(one.calls, one.failed, one.retried, one.unanswered, one.unread) for one in methods]
    return Totals(*map(sum, zip(*rows, strict=True))) if rows else Totals(0, 0, 0, 0, 0)


def method_stats(analysis: Analysis, damages: Damages | None = None) -> list[MethodStatsRecord]:
    """Returns the statistics of methods: counts and times by interface, then method. `damages` holds what is known of damaged
    buffers, and takes what is found."""
    shown = ShownCalls(analysis)
    columns = _Counted(shown, Damages() if damages is None else damages)
    found = [_method_record(labels, places, shown, columns, analysis) for labels, places in _by_method(shown).items()]
    return sorted(found, key=_by_number)


class _Counted:
    """Columns of the shown calls that statistics of methods count."""

    def __init__(self, shown: ShownCalls, damages: Damages) -> None:
        self.failed, self.retried, self.unread = shown.refused, shown.asking_size, shown.unread(damages)
        asked, answered = shown.column("request_side"), shown.column("response_side")
        self.has_response = answered >= 0
        # How long a side was that is not whole, nobody knows.
        cut = MISSING_NUMBERS[Missing.NOT_CAPTURED]
        self.whole_request, self.whole_response = (asked >= 0) & (asked != cut), (answered >= 0) & (answered != cut)
        self.has_latency, self.latencies = shown.latencies
        self.altered = shown.altered


def _method_record(
    labels: _Labels, places: Numbers, shown: ShownCalls, columns: _Counted, analysis: Analysis
) -> MethodStatsRecord:
    interface, method = labels
    asked, answered = places[columns.whole_request[places]], places[columns.whole_response[places]]
    timed = places[columns.has_latency[places]]
    latencies = columns.latencies[timed]
    # If there are several, the first.
    slowest = int(shown.numbers[timed[np.argmax(latencies)]]) if len(timed) else None
    frames, files = frames_of_calls(analysis, () if slowest is None else (slowest,))
    return MethodStatsRecord(
        interface=interface,
        method=method,
        opnum=next(shown.values("opnum", places[:1])),
        calls=len(places),
        failed=int(columns.failed[places].sum()),
        retried=int(columns.retried[places].sum()),
        unanswered=len(places) - int(columns.has_response[places].sum()),
        unread=int(columns.unread[places].sum()),
        latency_ns=spread_of(latencies),
        request_bytes=spread_of(shown.column("request_wire_length")[asked]),
        response_bytes=spread_of(shown.column("response_wire_length")[answered]),
        slowest=slowest,
        frames=frames,
        frame_files=files,
        altered=int(columns.altered[places].sum()) or UNSET,
    )


def _by_number(one: MethodStatsRecord) -> tuple[str, int, str]:
    return one.interface, one.opnum if one.opnum is not None else sys.maxsize, one.method


# The addresses of client and server.
_Machines = tuple[str, str]


class _Polled(Struct):
    """Statistics of the polls of one handle, or of the reads of one value. `tried` counts them, `done` those that were answered;
    `first` and `last` are number and time of the first and last one. `times`, `frames` and `answered` are of each request, but
    for those that were refused with the size of the buffer: these are made again. `altered` counts those that others may have
    changed; they do not count as answered."""

    ends: tuple[Endpoint, Endpoint]
    machines: set[_Machines]
    what: str | None = None
    tried: int = 0
    first: tuple[int, int] = (0, 0)
    last: tuple[int, int] = (0, 0)
    done: int = 0
    times: Integers = field(default_factory=lambda: array("q"))
    frames: Integers = field(default_factory=lambda: array("q"))
    answered: Integers = field(default_factory=lambda: array("b"))
    altered: int = 0

    def take_poll(self, call: Call, *, is_new: bool) -> None:
        """Counts in the statistics of polls a call that reads the value, or tries to."""
        may_be_changed = call.is_altered
        if is_new:
            self.last = call.number, call.time_ns
            self.first = self.last if not self.tried else self.first
            self.tried += 1
            # The tries of one read, with ever larger buffers, are one poll, made when the first was.
            self.times.append(call.time_ns)
            self.frames.append(min(call.frames))
            self.answered.append(0)
        self.machines.add((call.client.ip, call.server.ip))
        self.altered += may_be_changed
        if call.outcome == "answered":
            self.done += 1
            self.answered[-1] = not may_be_changed


def poll_stats(analysis: Analysis) -> list[PollStatsRecord]:
    """Statistics of polls: query handles in the order of their numbers, then values read through winreg in the order of their first
    read."""
    shown = ShownCalls(analysis)
    polls = (shown.views >= 0) & (shown.column("opnum") == Opnum.QUERY_COUNTER_DATA)
    times, frames, is_done, is_again, altered = (
        shown.column("first_time"),
        shown.column("first_frame"),
        shown.answered,
        shown.asking_size,
        shown.altered,
    )
    handles: list[tuple[str, _Polled]] = []
    for number, places in shown.by_handle(polls).items():
        first = shown.context(places[0])
        machines = {(one.client.ip, one.server.ip) for one in shown.contexts(places)}
        polled = _Polled((first.server, first.client), machines, None, len(places))
        polled.first, polled.last = ((int(shown.numbers[at]), int(times[at])) for at in (places[0], places[-1]))
        polled.done, polled.altered = int(is_done[places].sum()), int(altered[places].sum())
        asked = places[~is_again[places]]
        polled.times, polled.frames = (
            array("q", column[asked].astype(np.int64).tobytes()) for column in (times, frames)
        )
        polled.answered = array("b", (is_done & ~altered)[asked].tobytes())
        handles.append((f"q{number}", polled))
    reads: dict[tuple[int | None, str], _Polled] = {}
    last: dict[tuple[int | None, str], int] = {}
    # The value that is read is among the facts that few calls have.
    of_winreg = shown.is_of(winreg.INTERFACE)
    for _, call in shown.looked_at(of_winreg & (shown.column("rare") > 0)):
        # A table of names is not polled.
        if call.read is not None and not _is_table(call.read):
            key = call.key_number, call.read.value_name.casefold()
            of_value = reads.get(key)
            if of_value is None:
                words = value_in_words(call.read.value_name, analysis.name_tables.table_of(call.server), call.read.key)
                of_value = reads[key] = _Polled((call.server, call.client), set(), words)
            of_value.take_poll(call, is_new=last.get(key) != call.read.number)
            last[key] = call.read.number
    handles += [(f"k{key}" if key is not None else "?", polled) for (key, _), polled in reads.items()]
    doubts = sorted(_doubts(analysis), key=itemgetter(0))
    return [_polls(handle, polled, doubts, analysis) for handle, polled in handles]


def _doubts(analysis: Analysis) -> Iterator[tuple[int, _Machines | None]]:
    """Yields the frames at which a poll may have been that statistics of polls lack, and between which machines. These are frames
    of calls that could not be read or that others may have changed, and those around lost bytes. None stands for machines that are
    not known."""
    every = ShownCalls(replace(analysis, part=None))
    contexts, of_context = analysis.calls.table.contexts, every.column("context")
    frames, opnum = every.column("first_frame"), every.column("opnum")
    of_perflib, altered = every.is_of(perflib.INTERFACE), every.altered
    may_be = of_perflib & np.isin(opnum, (-1, Opnum.QUERY_COUNTER_DATA)) & (every.views < 0)
    may_be |= every.is_of(winreg.INTERFACE) & np.isin(opnum, (-1, winreg.WinregOpnum.BASE_REG_QUERY_VALUE))
    may_be &= ~every.is_one("state", "complete")
    may_be |= every.in_context(lambda context: context.interface.uuid is None)
    for at in np.flatnonzero(may_be | altered).tolist():
        # What a call reads is known, though its answer may not be.
        if altered[at] or analysis.calls.rare(at + 1).read is None:
            context = contexts[of_context[at]]
            yield int(frames[at]), (context.client.ip, context.server.ip)
    gaps = [one.frames for one in analysis.problems if one.kind == "gap" and one.frames]
    if not gaps:
        return
    # A frame of a call is of one connection, and so are the bytes that were lost next to it.
    around, machines = [frame for some in gaps for frame in some], dict[int, _Machines]()
    for name in ("first_frame", "begin_frame", "end_frame"):
        column = every.column(name)
        for at in np.flatnonzero(np.isin(column, around)).tolist():
            context = contexts[of_context[at]]
            machines[int(column[at])] = context.client.ip, context.server.ip
    for some in gaps:
        between = next((machines[frame] for frame in some if frame in machines), None)
        yield from ((frame, between) for frame in some)


def _is_table(read: PerformanceRead) -> bool:
    return table_language(read.value_name, read.key) is not None


def _polls(
    handle: str, polled: _Polled, doubts: Sequence[tuple[int, _Machines | None]], analysis: Analysis
) -> PollStatsRecord:
    """Returns the statistics of polls. `doubts` are the frames at which another may have been, ascending. The time between two
    answered polls is no interval if there was another poll between them, or may have been."""
    lost = [frame for frame, machines in doubts if machines is None or machines in polled.machines]
    (first, first_ns), (last, last_ns) = polled.first, polled.last
    times, frames_of = np.array(polled.times, np.int64), np.array(polled.frames, np.int64)
    order = np.argsort(times, kind="stable")
    before, is_done = np.searchsorted(lost, frames_of[order]), np.array(polled.answered, np.bool_)[order]
    gaps = np.diff(times[order])[is_done[1:] & is_done[:-1] & (before[1:] == before[:-1])].tolist()
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
        polls=polled.done,
        failed=polled.tried - polled.done,
        first_call=first,
        last_call=last,
        first_time_ns=first_ns,
        last_time_ns=last_ns,
        intervals_ns=spread,
        jitter_ns=jitter,
        frames=frames,
        frame_files=files,
        altered=polled.altered or UNSET,
    )


Caller = tuple[str | None, str, str, str | None, str | None]


def who_of(call: Call | Context) -> Caller:
    """Returns the caller of a call as statistics of calls count callers: the account if known, and the addresses of client and
    server. Adds the claimed account if the server granted another, and the account that logged on later if the server may have
    served the call as that. Every comparison of callers uses it."""
    auth = call.auth
    return auth.user, call.client.ip, call.server.ip, auth.claimed_user, auth.later_user


def identity_stats(analysis: Analysis, damages: Damages | None = None) -> list[IdentityStatsRecord]:
    """Returns the statistics of identities, in the order of their first calls; `damages` is described at `method_stats`."""
    shown = ShownCalls(analysis)
    failed, polls, unread = shown.refused, shown.polls, shown.unread(Damages() if damages is None else damages)
    altered = shown.altered
    found = []
    for (user, client, server, claimed, later), places in shown.by(who_of, np.ones(len(shown), np.bool_)).items():
        contexts, smbs = list(shown.contexts(places)), shown.values("smb", places)
        identities = (one.security.caller(one.smb_identity) for one in contexts)
        names = (identity.workstation for identity in identities if identity is not None)
        first, last = (int(shown.numbers[at]) for at in (places[0], places[-1]))
        frames, files = frames_of_calls(analysis, (first, last))
        found.append(
            IdentityStatsRecord(
                user=user,
                claimed_user=claimed,
                later_user=later,
                workstation=next(filter(None, names), None),
                client_ip=client,
                server_ip=server,
                security=tuple(dict.fromkeys(f"{one.auth.type}/{one.auth.level}" for one in contexts)),
                sessions=tuple(dict.fromkeys(smb.session_id for smb in smbs if smb is not None)),
                logons=tuple(dict.fromkeys(one.auth.logon for one in contexts if one.auth.logon is not None)),
                calls=len(places),
                failed=int(failed[places].sum()),
                unread=int(unread[places].sum()),
                polls=int(polls[places].sum()),
                first_call=first,
                last_call=last,
                first_time_ns=int(shown.column("first_time")[places[0]]),
                last_time_ns=int(shown.column("first_time")[places[-1]]),
                frames=frames,
                frame_files=files,
                altered=int(altered[places].sum()) or UNSET,
            )
        )
    return found


def is_poll(call: Call) -> bool:
    """Whether statistics count a call as a poll: it was answered with performance data."""
    if call.outcome != "answered":
        return False
    if call.is_perflib:
        return call.opnum == Opnum.QUERY_COUNTER_DATA
    return call.is_winreg and call.response is not None and call.response.buffer_kind == "winperf"


# Kind, code and name of an error: a code of two methods may have two names, as return values are of several kinds.
_Error = tuple[ErrorKind, int, str | None]


class _Errors(Struct):
    name: str | None
    count: int = 0
    altered: int = 0
    calls: dict[int, None] = field(default_factory=dict)


def error_stats(analysis: Analysis) -> list[ErrorStatsRecord]:
    """Returns the statistics of errors: the most frequent error over all methods first; for one error, the method with the most
    first."""
    found: dict[tuple[ErrorKind, int, str, str], _Errors] = {}
    shown = ShownCalls(analysis)
    faults, statuses, kinds = shown.column("fault"), shown.column("status"), shown.return_kinds
    refused, altered = shown.refused, set(shown.numbers[shown.altered].tolist())
    has_list = shown.is_of(perflib.INTERFACE) & (shown.column("opnum") == Opnum.VALIDATE_COUNTERS) & (statuses == 0)

    def note(kind: ErrorKind, code: int, name: str | None, labels: _Labels, numbers: Sequence[int]) -> None:
        one = found.setdefault((kind, code, *labels), _Errors(name))
        one.count += len(numbers)
        one.altered += len(altered.intersection(numbers)) if altered else 0
        one.calls.update(dict.fromkeys(numbers[: MOST_CALLS - len(one.calls)]))

    for labels, places in _by_method(shown).items():
        has_fault = faults[places] >= 0
        returned = places[~has_fault & refused[places]]
        for code in distinct(faults[places[has_fault]]).tolist():
            note("fault", code, fault_name(code), labels, shown.numbers[places[faults[places] == code]].tolist())
        for code in distinct(statuses[returned]).tolist():
            alike = returned[statuses[returned] == code]
            # The statuses of a method are of one kind.
            name = ReturnKind(int(kinds[alike[0]])).name_of(code)
            note("return", code, name, labels, shown.numbers[alike].tolist())
        for number in shown.numbers[places[has_list[places]]].tolist():
            for status in _refusals(analysis.calls[number - 1]):
                note("counter", status, win32_name(status), labels, (number,))
    totals = Counter[_Error]()
    for (kind, code, *_), one in found.items():
        totals[kind, code, one.name] += one.count

    def rank(item: tuple[tuple[ErrorKind, int, str, str], _Errors]) -> tuple[int, ErrorKind, int, str, int, str, str]:
        (kind, code, interface, method), one = item
        return -totals[kind, code, one.name], kind, code, one.name or "", -one.count, interface, method

    out = []
    for (kind, code, interface, method), one in sorted(found.items(), key=rank):
        frames, files = frames_of_calls(analysis, one.calls)
        out.append(
            ErrorStatsRecord(
                kind=kind,
                code=code,
                name=one.name,
                interface=interface,
                method=method,
                count=one.count,
                total=totals[kind, code, one.name],
                call_numbers=tuple(one.calls),
                frames=frames,
                frame_files=files,
                altered=one.altered or UNSET,
            )
        )
    return out


def _refusals(call: Call) -> Iterator[int]:
    """The status of each counter that an answer of ValidateCounters refuses, for the statistics of errors."""
    if not call.is_perflib or call.opnum != Opnum.VALIDATE_COUNTERS:
        return
    for identifier in identifiers_of(call.response) or () if call.status == 0 else ():
        if identifier.status:
            yield identifier.status
