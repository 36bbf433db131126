"""A server answered a request whose stub contradicts the IDL.

Looks for: requests that do not decode as their method's, whose lpData of ValidateCounters has another count than dwInSize, or
whose name of the machine is a null pointer; and what the server answered.

Why it matters: a runtime that passes such a stub on hands the method lengths that do not belong to its bytes. That is how remote
callers come to read and write what is not theirs.

Specification: [MS-PCQ] section 3.1.4 demands the strict consistency check of NDR data at target level 6.0, and that null unique
or full pointers with a nonzero conformance are rejected; [MS-RPCE] section 3.1.1.5.3.3 lists what is checked. The answer is a
fault, RPC_X_BAD_STUB_DATA (0x6F7) or a similar one.

Flagged: a request that ends before its last parameter, and a return value.

Accepted: any fault to such a request; any answer to a sound one.

Silent: where the request is sealed or was not captured whole, or its answer was not captured.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, inconclusive, passed
from analyzer.questions.audit.wire import problem_at, validated_count
from analyzer.results.perflib import Opnum

STRICT, NULL_POINTER = "PCQ-3.1.4-R01", "PCQ-3.1.4-R02"
# How many bytes of parameters follow szMachine.
_BEHIND_NAME = {
    Opnum.ENUMERATE_COUNTER_SET: 4,
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: 28,
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: 20,
    Opnum.OPEN_QUERY_HANDLE: 0,
}

RULE = Rule("PCQ122", "inconsistent-stub-served", Level.RPC, Severity.ERROR)


@RULE.calls((STRICT, NULL_POINTER), Reads(tuple(Opnum), ("request",), damaged=True))
def check(call: CallEvidence) -> Iterator[Judgement]:
    if _has_null_pointer(call):
        yield from _judged(call, NULL_POINTER, At("request", "stub[0:4]"), "a null pointer for the name of the machine")
    elif (what := _inconsistency(call)) is not None:
        yield from _judged(call, STRICT, *what)


def _judged(call: CallEvidence, requirement: str, at: At, seen: str) -> Iterator[Judgement]:
    if call.fault is not None:
        yield passed(requirement)
    elif call.decoded.response is None:
        yield inconclusive(requirement, "what came of a request that contradicts the IDL was not captured", call)
    else:
        message = "the server answered a request whose stub contradicts the IDL"
        yield failed(requirement, call, at, message, expected="a fault, such as RPC_X_BAD_STUB_DATA (0x6f7)", seen=seen)


def _has_null_pointer(call: CallEvidence) -> bool:
    """Whether a null pointer, of which the IDL has none, stands for the name, and the other parameters follow at once."""
    assert call.request is not None
    stub, width = call.request.stub, 8 if call.decoded.syntax == "ndr64" else 4
    behind = _BEHIND_NAME.get(Opnum(call.opnum or 0))
    return (
        call.request.side.problem is not None
        and behind is not None
        and len(stub) == width + behind
        and not any(stub[:width])
    )


def _inconsistency(call: CallEvidence) -> tuple[At, str] | None:
    """Where the request contradicts the IDL, and how; None where it does not."""
    assert call.request is not None
    problem = call.request.side.problem
    if problem is not None:
        return problem_at(call.request), str(problem)
    if call.opnum == Opnum.VALIDATE_COUNTERS:
        count = validated_count(call.request)
        size = call.asked["dwInSize"]
        if count is not None and count.value != size:
            return At("request", count.path), f"max_count {count.value} for dwInSize {size}"
    return None
