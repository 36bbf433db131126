"""PerflibV2 was bound with another transfer syntax than NDR.

Looks for: binds of the interface that a server accepted with NDR64 or another syntax, and offers of such.

Why it matters: under NDR64 counts have 8 bytes and other alignments. Implementations by the letter know NDR only, and whoever
decodes their traffic as NDR reads noise.

Specification: [MS-PCQ] section 2.2: the protocol informs the RPC runtime that it supports the NDR transfer syntax only (C706 part
IV). What a generic runtime offers on its own account is no more than an offer; a server that accepts it has informed its runtime
otherwise.

Flagged: a bind_ack that accepts 71710533-beba-4937-8319-b5dbef9ccc36; an offer of it (a warning).

Accepted: 8a885d04-1ceb-11c9-9fe8-08002b104860 accepted, whatever was offered besides.

Silent: where the bind or its answer was not captured, unless the calls themselves show NDR64.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import Evidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import (
    At,
    Confidence,
    Deviation,
    Judgement,
    Severity,
    failed,
    inconclusive,
    passed,
    warned,
)
from analyzer.results.perflib import INTERFACE

REQUIREMENT = "PCQ-2.2-R01"
_OFFERS = Deviation(
    "[MS-RPCE] section 2.2.5",
    "64-bit Windows runtimes offer NDR64 beside NDR for every interface, and let the server choose",
)

RULE = Rule("PCQ113", "ndr64-negotiated", Level.RPC, Severity.ERROR)


@RULE.afterwards((REQUIREMENT,), about="association", needs_answer="the transfer syntax is agreed on in the bind")
def look(evidence: Evidence) -> Iterator[Judgement]:
    for bound in evidence.analysis.bounds:
        if bound.interface != INTERFACE:
            continue
        others = [syntax for syntax in bound.offered or (bound.syntax,) if syntax != "ndr"]
        if bound.accepted and bound.syntax != "ndr":
            message = "the server accepted another transfer syntax than NDR"
            yield failed(
                REQUIREMENT,
                None,
                None,
                message,
                expected="ndr",
                seen=bound.syntax,
                frames=bound.frames,
                channel=bound.channel,
            )
            continue
        if others:
            yield warned(
                REQUIREMENT,
                None,
                None,
                "the client offered another transfer syntax than NDR",
                expected="ndr",
                seen=", ".join(others),
                frames=bound.frames,
                channel=bound.channel,
                deviation=_OFFERS,
            )
        if bound.accepted:
            yield passed(REQUIREMENT)
        elif bound.accepted is None:
            yield inconclusive(REQUIREMENT, "the answer to a bind was not captured")
    for call in evidence.unbound:
        if call.decoded.syntax == "ndr64" and call.decoded.response is not None:
            yield failed(
                REQUIREMENT,
                call,
                At("request", "pdu"),
                "the bind was not captured, but the calls are in another transfer syntax than NDR",
                expected="ndr",
                seen="ndr64",
                confidence=Confidence.MEDIUM,
            )
        else:
            yield inconclusive(REQUIREMENT, "the bind was not captured", call)
