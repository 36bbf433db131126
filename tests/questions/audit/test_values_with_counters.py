"""Values against the types their server registered."""

import pytest

from analyzer.questions.audit.server_statements import NO_REGISTRATION
from analyzer.questions.audit.values_with_counters import LISTED, NO_HANDLE
from tests.build.buffers import Block, identifier, perf_data, string_table
from tests.build.calls import COUNTERSET, Calls, sealed
from tests.questions.audit.conversation import ALL, u4, u8
from tests.questions.audit.judging import Case, by_name, holds, judged
from tests.questions.audit.registered import counterset, countersets, polled

RAW, SAMPLE_BASE, BULK, OBJECT_QUEUE, TEXT = 0x10000, 0x40030401, 0x10410500, 0x00650500, 0x00000B00
REQUIREMENTS = {kind: f"PCQ-2.2.4.2-R{number:02}" for number, kind in enumerate(LISTED, 4)}
IDS = "PCQ-2.2.4.11-R02"
ADDRESS = 0x1F3A4C20D0
KNOWN = countersets({COUNTERSET: (2, {1: RAW, 2: RAW})})
HELD = identifier(COUNTERSET, counter=ALL, name="a")


def value_of(kind, *, right=True):
    if kind == TEXT:
        return "abc\0".encode("utf-16-le") if right else b"abc"
    return u8(7) if (kind & 0x300 == 0x100) is right else u4(7)


def one(kind, *values):
    """A counter of a type, in one block, or in one block an instance where there are several values."""
    block = Block(1, values=(values,))
    if len(values) > 1:
        instances = tuple((str(number), number) for number in range(len(values)))
        block = Block(4, instances=instances, values=tuple((value,) for value in values))
    return [*countersets({COUNTERSET: (2, {1: kind})}), *polled(identifier(COUNTERSET, counter=1, name="*"), block)]


def ordered(kind, *values):
    """A number and a count in a block of type 2 or 6, in this order."""
    block = Block(kind, ids=(1, 2), instances=(("a", 0),) if kind == 6 else (), values=(values,))
    held = identifier(COUNTERSET, counter=ALL, name="*" if kind == 6 else "a")
    return [*countersets({COUNTERSET: (2, {1: RAW, 2: BULK})}), *polled(held, block)]


def data_of(ids):
    return perf_data([Block(2, ids=ids, values=(tuple(u4(7) for _ in ids),))])


def several(*ids):
    return polled(HELD, Block(2, ids=ids, values=(tuple(u4(7) for _ in ids),)))


def damaged():
    data, calls = bytearray(data_of((2, 9))), Calls()
    data[48 + 16 + 4] = 3  # the number of ids
    return [*KNOWN, calls.open_query(), calls.counter_info(HELD), calls.counter_data(bytes(data))]


def referenced(*values):
    """Answers with a counter by reference, of these values, beside one that counts."""
    calls = Calls()
    record = bytearray(counterset(COUNTERSET, 2, {1: BULK, 2: BULK}))
    record[32 + 8] = 1
    made = [calls.registration(1, bytes(record)), calls.open_query(), calls.counter_info(HELD)]
    for number, value in enumerate(values):
        made.append(calls.counter_data(perf_data([Block(2, ids=(1, 2), values=((u8(value), u8(number)),))])))
    return made


def polled_again(*, again=True, known=True):
    calls, block = Calls(), Block(1, values=((u8(7),),))
    made = countersets({COUNTERSET: (2, {1: BULK})}, calls) if known else []
    made += polled(identifier(COUNTERSET, counter=1, name="a"), block, calls=calls)
    return [*made, calls.counter_data(perf_data([block]))] if again else made


SUMMED = bytearray(counterset(COUNTERSET, 4, {1: BULK}))
SUMMED[32 + 40] = 1
SAMPLES = one(SAMPLE_BASE, u4(0))
PLAIN = countersets({COUNTERSET: (0, {1: BULK})})
CASES: list[Case] = [
    ("PCQ601", "the value of one instance", "fail", one(BULK, value_of(BULK), value_of(BULK, right=False))),
    *(
        ("PCQ601", f"{words} in type {kind}", verdict, ordered(kind, *values))
        for kind in (2, 6)
        for words, verdict, values in (
            ("the order of ids", "pass", (u4(7), u8(7))),
            ("another order", "fail", (u8(7), u4(7))),
        )
    ),
    *(
        (code, f"without {words}", "inconclusive", events)
        for code in ("PCQ601", "PCQ605")
        for words, events in (
            ("registration", SAMPLES[1:]),
            ("handle", [SAMPLES[0], SAMPLES[3]]),
            ("key", [*map(sealed, SAMPLES)]),
        )
    ),
    ("PCQ601", "a type that is not listed", "not-exercised", one(0x12345678, u4(1))),
    ("PCQ605", "a sample base of zero", "fail", one(SAMPLE_BASE, u4(1), u4(0))),
    ("PCQ605", "a sample base", "pass", one(SAMPLE_BASE, u4(1))),
    ("PCQ605", "another base of zero", "not-exercised", one(0x40030403, u4(0))),
    ("PCQ602", "a counter that is not registered", "fail", [*KNOWN, *several(2, 9)]),
    ("PCQ602", "a counter twice", "fail", [*KNOWN, *several(1, 1)]),
    ("PCQ602", "every counter is an occurrence", "pass", [*KNOWN, *several(2, 1)]),
    ("PCQ602", "without registration", "inconclusive", several(2, 9)),
    ("PCQ602", "a damaged block", "not-exercised", damaged()),
    ("PCQ610", "what looks like an address", "warn", referenced(ADDRESS, ADDRESS, ADDRESS)),
    ("PCQ610", "a number", "pass", referenced(7, 7, 7)),
    ("PCQ610", "an address that moves", "pass", referenced(ADDRESS, ADDRESS, ADDRESS + 8)),
    ("PCQ610", "two values", "inconclusive", referenced(ADDRESS, ADDRESS)),
    ("PCQ615", "polled again", "pass", polled_again()),
    ("PCQ615", "polled once", "inconclusive", polled_again(again=False)),
    ("PCQ615", "without registration", "not-exercised", polled_again(known=False)),
    ("PCQ620", "no aggregate", "not-exercised", PLAIN),
    ("PCQ620", "an aggregate", "pass", [Calls().registration(1, bytes(SUMMED))]),
]


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_values(case):
    holds(case)


@pytest.mark.parametrize("kind", LISTED, ids=hex)
def test_each_type_has_its_size(kind):
    verdict = judged("PCQ601", *one(kind, value_of(kind)))
    assert not verdict.findings
    assert verdict.count(REQUIREMENTS[kind]) == verdict.count("PCQ-2.2.4.9-R01") == 1
    (finding,) = judged("PCQ601", *one(kind, value_of(kind, right=False))).findings
    assert finding.judgement.requirements == (REQUIREMENTS[kind], "PCQ-2.2.4.9-R01")
    assert finding.judgement.outcome == ("warn" if kind == OBJECT_QUEUE else "fail")


def test_counters_of_which_only_names_are_known_are_not_registered():
    """Names (request code 5) list a counter that the registration does not: it has no type."""
    names = Calls().registration(5, string_table([(9, "Nine")], from_start=False), lcid=0x409)
    assert [one.judgement.seen for one in judged("PCQ602", *KNOWN, names, *several(2, 9)).findings] == ["9"]
    verdict = judged("PCQ602", names, *several(2, 9))
    assert (verdict.findings, verdict.verdict(IDS)) == ((), "inconclusive")
    assert list(verdict.coverage[IDS].reasons) == [NO_REGISTRATION]


def test_why_the_meaning_of_a_block_is_not_known_is_the_reason():
    lost = judged("PCQ602", *KNOWN, Calls().counter_data(data_of((2, 9)))).coverage[IDS].reasons
    assert list(lost) != [NO_HANDLE]
    assert all("handle" in reason for reason in lost)
