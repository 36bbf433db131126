import pytest

from tests.build.buffers import identifier
from tests.build.calls import COUNTERSET, Calls, sealed
from tests.questions.audit.judging import judged

REQUIREMENT = "PCQ-3.1.4.1.7-R07"
WHOLE = identifier(COUNTERSET, name="a")


def short(status=0):
    """An identifier whose Size is 16."""
    whole = bytearray(identifier(COUNTERSET, status=status))
    whole[20:24] = b"\x10\0\0\0"
    return bytes(whole)


def test_a_buffer_below_40_bytes_that_succeeds_is_flagged():
    (finding,) = judged("PCQ705", Calls().validate(bytes(24))).findings
    assert finding.judgement.seen == "ERROR_SUCCESS (0x0)"
    assert (finding.place.part, finding.place.start, finding.place.stop) == ("request stub", 20, 24)


def test_a_size_below_40_that_succeeds_is_flagged_where_it_stands():
    (finding,) = judged("PCQ705", Calls().validate(WHOLE + short())).findings
    at = 28 + len(WHOLE) + 20
    assert (finding.place.start, finding.place.stop) == (at, at + 4)


@pytest.mark.parametrize("data", [bytes(24), WHOLE + short()])
def test_0x57_is_accepted(data):
    verdict = judged("PCQ705", Calls().validate(data, status=0x57))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "pass"


def test_0x57_in_the_identifier_is_taken_for_as_good():
    verdict = judged("PCQ705", Calls().validate(WHOLE + short(), WHOLE + short(0x57)))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "pass"


@pytest.mark.parametrize(("data", "status"), [(b"", 0), (bytes(24), 8)])
def test_an_empty_buffer_or_another_error_is_warned_of(data, status):
    (finding,) = judged("PCQ705", Calls().validate(data, status=status)).findings
    assert finding.judgement.outcome == "warn"


@pytest.mark.parametrize(("data", "status"), [(WHOLE, 0), (bytes(24), 5)])
def test_whole_identifiers_and_other_refusals_are_not_judged(data, status):
    assert judged("PCQ705", Calls().validate(data, status=status)).verdict(REQUIREMENT) == "not-exercised"


def test_a_sealed_call_proves_nothing():
    verdict = judged("PCQ705", sealed(Calls().validate(bytes(24))))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "inconclusive"
