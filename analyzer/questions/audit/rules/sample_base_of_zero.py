"""The base of a sampled fraction is zero.

Looks for: values of counters of type PERF_SAMPLE_BASE that are 0.

Why it matters: clients divide by it.

Specification: [MS-PCQ] section 2.2.4.2: a PERF_SAMPLE_BASE is the divisor of a PERF_SAMPLE_FRACTION and must be greater than 0.
What the division needs is that the difference of two values is not 0; the text speaks of the value.

Flagged: 0.

Accepted: 1; a 0 of any other type of base.

Silent: where the capture does not state which counter a block is of, or of which type the counter is.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.answers import DataAnswer, value_path
from analyzer.questions.audit.checks import Violation, cannot_say, data_answers, judgements
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.values import known_columns, unknown_columns
from analyzer.questions.audit.verdicts import Judgement, Severity

REQUIREMENTS = ("PCQ-2.2.4.2-R38",)
SAMPLE_BASE = 0x40030401

RULE = Rule("PCQ605", "sample-base-of-zero", Level.VALUES, Severity.ERROR)


@data_answers(RULE, REQUIREMENTS, of_values=True)
def _check(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    for column in known_columns(call, answer):
        if column.type != SAMPLE_BASE:
            continue
        violations: list[Violation] = []
        for number, row in enumerate(column.block.rows):
            if not any(row.value(answer.data, column.place)):
                at, held = row.value_at(column.place), row.shape.data_sizes[column.place]
                violations.append(
                    Violation(value_path(column.block, number, column.place), (at, at + held), "above 0", "0")
                )
        message = "the base of a sampled fraction is zero"
        yield from judgements(call, "response", REQUIREMENTS, len(column.block.rows), violations, message)
    for reason in unknown_columns(call, answer):
        yield from cannot_say(REQUIREMENTS, reason, call)
