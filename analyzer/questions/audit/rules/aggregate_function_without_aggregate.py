"""A counter names an aggregate function in a counterset that is not aggregated.

Looks for: registrations of countersets (request code 1) and the AggregateFunc of their counters.

Why it matters: it does not. The function has no effect there, so this rule only counts where it was met and never complains.

Specification: [MS-PCQ] section 2.2.4.2: AggregateFunc is what the client does with a counter if its counterset is a global
aggregate, a multiple-instance aggregate or a global aggregate history. Whether the value itself exists is judged by another
rule.

Flagged: nothing.

Accepted: any function in any counterset.

Silent: where the answer is sealed, was not captured, or does not decode.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.registration import COUNTERSET
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity, passed

REQUIREMENT = "PCQ-2.2.4.2-R75"

RULE = Rule("PCQ620", "aggregate-function-without-aggregate", Level.VALUES, Severity.INFO)


@RULE.calls((REQUIREMENT,), COUNTERSET)
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    asking = sum(counter["aggregate_func"] != 0 for counter in call.response.tree.get("counters", ()))
    if asking:
        yield passed(REQUIREMENT, asking)
