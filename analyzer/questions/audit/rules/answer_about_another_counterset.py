"""A server described another counterset than the one it was asked about.

Looks for: answers to RequestCode 1 whose CounterSetGuid is not that of the request.

Why it matters: whatever the client learns from it is filed under the wrong counterset.

Specification: [MS-PCQ] section 2.2.4.1: CounterSetGuid is the identity of the counterset that the information is about.

Flagged: a request for Process that is answered with the GUID of Thread.

Accepted: the GUID that was asked for.

Silent: where request or answer is sealed, was not captured, or the call failed.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.registration import COUNTERSET_ASKED
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed

REQUIREMENT = "PCQ-2.2.4.1-R02"

RULE = Rule("PCQ303", "answer-about-another-counterset", Level.BUFFERS, Severity.ERROR)


@RULE.calls((REQUIREMENT,), COUNTERSET_ASKED)
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    asked, reported = call.asked["CounterSetGuid"], call.response.tree["counterset_guid"]
    if asked == reported:
        yield passed(REQUIREMENT)
        return
    at = At("response", "lpData.counterset_guid")
    message = "the answer is about another counterset than the request"
    yield failed(REQUIREMENT, call, at, message, expected=asked, seen=reported)
