"""Rules about what protects calls: authentication services, levels, security trailers, impersonation and rights."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.call_evidence import AskedEvidence, CallEvidence, SideEvidence
from analyzer.questions.audit.rule_registry import Level, Reads, of_calls, of_requests, rule
from analyzer.questions.audit.rule_verdicts import (
    Confidence,
    Deviation,
    Judgement,
    OfCall,
    Severity,
    failed,
    inconclusive,
    judge,
    passed,
    warned,
)
from analyzer.questions.audit.stub_and_pdu_fields import ACCESS_DENIED, SealedPdu, pdus_of, returned, whole_pdus_of
from analyzer.results.methods.perflib import ERROR_NOT_ENOUGH_MEMORY, Opnum
from analyzer.results.security import AuthLevel, AuthType
from analyzer.transport.rpc.pdu import HEADER_LEN, Ptype, SecTrailer

NOT_CAPTURED = "the security trailer of the request was not captured"


@rule("PCQ101", Level.TRANSPORT, Severity.ERROR)
@of_requests(("PCQ-2.1-R04", "PCQ-5.1-R01"), Reads())
def request_below_privacy(call: AskedEvidence) -> Iterator[Judgement]:
    """A client sent a request that its authentication level leaves readable for everybody.

    Looks for: requests of PerflibV2 whose security trailer names a level below RPC_C_AUTHN_LEVEL_PKT_PRIVACY (6), or that have no
    security trailer. Every fragment counts.

    Why it matters: performance data shows what runs on a machine and how busy it is, and a request that is not sealed can be read
    and, below level 5, changed on its way. A server that keeps to the letter refuses it. Encryption by SMB3 does not make up for
    it: the text speaks of the authentication service of RPC.

    Specification: [MS-PCQ] section 2.1 demands a service that encrypts all data and proves its origin and integrity; section 5.1
    names the level PKT_PRIVACY. Numbers of the levels: [MS-RPCE] section 2.2.1.1.8.

    Flagged: a request whose trailer has `auth_level` 5; a request without trailer.

    Accepted: `auth_level` 6, with or without a key that opens it.

    Silent: where the request was not captured, or ends before its trailer.
    """
    pdus = whole_pdus_of(call.sent)
    for pdu in pdus:
        if pdu.trailer is None or pdu.trailer.level < AuthLevel.PRIVACY:
            message = "the client sent a request that was not sealed"
            yield failed(call, pdu.path, message, "auth_level 6 (PRIVACY)", _level_in_words(call, pdu.trailer))
            return
    yield passed() if pdus else inconclusive(NOT_CAPTURED, call)


def _level_in_words(call: AskedEvidence, trailer: SecTrailer | None) -> str:
    # At CONNECT only the bind has a trailer.
    if trailer is None and call.security.level != AuthLevel.CONNECT:
        return "no security trailer"
    level = trailer.level if trailer is not None else AuthLevel.CONNECT
    return f"auth_level {level} ({AuthLevel.label(level)})"


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
# What runtimes refuse a level with: nca_s_fault_access_denied, nca_s_unsupported_authn_level, RPC_S_UNSUPPORTED_AUTHN_LEVEL,
# RPC_S_UNKNOWN_AUTHN_LEVEL ([MS-RPCE] section 2.2.2.8, C706 appendix E).
_REFUSALS = (ACCESS_DENIED, 0x1C00001D, 1821, 1748)


@rule("PCQ102", Level.TRANSPORT, Severity.ERROR)
@of_calls({opnum: (SERVED, code) for opnum, code in CODE_OF_METHOD.items()}, Reads(tuple(Opnum)))
def served_below_privacy(call: CallEvidence) -> Iterator[Judgement]:
    """A server answered a request that was not sealed.

    Looks for: requests below authentication level 6, and what the server made of them; responses below it to requests at it.

    Why it matters: the check of the level is what keeps performance data off the wire in clear text. The answer to such a request
    is in clear as well. An answer of another error than ERROR_ACCESS_DENIED says that the server looked at the request all the
    same.

    Specification: [MS-PCQ] section 2.1 lets a server carry out operations only under a service that encrypts everything. The table
    of each method (sections 3.1.4.1.1 to 3.1.4.1.8) gives ERROR_ACCESS_DENIED (5) to a client whose level is less than PKT_PRIVACY.
    A fault is a refusal too: a runtime may end the call, for that or another reason, before the method sees it.

    Flagged: a request at level 5 that returns 0, or ERROR_NOT_ENOUGH_MEMORY with the size that is needed; a sealed request with a
    response in clear.

    Accepted: return value 5, or a fault, to a request at level 5; any answer to one at level 6. That the client asked at level 5 is
    its own fault, and another rule's.

    Silent: where the request or its answer was not captured.
    """
    if call.request is None:
        return
    # The lowest level of the request's PDUs, NONE where one has no trailer.
    levels = [AuthLevel.NONE if pdu.trailer is None else pdu.trailer.level for pdu in whole_pdus_of(call.request)]
    fault, status = call.fault, call.status
    if not levels:
        yield inconclusive(NOT_CAPTURED, call, SERVED)
    elif min(levels) >= AuthLevel.PRIVACY:
        if (bare := _unsealed_answer(call)) is not None:
            message = "the server answered a sealed request by a response that was not sealed"
            seen = "no security trailer" if bare.trailer is None else f"auth_level {bare.trailer.level}"
            expected, confidence = "auth_level 6 (PRIVACY)", Confidence.MEDIUM
            yield failed(call, bare.path, message, expected, seen, of=SERVED, confidence=confidence)
    elif fault is not None and fault not in _REFUSALS:
        yield passed(SERVED)
    elif fault is not None or status == ACCESS_DENIED:
        yield passed()
    elif status is None:
        yield inconclusive("what the server answered to a request that was not sealed is not known", call)
    else:
        message = "the server did not refuse a request that was not sealed"
        expected = "ERROR_ACCESS_DENIED (5), or a fault"
        confidence = Confidence.HIGH if status == 0 else Confidence.MEDIUM
        yield failed(call, "status", message, expected, returned(call), confidence=confidence)


def _unsealed_answer(call: CallEvidence) -> SealedPdu | None:
    """The first PDU of a response (a fault has nothing to hide) that was captured whole and is not sealed."""
    for pdu in pdus_of(call.response) if call.response is not None else ():
        is_open = pdu.trailer is None or pdu.trailer.level < AuthLevel.PRIVACY
        if pdu.header.ptype == Ptype.RESPONSE and not pdu.is_cut and is_open:
            return pdu
    return None


_KERBEROS = Deviation(
    "[MS-RPCE] section 2.2.1.1.7",
    "Windows runtimes offer Kerberos as a service of its own, with the same protection that SPNEGO would have chosen it for",
)


@rule("PCQ103", Level.TRANSPORT, Severity.ERROR)
@of_requests("PCQ-2.1-R03", Reads())
def authentication_service_not_allowed(call: AskedEvidence) -> Iterator[Judgement]:
    """A client authenticated by another service than SPNEGO or NTLM, or not at all.

    Looks for:

    - Requests of PerflibV2 whose security trailer names another provider than RPC_C_AUTHN_GSS_NEGOTIATE (9) or
      RPC_C_AUTHN_WINNT (10).
    - Requests without a security trailer on associations that were not authenticated when they began.

    Why it matters: both sides have to know the service. A server that registered only the two that the text names cannot be called
    by a client that insists on another; one that authenticates nobody gives its data to anybody who reaches the pipe.

    Specification: [MS-PCQ] section 2.1: the client specifies SPNEGO or NTLM as authentication service; numbers in [MS-RPCE] section
    2.2.1.1.7. Kerberos chosen by SPNEGO is within it, Kerberos named directly (16) is not; it does protect the data as well, so the
    text's purpose is met.

    Flagged: a request without trailer; `auth_type` 16 (Kerberos), which is lenient profiles' to pass.

    Accepted: `auth_type` 9 with a Kerberos ticket inside; `auth_type` 10; an NTLM bind at level CONNECT, whose requests have no
    trailers (their level is another rule's).

    Silent: where the request was not captured, or ends before its trailer.
    """
    pdu = next(iter(whole_pdus_of(call.sent)), None)
    if pdu is None:
        yield inconclusive(NOT_CAPTURED, call)
        return
    # At level CONNECT, a request without trailer was authenticated when its association began.
    by_bind = call.security.auth_type if call.security.level == AuthLevel.CONNECT else None
    kind = pdu.trailer.auth_type if pdu.trailer is not None else by_bind
    message = "the client did not authenticate its request"
    if kind:
        message = "the client authenticated by a service that is neither SPNEGO nor NTLM"
    expected = "auth_type 9 (SPNEGO) or 10 (NTLM)"
    seen = f"auth_type {kind} ({AuthType.label(kind)})" if kind is not None else "no security trailer"
    known = _KERBEROS if kind == AuthType.GSS_KERBEROS else None
    is_allowed = kind in (AuthType.GSS_NEGOTIATE, AuthType.WINNT)
    yield judge(is_allowed, call, pdu.path, message, expected, seen, deviation=known)


# What stands between the header of a request or response and its stub, at least.
_CALL_HEAD = 8


@rule("PCQ105", Level.TRANSPORT, Severity.ERROR)
@of_requests("PCQ-2.1-R08", Reads())
def security_trailer_inconsistent(call: AskedEvidence) -> Iterator[Judgement]:
    """A security trailer stands where it must not, counts more padding than there is, or belongs to another security context.

    Looks for: PDUs of PerflibV2 calls with one of these flaws:

    - The security trailer does not begin on a multiple of 4 bytes.
    - auth_pad_length exceeds the stub before the trailer.
    - auth_context_id is not that of the other PDUs of the same call.

    Why it matters: receivers find the end of the stub by these numbers. A wrong padding count cuts data off or appends noise to it.

    Specification: [MS-PCQ] section 2.1 takes its security information from [MS-RPCE]. There, section 2.2.2.11 aligns the
    trailer on 4 bytes from the beginning of the PDU, and auth_pad_length counts the bytes that do so. All PDUs of a call name
    one security context.

    Flagged: a trailer at byte 61; 40 bytes of padding after a stub of 24; a request under context 79231 whose answer is under
    79232.

    Accepted: 16-byte padding, which is more than needed; any number as auth_context_id.

    Silent: where a PDU was not captured whole, or has no trailer.
    """
    yield from _judge_trailers(call, call.sent, None)


@security_trailer_inconsistent.also
@of_calls("PCQ-2.1-R08", Reads())
def _answered_trailers(call: CallEvidence) -> Iterator[Judgement]:
    if call.response is not None:
        sent = [pdu.trailer for pdu in pdus_of(call.request) if pdu.trailer is not None] if call.request else []
        yield from _judge_trailers(call, call.response, sent[0].context_id if sent else None)


def _judge_trailers(call: OfCall, side: SideEvidence, context: int | None) -> Iterator[Judgement]:
    """The verdict on the security trailers of one side, all of one security context: that of the request, where it has one."""
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
            yield failed(call, pdu.path, *wrong)
            return
        judged += 1
    if judged:
        yield passed()
    elif any(pdu.is_cut for pdu in pdus_of(side)):
        yield inconclusive(f"the security trailers of the {side.name} were not captured", call)


_SMB_LEVELS = {0: "nothing", 1: "identification", 2: "impersonation", 3: "delegation"}
_ENOUGH = ("impersonation", "delegation")


@rule("PCQ106", Level.TRANSPORT, Severity.ERROR)
@of_calls("PCQ-2.1-R06", Reads())
def served_without_impersonation(call: CallEvidence) -> Iterator[Judgement]:
    """A server answered a client that did not let it act in the client's name.

    Looks for:

    - Successful calls of clients whose NTLM logon was anonymous or allowed identification only.
    - Where RPC does not authenticate, successful calls of clients that opened the pipe at SMB's levels Anonymous or
      Identification.

    Why it matters: who may read performance data is decided by impersonating the caller. A server that answers without being able
    to has decided by its own rights.

    Specification: [MS-PCQ] section 2.1: the server carries operations out only if the authentication service lets it act on the
    client's behalf. Behaviour note <1>: Windows impersonates, and wants RPC_C_IMP_LEVEL_IMPERSONATE at least. The flag of NTLM
    is in [MS-NLMP] section 2.2.2.5 (IDENTIFY), the level of the pipe in [MS-SMB2] section 2.2.13 (2 is impersonation, 3
    delegation).

    Flagged: a null session that lists countersets, or learns by ERROR_NOT_ENOUGH_MEMORY (8) how large the list is; data over a pipe
    that was opened at level 1.

    Accepted: any refusal of such a client; NTLM without IDENTIFY.

    Silent: what a Kerberos client allows is inside its sealed authenticator; handshakes that were not captured.
    """
    security = call.context.security
    allowed: str | None
    if security.level not in (AuthLevel.NONE, AuthLevel.CONNECT):
        allowed = security.identity.allows if security.identity is not None else None
        unknown = "what the client lets the server do in its name is not in the capture, or sealed in its Kerberos authenticator"
    else:
        allowed = _SMB_LEVELS.get(-1 if call.context.impersonation is None else call.context.impersonation)
        unknown = "the level at which the client opened the pipe was not captured"
    # An answer may refuse no more than the client's buffer, and state how large the data are.
    states_the_size = call.status == ERROR_NOT_ENOUGH_MEMORY and bool(call.answered.get("pdwRtnSize"))
    if call.fault is not None or (call.status and not states_the_size):
        if allowed is not None and allowed not in _ENOUGH:
            yield passed()
    elif call.status is not None and allowed is None:
        yield inconclusive(unknown, call)
    elif call.status is not None:
        message = "the server answered a client that does not let it act in its name"
        path = "pdwRtnSize" if call.status else "status"
        yield judge(allowed in _ENOUGH, call, path, message, "impersonation", allowed)


RIGHTS, MEMBERS = "PCQ-1.5-R02", "PCQ-2.1-R07"


@rule("PCQ130", Level.RPC, Severity.INFO)
@of_calls((RIGHTS, MEMBERS), Reads(), needs_answer="the server knows the rights of the caller")
def caller_refused(call: CallEvidence) -> Iterator[Judgement]:
    """A server refused a caller whose requests were sealed: it has not the rights.

    Looks for: ERROR_ACCESS_DENIED (5), as return value or fault, to requests at authentication level 6.

    Why it matters: nothing is wrong with the protocol. The account is not one of those that may read performance data, and what it
    asked for will not be in the capture.

    Specification: [MS-PCQ] section 1.5 takes it for granted that the caller may read performance data. Behaviour note <1> in
    section 2.1 names who may on Windows: administrators and the groups Performance Log Users and Performance Monitor Users. Who is
    a member cannot be seen, so a refusal is never a failure of the server.

    Flagged: return value 5 to a sealed request (a warning, for information).

    Accepted: any other return value.

    Silent: at lower levels, where 5 has another meaning; where the answer was not captured.
    """
    answer = call.fault if call.fault is not None else call.status
    if answer is None or call.context.security.level < AuthLevel.PRIVACY:
        return
    if answer == ACCESS_DENIED:
        yield passed(MEMBERS)
    path = "pdu" if call.fault is not None else "status"
    message = "the server refused the caller, who seems to have no right to performance data"
    seen = "ERROR_ACCESS_DENIED (5)"
    yield judge(answer != ACCESS_DENIED, call, path, message, "an answer", seen, of=RIGHTS, say=warned)
