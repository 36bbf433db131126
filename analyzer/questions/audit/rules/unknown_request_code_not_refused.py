"""A server took a RequestCode that does not exist for another error, or answered it.

Looks for: QueryCounterSetRegistrationInfo with a RequestCode other than 1 to 10, and the return value.

Why it matters: clients see by ERROR_INVALID_PARAMETER that the server does not know a kind of information. Any other error says
that it does.

Specification: [MS-PCQ] section 3.1.4.1.2: the server has to return ERROR_INVALID_PARAMETER (0x57) where RequestCode is not
between 1 and 10. That the client should not have asked is another rule's.

Flagged: RequestCode 11 and return value 0; RequestCode 0 and ERROR_NOT_ENOUGH_MEMORY.

Accepted: RequestCode 11 and 0x57; a fault, and ERROR_ACCESS_DENIED to a request that was not sealed.

Silent: where the request or the answer is sealed or was not captured.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed
from analyzer.questions.audit.wire import returned
from analyzer.results.perflib import Opnum, RequestCode

REQUIREMENT = "PCQ-3.1.4.1.2-R09"
INVALID_PARAMETER = 0x57
# Refusals that come before the parameters are looked at, and what may go wrong at any time.
_ELSEWHERE = (5, 0xE, 0x5AA)

RULE = Rule("PCQ701", "unknown-request-code-not-refused", Level.SEQUENCES, Severity.ERROR)


@RULE.calls((REQUIREMENT,), Reads((Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO,), ("request", "response")))
def check(call: CallEvidence) -> Iterator[Judgement]:
    code = call.asked["RequestCode"]
    if code in tuple(RequestCode) or call.status in _ELSEWHERE:
        return
    if call.status == INVALID_PARAMETER:
        yield passed(REQUIREMENT)
        return
    yield failed(
        REQUIREMENT,
        call,
        At("response", "status"),
        f"the server did not refuse RequestCode {code} for what it is",
        expected="ERROR_INVALID_PARAMETER (0x57)",
        seen=returned(call),
    )
