"""A server answered a request that was not sealed.

Looks for: requests below authentication level 6, and what the server made of them; responses below it to requests at it.

Why it matters: the check of the level is what keeps performance data off the wire in clear text. The answer to such a request is
in clear as well. An answer of another error than ERROR_ACCESS_DENIED says that the server looked at the request all the same.

Specification: [MS-PCQ] section 2.1 lets a server carry out operations only under a service that encrypts everything. The table of
each method (sections 3.1.4.1.1 to 3.1.4.1.8) gives ERROR_ACCESS_DENIED (5) to a client whose level is less than PKT_PRIVACY. A
fault is a refusal too: a runtime may end the call, for that or another reason, before the method sees it.

Flagged: a request at level 5 that returns 0, or ERROR_NOT_ENOUGH_MEMORY with the size that is needed; a sealed request with a
response in clear.

Accepted: return value 5, or a fault, to a request at level 5; any answer to one at level 6. That the client asked at level 5 is
its own fault, and another rule's.

Silent: where the request or its answer was not captured.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Confidence, Judgement, Severity, failed, inconclusive, passed
from analyzer.questions.audit.wire import SealedPdu, pdus_of, returned
from analyzer.results.perflib import Opnum
from analyzer.results.security import AuthLevel
from analyzer.transport.rpc.pdu import Ptype

SERVED = "PCQ-2.1-R05"
CODE_OF_METHOD = {
    Opnum.ENUMERATE_COUNTER_SET: "PCQ-3.1.4.1.1-R08",
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: "PCQ-3.1.4.1.2-R08",
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: "PCQ-3.1.4.1.3-R08",
    Opnum.OPEN_QUERY_HANDLE: "PCQ-3.1.4.1.4-R04",
    Opnum.CLOSE_QUERY_HANDLE: "PCQ-3.1.4.1.8-R05",
    Opnum.QUERY_COUNTER_INFO: "PCQ-3.1.4.1.5-R09",
    Opnum.QUERY_COUNTER_DATA: "PCQ-3.1.4.1.6-R09",
    Opnum.VALIDATE_COUNTERS: "PCQ-3.1.4.1.7-R06",
}
ACCESS_DENIED = 5
# What runtimes refuse a level with: nca_s_fault_access_denied, nca_s_unsupported_authn_level, RPC_S_UNSUPPORTED_AUTHN_LEVEL,
# RPC_S_UNKNOWN_AUTHN_LEVEL ([MS-RPCE] section 2.2.2.8, C706 appendix E).
_REFUSALS = (ACCESS_DENIED, 0x1C00001D, 1821, 1748)

RULE = Rule("PCQ102", "served-below-privacy", Level.TRANSPORT, Severity.ERROR)


@RULE.calls(
    (SERVED, *CODE_OF_METHOD.values()),
    Reads(tuple(Opnum)),
    by_method={opnum: (SERVED, requirement) for opnum, requirement in CODE_OF_METHOD.items()},
)
def check(call: CallEvidence) -> Iterator[Judgement]:
    if call.request is None:
        return
    level = _lowest_level(call)
    method = CODE_OF_METHOD[Opnum(call.opnum or 0)]
    if level is None:
        yield inconclusive(SERVED, "the security trailer of the request was not captured", call)
        return
    if level >= AuthLevel.PRIVACY:
        bare = _unsealed_answer(call)
        if bare is not None:
            yield failed(
                SERVED,
                call,
                At("response", bare.path),
                "the server answered a sealed request by a response that was not sealed",
                expected="auth_level 6 (PRIVACY)",
                seen="no security trailer" if bare.trailer is None else f"auth_level {bare.trailer.level}",
                confidence=Confidence.MEDIUM,
            )
        return
    fault, status = call.fault, call.status
    if fault is not None:
        yield passed(SERVED)
        if fault in _REFUSALS:
            yield passed(method)
    elif status is None:
        for requirement in (SERVED, method):
            yield inconclusive(
                requirement, "what the server answered to a request that was not sealed is not known", call
            )
    elif status == ACCESS_DENIED:
        yield passed(SERVED)
        yield passed(method)
    else:
        yield failed(
            SERVED,
            call,
            At("response", "status"),
            "the server did not refuse a request that was not sealed",
            expected="ERROR_ACCESS_DENIED (5), or a fault",
            seen=returned(call),
            confidence=Confidence.HIGH if status == 0 else Confidence.MEDIUM,
            also=(method,),
        )


def _unsealed_answer(call: CallEvidence) -> SealedPdu | None:
    """The first PDU of a response (a fault has nothing to hide) that was captured whole and is not sealed."""
    for pdu in pdus_of(call.response) if call.response is not None else ():
        is_open = pdu.trailer is None or pdu.trailer.level < AuthLevel.PRIVACY
        if pdu.header.ptype == Ptype.RESPONSE and not pdu.is_cut and is_open:
            return pdu
    return None


def _lowest_level(call: CallEvidence) -> int | None:
    """The lowest level of the request's PDUs, NONE where one has no trailer; None where no trailer was captured whole."""
    assert call.request is not None
    levels = [
        AuthLevel.NONE if pdu.trailer is None else pdu.trailer.level
        for pdu in pdus_of(call.request)
        if not (pdu.is_cut and pdu.header.auth_length)
    ]
    return min(levels, default=None)
