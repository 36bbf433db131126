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

from collections.abc import Iterator

from analyzer.audit.checks import Violation, judgements, lists_of
from analyzer.audit.evidence import CallEvidence
from analyzer.audit.identifiers import SIZE
from analyzer.audit.rule import Level, Reads, Rule
from analyzer.audit.verdicts import Judgement, Severity
from analyzer.model.perflib import Opnum

ANSWERED, ANY = "PCQ-3.1.4.1.5-R16", "PL-QCD-R12"


def check(call: CallEvidence) -> Iterator[Judgement]:
    requirements = (ANSWERED, ANY) if call.opnum == Opnum.QUERY_COUNTER_INFO else (ANY,)
    for side, found in lists_of(call):
        violations = [
            Violation(f"{block.path}.size", block.span(SIZE), f"{block.size + -block.size % 8}", f"{block.size}")
            for block in found.blocks
            if block.size % 8
        ]
        message = "the size of an identifier is not a multiple of 8"
        yield from judgements(call, side, requirements, len(found.blocks), violations, message)


RULE = Rule(
    code="PCQ415",
    name="identifier-size-off-eight",
    level=Level.BUFFERS,
    severity=Severity.ERROR,
    requirements=(ANSWERED, ANY),
    reads=Reads((Opnum.QUERY_COUNTER_INFO, Opnum.VALIDATE_COUNTERS), ("response.lpData",), success=True, damaged=True),
    check=check,
    by_method={Opnum.QUERY_COUNTER_INFO: (ANSWERED, ANY), Opnum.VALIDATE_COUNTERS: (ANY,)},
)
