"""A server let a language decide where there is none to ask for, or answered in a language it had refused.

Looks for: RequestCodes 1, 7, 8, 9 and 10 that a server answered differently for a RequestLCID other than zero than for zero,
about the same counterset; codes 3 to 6 with data in a language that the server had stated it does not have.

Why it matters: a client that sends its own language always gets errors, or other answers than one that does not.

Specification: [MS-PCQ] section 3.1.4.1.2: for these codes RequestLCID is ignored; behaviour note <4>: Windows tries to load
resources for it, and may return an error. For codes 3 to 6 a language that is not installed yields an error.

Flagged: RequestCode 9 with 0x407 fails, with 0 it is answered.

Accepted: the same answer for both.

Silent: where only one of the two was asked in the capture; where request or answer is not to be had.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Deviation, Judgement, Severity, failed, inconclusive, passed
from analyzer.results.perflib import Opnum, RequestCode

IGNORED, ABSENT = "PCQ-3.1.4.1.2-R29", "PCQ-3.1.4.1.2-R30"
_IGNORING = frozenset(
    (
        RequestCode.COUNTERSET_STRUCT,
        RequestCode.PROVIDER_NAME,
        RequestCode.PROVIDER_GUID,
        RequestCode.COUNTERSET_ENGLISH_NAME,
        RequestCode.COUNTER_ENGLISH_NAMES,
    )
)
_LANGUAGE = frozenset(
    (
        RequestCode.COUNTERSET_NAME_STRING,
        RequestCode.COUNTERSET_HELP_STRING,
        RequestCode.COUNTER_NAME_STRINGS,
        RequestCode.COUNTER_HELP_STRINGS,
    )
)
_WINDOWS = Deviation(
    "[MS-PCQ] behaviour note <4>", "Windows tries to load resources for the language, and may return an error"
)
# ERROR_NOT_ENOUGH_MEMORY says nothing of languages.
_TOO_SMALL = 8
# ERROR_RESOURCE_LANG_NOT_FOUND and the errors of MUI: what an absent language is likely to give ([MS-ERREF] section 2.2).
_NO_LANGUAGE = frozenset((1813, 1814, 1815, *range(15100, 15108)))

RULE = Rule("PCQ339", "lcid-not-ignored", Level.SEQUENCES, Severity.ERROR)


@RULE.calls((IGNORED, ABSENT), Reads((Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO,), ("request", "response")))
class _Languages:
    def __init__(self, evidence: Evidence) -> None:
        self._plain: dict[tuple[str, str, int], tuple[int | None, bytes]] = {}
        self._others: list[CallEvidence] = []
        self._absent: dict[tuple[str, str, int], int] = {}

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        code, language = call.asked["RequestCode"], call.asked["RequestLCID"]
        if call.status == _TOO_SMALL:
            return
        if code in _IGNORING:
            if language:
                self._others.append(call)
            else:
                self._plain.setdefault(_question(call), _answer(call))
        elif code in _LANGUAGE and language:
            yield from self._language(call, language)

    def _language(self, call: CallEvidence, language: int) -> Iterator[Judgement]:
        """Whether a language that was refused once is refused again. Which are installed, only the server knows."""
        key = call.server, call.asked["CounterSetGuid"], language
        if call.status:
            if call.status in _NO_LANGUAGE:
                self._absent[key] = call.number
            yield passed(ABSENT)
        elif key in self._absent:
            message = f"the server answered in a language that it had not at call {self._absent[key]}"
            at = At("response", "lpData")
            yield failed(ABSENT, call, at, message, expected="an error", seen=f"data for {language:#x}")
        else:
            yield inconclusive(ABSENT, "which languages the server has is not in the capture", call)

    def finish(self) -> Iterator[Judgement]:
        for call in self._others:
            plain = self._plain.get(_question(call))
            if plain is None:
                yield inconclusive(IGNORED, "the same was not asked without a language", call)
                continue
            if plain == _answer(call):
                yield passed(IGNORED)
                continue
            known = _WINDOWS if call.status and not plain[0] else None
            yield failed(
                IGNORED,
                call,
                At("response"),
                "the answer differs from that without a language",
                expected=_words(plain),
                seen=_words(_answer(call)),
                deviation=known,
            )


def _question(call: CallEvidence) -> tuple[str, str, int]:
    return call.server, call.asked["CounterSetGuid"], call.asked["RequestCode"]


def _answer(call: CallEvidence) -> tuple[int | None, bytes]:
    """The status, and the data where there was success: with an error it is undefined."""
    return call.status, call.response.data if call.response is not None and call.status == 0 else b""


def _words(answer: tuple[int | None, bytes]) -> str:
    return f"{len(answer[1])} bytes" if answer[0] == 0 else f"status {answer[0]}"
