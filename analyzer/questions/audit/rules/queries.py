"""Rules about what a query holds: what was added to it or removed, and what the server reports of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from math import inf
from operator import itemgetter
from typing import NamedTuple

from analyzer.questions.audit.buffer_checks import INFO, VALIDATED, judgements
from analyzer.questions.audit.call_evidence import CallEvidence, Evidence
from analyzer.questions.audit.identifier_lists import IdentifierBlock
from analyzer.questions.audit.rule_registry import Level, Reads, of_calls, of_capture, rule
from analyzer.questions.audit.rule_verdicts import (
    At,
    Confidence,
    Judgement,
    Severity,
    Violation,
    failed,
    inconclusive,
    passed,
    warned,
)
from analyzer.questions.audit.rules.handles import handle_events
from analyzer.questions.audit.server_statements import (
    NO_REGISTRATION,
    InstanceList,
    counters_of_set,
    has_instances,
    instance_type_of,
)
from analyzer.questions.audit.values_with_counters import (
    NO_LIST,
    UNKNOWN_QUERY,
    held_of,
    why_unknown,
)
from analyzer.questions.statistics.handle_lifetimes import HandleLifetime
from analyzer.results.calls.query_state import Identifier, QueryView
from analyzer.results.methods.perflib import NONE_ID, Opnum

ADDED, NO_SET, NO_COUNTER_FOUND, NO_INSTANCE = (f"PCQ-3.1.4.1.7-R{number}" for number in (20, 21, 22, 23))
THERE_ALREADY, CORRUPT, NO_MEMORY, SINGLY = (f"PCQ-3.1.4.1.7-R{number}" for number in (24, 25, 26, 27))

Key = tuple[str, int, int, str]


@rule("PCQ435", Level.SEQUENCES, Severity.ERROR, "status-against-history")
@of_calls(
    (ADDED, NO_SET, NO_COUNTER_FOUND, NO_INSTANCE, THERE_ALREADY, CORRUPT, NO_MEMORY, SINGLY),
    VALIDATED,
    of_each=True,
)
def identifier_status_contradicted(call: CallEvidence) -> Iterator[Judgement]:
    """The status of a counter that was added or removed contradicts what the server stated before.

    Looks for: each Status in answers of ValidateCounters, compared with what the capture holds:

    - the countersets that the server listed or described, and their counters,
    - the instances that it listed, and
    - the counters that the handle already held.

    Why it matters: the status is what a client shows its user, or acts on. A counter that is stated not to exist and was listed a
    moment before leaves both helpless; one that is stated to be added and cannot be has no data.

    Specification: [MS-PCQ] section 3.1.4.1.7 gives each status its condition. The call itself may succeed while single counters
    fail.

    - 0: the counter was added or removed.
    - 0x1068: the server has no such counterset.
    - 0x106A: the counterset has no such counter.
    - 3: there is no active instance of that name.
    - 0xB7: an earlier call added the counter.
    - 0x57: the identifier is corrupt, or the counter to remove is not in the query.
    - 0xE: there is no memory.

    Flagged:

    - 0x106A for a counter that is registered; 0 for one that is not.
    - 0 for a counter that an earlier call added; 0xB7 for one that the handle does not hold.
    - 0x57 for the removal of a counter that the handle holds.
    - 0 for a counterset that is in no list and was never described.
    - Warnings, since instances come and go: 3 for an instance that was listed within a minute; 0 for one that was not.

    Accepted: 0 or 0xB7 for the second of two that are alike in one call; 0xE at any time.

    Silent: where the capture does not hold what the status is compared with. 0x57 is inconclusive for an identifier with no
    visible flaw, since errors of a provider are passed on.
    """
    asked, answered = call.sent.identifiers.blocks, call.reply.identifiers.blocks
    if any(block.status for block in answered):
        yield passed(SINGLY)
    query = call.query
    held = _held(query)
    in_this_call: set[Key] = set()
    covering = _Covering(held or ())
    for before, after in zip(asked, answered, strict=False):
        judge_status = _BY_STATUS.get(after.status)
        if judge_status is not None:
            yield judge_status(_StatusCase(call, before, after.status, query, held, in_this_call, covering))
        if after.status == 0:
            in_this_call.add(before.key)
            covering.add(before.key)


def _success(case: _StatusCase) -> Judgement:
    block, call = case.block, case.call
    if not case.adds:
        return _removed(case)
    registered = counters_of_set(call, block.counterset)
    if registered is None and call.knowledge.lists_counterset(call.server, block.counterset) is False:
        message = "a counter was added of a counterset that the server does not list"
        return case.against(NO_SET, "0x1068, no such counterset", message)
    if registered is not None and not block.asks_all_counters and block.counter_id not in registered:
        message = "a counter was added that its counterset does not have"
        return case.against(ADDED, "0x106a, no such counter", message)
    if case.held is not None and block.key in case.held:
        return case.against(THERE_ALREADY, "0xb7, added already", "a counter was added that a call before had added")
    if (listed := _list_without(case)) is not None:
        message = f"a counter was added of an instance that is not among those call {listed.call} listed"
        return case.against(NO_INSTANCE, "3, no such instance", message, warn=True)
    return inconclusive(case.unknown, call, ADDED) if case.held is None else passed(ADDED)


def _list_without(case: _StatusCase) -> InstanceList | None:
    """The list of instances nearest in time, where it lacks the instance that was added to the query, so that a rule doubts its
    status."""
    call, block = case.call, case.block
    if not block.name or "*" in block.name or not has_instances(call, block.counterset):
        return None
    listed = call.knowledge.instances_about(call.server, block.counterset, call.time_ns)
    return listed if listed is not None and block.name.casefold() not in listed.folded else None


def _removed(case: _StatusCase) -> Judgement:
    if case.held is None:
        return inconclusive(case.unknown, case.call, ADDED)
    if case.is_held:
        return passed(ADDED)
    if case.may_be_held_otherwise:
        return inconclusive("whether a wildcard removes what it covers is not specified", case.call, ADDED)
    return case.against(CORRUPT, "0x57, not in the query", "a counter was removed that the query does not hold")


def _no_set(case: _StatusCase) -> Judgement:
    call, guid = case.call, case.block.counterset
    is_listed = call.knowledge.lists_counterset(call.server, guid)
    if is_listed or instance_type_of(call, guid) is not None:
        message = "a counterset was not found that the server listed or described"
        return case.against(NO_SET, "another status: the counterset exists", message)
    if is_listed is None:
        return inconclusive("no list of the server's countersets is in the capture", call, NO_SET)
    return passed(NO_SET)


def _no_counter(case: _StatusCase) -> Judgement:
    registered = counters_of_set(case.call, case.block.counterset)
    if registered is None:
        return inconclusive(NO_REGISTRATION, case.call, NO_COUNTER_FOUND)
    if case.block.counter_id in registered or (case.block.asks_all_counters and registered):
        message = "a counter was not found that the server registered"
        return case.against(NO_COUNTER_FOUND, "another status: the counter exists", message)
    return passed(NO_COUNTER_FOUND)


def _no_instance(case: _StatusCase) -> Judgement:
    call, block = case.call, case.block
    listed = call.knowledge.instances_about(call.server, block.counterset, call.time_ns)
    if listed is None:
        return inconclusive(NO_LIST, call, NO_INSTANCE)
    if (block.name or "").casefold() in listed.folded or (block.asks_all_instances and listed.names):
        message = f"an instance was not found that call {listed.call} listed"
        return case.against(NO_INSTANCE, "another status: the instance was there", message, warn=True)
    return passed(NO_INSTANCE)


def _there_already(case: _StatusCase) -> Judgement:
    if not case.adds:
        message = "a counter to be removed was stated to have been added already"
        return case.against(THERE_ALREADY, "0 or 0x57", message)
    if case.is_held:
        return passed(THERE_ALREADY)
    if case.held is None:
        return inconclusive(case.unknown, case.call, THERE_ALREADY)
    if case.may_be_held_otherwise:
        reason = "whether a wildcard is the same counter as what it covers is not specified"
        return inconclusive(reason, case.call, THERE_ALREADY)
    message = "a counter was stated to have been added already that the query does not hold"
    return case.against(THERE_ALREADY, "0 or another error", message)


def _corrupt(case: _StatusCase) -> Judgement:
    block = case.block
    if block.reserved or block.size % 8 or (block.room and not block.has_nul):
        return passed(CORRUPT)
    if case.adds:
        reason = "nothing is wrong with the identifier that could be seen, and a provider may have returned the code"
        return inconclusive(reason, case.call, CORRUPT)
    if case.held is None:
        return inconclusive(case.unknown, case.call, CORRUPT)
    if case.is_held:
        return case.against(CORRUPT, "0, removed", "a counter was not removed though the query holds it")
    return passed(CORRUPT)


_BY_STATUS: dict[int, Callable[[_StatusCase], Judgement]] = {
    0: _success,
    0x1068: _no_set,
    0x106A: _no_counter,
    3: _no_instance,
    0xB7: _there_already,
    0x57: _corrupt,
    0xE: lambda case: passed(NO_MEMORY),
}


class _Covering:
    """The countersets of which a query holds anything, and those of which it holds a wildcard."""

    def __init__(self, held: Iterable[Key]) -> None:
        self.countersets: set[str] = set()
        self.wildcards: set[str] = set()
        for key in held:
            self.add(key)

    def add(self, key: Key) -> None:
        guid, counter, _, name = key
        self.countersets.add(guid)
        if counter == NONE_ID or "*" in name:
            self.wildcards.add(guid)


class _StatusCase(NamedTuple):
    """One counter identifier that was added to a query or removed, with the status it got, what the query held before, and what
    this call added to it."""

    call: CallEvidence
    block: IdentifierBlock
    status: int
    query: QueryView | None
    held: frozenset[Key] | None
    in_this_call: set[Key]
    covering: _Covering

    @property
    def adds(self) -> bool:
        return bool(self.call.asked.get("dwAdd"))

    @property
    def unknown(self) -> str:
        return why_unknown(self.query, UNKNOWN_QUERY)

    @property
    def is_held(self) -> bool:
        """Whether the query whose status a rule judges holds the counter, be it since this call."""
        return self.block.key in self.in_this_call or (self.held is not None and self.block.key in self.held)

    @property
    def may_be_held_otherwise(self) -> bool:
        """Whether the query whose status a rule judges holds another identifier of the same counterset that may cover this one, or
        be covered by it."""
        guid = self.block.counterset
        is_wildcard = self.block.asks_all_counters or "*" in (self.block.name or "")
        return guid in self.covering.wildcards or (is_wildcard and guid in self.covering.countersets)

    def against(self, requirement: str, expected: str, message: str, *, warn: bool = False) -> Judgement:
        wrong = self.block.wrong("status", expected, f"{self.status:#x}")
        say = warned if warn else failed
        at, sure = At("response", wrong.path, wrong.span), Confidence.MEDIUM
        return say(self.call, at, message, wrong.expected, wrong.seen, of=requirement, confidence=sure)


def _held(query: QueryView | None) -> frozenset[Key] | None:
    if query is None or query.held is None:
        return None
    return frozenset(
        (one.counterset, one.counter_id, one.instance_id, (one.instance or "").casefold()) for one in query.held
    )


@rule("PCQ445", Level.SEQUENCES, Severity.ERROR)
@of_calls(("PCQ-3.1.4.1.5-R11", "PCQ-3.1.1.5-R02"), INFO)
def counters_of_handle_misreported(call: CallEvidence) -> Iterator[Judgement]:
    """QueryCounterInfo reports other counters than were added to the handle.

    Looks for: answers of QueryCounterInfo whose identifiers are not those that ValidateCounters added to the handle, less those it
    removed.

    Why it matters: a client that asks what its query holds goes by the answer. A counter left out is one whose block it does not
    find.

    Specification: [MS-PCQ] section 3.1.1.5: the server keeps a list of counter identifiers with each handle. Section 3.1.4.1.5: it
    must return the identifier of each counter that is tied to the handle.

    Flagged: three counters were added with status 0, and two are reported.

    Accepted: counters in any order; names in another case; a specific InstanceId in place of the 0xFFFFFFFF (any) that was sent.

    Silent: where the handle's opening or a change of it is not in the capture, or the same counter was added twice with success.
    """
    found = held_of(call)
    if isinstance(found, str):
        yield inconclusive(found, call)
        return
    blocks, sure = call.reply.identifiers.blocks, Confidence.MEDIUM
    missing, extra = _compared(found[1], blocks)
    violations = [Violation(one.path, one.whole, "a counter that was added", one.described) for one in extra]
    message = "a counter is reported that was not added to the handle, or was removed from it"
    looked_at = len(blocks) if not missing else 0
    yield from judgements(call, looked_at, violations, message, confidence=sure)
    span = (0, len(call.reply.data))
    violations = [Violation("lpData", span, _named(one), "not among those reported") for one in missing]
    message = "a counter that was added to the handle is not reported"
    yield from judgements(call, 0, violations, message, confidence=sure)


def _compared(
    held: Iterable[Identifier], blocks: Iterable[IdentifierBlock]
) -> tuple[list[Identifier], list[IdentifierBlock]]:
    """Compares counters of a query: those held and not reported, and those reported and not held; any instance id is that of the
    one that was named."""
    kept: dict[tuple[str, int, str], dict[int, Identifier]] = {}
    for one in held:
        alike = kept.setdefault((one.counterset, one.counter_id, (one.instance or "").casefold()), {})
        alike[one.instance_id] = one
    extra = []
    for block in blocks:
        alike = kept.get((block.counterset, block.counter_id, (block.name or "").casefold()), {})
        for instance_id in (block.instance_id, NONE_ID):
            if alike.pop(instance_id, None) is not None:
                break
        else:
            if alike and block.instance_id == NONE_ID:
                alike.popitem()
            else:
                extra.append(block)
    return [one for alike in kept.values() for one in alike.values()], extra


def _named(one: Identifier) -> str:
    return f"counter {one.counter_id} of {one.counterset}, instance {one.instance!r}"


# Counterset, counter and folded name: an InstanceId of "any" may come back as the one that was found.
_CounterKey = tuple[str, int, str]


@rule("PCQ720", Level.SEQUENCES, Severity.ERROR, "queries-not-kept-apart")
@of_capture("PCQ-2.2.1-R04", Reads((Opnum.QUERY_COUNTER_INFO,), ("request", "response"), success=True), about="handle")
def counter_of_another_query_reported(evidence: Evidence) -> Iterator[Judgement]:
    """A query holds a counter that was added to another one.

    Looks for: answers of QueryCounterInfo with counters that the capture shows being added to another handle of the server, and
    never to this one.

    Why it matters: each client means its own counters by its handle. Where queries run into each other, clients get values that
    they did not ask for, and blocks in other places than they expect.

    Specification: [MS-PCQ] section 2.2.1: the server decides by the handle which counters to query. Sections 3.1.1.1 and 3.2.1:
    the handle lets the server distinguish the queries of clients.

    Flagged: a counter added to the handle of one client, and listed for that of another, to which it was not added.

    Accepted: the same counter added to both.

    Silent: where no two handles were open at once; where the handle was not opened in the capture, or a ValidateCounters on it is
    sealed or was lost.
    """
    holders: dict[tuple[str, _CounterKey], set[int]] = {}
    first_adds: dict[int, int] = {}
    for lifetime, event in handle_events(evidence, lambda event: event.kind == "add" and event.succeeded):
        first_adds[lifetime.number] = min(event.call, first_adds.get(lifetime.number, event.call))
        for identifier in event.identifiers or ():
            holders.setdefault((lifetime.server.ip, _counter_key(identifier)), set()).add(lifetime.number)
    open_queries = _OpenQueries(evidence.lifetimes, first_adds)
    for lifetime, event in handle_events(evidence, lambda event: event.kind == "info" and event.succeeded):
        call = evidence.call(event.call)
        if event.view.held is None or call.response is None or not call.response.is_readable:
            reason = event.view.unknown or "the list is damaged"
            yield inconclusive(f"what the handle holds is not known: {reason}", call)
            continue
        held = {_counter_key(identifier) for identifier in event.view.held}
        for block in call.response.identifiers.blocks:
            key = (block.counterset, block.counter_id, (block.name or "").casefold())
            others = holders.get((lifetime.server.ip, key), set())
            if key not in held and others and lifetime.number not in others:
                message = "a query holds a counter that was added to another one"
                at = At("response", block.path, block.whole)
                expected = f"the {len(held)} counters that were added to q{lifetime.number}"
                yield failed(call, at, message, expected, f"{block.described}, which was added to q{min(others)}")
                break
        else:
            if open_queries.was_another_open(lifetime, event.call):
                yield passed()


class _OpenQueries:
    """When the queries of each server were open and held something."""

    def __init__(self, lifetimes: Sequence[HandleLifetime], first_adds: Mapping[int, int]) -> None:
        """`first_adds` has the call that first added to a query, by the number of its handle."""
        held = [(one.server.ip, first_adds[one.number], one) for one in lifetimes if one.number in first_adds]
        # Of each server the calls that first added something, in order, and with each the two queries of those so far that stay
        # open longest: the call that closed it, and its number.
        self._firsts: dict[str, list[int]] = {}
        self._longest: dict[str, list[list[tuple[float, int]]]] = {}
        for ip, first, one in sorted(held, key=itemgetter(0, 1)):
            longest = self._longest.setdefault(ip, [])
            own = inf if one.closed is None else one.closed, one.number
            longest.append(nlargest(2, [*(longest[-1] if longest else ()), own]))
            self._firsts.setdefault(ip, []).append(first)

    def was_another_open(self, than: HandleLifetime, call: int) -> bool:
        """Whether another query of the server was open and held something when a call was made, so that a rule can compare the
        two."""
        at = bisect_left(self._firsts.get(than.server.ip, ()), call)
        longest = self._longest[than.server.ip][at - 1] if at else []
        return any(closed > call for closed, number in longest if number != than.number)


def _counter_key(identifier: Identifier) -> _CounterKey:
    return identifier.counterset, identifier.counter_id, (identifier.instance or "").casefold()
