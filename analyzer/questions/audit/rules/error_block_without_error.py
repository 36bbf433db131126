"""A block that stands for an error names none, or carries data.

Looks for: counter header blocks of dwType 0 whose dwStatus is 0, or that are longer than their header.

Why it matters: such a block is all a client learns of a counter that could not be read. Without a code it can neither inform the
user nor decide whether to ask again.

Specification: [MS-PCQ] section 2.2.4.8 gives dwType 0 to counters whose query failed; section 3.1.4.1.6 demands that the block
holds the header alone, whose dwStatus states the error.

Flagged: dwType 0 with a dwSize of 32 and 16 bytes after the header. A warning: dwType 0 with dwStatus 0.

Accepted: dwType 0, dwStatus 0x1069 (no such instance), dwSize 16.

Silent: where the answer is sealed or was not captured.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.interfaces.buffers.layout import ERROR
from analyzer.questions.audit.answers import DataAnswer
from analyzer.questions.audit.checks import Violation, data_answers, judgements
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity

ALONE, STATUS = "PCQ-3.1.4.1.6-R13", "PCQ-2.2.4.8-R03"
REQUIREMENTS = (ALONE, STATUS)

RULE = Rule("PCQ507", "error-block-without-error", Level.BUFFERS, Severity.ERROR)


@data_answers(RULE, REQUIREMENTS)
def _check(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    blocks = [block for block in answer.blocks if block.kind == ERROR]
    violations = [
        Violation(
            block.path, (block.at + 16, block.stop), "nothing after the header", f"{block.stop - block.at - 16} bytes"
        )
        for block in blocks
        if block.stop - block.at > 16
    ]
    yield from judgements(call, "response", (ALONE,), len(blocks), violations, "an error block carries data")
    violations = [
        Violation(f"{block.path}.status", (block.at, block.at + 4), "an error code", "0")
        for block in blocks
        if not block.status
    ]
    message = "a block stands for an error and names none"
    yield from judgements(call, "response", (STATUS,), len(blocks), violations, message, warn=True)
