"""A server answered with counter identifiers whose sizes do not lead from one to the next.

Looks for: answers of QueryCounterInfo and ValidateCounters in whose buffer an identifier is shorter than its 40 bytes, says a
Size below 40, or one that leads beyond the buffer or into the middle of something else.

Why it matters: the client learns from these which counters its query holds, where their data will be, and which could not be
added.

Specification: [MS-PCQ] section 2.2.4.6: an identifier has 40 bytes, and Size covers them and the name that follows.

Flagged: Size 0; Size 64 of an identifier after whose 56 bytes the next one stands.

Accepted: Size 40 and no name; Size 48 with a name of 3 characters.

Silent: where the answer is sealed, was not captured, or its stub does not decode.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import ANSWERED_DAMAGED, judged_chain
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity

REQUIREMENTS = ("PCQ-2.2.4.6-R03", "PCQ-2.2.4.6-R01")

RULE = Rule("PCQ402", "answered-identifier-of-wrong-size", Level.BUFFERS, Severity.ERROR)


@RULE.calls(REQUIREMENTS, ANSWERED_DAMAGED)
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    yield from judged_chain(call, call.response, REQUIREMENTS)
