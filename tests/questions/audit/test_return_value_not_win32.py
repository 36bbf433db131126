import pytest

from analyzer.questions.audit.rules.error_codes import RESOURCES, RETURN_VALUES, SPACE, TYPE
from tests.build.calls import sealed
from tests.questions.audit.judging import judged
from tests.questions.audit.methods import call

EACH = pytest.mark.parametrize(("opnum", "requirement"), RETURN_VALUES.items())


@EACH
@pytest.mark.parametrize("status", [0, 5, 0x1073, 15105])
def test_numbers_of_win32_are_accepted(opnum, requirement, status):
    verdict = judged("PCQ220", call(opnum, status=status))
    assert not verdict.findings
    assert [verdict.count(name) for name in (SPACE, TYPE, requirement)] == [1, 1, 1]


@EACH
@pytest.mark.parametrize("status", [0x80070005, 0xC0000022])
def test_hresults_and_ntstatus_codes_are_flagged_at_the_return_value(opnum, requirement, status):
    (finding,) = judged("PCQ220", call(opnum, status=status)).findings
    assert finding.judgement.requirements == (requirement, SPACE, TYPE)
    assert finding.judgement.seen == f"{status:#x}"
    assert finding.place.stop - finding.place.start == 4


@EACH
def test_a_number_that_no_error_has_is_warned_of(opnum, requirement):
    (finding,) = judged("PCQ220", call(opnum, status=0x20000001)).findings
    assert finding.judgement.outcome == "warn"


@pytest.mark.parametrize(("method", "requirement"), RESOURCES.items())
def test_a_lack_of_resources_may_be_reported_at_any_time(method, requirement):
    opnum, status = method
    verdict = judged("PCQ220", call(opnum, status=status), call(opnum))
    assert not verdict.findings
    assert verdict.count(requirement) == 1


@EACH
def test_a_sealed_answer_proves_nothing(opnum, requirement):
    verdict = judged("PCQ220", sealed(call(opnum, status=0xC0000022)))
    assert not verdict.findings
    assert verdict.verdict(requirement) == "inconclusive"
