"""The size of a value does not hold it, or leaves out its padding.

Looks for: PERF_COUNTER_DATA structures whose dwSize is below 8 + dwDataSize, is not a multiple of 8, or does not lead to the
next structure.

Why it matters: a client advances by dwSize from value to value. One wrong size gives every counter behind it another's value.

Specification: [MS-PCQ] section 2.2.4.9: dwSize is the size of the structure and of the data. Section 2.2.4 lets every structure
begin at a multiple of 8; perflib.h says that the padding is counted in dwSize. Section 3.1.4.1.6 makes values of types 2 and 6
such a structure followed by its data.

Flagged: dwDataSize 8 with dwSize 8. A warning: dwDataSize 4 with dwSize 12, which fits the words of 2.2.4.9 and nothing else.

Accepted: dwDataSize 4 with dwSize 16.

Silent: where the answer is sealed or was not captured; in blocks that cannot be read at all.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.audit.answers import COUNTERS, COUNTERSET, INSTANCES, SINGLE, DataAnswer, FlawKind
from analyzer.audit.evidence import CallEvidence
from analyzer.audit.looks import DATA, answer_check, told
from analyzer.audit.rule import Level, Rule
from analyzer.audit.verdicts import Judgement, Severity, passed

SIZE = ("PCQ-2.2.4.9-R02", "PL-QCD-R08")
BY_TYPE = {
    SINGLE: SIZE,
    COUNTERS: (*SIZE, "PCQ-3.1.4.1.6-R16"),
    INSTANCES: SIZE,
    COUNTERSET: (*SIZE, "PCQ-3.1.4.1.6-R25"),
}
REQUIREMENTS = (*SIZE, "PCQ-3.1.4.1.6-R16", "PCQ-3.1.4.1.6-R25")


def _check(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    for kind, requirements in BY_TYPE.items():
        wrong = answer.of(FlawKind.VALUE_SIZE, block_types=(kind,))
        unpadded = answer.of(FlawKind.VALUE_UNPADDED, block_types=(kind,))
        values = sum(block.num_values for block in answer.of_type(kind))
        right = values - len(wrong) - len(unpadded)
        if right > 0:
            for requirement in requirements:
                yield passed(requirement, right)
        message = "the size of a value does not lead to what follows it"
        yield from told(call, "response", requirements, 0, wrong, message)
        message = "the size of a value leaves out its padding"
        yield from told(call, "response", SIZE, 0, unpadded, message, warn=True)


RULE = Rule(
    code="PCQ511",
    name="value-of-wrong-size",
    level=Level.BUFFERS,
    severity=Severity.ERROR,
    requirements=REQUIREMENTS,
    reads=DATA,
    check=answer_check(REQUIREMENTS, _check),
)
