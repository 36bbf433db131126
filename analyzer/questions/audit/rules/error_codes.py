"""Rules about return values: which numbers they may be, and whether each is given where the text asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from analyzer.core.error_code_names import win32_name
from analyzer.interfaces.buffers.struct_layouts import COUNTER_INFO, COUNTERSET_INFO, u4s
from analyzer.questions.audit.call_evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule_registry import Level, Reads, Watch, of_calls, rule
from analyzer.questions.audit.rule_verdicts import (
    At,
    Confidence,
    Judgement,
    Severity,
    failed,
    inconclusive,
    judge,
    passed,
    warned,
)
from analyzer.questions.audit.stub_and_pdu_fields import returned
from analyzer.results.methods.perflib import ERROR_NOT_ENOUGH_MEMORY, INTERFACE, Opnum, RequestCode

OUT_OF_MEMORY, NO_SYSTEM_RESOURCES, INVALID_PARAMETER = 0xE, 0x5AA, 0x57
GUID_NOT_FOUND, ITEM_NOT_FOUND = 0x1068, 0x106A
# Refusals that come before a method looks at what it was asked, and what may go wrong at any time.
REFUSED_ELSEWHERE = (5, OUT_OF_MEMORY, NO_SYSTEM_RESOURCES)
_DATA_ASKED = Reads((Opnum.QUERY_COUNTER_DATA,), ("request", "response"))

SPACE, TYPE = "PCQ-1.8-R01", "PCQ-2.2.3-R02"
RETURN_VALUES = {
    Opnum.ENUMERATE_COUNTER_SET: "PCQ-3.1.4.1.1-R07",
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: "PCQ-3.1.4.1.2-R07",
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: "PCQ-3.1.4.1.3-R07",
    Opnum.OPEN_QUERY_HANDLE: "PCQ-3.1.4.1.4-R03",
    Opnum.CLOSE_QUERY_HANDLE: "PCQ-3.1.4.1.8-R04",
    Opnum.QUERY_COUNTER_INFO: "PCQ-3.1.4.1.5-R08",
    Opnum.QUERY_COUNTER_DATA: "PCQ-3.1.4.1.6-R08",
    Opnum.VALIDATE_COUNTERS: "PCQ-3.1.4.1.7-R05",
}
# Codes that a method may return whenever it likes: nothing on the wire can contradict them.
RESOURCES = {
    (Opnum.ENUMERATE_COUNTER_SET, OUT_OF_MEMORY): "PCQ-3.1.4.1.1-R10",
    (Opnum.ENUMERATE_COUNTER_SET_INSTANCES, OUT_OF_MEMORY): "PCQ-3.1.4.1.3-R13",
    (Opnum.OPEN_QUERY_HANDLE, OUT_OF_MEMORY): "PCQ-3.1.4.1.4-R05",
    (Opnum.OPEN_QUERY_HANDLE, NO_SYSTEM_RESOURCES): "PCQ-3.1.4.1.4-R06",
    (Opnum.VALIDATE_COUNTERS, OUT_OF_MEMORY): "PCQ-3.1.4.1.7-R08",
}
# [MS-ERREF] section 2.2 numbers its codes below this.
_END_OF_WIN32 = 0x4000


@rule("PCQ220", Level.STUBS, Severity.ERROR)
@of_calls(
    (SPACE, TYPE, *RETURN_VALUES.values(), *RESOURCES.values()),
    Reads(tuple(RETURN_VALUES), ("response",)),
    by_method={
        opnum: (SPACE, TYPE, requirement, *(name for (method, _), name in RESOURCES.items() if method == opnum))
        for opnum, requirement in RETURN_VALUES.items()
    },
)
def return_value_not_win32(call: CallEvidence) -> Iterator[Judgement]:
    """A method returned what is no Win32 error code.

    Looks for:

    - Return values that are HRESULTs or NTSTATUS codes by their highest bits.
    - Return values outside the numbers that Win32 gives its errors. These are a warning, since providers may pass on codes of
      their own.

    Why it matters: clients look the number up among the Win32 errors. An HRESULT or NTSTATUS is another error there, or none.

    Specification: [MS-PCQ] section 1.8 takes all errors from [MS-ERREF] section 2.2, section 2.2.3 says so of error_status_t, and
    each method of section 3.1.4.1 that it returns zero or one of them. Their tables also name codes for a lack of memory (0xE) and
    of other resources (0x5AA), which a server may return at any time.

    Flagged: 0x80070005 (E_ACCESSDENIED), 0xC0000022 (STATUS_ACCESS_DENIED); 0x20000001 (a warning).

    Accepted: 0 and every number below 0x4000, where [MS-ERREF] has its codes.

    Silent: where the answer is sealed, was not captured, or does not decode.
    """
    status, opnum = call.status, call.opnum or 0
    if status is None:
        return
    of = (RETURN_VALUES[opnum], SPACE, TYPE)
    if status < _END_OF_WIN32:
        yield passed(*of)
        if (opnum, status) in RESOURCES:
            yield passed(RESOURCES[opnum, status])
        return
    message, say = "a method returned a number that no Win32 error has", warned
    if status & 0x80000000:
        kind = "an NTSTATUS" if status & 0x40000000 else "an HRESULT"
        message, say = f"a method returned {kind} in place of a Win32 error", failed
    yield say(call, "status", message, "a Win32 error code", f"{status:#x}", of=of)


def status_violation(code: int) -> Literal["warn", "fail"] | None:
    """Checks a status in a buffer: HRESULT and NTSTATUS values ([MS-PCQ] section 1.8) fail, unassigned codes from 16000 on
    ([MS-ERREF] section 2.2) warn. Lower codes always pass: a provider's own pass through."""
    if code & 0x80000000:
        return "fail"
    return "warn" if code >= 16000 and win32_name(code) is None else None


@rule("PCQ562", Level.STUBS, Severity.WARNING)
@of_calls("PL-QCD-R06", Reads((Opnum.QUERY_COUNTER_DATA,), ("response",), failure=True))
def data_query_failure_unknown(call: CallEvidence) -> Iterator[Judgement]:
    """A data query failed with what is no system error code.

    Looks for: the return value of QueryCounterData, where it is neither success nor ERROR_NOT_ENOUGH_MEMORY.

    Why it matters: a caller looks the number up to inform its user what went wrong.

    Specification: perflib.h: for other types of failure the return value is a system error code, that is a Win32 code of [MS-ERREF]
    section 2.2.

    Flagged: 0x80070005. A warning: 0x12345.

    Accepted: 5 (access denied).

    Silent: where the answer is sealed or was not captured; on a fault of the RPC runtime.
    """
    status = call.status
    if status is not None and status not in (0, ERROR_NOT_ENOUGH_MEMORY):
        violation, message = status_violation(status), "a data query failed with what is no system error code"
        say, expected = failed if violation == "fail" else warned, "a Win32 error code"
        yield judge(violation is None, call, "ReturnValue", message, expected, f"{status:#x}", say=say)


COUNTERSET_FOUND = {
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: ("PCQ-3.1.4.1.2-R10",),
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: ("PCQ-3.1.4.1.3-R09",),
}
_GUID_NOT_FOUND = "ERROR_WMI_GUID_NOT_FOUND (0x1068)"


@rule("PCQ702", Level.SEQUENCES, Severity.ERROR)
@of_calls(COUNTERSET_FOUND, Reads(tuple(COUNTERSET_FOUND), ("request", "response")), of_each=True)
def unknown_counterset_served(call: CallEvidence) -> Iterator[Judgement]:
    """A server answered about a counterset that it does not list, or denied one that it does.

    Looks for:

    - Answers with registration information or instances of a counterset that is in none of the server's lists in the capture.
    - Other errors than ERROR_WMI_GUID_NOT_FOUND (0x1068) for such a counterset.
    - 0x1068 for a counterset that is in one of the lists (a warning).

    Why it matters: the list is how clients learn what there is. What is not in it can only be found by those who know it already.

    Specification: [MS-PCQ] sections 3.1.4.1.2 and 3.1.4.1.3: the server returns ERROR_WMI_GUID_NOT_FOUND if it has no counterset of
    that GUID, or does not find the provider that it belongs to. Section 3.1.4.1.1: EnumerateCounterSet returns all that there are.

    Flagged: a list of two countersets, and data, a size or error 2 for a third.

    Accepted: 0x1068 for a GUID that is in no list.

    Silent: where no list of the server was captured. A counterset may be registered after the list was made, so the confidence
    is medium.
    """
    if call.status in REFUSED_ELSEWHERE or call.asked.get("RequestCode", 1) not in range(1, 11):
        return
    guid, sure = call.asked["CounterSetGuid"], Confidence.MEDIUM
    is_listed = call.knowledge.lists_counterset(call.server, guid)
    if is_listed is None:
        yield inconclusive("no list of the server's countersets is in the capture", call)
    elif is_listed and call.status == GUID_NOT_FOUND:
        message = "the server does not find a counterset that it lists, or not its provider"
        yield warned(call, "status", message, "an answer", _GUID_NOT_FOUND, confidence=Confidence.LOW)
    elif is_listed:
        return
    # Success, and a buffer that is too small for the answer: the counterset was found.
    elif call.status in (0, ERROR_NOT_ENOUGH_MEMORY):
        at = At("request", "CounterSetGuid")
        message = "the server answered about a counterset that it does not list"
        yield failed(call, at, message, _GUID_NOT_FOUND, guid, confidence=sure)
    else:
        is_kept = call.status == GUID_NOT_FOUND
        message = "the server denied a counterset that it does not list by another error"
        yield judge(is_kept, call, "status", message, _GUID_NOT_FOUND, returned(call), confidence=sure)


@rule("PCQ703", Level.SEQUENCES, Severity.ERROR)
@of_calls(
    "PCQ-3.1.4.1.2-R12",
    Reads((Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO,), ("request", "response"), codes=(RequestCode.COUNTER_STRUCT,)),
)
class UnknownCounterServed(Watch[CallEvidence]):
    """A server answered about a counter that is not in its counterset, or gave another error than the one for it.

    Looks for: QueryCounterSetRegistrationInfo with RequestCode 2 for a counter id that is in none of the server's descriptions of
    the counterset (RequestCode 1), and the return value.

    Why it matters: a client that asks for single counters goes by ERROR_WMI_ITEMID_NOT_FOUND to know which there are.

    Specification: [MS-PCQ] section 3.1.4.1.2: ERROR_WMI_ITEMID_NOT_FOUND (0x106A) is for RequestCode 2, a counterset that exists,
    and a counter id that is not in it.

    Flagged: counters 1 to 3 registered, and data about counter 9; ERROR_INVALID_PARAMETER for it.

    Accepted: 0x106A for counter 9; any answer for counter 2.

    Silent: where the description of the counterset is not in the capture, or the answer is sealed or was not captured.
    """

    def __init__(self, evidence: Evidence) -> None:
        self._ids: dict[tuple[str, str], set[int]] = {}
        for call in evidence.calls_of(INTERFACE, Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO):
            is_of_set = call.asked.get("RequestCode") == RequestCode.COUNTERSET_STRUCT
            if call.status == 0 and call.response is not None and is_of_set and not call.is_altered:
                data = call.response.data
                ids = self._ids.setdefault((call.server, call.asked["CounterSetGuid"]), set())
                # What follows a _PERF_COUNTERSET_REG_INFO begins with the id of a counter (2.2.4.1, 2.2.4.2).
                starts = range(COUNTERSET_INFO.size, len(data) - 3, COUNTER_INFO.size)
                ids.update(u4s(data, at, 1)[0] for at in starts)

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        counter = call.asked["RequestLCID"]
        known = self._ids.get((call.server, call.asked["CounterSetGuid"]))
        if call.status in (*REFUSED_ELSEWHERE, GUID_NOT_FOUND):
            return
        if known is None:
            yield inconclusive("the description of the counterset is not in the capture", call)
        elif counter not in known:
            is_kept, sure = call.status == ITEM_NOT_FOUND, Confidence.HIGH if call.status == 0 else Confidence.MEDIUM
            message = f"the server did not say of counter {counter} that it is not in the counterset"
            expected = "ERROR_WMI_ITEMID_NOT_FOUND (0x106a)"
            yield judge(is_kept, call, "status", message, expected, returned(call), confidence=sure)


_SINGLE = 0


@rule("PCQ560", Level.SEQUENCES, Severity.ERROR)
@of_calls("PL-QCD-R04", _DATA_ASKED)
class NeededSizeNotEnough(Watch[CallEvidence]):
    """A client made room for what the server stated it needs, and was answered again that it is too small.

    Looks for: QueryCounterData that failed with 8, then again on the same handle with a dwInSize of at least the pdwRtnSize that
    was returned.

    Why it matters: a client that does what the server asked for never gets its data.

    Specification: perflib.h: on ERROR_NOT_ENOUGH_MEMORY the size returned is the one needed; the caller enlarges its buffer and
    calls again.

    Flagged: pdwRtnSize 800, then dwInSize 800 and error 8 with pdwRtnSize 800 again.

    Accepted: success with dwInSize 800. The rule is inconclusive where more is needed now, because instances were added
    meanwhile.

    Silent: where one of the two calls is sealed or was not captured; where the client offers less than it was asked for, or never
    tries again.
    """

    def __init__(self, evidence: Evidence) -> None:
        self._needed: dict[int, int] = {}

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        query = call.query
        if query is None or call.status is None:
            return
        needed, offered = self._needed.pop(query.number, None), call.asked["dwInSize"]
        needs, is_refused = call.answered.get("pdwRtnSize", 0), call.status == ERROR_NOT_ENOUGH_MEMORY
        if needed is not None and offered >= needed:
            if call.status == 0:
                yield passed()
            elif is_refused and needs > needed:
                yield inconclusive("more was needed at the second call", call)
            elif is_refused:
                message = "a buffer of the size the server had asked for was refused as too small"
                expected = f"success with {offered} bytes, where {needed} were stated to be needed"
                seen, sure = f"error 8, and {needs} bytes needed", Confidence.MEDIUM
                yield failed(call, "pdwRtnSize", message, expected, seen, confidence=sure)
        if is_refused:
            self._needed[query.number] = needs


@rule("PCQ561", Level.SEQUENCES, Severity.WARNING)
@of_calls(
    "PL-QCD-R05",
    Reads((Opnum.QUERY_COUNTER_DATA,), ("request",)),
    needs_answer="an answer before left the size undefined",
)
class UndefinedSizeUsed(Watch[CallEvidence]):
    """A client took a size from an answer that defines none.

    Looks for: QueryCounterData that failed with another error than 8, then a call on the same handle whose dwInSize is the
    pdwRtnSize of that failure and was not the client's own before.

    Why it matters: the number means nothing. A client that allocates by it allocates at random.

    Specification: perflib.h: the size returned is the bytes stored on success, the bytes needed on ERROR_NOT_ENOUGH_MEMORY; with
    any other error it is undefined and should not be used.

    Flagged: as a warning, error 5 with pdwRtnSize 12345, then dwInSize 12345.

    Accepted: another dwInSize, or the same as before the failure.

    Silent: where one of the two calls is sealed or was not captured; where the size is 0.
    """

    def __init__(self, evidence: Evidence) -> None:
        # By handle: the size of a failure that defines none, and what the client had offered.
        self._undefined: dict[int, tuple[int, int]] = {}

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        query = call.query
        if query is None:
            return
        offered = call.asked["dwInSize"]
        if (before := self._undefined.pop(query.number, None)) is not None:
            size, own = before
            at, message = At("request", "dwInSize"), "the client took its size from a failure that defines none"
            is_taken, expected = offered == size != own, f"not the {size} of the failed call before"
            yield judge(not is_taken, call, at, message, expected, offered, say=warned, confidence=Confidence.MEDIUM)
        size = call.answered.get("pdwRtnSize", 0)
        if call.status not in (None, 0, ERROR_NOT_ENOUGH_MEMORY) and size:
            self._undefined[query.number] = size, offered
        elif call.status is None and call.fault is None:
            yield inconclusive("what the call was answered is not in the capture", call)
