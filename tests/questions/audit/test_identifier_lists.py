"""Counter identifiers of QueryCounterInfo and ValidateCounters: each field broken, the rule that speaks, and where it points."""

from struct import pack_into

import pytest

from analyzer.questions.audit.identifier_lists import read_identifiers
from analyzer.questions.audit.verdicts import Violation
from tests.build.buffers import identifier
from tests.build.calls import COUNTERSET, OTHER_COUNTERSET, Calls, sealed
from tests.questions.audit.judging import judged
from tests.questions.audit.registered import countersets

CODES = ("PCQ401", "PCQ402", "PCQ405", "PCQ410", "PCQ412", "PCQ415", "PCQ416", "PCQ420", "PCQ425", "PCQ430")
MULTIPLE, SINGLE = COUNTERSET, OTHER_COUNTERSET
# The name takes 6 bytes with its NUL, so 2 of padding follow.
NAMED = identifier(MULTIPLE, name="ab")
TWO = NAMED + identifier(MULTIPLE, counter=2, name="ab")


def registered():
    return countersets({MULTIPLE: (2, {1: 0x10000, 2: 0x10000}), SINGLE: (0, {1: 0x10000})})


def with_(data, at, form, value):
    changed = bytearray(data)
    pack_into(form, changed, at, value)
    return bytes(changed)


def info(data):
    return Calls().counter_info(data)


def asked(data, answered=None, **options):
    return Calls().validate(data, answered, **options)


def stated(*events):
    return {code for code in CODES if judged(code, *registered(), *events).findings}


def test_nothing_is_said_of_sound_identifiers():
    assert stated(info(TWO), asked(TWO), asked(TWO, with_(TWO, 16, "<I", 0x106A))) == set()


@pytest.mark.parametrize("code", CODES)
def test_every_requirement_passes_on_sound_identifiers(code):
    both = NAMED + identifier(SINGLE, name="" if code != "PCQ412" else None)
    verdict = judged(code, *registered(), info(both), asked(both))
    assert {coverage.verdict for coverage in verdict.coverage.values()} == {"pass"}


@pytest.mark.parametrize("name", [None, "", "a"])
def test_of_two_readings_of_a_name_where_there_are_no_instances_at_most_one_is_kept(name):
    events = [*registered(), asked(identifier(SINGLE, name=name))]
    text = judged("PCQ410", *events).verdict("PCQ-3.1.4.1.7-R14")
    header = judged("PCQ412", *events).verdict("PL-QCD-R11")
    assert (text, header) == {
        None: ("not-exercised", "pass"),
        "": ("pass", "not-exercised"),
        "a": ("pass", "not-exercised"),
    }[name]


@pytest.mark.parametrize("code", CODES)
def test_sealed_identifiers_prove_nothing(code):
    broken = with_(NAMED, 20, "<I", 7)
    verdict = judged(code, sealed(info(broken)), sealed(asked(broken)))
    assert not verdict.findings
    assert {coverage.verdict for coverage in verdict.coverage.values()} == {"inconclusive"}


SIZES = {"zero": 0, "below the structure": 32, "one more than is there": 56, "into the next": 64}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("last", [False, True])
def test_a_size_that_does_not_lead_on_is_flagged_where_it_stands(size, last):
    at = 48 + 20 if last else 20
    broken = with_(TWO, at, "<I", size)
    (finding,) = judged("PCQ402", info(broken)).findings
    assert (finding.judgement.seen, finding.place.start) == (str(size), 20 + at)
    assert stated(asked(broken)) >= {"PCQ401", "PCQ402"}


def test_a_buffer_below_one_identifier_is_flagged():
    assert stated(asked(bytes(20), b"", status=0x57)) == {"PCQ401"}


def test_half_a_character_is_flagged_and_half_a_pair_is_a_warning():
    uneven = with_(identifier(MULTIPLE, name="ab")[:47], 20, "<I", 47)
    assert "PCQ405" in stated(info(uneven))
    (finding,) = judged(
        "PCQ405", info(identifier(MULTIPLE)[:20] + b"\x30\0\0\0" + bytes(16) + b"\0\xd8a\0\0\0\0\0")
    ).findings
    assert finding.judgement.outcome == "warn"
    assert not judged("PCQ405", info(identifier(MULTIPLE, name="\U0001f4a9"))).findings


def test_a_name_is_missing_after_an_identifier_of_a_set_with_instances():
    assert stated(info(identifier(MULTIPLE))) == {"PCQ410"}
    assert stated(asked(identifier(MULTIPLE))) == {"PCQ410"}


def test_a_name_without_a_nul_is_flagged():
    endless = with_(identifier(MULTIPLE) + "abcd".encode("utf-16-le"), 20, "<I", 48)
    assert stated(info(endless)) == {"PCQ410"}


def test_a_missing_name_of_a_single_instance_set_passes_with_a_note():
    (finding,) = judged("PCQ410", *registered(), info(identifier(SINGLE))).findings
    assert finding.is_excused
    assert judged("PCQ410", *registered(), info(identifier(SINGLE)), profile="spec").findings[0].severity == "error"
    assert stated(asked(identifier(SINGLE))) == set()


def test_a_missing_name_is_inconclusive_without_the_registration():
    verdict = judged("PCQ410", info(identifier(MULTIPLE)), asked(identifier(MULTIPLE)))
    assert not verdict.findings
    assert {coverage.verdict for coverage in verdict.coverage.values()} == {"inconclusive"}


def test_a_name_of_a_set_without_instances_is_worth_knowing():
    (finding,) = judged("PCQ412", *registered(), info(identifier(SINGLE, name="x"))).findings
    assert (finding.severity, finding.judgement.seen) == ("info", "'x'")


def test_a_size_off_eight_is_flagged_on_both_sides():
    odd = with_(NAMED[:46], 20, "<I", 46)
    assert stated(info(odd)) == {"PCQ415"}
    assert judged("PCQ415", info(odd)).requirements == {"PCQ-3.1.4.1.5-R16", "PL-QCD-R12"}
    assert judged("PCQ415", asked(odd)).requirements == {"PL-QCD-R12"}


def test_padding_must_be_zero_in_answers_of_query_counter_info_only():
    padded = NAMED[:46] + b"\x41\0"
    (finding,) = judged("PCQ416", info(padded)).findings
    assert (finding.place.start, finding.place.stop) == (20 + 46, 20 + 48)
    assert stated(asked(padded)) == set()


@pytest.mark.parametrize(
    ("at", "requirements"),
    [(36, {"PCQ-2.2.4.6-R06"}), (16, {"PL-QCD-R13"}), (32, {"PL-QCD-R13"})],
)
def test_fields_a_client_must_not_set(at, requirements):
    preset = with_(NAMED, at, "<I", 0x57)
    assert judged("PCQ420", asked(preset, NAMED)).requirements == requirements
    assert judged("PCQ420", asked(preset, NAMED, add=0)).requirements == requirements - {"PL-QCD-R13"}


@pytest.mark.parametrize(
    ("status", "outcome", "requirement"),
    [
        (0xC0000034, "fail", "PCQ-2.2.4.6-R02"),
        (0x12345, "warn", "PCQ-2.2.4.6-R02"),
        (5, "warn", "PCQ-3.1.4.1.7-R19"),
    ],
)
def test_a_status_that_is_not_in_the_table_is_reported(status, outcome, requirement):
    (finding,) = judged("PCQ425", asked(NAMED, with_(NAMED, 16, "<I", status))).findings
    assert (finding.judgement.outcome, finding.judgement.requirement) == (outcome, requirement)


def test_garbage_in_a_status_of_query_counter_info_is_a_warning():
    (finding,) = judged("PCQ425", info(with_(NAMED, 16, "<I", 0xCCCCCCCC))).findings
    assert finding.judgement.outcome == "warn"
    assert finding.judgement.requirements == ("PCQ-3.1.4.1.5-R14", "PCQ-2.2.4.6-R02")


def test_a_status_left_as_the_client_had_set_it():
    preset = with_(NAMED, 16, "<I", 0x777)
    assert "PCQ-3.1.4.1.7-R18" in judged("PCQ425", asked(preset)).requirements
    assert judged("PCQ425", asked(with_(NAMED, 16, "<I", 3))).verdict("PCQ-3.1.4.1.7-R18") == "inconclusive"
    assert judged("PCQ425", asked(preset, NAMED)).verdict("PCQ-3.1.4.1.7-R18") == "pass"


@pytest.mark.parametrize(("at", "value"), [(0, 7), (24, 9), (28, 9), (36, 9), (40, 0x62)])
def test_another_field_changed_on_return_is_a_warning(at, value):
    (finding,) = judged("PCQ430", asked(TWO, with_(TWO, at, "<I", value))).findings
    assert finding.judgement.outcome == "warn"


def test_fewer_identifiers_on_return_are_a_failure():
    (finding,) = judged("PCQ430", asked(TWO, NAMED)).findings
    assert finding.judgement.outcome == "fail"


def test_status_and_index_may_change_on_return():
    assert not judged("PCQ430", asked(TWO, with_(with_(TWO, 16, "<I", 0x106A), 32, "<I", 4))).findings


@pytest.mark.parametrize(("name", "size"), [("ab", 48), ("abc", 48), ("abcd", 56), ("abcdefg", 56)])
def test_a_size_that_leaves_out_the_name_is_blamed_itself(name, size):
    """The list leads on behind the name, so the size of the identifier before it is what is wrong."""
    data = with_(identifier(MULTIPLE, name=name), 20, "<I", 40) + NAMED
    found = read_identifiers(data)
    assert found.flaw == Violation("lpData.identifiers[0].size", (20, 24), f"{size}", "40")
    # Where it leads nowhere, nobody knows.
    elsewhere = read_identifiers(with_(data, size + 20, "<I", 39)).flaw
    assert elsewhere is not None
    assert elsewhere.path == "lpData.identifiers[1].size" or elsewhere.seen != "40"


def test_what_asks_for_everything():
    one, named, every = read_identifiers(
        identifier(MULTIPLE, name="a*")
        + identifier(MULTIPLE, name="b", counter=0xFFFFFFFF)
        + identifier(MULTIPLE, name="*")
    ).blocks
    assert [block.asks_all_counters for block in (one, named, every)] == [False, True, False]
    assert [block.asks_all_instances for block in (one, named, every)] == [False, False, True]
