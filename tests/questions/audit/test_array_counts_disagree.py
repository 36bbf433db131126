from struct import pack

import pytest

from analyzer.questions.audit.rules.stubs import ANSWERED_COUNTS, BOTH_WAYS, LENGTH
from tests.build.calls import HANDLE, Calls, sealed
from tests.questions.audit.judging import judged
from tests.questions.audit.methods import call, request, response

BOTH_SYNTAXES = pytest.mark.parametrize("ndr64", [False, True])
METHODS = pytest.mark.parametrize("opnum", ANSWERED_COUNTS)


def answered(opnum, stub, **options):
    calls = Calls(**options)
    return calls.exchange(opnum, request(calls, opnum), stub)


@METHODS
@BOTH_SYNTAXES
def test_counts_that_agree_are_accepted(opnum, ndr64):
    verdict = judged("PCQ204", call(opnum, Calls(ndr64=ndr64)))
    assert not verdict.findings
    assert [verdict.count(requirement) for requirement in ANSWERED_COUNTS[opnum]] == [1, 1]


@METHODS
@BOTH_SYNTAXES
def test_another_room_than_was_offered_is_flagged(opnum, ndr64):
    calls = Calls(ndr64=ndr64)
    (finding,) = judged("PCQ204", answered(opnum, response(calls, opnum, size=128), ndr64=ndr64)).findings
    assert (finding.judgement.requirement, finding.judgement.expected, finding.judgement.seen) == (
        ANSWERED_COUNTS[opnum][0],
        "64",
        "128",
    )
    assert (finding.place.start, finding.place.stop) == (8, 16 if ndr64 else 12)


@METHODS
@pytest.mark.parametrize(
    ("counts", "seen", "place"),
    [((0, 64, 8, 0), "8", 12), ((3, 64, 0, 0), "0", 16), ((80, 64, 0, 80), "80", 16)],
    ids=["offset", "length", "overrun"],
)
def test_other_elements_than_the_size_says_are_flagged(opnum, counts, seen, place):
    out, room, offset, actual = counts
    stub = pack("<5I", out, out, room, offset, actual) + bytes(actual * (16 if opnum == 0 else 1)) + pack("<I", 0)
    verdict = judged("PCQ204", answered(opnum, stub))
    (finding,) = verdict.findings
    assert (finding.judgement.requirement, finding.judgement.seen) == (ANSWERED_COUNTS[opnum][1], seen)
    assert (finding.place.start, finding.place.stop) == (place, place + 4)


@METHODS
def test_sealed_answers_prove_nothing(opnum):
    verdict = judged("PCQ204", sealed(call(opnum)))
    assert not verdict.findings
    assert {verdict.verdict(requirement) for requirement in ANSWERED_COUNTS[opnum]} == {"inconclusive"}


@METHODS
def test_a_request_that_does_not_decode_offers_no_size(opnum):
    calls = Calls()
    verdict = judged("PCQ204", calls.exchange(opnum, request(calls, opnum).data[:-4], response(calls, opnum)))
    assert not verdict.findings
    assert {verdict.verdict(requirement) for requirement in ANSWERED_COUNTS[opnum]} == {"inconclusive"}


def test_validation_repeats_its_size_both_ways():
    verdict = judged("PCQ204", call(7))
    assert not verdict.findings
    assert (verdict.count(BOTH_WAYS), verdict.count(LENGTH)) == (1, 1)


def test_a_request_for_validation_with_another_count_is_flagged():
    calls = Calls()
    asked = calls.stub().handle(HANDLE).uint(64).conformant(bytes(40)).uint(1)
    (finding,) = judged("PCQ204", calls.exchange(7, asked, response(calls, 7))).findings
    assert finding.judgement.requirements == (LENGTH, BOTH_WAYS)
    assert (finding.place.part, finding.place.start) == ("request stub", 24)


def test_an_answer_to_validation_with_another_count_is_flagged():
    (finding,) = judged("PCQ204", answered(7, response(Calls(), 7, size=40))).findings
    assert finding.judgement.requirements == (BOTH_WAYS,)
    assert (finding.place.part, finding.place.start) == ("response stub", 0)
