"""A data answer does not begin with a header that states its size and the number of its blocks.

Looks for: successful answers of QueryCounterData of less than 48 bytes; whose dwTotalSize is not the number of bytes returned;
whose dwNumCounter is not the number of counter header blocks that follow.

Why it matters: a client walks the blocks by these numbers. Too many, and it reads beyond the buffer; too few, and it shows no
value for counters that were answered.

Specification: [MS-PCQ] section 2.2.4.7 has a header of 48 bytes (the 64 of figure 5 in section 3.1.4.1.6 draw a SYSTEMTIME
twice as wide as it is) with the size of everything returned, and the number of counters, which perflib.h reads as the number of
blocks; section 3.1.4.1.6 demands that it comes first. perflib.h: of a call that succeeds, the size given back is the bytes
stored.

Flagged: 72 bytes returned and a dwTotalSize of 80; a dwNumCounter of 3 with two blocks.

Accepted: a header alone, of 48 bytes and no blocks, for a query that holds no counters.

Silent: where the answer is sealed or was not captured; about the number of blocks where a broken block hides those after it.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.answers import DataAnswer, FlawKind
from analyzer.questions.audit.checks import data_answers, judgements
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity, inconclusive

HEADER = ("PCQ-2.2.4.7-R01", "PCQ-3.1.4.1.6-R11", "PL-QCD-R01")
TOTAL = ("PCQ-2.2.4.7-R02", "PL-QCD-R03")
COUNT = ("PCQ-2.2.4.7-R03",)
REQUIREMENTS = HEADER + TOTAL + COUNT

RULE = Rule("PCQ501", "data-answer-against-its-header", Level.BUFFERS, Severity.ERROR)


@data_answers(RULE, REQUIREMENTS)
def _check(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    short = answer.of(FlawKind.HEADER)
    yield from judgements(
        call, "response", HEADER, 1, short, "the answer is shorter than the header it has to begin with"
    )
    if short:
        return
    violations = answer.of(FlawKind.TOTAL)
    yield from judgements(call, "response", TOTAL, 1, violations, "the total size is not the number of bytes returned")
    if not answer.is_walked:
        yield inconclusive(COUNT[0], "a broken block hides those after it", call)
        return
    violations = answer.of(FlawKind.BLOCK_COUNT)
    yield from judgements(
        call, "response", COUNT, 1, violations, "the header states another number of blocks than follow"
    )
