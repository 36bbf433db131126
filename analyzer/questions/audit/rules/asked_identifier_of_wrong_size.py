"""A client sent counter identifiers whose sizes do not lead from one to the next.

Looks for: requests of ValidateCounters in whose buffer an identifier is shorter than its 40 bytes, says a Size below 40, or one
that leads beyond the buffer or into the middle of something else.

Why it matters: the server reads one identifier after the other by Size. A wrong one makes it add counters nobody asked for, or
refuse all of them.

Specification: [MS-PCQ] section 2.2.4.6: an identifier has 40 bytes, and Size covers them and the name that follows. Section
3.1.4.1.7: the buffer is an array of such blocks.

Flagged: Size 32; Size 48 of the last identifier, with 40 bytes left.

Accepted: Size 40 and no name; Size 48 with a name of 3 characters.

Silent: where the request is sealed, was not captured, or its stub does not decode.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import ASKED_DAMAGED, judged_chain
from analyzer.questions.audit.evidence import AskedEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity

REQUIREMENTS = ("PCQ-3.1.4.1.7-R12", "PCQ-2.2.4.6-R01", "PCQ-2.2.4.6-R03", "PCQ-3.1.4.1.7-R11")

RULE = Rule("PCQ401", "asked-identifier-of-wrong-size", Level.BUFFERS, Severity.ERROR)


@RULE.requests(REQUIREMENTS, ASKED_DAMAGED)
def check(call: AskedEvidence) -> Iterator[Judgement]:
    assert call.request is not None
    yield from judged_chain(call, call.request, REQUIREMENTS)
