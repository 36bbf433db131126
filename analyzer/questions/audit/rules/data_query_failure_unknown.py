"""A data query failed with what is no system error code.

Looks for: the return value of QueryCounterData, where it is neither success nor ERROR_NOT_ENOUGH_MEMORY.

Why it matters: a caller looks the number up to inform its user what went wrong.

Specification: perflib.h: for other types of failure the return value is a system error code, that is a Win32 code of [MS-ERREF]
section 2.2.

Flagged: 0x80070005. A warning: 0x12345.

Accepted: 5 (access denied).

Silent: where the answer is sealed or was not captured; on a fault of the RPC runtime.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import status_violation
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed, warned
from analyzer.results.perflib import Opnum

REQUIREMENT = "PL-QCD-R06"

RULE = Rule("PCQ562", "data-query-failure-unknown", Level.STUBS, Severity.WARNING)


@RULE.calls((REQUIREMENT,), Reads((Opnum.QUERY_COUNTER_DATA,), ("response",), failure=True))
def check(call: CallEvidence) -> Iterator[Judgement]:
    status = call.status
    if status in (None, 0, 8):
        return
    violation = status_violation(status)
    if violation is None:
        yield passed(REQUIREMENT)
        return
    say = failed if violation == "fail" else warned
    message = "a data query failed with what is no system error code"
    yield say(
        REQUIREMENT, call, At("response", "ReturnValue"), message, expected="a Win32 error code", seen=f"{status:#x}"
    )
