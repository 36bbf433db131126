"""A client called PerflibV2 on a presentation context that the server had refused.

Looks for: requests on contexts whose bind or alter_context was refused, and no later one accepted.

Why it matters: such a call cannot succeed. A server that answers it has not looked at its own refusal, nor a client that makes it
at the answer.

Specification: [MS-PCQ] section 1.5 relies on the preconditions of RPC interfaces; C706 12.6.3.1 and [MS-RPCE] section 3.3.1.5: a
context that was refused does not exist.

Flagged: bind_ack with "provider rejection: abstract syntax not supported", and a request under the same context id.

Accepted: a refused context of the interface and another one, accepted, on which the calls are made.

Silent: where the answer to the bind was not captured.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, inconclusive, passed
from analyzer.results.connection import Bound
from analyzer.results.perflib import INTERFACE

REQUIREMENT = "PCQ-1.5-R03"

RULE = Rule("PCQ114", "called-after-refusal", Level.RPC, Severity.ERROR)


@RULE.afterwards((REQUIREMENT,), about="association", needs_answer="the server refused the context in the bind")
def look(evidence: Evidence) -> Iterator[Judgement]:
    refused: dict[tuple[int, int], Bound] = {}
    for bound in evidence.analysis.bounds:
        context = bound.channel.number, bound.context_id
        if bound.interface == INTERFACE and bound.accepted is None:
            yield inconclusive(REQUIREMENT, "the answer to a bind was not captured")
        elif bound.interface == INTERFACE and bound.accepted:
            yield passed(REQUIREMENT)
            refused.pop(context, None)
        elif bound.interface == INTERFACE:
            refused[context] = bound
        elif bound.accepted:
            refused.pop(context, None)
    for call in evidence.unbound:
        yield inconclusive(REQUIREMENT, "the bind was not captured", call)
    if not refused:
        return
    for number, later in enumerate(evidence.analysis.calls, 1):
        bound_before = refused.get((later.channel, later.context_id))
        if bound_before is None or later.request is None:
            continue
        if min(later.request.frames, default=-1) < max(bound_before.frames):
            continue
        yield failed(
            REQUIREMENT,
            CallEvidence(number, later),
            At("request", "pdu.20:22"),
            "the client called on a presentation context that the server had refused",
            expected="a context that was accepted",
            seen=bound_before.reason,
        )
