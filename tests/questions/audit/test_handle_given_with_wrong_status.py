from tests.build.buffers import perf_data
from tests.build.calls import HANDLE, NO_HANDLE, Calls, sealed
from tests.questions.audit.handles import bound
from tests.questions.audit.judging import judged

ON_SUCCESS, ON_FAILURE = "PCQ-2.2.1-R02", "PCQ-3.1.4.1.4-R09"


def test_success_without_a_handle_is_flagged_at_its_bytes():
    (finding,) = judged("PCQ710", Calls().open_query(NO_HANDLE)).findings
    assert finding.judgement.requirement == ON_SUCCESS
    assert (finding.place.part, finding.place.start, finding.place.stop) == ("response stub", 0, 20)


def test_a_handle_along_with_an_error_that_works_is_flagged():
    calls = Calls()
    verdict = judged("PCQ710", bound(), calls.open_query(HANDLE, 5), calls.counter_data(perf_data([])))
    (finding,) = verdict.findings
    assert (finding.judgement.requirement, finding.judgement.outcome) == (ON_FAILURE, "fail")
    assert finding.judgement.message.endswith("call 2 succeeded with it")


def test_a_handle_along_with_an_error_that_nobody_uses_is_warned_of():
    (finding,) = judged("PCQ710", Calls().open_query(HANDLE, 5)).findings
    assert (finding.judgement.requirement, finding.judgement.outcome) == (ON_FAILURE, "warn")


def test_a_handle_on_success_and_none_on_failure_are_accepted():
    calls = Calls()
    verdict = judged("PCQ710", calls.open_query(), calls.open_query(NO_HANDLE, 5))
    assert not verdict.findings
    assert (verdict.count(ON_SUCCESS), verdict.count(ON_FAILURE)) == (1, 1)


def test_a_sealed_answer_proves_nothing():
    verdict = judged("PCQ710", sealed(Calls().open_query(NO_HANDLE)))
    assert not verdict.findings
    assert verdict.verdict(ON_SUCCESS) == "inconclusive"
