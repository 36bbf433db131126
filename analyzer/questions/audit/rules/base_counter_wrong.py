"""A counter whose type needs a base names none, itself, or one of the wrong type.

Looks for: in answers to RequestCodes 1 and 2, counters of the seven types that are divided by a base whose BaseCounterId is no
counter of the set, the counter itself, or of another type than the text pairs it with.

Why it matters: without its base such a value means nothing, and with a wrong one something wrong.

Specification: [MS-PCQ] section 2.2.4.2, BaseCounterId, and the entries of the types: PERF_RAW_FRACTION goes with
PERF_RAW_BASE, and so on.

Flagged: a PERF_AVERAGE_TIMER whose BaseCounterId is 0xFFFFFFFF.

Accepted: any BaseCounterId of a counter whose type needs none; a PERF_PRECISION_OBJECT_TIMER with a base, as older
references have it, in place of a clock of its own.

Silent: where the answer is sealed, was not captured, or failed; about an answer to RequestCode 2 where the registration of the
counterset is not in the capture.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import NO_REGISTRATION, cannot_say
from analyzer.questions.audit.counter_types import BASE_OF
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.registration import COUNTERS, records_of, types_of_set
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed

EXISTS = "PCQ-2.2.4.2-R54"
# By type, in the order of BASE_OF: which requirement pairs it with its base.
_PAIRED = dict(zip(BASE_OF, (f"PCQ-2.2.4.2-R{number}" for number in range(55, 62)), strict=True))

RULE = Rule("PCQ321", "base-counter-wrong", Level.VALUES, Severity.ERROR)


@RULE.calls((EXISTS, *_PAIRED.values()), COUNTERS)
def check(call: CallEvidence) -> Iterator[Judgement]:
    types = types_of_set(call)
    for path, record in records_of(call):
        kind = record["counter_type"] & 0xFFFFFFFF
        if kind not in BASE_OF:
            continue
        if types is None:
            yield from cannot_say((EXISTS, _PAIRED[kind]), NO_REGISTRATION, call)
            continue
        base = record["base_counter_id"]
        at = At("response", f"{path}.base_counter_id")
        if base not in types or base == record["counter_id"]:
            message = f"a counter of type {kind:#010x} names no other counter of the set as its base"
            yield failed(EXISTS, call, at, message, expected="the id of its base", seen=f"{base:#x}")
            continue
        yield passed(EXISTS)
        if types[base] == BASE_OF[kind]:
            yield passed(_PAIRED[kind])
        else:
            message = f"the base of a counter of type {kind:#010x} is of the wrong type"
            yield failed(
                _PAIRED[kind], call, at, message, expected=f"{BASE_OF[kind]:#010x}", seen=f"{types[base]:#010x}"
            )
