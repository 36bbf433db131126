import pytest

from tests.build.calls import HANDLE, MACHINE, Calls, sealed
from tests.questions.audit.judging import judged

STRICT, NULL_POINTER = "PCQ-3.1.4-R01", "PCQ-3.1.4-R02"
FAULT = 0x6F7


def short(calls):
    return calls.stub().handle(HANDLE)


def uneven(calls):
    return calls.stub().handle(HANDLE).uint(16).conformant(bytes(24)).uint(1)


@pytest.mark.parametrize(("opnum", "request_of"), [(6, short), (7, uneven)])
def test_an_answer_to_an_inconsistent_stub_is_flagged(opnum, request_of):
    calls = Calls()
    (finding,) = judged("PCQ122", calls.exchange(opnum, request_of(calls), calls.sized(b"", 0x57))).findings
    assert finding.judgement.requirement == STRICT
    assert finding.place.part == "request stub"


def test_the_count_that_is_not_the_size_is_pointed_at():
    calls = Calls()
    (finding,) = judged("PCQ122", calls.exchange(7, uneven(calls), calls.stub().conformant(bytes(24)).uint(0))).findings
    assert (finding.judgement.seen, finding.place.start) == ("max_count 24 for dwInSize 16", 24)


@pytest.mark.parametrize(("opnum", "request_of"), [(6, short), (7, uneven)])
def test_a_fault_is_what_the_runtime_owes(opnum, request_of):
    verdict = judged("PCQ122", Calls().faulted(opnum, request_of(Calls()), FAULT))
    assert not verdict.findings
    assert verdict.verdict(STRICT) == "pass"


@pytest.mark.parametrize(("answer", "expected"), [(FAULT, "pass"), (None, "fail")])
def test_a_null_pointer_is_to_be_rejected(answer, expected):
    calls = Calls()
    null = calls.stub().null().uint(256)
    call = calls.faulted(0, null, answer) if answer else calls.exchange(0, null, calls.sized(b"", 0x57, element=16))
    assert judged("PCQ122", call).verdict(NULL_POINTER) == expected


def test_sound_stubs_have_nothing_to_judge():
    calls = Calls()
    verdict = judged("PCQ122", calls.open_query(), calls.exchange(0, calls.stub().string(MACHINE).uint(9), None))
    assert verdict.verdict(STRICT) == verdict.verdict(NULL_POINTER) == "not-exercised"


def test_a_sealed_request_proves_nothing():
    calls = Calls()
    verdict = judged("PCQ122", sealed(calls.exchange(6, short(calls), calls.sized(b""))))
    assert not verdict.findings
    assert verdict.verdict(STRICT) == "inconclusive"


def test_a_lost_answer_proves_nothing():
    assert judged("PCQ122", Calls().exchange(6, short(Calls()), None)).verdict(STRICT) == "inconclusive"
