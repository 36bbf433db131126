import pytest

from tests.build.buffers import identifier
from tests.build.calls import COUNTERSET, HANDLE, OTHER_HANDLE, Calls, sealed
from tests.questions.audit.judging import judged

REQUIREMENT = "PCQ-2.2.1-R04"
FIRST, SECOND = identifier(COUNTERSET, counter=1, name="a"), identifier(COUNTERSET, counter=7, name="A")


def two_queries(listed, *, second=SECOND):
    """FIRST in one query, `second` in another; then the first lists this."""
    calls = Calls()
    events = [calls.open_query(HANDLE), calls.open_query(OTHER_HANDLE)]
    events += [calls.validate(FIRST), calls.validate(second, handle=OTHER_HANDLE)]
    return [*events, calls.counter_info(listed)]


def test_a_counter_of_the_other_query_is_flagged_where_it_stands():
    (finding,) = judged("PCQ720", *two_queries(FIRST + SECOND)).findings
    assert finding.judgement.seen == f"counter 7 of {COUNTERSET}, instance 'A', which was added to q2"
    assert (finding.place.start, finding.place.stop) == (20 + len(FIRST), 20 + len(FIRST) + len(SECOND))


@pytest.mark.parametrize(("listed", "second"), [(FIRST, SECOND), (FIRST, FIRST)])
def test_its_own_counters_are_accepted(listed, second):
    verdict = judged("PCQ720", *two_queries(listed, second=second))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "pass"


def test_a_counter_that_nobody_added_is_for_another_rule():
    assert not judged("PCQ720", *two_queries(FIRST + identifier(COUNTERSET, counter=9))).findings


def test_a_sealed_addition_may_have_added_it_here_too():
    calls = Calls()
    events = [calls.open_query(HANDLE), calls.open_query(OTHER_HANDLE), sealed(calls.validate(FIRST))]
    events += [calls.validate(SECOND, handle=OTHER_HANDLE), calls.counter_info(FIRST + SECOND)]
    verdict = judged("PCQ720", *events)
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "inconclusive"
