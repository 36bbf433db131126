"""The stub of a request is not laid out as the IDL says.

Looks for: requests of the eight methods that end before their last parameter, contain counts that contradict each other, or go on
for 8 bytes and more after it; a name of the machine that is preceded by a referent (a warning).

Why it matters: parameters have no names on the wire, only places. A peer that reads by the IDL takes something else for each
parameter that stands elsewhere, or refuses the call.

Specification: the request half of the method in [MS-PCQ] sections 3.1.4.1.1 to 3.1.4.1.8 and section 6, marshalled by C706
chapter 14. Top-level pointers without an attribute are references there and leave nothing on the wire.

Flagged: QueryCounterData with 20 bytes, the handle without dwInSize; 12 bytes behind dwInSize.

Accepted: up to 7 bytes behind the last parameter, with which some stacks pad sealed stubs.

Silent: where the request is sealed or was not captured whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import AskedEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed, warned
from analyzer.questions.audit.wire import has_referent, left_over, problem_at
from analyzer.results.perflib import Opnum

LAYOUTS = {
    Opnum.ENUMERATE_COUNTER_SET: "PCQ-3.1.4.1.1-R01",
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: "PCQ-3.1.4.1.2-R01",
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: "PCQ-3.1.4.1.3-R01",
    Opnum.OPEN_QUERY_HANDLE: "PCQ-3.1.4.1.4-R01",
    Opnum.CLOSE_QUERY_HANDLE: "PCQ-3.1.4.1.8-R01",
    Opnum.QUERY_COUNTER_INFO: "PCQ-3.1.4.1.5-R01",
    Opnum.QUERY_COUNTER_DATA: "PCQ-3.1.4.1.6-R01",
    Opnum.VALIDATE_COUNTERS: "PCQ-3.1.4.1.7-R02",
}
# Fewer bytes behind the last parameter are padding that was not counted.
MOST_PADDING = 7

RULE = Rule("PCQ201", "request-stub-off-layout", Level.STUBS, Severity.ERROR)


@RULE.requests(
    tuple(LAYOUTS.values()),
    Reads(tuple(LAYOUTS), ("request",), damaged=True),
    by_method={opnum: (requirement,) for opnum, requirement in LAYOUTS.items()},
)
def check(call: AskedEvidence) -> Iterator[Judgement]:
    side = call.request
    assert side is not None
    requirement = LAYOUTS[Opnum(call.opnum or 0)]
    rest = left_over(side)
    if rest is None:
        message = "the stub of a request does not decode by the IDL"
        expected = "the parameters of the IDL"
        yield failed(requirement, call, problem_at(side), message, expected=expected, seen=str(side.side.problem))
    elif rest > MOST_PADDING:
        stop = len(side.stub)
        at = At("request", f"stub[{stop - rest}:{stop}]")
        message = "the stub of a request goes on after its last parameter"
        yield failed(requirement, call, at, message, expected="0 bytes", seen=f"{rest} bytes")
    elif has_referent(side):
        message = "the name of the machine is preceded by a referent, as if its pointer were a unique one"
        yield warned(requirement, call, At("request", "stub[0:4]"), message, expected="max_count", seen="a referent")
    else:
        yield passed(requirement)
