"""dwAdd is neither TRUE nor FALSE.

Looks for: requests of ValidateCounters whose dwAdd is not 0 or 1 (a warning).

Why it matters: what else it may mean is the server's guess. One that takes anything but 0 for TRUE adds, one that compares with 1
removes.

Specification: [MS-PCQ] section 3.1.4.1.7: dwAdd is a Boolean, TRUE to add counters and FALSE to remove them.

Flagged: `dwAdd` 2, and 0xFFFFFFFF.

Accepted: 0 and 1.

Silent: where the request is sealed, was not captured, or does not decode.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import AskedEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, passed, warned
from analyzer.results.perflib import Opnum

REQUIREMENT = "PCQ-3.1.4.1.7-R10"

RULE = Rule("PCQ217", "add-flag-not-boolean", Level.STUBS, Severity.WARNING)


@RULE.requests((REQUIREMENT,), Reads((Opnum.VALIDATE_COUNTERS,), ("request",)))
def check(call: AskedEvidence) -> Iterator[Judgement]:
    add = call.asked["dwAdd"]
    if add in (0, 1):
        yield passed(REQUIREMENT)
    else:
        message = "dwAdd is neither TRUE nor FALSE"
        yield warned(REQUIREMENT, call, At("request", "dwAdd"), message, expected="1 or 0", seen=f"{add:#x}")
