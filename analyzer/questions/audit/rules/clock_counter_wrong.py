"""A counter whose type has a clock of its own names none, itself, or one of the wrong type.

Looks for: in answers to RequestCodes 1 and 2, counters of the four types with a clock of their own whose PerfTimeId or PerfFreqId
is no other counter of the set, or one that is not a PERF_COUNTER_LARGE_RAWCOUNT.

Why it matters: such a counter is divided by the change of this clock.

Specification: [MS-PCQ] section 2.2.4.2, PerfTimeId and PerfFreqId.

Flagged: a PERF_ELAPSED_TIME whose PerfTimeId is 0xFFFFFFFF.

Accepted: a PERF_PRECISION_OBJECT_TIMER that names a base in place of a clock, as older references have it.

Silent: where the answer is sealed, was not captured, or failed; about an answer to RequestCode 2 where the registration of the
counterset is not in the capture.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import NO_REGISTRATION, cannot_say
from analyzer.questions.audit.counter_types import LARGE_RAWCOUNT, OWN_CLOCK, PRECISION_OBJECT_TIMER
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.registration import COUNTERS, records_of, types_of_set
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Deviation, Judgement, Severity, failed, passed

_FIELDS = (
    ("perf_time_id", "PCQ-2.2.4.2-R62", "PCQ-2.2.4.2-R63"),
    ("perf_freq_id", "PCQ-2.2.4.2-R64", "PCQ-2.2.4.2-R65"),
)
REQUIREMENTS = tuple(requirement for _, *requirements in _FIELDS for requirement in requirements)
_OLDER = Deviation("the counter type reference of Windows Server 2003", "this type is divided by a base counter")

RULE = Rule("PCQ323", "clock-counter-wrong", Level.VALUES, Severity.ERROR)


@RULE.calls(REQUIREMENTS, COUNTERS)
def check(call: CallEvidence) -> Iterator[Judgement]:
    types = types_of_set(call)
    for path, record in records_of(call):
        kind = record["counter_type"] & 0xFFFFFFFF
        if kind not in OWN_CLOCK:
            continue
        if types is None:
            yield from cannot_say(REQUIREMENTS, NO_REGISTRATION, call)
            continue
        has_base = kind == PRECISION_OBJECT_TIMER and record["base_counter_id"] in types
        for field, exists, typed in _FIELDS:
            number = record[field]
            at = At("response", f"{path}.{field}")
            if number not in types or number == record["counter_id"]:
                yield failed(
                    exists,
                    call,
                    at,
                    f"a counter of type {kind:#010x} names no other counter of the set as its clock",
                    expected="the id of its clock",
                    seen=f"{number:#x}",
                    deviation=_OLDER if has_base else None,
                )
                continue
            yield passed(exists)
            if types[number] == LARGE_RAWCOUNT:
                yield passed(typed)
            else:
                message = f"the clock of a counter of type {kind:#010x} is of the wrong type"
                yield failed(
                    typed, call, at, message, expected=f"{LARGE_RAWCOUNT:#010x}", seen=f"{types[number]:#010x}"
                )
