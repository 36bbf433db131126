"""The status of an identifier is none that a server may give it.

Looks for: answers of QueryCounterInfo and ValidateCounters with a Status that is no Win32 code; of ValidateCounters, with one
that is not in its table, or that the client had put there before.

Why it matters: the status is the only thing that states which of the counters a client asked for it will get.

Specification: [MS-PCQ] section 2.2.4.6 makes Status a Win32 code. Section 3.1.4.1.5 says that the server sets it to one;
section 3.1.4.1.7 demands that it states the result for each identifier, and of the infrastructure's own errors that they are 0,
3, 0xE, 0x57, 0xB7, 0x1068 or 0x106A. Errors of a provider are passed on as they are.

Flagged: Status 0xC0000034; a Status of 0x7777 in request and answer alike. A warning: any code that is not in the table, since
it may be a provider's; garbage in QueryCounterInfo, where clients ignore it.

Accepted: Status 0x106A.

Silent: where the message is sealed or was not captured. A code of the table that the client had set before is inconclusive.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import Violation, judgements, status_violation
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.identifiers import STATUS, IdentifierBlock
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity, inconclusive
from analyzer.results.perflib import Opnum

CODE, INFO, STATED, LISTED = "PCQ-2.2.4.6-R02", "PCQ-3.1.4.1.5-R14", "PCQ-3.1.4.1.7-R18", "PCQ-3.1.4.1.7-R19"
TABLE = (0, 3, 0xE, 0x57, 0xB7, 0x1068, 0x106A)

RULE = Rule("PCQ425", "identifier-status-unknown", Level.BUFFERS, Severity.WARNING)


@RULE.calls(
    (CODE, INFO, STATED, LISTED),
    Reads((Opnum.QUERY_COUNTER_INFO, Opnum.VALIDATE_COUNTERS), ("response.lpData",), success=True),
    by_method={Opnum.QUERY_COUNTER_INFO: (CODE, INFO), Opnum.VALIDATE_COUNTERS: (CODE, STATED, LISTED)},
)
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    blocks = call.response.identifiers.blocks
    is_info = call.opnum == Opnum.QUERY_COUNTER_INFO
    no_code = [_violation(block, "a Win32 code") for block in blocks if status_violation(block.status) == "fail"]
    perhaps = [_violation(block, "a Win32 code") for block in blocks if status_violation(block.status) == "warn"]
    message = "the status of an identifier is no Win32 code"
    requirements = (INFO, CODE) if is_info else (CODE,)
    # Clients ignore it in QueryCounterInfo: SHOULD.
    sound = len(blocks) - len(perhaps) - (len(no_code) if is_info else 0)
    yield from judgements(call, "response", requirements, sound, [] if is_info else no_code, message)
    yield from judgements(call, "response", requirements, 0, perhaps + (no_code if is_info else []), message, warn=True)
    if not is_info:
        yield from _validated(call, blocks)


def _validated(call: CallEvidence, blocks: list[IdentifierBlock]) -> Iterator[Judgement]:
    violations = [
        _violation(block, "0, 3, 0xe, 0x57, 0xb7, 0x1068 or 0x106a")
        for block in blocks
        if block.status not in TABLE and status_violation(block.status) is None
    ]
    others = sum(status_violation(block.status) is not None for block in blocks)
    message = "the status of an identifier is not in the table"
    yield from judgements(call, "response", (LISTED,), len(blocks) - others - len(violations), [], message)
    yield from judgements(call, "response", (LISTED,), 0, violations, message, warn=True)
    asked = call.request.identifiers.blocks if call.request is not None and call.request.is_readable else None
    if asked is None or len(asked) != len(blocks):
        yield inconclusive(STATED, "what the client had put there is not known", call)
        return
    left: list[Violation] = []
    doubtful = 0
    for before, after in zip(asked, blocks, strict=True):
        if before.status and before.status == after.status:
            if after.status in TABLE:
                doubtful += 1
                yield inconclusive(STATED, "the client had put the same status there before", call)
            else:
                left.append(_violation(after, "the result for the counter"))
    message = "the status of an identifier is still what the client had put there"
    yield from judgements(call, "response", (STATED,), len(blocks) - doubtful, left, message)


def _violation(block: IdentifierBlock, expected: str) -> Violation:
    return Violation(f"{block.path}.status", block.span(STATUS), expected, f"{block.status:#x}")
