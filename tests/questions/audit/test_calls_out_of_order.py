from tests.build.buffers import Block, identifier, perf_data
from tests.build.calls import COUNTERSET, OTHER_HANDLE, Calls, sealed
from tests.questions.audit.handles import bound, closed
from tests.questions.audit.judging import judged
from tests.questions.audit.methods import call

ADDED, MODEL = "PCQ-3.2.1-R03", "PCQ-4.1-R01"
ONE = identifier(COUNTERSET, name="a")
DATA = perf_data([Block(1, values=((bytes(8),),))])


def test_data_of_a_query_without_counters_is_warned_of():
    calls = Calls()
    (finding,) = judged("PCQ717", calls.open_query(), calls.counter_data(perf_data([]))).findings
    assert (finding.judgement.outcome, finding.judgement.requirements, finding.call) == ("warn", (ADDED, MODEL), 2)


def test_a_call_after_the_close_is_warned_of():
    calls = Calls()
    (finding,) = judged("PCQ717", calls.open_query(), calls.close_query(), call(6, calls, status=6)).findings
    assert (finding.judgement.outcome, finding.judgement.requirements, finding.call) == ("warn", (MODEL,), 3)


def test_adding_before_opening_is_warned_of():
    calls = Calls()
    events = [calls.validate(ONE), calls.open_query(), calls.counter_data(DATA)]
    found = judged("PCQ717", bound(), *events, closed()).findings
    assert [(finding.judgement.requirements, finding.call) for finding in found if finding.call == 1] == [((MODEL,), 1)]


def test_a_foreign_handle_is_no_matter_of_order():
    calls = Calls()
    opening = calls.open_query()
    stub = calls.stub().handle(OTHER_HANDLE).uint(64)
    foreign = calls.exchange(6, stub, calls.sized(b"", 6, room=64))
    assert not judged("PCQ717", bound(), opening, foreign, closed()).findings


def test_the_model_of_the_text_is_accepted():
    calls = Calls()
    events = [calls.open_query(), calls.validate(ONE), calls.counter_data(DATA), calls.counter_data(DATA)]
    verdict = judged("PCQ717", *events, calls.close_query())
    assert not verdict.findings
    assert (verdict.count(ADDED), verdict.count(MODEL)) == (2, 4)


def test_a_handle_from_before_the_capture_may_hold_counters():
    verdict = judged("PCQ717", Calls().counter_data(DATA))
    assert not verdict.findings
    assert verdict.verdict(ADDED) == "inconclusive"


def test_a_sealed_addition_may_have_added_counters():
    calls = Calls()
    verdict = judged("PCQ717", calls.open_query(), sealed(calls.validate(ONE)), calls.counter_data(DATA))
    assert not verdict.findings
    assert verdict.verdict(ADDED) == "inconclusive"
