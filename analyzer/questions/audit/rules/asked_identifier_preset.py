"""A client sent identifiers with fields set that are the server's, or reserved.

Looks for: requests of ValidateCounters whose identifiers have a Reserved other than 0; of those that add, also a Status or
Index.

Why it matters: a field kept free for a later version that already holds something cannot be used by it. A Status that was there
before cannot be distinguished from one that the server set.

Specification: [MS-PCQ] section 2.2.4.6 demands a Reserved of 0 from clients. perflib.h has Status, Index and Reserved
initialised to 0 where counters are added.

Flagged: Reserved 1. A warning: Status 5, or Index 3, in a request that adds.

Accepted: zeros; in a request that removes, Status and Index as they were received.

Silent: where the request is sealed, was not captured, or does not decode.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import Violation, judgements
from analyzer.questions.audit.evidence import AskedEvidence
from analyzer.questions.audit.identifiers import INDEX, RESERVED, STATUS
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity
from analyzer.results.perflib import Opnum

FREE, CLEARED = "PCQ-2.2.4.6-R06", "PL-QCD-R13"

RULE = Rule("PCQ420", "asked-identifier-preset", Level.BUFFERS, Severity.WARNING)


@RULE.requests((FREE, CLEARED), Reads((Opnum.VALIDATE_COUNTERS,), ("request", "request.lpData")))
def check(call: AskedEvidence) -> Iterator[Judgement]:
    assert call.request is not None
    blocks = call.request.identifiers.blocks
    reserved = [
        Violation(f"{block.path}.reserved", block.span(RESERVED), "0", f"{block.reserved:#x}")
        for block in blocks
        if block.reserved
    ]
    yield from judgements(
        call, "request", (FREE,), len(blocks), reserved, "the reserved field of an identifier is not zero"
    )
    if not call.asked["dwAdd"]:
        return
    violations = []
    for block in blocks:
        if block.status:
            violations.append(Violation(f"{block.path}.status", block.span(STATUS), "0", f"{block.status:#x}"))
        elif block.position:
            violations.append(Violation(f"{block.path}.index", block.span(INDEX), "0", f"{block.position}"))
    message = "a field of an identifier is set that is the server's to set"
    yield from judgements(call, "request", (CLEARED,), len(blocks), violations, message, warn=True)
