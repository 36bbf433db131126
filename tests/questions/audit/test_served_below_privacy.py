import pytest
from msgspec.structs import replace

from analyzer.questions.audit.rules.security import CODE_OF_METHOD, SERVED
from analyzer.results.security import AuthLevel
from tests.build.calls import Calls
from tests.questions.audit.judging import judged
from tests.questions.audit.methods import call, request


def one_call(opnum, calls, *, status=0, fault=None):
    if fault is not None:
        return calls.faulted(opnum, request(calls, opnum), fault)
    return call(opnum, calls, status=status)


@pytest.mark.parametrize(("opnum", "code"), CODE_OF_METHOD.items())
def test_a_method_that_served_an_unsealed_request_is_flagged(opnum, code):
    verdict = judged("PCQ102", one_call(opnum, Calls(level=AuthLevel.INTEGRITY), status=0))
    (finding,) = verdict.findings
    assert finding.judgement.requirements == (SERVED, code)
    assert (finding.place.part, finding.place.stop - finding.place.start) == ("response stub", 4)
    assert verdict.verdict(code) == "fail"


@pytest.mark.parametrize("answer", [{"status": 5}, {"fault": 5}])
@pytest.mark.parametrize(("opnum", "code"), CODE_OF_METHOD.items())
def test_a_refusal_is_what_the_server_owes(opnum, code, answer):
    verdict = judged("PCQ102", one_call(opnum, Calls(level=AuthLevel.INTEGRITY), **answer))
    assert not verdict.findings
    assert verdict.verdict(SERVED) == verdict.verdict(code) == "pass"


def test_another_error_says_that_the_request_was_looked_at():
    (finding,) = judged("PCQ102", one_call(0, Calls(), status=8)).findings
    assert finding.judgement.seen == "ERROR_NOT_ENOUGH_MEMORY (0x8)"


def test_a_fault_for_another_reason_is_a_refusal_that_says_nothing_of_the_code():
    verdict = judged("PCQ102", one_call(6, Calls(), fault=0x1C00001A))
    assert not verdict.findings
    assert (verdict.verdict(SERVED), verdict.verdict(CODE_OF_METHOD[6])) == ("pass", "not-exercised")


def test_a_sealed_request_may_be_answered_and_shows_nothing_of_the_code():
    verdict = judged("PCQ102", one_call(3, Calls(level=AuthLevel.PRIVACY), status=0))
    assert not verdict.findings
    assert (verdict.verdict(SERVED), verdict.verdict(CODE_OF_METHOD[3])) == ("not-exercised", "not-exercised")


def test_a_response_in_clear_to_a_sealed_request_is_flagged():
    sealed, clear = one_call(6, Calls(level=AuthLevel.PRIVACY)), one_call(6, Calls())
    verdict = judged("PCQ102", replace(sealed, response=clear.response))
    (finding,) = verdict.findings
    assert (finding.judgement.requirements, finding.judgement.seen) == ((SERVED,), "no security trailer")
    assert (finding.place.part, finding.place.start, finding.place.stop) == ("response PDU 1", 10, 12)


def test_a_fault_in_clear_has_nothing_to_hide():
    sealed, clear = one_call(6, Calls(level=AuthLevel.PRIVACY)), one_call(6, Calls(), fault=0x1C00001A)
    assert not judged("PCQ102", replace(sealed, response=clear.response, fault=0x1C00001A)).findings


def test_a_lost_answer_proves_nothing():
    verdict = judged("PCQ102", replace(one_call(3, Calls(), status=0), response=None, state="request-only"))
    assert not verdict.findings
    assert verdict.verdict(SERVED) == verdict.verdict(CODE_OF_METHOD[3]) == "inconclusive"
