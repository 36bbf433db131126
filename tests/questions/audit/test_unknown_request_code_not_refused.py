import pytest

from tests.build.calls import Calls, sealed
from tests.questions.audit.judging import judged

REQUIREMENT = "PCQ-3.1.4.1.2-R09"


@pytest.mark.parametrize("status", [0, 8, 0x1068])
@pytest.mark.parametrize("code", [0, 11, 0xFFFFFFFF])
def test_another_answer_than_0x57_is_flagged_at_the_return_value(code, status):
    (finding,) = judged("PCQ701", Calls().registration(code, b"", status=status)).findings
    assert finding.judgement.expected == "ERROR_INVALID_PARAMETER (0x57)"
    assert finding.judgement.seen.endswith(f"({status:#x})")
    assert finding.place.part == "response stub"


def test_0x57_is_accepted():
    verdict = judged("PCQ701", Calls().registration(11, b"", status=0x57))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "pass"


@pytest.mark.parametrize(("code", "status"), [(1, 0), (10, 8), (11, 5)])
def test_codes_that_exist_and_refusals_for_other_reasons_are_not_judged(code, status):
    assert judged("PCQ701", Calls().registration(code, b"", status=status)).verdict(REQUIREMENT) == "not-exercised"


def test_a_sealed_call_proves_nothing():
    verdict = judged("PCQ701", sealed(Calls().registration(11, b"")))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "inconclusive"
