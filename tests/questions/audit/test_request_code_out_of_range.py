from tests.build.calls import Calls, sealed
from tests.questions.audit.judging import judged

REQUIREMENT = "PCQ-3.1.4.1.2-R15"


def test_a_code_that_does_not_exist_is_flagged_at_its_bytes():
    verdict = judged("PCQ210", Calls().registration(11, b"", status=0x57))
    (finding,) = verdict.findings
    assert finding.judgement.seen == "11"
    assert finding.place.part == "request stub"
    assert finding.place.stop - finding.place.start == 4
    assert verdict.verdict(REQUIREMENT) == "fail"


def test_the_last_code_of_the_list_is_accepted():
    verdict = judged("PCQ210", Calls().registration(10, b""))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "pass"


def test_a_sealed_request_proves_nothing():
    verdict = judged("PCQ210", sealed(Calls().registration(11, b"")))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "inconclusive"
    assert "sealed" in next(iter(verdict.coverage[REQUIREMENT].reasons))
