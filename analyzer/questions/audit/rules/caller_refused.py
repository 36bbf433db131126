"""A server refused a caller whose requests were sealed: it has not the rights.

Looks for: ERROR_ACCESS_DENIED (5), as return value or fault, to requests at authentication level 6.

Why it matters: nothing is wrong with the protocol. The account is not one of those that may read performance data, and what it
asked for will not be in the capture.

Specification: [MS-PCQ] section 1.5 takes it for granted that the caller may read performance data. Behaviour note <1> in section
2.1 names who may on Windows: administrators and the groups Performance Log Users and Performance Monitor Users. Who is a member
cannot be seen, so a refusal is never a failure of the server.

Flagged: return value 5 to a sealed request (a warning, for information).

Accepted: any other return value.

Silent: at lower levels, where 5 has another meaning; where the answer was not captured.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, passed, warned
from analyzer.results.security import AuthLevel

RIGHTS, MEMBERS = "PCQ-1.5-R02", "PCQ-2.1-R07"
ACCESS_DENIED = 5

RULE = Rule("PCQ130", "caller-refused", Level.RPC, Severity.INFO)


@RULE.calls((RIGHTS, MEMBERS), Reads(), needs_answer="the server knows the rights of the caller")
def check(call: CallEvidence) -> Iterator[Judgement]:
    answer = call.fault if call.fault is not None else call.status
    if answer is None or call.decoded.security.level < AuthLevel.PRIVACY:
        return
    if answer == ACCESS_DENIED:
        yield passed(MEMBERS)
        at = At("response", "pdu" if call.fault is not None else "status")
        message = "the server refused the caller, who seems to have no right to performance data"
        yield warned(RIGHTS, call, at, message, expected="an answer", seen="ERROR_ACCESS_DENIED (5)")
    else:
        yield passed(RIGHTS)
