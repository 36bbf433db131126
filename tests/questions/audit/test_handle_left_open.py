from tests.build.buffers import perf_data
from tests.build.calls import Calls, sealed
from tests.questions.audit.handles import closed
from tests.questions.audit.judging import judged

TYPE, CLIENT = "PCQ-2.2.1-R05", "PCQ-3.2.1-R05"


def polled():
    calls = Calls()
    return calls, [calls.open_query(), calls.counter_data(perf_data([]))]


def test_a_pipe_that_ends_with_an_open_handle_is_warned_of():
    (finding,) = judged("PCQ716", *polled()[1], closed()).findings
    assert (finding.judgement.outcome, finding.judgement.requirements) == ("warn", (TYPE, CLIENT))
    assert (finding.call, finding.place.part, finding.place.stop) == (1, "response stub", 20)


def test_a_close_is_accepted():
    calls, events = polled()
    verdict = judged("PCQ716", *events, calls.close_query(), closed())
    assert not verdict.findings
    assert verdict.count(TYPE) == verdict.count(CLIENT) == 1


def test_a_capture_that_ends_first_proves_nothing():
    verdict = judged("PCQ716", *polled()[1])
    assert not verdict.findings
    assert verdict.verdict(TYPE) == "inconclusive"


def test_a_call_that_cannot_be_read_may_have_closed_it():
    calls, events = polled()
    verdict = judged("PCQ716", *events, sealed(calls.close_query()), closed())
    assert not verdict.findings
    assert verdict.verdict(CLIENT) == "inconclusive"
