"""A counter identifier is not followed by the name of its instance.

Looks for: identifiers in answers of QueryCounterInfo, and in requests of ValidateCounters for countersets with instances, that
no name ending in a NUL follows.

Why it matters: without a name, the counter of which instance is meant? A reader that expects the NUL reads on into the next
identifier.

Specification: [MS-PCQ] section 3.1.4.1.5 lets every identifier of QueryCounterInfo be followed by a name that ends in a NUL;
section 3.1.4.1.7 demands it of those a client sends for multiple-instance countersets, and a name (it does not speak of the NUL
there) for single-instance ones. perflib.h has no name after the identifiers of single-instance countersets.

Flagged: Size 40 for a counterset of type 2; a name that fills the block to its end without a NUL.

Accepted: Size 48 with a NUL and 6 bytes of padding; for single-instance countersets also Size 40: the profile windows goes by
perflib.h, and of what a client sends nothing more is demanded.

Silent: about Size 40 where the registration of the counterset is not in the capture; where the message is sealed or was not
captured.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import (
    ASKED_DAMAGED,
    NO_REGISTRATION,
    Violation,
    has_instances,
    identifiers_of,
    judgements,
)
from analyzer.questions.audit.evidence import AskedEvidence, CallEvidence
from analyzer.questions.audit.identifiers import SIZE, IdentifierBlock
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import Deviation, Judgement, Severity, inconclusive, passed
from analyzer.results.perflib import Opnum

ANSWERED, ASKED, ASKED_SINGLE = "PCQ-3.1.4.1.5-R12", "PCQ-3.1.4.1.7-R13", "PCQ-3.1.4.1.7-R14"
NAMELESS = Deviation(
    "Windows SDK, perflib.h, comment on PERF_COUNTER_IDENTIFIER",
    "identifiers of single-instance countersets have exactly 40 bytes and no name",
    "PL-QCD-R11",
)
MESSAGE = "an identifier is not followed by a name that ends in a NUL"

RULE = Rule("PCQ410", "identifier-without-name", Level.BUFFERS, Severity.ERROR)


@RULE.calls((ANSWERED,), Reads((Opnum.QUERY_COUNTER_INFO,), ("response.lpData",), success=True, damaged=True))
def check(call: CallEvidence) -> Iterator[Judgement]:
    blocks = identifiers_of(call.response)
    violations: list[Violation] = []
    nameless: list[Violation] = []
    unknown = 0
    for block in blocks:
        if block.has_nul:
            continue
        if block.room or has_instances(call, block.counterset):
            violations.append(_violation(block))
        elif has_instances(call, block.counterset) is None:
            unknown += 1
            yield inconclusive(ANSWERED, NO_REGISTRATION, call)
        else:
            nameless.append(_violation(block))
    yield from judgements(call, "response", (ANSWERED,), len(blocks) - unknown - len(nameless), violations, MESSAGE)
    yield from judgements(call, "response", (ANSWERED,), 0, nameless, MESSAGE, deviation=NAMELESS)


@RULE.requests((ASKED, ASKED_SINGLE), ASKED_DAMAGED)
def asked(call: AskedEvidence) -> Iterator[Judgement]:
    violations: list[Violation] = []
    multiple = single = 0
    for block in identifiers_of(call.request):
        named = has_instances(call, block.counterset)
        if named is None:
            yield inconclusive(ASKED, NO_REGISTRATION, call)
            yield inconclusive(ASKED_SINGLE, NO_REGISTRATION, call)
        elif not named:
            single += bool(block.room)
        else:
            multiple += 1
            if not block.has_nul:
                violations.append(_violation(block))
    if single:
        yield passed(ASKED_SINGLE, single)
    yield from judgements(call, "request", (ASKED,), multiple, violations, MESSAGE)


def _violation(block: IdentifierBlock) -> Violation:
    seen = f"Size {block.size}, and no NUL" if block.room else f"Size {block.size}"
    return Violation(f"{block.path}.size", block.span(SIZE), "room for a name and its NUL", seen)
