import pytest

from analyzer.questions.audit.rules.stubs import NO_GUIDS, SIZES
from tests.build.calls import Calls, sealed
from tests.questions.audit.judging import judged
from tests.questions.audit.methods import request

EACH = pytest.mark.parametrize("opnum", SIZES)


def answered(opnum, status, out, needed, *, room=64, returned=None):
    """An answer with `returned` (or `out`) elements of zeros; what else it states is as given."""
    calls = Calls()
    element = 16 if opnum == 0 else 1
    data = bytes((out if returned is None else returned) * element)
    stub = calls.sized(data, status, needed=needed, element=element, room=room, out_size=out)
    return calls.exchange(opnum, request(calls, opnum, room), stub)


@EACH
def test_success_with_all_there_is_and_8_for_too_little_room_are_accepted(opnum):
    verdict = judged("PCQ206", answered(opnum, 0, 48, 48), answered(opnum, 8, 0, 48, room=10))
    assert not verdict.findings
    assert [verdict.count(name) for name in SIZES[opnum]] == [1, 2, 1]


@EACH
def test_success_with_less_than_everything_is_flagged(opnum):
    findings = judged("PCQ206", answered(opnum, 0, 32, 48, room=32)).findings
    assert [finding.judgement.requirement for finding in findings[:-1]] == ([NO_GUIDS] if opnum == 0 else [])
    assert findings[-1].judgement.requirements == (SIZES[opnum][0], SIZES[opnum][2])
    assert (findings[-1].judgement.seen, findings[-1].place.start, findings[-1].place.stop) == ("32", 0, 4)


@EACH
def test_of_two_sizes_that_differ_the_one_that_is_not_of_what_was_returned_is_flagged(opnum):
    out_size, rtn_size, _ = SIZES[opnum]
    (finding,) = judged("PCQ206", answered(opnum, 0, 32, 48)).findings
    assert finding.judgement.requirements == (rtn_size, out_size)
    assert (finding.judgement.seen, finding.place.start, finding.place.stop) == ("48", 4, 8)
    (finding,) = judged("PCQ206", answered(opnum, 0, 32, 48, returned=48)).findings
    assert finding.judgement.requirements == (out_size,)
    assert (finding.judgement.seen, finding.place.start, finding.place.stop) == ("32", 0, 4)


@EACH
def test_8_although_there_was_room_is_flagged(opnum):
    (finding,) = judged("PCQ206", answered(opnum, 8, 0, 64)).findings
    assert finding.judgement.requirements == (SIZES[opnum][1], SIZES[opnum][2])
    assert (finding.judgement.seen, finding.place.start, finding.place.stop) == ("64", 4, 8)


@EACH
def test_data_along_with_8_is_warned_of(opnum):
    verdict = judged("PCQ206", answered(opnum, 8, 8, 80))
    outcomes = {(finding.judgement.outcome.value, finding.judgement.requirement) for finding in verdict.findings}
    assert outcomes == {("warn", SIZES[opnum][2])} | ({("fail", NO_GUIDS)} if opnum == 0 else set())


@EACH
def test_sizes_of_other_errors_are_not_defined(opnum):
    assert not judged("PCQ206", answered(opnum, 0x57, 3, 0)).findings


def test_guids_of_a_list_that_does_not_fit_are_flagged_whatever_the_code():
    verdict = judged("PCQ206", answered(0, 0x57, 10, 300, room=10))
    assert verdict.requirements == {NO_GUIDS}


@EACH
def test_a_sealed_answer_proves_nothing(opnum):
    verdict = judged("PCQ206", sealed(answered(opnum, 0, 32, 48)))
    assert not verdict.findings
    assert verdict.verdict(SIZES[opnum][0]) == "inconclusive"
