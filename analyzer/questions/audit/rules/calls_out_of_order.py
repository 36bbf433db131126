"""A client called on a query before it opened it, asked it for data before it added counters, or went on after it closed it.

Looks for: calls on handles that were not given out before, QueryCounterData on handles that hold no counter, and calls on handles
after they were closed. All are warnings.

Why it matters: nothing is wrong with the answer, a header without blocks or a fault. The client does not do what its author
meant.

Specification: [MS-PCQ] section 3.2.1: counters are added to the handle before their data is asked for; section 4.1 shows the
model: open, add, ask again and again, close.

Flagged: ValidateCounters, then OpenQueryHandle; OpenQueryHandle, then QueryCounterData; a poll of a handle whose close succeeded.

Accepted: polls of a handle to which at least one counter was added.

Silent: where what the handle holds is not known: its opening was not captured, or an addition is sealed or was lost.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import Evidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, inconclusive, passed, warned
from analyzer.questions.audit.wire import HANDLING
from analyzer.results.perflib import Opnum

ADDED, MODEL = "PCQ-3.2.1-R03", "PCQ-4.1-R01"

RULE = Rule("PCQ717", "calls-out-of-order", Level.SEQUENCES, Severity.WARNING)


@RULE.afterwards(
    (ADDED, MODEL),
    Reads(HANDLING, ("request",)),
    by_method={opnum: (ADDED, MODEL) if opnum == Opnum.QUERY_COUNTER_DATA else (MODEL,) for opnum in HANDLING},
    about="handle",
    needs_answer="the server gave out the handle",
)
def look(evidence: Evidence) -> Iterator[Judgement]:
    first_open: dict[str, int] = {}
    for lifetime in evidence.lifetimes:
        if lifetime.opened is not None:
            first_open[lifetime.server.ip] = min(lifetime.opened, first_open.get(lifetime.server.ip, lifetime.opened))
    for lifetime in evidence.lifetimes:
        for event in lifetime.events:
            if event.kind == "open":
                continue
            name = "phQuery" if event.kind == "close" else "hQuery"
            # A handle that is not of this server's is no matter of order where the client has opened others: PCQ712 reports it.
            never_opened = lifetime.origin == "never opened"
            if never_opened and first_open.get(lifetime.server.ip, event.call) < event.call:
                continue
            if never_opened or (lifetime.opened is not None and event.call < lifetime.opened):
                message = "the client called on a handle before it opened one"
                expected, at = "OpenQueryHandle first", At("request", name)
                yield warned(MODEL, evidence.call(event.call), at, message, expected=expected, seen=lifetime.handle)
            elif "after-close" in event.violations:
                message = f"the client called on a handle that call {lifetime.closed} had closed"
                expected, at = "a handle that is open", At("request", name)
                yield warned(MODEL, evidence.call(event.call), at, message, expected=expected, seen=lifetime.handle)
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
