"""The status of a block of data is no Win32 error code.

Looks for: counter header blocks whose dwStatus is an HRESULT or NTSTATUS value, or lies where no Win32 codes are assigned.

Why it matters: a client looks the number up to inform its user what went wrong. Codes of another space look like success to who
compares signed numbers, and like nonsense to everybody else.

Specification: [MS-PCQ] section 2.2.4.8: dwStatus is a Win32 error code that states how the query of this counter went; section
1.8 takes these codes from [MS-ERREF] section 2.2 with their meaning.

Flagged: dwStatus 0xC0000034. A warning: dwStatus 0x12345.

Accepted: dwStatus 0; 0x1069; an unlisted number below 16000.

Silent: where the answer is sealed or was not captured.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.answers import DataAnswer
from analyzer.questions.audit.checks import Violation, data_answers, judgements, status_violation
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity

REQUIREMENTS = ("PCQ-2.2.4.8-R01",)

RULE = Rule("PCQ540", "block-status-unknown", Level.BUFFERS, Severity.WARNING)


@data_answers(RULE, REQUIREMENTS)
def _check(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    violations: dict[str | None, list[Violation]] = {"fail": [], "warn": []}
    for block in answer.blocks:
        if (violation := status_violation(block.status)) is not None:
            violations[violation].append(
                Violation(f"{block.path}.status", (block.at, block.at + 4), "a Win32 code", f"{block.status:#x}")
            )
    message = "the status of a block is no Win32 error code"
    sound = len(answer.blocks) - len(violations["warn"])
    yield from judgements(call, "response", REQUIREMENTS, sound, violations["fail"], message)
    yield from judgements(call, "response", REQUIREMENTS, 0, violations["warn"], message, warn=True)
