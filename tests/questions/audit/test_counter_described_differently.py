from struct import pack

from tests.build.calls import COUNTERSET, Calls, sealed
from tests.questions.audit.judging import judged
from tests.questions.audit.registered import countersets

REQUIREMENT = "PCQ-3.1.4.1.2-R17"
RAW, BULK = 0x10000, 0x10410500


def alone(calls, kind, *, scale=0):
    return calls.registration(2, pack("<IIQIiIIIIII", 1, kind, 0, 100, scale, 0, 0, 0, 0, 0, 0), lcid=1)


def test_another_type_than_in_the_registration_of_the_set_is_flagged_where_it_comes_later():
    for first_the_set in (True, False):
        calls = Calls()
        events = countersets({COUNTERSET: (0, {1: RAW})}, calls) if first_the_set else []
        events.append(alone(calls, BULK))
        events += [] if first_the_set else countersets({COUNTERSET: (0, {1: RAW})}, calls)
        (finding,) = judged("PCQ330", *events).findings
        assert (finding.call, finding.judgement.requirement) == (2, REQUIREMENT)
        assert finding.judgement.seen == (f"{BULK:#x}" if first_the_set else f"{RAW:#x}")
        start = 20 + 4 if first_the_set else 20 + 32 + 4
        assert (finding.place.start, finding.place.stop) == (start, start + 4)


def test_the_same_description_is_accepted():
    calls = Calls()
    verdict = judged("PCQ330", *countersets({COUNTERSET: (0, {1: RAW})}, calls), alone(calls, RAW), alone(calls, RAW))
    assert not verdict.findings
    assert verdict.count(REQUIREMENT) == 2


def test_it_is_silent_where_one_is_missing_or_wrong_in_itself():
    calls = Calls()
    known = countersets({COUNTERSET: (0, {1: RAW})}, calls)
    assert judged("PCQ330", *known).verdict(REQUIREMENT) == "not-exercised"
    assert judged("PCQ330", *known, sealed(alone(calls, BULK))).verdict(REQUIREMENT) == "inconclusive"
    for wrong in (alone(calls, 0x12345), alone(calls, BULK, scale=11)):
        assert not judged("PCQ330", *known, wrong).findings
