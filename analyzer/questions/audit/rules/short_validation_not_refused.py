"""A server took a buffer for ValidateCounters that holds no whole identifier.

Looks for: requests with a dwInSize below 40, or with an identifier whose Size is below 40, and the return value.

Why it matters: an identifier that is shorter than its fixed fields is read beyond its end, or hides the ones after it.

Specification: [MS-PCQ] section 3.1.4.1.7: ERROR_INVALID_PARAMETER (0x57) is returned where the buffer is smaller than one
_PERF_COUNTER_IDENTIFIER, or one of those in it says that it is. The same code in the Status of an identifier calls that one
corrupt, and is taken for as good.

Flagged: dwInSize 24 and return value 0; Size 16 in the second identifier, and success. An empty buffer that is called success is
a warning, and so is another error.

Accepted: return value 0x57; return value 0 with Status 0x57 in the identifier.

Silent: where the request or the answer is sealed or was not captured.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.identifiers import HEADER, SIZE, STATUS
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed, warned
from analyzer.questions.audit.wire import returned
from analyzer.results.perflib import Opnum

REQUIREMENT = "PCQ-3.1.4.1.7-R07"
INVALID_PARAMETER = 0x57
# Refusals that come before the buffer is looked at, and what may go wrong at any time.
_ELSEWHERE = (5, 0xE, 0x5AA)

RULE = Rule("PCQ705", "short-validation-not-refused", Level.SEQUENCES, Severity.ERROR)


@RULE.calls((REQUIREMENT,), Reads((Opnum.VALIDATE_COUNTERS,), ("request", "response")))
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.request is not None
    assert call.response is not None
    place = _too_short(call.request.data)
    if place is None or call.status in _ELSEWHERE:
        return
    at, seen = place
    if call.status == INVALID_PARAMETER or (at is not None and _status(call.response.data, at) == INVALID_PARAMETER):
        yield passed(REQUIREMENT)
        return
    if at is None:
        where, path = "dwInSize", "dwInSize"
    else:
        where, path = "the Size of an identifier", f"lpData[{at + SIZE}:{at + SIZE + 4}]"
    say = failed if call.status == 0 and call.request.data else warned
    yield say(
        REQUIREMENT,
        call,
        At("request", path),
        f"the server did not refuse what is too short for an identifier: {where} is {seen}",
        expected="ERROR_INVALID_PARAMETER (0x57)",
        seen=returned(call),
    )


def _too_short(data: bytes) -> tuple[int | None, int] | None:
    """Where an identifier begins whose Size is too small (None: the whole buffer is), and the size; None where none is."""
    if len(data) < HEADER:
        return None, len(data)
    at = 0
    while at + HEADER <= len(data):
        size = int.from_bytes(data[at + SIZE : at + SIZE + 4], "little")
        if size < HEADER:
            return at, size
        at += size
    return None


def _status(data: bytes, at: int) -> int:
    return int.from_bytes(data[at + STATUS : at + STATUS + 4], "little")
