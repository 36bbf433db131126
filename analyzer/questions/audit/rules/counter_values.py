"""Rules about the values in data answers: their sizes, and what they are where the capture states the counter and the type."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from msgspec import Struct

from analyzer.questions.audit.buffer_checks import DATA, UNREADABLE, judgements, of_data
from analyzer.questions.audit.call_evidence import CallEvidence, Evidence
from analyzer.questions.audit.data_answers import DataAnswer, Flaw, FlawKind, value_path
from analyzer.questions.audit.rule_registry import Level, Watch, of_calls, rule
from analyzer.questions.audit.rule_verdicts import (
    At,
    Confidence,
    Judgement,
    Severity,
    Violation,
    inconclusive,
    passed,
    warned,
)
from analyzer.questions.audit.values_with_counters import LISTED, Unknown, ValueColumn, columns_of
from analyzer.results.methods.perflib import COUNTERS, COUNTERSET, INSTANCES, SINGLE

OF_TYPE = {kind: f"PCQ-2.2.4.2-R{number:02}" for number, kind in enumerate(LISTED, 4)}
SIZE = "PCQ-2.2.4.9-R01"
ORDER = {COUNTERS: "PCQ-3.1.4.1.6-R17", COUNTERSET: "PCQ-3.1.4.1.6-R27"}
_TEXT, _OBJECT_QUEUE, _SAMPLE_BASE = 0x00000B00, 0x00650500, 0x40030401
# winperf.h: the bits of a type that hold its size, and those of a 64-bit one.
_SIZE, _LARGE = 0x00000300, 0x00000100


@rule("PCQ601", Level.VALUES, Severity.ERROR)
@of_data((*OF_TYPE.values(), SIZE, *ORDER.values()))
def value_size_against_its_type(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    """A value is of another size than its counter's type has.

    Looks for: values in data answers whose dwDataSize is not that of the type the server registered for the counter: 4 or 8 bytes
    for numbers, an even number and a NUL at the end for text.

    Why it matters: the client reads as many bytes as there are and computes with a number that is not the counter's. Where several
    values follow one another, a size that fits another counter betrays that they stand in another order than their ids.

    Specification: [MS-PCQ] section 2.2.4.2 gives each of the 34 types the width of its value. Section 2.2.4.9 makes dwDataSize
    that width. Section 3.1.4.1.6 demands that the values of types 2 and 6 stand in the order of the ids.

    Flagged: 4 bytes for PERF_COUNTER_BULK_COUNT. A warning: 4 bytes for PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE, which the text calls a
    32-bit value and whose own bits say 64.

    Accepted: 8 bytes for PERF_COUNTER_BULK_COUNT; text of any length.

    Silent: where the capture does not state which counter a block is of, or of which type the counter is; for types that are not
    listed.
    """
    looked_at: Counter[tuple[str, ...]] = Counter()
    wrong: dict[tuple[str, ...], list[Flaw]] = defaultdict(list)
    doubtful: dict[tuple[str, ...], list[Flaw]] = defaultdict(list)
    unknown: dict[str, set[str]] = defaultdict(set)
    for column in columns_of(call, answer).all:
        order = (ORDER[column.block.kind],) if column.block.kind in ORDER else ()
        if isinstance(column, Unknown):
            unknown[column.reason].update(order)
        elif column.type in OF_TYPE:
            of = (OF_TYPE[column.type], SIZE, *order)
            looked_at[of] += len(column.block.rows)
            (doubtful if column.type == _OBJECT_QUEUE else wrong)[of] += _size_flaws(answer, column)
    for reason, orders in unknown.items():
        yield inconclusive(reason, call, *OF_TYPE.values(), SIZE, *sorted(orders))
    for of, values in looked_at.items():
        message = "a value is of another size than its counter's type has"
        yield from judgements(call, values - len(doubtful[of]), wrong[of], message, of=of)
        message = "a value has the size the text gives its counter's type, against the type's own bits"
        yield from judgements(call, 0, doubtful[of], message, of=of, warn=True)


def _size_flaws(answer: DataAnswer, column: ValueColumn) -> Iterator[Flaw]:
    """The flaws in the sizes of one counter's values, as a rule reports them: one for each instance whose value has not the size of
    the type."""
    block, place = column.block, column.place
    wanted = 8 if column.type & _SIZE == _LARGE else 4
    if column.type != _TEXT and set(column.sizes) <= {wanted}:
        return
    for number, row in enumerate(block.rows):
        held, at = row.shape.data_sizes[place], row.value_at(place)
        if column.type == _TEXT:
            text = answer.data[at : at + held]
            is_right = held % 2 == 0 and text.endswith(b"\0\0")
            expected = "an even number of bytes that ends in a NUL"
            seen = f"{held} bytes ending in {text[-2:].hex(' ')}"
        else:
            is_right = held == wanted
            expected = f"{wanted} bytes for type {column.type:#010x} of counter {column.counter_id}"
            seen = f"{held} bytes"
        if not is_right:
            path = f"{value_path(block, number, place)}.data_size"
            yield Flaw(FlawKind.VALUE_SIZE, path, (at - 8, at - 4), expected, seen)


PADDED = "PL-QCD-R08"
VALUE_SIZES = {
    SINGLE: (),
    COUNTERS: ("PCQ-3.1.4.1.6-R16",),
    INSTANCES: (),
    COUNTERSET: ("PCQ-3.1.4.1.6-R25",),
}


@rule("PCQ511", Level.BUFFERS, Severity.ERROR)
@of_data(("PCQ-2.2.4.9-R02", PADDED, "PCQ-3.1.4.1.6-R16", "PCQ-3.1.4.1.6-R25"))
def value_of_wrong_size(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    """The size of a value does not hold it, or leaves out its padding.

    Looks for: PERF_COUNTER_DATA structures whose dwSize is below 8 + dwDataSize, or does not lead to the next structure; and, as a
    note, those whose dwSize leaves out the padding.

    Why it matters: a client advances by dwSize from value to value. One wrong size gives every counter behind it another's value.

    Specification: [MS-PCQ] section 2.2.4.9: dwSize is the size of the structure and of the data; it does not speak of padding.
    Section 2.2.4 lets every structure begin at a multiple of 8; perflib.h says that the padding is counted in dwSize. Section
    3.1.4.1.6 makes values of types 2 and 6 such a structure followed by its data.

    Flagged: dwDataSize 8 with dwSize 8. A note: dwDataSize 4 with dwSize 12, which fits the words of 2.2.4.9, not those of
    perflib.h.

    Accepted: dwDataSize 4 with dwSize 16, or with dwSize 12 and the next structure at the next multiple of 8.

    Silent: where the answer is sealed or was not captured; in blocks that cannot be read at all.
    """
    for kind, of_type in VALUE_SIZES.items():
        wrong = answer.flaws_of(FlawKind.VALUE_SIZE, block_types=(kind,))
        unpadded = answer.flaws_of(FlawKind.VALUE_UNPADDED, block_types=(kind,))
        right = sum(block.num_values for block in answer.of_type(kind)) - len(wrong)
        if right > 0:
            yield passed("PCQ-2.2.4.9-R02", *of_type, count=right)
        if right > len(unpadded):
            yield passed(PADDED, count=right - len(unpadded))
        message, of = "the size of a value does not lead to what follows it", ("PCQ-2.2.4.9-R02", PADDED, *of_type)
        yield from judgements(call, 0, wrong, message, of=of)
        yield from judgements(call, 0, unpadded, "the size of a value leaves out its padding", of=PADDED, note=True)


@rule("PCQ605", Level.VALUES, Severity.ERROR)
@of_data("PCQ-2.2.4.2-R38", of_each=True)
def sample_base_of_zero(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    """The base of a sampled fraction is zero.

    Looks for: values of counters of type PERF_SAMPLE_BASE that are 0.

    Why it matters: clients divide by it.

    Specification: [MS-PCQ] section 2.2.4.2: a PERF_SAMPLE_BASE is the divisor of a PERF_SAMPLE_FRACTION and must be greater
    than 0. The text speaks of the value. For the division, the difference of two values must not be 0.

    Flagged: 0.

    Accepted: 1; a 0 of a base that has another type.

    Silent: where the capture does not state which counter a block is of, or of which type the counter is.
    """
    columns = columns_of(call, answer)
    for column in columns.known:
        if column.type != _SAMPLE_BASE:
            continue
        violations: list[Violation] = []
        for number, row in enumerate(column.block.rows):
            if not any(row.value(answer.data, column.place)):
                at, held = row.value_at(column.place), row.shape.data_sizes[column.place]
                path = value_path(column.block, number, column.place)
                violations.append(Violation(path, (at, at + held), "above 0", "0"))
        yield from judgements(call, len(column.block.rows), violations, "the base of a sampled fraction is zero")
    for reason in columns.reasons:
        yield inconclusive(reason, call)


_BY_REFERENCE = 1
_ENOUGH = 3
# A capture of very many instances must not make us remember each for ever.
_MOST = 100_000


class _Constant(Struct):
    """A counter value by reference that was the same in all answers so far, unless it `is_constant` no more; where it was met
    first."""

    value: bytes
    times: int
    is_constant: bool
    call: CallEvidence
    at: At


@rule("PCQ610", Level.VALUES, Severity.WARNING)
@of_calls("PCQ-2.2.4.2-R43", DATA)
class AddressInsteadOfValue(Watch[CallEvidence]):
    """A counter registered by reference answers with what looks like an address.

    Looks for: counters whose attributes say that the provider gave the address of a value. The rule reports such a counter if
    each of these is true:

    - Its value was the same number in at least three answers, and never another one.
    - The number can be an address in a 64-bit process: above 4 GiB, below 128 TiB, a multiple of 4.
    - Another counter of the same instance moved.

    Why it matters: the client shows a number that means nothing, and the server states where things lie in another process.

    Specification: [MS-PCQ] section 2.2.4.2, attribute 1: the server must follow the reference to get the value. Behaviour note
    <2> states how such references come about. That a number is an address can only be guessed, so this is a warning of low
    confidence.

    Flagged: as a warning, 0x1F3A4C20D0 in three answers of a counter by reference, beside one that counts.

    Accepted: values below 4 GiB; values that change.

    Silent: with fewer than three values, or where the registration or the meaning of the blocks is not in the capture.
    """

    def __init__(self, evidence: Evidence) -> None:
        self._seen: dict[tuple[str, str, str, int], _Constant] = {}
        # The last value of other counters, and instances in which one of them moved.
        self._others: dict[tuple[str, str, str, int], bytes] = {}
        self._moved: set[tuple[str, str, str]] = set()

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        if not call.reply.is_readable:
            yield inconclusive(UNREADABLE, call)
            return
        found = columns_of(call, call.reply.answer).known
        sets = {column.counterset for column in found if column.info["attributes"] & _BY_REFERENCE}
        for column in found:
            if column.counterset in sets:
                self._take(call, column)

    def _take(self, call: CallEvidence, column: ValueColumn) -> None:
        data, block = call.reply.answer.data, column.block
        names = list(block.names(data)) or [""]
        for number, (row, name) in enumerate(zip(block.rows, names, strict=False)):
            instance, value = (call.server, column.counterset, name), row.value(data, column.place)
            key = (*instance, column.counter_id)
            if not column.info["attributes"] & _BY_REFERENCE:
                if self._others.setdefault(key, value) != value:
                    self._moved.add(instance)
            elif (before := self._seen.get(key)) is not None:
                before.times += 1
                before.is_constant &= before.value == value
            elif len(self._seen) < _MOST:
                at, path = row.value_at(column.place), f"{value_path(block, number, column.place)}.value"
                self._seen[key] = _Constant(value, 1, True, call, At("response", path, (at, at + len(value))))

    def finish(self) -> Iterator[Judgement]:
        for key, seen in self._seen.items():
            number = int.from_bytes(seen.value, "little")
            may_be_address = len(seen.value) == 8 and 1 << 32 <= number < 1 << 47 and number % 4 == 0
            if not (seen.is_constant and may_be_address):
                yield passed(count=seen.times)
            elif seen.times < _ENOUGH or key[:3] not in self._moved:
                yield inconclusive("too few values to distinguish a constant from an address", seen.call)
            else:
                message = "a counter by reference always answered with what looks like an address"
                expected, sure = "what the reference leads to", Confidence.LOW
                yield warned(seen.call, seen.at, message, expected, f"{number:#x}", confidence=sure)


# All but raw counts, text, and the bases of others.
_OF_TWO_VALUES = frozenset(LISTED) - {*LISTED[:5], *LISTED[-4:]}


@rule("PCQ615", Level.VALUES, Severity.INFO)
@of_calls("PCQ-2.2.4.2-R41", DATA, needs_answer="a value is kept where one was answered")
class RateCounterPolledOnce(Watch[CallEvidence]):
    """A counter that needs two values was read once only.

    Looks for: query handles that hold counters whose type needs the value of a query before (rates, timers, averages), and how
    often their data were queried.

    Why it matters: no rate can be made of one value. This is no fault: the client may open the query only to see whether it
    works. The rule counts the handles that were read again, which shows that the client keeps values.

    Specification: [MS-PCQ] section 2.2.4.2: unless the type says that its value is instantaneous, the client may need to keep it
    and compare it with that of the next query.

    Flagged: nothing; a MAY cannot be broken.

    Accepted: two answers on one handle (counted as a pass).

    Silent: where a handle was read once, or its counters' types are not in the capture.
    """

    def __init__(self, evidence: Evidence) -> None:
        # By number of the handle: whether it holds such a counter, and how many answers it had.
        self._holds: dict[int, bool] = {}
        self._answers: dict[int, int] = {}

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        query = call.query
        if query is not None and call.reply.is_readable:
            self._answers[query.number] = self._answers.get(query.number, 0) + 1
            if not self._holds.get(query.number):
                known = columns_of(call, call.reply.answer).known
                self._holds[query.number] = any(column.type in _OF_TWO_VALUES for column in known)
        return iter(())

    def finish(self) -> Iterator[Judgement]:
        for number, answers in self._answers.items():
            if self._holds[number] and answers > 1:
                yield passed()
            elif self._holds[number]:
                yield inconclusive("a handle was read once only, so whether its value was kept does not show")
