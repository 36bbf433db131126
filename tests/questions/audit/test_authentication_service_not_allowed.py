import pytest
from msgspec.structs import replace

from analyzer.questions.audit.engine import Profile
from analyzer.results.security import AuthInfo, AuthLevel, Decryption
from tests.build.calls import Calls
from tests.questions.audit.judging import judged

REQUIREMENT = "PCQ-2.1-R03"


@pytest.mark.parametrize("kind", [9, 10])
def test_spnego_and_ntlm_are_accepted(kind):
    verdict = judged("PCQ103", Calls(level=AuthLevel.PRIVACY, auth_type=kind).open_query())
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "pass"


@pytest.mark.parametrize("kind", [14, 68])
def test_another_service_is_flagged(kind):
    (finding,) = judged("PCQ103", Calls(level=AuthLevel.PRIVACY, auth_type=kind).open_query()).findings
    assert finding.judgement.seen.startswith(f"auth_type {kind} ")
    assert finding.place.stop - finding.place.start == 8
    assert not finding.is_excused


@pytest.mark.parametrize(("profile", "verdict"), [(Profile.SPEC, "fail"), (Profile.WINDOWS, "pass")])
def test_kerberos_named_directly_is_against_the_letter_only(profile, verdict):
    judgement = judged("PCQ103", Calls(level=AuthLevel.PRIVACY, auth_type=16).open_query(), profile=profile)
    assert judgement.findings[0].judgement.seen == "auth_type 16 (GSS_KERBEROS)"
    assert judgement.verdict(REQUIREMENT) == verdict


def test_no_authentication_is_flagged():
    (finding,) = judged("PCQ103", Calls().open_query()).findings
    assert finding.judgement.seen == "no security trailer"


def test_at_level_connect_the_service_is_that_of_the_bind():
    connect = AuthInfo(10, AuthLevel.CONNECT, "ntlm", None, Decryption.NOT_SEALED, None, None)
    assert judged("PCQ103", replace(Calls().open_query(), auth=connect)).verdict(REQUIREMENT) == "pass"


def test_an_answer_alone_says_nothing_of_the_client():
    verdict = judged("PCQ103", replace(Calls(level=5).open_query(), request=None, opnum=None, state="response-only"))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "inconclusive"
