"""A block of a data answer is of a type that does not exist.

Looks for: counter header blocks whose dwType is not 0, 1, 2, 4 or 6.

Why it matters: the type alone says how the block is laid out. Nobody can read one of type 3, 5 or 7.

Specification: [MS-PCQ] section 2.2.4.8 lists the five values and demands one of them. They look like flags (6 is 2 and 4) and
are not: 3, 5 and 7 have no meaning. Section 3.1.4.1.6 lets the type decide the format of the block.

Flagged: dwType 3.

Accepted: dwType 0, with the error in dwStatus.

Silent: where the answer is sealed, was not captured, or is too short for a header.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.answers import DataAnswer, FlawKind
from analyzer.questions.audit.checks import data_answers, judgements
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity

REQUIREMENTS = ("PCQ-2.2.4.8-R02", "PCQ-3.1.4.1.6-R12")

RULE = Rule("PCQ505", "data-block-of-unknown-type", Level.BUFFERS, Severity.ERROR)


@data_answers(RULE, REQUIREMENTS)
def _check(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    violations = answer.of(FlawKind.BLOCK_TYPE)
    yield from judgements(
        call, "response", REQUIREMENTS, len(answer.blocks), violations, "a block has a type that does not exist"
    )
