"""Rules about how stubs are laid out by the IDL (NDR), and what the RPC runtime makes of those that are not."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.core.error_code_names import win32_name
from analyzer.questions.audit.call_evidence import AskedEvidence, CallEvidence
from analyzer.questions.audit.rule_registry import Level, Reads, of_calls, of_requests, rule
from analyzer.questions.audit.rule_verdicts import (
    Actor,
    At,
    Judgement,
    Severity,
    failed,
    inconclusive,
    judge,
    passed,
    warned,
)
from analyzer.questions.audit.stub_and_pdu_fields import (
    ArrayCounts,
    answer_counts,
    has_referent,
    left_over,
    problem_at,
    validated_count,
)
from analyzer.results.calls.call import StubProblem
from analyzer.results.methods.perflib import Opnum
from analyzer.transport.rpc.rpc_names import fault_name


@rule("PCQ120", Level.RPC, Severity.ERROR)
@of_calls("PCQ-3.1.4.1-R01", Reads())
def opnum_out_of_range_answered(call: CallEvidence) -> Iterator[Judgement]:
    """A call of a method that the interface does not have was answered.

    Looks for: PerflibV2 calls with an opnum above 7, and what the server made of them.

    Why it matters: the interface ends at opnum 7. A server that answers more speaks another protocol, and clients that rely on it
    find no other server.

    Specification: [MS-PCQ] section 3.1.4.1 lists the methods, opnums 0 to 7. Section 6 has them in the same order. By C706
    appendix E, a call with a higher opnum ends in a fault, nca_s_op_rng_error (0x1C010002).

    Flagged: opnum 8 with a response; opnum 8 with a fault for another reason (a warning).

    Accepted: opnum 9 with fault 0x1C010002, or RPC_S_PROCNUM_OUT_OF_RANGE; an access fault to a request that was not sealed.

    Silent: where the answer was not captured.
    """
    if call.opnum in Opnum:
        return
    expected, seen = "fault nca_s_op_rng_error (0x1c010002)", f"opnum {call.opnum}"
    # nca_s_op_rng_error, RPC_S_PROCNUM_OUT_OF_RANGE; and a refusal that comes before the method is looked for.
    if call.fault in (0x1C010002, 1745, 5):
        yield passed()
    elif call.fault is not None:
        message = "a method that does not exist was refused for another reason"
        yield warned(call, "pdu", message, expected, f"{seen}, fault {fault_name(call.fault) or ''} ({call.fault:#x})")
    elif call.response is None:
        yield inconclusive("what came of a call with an opnum above 7 was not captured", call)
    else:
        at, message = At("request", "pdu.22:24"), "the server answered a method that does not exist"
        yield failed(call, at, message, expected, seen, actor=Actor.SERVER)


# rpcnterr.h gives RPC names to Win32 codes outside 1700 to 1999: RPC_S_ACCESS_DENIED, RPC_X_SS_CONTEXT_MISMATCH (both spellings of
# an invalid handle), RPC_S_OUT_OF_MEMORY (8 and 14), RPC_S_INVALID_ARG, RPC_S_BUFFER_TOO_SMALL, RPC_S_OUT_OF_THREADS,
# RPC_S_ASYNC_CALL_PENDING, RPC_X_NO_MEMORY, RPC_S_SERVER_OUT_OF_MEMORY, RPC_S_UNKNOWN_PRINCIPAL, RPC_S_INVALID_SECURITY_DESC,
# RPC_S_TIMEOUT.
_RPC_BY_OTHER_NAMES = frozenset({5, 6, 8, 14, 87, 122, 164, 997, 1130, 1332, 1338, 1460})


@rule("PCQ121", Level.RPC, Severity.ERROR)
@of_calls("PCQ-3.1.4.1-R02", Reads())
def fault_not_of_rpc(call: CallEvidence) -> Iterator[Judgement]:
    """A call ended in a fault that is none of RPC's.

    Looks for: fault PDUs of PerflibV2 calls whose status is neither one of DCE RPC (0x1C......), nor of the Win32 codes that
    runtimes of Windows send in their place.

    Why it matters: a fault of another kind is an exception that escaped from the method, often a crash that was caught in time.
    Clients know return values for what a method has to say.

    Specification: [MS-PCQ] section 3.1.4.1: methods throw no exceptions but those of the RPC protocol. Status codes: C706 appendix
    E, [MS-RPCE] section 2.2.2.8, and the RPC_S_ and RPC_X_ codes of [MS-ERREF] section 2.2.

    Flagged: fault 0xC0000005 (an access violation); fault 0x1068 (a return value of the method).

    Accepted: 0x1C00001A (context mismatch), 0x6F7 (bad stub data), 5 (access denied).

    Silent: where no fault was captured.
    """
    fault = call.fault
    if fault is None:
        return
    is_of_rpc = 0x1C000000 <= fault <= 0x1C01FFFF or 1700 <= fault <= 1999 or fault in _RPC_BY_OTHER_NAMES
    seen = f"{fault:#x}" if win32_name(fault) is None else f"{win32_name(fault)} ({fault:#x})"
    message, say = "a fault carries what is no status of RPC", failed
    # STATUS codes of the facilities RPC_RUNTIME and RPC_STUBS ([MS-ERREF] section 2.3) are RPC's in the clothes of the kernel.
    if fault >> 16 in (0xC002, 0xC003, 0x8002, 0x8003):
        message, say = "a fault carries an NTSTATUS code of RPC", warned
    yield judge(is_of_rpc, call, "pdu.24:28", message, "a status of RPC", seen, say=say)


STRICT, NULL_POINTER = "PCQ-3.1.4-R01", "PCQ-3.1.4-R02"
# How many bytes of parameters follow szMachine.
_BEHIND_NAME = {
    Opnum.ENUMERATE_COUNTER_SET: 4,
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: 28,
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: 20,
    Opnum.OPEN_QUERY_HANDLE: 0,
}


@rule("PCQ122", Level.RPC, Severity.ERROR)
@of_calls((STRICT, NULL_POINTER), Reads(tuple(Opnum), ("request",), damaged=True))
def inconsistent_stub_served(call: CallEvidence) -> Iterator[Judgement]:
    """A server answered a request whose stub contradicts the IDL.

    Looks for: requests with one of these flaws, and what the server answered:

    - The stub does not decode as that of its method.
    - The lpData of ValidateCounters has another count than dwInSize.
    - The name of the machine is a null pointer.

    Why it matters: a runtime that passes such a stub on hands the method lengths that do not belong to its bytes. That is how
    remote callers come to read and write what is not theirs.

    Specification: [MS-PCQ] section 3.1.4 demands the strict consistency check of NDR data at target level 6.0. It also demands
    that null unique or full pointers with a nonzero conformance are rejected. [MS-RPCE] section 3.1.1.5.3.3 lists what is
    checked. The answer is a fault, RPC_X_BAD_STUB_DATA (0x6F7) or a similar one.

    Flagged: a request that ends before its last parameter, and a return value.

    Accepted: any fault to such a request; any answer to a sound one.

    Silent: where the request is sealed or was not captured whole, or its answer was not captured.
    """
    found = _inconsistency(call)
    if found is None:
        return
    requirement, at, seen = found
    if call.fault is not None:
        yield passed(requirement)
    elif call.response is None:
        reason = "what came of a request that contradicts the IDL was not captured"
        yield inconclusive(reason, call, requirement)
    else:
        message = "the server answered a request whose stub contradicts the IDL"
        yield failed(call, at, message, "a fault, such as RPC_X_BAD_STUB_DATA (0x6f7)", seen, of=requirement)


def _inconsistency(call: CallEvidence) -> tuple[str, At, str] | None:
    """The requirement by which a request contradicts the IDL, where, and how; None where it does not."""
    problem = call.sent.side.problem
    if problem is not None:
        # A null pointer, of which the IDL has none, may stand for the name, and the other parameters follow at once.
        stub, width = call.sent.stub, 8 if call.decoded.syntax == "ndr64" else 4
        behind = _BEHIND_NAME.get(call.opnum or 0)
        if behind is not None and len(stub) == width + behind and not any(stub[:width]):
            return NULL_POINTER, At("request", "stub[0:4]"), "a null pointer for the name of the machine"
        return STRICT, problem_at(call.sent), str(problem)
    if call.opnum == Opnum.VALIDATE_COUNTERS:
        count, size = validated_count(call.sent), call.asked["dwInSize"]
        if count is not None and count.value != size:
            return STRICT, At("request", count.path), f"max_count {count.value} for dwInSize {size}"
    return None


REQUEST_LAYOUTS = {
    Opnum.ENUMERATE_COUNTER_SET: ("PCQ-3.1.4.1.1-R01",),
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: ("PCQ-3.1.4.1.2-R01",),
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: ("PCQ-3.1.4.1.3-R01",),
    Opnum.OPEN_QUERY_HANDLE: ("PCQ-3.1.4.1.4-R01",),
    Opnum.CLOSE_QUERY_HANDLE: ("PCQ-3.1.4.1.8-R01",),
    Opnum.QUERY_COUNTER_INFO: ("PCQ-3.1.4.1.5-R01",),
    Opnum.QUERY_COUNTER_DATA: ("PCQ-3.1.4.1.6-R01",),
    Opnum.VALIDATE_COUNTERS: ("PCQ-3.1.4.1.7-R02",),
}
# Fewer bytes behind the last parameter are padding that was not counted.
MOST_PADDING = 7


@rule("PCQ201", Level.STUBS, Severity.ERROR, "request-stub-off-layout")
@of_requests(REQUEST_LAYOUTS, Reads(tuple(REQUEST_LAYOUTS), ("request",), damaged=True))
def request_stub_malformed(call: AskedEvidence) -> Iterator[Judgement]:
    """The stub of a request is not laid out as the IDL says.

    Looks for: requests of the eight methods that:

    - end before their last parameter,
    - contain counts that contradict each other,
    - go on for 8 bytes and more after the last parameter, or
    - have a referent before the name of the machine (a warning).

    Why it matters: parameters have no names on the wire, only places. A peer that reads by the IDL takes something else for each
    parameter that stands elsewhere, or refuses the call.

    Specification: the request half of the method in [MS-PCQ] sections 3.1.4.1.1 to 3.1.4.1.8 and section 6. C706 chapter 14
    says how it is marshalled. Top-level pointers without an attribute are references there and leave nothing on the wire.

    Flagged: QueryCounterData with 20 bytes, the handle without dwInSize; 12 bytes behind dwInSize.

    Accepted: up to 7 bytes behind the last parameter, with which some stacks pad sealed stubs.

    Silent: where the request is sealed or was not captured whole.
    """
    side = call.sent
    rest = left_over(side)
    if rest is None:
        message = "the stub of a request does not decode by the IDL"
        yield failed(call, problem_at(side), message, "the parameters of the IDL", side.side.problem)
    elif rest > MOST_PADDING:
        path = f"stub[{len(side.stub) - rest}:{len(side.stub)}]"
        yield failed(call, path, "the stub of a request goes on after its last parameter", "0 bytes", f"{rest} bytes")
    else:
        message = "the name of the machine is preceded by a referent, as if its pointer were a unique one"
        yield judge(not has_referent(side), call, "stub[0:4]", message, "max_count", "a referent", say=warned)


STATUS_LAST = "PCQ-2.2.3-R01"
RESPONSE_LAYOUTS = {
    Opnum.ENUMERATE_COUNTER_SET: "PCQ-3.1.4.1.1-R02",
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: "PCQ-3.1.4.1.2-R02",
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: "PCQ-3.1.4.1.3-R02",
    Opnum.OPEN_QUERY_HANDLE: "PCQ-3.1.4.1.4-R02",
    Opnum.CLOSE_QUERY_HANDLE: "PCQ-3.1.4.1.8-R02",
    Opnum.QUERY_COUNTER_INFO: "PCQ-3.1.4.1.5-R02",
    Opnum.QUERY_COUNTER_DATA: "PCQ-3.1.4.1.6-R02",
    Opnum.VALIDATE_COUNTERS: "PCQ-3.1.4.1.7-R03",
}


@rule("PCQ202", Level.STUBS, Severity.ERROR, "response-stub-off-layout")
@of_calls(
    {opnum: (STATUS_LAST, layout) for opnum, layout in RESPONSE_LAYOUTS.items()},
    Reads(tuple(RESPONSE_LAYOUTS), ("response",), damaged=True),
)
def response_stub_malformed(call: CallEvidence) -> Iterator[Judgement]:
    """The stub of an answer is not laid out as the IDL says, or does not end in a status.

    Looks for: answers of the eight methods that end before their return value, contain counts that contradict each other, or go on
    for 8 bytes and more after it.

    Why it matters: the return value stands last. A stub that is laid out otherwise has no return value, or one that is something
    else.

    Specification: the answer half of the method in [MS-PCQ] sections 3.1.4.1.1 to 3.1.4.1.8 and section 6. C706 chapter 14 says
    how it is marshalled. Section 2.2.3: every method returns error_status_t, an unsigned long.

    Flagged: OpenQueryHandle answered by 20 bytes, the handle without a return value.

    Accepted: up to 7 bytes behind the return value, with which some stacks pad sealed stubs.

    Silent: where the answer is sealed or was not captured whole, and where a fault was the answer.
    """
    side, layout = call.reply, RESPONSE_LAYOUTS[call.opnum or 0]
    rest, problem = left_over(side), call.reply.side.problem
    if rest is None and _is_about_counts(problem):
        return
    if rest is None:
        of = (layout, STATUS_LAST) if problem is not None and problem.kind == "truncated" else layout
        message = "the stub of an answer does not decode by the IDL"
        yield failed(call, problem_at(side), message, "the parameters of the IDL", problem, of=of)
    else:
        path = f"stub[{len(side.stub) - rest}:{len(side.stub)}]"
        message, seen = "the stub of an answer goes on after its return value", f"{rest} bytes"
        yield judge(rest <= MOST_PADDING, call, path, message, "0 bytes", seen, of=(layout, STATUS_LAST))


def _is_about_counts(problem: StubProblem | None) -> bool:
    """Whether what is wrong is a count of lpData, which stands where it should (and is judged by another rule)."""
    if problem is None or problem.kind != "malformed":
        return False
    return problem.field.rpartition(".")[2] in ("offset", "actual_count")


# max_count against dwInSize; offset and actual_count.
ANSWERED_COUNTS: dict[int, tuple[str, ...]] = {
    Opnum.ENUMERATE_COUNTER_SET: ("PCQ-3.1.4.1.1-R03", "PCQ-3.1.4.1.1-R04"),
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: ("PCQ-3.1.4.1.2-R03", "PCQ-3.1.4.1.2-R04"),
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: ("PCQ-3.1.4.1.3-R03", "PCQ-3.1.4.1.3-R04"),
    Opnum.QUERY_COUNTER_INFO: ("PCQ-3.1.4.1.5-R03", "PCQ-3.1.4.1.5-R04"),
    Opnum.QUERY_COUNTER_DATA: ("PCQ-3.1.4.1.6-R03", "PCQ-3.1.4.1.6-R04"),
}
BOTH_WAYS, LENGTH = "PCQ-3.1.4.1.7-R01", "PCQ-3.1.4.1.7-R09"
_NO_REQUEST = "the request stub does not decode"


@rule("PCQ204", Level.STUBS, Severity.ERROR)
@of_calls(
    {**ANSWERED_COUNTS, Opnum.VALIDATE_COUNTERS: (BOTH_WAYS,)},
    Reads((*ANSWERED_COUNTS, Opnum.VALIDATE_COUNTERS), ("request", "response"), damaged=True),
)
def array_counts_disagree(call: CallEvidence) -> Iterator[Judgement]:
    """The counts of lpData disagree with the parameters that they repeat.

    Looks for:

    - In answers with a buffer: a max_count that is not the dwInSize of the request; an offset that is not 0; an actual_count
      that is not pdwOutSize or is above max_count.
    - In requests and answers of ValidateCounters: a max_count that is not dwInSize.

    Why it matters: the client's runtime unmarshals into a buffer of dwInSize elements. Counts that promise more, or another place,
    are refused, or overrun it where nobody checks.

    Specification: [MS-PCQ] section 6: lpData is size_is(dwInSize) and, except for ValidateCounters, length_is(*pdwOutSize).
    C706 section 14.3.3.2 to 14.3.3.4 and 14.3.7 put these numbers before the elements as max_count, offset and actual_count.
    They hold whatever the return value.

    Flagged: dwInSize 4096, max_count 128; pdwOutSize 96, actual_count 48; offset 8.

    Accepted: max_count 4096 with actual_count 0 and pdwOutSize 0, in answers of ERROR_NOT_ENOUGH_MEMORY.

    Silent: where the request or the answer is sealed or was not captured whole.
    """
    size = call.asked.get("dwInSize")
    if size is None:
        yield inconclusive(_NO_REQUEST, call)
    elif call.opnum == Opnum.VALIDATE_COUNTERS:
        sent, answered = validated_count(call.sent), validated_count(call.reply)
        if answered is not None and (sent is None or sent.value == size):
            message = "max_count of lpData is not the dwInSize of the request"
            yield judge(answered.value == size, call, answered.path, message, size, answered.value)
    elif (counts := answer_counts(call.reply)) is not None:
        room, rest = ANSWERED_COUNTS[call.opnum or 0]
        most, message = counts.max_count, "max_count of lpData is not the size that the client offered"
        yield judge(most.value == size, call, most.path, message, size, most.value, of=room)
        yield _of_elements(call, rest, counts)


def _of_elements(call: CallEvidence, requirement: str, counts: ArrayCounts) -> Judgement:
    out_size = int.from_bytes(call.reply.stub[:4], "big" if call.reply.side.big_endian else "little")
    offset, actual, most = counts.offset, counts.actual_count, counts.max_count.value
    if offset.value:
        message = "lpData does not begin with its first element"
        return failed(call, offset.path, message, 0, offset.value, of=requirement)
    if actual.value != out_size:
        message = "actual_count of lpData is not pdwOutSize"
        return failed(call, actual.path, message, out_size, actual.value, of=requirement)
    message, expected = "actual_count of lpData is above max_count", f"at most {most}"
    return judge(actual.value <= most, call, actual.path, message, expected, actual.value, of=requirement)


@array_counts_disagree.also
@of_requests((BOTH_WAYS, LENGTH), Reads((Opnum.VALIDATE_COUNTERS,), ("request",), damaged=True))
def _asked_counts(call: AskedEvidence) -> Iterator[Judgement]:
    size, count = call.asked.get("dwInSize"), validated_count(call.sent)
    if size is None:
        yield inconclusive(_NO_REQUEST, call)
    elif count is not None and count.value != size:
        yield failed(call, count.path, "max_count of lpData is not dwInSize", size, count.value, of=(LENGTH, BOTH_WAYS))
    else:
        yield passed(LENGTH)
