"""The counter ids of a block are not as many, or not as large, as their header says.

Looks for: blocks of dwType 2 and 6 whose dwCounters is not the number of ids, or of values (of each instance, in type 6), or
whose dwSize is neither 8 + 4 x dwCounters nor that rounded up to 8.

Why it matters: values carry no ids. They belong to the id in the same place, so a count that is off by one gives every value
another name.

Specification: [MS-PCQ] section 2.2.4.11: dwSize covers this header and the array of ids, dwCounters is the number of ids;
section 3.1.4.1.6 demands as many values, for types 2 and 6. Whether padding to a multiple of 8 is counted is not stated.

Flagged: dwCounters 4 with three values; dwSize 32 with three ids.

Accepted: dwSize 20 or 24 with three ids.

Silent: where the answer is sealed or was not captured; in blocks that cannot be read at all.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.interfaces.buffers.layout import COUNTERS, COUNTERSET
from analyzer.questions.audit.answers import DataAnswer, FlawKind
from analyzer.questions.audit.checks import data_answers, judgements
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity

SIZE, NUMBER = "PCQ-2.2.4.11-R01", "PCQ-2.2.4.11-R02"
BY_TYPE = {COUNTERS: "PCQ-3.1.4.1.6-R18", COUNTERSET: "PCQ-3.1.4.1.6-R26"}
REQUIREMENTS = (SIZE, NUMBER, *BY_TYPE.values())

RULE = Rule("PCQ513", "counter-ids-miscounted", Level.BUFFERS, Severity.ERROR)


@data_answers(RULE, REQUIREMENTS)
def _check(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    for kind, number in BY_TYPE.items():
        blocks = [block for block in answer.of_type(kind) if block.ids is not None]
        violations = answer.of(FlawKind.IDS_SIZE, block_types=(kind,))
        yield from judgements(
            call, "response", (SIZE,), len(blocks), violations, "the size of the counter ids is not that of so many"
        )
        violations = answer.of(FlawKind.IDS_COUNT, FlawKind.VALUE_COUNT, block_types=(kind,))
        message = "another number of counters follows than was reported"
        yield from judgements(call, "response", (NUMBER, number), len(blocks), violations, message)
        violations = answer.of(FlawKind.ROW_COUNT, block_types=(kind,))
        message = "an instance has another number of values than there are counter ids"
        yield from judgements(call, "response", (number,), 0, violations, message)
