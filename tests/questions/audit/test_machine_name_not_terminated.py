from struct import pack

import pytest

from analyzer.questions.audit.rules.stubs import MACHINE_NAMES
from tests.build.calls import Calls, sealed
from tests.questions.audit.judging import judged
from tests.questions.audit.methods import request, response

EACH = pytest.mark.parametrize(("opnum", "requirement"), [(opnum, one) for opnum, (one,) in MACHINE_NAMES.items()])


def named(opnum, units, *, room=None, **options):
    calls = Calls(**options)
    name = calls.stub()
    name.count(len(units) if room is None else room).count(0).count(len(units))
    name.data += b"".join(pack("<H", ord(unit)) for unit in units)
    return calls.exchange(opnum, request(calls, opnum, name=name), response(calls, opnum))


@EACH
@pytest.mark.parametrize("text", ["\\\\SRV1\0", "srv1.example.com\0", "\0"])
@pytest.mark.parametrize("ndr64", [False, True])
def test_any_name_with_its_nul_is_accepted(opnum, requirement, text, ndr64):
    verdict = judged("PCQ208", named(opnum, text, ndr64=ndr64))
    assert not verdict.findings
    assert verdict.verdict(requirement) == "pass"


@EACH
def test_a_name_without_nul_is_flagged(opnum, requirement):
    (finding,) = judged("PCQ208", named(opnum, "\\\\SRV1")).findings
    assert (finding.judgement.requirement, finding.judgement.outcome) == (requirement, "fail")
    assert (finding.place.start, finding.place.stop) == (12, 24)


@EACH
def test_a_nul_in_the_middle_is_flagged_where_it_is(opnum, requirement):
    (finding,) = judged("PCQ208", named(opnum, "\\\\S\0V1\0")).findings
    assert (finding.judgement.seen, finding.place.start, finding.place.stop) == ("one at 3", 18, 20)


@EACH
def test_room_for_more_characters_is_warned_of(opnum, requirement):
    (finding,) = judged("PCQ208", named(opnum, "\\\\SRV1\0", room=20)).findings
    assert (finding.judgement.outcome, finding.judgement.seen, finding.place.start) == ("warn", "20", 0)


@EACH
def test_a_sealed_request_proves_nothing(opnum, requirement):
    verdict = judged("PCQ208", sealed(named(opnum, "\\\\SRV1")))
    assert not verdict.findings
    assert verdict.verdict(requirement) == "inconclusive"
