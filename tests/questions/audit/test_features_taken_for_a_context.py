import pytest

from tests.build.rpc import FEATURES, NDR, PCQ, Conversation, bind, bind_ack, context, request, response
from tests.questions.audit.judging import judged
from tests.transport.rpc.run import reported

REQUIREMENT = "PCQ-2.2-R02"
OFFERS = (context(0, PCQ), context(1, PCQ, (FEATURES,)))
NO_SYNTAX = ("00000000-0000-0000-0000-000000000000", 0)


def bound(result, features=NO_SYNTAX):
    return Conversation().client(bind(OFFERS)).server(bind_ack(((0, 0, NDR), (result, 3, features))))


@pytest.mark.parametrize("result", [2, 3])
def test_acknowledging_or_refusing_is_accepted(result):
    verdict = judged("PCQ115", *reported(bound(result)))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "pass"


def test_accepting_them_as_a_context_is_flagged():
    (finding,) = judged("PCQ115", *reported(bound(0, FEATURES))).findings
    assert (finding.judgement.seen, finding.frames) == ("0 (acceptance)", (1, 2))


def test_a_call_under_their_id_is_flagged():
    talk = bound(3).client(request(6, bytes(24), call_id=2, context_id=1))
    (finding,) = judged("PCQ115", *reported(talk.server(response(bytes(24), call_id=2, context_id=1)))).findings
    assert (finding.call, finding.place.start) == (1, 20)


def test_a_bind_without_answer_proves_nothing():
    verdict = judged("PCQ115", *reported(Conversation().client(bind(OFFERS))))
    assert verdict.verdict(REQUIREMENT) == "inconclusive"


def test_a_bind_without_features_has_nothing_to_judge():
    assert judged("PCQ115", *reported(Conversation().bound())).verdict(REQUIREMENT) == "not-exercised"
