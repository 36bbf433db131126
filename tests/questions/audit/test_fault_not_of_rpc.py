import pytest

from tests.build.calls import Calls
from tests.questions.audit.judging import judged

REQUIREMENT = "PCQ-3.1.4.1-R02"


@pytest.mark.parametrize("fault", [0x1C00001A, 0x1C010002, 0x6F7, 0x6C6, 5, 6])
def test_faults_of_rpc_are_accepted(fault):
    verdict = judged("PCQ121", Calls().faulted(6, b"", fault))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "pass"


@pytest.mark.parametrize(
    ("fault", "seen"),
    [(0xC0000005, "0xc0000005"), (0x1068, "ERROR_WMI_GUID_NOT_FOUND (0x1068)"), (0xE06D7363, "0xe06d7363")],
)
def test_exceptions_of_the_method_are_flagged_at_the_status(fault, seen):
    (finding,) = judged("PCQ121", Calls().faulted(6, b"", fault)).findings
    assert (finding.judgement.outcome, finding.judgement.seen) == ("fail", seen)
    assert (finding.place.part, finding.place.start, finding.place.stop) == ("response PDU 1", 24, 28)


def test_a_code_of_rpc_from_the_kernel_is_warned_of():
    (finding,) = judged("PCQ121", Calls().faulted(6, b"", 0xC0020017)).findings
    assert finding.judgement.outcome == "warn"


def test_calls_without_faults_have_nothing_to_judge():
    assert (
        judged("PCQ121", Calls().open_query(), Calls().exchange(6, b"", None)).verdict(REQUIREMENT) == "not-exercised"
    )
