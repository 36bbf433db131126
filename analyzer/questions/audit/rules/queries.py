"""Rules about what a query holds: what was added to it or removed, what the server reports of it, and what data it answers with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from analyzer.questions.audit.buffer_checks import (
    DATA,
    INFO,
    NO_REGISTRATION,
    UNREADABLE,
    VALIDATED,
    counters_of_set,
    has_instances,
    instance_type_of,
    judgements,
    of_data,
)
from analyzer.questions.audit.call_evidence import CallEvidence
from analyzer.questions.audit.data_answers import Block, DataAnswer, FlawKind
from analyzer.questions.audit.identifier_lists import IdentifierBlock
from analyzer.questions.audit.rule_registry import Level, Reads, of_calls, rule
from analyzer.questions.audit.rule_verdicts import (
    At,
    Confidence,
    Judgement,
    Severity,
    Violation,
    failed,
    inconclusive,
    judge,
    passed,
    warned,
)
from analyzer.questions.audit.server_statements import InstanceList
from analyzer.questions.audit.values_with_counters import (
    NO_COUNTER,
    NO_LIST,
    UNKNOWN_QUERY,
    counter_of,
    held_of,
    why_unknown,
)
from analyzer.results.calls.query_state import Identifier, QueryView
from analyzer.results.methods.perflib import COUNTERS, COUNTERSET, ERROR, INSTANCES, NONE_ID, SINGLE, Opnum

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
            yield judge_status(_Case(call, before, after.status, query, held, in_this_call, covering))
        if after.status == 0:
            in_this_call.add(before.key)
            covering.add(before.key)


def _success(case: _Case) -> Judgement:
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


def _list_without(case: _Case) -> InstanceList | None:
    """The list of instances nearest in time, where it lacks the instance that was added to the query."""
    call, block = case.call, case.block
    if not block.name or "*" in block.name or not has_instances(call, block.counterset):
        return None
    listed = call.knowledge.instances_about(call.server, block.counterset, call.time_ns)
    return listed if listed is not None and block.name.casefold() not in listed.folded else None


def _removed(case: _Case) -> Judgement:
    if case.held is None:
        return inconclusive(case.unknown, case.call, ADDED)
    if case.is_held:
        return passed(ADDED)
    if case.may_be_held_otherwise:
        return inconclusive("whether a wildcard removes what it covers is not specified", case.call, ADDED)
    return case.against(CORRUPT, "0x57, not in the query", "a counter was removed that the query does not hold")


def _no_set(case: _Case) -> Judgement:
    call, guid = case.call, case.block.counterset
    is_listed = call.knowledge.lists_counterset(call.server, guid)
    if is_listed or instance_type_of(call, guid) is not None:
        message = "a counterset was not found that the server listed or described"
        return case.against(NO_SET, "another status: the counterset exists", message)
    if is_listed is None:
        return inconclusive("no list of the server's countersets is in the capture", call, NO_SET)
    return passed(NO_SET)


def _no_counter(case: _Case) -> Judgement:
    registered = counters_of_set(case.call, case.block.counterset)
    if registered is None:
        return inconclusive(NO_REGISTRATION, case.call, NO_COUNTER_FOUND)
    if case.block.counter_id in registered or (case.block.asks_all_counters and registered):
        message = "a counter was not found that the server registered"
        return case.against(NO_COUNTER_FOUND, "another status: the counter exists", message)
    return passed(NO_COUNTER_FOUND)


def _no_instance(case: _Case) -> Judgement:
    call, block = case.call, case.block
    listed = call.knowledge.instances_about(call.server, block.counterset, call.time_ns)
    if listed is None:
        return inconclusive(NO_LIST, call, NO_INSTANCE)
    if (block.name or "").casefold() in listed.folded or (block.asks_all_instances and listed.names):
        message = f"an instance was not found that call {listed.call} listed"
        return case.against(NO_INSTANCE, "another status: the instance was there", message, warn=True)
    return passed(NO_INSTANCE)


def _there_already(case: _Case) -> Judgement:
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


def _corrupt(case: _Case) -> Judgement:
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


_BY_STATUS: dict[int, Callable[[_Case], Judgement]] = {
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


class _Case(NamedTuple):
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
        """Whether the query holds the counter, be it since this call."""
        return self.block.key in self.in_this_call or (self.held is not None and self.block.key in self.held)

    @property
    def may_be_held_otherwise(self) -> bool:
        """Whether the query holds another identifier of the same counterset that may cover this one, or be covered by it."""
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


_NUM_BLOCKS = At("response", "lpData.num_blocks", (4, 8))
_UNCOUNTABLE = "the blocks of the answer cannot be counted"


def _can_be_counted(answer: DataAnswer) -> bool:
    return answer.is_walked and not answer.flaws_of(FlawKind.BLOCK_COUNT)


@rule("PCQ450", Level.SEQUENCES, Severity.ERROR, "index-leads-nowhere")
@of_calls(
    "PCQ-3.1.4.1.5-R13",
    Reads((Opnum.QUERY_COUNTER_INFO, Opnum.QUERY_COUNTER_DATA), ("response.lpData",), success=True, damaged=True),
)
def counter_index_wrong(call: CallEvidence) -> Iterator[Judgement]:
    """The Index of a counter is that of another one, or of no block.

    Looks for:

    - Answers of QueryCounterInfo in which two identifiers have the same Index.
    - Data answers on the same handle that have no block at a position that such an answer reported. No counter may have been
      added or removed between the two.

    Why it matters: Index is all that connects a value with a counter. Two counters at one place, or one at no place, have no value.

    Specification: [MS-PCQ] section 3.1.4.1.5: Index must be the position of the corresponding block in the answers of later data
    queries on the handle.

    Flagged: two identifiers with Index 0; Index 5 where the data have five blocks.

    Accepted: positions in any order; positions counted anew after ValidateCounters.

    Silent: where one of the answers is sealed, was not captured, or is damaged.
    """
    if not call.reply.is_readable:
        yield inconclusive(UNREADABLE, call)
    elif call.opnum == Opnum.QUERY_COUNTER_INFO:
        yield from _indices_reported(call)
    else:
        yield from _indices_answered(call)


def _indices_reported(call: CallEvidence) -> Iterator[Judgement]:
    found = call.reply.identifiers
    if found.flaw is not None:
        yield inconclusive("the list of identifiers is damaged", call)
        return
    taken: dict[int, int] = {}
    violations: list[Violation] = []
    for block in found.blocks:
        first = taken.setdefault(block.position, block.number)
        if first != block.number:
            seen = f"{block.position}, as of identifier {first}"
            violations.append(block.wrong("index", "a position of its own", seen))
    yield from judgements(call, len(found.blocks), violations, "two counters have the same position in data answers")


def _indices_answered(call: CallEvidence) -> Iterator[Judgement]:
    query, answer = call.query, call.reply.answer
    if query is None or query.id_source != "index":
        return
    if not _can_be_counted(answer):
        yield inconclusive(_UNCOUNTABLE, call)
        return
    beyond = sorted(index for index in query.blocks if index >= len(answer.blocks))
    seen = f"{len(answer.blocks)} blocks"
    violations = [Violation("lpData.num_blocks", (4, 8), f"a block at position {index}", seen) for index in beyond]
    message = "the answer has no block at a position that QueryCounterInfo reported"
    yield from judgements(call, len(query.blocks), violations, message)


@rule("PCQ546", Level.SEQUENCES, Severity.ERROR, "blocks-unlike-the-query")
@of_calls("PCQ-3.1.1.5-R03", DATA)
def block_count_not_of_query(call: CallEvidence) -> Iterator[Judgement]:
    """A data answer has more or fewer blocks than the query holds counters.

    Looks for: answers of QueryCounterData on handles whose counters the capture states, and the number of their blocks.

    Why it matters: with a block missing, every one behind it stands at the place of another counter.

    Specification: [MS-PCQ] section 3.1.1.5: a data query covers every counter identifier of the handle's list. One that could not
    be read has an error block, which counts.

    Flagged: two blocks on a handle to which three counters were added.

    Accepted: three blocks, one of type 0.

    Silent: where the capture does not state what the handle holds, or the same counter was added to it twice with success: then it
    may count once or twice.
    """
    found = held_of(call)
    if isinstance(found, str):
        yield inconclusive(found, call)
        return
    (query, held), answer = found, call.reply.answer
    if query.id_source == "index" and len(query.blocks) != len(held):
        yield inconclusive("QueryCounterInfo reported the same counter, or the same position, twice", call)
    elif not _can_be_counted(answer):
        yield inconclusive(_UNCOUNTABLE, call)
    else:
        is_kept, message = (
            len(answer.blocks) == len(held),
            "the answer has another number of blocks than the query holds counters",
        )
        expected, seen = f"{len(held)}, one for each counter held", f"{len(answer.blocks)} blocks"
        yield judge(is_kept, call, _NUM_BLOCKS, message, expected, seen, confidence=Confidence.MEDIUM)


OF_TYPE = {
    ERROR: "PCQ-2.2.4.8-R03",
    SINGLE: "PCQ-2.2.4.8-R04",
    COUNTERS: "PCQ-2.2.4.8-R05",
    INSTANCES: "PCQ-2.2.4.8-R06",
    COUNTERSET: "PCQ-2.2.4.8-R07",
}
POSITION, ORDER = "PCQ-2.2.4.6-R05", "PL-QCD-R10"
# Wildcards, and the types of block that can answer each.
ALL_COUNTERS, ALL_INSTANCES = "PCQ-3.1.4.1.7-R15", "PCQ-3.1.4.1.7-R16"
_OF_WILDCARD = {ALL_COUNTERS: (COUNTERS, COUNTERSET), ALL_INSTANCES: (INSTANCES, COUNTERSET)}


@rule("PCQ545", Level.SEQUENCES, Severity.ERROR, "block-unlike-its-counter")
@of_data((*OF_TYPE.values(), POSITION, ORDER, ALL_COUNTERS, ALL_INSTANCES))
def block_type_not_of_counter(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    """A block of data is of another form than the counter asks for that stands at its place.

    Looks for: counter header blocks whose position the capture connects with an identifier of the query, either by the Index of
    QueryCounterInfo or by the order in which counters were added. The rule reports a dwType that cannot answer the identifier:
    several values for one counter, a single one for a wildcard, instances for a single instance.

    Why it matters: blocks carry no names. A client takes the values in a block for those of the counter at its place.

    Specification: [MS-PCQ] section 2.2.4.8: type 1 is a single value, 2 several counters, 4 several instances of a counter, 6 all
    counters of all instances. Section 2.2.4.6: Index is the position of a counter's data; perflib.h: blocks stand in that order.
    Section 3.1.4.1.7: CounterId 0xFFFFFFFF asks for all counters, the instance name "*" for all instances.

    Flagged: a block of type 6 where QueryCounterInfo reported one counter of one instance; of type 1 where it reported of a
    CounterId 0xFFFFFFFF.

    Accepted: an error block (type 0) anywhere; type 1 or 4 for the name "*" where the capture does not state whether the counterset
    has instances.

    Silent: where the capture does not connect blocks and counters. By the order of adding alone nothing can contradict: then the
    order is not known.
    """
    query = call.query
    if query is None or query.id_source is None:
        yield inconclusive(why_unknown(query, NO_COUNTER), call)
        return
    position = (POSITION, ORDER) if query.id_source == "index" else ()
    violations: dict[tuple[str, ...], list[Violation]] = defaultdict(list)
    for block in answer.blocks:
        known = counter_of(call, block)
        # A block whose content is not that of its type is not of that type; another rule reports it.
        if known is None or block.kind not in OF_TYPE or not block.is_whole:
            continue
        wildcards = tuple(_wildcards(call, known)) if block.kind != ERROR else ()
        requirements, kinds = (OF_TYPE[block.kind], *position), _fitting(call, known)
        if block.kind in kinds:
            yield passed(*requirements, *wildcards)
            continue
        broken = tuple(one for one in wildcards if block.kind not in _OF_WILDCARD[one])
        if kept := [one for one in wildcards if one not in broken]:
            yield passed(*kept)
        violations[(*requirements, *broken)].append(_other_type(block, known, kinds))
    for of, blocks in violations.items():
        yield from judgements(
            call, 0, blocks, "a block is of another form than the counter at its place asks for", of=of
        )


def _wildcards(call: CallEvidence, known: Identifier) -> Iterator[str]:
    """The requirements about wildcards that a counter identifier in a query invokes."""
    if not known.names_one_counter and _has_several(call, known):
        yield ALL_COUNTERS
    if known.instance == "*" and has_instances(call, known.counterset):
        yield ALL_INSTANCES


def _has_several(call: CallEvidence, known: Identifier) -> bool:
    """Whether a wildcard for counters in a query stands for more than one counter, as far as is known."""
    registered = counters_of_set(call, known.counterset)
    return registered is None or len(registered) != 1


def _fitting(call: CallEvidence, known: Identifier) -> tuple[int, ...]:
    """The types of block that can answer a counter identifier in a query."""
    one, many = (SINGLE, INSTANCES) if known.names_one_counter else (COUNTERS, COUNTERSET)
    if not known.names_one_counter and not _has_several(call, known):
        return tuple(OF_TYPE)
    named = has_instances(call, known.counterset)
    if (known.instance and known.names_one_instance) or named is False:
        return ERROR, one
    return (ERROR, many) if known.instance == "*" and named else (ERROR, one, many)


def _other_type(block: Block, known: Identifier, kinds: tuple[int, ...]) -> Violation:
    counter = f"counter {known.counter_id}" if known.names_one_counter else "all counters"
    instance = f"instance {known.instance!r}" if known.instance else "no instance name"
    expected = f"type {' or '.join(str(kind) for kind in kinds)} for {counter} and {instance}"
    return block.wrong("block_type", expected, f"type {block.kind}")
