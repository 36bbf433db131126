"""The padding after an instance name in a data answer is not zero.

Looks for: blocks of dwType 4 in which other bytes than zeros stand between the NUL of an instance name and the value that
follows.

Why it matters: padding that is not cleared carries old memory of the server to whoever asks.

Specification: [MS-PCQ] section 3.1.4.1.6, figure 8, demands 0. (Figure 3 demands the contrary of EnumerateCounterSetInstances,
and figure 9 says nothing of dwType 6.)

Flagged: a name of 2 characters and its NUL, then the bytes 41 00.

Accepted: the same with 00 00; anything in the padding of dwType 6.

Silent: where the answer is sealed or was not captured; in blocks that cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.interfaces.buffers.layout import INSTANCES
from analyzer.interfaces.buffers.text import utf16_length
from analyzer.questions.audit.answers import DataAnswer
from analyzer.questions.audit.checks import Violation, data_answers, judgements
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity

REQUIREMENTS = ("PCQ-3.1.4.1.6-R22",)

RULE = Rule("PCQ516", "instance-padding-not-zero", Level.BUFFERS, Severity.WARNING)


@data_answers(RULE, REQUIREMENTS)
def _check(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    violations: list[Violation] = []
    looked_at = 0
    for block in answer.of_type(INSTANCES):
        if not block.is_whole:
            continue
        for number, row in enumerate(block.rows):
            room = answer.data[row.name_at : row.begin]
            padding = room[utf16_length(room) + 2 :]
            looked_at += bool(padding)
            if any(padding):
                path = f"{block.path}.body.instances.instances[{number}].header"
                violations.append(
                    Violation(
                        path, (row.begin - len(padding), row.begin), bytes(len(padding)).hex(" "), padding.hex(" ")
                    )
                )
    message = "the padding after an instance name is not zero"
    yield from judgements(call, "response", REQUIREMENTS, looked_at, violations, message)
