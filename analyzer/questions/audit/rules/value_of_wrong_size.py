"""The size of a value does not hold it, or leaves out its padding.

Looks for: PERF_COUNTER_DATA structures whose dwSize is below 8 + dwDataSize, or does not lead to the next structure; and, as a
note, those whose dwSize leaves out the padding.

Why it matters: a client advances by dwSize from value to value. One wrong size gives every counter behind it another's value.

Specification: [MS-PCQ] section 2.2.4.9: dwSize is the size of the structure and of the data; it does not speak of padding. Section
2.2.4 lets every structure begin at a multiple of 8; perflib.h says that the padding is counted in dwSize. Section 3.1.4.1.6 makes
values of types 2 and 6 such a structure followed by its data.

Flagged: dwDataSize 8 with dwSize 8. A note: dwDataSize 4 with dwSize 12, which fits the words of 2.2.4.9, not those of perflib.h.

Accepted: dwDataSize 4 with dwSize 16, or with dwSize 12 and the next structure at the next multiple of 8.

Silent: where the answer is sealed or was not captured; in blocks that cannot be read at all.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.interfaces.buffers.layout import COUNTERS, COUNTERSET, INSTANCES, SINGLE
from analyzer.questions.audit.answers import DataAnswer, FlawKind
from analyzer.questions.audit.checks import data_answers, judgements
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity, passed

PADDED = "PL-QCD-R08"
SIZE = ("PCQ-2.2.4.9-R02", PADDED)
BY_TYPE = {
    SINGLE: SIZE,
    COUNTERS: (*SIZE, "PCQ-3.1.4.1.6-R16"),
    INSTANCES: SIZE,
    COUNTERSET: (*SIZE, "PCQ-3.1.4.1.6-R25"),
}
REQUIREMENTS = (*SIZE, "PCQ-3.1.4.1.6-R16", "PCQ-3.1.4.1.6-R25")

RULE = Rule("PCQ511", "value-of-wrong-size", Level.BUFFERS, Severity.ERROR)


@data_answers(RULE, REQUIREMENTS)
def _check(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    for kind, requirements in BY_TYPE.items():
        wrong = answer.of(FlawKind.VALUE_SIZE, block_types=(kind,))
        unpadded = answer.of(FlawKind.VALUE_UNPADDED, block_types=(kind,))
        values = sum(block.num_values for block in answer.of_type(kind))
        right = values - len(wrong)
        for requirement in requirements:
            count = right - len(unpadded) if requirement == PADDED else right
            if count > 0:
                yield passed(requirement, count)
        message = "the size of a value does not lead to what follows it"
        yield from judgements(call, "response", requirements, 0, wrong, message)
        message = "the size of a value leaves out its padding"
        yield from judgements(call, "response", (PADDED,), 0, unpadded, message, note=True)
