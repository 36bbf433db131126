from struct import pack
from uuid import UUID

import pytest

from tests.build.buffers import string_table
from tests.build.calls import COUNTERSET, OTHER_COUNTERSET, Calls, sealed
from tests.questions.audit.judging import judged
from tests.questions.audit.methods import call, request

STATELESS, NO_HANDLE = "PCQ-3.1.1.5-R01", "PCQ-3.2.1-R01"


def described(kind=2):
    return UUID(COUNTERSET).bytes_le + pack("<4I", 0, 100, 0, kind)


def test_another_answer_to_the_same_question_is_warned_of():
    calls = Calls()
    (finding,) = judged("PCQ718", calls.registration(1, described()), calls.registration(1, described(4))).findings
    assert (finding.judgement.outcome, finding.judgement.requirement, finding.call) == ("warn", STATELESS, 2)
    assert (finding.place.start, finding.place.stop) == (20, 52)


def test_the_same_answer_is_accepted():
    calls = Calls()
    verdict = judged("PCQ718", calls.registration(1, described()), calls.registration(1, described()))
    assert not verdict.findings
    assert (verdict.count(STATELESS), verdict.count(NO_HANDLE)) == (1, 2)


def test_other_padding_is_the_same_answer():
    calls = Calls()
    table = string_table([(1, "a")], from_start=False)
    other = table[:-2] + b"\x55\x55"
    assert not judged("PCQ718", calls.registration(5, table), calls.registration(5, other)).findings


@pytest.mark.parametrize(("most", "warned"), [(0, 0), (1, 1), (2, 2)])
def test_so_many_questions_are_remembered(most, warned, monkeypatch):
    monkeypatch.setattr("analyzer.questions.audit.rules.consistency._MOST_QUESTIONS", most)
    calls = Calls()
    asked = [calls.registration(1, described(kind), lcid=lcid) for kind in (2, 4) for lcid in (7, 8)]
    assert [finding.call for finding in judged("PCQ718", *asked).findings] == [3, 4][:warned]


@pytest.mark.parametrize("options", [{"lcid": 1033}, {"guid": OTHER_COUNTERSET}])
def test_another_question_may_have_another_answer(options):
    calls = Calls()
    assert not judged(
        "PCQ718", calls.registration(1, described()), calls.registration(1, described(4), **options)
    ).findings


@pytest.mark.parametrize("opnum", [0, 1, 2])
def test_a_fault_about_a_handle_is_flagged(opnum):
    (finding,) = judged("PCQ718", Calls().faulted(opnum, request(Calls(), opnum), 0x1C00001A)).findings
    assert (finding.judgement.requirement, finding.place.start, finding.place.stop) == (NO_HANDLE, 24, 28)


@pytest.mark.parametrize("opnum", [0, 1, 2])
def test_success_without_any_handle_is_accepted(opnum):
    assert judged("PCQ718", call(opnum)).count(NO_HANDLE) == 1


def test_sealed_answers_prove_nothing():
    calls = Calls()
    verdict = judged("PCQ718", sealed(calls.registration(1, described())), sealed(calls.registration(1, described(4))))
    assert not verdict.findings
    assert verdict.verdict(STATELESS) == "inconclusive"
