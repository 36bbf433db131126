"""The Size of a counter identifier is not a multiple of 8.

Looks for: identifiers of QueryCounterInfo and ValidateCounters whose Size is not a multiple of 8.

Why it matters: the next identifier then begins where readers that align do not look for it.

Specification: [MS-PCQ] section 3.1.4.1.5 demands a multiple of 8 of what QueryCounterInfo returns; perflib.h of every
identifier. The padding is counted in Size.

Flagged: Size 46: 40 bytes, two characters and a NUL.

Accepted: Size 48 for the same.

Silent: where the message is sealed or was not captured; behind a Size that leads nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.questions.audit.checks import ANSWERED_DAMAGED, ASKED_DAMAGED, Violation, identifiers_of, judgements
from analyzer.questions.audit.evidence import AskedEvidence, CallEvidence
from analyzer.questions.audit.identifiers import SIZE, IdentifierBlock
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, OfCall, Severity, SideName
from analyzer.results.perflib import Opnum

ANSWERED, ANY = "PCQ-3.1.4.1.5-R16", "PL-QCD-R12"

RULE = Rule("PCQ415", "identifier-size-off-eight", Level.BUFFERS, Severity.ERROR)


@RULE.requests((ANY,), ASKED_DAMAGED)
def asked(call: AskedEvidence) -> Iterator[Judgement]:
    yield from _judged(call, "request", (ANY,), identifiers_of(call.request))


@RULE.calls(
    (ANSWERED, ANY),
    ANSWERED_DAMAGED,
    by_method={Opnum.QUERY_COUNTER_INFO: (ANSWERED, ANY), Opnum.VALIDATE_COUNTERS: (ANY,)},
)
def check(call: CallEvidence) -> Iterator[Judgement]:
    requirements = (ANSWERED, ANY) if call.opnum == Opnum.QUERY_COUNTER_INFO else (ANY,)
    yield from _judged(call, "response", requirements, identifiers_of(call.response))


def _judged(
    call: OfCall, side: SideName, requirements: tuple[str, ...], blocks: Sequence[IdentifierBlock]
) -> Iterator[Judgement]:
    violations = [
        Violation(f"{block.path}.size", block.span(SIZE), f"{block.size + -block.size % 8}", f"{block.size}")
        for block in blocks
        if block.size % 8
    ]
    message = "the size of an identifier is not a multiple of 8"
    yield from judgements(call, side, requirements, len(blocks), violations, message)
