"""Requests and responses become calls: pairing, fragments, faults, and what is stated of calls that are not whole."""

from __future__ import annotations

from analyzer.auth.keyring import Keyring
from analyzer.core.absence import Missing
from analyzer.core.limits import Limits
from analyzer.results.connection import Pdu
from analyzer.transport.rpc.events import Exchange
from analyzer.transport.rpc.layer import RpcLayer
from tests.build.rpc import (
    CHANNEL,
    PCQ,
    SHUTDOWN,
    WINREG,
    Conversation,
    ToyKeys,
    fault,
    fragments,
    pdu,
    request,
    response,
)
from tests.transport.rpc.run import calls, only_call, pdus, problems, reported, stub


def test_the_object_uuid_is_no_part_of_the_stub():
    uuid = "11112222-3333-4444-5555-666677778888"
    talk = Conversation().bound().client(request(2, b"stub", object_uuid=uuid)).server(response(b""))
    call = only_call(talk)
    assert (call.object_uuid, stub(call.request)) == (uuid, b"stub")


def test_frames_swapped_by_the_capture_still_pair():
    talk = Conversation().bound().client(request(1, b"ask!")).server(response(b"tell"))
    talk.events[-2:] = reversed(talk.events[-2:])
    call = only_call(talk)
    assert (call.state, stub(call.request), stub(call.response)) == ("complete", b"ask!", b"tell")


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


def test_pdus_come_in_the_order_they_were_sent():
    talk = Conversation().bound().send(True, request(1, b"a", call_id=2) + request(2, b"b", call_id=3))
    talk.send(False, response(b"c", call_id=2) + response(b"d", call_id=3))
    assert [event.call_id for event in reported(talk) if isinstance(event, Pdu)] == [1, 1, 2, 3, 2, 3]
    assert [stub(call.response) for call in calls(talk)] == [b"c", b"d"]
