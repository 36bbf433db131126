import pytest
from msgspec.structs import replace

from tests.build.buffers import perf_data
from tests.build.calls import OTHER_HANDLE, Calls, sealed
from tests.build.rpc import CHANNEL
from tests.questions.audit.handles import bound
from tests.questions.audit.judging import judged
from tests.questions.audit.methods import call

UNCHANGED, OPENED = "PCQ-2.2.1-R03", "PCQ-3.2.1-R02"


@pytest.mark.parametrize(
    ("opnum", "requirements"),
    [(4, (UNCHANGED,)), (5, (UNCHANGED, OPENED)), (6, (UNCHANGED, OPENED)), (7, (UNCHANGED, OPENED))],
)
def test_a_handle_that_nobody_gave_out_is_flagged_at_its_bytes(opnum, requirements):
    (finding,) = judged("PCQ712", bound(), call(opnum, status=6)).findings
    assert finding.judgement.requirements == requirements
    assert (finding.place.part, finding.place.start, finding.place.stop) == ("request stub", 4, 20)


def test_a_handle_that_was_given_out_is_accepted():
    calls = Calls()
    verdict = judged("PCQ712", bound(), calls.open_query(), calls.counter_data(perf_data([])), calls.close_query())
    assert not verdict.findings
    assert (verdict.count(UNCHANGED), verdict.count(OPENED)) == (2, 1)


def test_another_handle_than_the_one_given_out_is_flagged():
    calls = Calls()
    verdict = judged("PCQ712", bound(), calls.open_query(), calls.counter_data(perf_data([]), OTHER_HANDLE))
    assert [finding.judgement.seen for finding in verdict.findings] == [OTHER_HANDLE]


@pytest.mark.parametrize(("group", "warnings"), [(0x53, 0), (0x99, 1)])
def test_another_association_group_is_warned_of(group, warnings):
    other = replace(CHANNEL, number=7)
    verdict = judged(
        "PCQ712",
        bound(),
        bound(other, group),
        Calls().open_query(),
        Calls(channel=other, first_frame=10).counter_data(perf_data([])),
    )
    assert [finding.judgement.outcome for finding in verdict.findings] == ["warn"] * warnings


def test_without_the_beginning_of_the_channel_nothing_can_be_stated():
    verdict = judged("PCQ712", call(6))
    assert not verdict.findings
    assert verdict.verdict(UNCHANGED) == verdict.verdict(OPENED) == "inconclusive"


@pytest.mark.parametrize(("has_founder", "verdict"), [(False, "inconclusive"), (True, "fail")])
def test_a_group_from_before_the_capture_may_have_opened_it(has_founder, verdict):
    founder = [bound(replace(CHANNEL, number=7))] if has_founder else []
    assert judged("PCQ712", *founder, bound(joins_group=True), call(6)).verdict(OPENED) == verdict


def test_a_sealed_opening_may_have_been_of_this_handle():
    calls = Calls()
    verdict = judged("PCQ712", bound(), sealed(calls.open_query()), calls.counter_data(perf_data([])))
    assert not verdict.findings
    assert verdict.verdict(OPENED) == "inconclusive"
