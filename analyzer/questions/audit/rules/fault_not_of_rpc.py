"""A call ended in a fault that is none of RPC's.

Looks for: fault PDUs of PerflibV2 calls whose status is neither one of DCE RPC (0x1C......), nor of the Win32 codes that runtimes
of Windows send in their place.

Why it matters: a fault of another kind is an exception that escaped from the method, often a crash that was caught in time.
Clients know return values for what a method has to say.

Specification: [MS-PCQ] section 3.1.4.1: methods throw no exceptions but those of the RPC protocol. Status codes: C706 appendix E,
[MS-RPCE] section 2.2.2.8, and the RPC_S_ and RPC_X_ codes of [MS-ERREF] section 2.2.

Flagged: fault 0xC0000005 (an access violation); fault 0x1068 (a return value of the method).

Accepted: 0x1C00001A (context mismatch), 0x6F7 (bad stub data), 5 (access denied).

Silent: where no fault was captured.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.core.win32 import win32_name
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed, warned

REQUIREMENT = "PCQ-3.1.4.1-R02"
# rpcnterr.h gives RPC names to Win32 codes outside 1700 to 1999: RPC_S_ACCESS_DENIED, RPC_X_SS_CONTEXT_MISMATCH (both spellings of
# an invalid handle), RPC_S_OUT_OF_MEMORY (8 and 14), RPC_S_INVALID_ARG, RPC_S_BUFFER_TOO_SMALL, RPC_S_OUT_OF_THREADS,
# RPC_S_ASYNC_CALL_PENDING, RPC_X_NO_MEMORY, RPC_S_SERVER_OUT_OF_MEMORY, RPC_S_UNKNOWN_PRINCIPAL, RPC_S_INVALID_SECURITY_DESC,
# RPC_S_TIMEOUT.
_RPC_BY_OTHER_NAMES = frozenset({5, 6, 8, 14, 87, 122, 164, 997, 1130, 1332, 1338, 1460})

RULE = Rule("PCQ121", "fault-not-of-rpc", Level.RPC, Severity.ERROR)


@RULE.calls((REQUIREMENT,), Reads())
def check(call: CallEvidence) -> Iterator[Judgement]:
    fault = call.fault
    if fault is None:
        return
    if 0x1C000000 <= fault <= 0x1C01FFFF or 1700 <= fault <= 1999 or fault in _RPC_BY_OTHER_NAMES:
        yield passed(REQUIREMENT)
        return
    seen = f"{fault:#x}" if win32_name(fault) is None else f"{win32_name(fault)} ({fault:#x})"
    expected, at = "a status of RPC", At("response", "pdu.24:28")
    # STATUS codes of the facilities RPC_RUNTIME and RPC_STUBS ([MS-ERREF] section 2.3) are RPC's in the clothes of the kernel.
    if fault >> 16 in (0xC002, 0xC003, 0x8002, 0x8003):
        yield warned(REQUIREMENT, call, at, "a fault carries an NTSTATUS code of RPC", expected=expected, seen=seen)
    else:
        yield failed(REQUIREMENT, call, at, "a fault carries what is no status of RPC", expected=expected, seen=seen)
