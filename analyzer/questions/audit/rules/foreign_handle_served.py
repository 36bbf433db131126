"""A server carried out a call on a query handle that it had not given out.

Looks for: calls that succeed on handles that no OpenQueryHandle of the capture returned, on channels whose whole lifetime is in it;
and on handles that the remote registry, the other interface of the pipe, gave out.

Why it matters: a handle is what keeps the queries of clients apart. A server that accepts any gives one client the query of
another, or takes the state of another interface for a query.

Specification: [MS-PCQ] sections 3.1.4.1.5 to 3.1.4.1.8: an exception is thrown or an error returned if the handle did not
originate from OpenQueryHandle. Section 3.1.4: handles made by another interface are rejected (strict_context_handle).

Flagged: QueryCounterData on an unknown handle, return value 0; the same on a handle of OpenPerformanceData.

Accepted: fault 0x1C00001A (context mismatch), fault 6, or any return value but 0, on such a handle.

Silent: where the opening may have been missed, and where the answer was not captured or is sealed.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import Evidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, inconclusive, passed
from analyzer.questions.audit.wire import HANDLING, NULL_HANDLE
from analyzer.questions.statistics.handles import HandleEvent
from analyzer.results import winreg
from analyzer.results.perflib import Opnum

OTHER_INTERFACE = "PCQ-3.1.4-R03"
METHODS = {
    Opnum.CLOSE_QUERY_HANDLE: "PCQ-3.1.4.1.8-R03",
    Opnum.QUERY_COUNTER_INFO: "PCQ-3.1.4.1.5-R07",
    Opnum.QUERY_COUNTER_DATA: "PCQ-3.1.4.1.6-R07",
    Opnum.VALIDATE_COUNTERS: "PCQ-3.1.4.1.7-R04",
}
_OF_KIND = {
    "close": Opnum.CLOSE_QUERY_HANDLE,
    "info": Opnum.QUERY_COUNTER_INFO,
    "poll": Opnum.QUERY_COUNTER_DATA,
    "add": Opnum.VALIDATE_COUNTERS,
    "remove": Opnum.VALIDATE_COUNTERS,
}

RULE = Rule("PCQ713", "foreign-handle-served", Level.SEQUENCES, Severity.ERROR)


@RULE.afterwards(
    (OTHER_INTERFACE, *METHODS.values()),
    Reads(HANDLING, ("request",)),
    by_method={opnum: (OTHER_INTERFACE, requirement) for opnum, requirement in METHODS.items()},
    about="handle",
)
def look(evidence: Evidence) -> Iterator[Judgement]:
    keys = _registry_handles(evidence)
    for lifetime in evidence.lifetimes:
        is_key = (lifetime.server.ip, lifetime.handle) in keys and lifetime.origin != "opened"
        if not is_key and lifetime.origin != "never opened":
            continue
        for event in lifetime.events:
            if event.kind in _OF_KIND:
                requirement = METHODS[_OF_KIND[event.kind]]
                yield from _judged(
                    evidence, event, lifetime.handle, (requirement, OTHER_INTERFACE) if is_key else (requirement,)
                )


def _judged(evidence: Evidence, event: HandleEvent, handle: str, requirements: tuple[str, ...]) -> Iterator[Judgement]:
    if event.succeeded:
        yield failed(
            requirements[0],
            evidence.call(event.call),
            At("request", "phQuery.uuid" if event.kind == "close" else "hQuery.uuid"),
            "the server carried out a call on a handle that it had not given out",
            expected="a fault or an error",
            seen=handle,
            also=requirements[1:],
        )
    elif event.fault is not None or event.status:
        for requirement in requirements:
            yield passed(requirement)
    else:
        for requirement in requirements:
            yield inconclusive(requirement, "what came of a call on a foreign handle is not in the capture")


def _registry_handles(evidence: Evidence) -> set[tuple[str, str]]:
    """The handles that the remote registry gave out, with their servers."""
    found: set[tuple[str, str]] = set()
    for call in evidence.calls_of(winreg.INTERFACE):
        if call.status == 0:
            for value in call.answered.values():
                if isinstance(value, dict) and value.get("uuid", NULL_HANDLE) != NULL_HANDLE:
                    found.add((call.server, value["uuid"]))
    return found
