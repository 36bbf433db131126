"""A query handle died although its close was refused.

Looks for: CloseQueryHandle at an authentication level below PKT_PRIVACY that returned ERROR_ACCESS_DENIED (5), and what the next
call on the handle came to.

Why it matters: the client has been informed that nothing happened, and has to close the handle by a sealed request. If it is gone
already, the client sees an error that it cannot explain.

Specification: [MS-PCQ] section 3.1.4.1.8: with ERROR_ACCESS_DENIED the opened handle stays as it is until the client closes it at
level PKT_PRIVACY.

Flagged: return value 5 to a close at level 5, then fault 0x1C00001A (context mismatch) to a sealed close.

Accepted: return value 5, then a close at level 6 that succeeds.

Silent: where the handle is not used again, or what came of it is not in the capture.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import Evidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, inconclusive, passed
from analyzer.results.perflib import Opnum
from analyzer.results.security import AuthLevel

REQUIREMENT = "PCQ-3.1.4.1.8-R07"
ACCESS_DENIED = 5
# What a handle that is gone ends in: nca_s_fault_context_mismatch, an invalid handle, RPC_X_SS_CONTEXT_DAMAGED.
_GONE = (0x1C00001A, 6, 1777)

RULE = Rule("PCQ715", "handle-dead-after-refused-close", Level.SEQUENCES, Severity.ERROR)


@RULE.afterwards((REQUIREMENT,), Reads((Opnum.CLOSE_QUERY_HANDLE,), ("request",)), about="handle")
def look(evidence: Evidence) -> Iterator[Judgement]:
    for lifetime in evidence.lifetimes:
        for n, event in enumerate(lifetime.events):
            if event.kind != "close" or event.status != ACCESS_DENIED or lifetime.origin != "opened":
                continue
            refused = evidence.call(event.call)
            if refused.decoded.security.level >= AuthLevel.PRIVACY:
                continue
            later = next(
                (other for other in lifetime.events[n + 1 :] if other.fault is not None or other.status is not None),
                None,
            )
            if later is None:
                yield inconclusive(REQUIREMENT, "the handle was not used again", refused)
            elif later.fault in _GONE or later.status in _GONE:
                message = f"a handle is gone, though the server refused to close it in call {event.call}"
                call = evidence.call(later.call)
                path = "pdu" if later.fault is not None else "status"
                seen = f"{later.fault or later.status:#x}"
                expected = "a handle that is open"
                yield failed(REQUIREMENT, call, At("response", path), message, expected=expected, seen=seen)
            else:
                yield passed(REQUIREMENT)
