"""PCQ201 and PCQ202: the same look at requests and at answers."""

import pytest

from analyzer.questions.audit.rules.stubs import REQUEST_LAYOUTS, RESPONSE_LAYOUTS, STATUS_LAST
from tests.build.calls import MACHINE, Calls, sealed
from tests.questions.audit.judging import judged
from tests.questions.audit.methods import NAMING, call, request, response

SIDES = [("PCQ201", opnum, requirement, request) for opnum, (requirement,) in REQUEST_LAYOUTS.items()] + [
    ("PCQ202", opnum, requirement, response) for opnum, requirement in RESPONSE_LAYOUTS.items()
]


def with_stub(code, opnum, stub):
    """A call whose request or answer has this stub."""
    calls = Calls()
    if code == "PCQ201":
        return calls.exchange(opnum, stub, response(calls, opnum))
    return calls.exchange(opnum, request(calls, opnum), stub)


@pytest.mark.parametrize(("code", "opnum", "requirement", "build"), SIDES)
def test_the_layout_of_the_idl_is_accepted(code, opnum, requirement, build):
    verdict = judged(code, call(opnum))
    assert not verdict.findings
    assert verdict.count(requirement) == 1


@pytest.mark.parametrize(("code", "opnum", "requirement", "build"), SIDES)
def test_a_stub_that_is_too_short_is_flagged(code, opnum, requirement, build):
    stub = build(Calls(), opnum).data[:-4]
    verdict = judged(code, with_stub(code, opnum, stub))
    (finding,) = verdict.findings
    assert requirement in finding.judgement.requirements
    assert 0 <= finding.place.start < finding.place.stop == len(stub)
    assert verdict.verdict(requirement) == "fail"


@pytest.mark.parametrize(("code", "opnum", "requirement", "build"), SIDES)
def test_a_stub_that_goes_on_is_flagged_where_it_should_have_ended(code, opnum, requirement, build):
    stub = build(Calls(), opnum).data
    (finding,) = judged(code, with_stub(code, opnum, stub + bytes(12))).findings
    assert finding.judgement.seen == "12 bytes"
    assert (finding.place.start, finding.place.stop) == (len(stub), len(stub) + 12)


@pytest.mark.parametrize(("code", "opnum", "requirement", "build"), SIDES)
def test_padding_that_was_not_counted_is_accepted(code, opnum, requirement, build):
    assert not judged(code, with_stub(code, opnum, build(Calls(), opnum).data + bytes(7))).findings


@pytest.mark.parametrize(("code", "opnum", "requirement", "build"), SIDES)
def test_sealed_stubs_prove_nothing_and_concern_their_method_only(code, opnum, requirement, build):
    verdict = judged(code, sealed(call(opnum)))
    assert not verdict.findings
    unsure = {name for name, coverage in verdict.coverage.items() if coverage.verdict == "inconclusive"}
    assert unsure == {requirement} | ({STATUS_LAST} if code == "PCQ202" else set())


def test_a_missing_return_value_is_against_both_that_demand_it():
    (finding,) = judged("PCQ202", with_stub("PCQ202", 3, response(Calls(), 3).data[:20])).findings
    assert finding.judgement.requirements == ("PCQ-3.1.4.1.4-R02", STATUS_LAST)


@pytest.mark.parametrize("opnum", NAMING)
def test_a_referent_before_the_name_is_warned_of(opnum):
    calls = Calls()
    stub = request(calls, opnum, name=calls.stub().pointer(0).string(MACHINE))
    (finding,) = judged("PCQ201", with_stub("PCQ201", opnum, stub)).findings
    assert (finding.judgement.outcome, finding.place.start, finding.place.stop) == ("warn", 0, 4)


def test_a_wrong_offset_of_the_array_is_for_the_rule_about_counts():
    stub = bytearray(response(Calls(), 6).data)
    stub[12:16] = b"\x08\0\0\0"
    assert not judged("PCQ202", with_stub("PCQ202", 6, bytes(stub))).findings
    assert judged("PCQ204", with_stub("PCQ202", 6, bytes(stub))).requirements == {"PCQ-3.1.4.1.6-R04"}
