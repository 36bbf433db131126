"""A value is of another size than its counter's type has.

Looks for: values in data answers whose dwDataSize is not that of the type the server registered for the counter: 4 or 8 bytes
for numbers, an even number and a NUL at the end for text.

Why it matters: the client reads as many bytes as there are and computes with a number that is not the counter's. Where several
values follow one another, a size that fits another counter betrays that they stand in another order than their ids.

Specification: [MS-PCQ] section 2.2.4.2 gives each of the 34 types the width of its value, section 2.2.4.9 makes dwDataSize that
width, and section 3.1.4.1.6 demands that the values of types 2 and 6 stand in the order of the ids.

Flagged: 4 bytes for PERF_COUNTER_BULK_COUNT. A warning: 4 bytes for PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE, which the text calls a
32-bit value and whose own bits say 64.

Accepted: 8 bytes for PERF_COUNTER_BULK_COUNT; text of any length.

Silent: where the capture does not state which counter a block is of, or of which type the counter is; for types that are not
listed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from analyzer.interfaces.buffers.layout import COUNTERS, COUNTERSET
from analyzer.questions.audit.answers import DataAnswer, Flaw, FlawKind, value_path
from analyzer.questions.audit.checks import cannot_say, data_answers, judgements
from analyzer.questions.audit.counter_types import LISTED
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.values import Column, Unknown, columns
from analyzer.questions.audit.verdicts import Judgement, Severity

OF_TYPE = {kind: f"PCQ-2.2.4.2-R{number:02}" for number, kind in enumerate(LISTED, 4)}
SIZE = "PCQ-2.2.4.9-R01"
ORDER = {COUNTERS: "PCQ-3.1.4.1.6-R17", COUNTERSET: "PCQ-3.1.4.1.6-R27"}
REQUIREMENTS = (*OF_TYPE.values(), SIZE, *ORDER.values())
TEXT, OBJECT_QUEUE = 0x00000B00, 0x00650500
# winperf.h: the bits of a type that hold its size, and those of a 64-bit one.
_SIZE, _LARGE = 0x00000300, 0x00000100

RULE = Rule("PCQ601", "value-size-against-its-type", Level.VALUES, Severity.ERROR)


@data_answers(RULE, REQUIREMENTS)
def _check(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    looked_at: Counter[tuple[str, ...]] = Counter()
    wrong: dict[tuple[str, ...], list[Flaw]] = defaultdict(list)
    doubtful: dict[tuple[str, ...], list[Flaw]] = defaultdict(list)
    unknown: dict[str, set[str]] = defaultdict(set)
    for column in columns(call, answer):
        if isinstance(column, Unknown):
            unknown[column.reason].update((ORDER[column.block.kind],) if column.block.kind in ORDER else ())
            continue
        if column.type not in OF_TYPE:
            continue
        order = [ORDER[column.block.kind]] if column.block.kind in ORDER else []
        requirements = (OF_TYPE[column.type], SIZE, *order)
        looked_at[requirements] += len(column.block.rows)
        violations = list(_size_violations(answer, column))
        (doubtful if column.type == OBJECT_QUEUE else wrong)[requirements] += violations
    for reason, orders in unknown.items():
        yield from cannot_say((*OF_TYPE.values(), SIZE, *sorted(orders)), reason, call)
    for requirements, values in looked_at.items():
        message = "a value is of another size than its counter's type has"
        flaws = wrong[requirements]
        yield from judgements(call, "response", requirements, values - len(doubtful[requirements]), flaws, message)
        message = "a value has the size the text gives its counter's type, against the type's own bits"
        yield from judgements(call, "response", requirements, 0, doubtful[requirements], message, warn=True)


def _size_violations(answer: DataAnswer, column: Column) -> Iterator[Flaw]:
    """One for each instance whose value has not the size of the type."""
    block, place = column.block, column.place
    wanted = 8 if column.type & _SIZE == _LARGE else 4
    if column.type != TEXT and set(column.sizes) <= {wanted}:
        return
    for number, row in enumerate(block.rows):
        held = row.shape.data_sizes[place]
        at = row.value_at(place)
        if column.type == TEXT:
            text = answer.data[at : at + held]
            if held % 2 == 0 and text.endswith(b"\0\0"):
                continue
            expected, seen = (
                "an even number of bytes that ends in a NUL",
                f"{held} bytes ending in {text[-2:].hex(' ')}",
            )
        else:
            if held == wanted:
                continue
            expected, seen = (
                f"{wanted} bytes for type {column.type:#010x} of counter {column.counter_id}",
                f"{held} bytes",
            )
        path = f"{value_path(block, number, place)}.data_size"
        yield Flaw(FlawKind.VALUE_SIZE, path, (at - 8, at - 4), expected, seen)
