from tests.build.buffers import perf_data
from tests.build.calls import Calls, sealed
from tests.questions.audit.judging import judged

CLOCK, FREQUENCY = "PCQ-2.2.4.7-R04", "PCQ-2.2.4.7-R06"
NOW = 133_541_156_967_890_000


def answers(*clocks):
    calls = Calls()
    return [calls.counter_data(perf_data([], (ticks, NOW, frequency))) for ticks, frequency in clocks]


def test_a_clock_that_goes_back_is_flagged():
    verdict = judged("PCQ520", *answers((1000, 10), (900, 10)))
    assert verdict.requirements == {CLOCK}
    assert verdict.findings[0].place.part == "response stub"


def test_a_frequency_of_zero_is_flagged():
    assert judged("PCQ520", *answers((1000, 0))).requirements == {FREQUENCY}


def test_a_clock_that_stands_still_is_accepted():
    verdict = judged("PCQ520", *answers((1000, 10), (1000, 10)))
    assert not verdict.findings
    assert verdict.count(CLOCK) == 2


def test_sealed_answers_prove_nothing():
    verdict = judged("PCQ520", *[sealed(call) for call in answers((1000, 10), (900, 10))])
    assert not verdict.findings
    assert verdict.verdict(CLOCK) == "inconclusive"
