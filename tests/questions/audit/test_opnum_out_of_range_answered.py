import pytest

from tests.build.calls import Calls
from tests.questions.audit.judging import judged

REQUIREMENT = "PCQ-3.1.4.1-R01"


def test_an_answer_to_opnum_8_is_flagged_at_the_opnum():
    (finding,) = judged("PCQ120", Calls().exchange(8, b"", bytes(4))).findings
    assert (finding.judgement.seen, finding.place.start, finding.place.stop) == ("opnum 8", 22, 24)


@pytest.mark.parametrize("fault", [0x1C010002, 1745, 5])
def test_a_fault_that_says_so_is_accepted(fault):
    verdict = judged("PCQ120", Calls().faulted(9, b"", fault))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "pass"


def test_a_fault_for_another_reason_is_warned_of():
    (finding,) = judged("PCQ120", Calls().faulted(9, b"", 0x1C000012)).findings
    assert (finding.judgement.outcome, finding.place.part) == ("warn", "response PDU 1")


def test_the_methods_of_the_idl_do_not_exercise_it():
    assert judged("PCQ120", Calls().open_query()).verdict(REQUIREMENT) == "not-exercised"


def test_that_the_server_answers_is_not_held_against_the_client():
    (finding,) = judged("PCQ120", Calls().exchange(8, b"", b"")).findings
    assert finding.actor == "server"


def test_a_lost_answer_proves_nothing():
    verdict = judged("PCQ120", Calls().exchange(8, b"", None))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "inconclusive"
