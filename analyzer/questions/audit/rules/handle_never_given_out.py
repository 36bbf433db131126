"""A client used a query handle that no server had given out.

Looks for: calls on handles that no OpenQueryHandle of the capture returned, on channels whose whole lifetime is in it; and calls on
another association group than the one the handle was opened in (a warning).

Why it matters: such a call cannot succeed. The client has changed the handle, kept it from an earlier session, or never opened one.

Specification: [MS-PCQ] section 2.2.1: the handle comes from the server, and its content is the server's; section 3.2.1: a client
that wants data first creates a handle by OpenQueryHandle. [MS-RPCE] section 3.1.1.5: a context handle belongs to its association
group.

Flagged: QueryCounterData on a handle whose last byte differs from the one that was given out.

Accepted: a handle used as it was given out, also on another connection of the same association group. What a server makes of one
that it did not give out is another rule's.

Silent: where the beginning of the channel, or a call that may have opened the handle, was not captured or is sealed.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import Evidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Confidence, Judgement, Severity, failed, inconclusive, passed, warned
from analyzer.questions.audit.wire import HANDLING
from analyzer.results.perflib import Opnum

UNCHANGED, OPENED = "PCQ-2.2.1-R03", "PCQ-3.2.1-R02"

RULE = Rule("PCQ712", "handle-never-given-out", Level.SEQUENCES, Severity.ERROR)


@RULE.afterwards(
    (UNCHANGED, OPENED),
    Reads(HANDLING, ("request",)),
    by_method={opnum: (UNCHANGED,) if opnum == Opnum.CLOSE_QUERY_HANDLE else (UNCHANGED, OPENED) for opnum in HANDLING},
    about="handle",
    needs_answer="the server gave out the handle",
)
def look(evidence: Evidence) -> Iterator[Judgement]:
    for lifetime in evidence.lifetimes:
        for event in lifetime.events:
            if event.kind == "open":
                continue
            also = () if event.kind == "close" else (OPENED,)
            name = "phQuery.uuid" if event.kind == "close" else "hQuery.uuid"
            if lifetime.origin == "not captured":
                reason = f"the opening of a query handle is not in the capture: {lifetime.reason}"
                for requirement in (UNCHANGED, *also):
                    yield inconclusive(requirement, reason)
            elif lifetime.origin == "never opened" or (lifetime.opened is not None and event.call < lifetime.opened):
                message = "the client used a handle that the server had not given out"
                call = evidence.call(event.call)
                yield failed(
                    UNCHANGED,
                    call,
                    At("request", name),
                    message,
                    expected="a handle that the server gave out",
                    seen=lifetime.handle,
                    also=also,
                )
            else:
                for requirement in also:
                    yield passed(requirement)
                if "other-association" not in event.violations:
                    yield passed(UNCHANGED)
                    continue
                yield warned(
                    UNCHANGED,
                    evidence.call(event.call),
                    At("request", name),
                    "the client used a handle outside the association group that it was opened in",
                    expected=f"the group that call {lifetime.opened} opened it in",
                    seen=lifetime.handle,
                    confidence=Confidence.MEDIUM,
                )
