"""A client asked a query for data before it added counters, or after it closed it.

Looks for: QueryCounterData on handles that hold no counter, and calls on handles after they were closed. Both are warnings.

Why it matters: nothing is wrong with the answer, a header without blocks or a fault. The client does not do what its author
meant.

Specification: [MS-PCQ] section 3.2.1: counters are added to the handle before their data is asked for; section 4.1 shows the
model: open, add, ask again and again, close.

Flagged: OpenQueryHandle, then QueryCounterData; a poll of a handle whose close succeeded.

Accepted: polls of a handle to which at least one counter was added.

Silent: where what the handle holds is not known: its opening was not captured, or an addition is sealed or was lost.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.audit.evidence import Evidence
from analyzer.audit.rule import Level, Reads, Rule, afterwards
from analyzer.audit.verdicts import At, Judgement, Severity, inconclusive, passed, warned
from analyzer.audit.wire import HANDLING
from analyzer.pcq.identity import Opnum

ADDED, MODEL = "PCQ-3.2.1-R03", "PCQ-4.1-R01"


def look(evidence: Evidence) -> Iterator[Judgement]:
    for life in evidence.lives:
        for event in life.events:
            if event.kind == "open" or life.origin == "never opened":
                continue
            name = "phQuery" if event.kind == "close" else "hQuery"
            if "after-close" in event.oddities:
                message = f"the client called on a handle that call {life.closed} had closed"
                expected, at = "a handle that is open", At("request", name)
                yield warned(MODEL, evidence.call(event.call), at, message, expected=expected, seen=life.handle)
            elif event.kind != "poll":
                yield passed(MODEL)
            elif event.view.held is None:
                for requirement in (ADDED, MODEL):
                    yield inconclusive(requirement, f"what a handle holds is not known: {event.view.unknown}")
            elif event.view.held:
                yield passed(ADDED)
                yield passed(MODEL)
            else:
                message = "the client asked for data of a query without counters"
                yield warned(
                    ADDED,
                    evidence.call(event.call),
                    At("request", name),
                    message,
                    expected="counters added before",
                    seen="none held",
                    also=(MODEL,),
                )


RULE = Rule(
    code="PCQ717",
    name="calls-out-of-order",
    level=Level.SEQUENCES,
    severity=Severity.WARNING,
    requirements=(ADDED, MODEL),
    reads=Reads(HANDLING, ("request",)),
    watch=afterwards(look),
    by_method={opnum: (ADDED, MODEL) if opnum == Opnum.QUERY_COUNTER_DATA else (MODEL,) for opnum in HANDLING},
)
