from struct import pack
from uuid import UUID

import pytest

from tests.build.buffers import instance_header
from tests.build.calls import COUNTERSET, Calls, sealed
from tests.questions.audit.judging import judged
from tests.questions.audit.methods import request

NONE_ACTIVE, REGINFO = "PCQ-3.1.4.1.3-R11", "PCQ-3.1.4.1.3-R12"


def registered(kind):
    return Calls().registration(1, UUID(COUNTERSET).bytes_le + pack("<4I", 0, 100, 0, kind))


def listed(*names, status=0):
    calls = Calls(first_frame=10)
    data = b"".join(instance_header(name, number) for number, name in enumerate(names))
    return calls.exchange(2, request(calls, 2, 4096), calls.sized(data, status, room=4096))


def test_several_instances_of_a_single_instance_counterset_are_flagged_at_the_second():
    (finding,) = judged("PCQ704", registered(0), listed("a", "b")).findings
    assert (finding.judgement.requirement, finding.judgement.seen) == (REGINFO, "2")
    # Behind five counts and the first instance, which takes 8 bytes and its padded name 8.
    assert (finding.place.part, finding.place.start) == ("response stub", 36)


@pytest.mark.parametrize(("kind", "names"), [(0, [""]), (0, ["a"]), (2, ["a", "b"]), (6, ["a", "b"])])
def test_as_many_as_were_registered_are_accepted(kind, names):
    verdict = judged("PCQ704", registered(kind), listed(*names))
    assert not verdict.findings
    assert verdict.verdict(NONE_ACTIVE) == verdict.verdict(REGINFO) == "not-exercised"


def test_an_empty_list_that_is_called_success_is_warned_of():
    (finding,) = judged("PCQ704", listed()).findings
    assert (finding.judgement.requirement, finding.judgement.outcome) == (NONE_ACTIVE, "warn")


def test_data_along_with_0x1069_is_warned_of():
    (finding,) = judged("PCQ704", listed("a", status=0x1069)).findings
    assert (finding.judgement.requirement, finding.judgement.outcome) == (NONE_ACTIVE, "warn")


@pytest.mark.parametrize(("status", "requirement"), [(0x1069, NONE_ACTIVE), (0x1073, REGINFO)])
def test_the_codes_for_it_are_accepted(status, requirement):
    verdict = judged("PCQ704", listed(status=status))
    assert not verdict.findings
    assert verdict.verdict(requirement) == "pass"


def test_without_registration_the_number_is_not_judged():
    verdict = judged("PCQ704", listed("a", "b"))
    assert not verdict.findings
    assert verdict.verdict(REGINFO) == "inconclusive"


def test_a_sealed_list_proves_nothing():
    verdict = judged("PCQ704", registered(0), sealed(listed("a", "b")))
    assert not verdict.findings
    assert verdict.verdict(REGINFO) == "inconclusive"
