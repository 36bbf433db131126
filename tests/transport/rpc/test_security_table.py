"""Security contexts: every protected PDU passes its own in order; what stays closed says why; nothing unproven is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.auth.security_context import SearchBudget, Unprotected
from analyzer.core.absence import Missing
from analyzer.core.events import Problem
from analyzer.core.limits import Limits
from analyzer.results.connection import Logon
from analyzer.results.security import AuthLevel, Decryption
from analyzer.transport.rpc.exchange import Exchange
from analyzer.transport.rpc.rpc_layer import RpcLayer
from tests.build.rpc import (
    ALTER,
    ALTER_RESP,
    AUTH3,
    BIND,
    BIND_ACK,
    CANCEL,
    TOY_ANSWER,
    TOY_FIRST,
    TOY_LAST,
    Auth,
    Conversation,
    ToyContext,
    ToyKeys,
    ToySealer,
    bind,
    bind_ack,
    bind_nak,
    context,
    fault,
    fragments,
    pdu,
    request,
    response,
)
from tests.transport.rpc.run import calls, only_call, problems, reported, stub


def test_fragments_are_opened_one_by_one_and_joined_without_their_padding():
    talk = Conversation()
    ours, theirs = talk.sealed()
    text = bytes(range(70))
    for flags, piece in fragments(text, 33):
        talk.client(request(1, piece, flags=flags, sealer=ours))
    for flags, piece in fragments(text[::-1], 19):
        talk.server(response(piece, flags=flags, sealer=theirs))
    call = only_call(talk)
    assert (stub(call.request), stub(call.response)) == (text, text[::-1])


def test_a_signed_call_with_a_wrong_checksum_is_read_and_says_so():
    talk = Conversation()
    ours, _ = talk.sealed(level=AuthLevel.INTEGRITY)
    sent = bytearray(request(6, b"ask me!", sealer=ours))
    sent[24] ^= 1
    talk.client(bytes(sent)).server(response(b"tell"))
    call = only_call(talk)
    assert stub(call.request) == b"`sk me!"
    assert call.auth.verified is False
    (problem,) = problems(talk)
    assert (problem.kind, problem.frames) == ("malformed", call.request.frames)
    assert "1 signed PDU has a wrong checksum" in problem.text


def test_a_mid_stream_capture_says_that_the_handshake_is_missing():
    talk = Conversation()
    ours, theirs = talk.sealed()
    del talk.events[:]
    talk.client(request(6, b"ask me!", sealer=ours)).server(response(b"telling", sealer=theirs))
    call = only_call(talk)
    assert (call.state, call.opnum, call.interface, call.auth.decryption) == (
        "sealed",
        6,
        None,
        Decryption.NO_HANDSHAKE,
    )
    assert call.reason.startswith("handshake not in the capture")


def test_a_lost_answer_to_the_bind_is_reported_to_the_handshake():
    keys, talk = ToyKeys(), Conversation()
    talk.client(bind(auth=Auth(TOY_FIRST + b"key"))).gap(False, 80)
    talk.client(request(6, b"ask", sealer=ToySealer(b"key", "initiator")))
    calls(talk, keys)
    assert keys.begun[0].missed_senders == ["acceptor"]


def test_no_plaintext_is_shown_that_was_not_proven():
    """A context that hands out bytes without a right checksum at PRIVACY is not believed."""

    class Careless(ToyContext):
        def open(self, sender, level, whole, body, verifier):
            return Unprotected(b"\0" * len(whole[body]), None, Decryption.DECRYPTED)

    keys, talk = ToyKeys(), Conversation()
    ours, _ = talk.sealed()
    begin = keys.begin

    def careless(keyring, auth_type=None):
        handshake = begin(keyring, auth_type)
        handshake.context = lambda search: Careless(b"")
        return handshake

    keys.begin = careless
    talk.client(request(6, b"ask me!", sealer=ours))
    call = only_call(talk, keys)
    assert call.request.stub is Missing.SEALED
    assert call.auth.decryption is Decryption.WRONG_KEY


def test_a_cancel_with_a_verifier_keeps_the_count_in_step():
    talk = Conversation()
    ours, theirs = talk.sealed()
    talk.client(request(6, b"ask", call_id=2, sealer=ours))
    blank = pdu(CANCEL, call_id=2, auth=Auth(bytes(20)))
    talk.client(ours.protect(blank, slice(16, 16)))
    talk.server(response(b"tell", call_id=2, sealer=theirs))
    talk.client(request(6, b"more", call_id=3, sealer=ours))
    first, second = calls(talk)
    assert first.cancelled
    assert stub(second.request) == b"more"


def test_several_security_contexts_have_their_own_streams():
    talk = Conversation()
    ours, theirs = talk.sealed()
    for leg, ptype, from_client in ((TOY_FIRST + b"key", ALTER, True), (TOY_ANSWER, ALTER_RESP, False)):
        sent = bind if from_client else bind_ack
        talk.send(from_client, sent(ptype=ptype, call_id=2, auth=Auth(leg, context_id=1)))
    talk.client(pdu(AUTH3, bytes(4), call_id=2, auth=Auth(TOY_LAST, context_id=1)))
    other, others = (ToySealer(b"key", who, context_id=1) for who in ("initiator", "acceptor"))
    for call_id, mine, yours in ((3, ours, theirs), (4, other, others), (5, ours, theirs)):
        talk.client(request(6, b"ask%d" % call_id, call_id=call_id, sealer=mine))
        talk.server(response(b"tell", call_id=call_id, sealer=yours))
    assert [stub(call.request) for call in calls(talk)] == [b"ask3", b"ask4", b"ask5"]


def test_a_repeated_last_leg_does_not_start_the_stream_again():
    """Samba sends it in AUTH3 and again in alter_context."""
    talk = Conversation()
    ours, theirs = talk.sealed()
    talk.client(request(6, b"one", call_id=2, sealer=ours)).server(response(b"1", call_id=2, sealer=theirs))
    talk.client(
        bind((context(1, "338cd001-2244-31f1-aaaa-900038001003"),), ptype=ALTER, call_id=3, auth=Auth(TOY_LAST))
    )
    talk.server(bind_ack(ptype=ALTER_RESP, call_id=3, address=b""))
    talk.client(request(6, b"two", call_id=4, sealer=ours)).server(response(b"2", call_id=4, sealer=theirs))
    assert [stub(call.request) for call in calls(talk)] == [b"one", b"two"]


def test_a_new_first_leg_under_the_same_id_authenticates_anew():
    talk = Conversation()
    ours, theirs = talk.sealed()
    talk.client(request(6, b"one", call_id=2, sealer=ours)).server(response(b"1", call_id=2, sealer=theirs))
    talk.client(bind(ptype=ALTER, call_id=3, auth=Auth(TOY_FIRST + b"key")))
    talk.server(bind_ack(ptype=ALTER_RESP, call_id=3, auth=Auth(TOY_ANSWER)))
    talk.client(pdu(AUTH3, bytes(4), call_id=3, auth=Auth(TOY_LAST)))
    again = ToySealer(b"key", "initiator")
    talk.client(request(6, b"two", call_id=4, sealer=again))
    assert [stub(call.request) for call in calls(talk)] == [b"one", b"two"]


def test_an_authentication_may_begin_in_alter_context_only():
    talk = Conversation().bound()
    talk.client(bind(ptype=ALTER, call_id=2, auth=Auth(TOY_FIRST + b"key")))
    talk.server(bind_ack(ptype=ALTER_RESP, call_id=2, auth=Auth(TOY_ANSWER)))
    talk.client(bind(ptype=ALTER, call_id=3, auth=Auth(TOY_LAST))).server(bind_ack(ptype=ALTER_RESP, call_id=3))
    talk.client(request(6, b"ask", call_id=4, sealer=ToySealer(b"key", "initiator")))
    assert stub(only_call(talk).request) == b"ask"


def test_bytes_that_the_provider_added_without_counting_them_stay_on_the_stub():
    """One stack pads RC4 Kerberos requests to 8 inside the seal (RFC 1964 section 1.2.2.3) and leaves auth_pad_length at 0.

    [MS-RPCE] 2.2.2.11: only auth_pad_length states the padding, and the server's runtime, which reads the same field,
    hands the longer stub to the method. So what the wire carries is what was asked; NDR decoding stops where the call ends.
    """
    talk = Conversation()
    ours, _ = talk.sealed()
    ours.align = 1
    talk.client(request(6, b"real stub 12" + b"\4\4\4\4", sealer=ours))
    assert stub(only_call(talk).request) == b"real stub 12\4\4\4\4"


def test_an_unknown_provider_is_named_and_its_sealed_calls_stay_closed():
    from analyzer.auth.keyring import Keyring
    from analyzer.transport.rpc.exchange import Exchange
    from analyzer.transport.rpc.rpc_layer import RpcLayer

    talk = Conversation().client(bind(auth=Auth(b"\x16\x03\x01\0\x05hello", auth_type=14))).server(bind_ack())
    talk.client(request(6, b"ask me!", sealer=ToySealer(b"key", "initiator", auth_type=14)))
    layer = RpcLayer(Keyring())
    stated = [out for event in talk.events for out in layer.feed(event)] + list(layer.finish())
    (call,) = [event for event in stated if isinstance(event, Exchange)]
    assert (call.auth.mechanism, call.auth.decryption) == ("schannel", Decryption.UNSUPPORTED)
    assert call.reason.startswith(("algorithm unsupported", "the answer", "the capture"))
    assert call.request.stub is Missing.SEALED


def test_a_response_that_lost_its_trailer_is_not_shown_as_plaintext():
    talk = Conversation()
    ours, theirs = talk.sealed()
    sent = bytearray(response(b"telling", call_id=2, sealer=theirs))
    sent[10:12] = b"\0\0"
    talk.client(request(6, b"ask me!", call_id=2, sealer=ours)).server(bytes(sent))
    call = only_call(talk)
    assert (call.state, call.response.stub, stub(call.request)) == ("malformed", Missing.UNDECODABLE, b"ask me!")
    assert call.auth.verified is None


def test_a_response_under_another_context_is_not_shown():
    talk = Conversation()
    ours, theirs = talk.sealed()
    theirs.level = AuthLevel.INTEGRITY
    talk.client(request(6, b"ask me!", call_id=2, sealer=ours))
    talk.server(response(b"telling", call_id=2, sealer=theirs))
    call = only_call(talk)
    assert (call.state, call.response.stub) == ("malformed", Missing.UNDECODABLE)


def test_a_request_below_the_level_of_its_bind_needs_proof():
    talk = Conversation()
    ours, _ = talk.sealed()
    ours.level = AuthLevel.INTEGRITY
    forged = bytearray(request(6, b"forged!", call_id=2, sealer=ours))
    forged[24] ^= 1
    call = only_call(talk.client(bytes(forged)))
    assert call.request.stub is Missing.SEALED
    assert "level" in call.reason


@pytest.mark.parametrize(("where", "value", "what"), [(4, 77, "auth_context_id"), (1, 99, "auth_level")])
def test_a_trailer_that_cannot_be_is_not_believed(where, value, what):
    talk = Conversation()
    ours, _ = talk.sealed()
    sent = bytearray(request(6, b"ask me!", call_id=2, sealer=ours))
    sent[len(sent) - 28 + where] = value
    call = only_call(talk.client(bytes(sent)))
    assert (call.state, call.opnum, call.request.stub) == ("malformed", 6, Missing.UNDECODABLE)
    assert what in call.reason


def test_after_a_gap_a_context_may_have_been_negotiated_unseen():
    talk = Conversation()
    talk.sealed(b"other")
    talk.gap(True, 100).gap(False, 100)
    other = ToySealer(b"key", "initiator", context_id=5)
    call = only_call(talk.client(request(6, b"ask me!", call_id=2, sealer=other)))
    assert (call.state, call.auth.decryption) == ("request-only", Decryption.NO_HANDSHAKE)


def test_searches_that_were_given_up_are_one_limit_problem() -> None:
    search = SearchBudget()
    layer = RpcLayer(Keyring(), search=search)
    assert not list(layer.finish())
    search.given_up = 3
    (problem,) = layer.finish()
    assert isinstance(problem, Problem)
    assert (problem.kind, problem.layer) == ("limit", "rpc")
    assert problem.text.startswith("3 sealed messages")


def handing_out(keys, result):
    """Toy keys whose contexts hand out the same for each PDU."""
    begin = keys.begin

    class Constant(ToyContext):
        def open(self, sender, level, whole, body, verifier):
            return result

    def begun(keyring, auth_type=None):
        handshake = begin(keyring, auth_type)
        handshake.context = lambda search: Constant(b"")
        return handshake

    keys.begin = begun
    return keys


@pytest.mark.parametrize(
    ("key", "body", "verified"), [(b"key", None, False), (b"unknown", None, None), (b"key", b"ask me!", None)]
)
def test_what_could_not_be_checked_is_wrong_only_where_there_are_keys_and_nothing_came_out(key, body, verified):
    """With the key, a token that leads to nothing is a wrong one; without it, nobody knows."""
    talk = Conversation()
    ours, _ = talk.sealed(key, level=AuthLevel.INTEGRITY)
    talk.client(request(6, b"ask me!", sealer=ours))
    result = Unprotected(body, None, Decryption.NOT_SEALED, "no token")
    call = only_call(talk, handing_out(ToyKeys(), result))
    assert (stub(call.request), call.auth.verified) == (b"ask me!", verified)


def test_a_provider_goes_by_what_its_tokens_say_and_else_by_its_number():
    talk = Conversation()
    talk.client(bind(auth=Auth(TOY_FIRST + b"key", auth_type=9))).server(bind_ack(auth=Auth(TOY_ANSWER, auth_type=9)))
    talk.client(request(6, b"ask", sealer=ToySealer(b"key", "initiator", auth_type=9)))
    assert only_call(talk).auth.mechanism == "ntlm"
    for auth_type, name in ((16, "krb5"), (9, "spnego"), (0x33, "0x33?")):
        talk = Conversation().client(request(6, b"ask", sealer=ToySealer(b"key", "initiator", auth_type=auth_type)))
        layer = RpcLayer(Keyring())
        stated = [out for event in talk.events for out in layer.feed(event)] + list(layer.finish())
        (call,) = [event for event in stated if isinstance(event, Exchange)]
        assert call.auth.mechanism == name


@pytest.mark.parametrize(("key", "level"), [(b"key", AuthLevel.INTEGRITY), (b"unknown", AuthLevel.PRIVACY)])
def test_of_very_many_pdus_the_first_64_frames_are_named(key, level):
    talk = Conversation()
    ours, _ = talk.sealed(key, level=level)
    for call_id in range(2, 102):
        sent = bytearray(request(6, b"ask me!", call_id=call_id, sealer=ours))
        sent[24] ^= level == AuthLevel.INTEGRITY
        talk.client(bytes(sent))
    (problem,) = [one for one in problems(talk) if one.kind in ("malformed", "sealed")]
    assert problem.frames == tuple(range(4, 68))
    assert problem.text.startswith("100 ")


def logons(talk: Conversation, **options: Any) -> list[tuple[str, str]]:
    return [(one.key, one.outcome) for one in reported(talk, **options) if isinstance(one, Logon)]


def test_a_server_that_answers_has_let_the_client_in_also_where_calls_have_no_trailer() -> None:
    """At level CONNECT the bind alone is authenticated ([MS-RPCE] section 2.2.1.1.8)."""
    talk = Conversation().client(bind(auth=Auth(b"hello", level=AuthLevel.CONNECT))).server(bind_ack())
    talk.client(request(6, b"ask me!"))
    assert logons(talk) == [("rpc0", "unanswered")]
    assert logons(talk.server(response(b"telling"))) == [("rpc0", "account")]


def test_a_logon_whose_context_made_room_for_another_is_stated() -> None:
    talk = Conversation()
    talk.sealed(b"other")
    talk.gap(True, 100).gap(False, 100)
    talk.client(request(6, b"ask me!", call_id=2, sealer=ToySealer(b"key", "initiator", context_id=5)))
    assert logons(talk, limits=Limits(security_contexts=1)) == [("rpc0", "undecided")]


@pytest.mark.parametrize("both", [True, False])
def test_of_two_logons_at_level_connect_nothing_says_whose_a_bare_call_is(both: bool) -> None:
    talk = Conversation()
    for number, (ask, ack) in enumerate(((BIND, BIND_ACK), (ALTER, ALTER_RESP))):
        auth = [
            Auth(leg, level=AuthLevel.CONNECT, context_id=number) for leg in (TOY_FIRST + b"key", TOY_ANSWER, TOY_LAST)
        ]
        talk.client(bind(ptype=ask, call_id=2, auth=auth[0])).server(bind_ack(ptype=ack, call_id=2, auth=auth[1]))
        if both or number == 0:
            talk.client(pdu(AUTH3, bytes(4), call_id=2, auth=auth[2]))
    talk.client(request(6, b"ask me!", call_id=3)).server(response(b"telling", call_id=3))
    auth = only_call(talk).auth
    assert auth.level == AuthLevel.CONNECT
    assert auth.identity is not None
    assert (auth.identity.account, auth.logon) == (("LAB\\perfmon", 0) if both else (None, None))


def nak(talk: Conversation) -> None:
    talk.server(bind_nak(8))


def handshake(talk: Conversation, *, is_over: bool = True) -> None:
    legs = [Auth(leg) for leg in (TOY_FIRST + b"key", TOY_ANSWER, TOY_LAST)]
    talk.server(bind_ack(auth=legs[1]))
    if is_over:
        talk.client(pdu(AUTH3, bytes(4), auth=legs[2]))


def call_faulted(status: int, *, is_protected: bool = False) -> Callable[[Conversation], None]:
    def told(talk: Conversation) -> None:
        handshake(talk)
        talk.client(request(6, b"ask me!", call_id=2, sealer=ToySealer(b"key", "initiator")))
        talk.server(fault(status, call_id=2, sealer=ToySealer(b"key", "acceptor") if is_protected else None))

    return told


REFUSED_CALL = (
    "a call under it got fault nca_s_fault_access_denied, frame 5, "
    "which does not say whether the logon or the call was refused"
)


@pytest.mark.parametrize(
    ("rest", "outcome", "by", "words"),
    [
        (nak, "refused", "bind_nak", "refused by bind_nak (authentication type not recognized), frame 2"),
        (
            lambda talk: talk.server(fault(0x721, call_id=1)),
            "refused",
            "fault",
            "refused by fault RPC_S_SEC_PKG_ERROR, frame 2",
        ),
        (
            handshake,
            "undecided",
            None,
            "the last message of its handshake is auth3 in frame 3, which has no answer of its own; no call under it was captured",
        ),
        (
            call_faulted(5),
            "undecided",
            None,
            REFUSED_CALL,
        ),
        (call_faulted(5, is_protected=True), "account", None, "a call under it was answered"),
        (call_faulted(0x721), "refused", "fault", "refused by fault RPC_S_SEC_PKG_ERROR, frame 5"),
        (
            lambda talk: None,
            "unanswered",
            None,
            "the last message of its handshake is bind in frame 1; no call under it was captured",
        ),
    ],
)
def test_a_logon_tells_what_was_seen_of_its_outcome(
    rest: Callable[[Conversation], object], outcome: str, by: str | None, words: str
) -> None:
    talk = Conversation().client(bind(auth=Auth(TOY_FIRST + b"key")))
    rest(talk)
    (logon,) = [one for one in reported(talk) if isinstance(one, Logon)]
    assert (logon.outcome, logon.refused_by, logon.seen) == (outcome, by, words)
    assert not [call for call in calls(talk) if call.state == "response-only"]
