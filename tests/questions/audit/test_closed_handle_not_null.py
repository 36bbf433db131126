from tests.build.calls import HANDLE, Calls, sealed
from tests.questions.audit.judging import judged

REQUIREMENT = "PCQ-3.1.4.1.8-R06"


def closing(answered, status=0):
    calls = Calls()
    return calls.exchange(4, calls.stub().handle(HANDLE), calls.stub().handle(answered).uint(status))


def test_a_handle_that_comes_back_is_flagged():
    (finding,) = judged("PCQ711", closing(HANDLE)).findings
    assert (finding.judgement.seen, finding.place.start, finding.place.stop) == (HANDLE, 0, 20)


def test_the_null_handle_is_accepted():
    verdict = judged("PCQ711", Calls().close_query())
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "pass"


def test_a_refused_close_may_return_the_handle():
    assert judged("PCQ711", closing(HANDLE, 5)).verdict(REQUIREMENT) == "not-exercised"


def test_a_sealed_answer_proves_nothing():
    verdict = judged("PCQ711", sealed(closing(HANDLE)))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "inconclusive"
