"""A client asked for a language where there is none to ask for, or for one that does not exist.

Looks for: requests with RequestCodes 1, 7, 8, 9 or 10 whose RequestLCID is not zero; a warning for codes 3 to 6 with a
number that is no language id.

Why it matters: servers are known to try and load resources for it and to fail.

Specification: [MS-PCQ] section 3.1.4.1.2: RequestLCID is zero for these codes; for codes 3 to 6 it is a language id
([MS-LCID]) or zero, for code 2 a CounterId.

Flagged: RequestCode 9 with RequestLCID 0x409.

Accepted: RequestCode 3 with RequestLCID 0x407, or 0x9 (English without a country).

Silent: where the request is sealed or was not captured.
"""

from __future__ import annotations

from collections.abc import Iterator
from locale import windows_locale

from analyzer.questions.audit.evidence import AskedEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed, warned
from analyzer.results.perflib import Opnum, RequestCode

ZERO, KNOWN = "PCQ-3.1.4.1.2-R28", "PCQ-3.1.4.1.2-R26"
_WITHOUT = frozenset(
    (
        RequestCode.COUNTERSET_STRUCT,
        RequestCode.PROVIDER_NAME,
        RequestCode.PROVIDER_GUID,
        RequestCode.COUNTERSET_ENGLISH_NAME,
        RequestCode.COUNTER_ENGLISH_NAMES,
    )
)
_WITH = frozenset(
    (
        RequestCode.COUNTERSET_NAME_STRING,
        RequestCode.COUNTERSET_HELP_STRING,
        RequestCode.COUNTER_NAME_STRINGS,
        RequestCode.COUNTER_HELP_STRINGS,
    )
)
# [MS-LCID] section 2.2: the lower 10 bits are the language; without a country the others are 0, 1 or 2 (default).
_LANGUAGES = frozenset(one & 0x3FF for one in windows_locale) | {0x00, 0x7F}

RULE = Rule("PCQ337", "lcid-out-of-place", Level.STUBS, Severity.ERROR)


@RULE.requests((ZERO, KNOWN), Reads((Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO,), ("request",)))
def check(call: AskedEvidence) -> Iterator[Judgement]:
    code, language = call.asked["RequestCode"], call.asked["RequestLCID"]
    at = At("request", "RequestLCID")
    if code in _WITHOUT:
        if language == 0:
            yield passed(ZERO)
        else:
            message = f"a language was asked for with RequestCode {code}, which has none"
            yield failed(ZERO, call, at, message, expected="0", seen=f"{language:#x}")
    elif code in _WITH:
        if language in windows_locale or (language & 0x3FF in _LANGUAGES and language >> 10 in (0, 1, 2)):
            yield passed(KNOWN)
        else:
            message = "the language asked for does not exist"
            yield warned(KNOWN, call, at, message, expected="a language id or 0", seen=f"{language:#x}")
