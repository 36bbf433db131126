"""The counts of lpData disagree with the parameters that they repeat.

Looks for: in answers with a buffer, a max_count that is not the dwInSize of the request, an offset that is not 0, an actual_count
that is not pdwOutSize or is above max_count; in ValidateCounters, a max_count that is not dwInSize, in the request and in the
answer.

Why it matters: the client's runtime unmarshals into a buffer of dwInSize elements. Counts that promise more, or another place,
are refused, or overrun it where nobody checks.

Specification: [MS-PCQ] section 6: lpData is size_is(dwInSize) and, but for ValidateCounters, length_is(*pdwOutSize); C706 section
14.3.3.2 to 14.3.3.4 and 14.3.7 put these numbers before the elements as max_count, offset and actual_count. They hold whatever
the return value.

Flagged: dwInSize 4096, max_count 128; pdwOutSize 96, actual_count 48; offset 8.

Accepted: max_count 4096 with actual_count 0 and pdwOutSize 0, in answers of ERROR_NOT_ENOUGH_MEMORY.

Silent: where the request or the answer is sealed or was not captured whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import cannot_say
from analyzer.questions.audit.evidence import AskedEvidence, CallEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, inconclusive, passed
from analyzer.questions.audit.wire import ArrayCounts, answer_counts, validated_count
from analyzer.results.perflib import Opnum

# max_count against dwInSize; offset and actual_count.
ANSWERS: dict[int, tuple[str, str]] = {
    Opnum.ENUMERATE_COUNTER_SET: ("PCQ-3.1.4.1.1-R03", "PCQ-3.1.4.1.1-R04"),
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: ("PCQ-3.1.4.1.2-R03", "PCQ-3.1.4.1.2-R04"),
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: ("PCQ-3.1.4.1.3-R03", "PCQ-3.1.4.1.3-R04"),
    Opnum.QUERY_COUNTER_INFO: ("PCQ-3.1.4.1.5-R03", "PCQ-3.1.4.1.5-R04"),
    Opnum.QUERY_COUNTER_DATA: ("PCQ-3.1.4.1.6-R03", "PCQ-3.1.4.1.6-R04"),
}
BOTH_WAYS, LENGTH = "PCQ-3.1.4.1.7-R01", "PCQ-3.1.4.1.7-R09"

RULE = Rule("PCQ204", "array-counts-disagree", Level.STUBS, Severity.ERROR)


@RULE.calls(
    (*(requirement for pair in ANSWERS.values() for requirement in pair), BOTH_WAYS),
    Reads((*ANSWERS, Opnum.VALIDATE_COUNTERS), ("request", "response"), damaged=True),
    by_method={**ANSWERS, Opnum.VALIDATE_COUNTERS: (BOTH_WAYS,)},
)
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.request is not None
    assert call.response is not None
    size = call.asked.get("dwInSize")
    if size is None:
        for requirement in (ANSWERS | {Opnum.VALIDATE_COUNTERS: (BOTH_WAYS,)})[call.opnum or 0]:
            yield inconclusive(requirement, "the request stub does not decode", call)
        return
    if call.opnum == Opnum.VALIDATE_COUNTERS:
        yield from _of_validation(call, size)
        return
    counts = answer_counts(call.response)
    if counts is None:
        return
    room, rest = ANSWERS[Opnum(call.opnum or 0)]
    if counts.max_count.value == size:
        yield passed(room)
    else:
        message = "max_count of lpData is not the size that the client offered"
        at = At("response", counts.max_count.path)
        yield failed(room, call, at, message, expected=str(size), seen=str(counts.max_count.value))
    yield from _of_elements(call, rest, counts)


def _of_elements(call: CallEvidence, requirement: str, counts: ArrayCounts) -> Iterator[Judgement]:
    assert call.response is not None
    big = call.response.side.big_endian
    out_size = int.from_bytes(call.response.stub[:4], "big" if big else "little")
    offset, actual = counts.offset, counts.actual_count
    if offset.value:
        message = "lpData does not begin with its first element"
        yield failed(requirement, call, At("response", offset.path), message, expected="0", seen=str(offset.value))
    elif actual.value != out_size:
        message = "actual_count of lpData is not pdwOutSize"
        yield failed(
            requirement, call, At("response", actual.path), message, expected=str(out_size), seen=str(actual.value)
        )
    elif actual.value > counts.max_count.value:
        message = "actual_count of lpData is above max_count"
        expected = f"at most {counts.max_count.value}"
        yield failed(requirement, call, At("response", actual.path), message, expected=expected, seen=str(actual.value))
    else:
        yield passed(requirement)


@RULE.requests((BOTH_WAYS, LENGTH), Reads((Opnum.VALIDATE_COUNTERS,), ("request",), damaged=True))
def asked(call: AskedEvidence) -> Iterator[Judgement]:
    assert call.request is not None
    size, count = call.asked.get("dwInSize"), validated_count(call.request)
    if size is None:
        yield from cannot_say((BOTH_WAYS, LENGTH), "the request stub does not decode", call)
    elif count is not None and count.value != size:
        message = "max_count of lpData is not dwInSize"
        at = At("request", count.path)
        yield failed(LENGTH, call, at, message, expected=str(size), seen=str(count.value), also=(BOTH_WAYS,))
    else:
        yield passed(LENGTH)


def _of_validation(call: CallEvidence, size: int) -> Iterator[Judgement]:
    assert call.request is not None
    assert call.response is not None
    sent, answered = validated_count(call.request), validated_count(call.response)
    if answered is None or (sent is not None and sent.value != size):
        return
    if answered.value != size:
        message = "max_count of lpData is not the dwInSize of the request"
        at = At("response", answered.path)
        yield failed(BOTH_WAYS, call, at, message, expected=str(size), seen=str(answered.value))
    else:
        yield passed(BOTH_WAYS)
