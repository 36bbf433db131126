"""A block of a data answer is not laid out as its type asks for.

Looks for: counter header blocks of dwType 1, 2, 4 and 6 whose content cannot be read in the layout of that type so that it
fills the block, even when single sizes and counts in it are put right (a wrong one of those is reported by the rule about it).

Why it matters: the values are there and nobody knows where.

Specification: [MS-PCQ] section 3.1.4.1.6 describes the layouts: type 1 is one value; type 2 counter ids and a value for each;
type 4 instances, each its header with the name and one value; type 6 counter ids, then instances with a value for each id.
(Figure 9 leaves out the name in type 6; it belongs to the header, section 2.2.4.5.)

Flagged: a block of type 1 with two values; a block of type 4 whose instances have two values each.

Accepted: a block of type 4 without instances; counter ids followed by 4 bytes of padding that no size counts, or by none.

Silent: where the answer is sealed or was not captured; about blocks whose size is wrong or whose type is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.interfaces.buffers.layout import COUNTERS, COUNTERSET, INSTANCES, SINGLE
from analyzer.questions.audit.answers import DataAnswer, FlawKind
from analyzer.questions.audit.checks import data_answers, judgements
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity

BY_TYPE = {
    SINGLE: ("PCQ-3.1.4.1.6-R14",),
    COUNTERS: ("PCQ-3.1.4.1.6-R15",),
    INSTANCES: ("PCQ-3.1.4.1.6-R19", "PCQ-3.1.4.1.6-R20"),
    COUNTERSET: ("PCQ-3.1.4.1.6-R23", "PCQ-3.1.4.1.6-R24"),
}
FORMAT = "PCQ-3.1.4.1.6-R12"
REQUIREMENTS = (*(requirement for group in BY_TYPE.values() for requirement in group), FORMAT)

RULE = Rule("PCQ510", "data-block-against-its-type", Level.BUFFERS, Severity.ERROR)


@data_answers(RULE, REQUIREMENTS)
def _check(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    for kind, requirements in BY_TYPE.items():
        violations = answer.of(FlawKind.CONTENT, block_types=(kind,))
        unmeasured = len(answer.of(FlawKind.BLOCK_SIZE, block_types=(kind,)))
        looked_at = max(len(answer.of_type(kind)) - unmeasured, len(violations))
        message = f"a block of type {kind} is laid out otherwise"
        yield from judgements(call, "response", (*requirements, FORMAT), looked_at, violations, message)
