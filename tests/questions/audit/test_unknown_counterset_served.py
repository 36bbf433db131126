from uuid import UUID

import pytest

from analyzer.questions.audit.rules.error_codes import COUNTERSET_FOUND
from tests.build.calls import COUNTERSET, OTHER_COUNTERSET, Calls, sealed
from tests.questions.audit.judging import judged
from tests.questions.audit.methods import request, response

EACH = pytest.mark.parametrize(("opnum", "requirement"), [(opnum, one) for opnum, (one,) in COUNTERSET_FOUND.items()])


def listing(*guids):
    return Calls().enumerate_sets(b"".join(UUID(guid).bytes_le for guid in guids))


def asked(opnum, status):
    """About COUNTERSET."""
    calls = Calls(first_frame=10)
    return calls.exchange(opnum, request(calls, opnum), response(calls, opnum, status))


@EACH
def test_data_about_a_counterset_that_is_not_listed_is_flagged(opnum, requirement):
    (finding,) = judged("PCQ702", listing(OTHER_COUNTERSET), asked(opnum, 0)).findings
    assert (finding.judgement.requirement, finding.judgement.seen) == (requirement, COUNTERSET)
    assert finding.place.stop - finding.place.start == 16


@EACH
def test_not_finding_a_counterset_that_is_listed_is_warned_of(opnum, requirement):
    (finding,) = judged("PCQ702", listing(COUNTERSET), asked(opnum, 0x1068)).findings
    assert finding.judgement.outcome == "warn"


@EACH
@pytest.mark.parametrize(
    ("listed", "status", "expected"),
    [(COUNTERSET, 0, "not-exercised"), (OTHER_COUNTERSET, 0x1068, "pass"), (OTHER_COUNTERSET, 5, "not-exercised")],
)
def test_the_list_and_the_answers_agree(opnum, requirement, listed, status, expected):
    verdict = judged("PCQ702", listing(listed), asked(opnum, status))
    assert not verdict.findings
    assert verdict.verdict(requirement) == expected


@EACH
@pytest.mark.parametrize(("status", "side"), [(2, "response"), (8, "request")])
def test_another_answer_than_0x1068_about_an_unlisted_counterset_is_flagged(opnum, requirement, status, side):
    (finding,) = judged("PCQ702", listing(OTHER_COUNTERSET), asked(opnum, status)).findings
    assert (finding.judgement.requirement, finding.judgement.at.side) == (requirement, side)
    assert (finding.judgement.outcome, finding.actor) == ("fail", "server")


@EACH
def test_a_list_that_comes_later_counts(opnum, requirement):
    assert not judged("PCQ702", asked(opnum, 0), listing(COUNTERSET)).findings


@EACH
def test_without_a_list_nothing_can_be_stated(opnum, requirement):
    verdict = judged("PCQ702", asked(opnum, 0))
    assert not verdict.findings
    assert verdict.verdict(requirement) == "inconclusive"


@EACH
def test_a_sealed_list_is_no_list(opnum, requirement):
    assert judged("PCQ702", sealed(listing(OTHER_COUNTERSET)), asked(opnum, 0)).verdict(requirement) == "inconclusive"
