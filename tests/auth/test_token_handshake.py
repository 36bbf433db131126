"""A handshake says who somebody is in clear, and why nothing can be decrypted."""

from __future__ import annotations

import base64
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.auth.handshake import Handshake
from analyzer.auth.keyring import Keyring, UserKey
from analyzer.auth.keytab import KerberosKey, write_keytab
from analyzer.auth.ntlm import nt_hash
from analyzer.auth.ntlm_exchange import NtlmExchange
from analyzer.auth.security_context import Sender
from analyzer.auth.token_handshake import TokenHandshake, begin
from analyzer.results.security import Decryption, Identity
from tests.auth.test_messages import message
from tests.build.auth import (
    KEY_EXCH,
    OID_KRB5,
    OID_MS_KRB5,
    OID_NTLM,
    OID_SPNEGO,
    USUAL_FLAGS,
    KerberosConversation,
    NtlmConversation,
    integer,
    kerberos_handshake,
    neg_token_init,
    neg_token_resp,
    ntlm_handshake,
    tlv,
)

PASSWORD = "correct horse"
RING = Keyring([UserKey("perfmon", "LAB", nt_hash(PASSWORD), PASSWORD)])


def followed(conversation: NtlmConversation | KerberosConversation, keyring: Keyring = RING) -> Handshake:
    handshake = begin(keyring)
    for sender, token in conversation.legs:
        handshake.feed(sender, token)
    return handshake


def key_of(conversation: KerberosConversation, etype: int = 18) -> KerberosKey:
    return KerberosKey("host/srv.lab.test", "LAB.TEST", etype, 2, conversation.service_key)


@pytest.mark.parametrize("spnego", [False, True])
@pytest.mark.parametrize("v1", [False, True])
@pytest.mark.parametrize("flags", [USUAL_FLAGS, USUAL_FLAGS & ~KEY_EXCH, USUAL_FLAGS & ~0x80000, USUAL_FLAGS & ~1])
def test_the_session_key_of_ntlm_is_found(spnego: bool, v1: bool, flags: int) -> None:
    conversation = ntlm_handshake(spnego=spnego, v1=v1, flags=flags)
    handshake = followed(conversation)
    assert (handshake.decryption, handshake.reason) == (Decryption.DECRYPTED, None)
    assert handshake.session_key == conversation.session_key
    assert handshake.decrypted_by == "password of LAB\\perfmon"
    assert handshake.identity.mechanism == ("spnego-ntlm" if spnego else "ntlm")


def test_a_missing_key_and_a_wrong_one_are_distinguished() -> None:
    conversation = ntlm_handshake()
    cases = [
        (Keyring(), Decryption.NO_KEY, "no password or NT hash given for LAB\\perfmon"),
        (
            Keyring([UserKey("somebody", None, nt_hash("x"), "x")]),
            Decryption.NO_KEY,
            "no password or NT hash given for LAB\\perfmon",
        ),
        (
            Keyring([UserKey("PERFMON", "lab", nt_hash("x"), "x")]),
            Decryption.WRONG_KEY,
            "the password given for LAB\\perfmon is wrong",
        ),
        (
            Keyring([UserKey("perfmon", None, nt_hash("x"))]),
            Decryption.WRONG_KEY,
            "the NT hash given for LAB\\perfmon is wrong",
        ),
        (Keyring.build(passwords=["x"]), Decryption.WRONG_KEY, "the password given for LAB\\perfmon is wrong"),
        (
            Keyring.build(passwords=["x", "y"], nt_hashes=["00" * 16]),
            Decryption.WRONG_KEY,
            "the passwords and the NT hash given for LAB\\perfmon are wrong",
        ),
    ]
    for keyring, decryption, reason in cases:
        handshake = followed(conversation, keyring)
        assert (handshake.decryption, handshake.reason, handshake.session_key) == (decryption, reason, None)


@pytest.mark.parametrize(
    "keyring",
    [
        Keyring.build(passwords=["wrong", PASSWORD]),
        Keyring.build(nt_hashes=[nt_hash(PASSWORD).hex()]),
        Keyring.build(passwords=[("OTHER\\PerfMon", PASSWORD)]),
        Keyring(
            [
                UserKey("perfmon", "LAB", nt_hash("old"), "old"),
                UserKey("perfmon", "DNS.NAME", nt_hash(PASSWORD), PASSWORD),
            ]
        ),
    ],
)
def test_every_key_that_may_fit_is_tried(keyring: Keyring) -> None:
    assert followed(ntlm_handshake(), keyring).decryption is Decryption.DECRYPTED


def test_missing_messages_are_named() -> None:
    conversation = ntlm_handshake()
    negotiate, challenge, authenticate = conversation.legs
    cases = [
        ([], "no authentication token is in the capture"),
        ([negotiate], "the NTLM challenge message is not in the capture"),
        ([negotiate, challenge], "the NTLM authenticate message is not in the capture"),
        ([authenticate], "the NTLM challenge message is not in the capture, so no key of LAB\\perfmon can be used"),
    ]
    for legs, reason in cases:
        handshake = begin(RING)
        for sender, token in legs:
            handshake.feed(sender, token)
        assert (handshake.decryption, handshake.reason) == (Decryption.NO_HANDSHAKE, reason)
    handshake = begin(RING)
    handshake.missed("acceptor")
    assert handshake.reason == "the authentication tokens are not in the capture"
    # Of the three, negotiate alone is not needed.
    handshake = begin(RING)
    for sender, token in (challenge, authenticate):
        handshake.feed(sender, token)
    assert handshake.session_key == conversation.session_key


def test_an_anonymous_session_needs_no_key() -> None:
    conversation = ntlm_handshake(anonymous=True)
    handshake = followed(conversation, Keyring())
    assert (handshake.decryption, handshake.is_anonymous) == (Decryption.DECRYPTED, True)
    assert handshake.session_key == conversation.session_key


@pytest.mark.parametrize(
    ("conversation", "allows"),
    [
        (ntlm_handshake(), "impersonation"),
        (ntlm_handshake(flags=USUAL_FLAGS | 0x00100000), "identification"),
        (ntlm_handshake(anonymous=True), "nothing"),
        (ntlm_handshake(spnego=True), "impersonation"),
    ],
)
def test_an_ntlm_client_says_what_the_server_may_do_in_its_name(conversation: NtlmConversation, allows: str) -> None:
    assert followed(conversation, Keyring()).identity.allows == allows


def test_a_changed_exchange_shows_in_its_mic() -> None:
    conversation = ntlm_handshake()
    handshake = followed(conversation)
    assert isinstance(handshake, TokenHandshake)
    assert handshake.mic_is_right is True
    changed = ntlm_handshake()
    changed.legs[0] = (
        "initiator",
        changed.negotiate[:12] + struct.pack("<I", USUAL_FLAGS & ~0x10) + changed.negotiate[16:],
    )
    handshake = followed(changed)
    assert isinstance(handshake, TokenHandshake)
    assert (handshake.decryption, handshake.mic_is_right) == (Decryption.DECRYPTED, False)


@pytest.mark.parametrize("spnego", [False, True])
def test_a_last_leg_given_twice_changes_nothing(spnego: bool) -> None:
    for conversation, keyring in (
        (ntlm_handshake(spnego=spnego), RING),
        (kerberos_handshake(spnego=spnego), Keyring(kerberos_keys=[key_of(kerberos_handshake())])),
    ):
        handshake = followed(conversation, keyring)
        for sender, token in conversation.legs[2:] + conversation.legs[2:]:
            handshake.feed(sender, token)
        assert handshake.session_key == conversation.session_key


def test_a_new_exchange_replaces_the_old_one() -> None:
    handshake = followed(ntlm_handshake(seed=1))
    again = ntlm_handshake(seed=2, workstation="OTHER", mic=False)
    handshake.feed("initiator", again.negotiate + b"x")
    assert handshake.decryption is Decryption.NO_HANDSHAKE
    handshake.feed("acceptor", again.challenge)
    handshake.feed("initiator", again.authenticate)
    assert (handshake.session_key, handshake.identity.workstation) == (again.session_key, "OTHER")


@pytest.mark.parametrize("framed", [False, True])
@pytest.mark.parametrize("spnego", [False, True])
@pytest.mark.parametrize("dce_style", [False, True])
def test_a_kerberos_ticket_is_opened_however_it_is_wrapped(framed: bool, spnego: bool, dce_style: bool) -> None:
    conversation = kerberos_handshake(framed=framed, spnego=spnego, dce_style=dce_style)
    handshake = followed(conversation, Keyring(kerberos_keys=[key_of(conversation)]))
    assert handshake.session_key == conversation.session_key
    identity = handshake.identity
    assert identity.mechanism == ("spnego-krb5" if spnego else "krb5")
    assert (identity.service, identity.realm, identity.etype, identity.kvno) == ("host/srv.lab.test", "LAB.TEST", 18, 2)
    assert (identity.account, identity.user) == ("perfmon@LAB.TEST", "perfmon")
    assert handshake.decrypted_by == "key of host/srv.lab.test@LAB.TEST (aes256-cts-hmac-sha1-96, kvno 2)"


def test_a_ticket_without_its_key_is_named() -> None:
    conversation = kerberos_handshake()
    other = KerberosKey("cifs/other.lab.test", "LAB.TEST", 18, 2, bytes(32))
    for keyring in (Keyring(), Keyring(kerberos_keys=[other]), RING):
        handshake = followed(conversation, keyring)
        assert handshake.decryption is Decryption.NO_KEY
        assert handshake.reason == "no key given for host/srv.lab.test@LAB.TEST (aes256-cts-hmac-sha1-96, kvno 2)"
    wrong = KerberosKey("HOST/srv.lab.test", "LAB.TEST", 18, 7, bytes(32))
    handshake = followed(conversation, Keyring(kerberos_keys=[wrong]))
    assert handshake.decryption is Decryption.WRONG_KEY
    assert handshake.reason == "the key given for host/srv.lab.test@LAB.TEST (aes256-cts-hmac-sha1-96, kvno 2) is wrong"


def test_a_key_of_another_principal_or_version_is_tried_all_the_same() -> None:
    conversation = kerberos_handshake()
    key = KerberosKey("cifs/alias", "ELSEWHERE", 18, 9, conversation.service_key)
    assert followed(conversation, Keyring(kerberos_keys=[key])).session_key == conversation.session_key


def test_a_service_password_or_nt_hash_opens_its_tickets() -> None:
    from analyzer.auth.kerberos import string_to_key

    for etype in (17, 18, 23):
        made = string_to_key(etype, "service pw", "LAB.TESTsvc-perf")
        conversation = kerberos_handshake(etype=etype, service_key=made)
        keyring = Keyring([UserKey("svc-perf", "LAB", nt_hash("service pw"), "service pw")])
        handshake = followed(conversation, keyring)
        assert handshake.session_key == conversation.session_key
        assert handshake.decrypted_by == "password of LAB\\svc-perf"


def test_an_encryption_type_we_do_not_have_is_named() -> None:
    conversation = kerberos_handshake()
    request = conversation.legs[0][1]
    # The ticket's etype: the first INTEGER 18 in the message.
    at = request.index(b"\xa0\x03\x02\x01\x12")
    handshake = begin(RING)
    handshake.feed("initiator", request[: at + 4] + b"\x03" + request[at + 5 :])
    assert handshake.decryption is Decryption.UNSUPPORTED
    assert handshake.reason is not None
    assert "des-cbc-md5" in handshake.reason


def test_a_kerberos_error_is_shown_with_its_name() -> None:
    handshake = begin(Keyring())
    handshake.feed("initiator", kerberos_handshake().legs[0][1])
    error = tlv(0x7E, tlv(0x30, tlv(0xA0, integer(5)), tlv(0xA1, integer(30)), tlv(0xA6, integer(37))))
    handshake.feed("acceptor", error)
    assert handshake.reason is not None
    assert handshake.reason.endswith("the acceptor answered KRB_AP_ERR_SKEW")


def test_the_mechanism_is_what_the_acceptor_chose() -> None:
    kerberos, ntlm = kerberos_handshake(), ntlm_handshake()
    handshake = begin(RING)
    handshake.feed("initiator", neg_token_init([OID_MS_KRB5, OID_NTLM], kerberos.legs[0][1]))
    assert handshake.identity.mechanism == "spnego-krb5"
    handshake.feed("acceptor", neg_token_resp(state=1, mechanism=OID_NTLM))
    handshake.feed("initiator", neg_token_resp(token=ntlm.negotiate))
    handshake.feed("acceptor", neg_token_resp(state=1, token=ntlm.challenge))
    handshake.feed("initiator", neg_token_resp(token=ntlm.authenticate))
    assert (handshake.session_key, handshake.identity.mechanism) == (ntlm.session_key, "spnego-ntlm")


def test_negoex_offered_first_does_not_hide_ntlm() -> None:
    ntlm = ntlm_handshake()
    negoex = bytes.fromhex("060a2b06010401823702021e")
    handshake = begin(RING)
    handshake.feed("initiator", neg_token_init([negoex, OID_NTLM], b"NEGOEXTS" + bytes(88)))
    assert (handshake.identity.mechanism, handshake.decryption) == ("spnego-negoex", Decryption.UNSUPPORTED)
    handshake.feed("acceptor", neg_token_resp(state=1, mechanism=OID_NTLM, token=ntlm.challenge))
    handshake.feed("initiator", neg_token_resp(token=ntlm.authenticate))
    assert (handshake.session_key, handshake.identity.mechanism) == (ntlm.session_key, "spnego-ntlm")


def test_a_name_that_is_empty_is_no_name() -> None:
    handshake = begin(RING)
    for sender, token in ntlm_handshake(user="").legs:
        handshake.feed(sender, token)
    assert (handshake.identity.user, handshake.identity.account, handshake.is_anonymous) == (None, None, False)


def test_the_offer_of_a_server_is_no_choice() -> None:
    # NegTokenInit2 in the SMB2 negotiate response, [MS-SPNG] section 2.2.1.
    hints = tlv(0xA3, tlv(0x30, tlv(0xA0, tlv(0x1B, b"not_defined_in_RFC4178@please_ignore"))))
    offer = tlv(0x60, OID_SPNEGO, tlv(0xA0, tlv(0x30, tlv(0xA0, tlv(0x30, OID_NTLM, OID_KRB5)), hints)))
    handshake = begin(RING)
    handshake.feed("acceptor", offer)
    assert (handshake.identity.mechanism, handshake.decryption) == ("spnego", Decryption.NO_HANDSHAKE)


@pytest.mark.parametrize(("auth_type", "name"), [(0x0E, "schannel"), (0x44, "netlogon"), (0x7B, "0x7b?")])
def test_providers_not_read_here_are_named(auth_type: int, name: str) -> None:
    handshake = begin(RING, auth_type)
    handshake.feed("initiator", b"\x16\x03\x01\x00\x05hello")
    assert (handshake.decryption, handshake.identity.mechanism) == (Decryption.UNSUPPORTED, name)
    assert handshake.reason == f"security provider {name} is not supported"
    result = handshake.context().open("initiator", 6, b"0123456789", slice(2, 6), slice(8, 10))
    assert (result.body, result.decryption) == (None, Decryption.UNSUPPORTED)


def test_tls_and_unknown_mechanisms_are_recognized_without_a_hint() -> None:
    handshake = begin(RING)
    handshake.feed("initiator", b"\x16\x03\x01\x00\x05hello")
    assert handshake.identity.mechanism == "schannel"
    handshake = begin(RING)
    handshake.feed("acceptor", neg_token_resp(state=1, mechanism=bytes.fromhex("060a2b06010401823702021e")))
    assert (handshake.decryption, handshake.identity.mechanism) == (Decryption.UNSUPPORTED, "spnego-negoex")


def whole_legs() -> list[tuple[Sender, bytes]]:
    made = [ntlm_handshake(), ntlm_handshake(spnego=True), ntlm_handshake(v1=True), kerberos_handshake(spnego=True)]
    return [leg for conversation in made for leg in conversation.legs]


LEGS = whole_legs()


@settings(max_examples=150)
@given(st.lists(st.tuples(st.sampled_from(["initiator", "acceptor"]), st.binary(max_size=120)), max_size=4))
def test_random_tokens_never_raise(tokens: list[tuple[Sender, bytes]]) -> None:
    handshake = begin(RING)
    for sender, token in tokens:
        handshake.feed(sender, token)
        assert handshake.decryption is not Decryption.DECRYPTED
        assert handshake.reason
    handshake.context()


@settings(max_examples=200)
@given(st.data())
def test_damaged_tokens_never_raise(data: st.DataObject) -> None:
    conversation = data.draw(
        st.sampled_from(
            [ntlm_handshake(), ntlm_handshake(spnego=True), ntlm_handshake(v1=True), kerberos_handshake(spnego=True)]
        )
    )
    keyring = RING.merged(Keyring(kerberos_keys=[key_of(kerberos_handshake())]))
    handshake = begin(keyring)
    for sender, token in conversation.legs:
        at = data.draw(st.integers(0, len(token)))
        stop = data.draw(st.integers(at, min(at + 8, len(token))))
        handshake.feed(sender, token[:at] + data.draw(st.binary(max_size=8)) + token[stop:])
        assert (handshake.reason is None) == (handshake.decryption is Decryption.DECRYPTED)
    handshake.context().open("initiator", 6, bytes(80), slice(24, 56), slice(64, 80))


def test_cut_tokens_never_raise() -> None:
    for sender, token in LEGS:
        for stop in range(0, len(token), 3):
            handshake = begin(RING)
            handshake.feed(sender, token[:stop])
            assert handshake.decryption is not Decryption.DECRYPTED or handshake.identity.user


def test_deep_nesting_is_refused() -> None:
    token = ntlm_handshake().negotiate
    for _ in range(300):
        token = neg_token_init([OID_NTLM], token)
    handshake = begin(RING)
    handshake.feed("initiator", token)
    assert handshake.decryption is Decryption.NO_HANDSHAKE


def test_nothing_printable_holds_a_secret(tmp_path: Path) -> None:
    ntlm = ntlm_handshake(spnego=True)
    kerberos = kerberos_handshake()
    key = key_of(kerberos)
    (tmp_path / "srv.keytab").write_bytes(write_keytab([key]))
    keyring = RING.merged(
        Keyring.build(
            passwords=[PASSWORD],
            nt_hashes=["11" * 16],
            keytabs=[tmp_path / "srv.keytab"],
            smb_session_keys=[f"1900009c003c0000,{'ab' * 16},{'cd' * 16},{'ef' * 16}"],
        )
    )
    secrets = [
        PASSWORD.encode(),
        nt_hash(PASSWORD),
        bytes.fromhex("11" * 16),
        kerberos.service_key,
        kerberos.session_key,
    ]
    secrets += [ntlm.session_key, *(bytes.fromhex(pair * 16) for pair in ("ab", "cd", "ef"))]
    shown: list[object] = [keyring, *keyring.users, *keyring.kerberos_keys, *keyring.smb_keys]
    for conversation in (ntlm, kerberos):
        handshake = followed(conversation, keyring)
        context = handshake.context()
        assert handshake.decryption is Decryption.DECRYPTED
        shown += [
            handshake,
            context,
            handshake.identity,
            handshake.decrypted_by,
            context.open("initiator", 6, bytes(80), slice(24, 56), slice(64, 80)),
        ]
        assert isinstance(handshake, TokenHandshake)
        for exchange in (handshake._ntlm, handshake._kerberos):
            shown += [exchange, *(getattr(exchange, name) for name in vars(exchange))]
    text = "\n".join(f"{thing!r} {thing!s}" for thing in shown)
    for secret in secrets:
        for form in (repr(secret)[2:-1], secret.hex(), secret.hex().upper(), base64.b64encode(secret).decode()):
            assert form not in text
        assert secret.decode("latin-1") not in text
        assert repr(secret.decode("latin-1").encode("utf-16-le"))[2:-1] not in text


def test_what_each_message_of_ntlm_says_of_both_ends() -> None:
    """Of the client what its last message says, and before that the first; of the server the target information of either."""
    client = "<I8x8x8s"
    begun = message(1, struct.pack(client, 0x02003000, b"\x06\x01\xb1\x1d\0\0\0\x0f"), (16, b"LAB"), (24, b"PC1"))
    nothing = message(1, struct.pack(client, 0, bytes(8)))
    for token, identity in (
        (begun, Identity("ntlm", domain="LAB", workstation="PC1", client_os_version="6.1.7601")),
        (nothing, Identity("ntlm")),
    ):
        handshake = begin(Keyring())
        handshake.feed("initiator", token)
        assert handshake.identity == identity
    conversation = ntlm_handshake()
    (_, challenge), (_, answer) = conversation.legs[1:]
    server = {
        "server_name": "PERFSRV",
        "server_domain": "LAB",
        "server_dns_name": "perfsrv.lab.test",
        "server_dns_domain": "lab.test",
    }
    handshake = begin(Keyring())
    handshake.feed("initiator", begun)
    handshake.feed("acceptor", challenge)
    assert handshake.identity == Identity(
        "ntlm", domain="LAB", workstation="PC1", client_os_version="6.1.7601", os_version="10.0.20348", **server
    )
    handshake.feed("initiator", answer)
    assert handshake.identity == Identity(
        "ntlm",
        user="perfmon",
        domain="LAB",
        workstation="CLIENT7",
        client_os_version="10.0.19041",
        os_version="10.0.20348",
        allows="impersonation",
        **server,
    )
    alone = begin(Keyring())
    alone.feed("initiator", answer)
    assert alone.identity == replace(handshake.identity, os_version=None)


def test_an_answer_without_a_name_of_its_machine_leaves_that_of_the_first_message() -> None:
    begun = message(1, struct.pack("<I8x8x8s", 0x02003000, b"\x06\x01\xb1\x1d\0\0\0\x0f"), (16, b"LAB"), (24, b"PC1"))
    answer = message(3, bytes(48) + struct.pack("<I", 1), (36, "me".encode("utf-16-le")))
    handshake = begin(Keyring())
    handshake.feed("initiator", begun)
    handshake.feed("initiator", answer)
    found = handshake.identity
    assert (found.user, found.domain, found.workstation, found.client_os_version) == ("me", None, "PC1", "6.1.7601")


def test_the_mic_of_an_exchange_that_is_not_whole_is_not_known() -> None:
    conversation = ntlm_handshake(anonymous=True)
    for left_out in range(3):
        exchange = NtlmExchange(RING)
        for number, (_, token) in enumerate(conversation.legs):
            if number != left_out:
                exchange.feed(token)
        assert exchange.mic_is_right is None
    exchange = NtlmExchange(Keyring())
    for _, token in ntlm_handshake().legs:
        exchange.feed(token)
    assert exchange.mic_is_right is None
