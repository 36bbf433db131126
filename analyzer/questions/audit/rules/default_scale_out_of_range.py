"""A counter's default scale is out of range.

Looks for: a DefaultScale below -10 or above 10.

Why it matters: the value is shown multiplied by ten to the power of it.

Specification: [MS-PCQ] section 2.2.4.2 gives the range as 0xFFFFFFF6 to 0x0000000A, which is only a range if read as a
signed number.

Flagged: DefaultScale 11.

Accepted: DefaultScale -10.

Silent: where the answer is sealed, was not captured, or failed.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.registration import COUNTERS, records_of
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed

REQUIREMENT = "PCQ-2.2.4.2-R52"

RULE = Rule("PCQ319", "default-scale-out-of-range", Level.BUFFERS, Severity.ERROR)


@RULE.calls((REQUIREMENT,), COUNTERS)
def check(call: CallEvidence) -> Iterator[Judgement]:
    for path, record in records_of(call):
        scale = record["default_scale"]
        if -10 <= scale <= 10:
            yield passed(REQUIREMENT)
        else:
            at = At("response", f"{path}.default_scale")
            message = "the default scale is out of range"
            yield failed(REQUIREMENT, call, at, message, expected="-10 to 10", seen=str(scale))
