"""The status of a block of data is no Win32 error code.

Looks for: counter header blocks whose dwStatus is an HRESULT or NTSTATUS value, or lies where no Win32 codes are assigned.

Why it matters: a client looks the number up to tell its user what went wrong. Codes of another space look like success to who
compares signed numbers, and like nonsense to everybody else.

Specification: [MS-PCQ] section 2.2.4.8: dwStatus is a Win32 error code that tells how the query of this counter went; section
1.8 takes these codes from [MS-ERREF] section 2.2 with their meaning.

Flagged: dwStatus 0xC0000034. A warning: dwStatus 0x12345.

Accepted: dwStatus 0; 0x1069; an unlisted number below 16000.

Silent: where the answer is sealed or was not captured.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.audit.answers import DataAnswer
from analyzer.audit.evidence import CallEvidence
from analyzer.audit.looks import DATA, Odd, answer_check, status_oddity, told
from analyzer.audit.rule import Level, Rule
from analyzer.audit.verdicts import Judgement, Severity

REQUIREMENTS = ("PCQ-2.2.4.8-R01",)


def _check(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    odd: dict[str | None, list[Odd]] = {"fail": [], "warn": []}
    for block in answer.blocks:
        if (oddity := status_oddity(block.status)) is not None:
            odd[oddity].append(
                Odd(f"{block.path}.status", (block.at, block.at + 4), "a Win32 code", f"{block.status:#x}")
            )
    message = "the status of a block is no Win32 error code"
    sound = len(answer.blocks) - len(odd["warn"])
    yield from told(call, "response", REQUIREMENTS, sound, odd["fail"], message)
    yield from told(call, "response", REQUIREMENTS, 0, odd["warn"], message, warn=True)


RULE = Rule(
    code="PCQ540",
    name="block-status-unknown",
    level=Level.BUFFERS,
    severity=Severity.WARNING,
    requirements=REQUIREMENTS,
    reads=DATA,
    check=answer_check(REQUIREMENTS, _check),
)
