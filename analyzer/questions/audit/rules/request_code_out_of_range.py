"""A client asked for registration information by a RequestCode that does not exist.

Looks for: QueryCounterSetRegistrationInfo with a RequestCode other than 1 to 10.

Why it matters: a server has no answer to it but ERROR_INVALID_PARAMETER. A client that counts on more has been written for
another protocol version, or computes the code wrongly.

Specification: [MS-PCQ] section 3.1.4.1.2 lists the codes 1 to 10 and demands that the parameter is one of them. What the server
makes of another one is judged by another rule.

Flagged: `RequestCode` 11.

Accepted: `RequestCode` 10 (the English counter names).

Silent: where the request is sealed, was not captured, or does not decode.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import AskedEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed
from analyzer.results.perflib import Opnum, RequestCode

REQUIREMENT = "PCQ-3.1.4.1.2-R15"

RULE = Rule("PCQ210", "request-code-out-of-range", Level.STUBS, Severity.ERROR)


@RULE.requests((REQUIREMENT,), Reads((Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO,), ("request",)))
def check(call: AskedEvidence) -> Iterator[Judgement]:
    code = call.asked["RequestCode"]
    if code in tuple(RequestCode):
        yield passed(REQUIREMENT)
        return
    yield failed(
        REQUIREMENT,
        call,
        At("request", "RequestCode"),
        "the client asked for a kind of registration information that does not exist",
        expected="1 to 10",
        seen=str(code),
    )
