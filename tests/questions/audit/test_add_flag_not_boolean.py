import pytest

from tests.build.buffers import identifier
from tests.build.calls import COUNTERSET, Calls, sealed
from tests.questions.audit.judging import judged

REQUIREMENT = "PCQ-3.1.4.1.7-R10"
ONE = identifier(COUNTERSET, name="a")


@pytest.mark.parametrize("add", [2, 0xFFFFFFFF])
def test_other_numbers_are_warned_of(add):
    (finding,) = judged("PCQ217", Calls().validate(ONE, add=add)).findings
    assert (finding.judgement.outcome, finding.judgement.seen) == ("warn", f"{add:#x}")
    assert finding.place.start == 28 + len(ONE)


@pytest.mark.parametrize("add", [0, 1])
def test_true_and_false_are_accepted(add):
    verdict = judged("PCQ217", Calls().validate(ONE, add=add))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "pass"


def test_a_sealed_request_proves_nothing():
    verdict = judged("PCQ217", sealed(Calls().validate(ONE, add=2)))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "inconclusive"
