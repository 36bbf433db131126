"""Two counters of a counterset have the same id.

Looks for: answers to RequestCode 1 in which a CounterId occurs twice.

Why it matters: values are distinguished by this id only.

Specification: [MS-PCQ] section 2.2.4.2: CounterId is unique within the counterset.

Flagged: two counters with CounterId 3.

Accepted: ids in any order and with gaps.

Silent: where the answer is sealed, was not captured, or failed.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.registration import COUNTERSET, records_of
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed

REQUIREMENT = "PCQ-2.2.4.2-R02"

RULE = Rule("PCQ313", "counter-id-twice", Level.BUFFERS, Severity.ERROR)


@RULE.calls((REQUIREMENT,), COUNTERSET)
def check(call: CallEvidence) -> Iterator[Judgement]:
    seen: set[int] = set()
    records = list(records_of(call))
    for path, record in records:
        number = record["counter_id"]
        if number in seen:
            at = At("response", f"{path}.counter_id")
            message = "two counters of the set have the same id"
            yield failed(REQUIREMENT, call, at, message, expected="an id of its own", seen=str(number))
        elif len(records) > 1:
            yield passed(REQUIREMENT)
        seen.add(number)
