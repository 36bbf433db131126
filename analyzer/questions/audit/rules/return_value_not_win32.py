"""A method returned what is no Win32 error code.

Looks for: return values that are HRESULTs or NTSTATUS codes by their highest bits, and such as lie outside the numbers that Win32
gives its errors (a warning, since providers may pass on codes of their own).

Why it matters: clients look the number up among the Win32 errors. An HRESULT or NTSTATUS is another error there, or none.

Specification: [MS-PCQ] section 1.8 takes all errors from [MS-ERREF] section 2.2, section 2.2.3 says so of error_status_t, and
each method of section 3.1.4.1 that it returns zero or one of them. Their tables also name codes for a lack of memory (0xE) and of
other resources (0x5AA), which a server may return at any time.

Flagged: 0x80070005 (E_ACCESSDENIED), 0xC0000022 (STATUS_ACCESS_DENIED); 0x20000001 (a warning).

Accepted: 0 and every number below 0x4000, where [MS-ERREF] has its codes.

Silent: where the answer is sealed, was not captured, or does not decode.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed, warned
from analyzer.results.perflib import Opnum

SPACE, TYPE = "PCQ-1.8-R01", "PCQ-2.2.3-R02"
METHODS = {
    Opnum.ENUMERATE_COUNTER_SET: "PCQ-3.1.4.1.1-R07",
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: "PCQ-3.1.4.1.2-R07",
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: "PCQ-3.1.4.1.3-R07",
    Opnum.OPEN_QUERY_HANDLE: "PCQ-3.1.4.1.4-R03",
    Opnum.CLOSE_QUERY_HANDLE: "PCQ-3.1.4.1.8-R04",
    Opnum.QUERY_COUNTER_INFO: "PCQ-3.1.4.1.5-R08",
    Opnum.QUERY_COUNTER_DATA: "PCQ-3.1.4.1.6-R08",
    Opnum.VALIDATE_COUNTERS: "PCQ-3.1.4.1.7-R05",
}
OUT_OF_MEMORY, NO_SYSTEM_RESOURCES = 0xE, 0x5AA
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

RULE = Rule("PCQ220", "return-value-not-win32", Level.STUBS, Severity.ERROR)


@RULE.calls(
    (SPACE, TYPE, *METHODS.values(), *RESOURCES.values()),
    Reads(tuple(METHODS), ("response",)),
    by_method={
        opnum: (SPACE, TYPE, requirement, *(name for (method, _), name in RESOURCES.items() if method == opnum))
        for opnum, requirement in METHODS.items()
    },
)
def check(call: CallEvidence) -> Iterator[Judgement]:
    status = call.status
    if status is None:
        return
    method = METHODS[Opnum(call.opnum or 0)]
    at, also = At("response", "status"), (SPACE, TYPE)
    if status < _END_OF_WIN32:
        for requirement in (method, *also):
            yield passed(requirement)
        resource = RESOURCES.get((Opnum(call.opnum or 0), status))
        if resource is not None:
            yield passed(resource)
    elif status & 0x80000000:
        kind = "an NTSTATUS" if status & 0x40000000 else "an HRESULT"
        message = f"a method returned {kind} in place of a Win32 error"
        yield failed(method, call, at, message, expected="a Win32 error code", seen=f"{status:#x}", also=also)
    else:
        message = "a method returned a number that no Win32 error has"
        yield warned(method, call, at, message, expected="a Win32 error code", seen=f"{status:#x}", also=also)
