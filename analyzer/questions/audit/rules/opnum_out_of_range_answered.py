"""A call of a method that the interface does not have was answered.

Looks for: PerflibV2 calls with an opnum above 7, and what the server made of them.

Why it matters: the interface ends at opnum 7. A server that answers more speaks another protocol, and clients that rely on it
find no other server.

Specification: [MS-PCQ] section 3.1.4.1 lists the methods, opnums 0 to 7, in the order of the IDL in section 6. C706 appendix E: a
call beyond them ends in a fault, nca_s_op_rng_error (0x1C010002).

Flagged: opnum 8 with a response; opnum 8 with a fault for another reason (a warning).

Accepted: opnum 9 with fault 0x1C010002, or RPC_S_PROCNUM_OUT_OF_RANGE; an access fault to a request that was not sealed.

Silent: where the answer was not captured.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import Actor, At, Judgement, Severity, failed, inconclusive, passed, warned
from analyzer.results.perflib import Opnum
from analyzer.transport.rpc.status import fault_name

REQUIREMENT = "PCQ-3.1.4.1-R01"
# nca_s_op_rng_error, RPC_S_PROCNUM_OUT_OF_RANGE; and a refusal that comes before the method is looked for.
_OUT_OF_RANGE = (0x1C010002, 1745, 5)

RULE = Rule("PCQ120", "opnum-out-of-range-answered", Level.RPC, Severity.ERROR)


@RULE.calls((REQUIREMENT,), Reads())
def check(call: CallEvidence) -> Iterator[Judgement]:
    if call.decoded.opnum in tuple(Opnum):
        return
    expected, seen = "fault nca_s_op_rng_error (0x1c010002)", f"opnum {call.decoded.opnum}"
    if call.fault in _OUT_OF_RANGE:
        yield passed(REQUIREMENT)
    elif call.fault is not None:
        message = "a method that does not exist was refused for another reason"
        seen = f"{seen}, fault {fault_name(call.fault) or ''} ({call.fault:#x})"
        yield warned(REQUIREMENT, call, At("response", "pdu"), message, expected=expected, seen=seen)
    elif call.decoded.response is None:
        yield inconclusive(REQUIREMENT, "what came of a call with an opnum above 7 was not captured", call)
    else:
        message = "the server answered a method that does not exist"
        at = At("request", "pdu.22:24")
        yield failed(REQUIREMENT, call, at, message, expected=expected, seen=seen, actor=Actor.SERVER)
