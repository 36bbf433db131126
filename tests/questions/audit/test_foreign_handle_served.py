import pytest
from msgspec.structs import replace

from analyzer.questions.audit.rules.handles import FOREIGN_HANDLES, OTHER_INTERFACE
from tests.build.calls import HANDLE, Calls, sealed, winreg
from tests.build.rpc import CHANNEL
from tests.questions.audit.handles import bound
from tests.questions.audit.judging import judged
from tests.questions.audit.methods import call, request

EACH = pytest.mark.parametrize(("opnum", "requirement"), FOREIGN_HANDLES.items())


@EACH
def test_serving_a_handle_that_was_not_given_out_is_flagged(opnum, requirement):
    (finding,) = judged("PCQ713", bound(), call(opnum)).findings
    assert finding.judgement.requirements == (requirement,)
    assert (finding.judgement.seen, finding.place.start, finding.place.stop) == (HANDLE, 4, 20)


@EACH
@pytest.mark.parametrize("fault", [0x1C00001A, 6])
def test_a_fault_is_accepted(opnum, requirement, fault):
    verdict = judged("PCQ713", bound(), Calls().faulted(opnum, request(Calls(), opnum), fault))
    assert not verdict.findings
    assert verdict.verdict(requirement) == "pass"


@EACH
def test_an_error_is_accepted(opnum, requirement):
    assert judged("PCQ713", bound(), call(opnum, status=6)).verdict(requirement) == "pass"


@EACH
def test_handles_that_were_given_out_show_nothing(opnum, requirement):
    calls = Calls()
    assert judged("PCQ713", bound(), calls.open_query(), call(opnum, calls)).verdict(requirement) == "not-exercised"


@EACH
def test_where_the_opening_may_have_been_missed_nothing_is_judged(opnum, requirement):
    assert not judged("PCQ713", call(opnum)).findings


@EACH
def test_sealed_calls_prove_nothing(opnum, requirement):
    verdict = judged("PCQ713", bound(), sealed(call(opnum)))
    assert not verdict.findings
    assert verdict.verdict(requirement) == "inconclusive"


def test_a_lost_answer_proves_nothing():
    lost = replace(call(6), response=None, state="request-only")
    assert judged("PCQ713", bound(), lost).verdict(FOREIGN_HANDLES[6]) == "inconclusive"


@pytest.mark.parametrize(("status", "expected"), [(0, "fail"), (6, "pass")])
def test_a_handle_of_the_registry_is_to_be_rejected_though_the_bind_was_missed(status, expected):
    key = winreg(channel=CHANNEL).open_key()
    verdict = judged("PCQ713", key, call(6, Calls(first_frame=10), status=status))
    assert verdict.verdict(OTHER_INTERFACE) == verdict.verdict(FOREIGN_HANDLES[6]) == expected
