"""A query handle is not the 20 bytes of a context handle.

Looks for: handles with attributes other than zero, in requests and answers; handles that are preceded by a referent, which shows
by the bytes that are too many and by attributes that are none.

Why it matters: the runtime of the server finds its state by these 20 bytes. A handle that is shifted by a referent is no handle.

Specification: [MS-PCQ] sections 2.2.1 and 2.2.2: RPC_HQUERY is a context handle, PRPC_HQUERY a pointer to one. C706 appendix N,
[MS-RPCE] section 2.2.5.3.4: attributes (zero) and a UUID, aligned on 4. A top-level pointer is a reference and leaves nothing on
the wire.

Flagged: attributes 1; 28 bytes for dwInSize and a handle, which begin with 0x00020000.

Accepted: attributes 0 with any UUID, and 20 zero bytes for no handle.

Silent: where the stub is sealed, was not captured, or does not decode.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import AskedEvidence, CallEvidence, SideEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, OfCall, Severity, failed, passed
from analyzer.questions.audit.wire import HANDLING, left_over
from analyzer.results.perflib import Opnum

SHAPE, REFERENCE = "PCQ-2.2.1-R01", "PCQ-2.2.2-R01"
_REFERENTS = (4, 8)

RULE = Rule("PCQ203", "query-handle-misshapen", Level.STUBS, Severity.ERROR)


@RULE.requests((SHAPE, REFERENCE), Reads(HANDLING, ("request",)))
def asked(call: AskedEvidence) -> Iterator[Judgement]:
    yield from _handle_of(call, call.request)


@RULE.calls((SHAPE, REFERENCE), Reads((Opnum.OPEN_QUERY_HANDLE, *HANDLING)))
def check(call: CallEvidence) -> Iterator[Judgement]:
    yield from _handle_of(call, call.response)


def _handle_of(call: OfCall, side: SideEvidence | None) -> Iterator[Judgement]:
    if side is None or not side.is_readable:
        return
    for name in ("phQuery", "hQuery"):
        handle = side.params.get(name)
        if isinstance(handle, dict):
            yield from _judged(call, side, name, handle["attributes"])


def _judged(call: OfCall, side: SideEvidence, name: str, attributes: int) -> Iterator[Judgement]:
    rest = left_over(side)
    if attributes and rest in _REFERENTS:
        message = "a query handle is preceded by a referent"
        at = At(side.name, f"stub[0:{rest}]")
        yield failed(
            REFERENCE,
            call,
            at,
            message,
            expected="the handle",
            seen=f"{attributes:#x}",
            displaces=side.name == "request",
        )
        return
    yield passed(REFERENCE)
    if attributes:
        message = "the attributes of a query handle are not zero"
        yield failed(SHAPE, call, At(side.name, f"{name}.attributes"), message, expected="0", seen=f"{attributes:#x}")
    else:
        yield passed(SHAPE)
