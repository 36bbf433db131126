import pytest

from tests.build.buffers import perf_data
from tests.build.calls import Calls, sealed
from tests.questions.audit.judging import judged
from tests.questions.audit.methods import call, request

REQUIREMENT = "PCQ-3.1.4.1.8-R08"


def closed_then(later):
    calls = Calls()
    return [calls.open_query(), calls.close_query(), later(calls)]


@pytest.mark.parametrize("opnum", [4, 5, 6, 7])
def test_success_on_a_closed_handle_is_flagged(opnum):
    (finding,) = judged("PCQ714", *closed_then(lambda calls: call(opnum, calls))).findings
    assert (finding.call, finding.place.start, finding.place.stop) == (3, 0, 20)
    assert "call 2 had closed" in finding.judgement.message


def test_a_fault_or_an_error_is_accepted():
    def fault(calls):
        return calls.faulted(6, request(calls, 6), 0x1C00001A)

    for later in (fault, lambda calls: call(6, calls, status=6)):
        verdict = judged("PCQ714", *closed_then(later))
        assert not verdict.findings
        assert verdict.verdict(REQUIREMENT) == "pass"


def test_a_handle_given_out_anew_is_another_one():
    calls = Calls()
    events = [calls.open_query(), calls.close_query(), calls.open_query(), calls.counter_data(perf_data([]))]
    assert judged("PCQ714", *events).verdict(REQUIREMENT) == "not-exercised"


def test_a_close_that_cannot_be_read_closed_nothing():
    calls = Calls()
    verdict = judged("PCQ714", calls.open_query(), sealed(calls.close_query()), calls.counter_data(perf_data([])))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "inconclusive"
