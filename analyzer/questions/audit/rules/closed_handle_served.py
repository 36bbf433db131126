"""A server carried out a call on a query handle that it had closed.

Looks for: calls that succeed on a handle after CloseQueryHandle succeeded on it.

Why it matters: what the handle stood for was given back. A server that goes on using it reads memory that is somebody else's by
now.

Specification: [MS-PCQ] section 3.1.4.1.8: the method closes the handle; what a server does to a call on a handle that is not
valid is that an RPC exception is thrown or an error returned.

Flagged: CloseQueryHandle with return value 0, then QueryCounterData with return value 0 on the same handle.

Accepted: fault 0x1C00001A, or any return value but 0, after the close; the same bytes given out anew by OpenQueryHandle.

Silent: where the close or its answer was not captured or is sealed.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import Evidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, inconclusive, passed
from analyzer.questions.audit.wire import HANDLING

REQUIREMENT = "PCQ-3.1.4.1.8-R08"

RULE = Rule("PCQ714", "closed-handle-served", Level.SEQUENCES, Severity.ERROR)


@RULE.afterwards((REQUIREMENT,), Reads(HANDLING, ("request",)), about="handle")
def look(evidence: Evidence) -> Iterator[Judgement]:
    for lifetime in evidence.lifetimes:
        for event in lifetime.events:
            if "after-close" not in event.violations:
                continue
            if event.succeeded:
                yield failed(
                    REQUIREMENT,
                    evidence.call(event.call),
                    At("request", "phQuery" if event.kind == "close" else "hQuery"),
                    f"the server carried out a call on a handle that call {lifetime.closed} had closed",
                    expected="a fault or an error",
                    seen=lifetime.handle,
                )
            elif event.fault is not None or event.status:
                yield passed(REQUIREMENT)
            else:
                yield inconclusive(REQUIREMENT, "what came of a call on a closed handle is not in the capture")
