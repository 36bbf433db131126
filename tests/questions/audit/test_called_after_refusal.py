from tests.build.rpc import ALTER, ALTER_RESP, NDR, Conversation, bind, bind_ack, bind_nak, request, response
from tests.questions.audit.judging import judged
from tests.transport.rpc.run import reported

REQUIREMENT = "PCQ-1.5-R03"
REFUSED = ((2, 1, NDR),)


def called(talk):
    return reported(talk.client(request(6, bytes(24), call_id=7)).server(response(bytes(24), call_id=7)))


def test_an_accepted_context_may_be_called():
    verdict = judged("PCQ114", *called(Conversation().bound()))
    assert not verdict.findings
    assert verdict.count(REQUIREMENT) == 1


def test_a_call_on_a_refused_context_is_flagged_at_its_context_id():
    (finding,) = judged("PCQ114", *called(Conversation().client(bind()).server(bind_ack(REFUSED)))).findings
    assert "abstract syntax not supported" in finding.judgement.seen
    assert (finding.call, finding.place.start, finding.place.stop) == (1, 20, 22)


def test_a_call_after_bind_nak_is_flagged():
    assert judged("PCQ114", *called(Conversation().client(bind()).server(bind_nak(8)))).findings


def test_a_context_that_was_accepted_later_may_be_called():
    talk = Conversation().client(bind()).server(bind_ack(REFUSED))
    talk.client(bind(ptype=ALTER, call_id=2)).server(bind_ack(ptype=ALTER_RESP, call_id=2))
    assert not judged("PCQ114", *called(talk)).findings


def test_a_bind_without_answer_proves_nothing():
    verdict = judged("PCQ114", *called(Conversation().client(bind())))
    assert not verdict.findings
    assert verdict.verdict(REQUIREMENT) == "inconclusive"


def test_a_call_before_the_refusal_is_not_blamed_for_it():
    """The context was accepted and used; offered again, it was refused."""
    talk = Conversation().bound().client(request(6, bytes(24), call_id=7)).server(response(bytes(24), call_id=7))
    talk.client(bind(ptype=ALTER, call_id=8)).server(bind_ack(REFUSED, ptype=ALTER_RESP, call_id=8))
    assert not judged("PCQ114", *reported(talk)).findings
    talk.client(request(6, bytes(24), call_id=9)).server(response(bytes(24), call_id=9))
    assert [finding.call for finding in judged("PCQ114", *reported(talk)).findings] == [2]
