"""The same conversations through `auth`: NTLM, NTLM in SPNEGO and Kerberos, made by the tests' own peers."""

from collections.abc import Iterable

import pytest

from analyzer.auth.key_files import KerberosKey
from analyzer.auth.keyring import Keyring
from analyzer.core.absence import Missing
from analyzer.core.events import Event
from analyzer.results.security import Decryption
from analyzer.transport.rpc.exchange_maker import Exchange
from analyzer.transport.rpc.rpc_layer import RpcLayer
from tests.build.auth import kerberos_handshake, ntlm_handshake
from tests.build.rpc import Conversation, fault, fragments, request, response
from tests.transport.rpc.run import stub

NTLM_RING = Keyring.build(passwords=[("LAB\\perfmon", "correct horse")])


def calls(talk: Conversation, keyring: Keyring) -> list[Exchange]:
    layer = RpcLayer(keyring)
    stated: list[Event] = [out for event in talk.events for out in layer.feed(event)]
    stated += layer.finish()
    return [event for event in stated if isinstance(event, Exchange)]


def converse(talk: Conversation, ours, theirs, *, lost: Iterable[int] = ()) -> None:
    """Twelve calls; the requests of the calls in `lost` are not captured."""
    for n in range(12):
        question, answer = b"question %d " % n * (n + 1), b"answer %d " % n * (3 * n + 1)
        for flags, piece in fragments(question, 64):
            sent = request(n % 8, piece, call_id=n + 2, flags=flags, sealer=ours)
            if n in lost:
                talk.gap(True, len(sent))
            else:
                talk.client(sent)
        if n == 5:
            talk.server(fault(0x1C010002, call_id=n + 2))
            continue
        for flags, piece in fragments(answer, 100):
            talk.server(response(piece, call_id=n + 2, flags=flags, sealer=theirs))


def questions(found: list[Exchange]) -> list[bytes]:
    return [stub(call.request) for call in found]


@pytest.mark.parametrize("header_signed", [True, False])
@pytest.mark.parametrize("level", [4, 5, 6])
@pytest.mark.parametrize("spnego", [False, True])
def test_ntlm_conversations_are_read_whole(spnego, level, header_signed):
    talk = Conversation()
    ntlm = ntlm_handshake(spnego=spnego)
    converse(talk, *talk.authenticated(ntlm, level=level, auth_type=9 if spnego else 10, header_signed=header_signed))
    found = calls(talk, NTLM_RING)
    assert questions(found) == [b"question %d " % n * (n + 1) for n in range(12)]
    assert {call.state for call in found} == {"complete"}
    assert {call.auth.verified for call in found} == {True}
    assert {call.auth.header_signed for call in found} == {header_signed}
    assert {call.auth.mechanism for call in found} == {"spnego-ntlm" if spnego else "ntlm"}
    assert {call.auth.identity.account for call in found} == {"LAB\\perfmon"}
    assert [call.fault for call in found if call.fault is not None] == [0x1C010002]


@pytest.mark.parametrize("spnego", [False, True])
@pytest.mark.parametrize("etype", [17, 18, 23])
def test_kerberos_conversations_are_read_whole(etype, spnego):
    talk = Conversation()
    kerberos = kerberos_handshake(etype=etype, initiator_subkey=etype, acceptor_subkey=etype, spnego=spnego)
    converse(talk, *talk.authenticated(kerberos, auth_type=9 if spnego else 16))
    key = KerberosKey("host/srv.lab.test", "LAB.TEST", etype, 2, kerberos.service_key)
    found = calls(talk, Keyring(kerberos_keys=[key]))
    assert questions(found) == [b"question %d " % n * (n + 1) for n in range(12)]
    assert {call.auth.mechanism for call in found} == {"spnego-krb5" if spnego else "krb5"}
    assert {call.auth.verified for call in found} == {True}


def test_with_a_wrong_password_nothing_is_shown_and_the_user_is_named():
    talk = Conversation()
    converse(talk, *talk.authenticated(ntlm_handshake()))
    found = calls(talk, Keyring.build(passwords=[("LAB\\perfmon", "wrong")]))
    assert {call.state for call in found} == {"sealed"}
    assert {call.request.stub for call in found} == {Missing.SEALED}
    assert {call.auth.decryption for call in found} == {Decryption.WRONG_KEY}
    assert all(call.reason.startswith("key given, wrong") and "perfmon" in call.reason for call in found)


def test_signed_calls_are_read_with_a_wrong_password():
    talk = Conversation()
    converse(talk, *talk.authenticated(ntlm_handshake(), level=5))
    found = calls(talk, Keyring.build(passwords=[("LAB\\perfmon", "wrong")]))
    assert {call.state for call in found} == {"complete"}
    assert {call.auth.verified for call in found} == {None}


@pytest.mark.parametrize("hole", range(12))
def test_a_lost_request_leaves_the_calls_before_whole_and_those_after_recovered(hole):
    talk = Conversation()
    converse(talk, *talk.authenticated(ntlm_handshake()), lost={hole})
    found = {call.call_id - 2: call for call in calls(talk, NTLM_RING)}
    assert found[hole].state == "response-only"
    assert found[hole].request is None
    for n, call in found.items():
        if n != hole:
            assert (call.state, stub(call.request)) == ("complete", b"question %d " % n * (n + 1))
