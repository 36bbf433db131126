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

from analyzer.audit.evidence import CallEvidence
from analyzer.audit.rule import Level, Reads, Rule
from analyzer.audit.verdicts import At, Judgement, Severity, failed, inconclusive, passed
from analyzer.audit.wire import pdus_of
from analyzer.rpc.pdu import HEADER_LEN

REQUIREMENT = "PCQ-2.1-R08"
# What stands between the header of a request or response and its stub, at least.
_CALL_HEAD = 8


def check(call: CallEvidence) -> Iterator[Judgement]:
    context: int | None = None
    judged = 0
    sides = [side for side in (call.request, call.response) if side is not None]
    for side in sides:
        for pdu in pdus_of(side):
            trailer = pdu.trailer
            if trailer is None:
                continue
            context = trailer.context_id if context is None else context
            body = trailer.start - HEADER_LEN - _CALL_HEAD
            message = expected = seen = None
            if trailer.start % 4:
                message, expected, seen = (
                    "a security trailer is not aligned",
                    "a multiple of 4",
                    f"byte {trailer.start}",
                )
            elif trailer.pad_length > body:
                message, expected, seen = (
                    "a PDU claims more padding than it has",
                    f"at most {body}",
                    str(trailer.pad_length),
                )
            elif trailer.context_id != context:
                message, expected, seen = (
                    "the PDUs of a call are of different security contexts",
                    str(context),
                    str(trailer.context_id),
                )
            if message is not None:
                yield failed(REQUIREMENT, call, At(side.name, pdu.path), message, expected=expected, seen=seen)
                return
            judged += 1
    if judged:
        yield passed(REQUIREMENT)
    elif any(pdu.is_cut for side in sides for pdu in pdus_of(side)):
        yield inconclusive(REQUIREMENT, "the security trailers of the call were not captured", call)


RULE = Rule(
    code="PCQ105",
    name="security-trailer-inconsistent",
    level=Level.TRANSPORT,
    severity=Severity.ERROR,
    requirements=(REQUIREMENT,),
    reads=Reads(),
    check=check,
)
