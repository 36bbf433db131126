import pytest

from tests.build.calls import HANDLE, NO_HANDLE, Calls, sealed
from tests.questions.audit.judging import judged
from tests.questions.audit.methods import call, request, response

SHAPE, REFERENCE = "PCQ-2.2.1-R01", "PCQ-2.2.2-R01"


@pytest.mark.parametrize("opnum", [3, 4, 5, 6, 7])
def test_a_uuid_after_four_zero_bytes_is_accepted(opnum):
    verdict = judged("PCQ203", call(opnum))
    assert not verdict.findings
    assert verdict.verdict(SHAPE) == verdict.verdict(REFERENCE) == "pass"


def test_attributes_in_a_request_are_flagged():
    calls = Calls()
    asked = calls.stub().handle(HANDLE, 1).uint(4096)
    (finding,) = judged("PCQ203", calls.exchange(6, asked, response(calls, 6))).findings
    assert (finding.judgement.requirement, finding.judgement.seen) == (SHAPE, "0x1")
    assert (finding.place.part, finding.place.start, finding.place.stop) == ("request stub", 0, 4)


def test_attributes_in_an_answer_are_flagged():
    calls = Calls()
    (finding,) = judged("PCQ203", calls.exchange(3, request(calls, 3), calls.stub().handle(HANDLE, 7).uint(0))).findings
    assert (finding.judgement.requirement, finding.place.part) == (SHAPE, "response stub")


@pytest.mark.parametrize("opnum", [5, 6])
def test_a_referent_before_the_handle_is_flagged_as_such(opnum):
    calls = Calls()
    asked = calls.stub().pointer(0).handle(HANDLE).uint(4096)
    verdict = judged("PCQ203", calls.exchange(opnum, asked, response(calls, opnum)))
    (finding,) = verdict.findings
    assert (finding.judgement.requirement, finding.judgement.seen) == (REFERENCE, "0x20000")
    assert (finding.place.start, finding.place.stop) == (0, 4)


def test_no_handle_is_accepted():
    assert not judged("PCQ203", Calls().open_query(NO_HANDLE, 5)).findings


def test_sealed_calls_prove_nothing():
    verdict = judged("PCQ203", sealed(call(6)))
    assert not verdict.findings
    assert verdict.verdict(SHAPE) == verdict.verdict(REFERENCE) == "inconclusive"
