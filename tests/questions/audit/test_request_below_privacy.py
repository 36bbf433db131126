import pytest
from msgspec.structs import replace

from analyzer.results.security import AuthInfo, AuthLevel, Decryption
from tests.build.calls import Calls, sealed
from tests.questions.audit.judging import judged

SEALED, LEVEL = "PCQ-2.1-R04", "PCQ-5.1-R01"


@pytest.mark.parametrize("level", [AuthLevel.PKT, AuthLevel.INTEGRITY])
def test_a_level_below_privacy_is_flagged_at_the_trailer(level):
    verdict = judged("PCQ101", Calls(level=level).open_query())
    (finding,) = verdict.findings
    assert finding.judgement.seen == f"auth_level {level} ({level.name})"
    assert finding.place.part == "request PDU 1"
    # 24 bytes of header, 26 of stub, padding to 16, and there is the trailer.
    assert (finding.place.start, finding.place.stop) == (56, 64)
    assert verdict.verdict(SEALED) == verdict.verdict(LEVEL) == "fail"


def test_a_request_without_trailer_is_flagged_at_the_length_that_says_so():
    (finding,) = judged("PCQ101", Calls().open_query()).findings
    assert finding.judgement.seen == "no security trailer"
    assert (finding.place.start, finding.place.stop) == (10, 12)


def test_at_level_connect_the_bind_was_authenticated_and_the_request_is_not_sealed():
    connect = AuthInfo(10, AuthLevel.CONNECT, "ntlm", None, Decryption.NOT_SEALED, None, None)
    (finding,) = judged("PCQ101", replace(Calls().open_query(), auth=connect)).findings
    assert finding.judgement.seen == "auth_level 2 (CONNECT)"


def test_sealed_requests_are_accepted_whether_or_not_they_are_opened():
    calls = Calls(level=AuthLevel.PRIVACY)
    verdict = judged("PCQ101", calls.open_query(), sealed(calls.counter_data(b"")))
    assert not verdict.findings
    assert verdict.count(SEALED) == verdict.count(LEVEL) == 2


def test_a_request_that_ends_before_its_trailer_proves_nothing():
    call = Calls(level=AuthLevel.PRIVACY).open_query()
    cut = replace(call.request.pdus[0], pdu=call.request.pdus[0].pdu[:40])
    verdict = judged("PCQ101", replace(call, request=replace(call.request, pdus=(cut,))))
    assert not verdict.findings
    assert verdict.verdict(SEALED) == "inconclusive"
