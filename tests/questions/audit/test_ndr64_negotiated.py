import pytest

from analyzer.questions.audit.engine import Profile
from tests.build.calls import Calls
from tests.build.rpc import NDR, NDR64, PCQ, WINREG, Conversation, bind, bind_ack, context
from tests.questions.audit.judging import judged
from tests.transport.rpc.run import reported

REQUIREMENT = "PCQ-2.2-R01"


def bound(offered, accepted, uuid=PCQ):
    talk = Conversation().client(bind((context(0, uuid, offered),)))
    return reported(talk if accepted is None else talk.server(bind_ack(((0, 0, accepted),))))


def test_ndr_is_accepted():
    assert judged("PCQ113", *bound((NDR,), NDR)).count(REQUIREMENT) == 1


def test_ndr64_accepted_by_the_server_is_flagged():
    (finding,) = judged("PCQ113", *bound((NDR, NDR64), NDR64)).findings
    assert (finding.judgement.outcome, finding.judgement.seen, finding.frames) == ("fail", "ndr64", (1, 2))


@pytest.mark.parametrize(("profile", "excused"), [(Profile.WINDOWS, True), (Profile.SPEC, False)])
def test_an_offer_of_ndr64_is_warned_of(profile, excused):
    verdict = judged("PCQ113", *bound((NDR, NDR64), NDR), profile=profile)
    (finding,) = verdict.findings
    assert (finding.judgement.outcome, finding.is_excused) == ("warn", excused)
    assert verdict.verdict(REQUIREMENT) == ("pass" if excused else "warn")


def test_a_bind_without_answer_proves_nothing():
    verdict = judged("PCQ113", *bound((NDR,), None))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "inconclusive"


@pytest.mark.parametrize(("ndr64", "verdict"), [(True, "fail"), (False, "inconclusive")])
def test_without_the_bind_only_calls_in_ndr64_prove_something(ndr64, verdict):
    assert judged("PCQ113", Calls(ndr64=ndr64).open_query()).verdict(REQUIREMENT) == verdict


def test_other_interfaces_may_have_ndr64():
    assert judged("PCQ113", *bound((NDR64,), NDR64, WINREG)).verdict(REQUIREMENT) == "not-exercised"
