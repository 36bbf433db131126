"""A list of instances is not the chain of headers and names that its sizes say.

Looks for: answers of EnumerateCounterSetInstances with a Size below 10, one that leads out of the answer, is no multiple of
8, or leaves 8 bytes or more behind the name; names without a NUL.

Why it matters: each instance is found by the Size of the one before.

Specification: [MS-PCQ] section 2.2.4.5: Size is the size of the header and of the name; section 3.1.4.1.3: an array of
headers, each with a NUL-terminated name, at multiples of 8. The padding behind a name may have any content.

Flagged: Size 20; a name of 3 characters in a Size of 24.

Accepted: any bytes of padding; a GUID's worth of instances with empty names.

Silent: where the answer is sealed, was not captured, or failed.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.interfaces.buffers.text import utf16_length
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed
from analyzer.results.perflib import Opnum

HEADER, CHAIN, SIZE, PADDING = "PCQ-2.2.4.5-R01", "PCQ-3.1.4.1.3-R16", "PCQ-3.1.4.1.3-R17", "PCQ-3.1.4.1.3-R18"
REQUIREMENTS = (HEADER, CHAIN, SIZE, PADDING)
_HEADER, _LEAST = 8, 10

RULE = Rule("PCQ341", "instance-list-malformed", Level.BUFFERS, Severity.ERROR)


@RULE.calls(
    REQUIREMENTS, Reads((Opnum.ENUMERATE_COUNTER_SET_INSTANCES,), ("response.lpData",), success=True, damaged=True)
)
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    data = call.response.data
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        where = At("response", "lpData", (at, min(at + 4, len(data))))
        if len(data) - at < _HEADER or not _LEAST <= size <= len(data) - at:
            message = "an instance does not lead to the next, or out of the answer"
            most = len(data) - at
            yield failed(CHAIN, call, where, message, expected=f"{_LEAST} to {most}", seen=str(size), also=(HEADER,))
            return
        yield from _instance(call, where, data[at + _HEADER : at + size], at, size)
        at += size


def _instance(call: CallEvidence, where: At, room: bytes, start: int, size: int) -> Iterator[Judgement]:
    end = utf16_length(room) + 2
    if end > len(room):
        name = At("response", "lpData", (start + _HEADER, start + size))
        message = "the name of an instance has no NUL within its Size"
        yield failed(HEADER, call, name, message, expected="a NUL", seen=room[-2:].hex(" "), also=(CHAIN,))
        return
    yield passed(HEADER)
    yield passed(CHAIN)
    if end < len(room):
        yield passed(PADDING)
    if size % 8:
        message = "the Size of an instance is no multiple of 8"
        yield failed(SIZE, call, where, message, expected="a multiple of 8", seen=str(size))
    elif len(room) - end >= 8:
        message = "the Size of an instance has more room than its name and padding need"
        wanted = _HEADER + end + -(_HEADER + end) % 8
        yield failed(SIZE, call, where, message, expected=str(wanted), seen=str(size))
    else:
        yield passed(SIZE)
