"""A counterset has more counters than one may have.

Looks for: registrations of countersets whose NumCounters is above 64 000.

Why it matters: programs written for perflib.h may refuse it.

Specification: perflib.h: a counterset can contain at most 64 000 counters. [MS-PCQ] section 2.2.4.1 has no limit.

Flagged: NumCounters 64 001.

Accepted: NumCounters 64 000.

Silent: where the answer is sealed, was not captured, or is too short for the number.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import Violation, cannot_say, judgements
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.registration import COUNTERSET_DAMAGED
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity

REQUIREMENTS = ("PL-QCD-R17",)
MOST = 64_000

RULE = Rule("PCQ391", "too-many-counters", Level.BUFFERS, Severity.WARNING)


@RULE.calls(REQUIREMENTS, COUNTERSET_DAMAGED)
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    if len(call.response.data) < 32:
        yield from cannot_say(REQUIREMENTS, "the answer is too short for a counterset", call)
        return
    number = int.from_bytes(call.response.data[24:28], "little")
    violations = [Violation("lpData.num_counters", (24, 28), f"at most {MOST}", f"{number}")] if number > MOST else []
    yield from judgements(
        call, "response", REQUIREMENTS, 1, violations, "a counterset has more counters than one may have"
    )
