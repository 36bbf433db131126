"""A table of counter names or descriptions does not hold what its header says.

Looks for: answers to RequestCodes 5, 6 and 10 whose dwSize is not the size of the answer; whose dwCounters headers do not
fit, or are not as many as the counterset has counters; whose offsets lead to no string under either base that is in use;
with an id twice, or one the counterset has not; of a size that is no multiple of 8 (a warning), or with offsets that only fit
from the start of the block. The profile windows excuses the last two.

Why it matters: names are found by these offsets; a wrong one names a counter after another, or leads out of the buffer.

Specification: [MS-PCQ] sections 2.2.4.3, 2.2.4.4 and 3.1.4.1.2. The text counts offsets from the end of the headers. Windows
SDK, perflib.h, comments on PERF_STRING_COUNTER_HEADER and PERF_STRING_BUFFER_HEADER: from the start of the block, 0xFFFFFFFF
for no string; dwSize covers headers and strings, and padding is free, which may have any content.

Flagged: dwCounters 9 in a block with room for two headers.

Accepted: a string without a counter's name (0xFFFFFFFF); dwSize with or without the padding at the end; under the profile
`windows`, offsets from the start of the block.

Silent: where the answer is sealed, was not captured, or failed. Ids are compared only with a registration of the counterset
that is in the capture.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.interfaces.buffers.text import utf16_length
from analyzer.questions.audit.checks import NO_REGISTRATION
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.registration import answers_to, ids_of_set, string_offsets
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Deviation, Judgement, Severity, failed, inconclusive, passed, warned
from analyzer.results.perflib import NONE_ID, RequestCode

SIZE, NUMBER, IDS, OFFSETS = "PCQ-2.2.4.3-R01", "PCQ-2.2.4.3-R02", "PCQ-2.2.4.4-R01", "PCQ-2.2.4.4-R02"
LAYOUT, ALIGNED, HEADERS, PADDING = (
    "PCQ-3.1.4.1.2-R34",
    "PCQ-3.1.4.1.2-R35",
    "PCQ-3.1.4.1.2-R36",
    "PCQ-3.1.4.1.2-R37",
)
# By RequestCode: the requirement that says what its answer is.
BY_CODE = {
    RequestCode.COUNTER_NAME_STRINGS: "PCQ-3.1.4.1.2-R20",
    RequestCode.COUNTER_HELP_STRINGS: "PCQ-3.1.4.1.2-R21",
    RequestCode.COUNTER_ENGLISH_NAMES: "PCQ-3.1.4.1.2-R25",
}
REQUIREMENTS = (SIZE, NUMBER, IDS, OFFSETS, LAYOUT, ALIGNED, HEADERS, PADDING, *BY_CODE.values())
_HEADER, _ENTRY = 8, 8
_FROM_START = Deviation(
    "Windows SDK, perflib.h, comment on PERF_STRING_COUNTER_HEADER", "dwOffset counts from the start of the block"
)
_UNPADDED = Deviation(
    "Windows SDK, perflib.h, comment on PERF_STRING_BUFFER_HEADER",
    "dwSize covers the headers and the strings, no more",
    "PCQ-2.2.4.3-R01",
)

RULE = Rule("PCQ333", "string-table-malformed", Level.BUFFERS, Severity.ERROR)


@RULE.calls(REQUIREMENTS, answers_to(*BY_CODE))
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    form = BY_CODE[RequestCode(call.asked["RequestCode"])]
    data = call.response.data
    if len(data) < _HEADER:
        at = At("response", "lpData")
        message = "the answer has no room for the header of a string table"
        yield failed(LAYOUT, call, at, message, expected="8 bytes or more", seen=str(len(data)), also=(form, HEADERS))
        return
    size, number = int.from_bytes(data[:4], "little"), int.from_bytes(data[4:8], "little")
    yield from _sizes(call, size, len(data))
    if _HEADER + _ENTRY * number > len(data):
        at = At("response", "lpData", (4, 8))
        most = (len(data) - _HEADER) // _ENTRY
        message = "there is no room for as many headers as dwCounters says"
        yield failed(HEADERS, call, at, message, expected=f"at most {most}", seen=str(number), also=(form, LAYOUT))
        return
    yield passed(HEADERS)
    entries = [
        (int.from_bytes(data[at : at + 4], "little"), int.from_bytes(data[at + 4 : at + 8], "little"))
        for at in range(_HEADER, _HEADER + _ENTRY * number, _ENTRY)
    ]
    yield from _offsets(call, data, [offset for _, offset in entries], form)
    yield from _ids(call, [number for number, _ in entries])


def _sizes(call: CallEvidence, size: int, length: int) -> Iterator[Judgement]:
    if size in (length, length - length % 8) or size + -size % 8 == length:
        yield passed(SIZE)
    else:
        at = At("response", "lpData", (0, 4))
        message = "dwSize is not the size of the answer"
        yield failed(SIZE, call, at, message, expected=str(length), seen=str(size))
    if length % 8:
        message = "the size of the table is no multiple of 8"
        at = At("response", "lpData")
        yield warned(ALIGNED, call, at, message, expected="a multiple of 8", seen=str(length), deviation=_UNPADDED)
    else:
        yield passed(ALIGNED)


def _offsets(call: CallEvidence, data: bytes, offsets: list[int], form: str) -> Iterator[Judgement]:
    end = _HEADER + _ENTRY * len(offsets)
    found = string_offsets(data, offsets, end)
    if found.lost:
        number = found.lost[0]
        start = _HEADER + _ENTRY * number + 4
        at = At("response", "lpData", (start, start + 4))
        message = "an offset leads to no string with a NUL in the block, counted from either base"
        expected = f"an even number below {len(data) - found.base}"
        yield failed(OFFSETS, call, at, message, expected=expected, seen=str(offsets[number]), also=(LAYOUT, form))
        return
    yield passed(LAYOUT)
    yield passed(form)
    used = [offset for offset in offsets if offset != NONE_ID]
    if not used:
        return
    last = found.base + max(used)
    if last + utf16_length(data[last:]) + 2 < len(data):
        yield passed(PADDING)
    if not found.counts_from_start:
        yield passed(OFFSETS)
        return
    at = At("response", "lpData", (_HEADER, end))
    message = "the offsets of the strings count from the start of the block"
    expected, seen = "from the end of the headers", "from the start of the block"
    yield failed(OFFSETS, call, at, message, expected=expected, seen=seen, deviation=_FROM_START)


def _ids(call: CallEvidence, ids: list[int]) -> Iterator[Judgement]:
    known = ids_of_set(call)
    seen: set[int] = set()
    for number, one in enumerate(ids):
        start = _HEADER + _ENTRY * number
        at = At("response", "lpData", (start, start + 4))
        if one in seen:
            yield failed(IDS, call, at, "a counter has two strings", expected="each id once", seen=str(one))
        elif known is not None and one not in known:
            yield failed(
                IDS, call, at, "the counterset has no such counter", expected="an id of the set", seen=str(one)
            )
        else:
            yield passed(IDS)
        seen.add(one)
    if known is None:
        yield inconclusive(NUMBER, NO_REGISTRATION, call)
    elif len(ids) == len(known):
        yield passed(NUMBER)
    else:
        at = At("response", "lpData", (4, 8))
        message = "dwCounters is not the number of counters of the set"
        yield failed(NUMBER, call, at, message, expected=str(len(known)), seen=str(len(ids)))
