"""A client authenticated by another service than SPNEGO or NTLM, or not at all.

Looks for: requests of PerflibV2 whose security trailer names another provider than RPC_C_AUTHN_GSS_NEGOTIATE (9) or
RPC_C_AUTHN_WINNT (10), and requests without a security trailer on associations that were not authenticated when they began.

Why it matters: both sides have to know the service. A server that registered only the two that the text names cannot be called by
a client that insists on another; one that authenticates nobody gives its data to anybody who reaches the pipe.

Specification: [MS-PCQ] section 2.1: the client specifies SPNEGO or NTLM as authentication service; numbers in [MS-RPCE] section
2.2.1.1.7. Kerberos chosen by SPNEGO is within it, Kerberos named directly (16) is not; it does protect the data as well, so the
text's purpose is met.

Flagged: a request without trailer; `auth_type` 16 (Kerberos), which is lenient profiles' to pass.

Accepted: `auth_type` 9 with a Kerberos ticket inside; `auth_type` 10; an NTLM bind at level CONNECT, whose requests have no
trailers (their level is another rule's).

Silent: where the request was not captured, or ends before its trailer.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.core.labels import label
from analyzer.questions.audit.evidence import AskedEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Deviation, Judgement, Severity, failed, inconclusive, passed
from analyzer.questions.audit.wire import pdus_of
from analyzer.results.security import AuthLevel, AuthType

REQUIREMENT = "PCQ-2.1-R03"
_ALLOWED = (AuthType.GSS_NEGOTIATE, AuthType.WINNT)
_KERBEROS = Deviation(
    "[MS-RPCE] section 2.2.1.1.7",
    "Windows runtimes offer Kerberos as a service of its own, with the same protection that SPNEGO would have chosen it for",
)

RULE = Rule("PCQ103", "authentication-service-not-allowed", Level.TRANSPORT, Severity.ERROR)


@RULE.requests((REQUIREMENT,), Reads())
def check(call: AskedEvidence) -> Iterator[Judgement]:
    if call.request is None:
        return
    for pdu in pdus_of(call.request):
        if pdu.is_cut and pdu.header.auth_length:
            continue
        kind = pdu.trailer.auth_type if pdu.trailer is not None else _of_the_bind(call)
        if kind in _ALLOWED:
            yield passed(REQUIREMENT)
        else:
            yield failed(
                REQUIREMENT,
                call,
                At("request", pdu.path),
                "the client authenticated by a service that is neither SPNEGO nor NTLM"
                if kind
                else "the client did not authenticate its request",
                expected="auth_type 9 (SPNEGO) or 10 (NTLM)",
                seen=f"auth_type {kind} ({label(AuthType, kind)})" if kind is not None else "no security trailer",
                deviation=_KERBEROS if kind == AuthType.GSS_KERBEROS else None,
            )
        return
    yield inconclusive(REQUIREMENT, "the security trailer of the request was not captured", call)


def _of_the_bind(call: AskedEvidence) -> int | None:
    """The service that a request without trailer was authenticated by, at level CONNECT, when its association began."""
    auth = call.security
    return auth.auth_type if auth.level == AuthLevel.CONNECT else None
