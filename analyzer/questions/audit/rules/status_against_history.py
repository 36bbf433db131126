"""The status of a counter that was added or removed contradicts what the server stated before.

Looks for: each Status in answers of ValidateCounters, held against the capture: countersets the server listed or described,
their counters, instances it listed, and the counters the handle already held.

Why it matters: the status is what a client shows its user, or acts on. A counter that is stated not to exist and was listed a
moment before leaves both helpless; one that is stated to be added and cannot be has no data.

Specification: [MS-PCQ] section 3.1.4.1.7 gives each status its condition: 0 added or removed; 0x1068 the server has no such
counterset; 0x106A the counterset has no such counter; 3 there is no active instance of that name; 0xB7 the counter was added by
a call before; 0x57 the identifier is corrupt, or the counter to remove is not in the query; 0xE no memory. The call itself may
succeed while single counters fail.

Flagged: 0x106A for a counter that is registered; 0 for one that is not; 0 for a counter that was added by a call before; 0xB7
for one that the handle does not hold; 0x57 for the removal of one that it holds; 0 for a counterset that is in no list and was
never described. Warnings, since instances come and go: 3 for an instance that was listed within a minute, 0 for one that was not.

Accepted: 0 or 0xB7 for the second of two that are alike in one call; 0xE at any time.

Silent: where the capture does not hold what the status is to be held against. 0x57 for an identifier in which nothing is wrong
that could be seen is inconclusive, since errors of a provider are passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from analyzer.questions.audit.checks import NO_REGISTRATION, VALIDATED, Violation, has_instances, judgements
from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.identifiers import STATUS, IdentifierBlock
from analyzer.questions.audit.knowledge import InstanceList
from analyzer.questions.audit.rule import Level, Rule, Watch
from analyzer.questions.audit.values import NO_HANDLE, query_of
from analyzer.questions.audit.verdicts import Confidence, Judgement, Severity, inconclusive, passed
from analyzer.results.perflib import NONE_ID
from analyzer.results.query import QueryView

ADDED, NO_SET, NO_COUNTER, NO_INSTANCE = (f"PCQ-3.1.4.1.7-R{number}" for number in (20, 21, 22, 23))
THERE_ALREADY, CORRUPT, NO_MEMORY, SINGLY = (f"PCQ-3.1.4.1.7-R{number}" for number in (24, 25, 26, 27))
REQUIREMENTS = (ADDED, NO_SET, NO_COUNTER, NO_INSTANCE, THERE_ALREADY, CORRUPT, NO_MEMORY, SINGLY)

Key = tuple[str, int, int, str]

RULE = Rule("PCQ435", "status-against-history", Level.SEQUENCES, Severity.ERROR)


@RULE.calls(REQUIREMENTS, VALIDATED)
class _Statuses(Watch[CallEvidence]):
    def __init__(self, evidence: Evidence) -> None:
        self._knowledge = evidence.knowledge
        self._by_status: dict[int, Callable[[_Case], Iterator[Judgement]]] = {
            0: self._success,
            0x1068: self._no_set,
            0x106A: self._no_counter,
            3: self._no_instance,
            0xB7: self._there_already,
            0x57: self._corrupt,
            0xE: lambda case: iter((passed(NO_MEMORY),)),
        }

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        assert call.request is not None
        assert call.response is not None
        asked, answered = call.request.identifiers.blocks, call.response.identifiers.blocks
        if any(block.status for block in answered):
            yield passed(SINGLY)
        query = query_of(call)
        held = _held(query)
        in_this_call: set[Key] = set()
        covering = _Covering(held or ())
        for before, after in zip(asked, answered, strict=False):
            judge = self._by_status.get(after.status)
            if judge is not None:
                yield from judge(_Case(call, before, after.status, query, held, in_this_call, covering))
            if after.status == 0:
                in_this_call.add(before.key)
                covering.add(before.key)

    def _success(self, case: _Case) -> Iterator[Judgement]:
        block, call = case.block, case.call
        if not case.adds:
            yield from self._removed(case)
            return
        registered = _registered(call, block)
        if registered is None and self._knowledge.lists_counterset(call.server, block.counterset) is False:
            message = "a counter was added of a counterset that the server does not list"
            yield from case.against(NO_SET, "0x1068, no such counterset", message)
        elif registered is not None and not block.asks_all_counters and block.counter_id not in registered:
            yield from case.against(
                ADDED, "0x106a, no such counter", "a counter was added that its counterset does not have"
            )
        elif case.held is not None and block.key in case.held:
            expected = "0xb7, added already"
            yield from case.against(THERE_ALREADY, expected, "a counter was added that a call before had added")
        elif (listed := self._list_without(case)) is not None:
            message = f"a counter was added of an instance that is not among those call {listed.call} listed"
            yield from case.against(NO_INSTANCE, "3, no such instance", message, warn=True)
        elif case.held is None:
            yield inconclusive(ADDED, case.unknown, call)
        else:
            yield passed(ADDED)

    def _list_without(self, case: _Case) -> InstanceList | None:
        """The list of instances nearest in time, where it lacks the instance that was added."""
        call, block = case.call, case.block
        if not block.name or "*" in block.name or not has_instances(call, block.counterset):
            return None
        time_ns = call.decoded.time_ns
        listed = self._knowledge.instances_about(call.server, block.counterset, time_ns)
        return listed if listed is not None and block.name.casefold() not in listed.folded else None

    def _removed(self, case: _Case) -> Iterator[Judgement]:
        if case.held is None:
            yield inconclusive(ADDED, case.unknown, case.call)
        elif case.is_held:
            yield passed(ADDED)
        elif case.may_be_held_otherwise:
            yield inconclusive(ADDED, "whether a wildcard removes what it covers is not specified", case.call)
        else:
            yield from case.against(
                CORRUPT, "0x57, not in the query", "a counter was removed that the query does not hold"
            )

    def _no_set(self, case: _Case) -> Iterator[Judgement]:
        call, guid = case.call, case.block.counterset
        entry = call.catalog.countersets.get(guid)
        is_listed = self._knowledge.lists_counterset(call.server, guid)
        if is_listed or (entry is not None and entry.instance_type is not None):
            message = "a counterset was not found that the server listed or described"
            yield from case.against(NO_SET, "another status: the counterset exists", message)
        elif is_listed is None:
            yield inconclusive(NO_SET, "no list of the server's countersets is in the capture", call)
        else:
            yield passed(NO_SET)

    def _no_counter(self, case: _Case) -> Iterator[Judgement]:
        registered = _registered(case.call, case.block)
        if registered is None:
            yield inconclusive(NO_COUNTER, NO_REGISTRATION, case.call)
        elif case.block.counter_id in registered or (case.block.asks_all_counters and registered):
            message = "a counter was not found that the server registered"
            yield from case.against(NO_COUNTER, "another status: the counter exists", message)
        else:
            yield passed(NO_COUNTER)

    def _no_instance(self, case: _Case) -> Iterator[Judgement]:
        call, block = case.call, case.block
        time_ns = call.decoded.time_ns
        listed = self._knowledge.instances_about(call.server, block.counterset, time_ns)
        if listed is None:
            yield inconclusive(NO_INSTANCE, "no list of the instances near in time is in the capture", call)
        elif (block.name or "").casefold() in listed.folded or (block.asks_all_instances and listed.names):
            message = f"an instance was not found that call {listed.call} listed"
            yield from case.against(NO_INSTANCE, "another status: the instance was there", message, warn=True)
        else:
            yield passed(NO_INSTANCE)

    def _there_already(self, case: _Case) -> Iterator[Judgement]:
        if not case.adds:
            yield from case.against(
                THERE_ALREADY, "0 or 0x57", "a counter to be removed was stated to have been added already"
            )
        elif case.is_held:
            yield passed(THERE_ALREADY)
        elif case.held is None:
            yield inconclusive(THERE_ALREADY, case.unknown, case.call)
        elif case.may_be_held_otherwise:
            yield inconclusive(
                THERE_ALREADY, "whether a wildcard is the same counter as what it covers is not specified", case.call
            )
        else:
            message = "a counter was stated to have been added already that the query does not hold"
            yield from case.against(THERE_ALREADY, "0 or another error", message)

    def _corrupt(self, case: _Case) -> Iterator[Judgement]:
        block = case.block
        if block.reserved or block.size % 8 or (block.room and not block.has_nul):
            yield passed(CORRUPT)
        elif case.adds:
            reason = (
                "nothing is wrong with the identifier that could be seen, and a provider may have returned the code"
            )
            yield inconclusive(CORRUPT, reason, case.call)
        elif case.held is None:
            yield inconclusive(CORRUPT, case.unknown, case.call)
        elif case.is_held:
            yield from case.against(CORRUPT, "0, removed", "a counter was not removed though the query holds it")
        else:
            yield passed(CORRUPT)


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


class _Case:
    """One identifier with the status it got."""

    def __init__(
        self,
        call: CallEvidence,
        block: IdentifierBlock,
        status: int,
        query: QueryView | None,
        held: frozenset[Key] | None,
        in_this_call: set[Key],
        covering: _Covering,
    ) -> None:
        self.call, self.block, self.status, self.held, self.query = call, block, status, held, query
        self.in_this_call, self._covering = in_this_call, covering
        self.adds = bool(call.asked.get("dwAdd"))

    @property
    def unknown(self) -> str:
        reason = self.query.unknown if self.query is not None else NO_HANDLE
        return reason or "what the handle holds is not in the capture"

    @property
    def is_held(self) -> bool:
        """Whether the query holds the counter, be it since this call."""
        return self.block.key in self.in_this_call or (self.held is not None and self.block.key in self.held)

    @property
    def may_be_held_otherwise(self) -> bool:
        """Whether the query holds another identifier of the same counterset that may cover this one, or be covered by it."""
        guid = self.block.counterset
        is_wildcard = self.block.asks_all_counters or "*" in (self.block.name or "")
        return guid in self._covering.wildcards or (is_wildcard and guid in self._covering.countersets)

    def against(self, requirement: str, expected: str, message: str, *, warn: bool = False) -> Iterator[Judgement]:
        violations = [Violation(f"{self.block.path}.status", self.block.span(STATUS), expected, f"{self.status:#x}")]
        confidence = Confidence.MEDIUM
        yield from judgements(
            self.call, "response", (requirement,), 0, violations, message, warn=warn, confidence=confidence
        )


def _held(query: QueryView | None) -> frozenset[Key] | None:
    if query is None or query.held is None:
        return None
    return frozenset(
        (one.counterset, one.counter_id, one.instance_id, (one.instance or "").casefold()) for one in query.held
    )


def _registered(call: CallEvidence, block: IdentifierBlock) -> set[int] | None:
    """The counters of an identifier's counterset; None where its registration is not in the capture."""
    entry = call.catalog.countersets.get(block.counterset)
    if entry is None or entry.instance_type is None:
        return None
    return {number for number, counter in entry.counters.items() if counter.info is not None}
