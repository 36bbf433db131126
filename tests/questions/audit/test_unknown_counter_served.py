from struct import pack
from uuid import UUID

import pytest

from tests.build.calls import COUNTERSET, Calls, sealed
from tests.questions.audit.judging import judged

REQUIREMENT = "PCQ-3.1.4.1.2-R12"


def record(counter):
    return pack("<12I", counter, 0x10000, 0, 0, 100, 0, 0, 0, *[0xFFFFFFFF] * 3, 0)


def asked(counter, status, *, described=(1, 2, 3), seal=False):
    """A description of the counterset, then a question about one counter."""
    calls = Calls()
    head = UUID(COUNTERSET).bytes_le + pack("<4I", 0, 100, len(described), 0)
    description = calls.registration(1, head + b"".join(map(record, described)))
    question = calls.registration(2, record(counter) if status == 0 else b"", lcid=counter, status=status)
    return [sealed(description) if seal else description, question]


@pytest.mark.parametrize("status", [0, 0x57, 8])
def test_another_answer_than_0x106a_is_flagged_at_the_return_value(status):
    (finding,) = judged("PCQ703", *asked(9, status)).findings
    assert finding.judgement.expected == "ERROR_WMI_ITEMID_NOT_FOUND (0x106a)"
    assert (finding.call, finding.place.part) == (2, "response stub")


def test_0x106a_is_accepted():
    verdict = judged("PCQ703", *asked(9, 0x106A))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "pass"


@pytest.mark.parametrize(("counter", "status"), [(2, 0), (2, 8), (9, 5), (9, 0xE)])
def test_counters_that_are_there_and_other_refusals_are_not_judged(counter, status):
    assert judged("PCQ703", *asked(counter, status)).verdict(REQUIREMENT) == "not-exercised"


def test_what_a_single_answer_tells_does_not_describe_the_counterset():
    verdict = judged("PCQ703", Calls().registration(2, record(9), lcid=9))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "inconclusive"


def test_a_sealed_description_is_none():
    assert judged("PCQ703", *asked(9, 0, seal=True)).verdict(REQUIREMENT) == "inconclusive"
