import pytest
from msgspec.structs import replace

from analyzer.results.security import AuthInfo, AuthLevel, Decryption, Identity
from tests.build.calls import Calls
from tests.build.rpc import CHANNEL
from tests.questions.audit.judging import judged
from tests.questions.audit.methods import call, request

REQUIREMENT = "PCQ-2.1-R06"


def of(allows, *, status=0, mechanism="ntlm"):
    """A sealed call of somebody who allows this much."""
    auth = AuthInfo(
        10, AuthLevel.PRIVACY, mechanism, Identity(mechanism, allows=allows), Decryption.DECRYPTED, True, True
    )
    return replace(call(6, Calls(level=AuthLevel.PRIVACY), status=status), auth=auth)


def over(level, *, status=0):
    """A call without security of RPC, over a pipe that was opened at this level."""
    return call(6, Calls(channel=replace(CHANNEL, impersonation=level)), status=status)


@pytest.mark.parametrize("allowing", [of("impersonation"), over(2), over(3), of("nothing", status=5)])
def test_impersonation_or_a_refusal_is_accepted(allowing):
    verdict = judged("PCQ106", allowing)
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "pass"


def test_a_fault_is_a_refusal_too():
    calls = Calls(channel=replace(CHANNEL, impersonation=1))
    assert judged("PCQ106", calls.faulted(6, request(calls, 6), 5)).verdict(REQUIREMENT) == "pass"


@pytest.mark.parametrize(
    ("withholding", "seen"),
    [
        (of("nothing"), "nothing"),
        (of("identification"), "identification"),
        (over(0), "nothing"),
        (over(1), "identification"),
    ],
)
def test_serving_others_is_flagged_at_the_return_value(withholding, seen):
    (finding,) = judged("PCQ106", withholding).findings
    assert finding.judgement.seen == seen
    assert finding.place.part == "response stub"


def test_an_anonymous_client_that_is_reported_the_size_is_served():
    calls = Calls(channel=replace(CHANNEL, impersonation=0))
    reported = calls.exchange(6, request(calls, 6), calls.sized(b"", 8, needed=4096, room=64))
    (finding,) = judged("PCQ106", reported).findings
    assert (finding.judgement.seen, finding.place.start, finding.place.stop) == ("nothing", 4, 8)
    refused = calls.exchange(6, request(calls, 6), calls.sized(b"", 8, needed=0, room=64))
    assert not judged("PCQ106", refused).findings


@pytest.mark.parametrize("unknown", [of(None, mechanism="krb5"), over(None)])
def test_what_is_not_in_the_capture_proves_nothing(unknown):
    verdict = judged("PCQ106", unknown)
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "inconclusive"
