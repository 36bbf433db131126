"""A server answered a client that did not let it act in the client's name.

Looks for: successful calls of clients whose NTLM logon was anonymous or allowed identification only; where RPC does not
authenticate, of clients that opened the pipe at SMB's levels Anonymous or Identification.

Why it matters: who may read performance data is decided by impersonating the caller. A server that answers without being able to
has decided by its own rights.

Specification: [MS-PCQ] section 2.1: the server carries operations out only if the authentication service lets it act on the
client's behalf; behaviour note <1>: Windows impersonates, and wants RPC_C_IMP_LEVEL_IMPERSONATE at least. The flag of NTLM:
[MS-NLMP] section 2.2.2.5 (IDENTIFY); the level of the pipe: [MS-SMB2] section 2.2.13 (2 is impersonation, 3 delegation).

Flagged: a null session that lists countersets, or learns by ERROR_NOT_ENOUGH_MEMORY (8) how large the list is; data over a pipe
that was opened at level 1.

Accepted: any refusal of such a client; NTLM without IDENTIFY.

Silent: what a Kerberos client allows is inside its sealed authenticator; handshakes that were not captured.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, inconclusive, passed
from analyzer.results.security import AuthLevel

REQUIREMENT = "PCQ-2.1-R06"
_SMB_LEVELS = {0: "nothing", 1: "identification", 2: "impersonation", 3: "delegation"}
_NOT_ENOUGH_MEMORY = 8
_ENOUGH = ("impersonation", "delegation")

RULE = Rule("PCQ106", "served-without-impersonation", Level.TRANSPORT, Severity.ERROR)


@RULE.calls((REQUIREMENT,), Reads())
def check(call: CallEvidence) -> Iterator[Judgement]:
    allowed: str | None
    if call.decoded.security.level > AuthLevel.CONNECT:
        allowed = call.decoded.security.identity.allows if call.decoded.security.identity is not None else None
        unknown = "what the client lets the server do in its name is not in the capture, or sealed in its Kerberos authenticator"
    else:
        allowed = _SMB_LEVELS.get(-1 if call.decoded.impersonation is None else call.decoded.impersonation)
        unknown = "the level at which the client opened the pipe was not captured"
    if call.fault is not None or (call.status and not _states_the_size(call)):
        if allowed is not None and allowed not in _ENOUGH:
            yield passed(REQUIREMENT)
    elif call.status is None:
        return
    elif allowed is None:
        yield inconclusive(REQUIREMENT, unknown, call)
    elif allowed in _ENOUGH:
        yield passed(REQUIREMENT)
    else:
        yield failed(
            REQUIREMENT,
            call,
            At("response", "pdwRtnSize" if call.status else "status"),
            "the server answered a client that does not let it act in its name",
            expected="impersonation",
            seen=allowed,
        )


def _states_the_size(call: CallEvidence) -> bool:
    """Whether an answer refuses no more than the client's buffer, and states how large the data are."""
    return call.status == _NOT_ENOUGH_MEMORY and bool(call.answered.get("pdwRtnSize"))
