"""Bind-time feature negotiation was taken for a presentation context.

Looks for: binds that offer 6cb71c2c-9812-4540-... as a transfer syntax, what the server answered, and calls under that context
id.

Why it matters: the offer is a list of features in the clothes of a context. A server that accepts it as one promises to decode
calls in a syntax that does not exist.

Specification: [MS-PCQ] says nothing of it and leaves RPC to [MS-RPCE], whose section 3.3.1.5.3 lets a server acknowledge the
features (result 3), or refuse the syntax if it does not know them.

Flagged: result 0 (acceptance) for the features; a request under their context id.

Accepted: results 3 and 2.

Silent: where the answer to the bind was not captured, or the features were never offered.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, inconclusive, passed
from analyzer.results.perflib import INTERFACE

REQUIREMENT = "PCQ-2.2-R02"

RULE = Rule("PCQ115", "features-taken-for-a-context", Level.RPC, Severity.ERROR)


@RULE.afterwards((REQUIREMENT,), about="association", needs_answer="the context is agreed on in the bind")
def look(evidence: Evidence) -> Iterator[Judgement]:
    ours = {bound.channel.number for bound in evidence.analysis.bounds if bound.interface == INTERFACE}
    offered = [one for one in evidence.analysis.features if one.channel.number in ours]
    contexts = {(one.channel.number, one.context_id) for one in offered}
    for bound in evidence.analysis.bounds:
        contexts.discard((bound.channel.number, bound.context_id))
    for one in offered:
        if one.result is None:
            yield inconclusive(REQUIREMENT, "the answer to a bind was not captured")
        elif one.result == 0:
            message = "the server accepted bind-time features as a presentation context"
            yield failed(
                REQUIREMENT,
                None,
                None,
                message,
                expected="3 or 2",
                seen="0 (acceptance)",
                frames=one.frames,
                channel=one.channel,
            )
        else:
            yield passed(REQUIREMENT)
    for number, call in enumerate(evidence.analysis.calls, 1) if contexts else ():
        if (call.channel, call.context_id) in contexts and call.request is not None:
            message = "a call was made on the context id of bind-time features"
            yield failed(
                REQUIREMENT,
                CallEvidence(number, call),
                At("request", "pdu.20:22"),
                message,
                expected="the id of a presentation context",
                seen=str(call.context_id),
            )
