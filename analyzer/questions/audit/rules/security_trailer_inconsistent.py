"""A security trailer stands where it must not, counts more padding than there is, or belongs to another security context.

Looks for: in the PDUs of PerflibV2 calls, a security trailer that does not begin on a multiple of 4 bytes, whose auth_pad_length
exceeds the stub before it, or whose auth_context_id is not that of the other PDUs of the same call.

Why it matters: receivers find the end of the stub by these numbers. A wrong padding count cuts data off or appends noise to it.

Specification: [MS-PCQ] section 2.1 takes its security information from [MS-RPCE]; section 2.2.2.11 there aligns the trailer on 4
bytes from the beginning of the PDU and has auth_pad_length count the bytes that do so. All PDUs of a call name one security
context.

Flagged: a trailer at byte 61; 40 bytes of padding after a stub of 24; a request under context 79231 whose answer is under 79232.

Accepted: 16-byte padding, which is more than needed; any number as auth_context_id.

Silent: where a PDU was not captured whole, or has no trailer.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import AskedEvidence, CallEvidence, SideEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, OfCall, Severity, failed, inconclusive, passed
from analyzer.questions.audit.wire import pdus_of
from analyzer.transport.rpc.pdu import HEADER_LEN

REQUIREMENT = "PCQ-2.1-R08"
# What stands between the header of a request or response and its stub, at least.
_CALL_HEAD = 8

RULE = Rule("PCQ105", "security-trailer-inconsistent", Level.TRANSPORT, Severity.ERROR)


@RULE.requests((REQUIREMENT,), Reads())
def asked(call: AskedEvidence) -> Iterator[Judgement]:
    if call.request is not None:
        yield from _judged(call, call.request, None)


@RULE.calls((REQUIREMENT,), Reads())
def check(call: CallEvidence) -> Iterator[Judgement]:
    if call.response is not None:
        sent = [pdu.trailer for pdu in pdus_of(call.request) if pdu.trailer is not None] if call.request else []
        yield from _judged(call, call.response, sent[0].context_id if sent else None)


def _judged(call: OfCall, side: SideEvidence, context: int | None) -> Iterator[Judgement]:
    """The trailers of one side, all of one security context: that of the request, where it has one."""
    judged = 0
    for pdu in pdus_of(side):
        trailer = pdu.trailer
        if trailer is None:
            continue
        context = trailer.context_id if context is None else context
        body = trailer.start - HEADER_LEN - _CALL_HEAD
        wrong = None
        if trailer.start % 4:
            wrong = "a security trailer is not aligned", "a multiple of 4", f"byte {trailer.start}"
        elif trailer.pad_length > body:
            wrong = "a PDU claims more padding than it has", f"at most {body}", f"{trailer.pad_length}"
        elif trailer.context_id != context:
            wrong = "the PDUs of a call are of different security contexts", f"{context}", f"{trailer.context_id}"
        if wrong is not None:
            message, expected, seen = wrong
            yield failed(REQUIREMENT, call, At(side.name, pdu.path), message, expected=expected, seen=seen)
            return
        judged += 1
    if judged:
        yield passed(REQUIREMENT)
    elif any(pdu.is_cut for pdu in pdus_of(side)):
        yield inconclusive(REQUIREMENT, f"the security trailers of the {side.name} were not captured", call)
