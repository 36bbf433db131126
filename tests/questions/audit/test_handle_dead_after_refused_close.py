from analyzer.results.security import AuthLevel
from tests.build.calls import Calls, sealed
from tests.questions.audit.judging import judged
from tests.questions.audit.methods import request

REQUIREMENT = "PCQ-3.1.4.1.8-R07"


def refused(level=AuthLevel.INTEGRITY):
    """An open, and a close that was refused, at this level; the calls that follow are sealed."""
    opening, closing = Calls(), Calls(level=level, first_frame=10)
    return [opening.open_query(), closing.close_query(status=5)]


def later():
    return Calls(level=AuthLevel.PRIVACY, first_frame=20)


def test_a_handle_that_is_gone_is_flagged():
    (finding,) = judged("PCQ715", *refused(), later().faulted(4, request(later(), 4), 0x1C00001A)).findings
    assert (finding.call, finding.place.part) == (3, "response PDU 1")


def test_a_close_that_succeeds_then_is_accepted():
    verdict = judged("PCQ715", *refused(), later().close_query())
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "pass"


def test_a_handle_that_is_not_used_again_proves_nothing():
    verdict = judged("PCQ715", *refused())
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "inconclusive"


def test_5_to_a_sealed_close_means_something_else():
    assert judged("PCQ715", *refused(AuthLevel.PRIVACY), later().close_query()).verdict(REQUIREMENT) == "not-exercised"


def test_a_sealed_close_proves_nothing():
    opening, closing = refused()
    assert judged("PCQ715", opening, sealed(closing), later().close_query()).verdict(REQUIREMENT) == "inconclusive"
