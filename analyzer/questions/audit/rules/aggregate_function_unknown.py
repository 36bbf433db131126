"""A counter is to be aggregated by a function that does not exist.

Looks for: an AggregateFunc above 4.

Why it matters: the client computes the aggregate itself, by this function.

Specification: [MS-PCQ] section 2.2.4.2 has 0 (undefined), 1 (total), 2 (average), 3 (minimum) and 4 (maximum).

Flagged: AggregateFunc 5.

Accepted: AggregateFunc 0 in any counterset.

Silent: where the answer is sealed, was not captured, or failed.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.registration import COUNTERS, records_of
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed

REQUIREMENT = "PCQ-2.2.4.2-R68"

RULE = Rule("PCQ327", "aggregate-function-unknown", Level.BUFFERS, Severity.ERROR)


@RULE.calls((REQUIREMENT,), COUNTERS)
def check(call: CallEvidence) -> Iterator[Judgement]:
    for path, record in records_of(call):
        function = record["aggregate_func"]
        if function <= 4:
            yield passed(REQUIREMENT)
        else:
            at = At("response", f"{path}.aggregate_func")
            message = "the aggregate function does not exist"
            yield failed(REQUIREMENT, call, at, message, expected="0 to 4", seen=str(function))
