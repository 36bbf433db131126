"""A client sent a request that its authentication level leaves readable for everybody.

Looks for: requests of PerflibV2 whose security trailer names a level below RPC_C_AUTHN_LEVEL_PKT_PRIVACY (6), or that have no
security trailer. Every fragment counts.

Why it matters: performance data shows what runs on a machine and how busy it is, and a request that is not sealed can be read
and, below level 5, changed on its way. A server that keeps to the letter refuses it. Encryption by SMB3 does not make up for it:
the text speaks of the authentication service of RPC.

Specification: [MS-PCQ] section 2.1 demands a service that encrypts all data and proves its origin and integrity; section 5.1
names the level PKT_PRIVACY. Numbers of the levels: [MS-RPCE] section 2.2.1.1.8.

Flagged: a request whose trailer has `auth_level` 5; a request without trailer.

Accepted: `auth_level` 6, whether or not a key opens it.

Silent: where the request was not captured, or ends before its trailer.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.core.labels import label
from analyzer.questions.audit.evidence import AskedEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, inconclusive, passed
from analyzer.questions.audit.wire import pdus_of
from analyzer.results.security import AuthLevel
from analyzer.transport.rpc.pdu import SecTrailer

SEALED, LEVEL = "PCQ-2.1-R04", "PCQ-5.1-R01"

RULE = Rule("PCQ101", "request-below-privacy", Level.TRANSPORT, Severity.ERROR)


@RULE.requests((SEALED, LEVEL), Reads())
def check(call: AskedEvidence) -> Iterator[Judgement]:
    if call.request is None:
        return
    is_seen = False
    for pdu in pdus_of(call.request):
        if pdu.is_cut and pdu.header.auth_length:
            continue
        is_seen = True
        if pdu.trailer is None or pdu.trailer.level < AuthLevel.PRIVACY:
            yield failed(
                SEALED,
                call,
                At("request", pdu.path),
                "the client sent a request that was not sealed",
                expected="auth_level 6 (PRIVACY)",
                seen=_seen(call, pdu.trailer),
                also=(LEVEL,),
            )
            return
    if is_seen:
        yield passed(SEALED)
        yield passed(LEVEL)
    else:
        for requirement in (SEALED, LEVEL):
            yield inconclusive(requirement, "the security trailer of the request was not captured", call)


def _seen(call: AskedEvidence, trailer: SecTrailer | None) -> str:
    # At CONNECT only the bind has a trailer.
    if trailer is None and call.security.level != AuthLevel.CONNECT:
        return "no security trailer"
    level = trailer.level if trailer is not None else AuthLevel.CONNECT
    return f"auth_level {level} ({label(AuthLevel, level)})"
