"""A client offered a larger buffer than the IDL allows.

Looks for: dwInSize above the upper end of the range that the IDL gives it.

Why it matters: runtimes refuse such a request before any method sees it, so the client never gets an answer.

Specification: [MS-PCQ] section 6, the IDL, a range for each method; sections 3.1.4.1.1 and 3.1.4.1.7 describe the parameter:
number of GUIDs in the one, bytes in all others.

Flagged: dwInSize 257 for EnumerateCounterSet; 134217729 for registration information.

Accepted: the upper end itself; 0, which asks for the size.

Silent: where the request is sealed, was not captured, or does not decode.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import AskedEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed
from analyzer.results.perflib import Opnum

# What dwInSize may be at most, and the requirements that say so.
LIMITS: dict[Opnum, tuple[int, tuple[str, ...]]] = {
    Opnum.ENUMERATE_COUNTER_SET: (256, ("PCQ-6-R02", "PCQ-3.1.4.1.1-R13")),
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: (134217728, ("PCQ-6-R03",)),
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: (67108864, ("PCQ-6-R04",)),
    Opnum.QUERY_COUNTER_INFO: (67108864, ("PCQ-6-R05",)),
    Opnum.QUERY_COUNTER_DATA: (1073741824, ("PCQ-6-R06",)),
    Opnum.VALIDATE_COUNTERS: (67108864, ("PCQ-6-R07",)),
}

RULE = Rule("PCQ215", "size-out-of-range", Level.STUBS, Severity.ERROR)


@RULE.requests(
    tuple(requirement for _, requirements in LIMITS.values() for requirement in requirements),
    Reads(tuple(LIMITS), ("request",)),
    by_method={opnum: requirements for opnum, (_, requirements) in LIMITS.items()},
)
def check(call: AskedEvidence) -> Iterator[Judgement]:
    limit, requirements = LIMITS[Opnum(call.opnum or 0)]
    size = call.asked["dwInSize"]
    if size <= limit:
        for requirement in requirements:
            yield passed(requirement)
        return
    first, *others = requirements
    yield failed(
        first,
        call,
        At("request", "dwInSize"),
        "the client offered a buffer that is out of range",
        expected=f"at most {limit}",
        seen=str(size),
        also=tuple(others),
    )
