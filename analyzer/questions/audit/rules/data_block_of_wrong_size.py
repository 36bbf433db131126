"""The size of a block does not lead to the next one.

Looks for: counter header blocks whose dwSize is below 16, goes beyond the answer, or ends elsewhere than the content of the
block, where the next block begins.

Why it matters: a client advances by dwSize. A zero makes a careless one loop, a wrong one makes it take values for headers.

Specification: [MS-PCQ] section 2.2.4.8: dwSize is the size of the structure and of the data that follow it.

Flagged: dwSize 0; dwSize 40 of a block with one value of 4 bytes, after whose 32 bytes the next block stands.

Accepted: dwSize 16 of an error block.

Silent: where the answer is sealed or was not captured; about blocks of unknown type, whose content nobody can measure.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.answers import DataAnswer, FlawKind
from analyzer.questions.audit.checks import data_answers, judgements
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity

REQUIREMENTS = ("PCQ-2.2.4.8-R08",)

RULE = Rule("PCQ506", "data-block-of-wrong-size", Level.BUFFERS, Severity.ERROR)


@data_answers(RULE, REQUIREMENTS)
def _check(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    violations = answer.of(FlawKind.BLOCK_SIZE)
    looked_at = max(len(answer.blocks) - len(answer.of(FlawKind.BLOCK_TYPE)), len(violations))
    yield from judgements(
        call, "response", REQUIREMENTS, looked_at, violations, "the size of a block does not lead to the next one"
    )
