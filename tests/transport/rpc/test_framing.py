"""PDUs are found by frag_length, across pieces and after gaps, and what was lost between them is stated."""

from __future__ import annotations

from analyzer.core.absence import Missing
from analyzer.core.events import Problem
from tests.build.rpc import FIRST, LAST, PCQ, Conversation, ToyKeys, bind, bind_ack, pdu, request, response
from tests.transport.rpc.run import calls, only_call, pdus, problems, reported, stub


def test_several_pdus_may_come_in_one_piece():
    talk = Conversation().send(True, bind() + request(1, b"a", call_id=2) + request(2, b"b", call_id=3))
    talk.send(False, bind_ack() + response(b"c", call_id=2) + response(b"d", call_id=3))
    assert [call.opnum for call in calls(talk)] == [1, 2]


def test_a_pdu_may_come_byte_by_byte():
    talk = Conversation().bound()
    for n, byte in enumerate(request(1, b"ask!")):
        talk.send(True, bytes([byte]), fresh=n == 0)
    talk.server(response(b"tell"))
    call = only_call(talk)
    assert (stub(call.request), len(call.request.frames)) == (b"ask!", 28)


def test_version_5_1_is_read():
    talk = Conversation().bound().client(pdu(0, bytes(6) + b"\x07\0", minor=1))
    assert only_call(talk).opnum == 7


def test_after_a_gap_the_next_message_is_found():
    talk = Conversation().bound().client(request(1, b"lost")[:20]).gap(True, 8)
    talk.client(request(2, b"ask!", call_id=2)).server(response(b"tell", call_id=2)).closed()
    whole = only_call(talk)
    assert (whole.opnum, whole.state, stub(whole.request)) == (2, "complete", b"ask!")
    gaps = [problem for problem in problems(talk) if problem.kind == "gap"]
    assert "28 bytes" in gaps[0].text
    assert gaps[0].frames == (3, 5)


def test_the_head_of_a_cut_request_still_names_the_call():
    talk = Conversation().bound().client(request(7, b"this is lost")[:30]).gap(True, 6).server(response(b"tell"))
    call = only_call(talk)
    assert (call.state, call.opnum, call.interface) == ("partial", 7, PCQ)
    assert call.request.stub is Missing.NOT_CAPTURED
    assert stub(call.response) == b"tell"
    assert "frame" in call.reason


def test_the_head_of_a_cut_answer_makes_its_call_partial():
    talk = Conversation().bound().client(request(7, b"ask!")).server(response(b"this is lost")[:28]).gap(False, 8)
    call = only_call(talk)
    assert (call.state, call.opnum, stub(call.request)) == ("partial", 7, b"ask!")
    assert call.response.stub is Missing.NOT_CAPTURED


def test_after_a_gap_a_header_is_found_in_the_middle_of_a_message():
    """On a TCP connection nothing marks the border but the header itself."""
    talk = Conversation().bound().gap(True, None)
    talk.send(True, b"\x05tail of something\x05\x00" + request(2, b"ask!", call_id=2), fresh=False)
    talk.server(response(b"tell", call_id=2))
    assert only_call(talk).state == "complete"
    (problem,) = problems(talk)
    assert problem.kind == "gap"
    assert "unknown number of bytes" in problem.text


def test_a_gap_hides_a_fragment_in_the_middle():
    talk = Conversation().bound().client(request(1, b"aa", flags=FIRST)).gap(True, 26)
    talk.client(request(1, b"cc", flags=LAST)).server(response(b"tell"))
    call = only_call(talk)
    assert (call.state, call.request.stub) == ("partial", Missing.NOT_CAPTURED)
    assert "frames 3, 5" in call.reason


def test_a_gap_beside_a_call_is_no_loss_when_its_length_proves_it_whole():
    """Fragments of calls interleave: what was lost between two fragments may belong to another call."""
    talk = Conversation().bound().client(request(1, b"aa", call_id=2, flags=FIRST, hint=4)).gap(True, 26)
    talk.client(request(1, b"bb", call_id=2, flags=LAST)).server(response(b"tell", call_id=2))
    call = only_call(talk)
    assert (call.state, stub(call.request)) == ("complete", b"aabb")


def test_calls_that_a_gap_swallowed_whole_are_counted_by_their_ids():
    talk = Conversation().bound().client(request(1, b"", call_id=2)).server(response(b"", call_id=2))
    talk.gap(True, 48).client(request(1, b"", call_id=5)).server(response(b"", call_id=5))
    assert any("requests of calls 3 to 4 were not captured" in problem.text for problem in problems(talk))


def test_call_ids_that_jump_by_themselves_say_nothing():
    talk = Conversation().bound()
    for call_id in (2, 20, 30):
        talk.client(request(1, b"", call_id=call_id)).server(response(b"", call_id=call_id))
    talk.gap(True, 48).client(request(1, b"", call_id=50)).server(response(b"", call_id=50))
    assert not [problem for problem in problems(talk) if "requests of" in problem.text]


def test_bytes_that_are_no_pdu_cost_themselves():
    talk = Conversation().bound().client(b"GET / HTTP/1.1\r\n\r\n", request(2, b"ask!")).server(response(b"tell"))
    assert only_call(talk).state == "complete"
    (problem,) = problems(talk)
    assert (problem.kind, problem.frames) == ("malformed", (3,))
    assert "18 bytes" in problem.text


def test_a_stream_that_ends_inside_a_pdu_says_so():
    talk = Conversation().bound().client(request(2, b"ask!")[:10])
    (problem,) = problems(talk)
    assert problem.kind == "gap"
    assert "10 bytes" in problem.text


def test_a_gap_at_the_very_start_is_survived():
    talk = Conversation().gap(True, 100).client(request(2, b"ask!")).server(response(b"tell"))
    call = only_call(talk)
    assert (call.state, call.request.stub.data, call.response.stub.data) == ("partial", b"ask!", b"tell")


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


def test_fragments_that_fall_short_of_the_announced_length_are_partial_without_a_gap():
    talk = Conversation().bound().client(request(1, b"ask!"))
    talk.server(response(b"abcd", flags=FIRST, hint=12), response(b"ijkl", flags=LAST, hint=4))
    call = only_call(talk)
    assert (call.state, call.response.stub) == ("partial", Missing.NOT_CAPTURED)
    assert "8 of 12 announced bytes" in call.reason


def test_a_length_announced_a_little_too_long_is_only_a_hint():
    talk = Conversation().bound().client(request(1, b"ask!", hint=100))
    talk.server(response(b"abcd", flags=FIRST, hint=10), response(b"efgh", flags=LAST, hint=4))
    call = only_call(talk)
    assert (call.state, stub(call.response)) == ("complete", b"abcdefgh")


def test_an_unknown_pdu_in_the_middle_of_an_answer_makes_it_partial():
    talk = Conversation().bound().client(request(1, b"ask!"))
    talk.server(response(b"ab", flags=FIRST, hint=0), pdu(9), response(b"ef", flags=LAST, hint=0))
    call = only_call(talk)
    assert call.state == "partial"
    assert "frame 5" in call.reason
