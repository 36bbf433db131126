"""The description of one counter is no record of one counter, or of another one than asked about.

Looks for: answers to RequestCode 2 of another size than 48 bytes, or with another CounterId than RequestLCID named.

Why it matters: the client files what it reads under the counter it asked about.

Specification: [MS-PCQ] section 3.1.4.1.2: for this code RequestLCID is the CounterId, and the answer one structure as in
section 2.2.4.2.

Flagged: an answer of 96 bytes; CounterId 3 where 2 was asked about.

Accepted: 48 bytes about the counter asked for.

Silent: where the answer is sealed, was not captured, or failed. The id is not compared where the request is not to be had.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.registration import answers_to
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, inconclusive, passed
from analyzer.results.perflib import RequestCode

FORM, SIZE, ASKED = "PCQ-3.1.4.1.2-R17", "PCQ-3.1.4.1.2-R32", "PCQ-3.1.4.1.2-R27"
_SIZE = 48

RULE = Rule("PCQ329", "counter-record-misfit", Level.BUFFERS, Severity.ERROR)


@RULE.calls((FORM, SIZE, ASKED), answers_to(RequestCode.COUNTER_STRUCT))
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    data = call.response.data
    if len(data) != _SIZE:
        message = "the answer is not the record of one counter"
        at = At("response", "lpData")
        yield failed(SIZE, call, at, message, expected=f"{_SIZE} bytes", seen=f"{len(data)} bytes", also=(FORM,))
        yield inconclusive(ASKED, "the record of the counter is of the wrong size", call)
        return
    yield passed(SIZE)
    yield passed(FORM)
    asked, reported = call.asked["RequestLCID"], int.from_bytes(data[:4], "little")
    if asked == reported:
        yield passed(ASKED)
        return
    at = At("response", "lpData.counter.counter_id")
    yield failed(ASKED, call, at, "the answer is about another counter", expected=str(asked), seen=str(reported))
