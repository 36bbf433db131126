"""Rules about what a server answers to the same question, or to two that belong together, over a capture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from analyzer.questions.audit.call_evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule_registry import Level, Reads, Watch, of_calls, rule
from analyzer.questions.audit.rule_verdicts import (
    Confidence,
    Deviation,
    Judgement,
    Severity,
    failed,
    inconclusive,
    judge,
    passed,
    warned,
)
from analyzer.questions.audit.rules.parameters import WITH_LANGUAGE, WITHOUT_LANGUAGE
from analyzer.questions.audit.rules.registrations import COUNTERS_ASKED, records_of
from analyzer.questions.audit.values_with_counters import DELTAS, LISTED
from analyzer.results.methods.perflib import ERROR_NOT_ENOUGH_MEMORY, Opnum

# What of a registration decides on the displayed value.
_FIELDS = (
    "counter_type",
    "default_scale",
    "base_counter_id",
    "perf_time_id",
    "perf_freq_id",
    "multi_id",
    "aggregate_func",
)


def _is_sound(record: dict[str, Any]) -> bool:
    """Whether a description of a counter that a rule compares with a repeated one has nothing wrong in the fields that can be wrong
    in themselves."""
    kind = record["counter_type"] & 0xFFFFFFFF
    return kind in {*LISTED, *DELTAS} and -10 <= record["default_scale"] <= 10 and record["aggregate_func"] <= 4


@rule("PCQ330", Level.VALUES, Severity.ERROR)
@of_calls("PCQ-3.1.4.1.2-R17", COUNTERS_ASKED)
class CounterDescribedDifferently(Watch[CallEvidence]):
    """A server described a counter differently from one answer to the next.

    Looks for: a counter that is described both in the registration of its counterset (RequestCode 1) and in the answer about it
    alone (RequestCode 2), in either order. The rule compares type, scale, aggregate function and related counters.

    Why it matters: the type says how a value is computed, the base by what it is divided. A client that asks for single counters
    shows other numbers than one that asks for the whole counterset.

    Specification: [MS-PCQ] section 3.1.4.1.2: RequestCode 1 returns a _PERF_COUNTER_REG_INFO for each counter of the counterset,
    RequestCode 2 the one of the counter asked about. Both describe the same registration.

    Flagged: type 0x10410500 in the one answer and 0x00010000 in the other.

    Accepted: the same in both.

    Silent: where only one of the two was asked in the capture, or the answer is sealed or was not captured; where a value is wrong
    in itself, which other rules report. A provider may be installed anew between the two, so the confidence is medium.
    """

    def __init__(self, evidence: Evidence) -> None:
        # By server, counterset and counter: which RequestCode described it first, in which call, and how.
        self._first: dict[tuple[str, str, int], tuple[int, int, dict[str, Any]]] = {}

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        code, guid = call.asked["RequestCode"], call.asked["CounterSetGuid"]
        records = list(records_of(call))
        ids = Counter(record["counter_id"] for _, record in records)
        for path, record in records:
            if ids[record["counter_id"]] > 1:
                continue
            key = call.server, guid, record["counter_id"]
            first_code, number, first = self._first.setdefault(key, (code, call.number, record))
            if first_code == code or not (_is_sound(first) and _is_sound(record)):
                continue
            field = next((field for field in _FIELDS if first[field] != record[field]), None)
            if field is None:
                yield passed()
                continue
            message = f"a counter is described otherwise than by RequestCode {first_code} in call {number}"
            sure = Confidence.MEDIUM
            expected, seen = f"{first[field]:#x}", f"{record[field]:#x}"
            yield failed(call, f"{path}.{field}", message, expected, seen, confidence=sure)


IGNORED, ABSENT = "PCQ-3.1.4.1.2-R29", "PCQ-3.1.4.1.2-R30"
_NOTE_4 = Deviation(
    "[MS-PCQ] behaviour note <4>", "Windows tries to load resources for the language, and may return an error"
)
# ERROR_RESOURCE_LANG_NOT_FOUND and the errors of MUI: what an absent language is likely to give ([MS-ERREF] section 2.2).
_NO_LANGUAGE = frozenset((1813, 1814, 1815, *range(15100, 15108)))


@rule("PCQ339", Level.SEQUENCES, Severity.ERROR)
@of_calls((IGNORED, ABSENT), Reads((Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO,), ("request", "response")))
class LcidNotIgnored(Watch[CallEvidence]):
    """A server let a language decide where there is none to ask for, or answered in a language that it refused before.

    Looks for:

    - RequestCodes 1, 7, 8, 9 and 10 about the same counterset that a server answers differently for a RequestLCID of zero and
      for another one.
    - RequestCodes 3 to 6 answered with data in a language, after the server stated that it does not have this language.

    Why it matters: a client that sends its own language always gets errors, or other answers than one that does not.

    Specification: [MS-PCQ] section 3.1.4.1.2: for these codes RequestLCID is ignored; behaviour note <4>: Windows tries to load
    resources for it, and may return an error. For codes 3 to 6 a language that is not installed yields an error.

    Flagged: RequestCode 9 with 0x407 fails, with 0 it is answered.

    Accepted: the same answer for both.

    Silent: where only one of the two was asked in the capture; where request or answer is not to be had.
    """

    def __init__(self, evidence: Evidence) -> None:
        self._plain: dict[tuple[str, str, int], tuple[int | None, bytes]] = {}
        self._others: list[CallEvidence] = []
        self._absent: dict[tuple[str, str, int], int] = {}

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        code, language = call.asked["RequestCode"], call.asked["RequestLCID"]
        # ERROR_NOT_ENOUGH_MEMORY says nothing of languages.
        if call.status == ERROR_NOT_ENOUGH_MEMORY:
            return
        if code in WITHOUT_LANGUAGE and language:
            self._others.append(call)
        elif code in WITHOUT_LANGUAGE:
            self._plain.setdefault(_question(call), _answer(call))
        elif code in WITH_LANGUAGE and language:
            yield self._language(call, language)

    def _language(self, call: CallEvidence, language: int) -> Judgement:
        """Whether a language that was refused once is refused when it is asked for again. Which are installed, only the server
        knows."""
        key = call.server, call.asked["CounterSetGuid"], language
        if call.status:
            if call.status in _NO_LANGUAGE:
                self._absent[key] = call.number
            return passed(ABSENT)
        if key in self._absent:
            message = f"the server answered in a language that it had not at call {self._absent[key]}"
            return failed(call, "lpData", message, "an error", f"data for {language:#x}", of=ABSENT)
        return inconclusive("which languages the server has is not in the capture", call, ABSENT)

    def finish(self) -> Iterator[Judgement]:
        for call in self._others:
            plain, answer = self._plain.get(_question(call)), _answer(call)
            if plain is None:
                yield inconclusive("the same was not asked without a language", call, IGNORED)
                continue
            known = _NOTE_4 if call.status and not plain[0] else None
            message = "the answer differs from that without a language"
            expected, seen = _words(plain), _words(answer)
            yield judge(plain == answer, call, "", message, expected, seen, of=IGNORED, deviation=known)


def _question(call: CallEvidence) -> tuple[str, str, int]:
    return call.server, call.asked["CounterSetGuid"], call.asked["RequestCode"]


def _answer(call: CallEvidence) -> tuple[int | None, bytes]:
    """What answers to the same question are compared by: the status, and the data where there was success: with an error it is
    undefined."""
    return call.status, call.reply.data if call.status == 0 else b""


def _words(answer: tuple[int | None, bytes]) -> str:
    return f"{len(answer[1])} bytes" if answer[0] == 0 else f"status {answer[0]}"


DISTINCT, NUMBER = "PCQ-3.1.4.1.1-R16", "PCQ-3.1.4.1.1-R15"


@rule("PCQ345", Level.VALUES, Severity.WARNING)
@of_calls((DISTINCT, NUMBER), Reads((Opnum.ENUMERATE_COUNTER_SET,), ("response.lpData",)))
class CountersetListedTwice(Watch[CallEvidence]):
    """A server listed a counterset twice, or counts its countersets differently from call to call.

    Looks for: answers of EnumerateCounterSet in which a GUID occurs twice (a warning), or whose pdwRtnSize differs from that of
    the answer before (a warning, with low confidence: providers come and go).

    Why it matters: a client that adds up what it finds counts twice.

    Specification: [MS-PCQ] section 3.1.4.1.1: lpData is the list of the countersets on the server, pdwRtnSize their number.

    Flagged: the GUID of Process twice.

    Accepted: any order.

    Silent: where the answer is sealed or was not captured, and with other errors, where neither is defined. With
    ERROR_NOT_ENOUGH_MEMORY (8) only the number is judged.
    """

    def __init__(self, evidence: Evidence) -> None:
        self._numbers: dict[str, int] = {}

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        if call.status not in (0, ERROR_NOT_ENOUGH_MEMORY):
            return
        number, before = call.answered["pdwRtnSize"], self._numbers.get(call.server)
        if number:
            self._numbers[call.server] = number
        if number and before is not None:
            message, sure = "the server counts another number of countersets than before", Confidence.LOW
            is_kept = before == number
            yield judge(is_kept, call, "pdwRtnSize", message, before, number, of=NUMBER, say=warned, confidence=sure)
        if call.status != 0:
            return
        seen: set[str] = set()
        guids = call.reply.tree.get("guids", ())
        for position, guid in enumerate(guids if len(guids) > 1 else ()):
            path, message = f"lpData.guids[{position}]", "a counterset is listed twice"
            yield judge(guid not in seen, call, path, message, "each once", guid, of=DISTINCT, say=warned)
            seen.add(guid)


STATELESS, NO_HANDLE = "PCQ-3.1.1.5-R01", "PCQ-3.2.1-R01"
_CONTEXT_FAULTS = (0x1C00001A, 6, 1775, 1777)
_BROWSING = {
    Opnum.ENUMERATE_COUNTER_SET: (NO_HANDLE,),
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: (STATELESS, NO_HANDLE),
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: (NO_HANDLE,),
}
# So many questions are remembered.
_MOST_QUESTIONS = 65_536


@rule("PCQ718", Level.SEQUENCES, Severity.WARNING)
@of_calls((STATELESS, NO_HANDLE), Reads(tuple(_BROWSING), ("request",)), by_method=_BROWSING)
class BrowsingDependsOnState(Watch[CallEvidence]):
    """What a server reports about its countersets depends on more than the question.

    Looks for:

    - A question for registration information of a counterset that is answered differently when asked again (a warning).
    - Calls of the browsing methods that end in a fault about a context handle, though these methods take none.

    Why it matters: clients keep what they were sent. A server whose description depends on who asked before, or on open queries,
    makes them take one counter for another.

    Specification: [MS-PCQ] section 3.1.1.5: EnumerateCounterSet, EnumerateCounterSetInstances and QueryCounterSetRegistrationInfo
    leave no state behind; section 3.2.1: no handle is needed for them.

    Flagged: a counterset with three counters, and later with four: it may have been registered anew, so this is no more than a
    warning; fault 0x1C00001A to EnumerateCounterSet.

    Accepted: equal answers; answers that differ in padding; instances that come and go.

    Silent: where a question was asked once, and where its answers are sealed or were not captured.
    """

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        # The first answer to each question: its call and a hash of its data.
        self._first: dict[tuple[str, str, int, int], tuple[int, bytes]] = {}

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        fault = call.fault
        if fault in _CONTEXT_FAULTS:
            message = "a method that takes no handle ended in a fault about one"
            yield failed(call, "pdu.24:28", message, "no handle", f"{fault:#x}", of=NO_HANDLE)
        elif call.status == 0:
            yield passed(NO_HANDLE)
            if call.opnum == Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO:
                yield from self._compared(call)

    def _compared(self, call: CallEvidence) -> Iterator[Judgement]:
        question = (*_question(call), call.asked["RequestLCID"])
        digest = blake2b(call.reply.data, digest_size=16).digest()
        first = self._first.get(question)
        if first is None:
            if len(self._first) < _MOST_QUESTIONS:
                self._first[question] = call.number, digest
            return
        number, before = first
        if digest == before or self._says_the_same(call, number):
            yield passed(STATELESS)
            return
        self._first[question] = call.number, digest
        message, expected = "the same question about a counterset got another answer", f"the answer of call {number}"
        seen, sure = f"{len(call.reply.data)} other bytes", Confidence.LOW
        yield warned(call, "lpData", message, expected, seen, of=STATELESS, confidence=sure)

    def _says_the_same(self, call: CallEvidence, number: int) -> bool:
        """Whether two answers differ in bytes that mean nothing: the padding of section 3.1.4.1.2 is left as it was."""
        other = self._evidence.call(number).response
        return other is not None and bool(other.tree) and other.tree == call.reply.tree
