"""The identifier of a counter without instances is followed by a name.

Looks for: identifiers of QueryCounterInfo and ValidateCounters for single-instance countersets whose name is not empty.

Why it matters: to programs written for perflib.h such an identifier has a fixed size of 40 bytes, and the name is a surprise.
By the protocol's own text the name belongs there, so this is no more than worth knowing.

Specification: perflib.h: a counterset that can only have a single instance has no name after the identifier, and Size is 40.
[MS-PCQ] section 3.1.4.1.7 has the identifiers of such countersets followed by a name.

Flagged: as a warning, the name "_Total" after the identifier of a counterset of type 0.

Accepted: Size 40. An empty name, which [MS-PCQ] lets follow and perflib.h does not, does not exercise this requirement.

Silent: where the registration of the counterset is not in the capture; where the message is sealed or was not captured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.questions.audit.checks import (
    ANSWERED_DAMAGED,
    ASKED_DAMAGED,
    NO_REGISTRATION,
    Violation,
    has_instances,
    identifiers_of,
    judgements,
)
from analyzer.questions.audit.evidence import AskedEvidence, CallEvidence
from analyzer.questions.audit.identifiers import HEADER, IdentifierBlock
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, OfCall, Severity, SideName, inconclusive

REQUIREMENT = "PL-QCD-R11"

RULE = Rule("PCQ412", "single-instance-named", Level.BUFFERS, Severity.INFO)


@RULE.requests((REQUIREMENT,), ASKED_DAMAGED)
def asked(call: AskedEvidence) -> Iterator[Judgement]:
    yield from _judged(call, "request", identifiers_of(call.request))


@RULE.calls((REQUIREMENT,), ANSWERED_DAMAGED)
def check(call: CallEvidence) -> Iterator[Judgement]:
    yield from _judged(call, "response", identifiers_of(call.response))


def _judged(call: OfCall, side: SideName, blocks: Sequence[IdentifierBlock]) -> Iterator[Judgement]:
    single = [block for block in blocks if has_instances(call, block.counterset) is False]
    if any(has_instances(call, block.counterset) is None for block in blocks):
        yield inconclusive(REQUIREMENT, NO_REGISTRATION, call)
    violations = [
        Violation(f"{block.path}.name", (block.at + HEADER, block.at + block.size), "no name", repr(block.name))
        for block in single
        if block.name
    ]
    message = "a name follows the identifier of a counter that has no instances"
    bare = sum(not block.room for block in single)
    yield from judgements(call, side, (REQUIREMENT,), bare + len(violations), violations, message, warn=True)
