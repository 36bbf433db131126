"""A data answer names a counter that its counterset does not have.

Looks for: counter ids in blocks of dwType 2 and 6 that are not among the counters the server registered for the counterset, or
that are there twice.

Why it matters: the value has neither name nor type, and nobody can show it.

Specification: [MS-PCQ] section 2.2.4.11: the array holds the ids of the counters whose values follow. Section 2.2.4.2 makes ids
unique within a counterset.

Flagged: id 9 of a counterset with the counters 1 to 3.

Accepted: some of the counterset's counters, in any order.

Silent: where the counterset's registration (request code 1) or the meaning of the block is not in the capture.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.answers import Block, DataAnswer
from analyzer.questions.audit.checks import NO_REGISTRATION, Violation, data_answers, judgements
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.values import NO_HANDLE, counter_of, query_of
from analyzer.questions.audit.verdicts import Judgement, Severity, inconclusive

REQUIREMENTS = ("PCQ-2.2.4.11-R02",)

RULE = Rule("PCQ602", "unregistered-counter-answered", Level.VALUES, Severity.ERROR)


@data_answers(RULE, REQUIREMENTS)
def _check(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    query = query_of(call)
    for block in answer.blocks:
        if block.ids is None or not block.is_whole:
            continue
        known = counter_of(query, block) if query is not None else None
        counterset = known.counterset if known is not None else query.counterset if query is not None else None
        if query is None or counterset is None:
            reason = query.unknown if query is not None else NO_HANDLE
            yield inconclusive(REQUIREMENTS[0], reason or "which counter the block is of is not in the capture", call)
            continue
        entry = call.catalog.countersets.get(counterset)
        if entry is None or entry.instance_type is None:
            yield inconclusive(REQUIREMENTS[0], NO_REGISTRATION, call)
            continue
        registered = {number for number, counter in entry.counters.items() if counter.info is not None}
        violations = list(_violations(block, block.ids, registered))
        message = "a block names a counter that its counterset does not have"
        yield from judgements(call, "response", REQUIREMENTS, len(block.ids), violations, message)


def _violations(block: Block, ids: tuple[int, ...], registered: set[int]) -> Iterator[Violation]:
    before: set[int] = set()
    for place, number in enumerate(ids):
        at = block.ids_at + 8 + 4 * place
        path = f"{block.path}.body.counters.counter_ids[{place}]"
        if number not in registered:
            yield Violation(path, (at, at + 4), "a registered counter", f"{number}")
        elif number in before:
            yield Violation(path, (at, at + 4), "each counter once", f"{number} again")
        before.add(number)
