"""The reserved field of a block of data is not zero.

Looks for: counter header blocks of data answers whose Reserved is not 0.

Why it matters: a field kept free for a later version that already holds something cannot be used by it. What it holds is mostly
old memory of the server.

Specification: [MS-PCQ] section 2.2.4.8 demands 0. That clients ignore it does not show in traffic.

Flagged: Reserved 1.

Accepted: Reserved 0.

Silent: where the answer is sealed or was not captured.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.answers import DataAnswer
from analyzer.questions.audit.checks import Violation, data_answers, judgements
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity

REQUIREMENTS = ("PCQ-2.2.4.8-R09",)

RULE = Rule("PCQ515", "reserved-of-block-used", Level.BUFFERS, Severity.WARNING)


@data_answers(RULE, REQUIREMENTS)
def _check(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    violations = [
        Violation(f"{block.path}.reserved", (block.at + 12, block.at + 16), "0", f"{block.reserved:#x}")
        for block in answer.blocks
        if block.reserved
    ]
    message = "the reserved field of a block is not zero"
    yield from judgements(call, "response", REQUIREMENTS, len(answer.blocks), violations, message)
