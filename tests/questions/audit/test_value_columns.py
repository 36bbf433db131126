"""Values against the types their server registered."""

import pytest

from analyzer.questions.audit.checks import NO_REGISTRATION
from analyzer.questions.audit.counter_types import LISTED
from analyzer.questions.audit.value_columns import NO_HANDLE
from tests.build.buffers import Block, identifier, perf_data, string_table
from tests.build.calls import COUNTERSET, Calls, sealed
from tests.questions.audit.judging import judged
from tests.questions.audit.registered import counterset, countersets, polled

ALL = 0xFFFFFFFF
SAMPLE_BASE, BULK, OBJECT_QUEUE, TEXT = 0x40030401, 0x10410500, 0x00650500, 0x00000B00
REQUIREMENTS = {kind: f"PCQ-2.2.4.2-R{number:02}" for number, kind in enumerate(LISTED, 4)}


def value_of(kind):
    if kind == TEXT:
        return "abc\0".encode("utf-16-le")
    return (7).to_bytes(8 if kind & 0x300 == 0x100 else 4, "little")


def wrong_for(kind):
    return b"abc" if kind == TEXT else (7).to_bytes(4 if kind & 0x300 == 0x100 else 8, "little")


def one(kind, *values):
    """A counter of a type, in one block, or in one block an instance where there are several values."""
    block = Block(1, values=(values,))
    if len(values) > 1:
        instances = tuple((str(number), number) for number in range(len(values)))
        block = Block(4, instances=instances, values=tuple((value,) for value in values))
    return [*countersets({COUNTERSET: (2, {1: kind})}), *polled(identifier(COUNTERSET, counter=1, name="*"), block)]


@pytest.mark.parametrize("kind", LISTED, ids=hex)
def test_each_type_has_its_size(kind):
    verdict = judged("PCQ601", *one(kind, value_of(kind)))
    assert not verdict.findings
    assert verdict.count(REQUIREMENTS[kind]) == verdict.count("PCQ-2.2.4.9-R01") == 1
    (finding,) = judged("PCQ601", *one(kind, wrong_for(kind))).findings
    assert finding.judgement.requirements == (REQUIREMENTS[kind], "PCQ-2.2.4.9-R01")
    assert finding.judgement.outcome == ("warn" if kind == OBJECT_QUEUE else "fail")
    assert finding.place.stop - finding.place.start == 4


def test_the_instance_whose_value_is_wrong_is_shown():
    (finding,) = judged("PCQ601", *one(BULK, value_of(BULK), wrong_for(BULK))).findings
    assert finding.judgement.at.path == "lpData.blocks[0].body.instances.instances[1].data[0].data_size"
    assert finding.judgement.seen == "4 bytes"


@pytest.mark.parametrize(("kind", "requirement"), [(2, "PCQ-3.1.4.1.6-R17"), (6, "PCQ-3.1.4.1.6-R27")])
def test_values_in_another_order_than_their_ids_are_flagged(kind, requirement):
    types = {1: 0x10000, 2: BULK}
    instances = (("a", 0),) if kind == 6 else ()

    def calls(*values):
        block = Block(kind, ids=(1, 2), instances=instances, values=(values,))
        held = identifier(COUNTERSET, counter=ALL, name="*" if kind == 6 else "a")
        return [*countersets({COUNTERSET: (2, types)}), *polled(held, block)]

    assert judged("PCQ601", *calls(value_of(0x10000), value_of(BULK))).verdict(requirement) == "pass"
    assert requirement in judged("PCQ601", *calls(value_of(BULK), value_of(0x10000))).requirements


@pytest.mark.parametrize("code", ["PCQ601", "PCQ605"])
def test_without_registration_or_handle_nothing_can_be_stated(code):
    calls = one(SAMPLE_BASE, b"\0\0\0\0")
    for events in (calls[1:], [calls[0], calls[3]], [sealed(call) for call in calls]):
        verdict = judged(code, *events)
        assert not verdict.findings
        # What is stated of values in an order is not asked of a block with one.
        assert {coverage.verdict for coverage in verdict.coverage.values()} <= {"inconclusive", "not-exercised"}
        assert verdict.coverage[next(iter(verdict.coverage))].reasons


def test_a_sample_base_of_zero_is_flagged_and_another_base_is_not():
    (finding,) = judged("PCQ605", *one(SAMPLE_BASE, b"\1\0\0\0", b"\0\0\0\0")).findings
    assert finding.judgement.at.path.endswith("instances[1].data[0]")
    assert judged("PCQ605", *one(SAMPLE_BASE, b"\1\0\0\0")).verdict("PCQ-2.2.4.2-R38") == "pass"
    assert judged("PCQ605", *one(0x40030403, b"\0\0\0\0")).verdict("PCQ-2.2.4.2-R38") == "not-exercised"


def several(ids):
    block = Block(2, ids=ids, values=(tuple(value_of(0x10000) for _ in ids),))
    return polled(identifier(COUNTERSET, counter=ALL, name="a"), block)


def test_a_counter_that_is_not_registered_is_flagged():
    known = countersets({COUNTERSET: (2, {1: 0x10000, 2: 0x10000})})
    (finding,) = judged("PCQ602", *known, *several((2, 9))).findings
    assert (finding.judgement.seen, finding.place.stop - finding.place.start) == ("9", 4)
    assert judged("PCQ602", *known, *several((1, 1))).findings
    assert judged("PCQ602", *known, *several((2, 1))).verdict("PCQ-2.2.4.11-R02") == "pass"
    assert judged("PCQ602", *several((2, 9))).verdict("PCQ-2.2.4.11-R02") == "inconclusive"


IDS = "PCQ-2.2.4.11-R02"


def test_counters_of_which_only_names_are_known_are_not_registered():
    """Names (request code 5) list a counter that the registration does not: it has no type."""
    calls = Calls()
    known = countersets({COUNTERSET: (2, {1: 0x10000, 2: 0x10000})}, calls)
    names = calls.registration(5, string_table([(9, "Nine")], from_start=False), lcid=0x409)
    answers = several((2, 9))
    assert [one.judgement.seen for one in judged("PCQ602", *known, names, *answers).findings] == ["9"]
    verdict = judged("PCQ602", names, *answers)
    assert (verdict.findings, verdict.verdict(IDS)) == ((), "inconclusive")
    assert list(verdict.coverage[IDS].reasons) == [NO_REGISTRATION]


def test_every_counter_id_of_a_block_is_an_occurrence():
    known = countersets({COUNTERSET: (2, {1: 0x10000, 2: 0x10000})})
    assert judged("PCQ602", *known, *several((2, 1))).count(IDS) == 2


def test_the_ids_of_a_damaged_block_are_not_judged():
    calls = Calls()
    known = countersets({COUNTERSET: (2, {1: 0x10000, 2: 0x10000})}, calls)
    data = bytearray(perf_data([Block(2, ids=(2, 9), values=((value_of(0x10000), value_of(0x10000)),))]))
    data[48 + 16 + 4] = 3  # the number of ids
    held = identifier(COUNTERSET, counter=ALL, name="a")
    events = [*known, calls.open_query(), calls.counter_info(held), calls.counter_data(bytes(data))]
    assert not judged("PCQ602", *events).findings


def test_why_the_meaning_of_a_block_is_not_known_is_the_reason():
    calls = Calls()
    known = countersets({COUNTERSET: (2, {1: 0x10000, 2: 0x10000})}, calls)
    data = perf_data([Block(2, ids=(2, 9), values=((value_of(0x10000), value_of(0x10000)),))])
    lost = judged("PCQ602", *known, calls.counter_data(data)).coverage[IDS].reasons
    assert list(lost) != [NO_HANDLE]
    assert all("handle" in reason for reason in lost)


def referenced(*values):
    """Answers with a counter by reference, of these values, beside one that counts."""
    calls = Calls()
    record = bytearray(counterset(COUNTERSET, 2, {1: BULK, 2: BULK}))
    record[32 + 8] = 1
    held = identifier(COUNTERSET, counter=ALL, name="a")
    made = [calls.registration(1, bytes(record)), calls.open_query(), calls.counter_info(held)]
    for number, value in enumerate(values):
        row = (value.to_bytes(8, "little"), number.to_bytes(8, "little"))
        made.append(calls.counter_data(perf_data([Block(2, ids=(1, 2), values=(row,))])))
    return made


ADDRESS = 0x1F3A4C20D0


def test_what_looks_like_an_address_is_a_warning_of_low_confidence():
    (finding,) = judged("PCQ610", *referenced(ADDRESS, ADDRESS, ADDRESS)).findings
    assert (finding.judgement.outcome, finding.judgement.confidence.name) == ("warn", "LOW")
    assert finding.judgement.seen == hex(ADDRESS)


def test_values_by_reference_are_accepted():
    assert judged("PCQ610", *referenced(7, 7, 7)).verdict("PCQ-2.2.4.2-R43") == "pass"
    assert judged("PCQ610", *referenced(ADDRESS, ADDRESS, ADDRESS + 8)).verdict("PCQ-2.2.4.2-R43") == "pass"


def test_two_values_do_not_make_an_address():
    assert judged("PCQ610", *referenced(ADDRESS, ADDRESS)).verdict("PCQ-2.2.4.2-R43") == "inconclusive"


def test_handles_that_are_polled_again_are_counted():
    calls = Calls()
    known = countersets({COUNTERSET: (2, {1: BULK})}, calls)
    first = polled(identifier(COUNTERSET, counter=1, name="a"), Block(1, values=((value_of(BULK),),)), calls=calls)
    again = calls.counter_data(perf_data([Block(1, values=((value_of(BULK),),))]))
    assert judged("PCQ615", *known, *first, again).verdict("PCQ-2.2.4.2-R41") == "pass"
    assert judged("PCQ615", *known, *first).verdict("PCQ-2.2.4.2-R41") == "inconclusive"
    assert judged("PCQ615", *first, again).verdict("PCQ-2.2.4.2-R41") == "not-exercised"


def test_aggregate_functions_are_counted_only():
    plain = countersets({COUNTERSET: (0, {1: BULK})})
    assert judged("PCQ620", *plain).verdict("PCQ-2.2.4.2-R75") == "not-exercised"
    summed = countersets({COUNTERSET: (4, {1: BULK})})[0]
    data = bytearray(summed.response.stub.data)
    data[20 + 32 + 40] = 1
    summed = Calls().registration(1, bytes(data[20:-4]))
    assert judged("PCQ620", summed).verdict("PCQ-2.2.4.2-R75") == "pass"
    unread = [sealed(call) for call in countersets({COUNTERSET: (0, {1: BULK})})]
    assert judged("PCQ620", *unread).verdict("PCQ-2.2.4.2-R75") == "inconclusive"
