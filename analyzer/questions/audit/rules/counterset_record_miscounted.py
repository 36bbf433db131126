"""A counterset's registration is not the record of the counterset and as many records of counters as it says.

Looks for: answers to RequestCode 1 that are not 32 bytes and 48 bytes for each of NumCounters.

Why it matters: a client that goes by NumCounters reads counters that are not there, or misses some.

Specification: [MS-PCQ] section 2.2.4.1 describes the 32 bytes of the counterset's record, section 2.2.4.2 the 48 bytes of a
counter's, and section 3.1.4.1.2 demands that as many of these follow as NumCounters says.

Flagged: NumCounters 3 in an answer of 128 bytes, which has room for two.

Accepted: NumCounters 0 in an answer of 32 bytes.

Silent: where the answer is sealed, was not captured, or failed.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.registration import COUNTERSET_DAMAGED
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, inconclusive, passed

RECORD, COUNT, FORM, LAYOUT, COUNTER = (
    "PCQ-2.2.4.1-R01",
    "PCQ-2.2.4.1-R06",
    "PCQ-3.1.4.1.2-R16",
    "PCQ-3.1.4.1.2-R31",
    "PCQ-2.2.4.2-R01",
)
REQUIREMENTS = (RECORD, COUNT, FORM, LAYOUT, COUNTER)
_RECORD, _COUNTER = 32, 48

RULE = Rule("PCQ301", "counterset-record-miscounted", Level.BUFFERS, Severity.ERROR)


@RULE.calls(REQUIREMENTS, COUNTERSET_DAMAGED)
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    size = len(call.response.data)
    at = At("response", "lpData.num_counters")
    if size < _RECORD:
        message = "the answer has no room for the record of a counterset"
        yield failed(
            RECORD,
            call,
            At("response", "lpData"),
            message,
            expected="32 bytes or more",
            seen=str(size),
            also=(FORM, LAYOUT),
        )
        yield inconclusive(COUNT, "the record of the counterset is cut off", call)
        return
    number = int.from_bytes(call.response.data[24:28], "little")
    if size == _RECORD + _COUNTER * number:
        for requirement in (RECORD, COUNT, FORM, LAYOUT):
            yield passed(requirement)
        if number:
            yield passed(COUNTER, number)
        return
    yield failed(
        COUNT,
        call,
        at,
        "NumCounters is not the number of counter records that follow",
        expected=f"{(size - _RECORD) / _COUNTER:g}",
        seen=str(number),
        also=(RECORD, FORM, LAYOUT, *((COUNTER,) if (size - _RECORD) % _COUNTER else ())),
    )
