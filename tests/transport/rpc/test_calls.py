"""Requests and responses become calls: pairing, fragments, faults, and what is stated of calls that are not whole."""

from __future__ import annotations

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.core.absence import Missing
from analyzer.core.limits import Limits
from analyzer.core.traced import TracedBytes
from analyzer.results.connection import Pdu
from analyzer.transport.rpc.events import Exchange
from analyzer.transport.rpc.layer import RpcLayer
from analyzer.transport.tcp.events import Connection, StreamClosed
from tests.build.rpc import (
    CANCEL,
    CHANNEL,
    FIRST,
    LAST,
    MAYBE,
    NDR,
    NDR64,
    ORPHANED,
    PCQ,
    SHUTDOWN,
    SMB,
    WHOLE,
    WINREG,
    Conversation,
    ToyKeys,
    bind,
    bind_ack,
    context,
    fault,
    fragments,
    pdu,
    request,
    response,
)
from tests.transport.rpc.run import calls, only_call, pdus, problems, reported, stub


def test_a_request_and_its_response_are_one_call():
    talk = Conversation().bound().client(request(6, b"ask!", call_id=2)).server(response(b"tell", call_id=2))
    call = only_call(talk)
    assert (call.interface, call.version, call.syntax) == (PCQ, (1, 0), "ndr")
    assert (call.opnum, call.call_id, call.context_id, call.state, call.reason) == (6, 2, 0, "complete", None)
    assert (stub(call.request), stub(call.response)) == (b"ask!", b"tell")
    assert call.request.frames == (3,)
    assert (call.request.first_time_ns, call.response.last_time_ns) == (3_000_000, 4_000_000)
    assert (call.channel, call.smb) == (CHANNEL, SMB)
    assert (call.auth.auth_type, call.auth.level, call.auth.mechanism) == (0, 1, "none")
    assert (call.fault, call.object_uuid, call.cancelled, call.orphaned) == (None, None, False, False)
    assert not problems(talk)


def test_the_stub_leads_back_to_its_frames():
    talk = Conversation().bound().client(request(6, b"ask!"))
    message = only_call(talk).request
    assert isinstance(message.stub, TracedBytes)
    (extent,) = message.stub.origin(0, 4)
    assert (extent.frame, extent.start, extent.length) == (3, 100 + 24, 4)
    assert message.pdus[0].stub_start == 24


def test_a_call_in_fragments_is_joined_in_both_directions():
    talk = Conversation().bound()
    for flags, piece in fragments(b"abcdefghij", 3):
        talk.client(request(1, piece, flags=flags))
    for flags, piece in fragments(b"ABCDEFGHIJKLMN", 4):
        talk.server(response(piece, flags=flags))
    call = only_call(talk)
    assert (stub(call.request), stub(call.response)) == (b"abcdefghij", b"ABCDEFGHIJKLMN")
    assert call.request.frames == (3, 4, 5, 6)
    assert call.response.wire_length == 14
    assert len(call.response.pdus) == 4


def test_fragments_of_several_calls_may_interleave():
    talk = Conversation().bound()
    talk.client(request(1, b"aa", call_id=2, flags=FIRST), request(5, b"xx", call_id=3, flags=FIRST))
    talk.client(request(1, b"bb", call_id=2, flags=LAST), request(5, b"yy", call_id=3, flags=LAST))
    talk.server(response(b"RR", call_id=3, flags=FIRST), response(b"SS", call_id=2))
    talk.server(response(b"TT", call_id=3, flags=LAST))
    second, first = sorted(calls(talk), key=lambda call: -call.call_id)
    assert (first.opnum, stub(first.request), stub(first.response)) == (1, b"aabb", b"SS")
    assert (second.opnum, stub(second.request), stub(second.response)) == (5, b"xxyy", b"RRTT")


def test_a_call_id_may_be_used_again_after_the_answer():
    talk = Conversation().bound()
    for n in range(3):
        talk.client(request(n, b"%d" % n, call_id=7)).server(response(b"r%d" % n, call_id=7))
    assert [(call.opnum, stub(call.response)) for call in calls(talk)] == [(0, b"r0"), (1, b"r1"), (2, b"r2")]


def test_both_ends_may_send_big_endian():
    talk = Conversation().client(bind(big=True)).server(bind_ack(big=True))
    talk.client(request(6, b"ask!", call_id=0x01020304, big=True))
    talk.server(response(b"tell", call_id=0x01020304, big=True))
    call = only_call(talk)
    assert (call.interface, call.opnum, call.call_id, call.state) == (PCQ, 6, 0x01020304, "complete")
    assert call.request.big_endian
    assert call.response.big_endian


def test_the_object_uuid_is_no_part_of_the_stub():
    uuid = "11112222-3333-4444-5555-666677778888"
    talk = Conversation().bound().client(request(2, b"stub", object_uuid=uuid)).server(response(b""))
    call = only_call(talk)
    assert (call.object_uuid, stub(call.request)) == (uuid, b"stub")


def test_the_context_decides_interface_and_syntax():
    talk = Conversation().client(bind((context(0, WINREG), context(1, PCQ, (NDR64,)))))
    talk.server(bind_ack(((0, 0, NDR), (0, 0, NDR64))))
    talk.client(request(6, b"a", context_id=1, call_id=2)).server(response(b"b", context_id=1, call_id=2))
    talk.client(request(17, b"a", context_id=0, call_id=3)).server(response(b"b", context_id=0, call_id=3))
    assert [(call.interface, call.syntax) for call in calls(talk)] == [(PCQ, "ndr64"), (WINREG, "ndr")]


@pytest.mark.parametrize("big", [False, True])
def test_a_fault_answers_a_call(big):
    talk = Conversation().bound().client(request(9, b"ask!")).server(fault(0x1C010002, big=big))
    call = only_call(talk)
    assert (call.fault, call.state, stub(call.response)) == (0x1C010002, "complete", b"")


def test_a_fault_may_come_before_the_request_is_whole():
    talk = Conversation().bound().client(request(9, b"ab", flags=FIRST)).server(fault(5))
    talk.client(request(9, b"cd", flags=LAST))
    call = only_call(talk)
    assert (call.fault, call.state, stub(call.request)) == (5, "complete", b"abcd")


def test_a_maybe_call_needs_no_answer():
    call = only_call(Conversation().bound().client(request(1, b"ab", flags=WHOLE | MAYBE)))
    assert (call.state, call.response, call.reason) == ("complete", None, None)


def test_cancel_and_orphaned_are_noted():
    talk = (
        Conversation()
        .bound()
        .client(request(1, b"a", call_id=2), pdu(CANCEL, call_id=2))
        .server(fault(0x1C00000D, call_id=2))
    )
    talk.client(request(1, b"a", call_id=3), pdu(ORPHANED, call_id=3)).closed()
    cancelled, orphaned = calls(talk)
    assert (cancelled.cancelled, cancelled.orphaned, cancelled.state) == (True, False, "complete")
    assert (orphaned.cancelled, orphaned.orphaned, orphaned.state) == (False, True, "request-only")
    assert "gave up" in orphaned.reason


def test_a_closed_connection_leaves_the_request_alone():
    call = only_call(Conversation().bound().client(request(1, b"ab")).closed())
    assert (call.state, call.response) == ("request-only", None)
    assert "no answer was captured" in call.reason
    assert stub(call.request) == b"ab"


def test_the_end_of_the_capture_leaves_the_request_alone():
    call = only_call(Conversation().bound().client(request(1, b"ab")))
    assert call.state == "request-only"
    assert "capture ends" in call.reason


def test_an_answer_without_its_question_is_reported():
    call = only_call(Conversation().bound().server(response(b"tell", call_id=9)))
    assert (call.state, call.opnum, call.interface, stub(call.response)) == ("response-only", None, PCQ, b"tell")
    assert call.request is None
    assert "request" in call.reason


def test_a_lost_answer_names_the_frames_around_the_hole():
    talk = Conversation().bound().client(request(1, b"ab", call_id=2)).gap(False, 28)
    talk.client(request(2, b"cd", call_id=3)).server(response(b"tell", call_id=3)).closed()
    lost, kept = sorted(calls(talk), key=lambda call: call.call_id)
    assert (lost.state, kept.state) == ("request-only", "complete")
    assert "frames 3, 5" in lost.reason


def test_frames_swapped_by_the_capture_still_pair():
    talk = Conversation().bound().client(request(1, b"ask!")).server(response(b"tell"))
    talk.events[-2:] = reversed(talk.events[-2:])
    call = only_call(talk)
    assert (call.state, stub(call.request), stub(call.response)) == ("complete", b"ask!", b"tell")


def test_an_answer_whose_question_was_lost_does_not_serve_a_later_one():
    talk = Conversation().bound().server(response(b"old!", call_id=5))
    talk.client(request(1, b"ask!", call_id=5)).server(response(b"new!", call_id=5))
    done, alone = calls(talk)
    assert (done.state, stub(done.response)) == ("complete", b"new!")
    assert (alone.state, stub(alone.response)) == ("response-only", b"old!")


def test_a_call_id_used_again_without_an_answer_tells_the_first_call():
    talk = Conversation().bound().client(request(1, b"a"), request(2, b"b")).server(response(b"c"))
    first, second = calls(talk)
    assert (first.opnum, first.state) == (1, "request-only")
    assert "used again" in first.reason
    assert (second.opnum, second.state) == (2, "complete")


def test_without_the_bind_the_stub_is_reported_with_an_unknown_interface():
    talk = Conversation().client(request(6, b"ask!", context_id=3)).server(response(b"tell", context_id=3))
    call = only_call(talk)
    assert (call.interface, call.version, call.syntax, call.state) == (None, None, "ndr", "partial")
    assert "the bind was not captured" in call.reason
    assert (stub(call.request), stub(call.response)) == (b"ask!", b"tell")


def test_a_request_without_its_first_fragment_is_partial():
    talk = Conversation().bound().client(request(6, b"tail", flags=LAST)).server(response(b"tell"))
    call = only_call(talk)
    assert (call.state, call.opnum) == ("partial", 6)
    assert call.request.stub is Missing.NOT_CAPTURED
    assert stub(call.response) == b"tell"
    assert "first fragment" in call.reason


def test_an_answer_that_breaks_off_is_partial():
    call = only_call(Conversation().bound().client(request(6, b"ask!")).server(response(b"half", flags=FIRST)).closed())
    assert call.state == "partial"
    assert call.response.stub is Missing.NOT_CAPTURED
    assert "last fragment" in call.reason


def test_sixteen_answers_wait_for_requests_that_come_late():
    talk = Conversation().bound()
    for number in range(16):
        talk.server(response(b"tell", call_id=number + 2))
    layer = RpcLayer(Keyring(), begin=ToyKeys().begin)
    assert not [event for given in talk.events for event in layer.feed(given) if isinstance(event, Exchange)]
    more = Conversation().server(response(b"tell", call_id=99))
    (oldest,) = [event for given in more.events for event in layer.feed(given) if isinstance(event, Exchange)]
    assert (oldest.call_id, oldest.state) == (2, "response-only")


def test_a_stub_beyond_the_bound_is_not_held():
    talk = Conversation().bound()
    for flags, piece in fragments(bytes(400), 100):
        talk.client(request(1, piece, flags=flags))
    talk.server(response(b"ok"))
    call = only_call(talk, limits=Limits(stub=250))
    assert (call.state, call.request.pdus, call.request.wire_length) == ("partial", (), 400)
    assert "limit" in call.reason
    assert [problem.kind for problem in problems(talk, limits=Limits(stub=250))] == ["limit"]
    assert only_call(talk, limits=Limits(stub=400)).state == "complete"


def test_padding_that_does_not_fit_makes_the_call_malformed_and_nothing_else():
    from tests.build.rpc import Auth

    odd = pdu(0, bytes(8) + b"ab", auth=Auth(b"x" * 16, level=5), pad=9)
    talk = Conversation().bound().client(odd).server(response(b"tell"))
    talk.client(request(1, b"ask!", call_id=2)).server(response(b"fine", call_id=2))
    bad, good = calls(talk)
    assert (bad.state, bad.request.stub) == ("malformed", Missing.UNDECODABLE)
    assert "auth_pad_length" in bad.reason
    assert good.state == "complete"


def test_an_auth_length_that_does_not_fit_still_tells_the_call():
    broken = bytearray(request(4, b"ab"))
    broken[10:12] = b"\x40\x00"
    talk = Conversation().bound().client(bytes(broken)).server(response(b"tell"))
    call = only_call(talk)
    assert (call.state, call.opnum, call.request.stub) == ("malformed", 4, Missing.UNDECODABLE)
    assert call.interface == PCQ
    assert "auth_length" in call.reason
    assert [problem.kind for problem in problems(talk)] == ["malformed"]
    assert len(pdus(talk)) == 4


def test_a_request_too_short_for_its_fields_costs_itself():
    talk = Conversation().bound().client(pdu(0, b"\0\0"), request(1, b"ask!")).server(response(b"tell"))
    assert only_call(talk).state == "complete"
    assert [problem.kind for problem in problems(talk)] == ["truncated"]


def test_every_pdu_is_reported_with_its_header():
    talk = (
        Conversation().bound().client(request(1, b"a", call_id=2)).server(fault(5, call_id=2), pdu(SHUTDOWN, call_id=0))
    )
    assert [(one.ptype, one.from_client, one.call_id, one.frames) for one in pdus(talk)] == [
        (11, True, 1, (1,)),
        (12, False, 1, (2,)),
        (0, True, 2, (3,)),
        (3, False, 2, (4,)),
        (17, False, 0, (5,)),
    ]
    assert all(one.auth_type is None and one.auth_level is None for one in pdus(talk))


def test_a_pdu_type_of_another_protocol_is_named_and_passed_over():
    talk = Conversation().bound().client(pdu(7), request(1, b"ask!")).server(response(b"tell"))
    assert only_call(talk).state == "complete"
    (problem,) = problems(talk)
    assert (problem.kind, problem.frames) == ("unsupported", (3,))


def test_channels_do_not_mix():
    from msgspec.structs import replace

    one, two = Conversation(), Conversation(replace(CHANNEL, number=1))
    one.bound().client(request(1, b"1"))
    two.bound(WINREG).client(request(17, b"2"))
    one.server(response(b"one"))
    two.server(response(b"two"))
    mixed = [event for pair in zip(one.events, two.events, strict=True) for event in pair]
    assert [(call.interface, call.opnum, stub(call.response)) for call in calls(mixed)] == [
        (PCQ, 1, b"one"),
        (WINREG, 17, b"two"),
    ]


def test_who_binds_is_the_client_whatever_the_channel_says():
    """A TCP connection captured from its middle may have its ends the wrong way round."""
    talk = Conversation().server(bind()).client(bind_ack())
    talk.server(request(1, b"ask!")).client(response(b"tell"))
    call = only_call(talk)
    assert (call.state, call.channel.client, call.channel.server) == ("complete", CHANNEL.server, CHANNEL.client)
    assert [one.from_client for one in pdus(talk)] == [True, False, True, False]


def test_many_unanswered_calls_are_reported_before_the_channel_ends():
    talk = Conversation().bound()
    for n in range(1100):
        talk.client(request(1, b"", call_id=n))
    assert len(calls(talk)) == 1100


def test_events_of_others_pass_unchanged():
    other = StreamClosed(Connection(0, CHANNEL.client, CHANNEL.server, initiator_known=True), "fin")
    assert reported([other]) == [other]


def test_pdus_come_in_the_order_they_were_sent():
    talk = Conversation().bound().send(True, request(1, b"a", call_id=2) + request(2, b"b", call_id=3))
    talk.send(False, response(b"c", call_id=2) + response(b"d", call_id=3))
    assert [event.call_id for event in reported(talk) if isinstance(event, Pdu)] == [1, 1, 2, 3, 2, 3]
    assert [stub(call.response) for call in calls(talk)] == [b"c", b"d"]
