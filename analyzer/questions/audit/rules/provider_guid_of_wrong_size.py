"""The GUID of a provider is not 16 bytes.

Looks for: answers to RequestCode 8 of another size than a GUID.

Why it matters: the client reads what is not there, or leaves what is.

Specification: [MS-PCQ] section 3.1.4.1.2: the answer is the GUID of the provider.

Flagged: an answer of 8 bytes.

Accepted: 16 bytes.

Silent: where the answer is sealed, was not captured, or failed.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.registration import answers_to
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed
from analyzer.results.perflib import RequestCode

FORM, SIZE = "PCQ-3.1.4.1.2-R23", "PCQ-3.1.4.1.2-R39"
_SIZE = 16

RULE = Rule("PCQ335", "provider-guid-of-wrong-size", Level.BUFFERS, Severity.ERROR)


@RULE.calls((FORM, SIZE), answers_to(RequestCode.PROVIDER_GUID))
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    size = len(call.response.data)
    if size == _SIZE:
        yield passed(FORM)
        yield passed(SIZE)
        return
    message = "the answer is not one GUID"
    at = At("response", "lpData")
    yield failed(SIZE, call, at, message, expected=f"{_SIZE} bytes", seen=f"{size} bytes", also=(FORM,))
