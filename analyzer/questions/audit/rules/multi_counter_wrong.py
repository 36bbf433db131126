"""A multi-timer names no counter for the number of its components, itself, or one of the wrong type.

Looks for: in answers to RequestCodes 1 and 2, counters of the four multi-timer types whose MultiId is no other counter of the set,
or one that is not a PERF_COUNTER_RAWCOUNT.

Why it matters: the timer is compared with this number: four processors can be busy four seconds in one.

Specification: [MS-PCQ] section 2.2.4.2, MultiId.

Flagged: a PERF_COUNTER_MULTI_TIMER whose MultiId is its own id.

Accepted: any MultiId of other types.

Silent: where the answer is sealed, was not captured, or failed; about an answer to RequestCode 2 where the registration of the
counterset is not in the capture.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import NO_REGISTRATION, cannot_say
from analyzer.questions.audit.counter_types import MULTI, RAWCOUNT
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.registration import COUNTERS, records_of, types_of_set
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed

EXISTS, TYPED = "PCQ-2.2.4.2-R66", "PCQ-2.2.4.2-R67"

RULE = Rule("PCQ325", "multi-counter-wrong", Level.VALUES, Severity.ERROR)


@RULE.calls((EXISTS, TYPED), COUNTERS)
def check(call: CallEvidence) -> Iterator[Judgement]:
    types = types_of_set(call)
    for path, record in records_of(call):
        if record["counter_type"] & 0xFFFFFFFF not in MULTI:
            continue
        if types is None:
            yield from cannot_say((EXISTS, TYPED), NO_REGISTRATION, call)
            continue
        number = record["multi_id"]
        at = At("response", f"{path}.multi_id")
        if number not in types or number == record["counter_id"]:
            message = "a multi-timer names no other counter of the set for the number of its components"
            yield failed(EXISTS, call, at, message, expected="the id of that counter", seen=f"{number:#x}")
            continue
        yield passed(EXISTS)
        if types[number] == RAWCOUNT:
            yield passed(TYPED)
        else:
            message = "the counter that MultiId names is of the wrong type"
            yield failed(TYPED, call, at, message, expected=f"{RAWCOUNT:#010x}", seen=f"{types[number]:#010x}")
