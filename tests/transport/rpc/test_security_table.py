"""Security contexts: every protected PDU passes its own in order; what stays closed says why; nothing unproven is shown."""

from typing import Any

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.auth.security_types import SearchBudget, Unprotected
from analyzer.core.absence import Missing
from analyzer.core.events import Problem
from analyzer.core.limits import Limits
from analyzer.results.connection import Logon
from analyzer.results.security import AuthLevel, Decryption
from analyzer.transport.rpc.exchange_maker import Exchange
from analyzer.transport.rpc.rpc_layer import RpcLayer
from tests.build.rpc import (
    ALTER,
    ALTER_RESP,
    AUTH3,
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
    pdu,
    request,
    response,
)
from tests.transport.rpc.run import calls, only_call, problems, reported, stub


def test_a_lost_answer_to_the_bind_is_reported_to_the_handshake():
    keys, talk = ToyKeys(), Conversation()
    talk.client(bind(auth=Auth(TOY_FIRST + b"key"))).gap(False, 80)
    talk.client(request(6, b"ask", sealer=ToySealer(b"key", "initiator")))
    calls(talk, keys)
    assert keys.begun[0].missed_senders == ["acceptor"]


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


def call_by_real_providers(talk: Conversation) -> Exchange:
    layer = RpcLayer(Keyring())
    stated = [out for event in talk.events for out in layer.feed(event)] + list(layer.finish())
    (call,) = [event for event in stated if isinstance(event, Exchange)]
    return call


def test_an_unknown_provider_is_named_and_its_sealed_calls_stay_closed():
    talk = Conversation().client(bind(auth=Auth(b"\x16\x03\x01\0\x05hello", auth_type=14))).server(bind_ack())
    talk.client(request(6, b"ask me!", sealer=ToySealer(b"key", "initiator", auth_type=14)))
    call = call_by_real_providers(talk)
    assert (call.auth.mechanism, call.auth.decryption) == ("schannel", Decryption.UNSUPPORTED)
    assert call.reason.startswith(("algorithm unsupported", "the answer", "the capture"))
    assert call.request.stub is Missing.SEALED


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


def test_no_plaintext_is_shown_that_was_not_proven():
    """A context that hands out bytes without a right checksum at PRIVACY is not believed."""
    talk = Conversation()
    ours, _ = talk.sealed()
    talk.client(request(6, b"ask me!", sealer=ours))
    call = only_call(talk, handing_out(ToyKeys(), Unprotected(bytes(16), None, Decryption.DECRYPTED)))
    assert call.request.stub is Missing.SEALED
    assert call.auth.decryption is Decryption.WRONG_KEY


def test_a_provider_goes_by_what_its_tokens_say_and_else_by_its_number():
    talk = Conversation()
    talk.client(bind(auth=Auth(TOY_FIRST + b"key", auth_type=9))).server(bind_ack(auth=Auth(TOY_ANSWER, auth_type=9)))
    talk.client(request(6, b"ask", sealer=ToySealer(b"key", "initiator", auth_type=9)))
    assert only_call(talk).auth.mechanism == "ntlm"
    for auth_type, name in ((16, "krb5"), (9, "spnego"), (0x33, "0x33?")):
        talk = Conversation().client(request(6, b"ask", sealer=ToySealer(b"key", "initiator", auth_type=auth_type)))
        assert call_by_real_providers(talk).auth.mechanism == name


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


def test_a_logon_whose_context_made_room_for_another_is_stated() -> None:
    talk = Conversation()
    talk.sealed(b"other")
    talk.gap(True, 100).gap(False, 100)
    talk.client(request(6, b"ask me!", call_id=2, sealer=ToySealer(b"key", "initiator", context_id=5)))
    assert logons(talk, limits=Limits(security_contexts=1)) == [("rpc0", "undecided")]


@pytest.mark.parametrize("proves_key", [True, False])
def test_a_key_of_a_damaged_handshake_calls_no_pdu_wrong(proves_key: bool) -> None:
    """One wrong bit in a token makes another key. A MIC that fits or a PDU that fits shows that the key is right."""
    text = ""

    def verdicts(*sealing_keys: bytes) -> list[bool | None]:
        talk = Conversation()
        talk.sealed(level=AuthLevel.INTEGRITY)
        for call_id, key in enumerate(sealing_keys, 2):
            talk.client(
                request(6, b"ask", call_id=call_id, sealer=ToySealer(key, "initiator", level=AuthLevel.INTEGRITY))
            )
        nonlocal text
        events = reported(talk, ToyKeys(proves_key=proves_key))
        text = " ".join(event.text for event in events if isinstance(event, Problem))
        return [event.auth.verified for event in events if isinstance(event, Exchange)]

    assert verdicts(b"other", b"other") == ([False, False] if proves_key else [None, None])
    assert ("changed" in text) is proves_key
    assert verdicts(b"key", b"other") == [True, False]
    assert "changed" in text
