from analyzer.questions.audit.verdicts import Severity
from analyzer.results.security import AuthLevel
from tests.build.calls import Calls
from tests.questions.audit.judging import judged
from tests.questions.audit.methods import call, request

RIGHTS, MEMBERS = "PCQ-1.5-R02", "PCQ-2.1-R07"


def sealed_calls():
    return Calls(level=AuthLevel.PRIVACY)


def test_a_refusal_of_a_sealed_request_is_reported_for_information():
    verdict = judged("PCQ130", call(0, sealed_calls(), status=5))
    (finding,) = verdict.findings
    assert (finding.severity, finding.place.part) == (Severity.INFO, "response stub")
    assert (verdict.verdict(RIGHTS), verdict.verdict(MEMBERS)) == ("pass", "pass")


def test_a_fault_may_refuse_as_well():
    calls = sealed_calls()
    (finding,) = judged("PCQ130", calls.faulted(6, request(calls, 6), 5)).findings
    assert finding.place.part == "response PDU 1"


def test_any_other_answer_is_accepted():
    verdict = judged("PCQ130", call(0, sealed_calls()), call(6, sealed_calls(), status=8))
    assert not verdict.findings
    assert verdict.count(RIGHTS) == 2


def test_below_privacy_the_code_has_another_meaning():
    verdict = judged("PCQ130", call(0, Calls(), status=5))
    assert not verdict.findings
    assert verdict.verdict(RIGHTS) == "not-exercised"
