"""A client ended without closing a query handle.

Looks for: handles that were opened in the capture, and whose pipes or connections ended before any CloseQueryHandle succeeded on
them.

Why it matters: the server keeps the query, its counters and what their providers need until it notices that the client is gone. A
collector that forgets a handle at each run exhausts it in time.

Specification: [MS-PCQ] section 2.2.1: the client closes the handle when it is done, so that the server can free what belongs to
it; section 3.2.1 likewise.

Flagged: OpenQueryHandle, some calls, and the end of the pipe (a warning: the runtime runs the handle down).

Accepted: a close that succeeds.

Silent: where the capture ends before the pipe does, or a call that may have been the close was not captured or is sealed.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import Evidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, inconclusive, passed, warned
from analyzer.results.perflib import Opnum

TYPE, CLIENT = "PCQ-2.2.1-R05", "PCQ-3.2.1-R05"

RULE = Rule("PCQ716", "handle-left-open", Level.SEQUENCES, Severity.WARNING)


@RULE.afterwards(
    (TYPE, CLIENT),
    Reads((Opnum.OPEN_QUERY_HANDLE,), ("response",), success=True),
    about="handle",
    needs_answer="the server gave out the handle",
)
def look(evidence: Evidence) -> Iterator[Judgement]:
    for lifetime in evidence.lifetimes:
        if lifetime.origin != "opened" or lifetime.opened is None:
            continue
        if lifetime.end == "closed" or any(event.kind == "close" for event in lifetime.events):
            for requirement in (TYPE, CLIENT):
                yield passed(requirement)
        elif lifetime.end == "never closed" and evidence.analysis.closed.issuperset(lifetime.channels):
            yield warned(
                TYPE,
                evidence.call(lifetime.opened),
                At("response", "phQuery"),
                "the client ended without closing a query handle",
                expected="CloseQueryHandle",
                seen=f"{len(lifetime.events)} calls on it, and the end of the pipe",
                also=(CLIENT,),
            )
        else:
            for requirement in (TYPE, CLIENT):
                yield inconclusive(requirement, lifetime.reason or "the capture ends before the pipe does")
