"""PDUs are found by frag_length, across pieces and after gaps, and what was lost between them is stated."""

from __future__ import annotations

from analyzer.core.events import Problem
from tests.build.rpc import Conversation, ToyKeys, pdu, request, response
from tests.transport.rpc.run import calls, only_call, pdus, problems, reported, stub


def test_a_pdu_may_come_byte_by_byte():
    talk = Conversation().bound()
    for n, byte in enumerate(request(1, b"ask!")):
        talk.send(True, bytes([byte]), fresh=n == 0)
    talk.server(response(b"tell"))
    call = only_call(talk)
    assert (stub(call.request), len(call.request.frames)) == (b"ask!", 28)


def test_after_a_gap_a_header_is_found_in_the_middle_of_a_message():
    """On a TCP connection nothing marks the border but the header itself."""
    talk = Conversation().bound().gap(True, None)
    talk.send(True, b"\x05tail of something\x05\x00" + request(2, b"ask!", call_id=2), fresh=False)
    talk.server(response(b"tell", call_id=2))
    assert only_call(talk).state == "complete"
    (problem,) = problems(talk)
    assert problem.kind == "gap"
    assert "unknown number of bytes" in problem.text


def test_bytes_that_are_no_pdu_cost_themselves():
    talk = Conversation().bound().client(b"GET / HTTP/1.1\r\n\r\n", request(2, b"ask!")).server(response(b"tell"))
    assert only_call(talk).state == "complete"
    (problem,) = problems(talk)
    assert (problem.kind, problem.frames) == ("malformed", (3,))
    assert "18 bytes" in problem.text


def test_a_forged_length_holds_no_more_than_one_pdu():
    long = pdu(0, bytes(8), frag_length=0xFFFF)
    talk = Conversation().bound().client(long)
    for _ in range(3):
        talk.client(bytes(40000))
    stated = reported(talk)
    assert any(isinstance(event, Problem) for event in stated)
    assert [one.length for one in pdus(talk)][-1] == 0xFFFF


def test_a_gap_tells_the_security_context_how_much_it_lost():
    keys = ToyKeys()
    talk = Conversation()
    ours, _ = talk.sealed()
    talk.client(request(1, b"ask!", call_id=2, sealer=ours))
    lost = request(1, b"lost", call_id=3, sealer=ours)
    talk.client(lost[:20]).gap(True, len(lost) - 20)
    talk.client(request(1, b"more", call_id=4, sealer=ours))
    calls(talk, keys)
    assert keys.begun[0].contexts[0].lost_calls == [("initiator", len(lost))]
