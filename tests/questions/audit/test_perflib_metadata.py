"""What perflib.h says of registrations: string offsets, and the number of counters."""

from struct import pack_into

import pytest

from tests.build.buffers import string_table
from tests.build.calls import Calls, sealed
from tests.questions.audit.judging import judged


@pytest.mark.parametrize("from_start", [False, True])
def test_of_two_readings_of_offsets_only_the_one_that_was_followed_is_kept(from_start):
    table = string_table([(1, "one"), (2, None), (3, "three")], from_start=from_start)
    (this, code), (other, other_code) = pairs = [("PL-QCD-R14", "PCQ390"), ("PCQ-2.2.4.4-R02", "PCQ333")]
    if not from_start:
        (other, other_code), (this, code) = pairs
    call = Calls().registration(5, table)
    assert judged(code, call).verdict(this) == "pass"
    assert judged(other_code, call).verdict(other) == "not-exercised"


def test_a_string_at_an_odd_place_is_flagged():
    table = bytearray(string_table([(1, "one"), (2, "two")], from_start=False))
    pack_into("<I", table, 20, 7)
    for code in ("PCQ390", "PCQ333"):
        (finding,) = judged(code, Calls().registration(10, bytes(table))).findings
        assert (finding.judgement.seen, finding.place.start) == ("7", 20 + 20)


@pytest.mark.parametrize("offset", [4096, 0x7FFFFFFF, 0xFFFFFFFE])
def test_an_offset_that_leads_nowhere_is_flagged(offset):
    table = bytearray(string_table([(1, "one"), (2, "two")], from_start=False))
    pack_into("<I", table, 20, offset)
    (finding,) = judged("PCQ390", Calls().registration(10, bytes(table))).findings
    assert finding.judgement.seen == str(offset)
    assert finding.place.start == 20 + 20


def test_a_string_without_its_nul_is_flagged():
    table = string_table([(1, "abcdefg")], from_start=False)
    assert judged("PCQ390", Calls().registration(5, table[:-4])).findings


def test_damaged_or_sealed_strings_prove_nothing():
    calls = Calls()
    table = string_table([(1, "one")], from_start=False)
    for call in (
        calls.registration(5, table[:4]),
        calls.registration(5, table[:12]),
        sealed(calls.registration(5, table)),
    ):
        verdict = judged("PCQ390", call)
        assert not verdict.findings
        assert verdict.verdict("PL-QCD-R14") == "inconclusive"


@pytest.mark.parametrize(("number", "verdict"), [(64_000, "pass"), (64_001, "fail"), (0, "pass")])
def test_a_counterset_has_at_most_64000_counters(number, verdict):
    record = bytes(24) + number.to_bytes(4, "little") + bytes(4)
    assert judged("PCQ391", Calls().registration(1, record)).verdict("PL-QCD-R17") == verdict
    assert judged("PCQ391", Calls().registration(1, record[:20])).verdict("PL-QCD-R17") == "inconclusive"
