"""The instances in a block are not as many, or not as large, as their headers say.

Looks for: blocks of dwType 4 and 6 whose dwInstances is not the number of instances that follow, whose dwTotalSize does not end
with the last of them, or in which the Size of an instance header does not lead to the instance's values, or is no multiple of
8.

Why it matters: an instance that is there and not counted is not shown, one that is counted and not there is made of other
bytes.

Specification: [MS-PCQ] section 2.2.4.10: dwTotalSize covers this header and all instance data, dwInstances is the number of
instances; section 3.1.4.1.6 demands that the number of instance blocks is the same, for types 4 and 6. Section 2.2.4.5: Size
covers the instance header and its name; perflib.h pads it to a multiple of 8 and counts the padding.

Flagged: dwInstances 3 with two instances; a dwTotalSize that leaves out the 8 bytes of its own header.

Accepted: dwInstances 0 and dwTotalSize 8.

Silent: where the answer is sealed or was not captured; in blocks that cannot be read at all.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.interfaces.buffers.layout import COUNTERSET, INSTANCES
from analyzer.questions.audit.answers import DataAnswer, FlawKind
from analyzer.questions.audit.checks import data_answers, judgements
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity

SIZE, NUMBER, HEADER = "PCQ-2.2.4.10-R01", "PCQ-2.2.4.10-R02", "PL-QCD-R09"
# The number of instances, and the form of each, by the type of the block.
BY_TYPE = {
    INSTANCES: ("PCQ-3.1.4.1.6-R21", "PCQ-3.1.4.1.6-R20"),
    COUNTERSET: ("PCQ-3.1.4.1.6-R28", "PCQ-3.1.4.1.6-R24"),
}
REQUIREMENTS = (SIZE, NUMBER, HEADER, *(requirement for group in BY_TYPE.values() for requirement in group))

RULE = Rule("PCQ512", "instances-miscounted", Level.BUFFERS, Severity.ERROR)


@data_answers(RULE, REQUIREMENTS)
def _check(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    for kind, (number, form) in BY_TYPE.items():
        blocks = [block for block in answer.of_type(kind) if block.instances_at is not None]
        types = (kind,)
        violations = answer.of(FlawKind.INSTANCES_SIZE, block_types=types)
        message = "the total size of the instances does not end with the last of them"
        yield from judgements(call, "response", (SIZE,), len(blocks), violations, message)
        violations = answer.of(FlawKind.INSTANCE_COUNT, block_types=types)
        message = "another number of instances follows than was reported"
        yield from judgements(call, "response", (NUMBER, number), len(blocks), violations, message)
        instances = sum(len(block.rows) for block in blocks)
        violations = answer.of(FlawKind.INSTANCE_SIZE, block_types=types)
        unpadded = answer.of(FlawKind.INSTANCE_UNPADDED, block_types=types)
        message = "the size of an instance does not lead to its values"
        yield from judgements(call, "response", (HEADER, form), instances - len(unpadded), violations, message)
        message = "the size of an instance leaves out its padding"
        yield from judgements(call, "response", (HEADER,), 0, unpadded, message)
