"""A block of data is of another form than the counter asks for that stands at its place.

Looks for: counter header blocks whose position the capture connects with an identifier of the query (by the Index of
QueryCounterInfo, or by the order in which counters were added), and whose dwType is not one that can answer it: several values
for one counter, a single one for a wildcard, instances for a single instance.

Why it matters: blocks carry no names. A client takes the values in a block for those of the counter at its place.

Specification: [MS-PCQ] section 2.2.4.8: type 1 is a single value, 2 several counters, 4 several instances of a counter, 6 all
counters of all instances. Section 2.2.4.6: Index is the position of a counter's data; perflib.h: blocks stand in that order.
Section 3.1.4.1.7: CounterId 0xFFFFFFFF asks for all counters, the instance name "*" for all instances.

Flagged: a block of type 6 where QueryCounterInfo reported one counter of one instance; of type 1 where it reported of a CounterId
0xFFFFFFFF.

Accepted: an error block (type 0) anywhere; type 1 or 4 for the name "*" where the capture does not state whether the counterset
has instances.

Silent: where the capture does not connect blocks and counters. By the order of adding alone nothing can contradict: then the
order is not known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from analyzer.interfaces.buffers.layout import COUNTERS, COUNTERSET, ERROR, INSTANCES, SINGLE
from analyzer.questions.audit.answers import Block, DataAnswer
from analyzer.questions.audit.checks import Violation, cannot_say, data_answers, has_instances, judgements
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.values import NO_HANDLE, counter_of, query_of
from analyzer.questions.audit.verdicts import Judgement, Severity, passed
from analyzer.results.query import Identifier

OF_TYPE = {
    ERROR: "PCQ-2.2.4.8-R03",
    SINGLE: "PCQ-2.2.4.8-R04",
    COUNTERS: "PCQ-2.2.4.8-R05",
    INSTANCES: "PCQ-2.2.4.8-R06",
    COUNTERSET: "PCQ-2.2.4.8-R07",
}
POSITION, ORDER = "PCQ-2.2.4.6-R05", "PL-QCD-R10"
ALL_COUNTERS, ALL_INSTANCES = "PCQ-3.1.4.1.7-R15", "PCQ-3.1.4.1.7-R16"
REQUIREMENTS = (*OF_TYPE.values(), POSITION, ORDER, ALL_COUNTERS, ALL_INSTANCES)

RULE = Rule("PCQ545", "block-unlike-its-counter", Level.SEQUENCES, Severity.ERROR)


@data_answers(RULE, REQUIREMENTS)
def _check(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    query = query_of(call)
    if query is None or query.id_source is None:
        reason = query.unknown if query is not None else NO_HANDLE
        yield from cannot_say(REQUIREMENTS, reason or "which counter a block is of is not in the capture", call)
        return
    position = (POSITION, ORDER) if query.id_source == "index" else ()
    violations: dict[tuple[str, ...], list[Violation]] = defaultdict(list)
    for block in answer.blocks:
        known = counter_of(query, block)
        # A block whose content is not that of its type is not of that type; another rule reports it.
        if known is None or block.kind not in OF_TYPE or not block.is_whole:
            continue
        wildcards = tuple(_wildcards(call, known)) if block.kind != ERROR else ()
        requirements = (OF_TYPE[block.kind], *position)
        kinds = _fitting(call, known)
        if block.kind in kinds:
            for requirement in (*requirements, *wildcards):
                yield passed(requirement)
            continue
        broken = tuple(
            requirement
            for requirement in wildcards
            if block.kind not in ((COUNTERS, COUNTERSET) if requirement == ALL_COUNTERS else (INSTANCES, COUNTERSET))
        )
        for requirement in set(wildcards) - set(broken):
            yield passed(requirement)
        violations[(*requirements, *broken)].append(_violation(block, known, kinds))
    for requirements, blocks in violations.items():
        message = "a block is of another form than the counter at its place asks for"
        yield from judgements(call, "response", requirements, 0, blocks, message)


def _wildcards(call: CallEvidence, known: Identifier) -> Iterator[str]:
    """The requirements about wildcards that an identifier invokes."""
    if not known.names_one_counter and _has_several(call, known):
        yield ALL_COUNTERS
    if known.instance == "*" and has_instances(call, known.counterset):
        yield ALL_INSTANCES


def _has_several(call: CallEvidence, known: Identifier) -> bool:
    """Whether a wildcard stands for more than one counter, as far as is known."""
    entry = call.catalog.countersets.get(known.counterset)
    registered = sum(counter.info is not None for counter in entry.counters.values()) if entry is not None else 0
    return entry is None or entry.instance_type is None or registered != 1


def _fitting(call: CallEvidence, known: Identifier) -> tuple[int, ...]:
    """The types of block that can answer an identifier."""
    one, many = (SINGLE, INSTANCES) if known.names_one_counter else (COUNTERS, COUNTERSET)
    if not known.names_one_counter and not _has_several(call, known):
        return KINDS_OF_ONE
    named = has_instances(call, known.counterset)
    if (known.instance and known.names_one_instance) or named is False:
        return ERROR, one
    if known.instance == "*" and named:
        return ERROR, many
    return ERROR, one, many


# What may answer "all counters" of a counterset that has one.
KINDS_OF_ONE = (ERROR, SINGLE, COUNTERS, INSTANCES, COUNTERSET)


def _violation(block: Block, known: Identifier, kinds: tuple[int, ...]) -> Violation:
    counter = f"counter {known.counter_id}" if known.names_one_counter else "all counters"
    instance = f"instance {known.instance!r}" if known.instance else "no instance name"
    expected = f"type {' or '.join(str(kind) for kind in kinds)} for {counter} and {instance}"
    return Violation(f"{block.path}.block_type", (block.at + 4, block.at + 8), expected, f"type {block.kind}")
