"""The stub of an answer is not laid out as the IDL says, or does not end in a status.

Looks for: answers of the eight methods that end before their return value, contain counts that contradict each other, or go on
for 8 bytes and more after it.

Why it matters: the return value stands last. A stub that is laid out otherwise has no return value, or one that is something
else.

Specification: the answer half of the method in [MS-PCQ] sections 3.1.4.1.1 to 3.1.4.1.8 and section 6, marshalled by C706 chapter
14; section 2.2.3: every method returns error_status_t, an unsigned long.

Flagged: OpenQueryHandle answered by 20 bytes, the handle without a return value.

Accepted: up to 7 bytes behind the return value, with which some stacks pad sealed stubs.

Silent: where the answer is sealed or was not captured whole, and where a fault was the answer.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.rules.request_stub_off_layout import MOST_PADDING
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed
from analyzer.questions.audit.wire import left_over, problem_at
from analyzer.results.call import StubProblem
from analyzer.results.perflib import Opnum

STATUS_LAST = "PCQ-2.2.3-R01"
LAYOUTS = {
    Opnum.ENUMERATE_COUNTER_SET: "PCQ-3.1.4.1.1-R02",
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: "PCQ-3.1.4.1.2-R02",
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: "PCQ-3.1.4.1.3-R02",
    Opnum.OPEN_QUERY_HANDLE: "PCQ-3.1.4.1.4-R02",
    Opnum.CLOSE_QUERY_HANDLE: "PCQ-3.1.4.1.8-R02",
    Opnum.QUERY_COUNTER_INFO: "PCQ-3.1.4.1.5-R02",
    Opnum.QUERY_COUNTER_DATA: "PCQ-3.1.4.1.6-R02",
    Opnum.VALIDATE_COUNTERS: "PCQ-3.1.4.1.7-R03",
}

RULE = Rule("PCQ202", "response-stub-off-layout", Level.STUBS, Severity.ERROR)


@RULE.calls(
    (STATUS_LAST, *LAYOUTS.values()),
    Reads(tuple(LAYOUTS), ("response",), damaged=True),
    by_method={opnum: (STATUS_LAST, requirement) for opnum, requirement in LAYOUTS.items()},
)
def check(call: CallEvidence) -> Iterator[Judgement]:
    side = call.response
    assert side is not None
    requirement = LAYOUTS[Opnum(call.opnum or 0)]
    rest = left_over(side)
    if rest is None and _is_about_counts(side.side.problem):
        return
    if rest is None:
        is_short = side.side.problem is not None and side.side.problem.kind == "truncated"
        yield failed(
            requirement,
            call,
            problem_at(side),
            "the stub of an answer does not decode by the IDL",
            expected="the parameters of the IDL",
            seen=str(side.side.problem),
            also=(STATUS_LAST,) if is_short else (),
        )
    elif rest > MOST_PADDING:
        stop = len(side.stub)
        yield failed(
            requirement,
            call,
            At("response", f"stub[{stop - rest}:{stop}]"),
            "the stub of an answer goes on after its return value",
            expected="0 bytes",
            seen=f"{rest} bytes",
            also=(STATUS_LAST,),
        )
    else:
        yield passed(requirement)
        yield passed(STATUS_LAST)


def _is_about_counts(problem: StubProblem | None) -> bool:
    """Whether what is wrong is a count of lpData, which stands where it should (and is judged by another rule)."""
    return (
        problem is not None
        and problem.kind == "malformed"
        and problem.field.rpartition(".")[2]
        in (
            "offset",
            "actual_count",
        )
    )
