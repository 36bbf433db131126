"""PCQ215, and PCQ123, which judges what a server makes of it."""

import pytest

from analyzer.questions.audit.rules.parameters import LIMITS
from tests.build.calls import Calls, sealed
from tests.questions.audit.judging import judged
from tests.questions.audit.methods import request

SERVED = "PCQ-3.1.4-R04"
RANGE_FAULT = 0x6C6


def call(opnum, size, **answer):
    calls = Calls()
    asked = request(calls, opnum, size)
    if "fault" in answer:
        return calls.faulted(opnum, asked, answer["fault"])
    return calls.exchange(opnum, asked, None if answer.get("lost") else calls.sized(b""))


@pytest.mark.parametrize("opnum", LIMITS)
def test_a_size_above_the_range_is_flagged(opnum):
    limit, requirements = LIMITS[opnum]
    verdict = judged("PCQ215", call(opnum, limit + 1))
    (finding,) = verdict.findings
    assert finding.judgement.requirements == requirements
    assert (finding.judgement.expected, finding.judgement.seen) == (f"at most {limit}", str(limit + 1))
    assert finding.place.stop - finding.place.start == 4


@pytest.mark.parametrize("opnum", LIMITS)
def test_the_end_of_the_range_is_accepted(opnum):
    limit, requirements = LIMITS[opnum]
    verdict = judged("PCQ215", call(opnum, limit), call(opnum, 0))
    assert not verdict.findings
    assert [verdict.count(requirement) for requirement in requirements] == [2] * len(requirements)


@pytest.mark.parametrize("opnum", LIMITS)
def test_a_sealed_request_proves_nothing(opnum):
    requirement = LIMITS[opnum][1][0]
    for code, what in (("PCQ215", requirement), ("PCQ123", SERVED)):
        verdict = judged(code, sealed(call(opnum, 0xFFFFFFFF)))
        assert not verdict.findings
        assert verdict.verdict(what) == "inconclusive"


@pytest.mark.parametrize("opnum", LIMITS)
def test_serving_such_a_request_is_flagged(opnum):
    (finding,) = judged("PCQ123", call(opnum, LIMITS[opnum][0] + 1)).findings
    # A server with more countersets than 256 has to have another range.
    assert finding.judgement.outcome == ("warn" if opnum == 0 else "fail")


@pytest.mark.parametrize("opnum", LIMITS)
def test_refusing_it_is_accepted(opnum):
    verdict = judged("PCQ123", call(opnum, LIMITS[opnum][0] + 1, fault=RANGE_FAULT), call(opnum, 1))
    assert not verdict.findings
    assert verdict.count(SERVED) == 1
    assert judged("PCQ123", call(opnum, 1)).verdict(SERVED) == "not-exercised"


def test_a_lost_answer_proves_nothing():
    verdict = judged("PCQ123", call(6, 0xFFFFFFFF, lost=True))
    assert not verdict.findings
    assert verdict.verdict(SERVED) == "inconclusive"
