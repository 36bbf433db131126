"""A counter is of a type that the protocol does not list.

Looks for: a Type that is none of the 34 of the text; a warning for the two types of differences, which perflib.h lets
providers declare.

Why it matters: a client that does not know a type does not know how to compute what it shows.

Specification: [MS-PCQ] section 2.2.4.2 lists 34 types and demands one of them. perflib.h has PERF_COUNTER_DELTA and
PERF_COUNTER_LARGE_DELTA besides.

Flagged: Type 0x00012000 (PERF_DOUBLE_RAW).

Accepted: Type 0x20510500 (PERF_100NSEC_TIMER).

Silent: where the answer is sealed, was not captured, or failed.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.counter_types import DELTAS, LISTED
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.registration import COUNTERS, records_of
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed, warned

REQUIREMENT = "PCQ-2.2.4.2-R03"

RULE = Rule("PCQ315", "counter-type-unlisted", Level.VALUES, Severity.ERROR)


@RULE.calls((REQUIREMENT,), COUNTERS)
def check(call: CallEvidence) -> Iterator[Judgement]:
    for path, record in records_of(call):
        kind = record["counter_type"] & 0xFFFFFFFF
        at = At("response", f"{path}.counter_type")
        if kind in LISTED:
            yield passed(REQUIREMENT)
        elif kind in DELTAS:
            message = "the type is one of perflib.h that the text does not list"
            yield warned(REQUIREMENT, call, at, message, expected="a listed type", seen=f"{kind:#010x}")
        else:
            message = "the type is none that the text lists"
            yield failed(REQUIREMENT, call, at, message, expected="a listed type", seen=f"{kind:#010x}")
