"""The Index of a counter is that of another one, or of no block.

Looks for: answers of QueryCounterInfo in which two identifiers have the same Index; data answers on the same handle, before
counters were added or removed, that have no block at a position such an answer reported.

Why it matters: Index is all that connects a value with a counter. Two counters at one place, or one at no place, have no value.

Specification: [MS-PCQ] section 3.1.4.1.5: Index must be the position of the corresponding block in the answers of later data
queries on the handle.

Flagged: two identifiers with Index 0; Index 5 where the data have five blocks.

Accepted: positions in any order; positions counted anew after ValidateCounters.

Silent: where one of the answers is sealed, was not captured, or is damaged.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.answers import FlawKind
from analyzer.questions.audit.checks import Violation, cannot_say, judgements
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.identifiers import INDEX
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.values import query_of
from analyzer.questions.audit.verdicts import Judgement, Severity
from analyzer.results.perflib import Opnum

REQUIREMENTS = ("PCQ-3.1.4.1.5-R13",)

RULE = Rule("PCQ450", "index-leads-nowhere", Level.SEQUENCES, Severity.ERROR)


@RULE.calls(
    REQUIREMENTS,
    Reads((Opnum.QUERY_COUNTER_INFO, Opnum.QUERY_COUNTER_DATA), ("response.lpData",), success=True, damaged=True),
)
def check(call: CallEvidence) -> Iterator[Judgement]:
    response = call.response
    assert response is not None
    if not response.is_readable:
        yield from cannot_say(REQUIREMENTS, "the response stub does not decode", call)
    elif call.opnum == Opnum.QUERY_COUNTER_INFO:
        yield from _info(call)
    else:
        yield from _data(call)


def _info(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    found = call.response.identifiers
    taken: dict[int, int] = {}
    violations: list[Violation] = []
    for block in found.blocks:
        first = taken.setdefault(block.position, block.number)
        if first != block.number:
            seen = f"{block.position}, as of identifier {first}"
            violations.append(Violation(f"{block.path}.index", block.span(INDEX), "a position of its own", seen))
    if found.flaw is not None:
        yield from cannot_say(REQUIREMENTS, "the list of identifiers is damaged", call)
        return
    message = "two counters have the same position in data answers"
    yield from judgements(call, "response", REQUIREMENTS, len(found.blocks), violations, message)


def _data(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    query, answer = query_of(call), call.response.answer
    if query is None or query.id_source != "index":
        return
    if not answer.is_walked or answer.of(FlawKind.BLOCK_COUNT):
        yield from cannot_say(REQUIREMENTS, "the blocks of the answer cannot be counted", call)
        return
    beyond = [index for index in query.blocks if index >= len(answer.blocks)]
    seen = f"{len(answer.blocks)} blocks"
    violations = [
        Violation("lpData.num_blocks", (4, 8), f"a block at position {index}", seen) for index in sorted(beyond)
    ]
    message = "the answer has no block at a position that QueryCounterInfo reported"
    yield from judgements(call, "response", REQUIREMENTS, len(query.blocks), violations, message)
