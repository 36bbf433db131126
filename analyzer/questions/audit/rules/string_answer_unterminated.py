"""An answer that has to be one string is none, or more than one.

Looks for: answers to RequestCodes 3, 4, 7 and 9 without a UTF-16 NUL, with one before their end, or with an odd byte or text
behind it.

Why it matters: the client copies up to the NUL, and runs into other memory where there is none.

Specification: [MS-PCQ] section 3.1.4.1.2 demands one NUL-terminated UTF-16LE string for the name and the description of a
counterset, its English name and the name of its provider.

Flagged: `System` without a NUL; `System` with its NUL and a byte.

Accepted: 2, 4 or 6 bytes of padding behind the NUL.

Silent: where the answer is sealed, was not captured, or failed.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.registration import answers_to, text_flaw
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed
from analyzer.results.perflib import RequestCode

# By RequestCode: the requirements that say what its answer is.
BY_CODE = {
    RequestCode.COUNTERSET_NAME_STRING: ("PCQ-3.1.4.1.2-R18", "PCQ-3.1.4.1.2-R33"),
    RequestCode.COUNTERSET_HELP_STRING: ("PCQ-3.1.4.1.2-R19", "PCQ-3.1.4.1.2-R33"),
    RequestCode.PROVIDER_NAME: ("PCQ-3.1.4.1.2-R22", "PCQ-3.1.4.1.2-R38"),
    RequestCode.COUNTERSET_ENGLISH_NAME: ("PCQ-3.1.4.1.2-R24", "PCQ-3.1.4.1.2-R33"),
}
REQUIREMENTS = tuple(sorted({requirement for pair in BY_CODE.values() for requirement in pair}))

RULE = Rule("PCQ331", "string-answer-unterminated", Level.BUFFERS, Severity.ERROR)


@RULE.calls(REQUIREMENTS, answers_to(*BY_CODE))
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    form, text = BY_CODE[RequestCode(call.asked["RequestCode"])]
    flaw = text_flaw(call.response.data)
    if flaw is None:
        yield passed(form)
        yield passed(text)
        return
    message, start, stop = flaw
    at = At("response", "lpData", (start, stop))
    seen = call.response.data[start:stop][:16].hex(" ") or "nothing"
    yield failed(text, call, at, f"the answer {message}", expected="one string with its NUL", seen=seen, also=(form,))
