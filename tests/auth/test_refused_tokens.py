"""Tokens, files and messages that are not what they should be: each is refused with its reason, and costs nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer.auth import kdc_replies, secrets
from analyzer.auth.hmac_key import Hmac
from analyzer.auth.kdc_replies import KdcLayer, TicketIssued
from analyzer.auth.kerberos import Key, parse_as_or_tgs_rep, parse_message
from analyzer.auth.kerberos_context import KerberosContext
from analyzer.auth.kerberos_handshake import salts
from analyzer.auth.key_files import KerberosKey, parse_seskey_line
from analyzer.auth.keyring import Keyring, SmbKeys, UserKey
from analyzer.auth.ntlm_keys import nt_hash
from analyzer.auth.secrets import document_of, keyring_of_documents
from analyzer.auth.security_types import BYTES_A_TRY, KEYSTREAM_A_BYTE, SearchBudget
from analyzer.auth.spnego import parse_spnego
from analyzer.auth.token_handshake import TokenHandshake, begin
from analyzer.core.errors import DecodeError, InputError
from analyzer.core.events import StandsAlone
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.records.record_types import Endpoint
from analyzer.results.security import Decryption
from analyzer.transport.tcp.stream_events import Connection, Recognised, StreamBatch
from tests.build.auth import (
    INTEGRITY,
    OID_KRB5,
    OID_NTLM,
    PRIVACY,
    KerberosConversation,
    hmac_md5,
    integer,
    kdc_reply,
    kerberos_handshake,
    neg_token_init,
    ntlm_handshake,
    protected_pdu,
    tlv,
)

PASSWORD = "correct horse"
AES, RC4 = 18, 23


@pytest.mark.parametrize(
    ("parse", "token", "reason"),
    [
        (parse_message, tlv(0x60, OID_KRB5, b"\x05\x04"), "token id 0504 is not one of context establishment"),
        (parse_message, tlv(0x65, tlv(0x30)), "tag 0x65 is no AP-REQ, AP-REP or KRB-ERROR"),
        (parse_message, tlv(0x6F, tlv(0x30, tlv(0xA0, integer(5)))), "is missing"),
        (parse_message, tlv(0x7E, tlv(0x30, tlv(0xA0, integer(5)))), "is missing"),
        (parse_as_or_tgs_rep, tlv(0x6E, tlv(0x30)), "tag 0x6e is no AS-REP or TGS-REP"),
    ],
)
def test_a_token_that_is_none_is_refused_with_its_reason(
    parse: Callable[[bytes], object], token: bytes, reason: str
) -> None:
    with pytest.raises(DecodeError, match=reason):
        parse(token)


def test_an_offer_without_mechanisms_or_of_one_alone() -> None:
    assert parse_spnego(tlv(0xA0, tlv(0x30, tlv(0xA2, tlv(4, b"token"))))).mechanisms == ()
    handshake = begin(Keyring())
    handshake.feed("initiator", neg_token_init([OID_NTLM], None))
    assert handshake.identity.mechanism == "spnego-ntlm"


@pytest.mark.parametrize("key", [Key(99, b"x"), Key(AES, b"short")])
def test_a_key_of_no_known_type_or_length_opens_nothing(key: Key) -> None:
    assert not key.is_usable
    assert key.decrypt(2, bytes(64)) is None


# ------------------------------------------------------------------------------------------------ messages under Kerberos


def kerberos(etype: int) -> tuple[KerberosConversation, KerberosContext]:
    talk = kerberos_handshake(etype=etype, initiator_subkey=etype, acceptor_subkey=etype)
    return talk, KerberosContext((Key(etype, talk.session_key),))


@pytest.mark.parametrize("etype", [AES, RC4])
def test_a_changed_message_that_was_only_signed_is_given_unverified(etype: int) -> None:
    talk, context = kerberos(etype)
    pdu, body, verifier = protected_pdu(talk, "initiator", b"in clear" * 3, level=INTEGRITY)
    changed = pdu.replace(b"in clear", b"IN CLEAR", 1)
    result = context.open("initiator", INTEGRITY, changed, body, verifier)
    assert (result.body, result.verified, result.decryption) == (changed[body], False, Decryption.NOT_SEALED)


def test_a_wrong_key_of_the_same_type_opens_nothing() -> None:
    for etype in (AES, RC4):
        talk, _ = kerberos(etype)
        context = KerberosContext((Key(etype, bytes(len(talk.session_key))), Key(etype, talk.session_key)))
        pdu, body, verifier = protected_pdu(talk, "initiator", b"sealed" * 4)
        assert context.open("initiator", PRIVACY, pdu, body, verifier).body == b"sealed" * 4
        alone = KerberosContext((Key(etype, bytes(len(talk.session_key))),))
        assert alone.open("initiator", PRIVACY, pdu, body, verifier).decryption is Decryption.WRONG_KEY


@pytest.mark.parametrize(
    ("etype", "theirs", "level", "outcome"),
    [
        (AES, AES, INTEGRITY, (None, Decryption.NOT_SEALED)),
        (AES, AES, PRIVACY, (None, Decryption.NO_HANDSHAKE)),
        (RC4, AES, PRIVACY, (None, Decryption.NO_HANDSHAKE)),
        (RC4, RC4, INTEGRITY, (None, Decryption.NOT_SEALED)),
        (AES, None, PRIVACY, (True, Decryption.DECRYPTED)),
    ],
)
def test_without_the_reply_no_key_is_wrong(
    etype: int, theirs: int | None, level: int, outcome: tuple[bool | None, Decryption]
) -> None:
    """The AP-REP may state the acceptor's subkey, which its tokens then use."""
    talk = kerberos_handshake(etype=etype, initiator_subkey=etype, acceptor_subkey=theirs)
    handshake = begin(Keyring(kerberos_keys=[KerberosKey("host/srv.lab.test", "LAB.TEST", etype, 2, talk.service_key)]))
    handshake.feed(*talk.legs[0])
    pdu, body, verifier = protected_pdu(talk, "initiator", b"sealed" * 4, level=level)
    context = handshake.context(SearchBudget())
    result = context.open("initiator", level, pdu, body, verifier)
    assert (result.verified, result.decryption) == outcome
    assert (
        result.reason is not None
        and "AP-REP, which may have the acceptor's key, is not in the capture" in result.reason
    ) is (outcome[0] is None)


def test_without_the_reply_a_token_of_no_subkey_of_the_acceptor_may_be_wrong() -> None:
    talk = kerberos_handshake(etype=AES, initiator_subkey=AES, acceptor_subkey=None)
    pdu, body, verifier = protected_pdu(talk, "initiator", b"sealed" * 4)
    result = KerberosContext((Key(AES, bytes(32)),), "the AP-REP is not there").open(
        "initiator", PRIVACY, pdu, body, verifier
    )
    assert (result.verified, result.decryption) == (False, Decryption.WRONG_KEY)


def test_a_token_that_no_key_of_the_context_fits_is_named() -> None:
    talk, _ = kerberos(RC4)
    pdu, body, verifier = protected_pdu(talk, "initiator", b"sealed" * 4)
    result = KerberosContext((Key(AES, bytes(32)),)).open("initiator", PRIVACY, pdu, body, verifier)
    assert result.decryption is Decryption.UNSUPPORTED
    assert result.reason == "no key of the context (encryption types 18) fits the token"


@pytest.mark.parametrize(
    ("etype", "level", "change"),
    [
        (AES, PRIVACY, lambda token: token[:8]),  # no room for a sequence number
        (AES, PRIVACY, lambda token: token[:40]),  # none for a block and a checksum
        (AES, PRIVACY, lambda token: token[:2] + bytes([token[2] & ~2]) + token[3:]),  # says that nothing is sealed
        (AES, PRIVACY, lambda token: b"\x04\x04" + token[2:]),  # a MIC where all is sealed
        (AES, INTEGRITY, lambda token: b"\x05\x04" + token[2:]),  # a wrap token of what was signed by a MIC
        (AES, PRIVACY, lambda token: b"\x60\x03abc"),  # GSS-API framing of nothing
        (AES, PRIVACY, lambda token: b"\x07\x07" + token[2:]),
        (RC4, PRIVACY, lambda token: token[:-9]),  # cut
        (RC4, PRIVACY, lambda token: token.replace(b"\x11\x00\x10\x00", b"\x11\x00\x02\x00")),  # sealed with DES
        (RC4, PRIVACY, lambda token: token.replace(b"\x02\x01\x11\x00", b"\x01\x01\x11\x00")),  # a MIC
        (RC4, INTEGRITY, lambda token: token.replace(b"\x01\x01\x11\x00", b"\x01\x01\x12\x00")),
    ],
)
def test_a_verifier_that_does_not_fit_the_message_opens_nothing(
    etype: int, level: int, change: Callable[[bytes], bytes]
) -> None:
    talk, context = kerberos(etype)
    pdu, body, verifier = protected_pdu(talk, "initiator", b"message " * 4, level=level)
    changed = pdu[: verifier.start] + change(pdu[verifier])
    result = context.open("initiator", level, changed, body, slice(verifier.start, len(changed)))
    assert result.verified is False
    assert result.body == (None if level == PRIVACY else b"message " * 4)


def test_a_wrap_token_that_only_signs_is_checked() -> None:
    """RFC 4121 section 4.2.4: without confidentiality the checksum covers the message and the header with RRC and EC of zero."""
    talk, context = kerberos(AES)
    body, header = b"message " * 4, b"\x05\x04\x00\xff" + bytes(4) + (7).to_bytes(8, "big")
    token = header[:4] + b"\0\x0c\0\0" + header[8:] + talk.key.make_checksum(24, body + header)
    pdu = bytes(24) + body + bytes(8) + token
    result = context.open("initiator", INTEGRITY, pdu, slice(24, 56), slice(64, len(pdu)))
    assert (result.verified, result.header_signed) == (True, False)


@pytest.mark.parametrize("padding", [b"", b"\x03" * 3, b"\x01"])
def test_what_stacks_sign_behind_a_message_of_rc4_without_sending_it(padding: bytes) -> None:
    talk, context = kerberos(RC4)
    from hashlib import md5

    head, body = b"\x01\x01\x11\x00\xff\xff\xff\xff", b"five."
    checksum = hmac_md5(
        hmac_md5(talk.session_key, b"signaturekey\0"), md5((15).to_bytes(4, "little") + head + body + padding).digest()
    )[:8]
    pdu = bytes(24) + body + bytes(8) + head + bytes(8) + checksum
    assert context.open("initiator", INTEGRITY, pdu, slice(24, 29), slice(37, len(pdu))).verified is True


# ----------------------------------------------------------------------------------------------------------- exchanges


def test_a_request_that_comes_twice_is_the_same_exchange() -> None:
    talk = kerberos_handshake()
    key = KerberosKey("host/srv.lab.test", "LAB.TEST", AES, 2, talk.service_key)
    handshake = begin(Keyring(kerberos_keys=[key]))
    for sender, token in (talk.legs[0], talk.legs[1], talk.legs[0]):
        handshake.feed(sender, token)
    assert handshake.session_key == talk.session_key
    # An error that follows what was opened takes nothing back.
    handshake.feed("acceptor", tlv(0x7E, tlv(0x30, tlv(0xA6, integer(60)))))
    assert (handshake.decryption, handshake.reason) == (Decryption.DECRYPTED, None)
    ntlm = ntlm_handshake()
    handshake = begin(Keyring.build(passwords=[PASSWORD]))
    for sender, token in (ntlm.legs[0], ntlm.legs[0], *ntlm.legs[1:]):
        handshake.feed(sender, token)
    assert handshake.session_key == ntlm.session_key


def test_an_nt_hash_is_no_key_for_a_ticket_of_aes() -> None:
    handshake: TokenHandshake = begin(Keyring([UserKey("perfmon", None, nt_hash(PASSWORD))]))
    handshake.feed(*kerberos_handshake().legs[0])
    assert handshake.session_key is None


def test_salts_of_a_principal_of_one_component_without_an_account() -> None:
    assert salts("LAB.TEST", "krbtgt") == ("LAB.TESTkrbtgt",)


def test_the_client_of_a_kdc_and_the_oldest_of_too_many_connections_are_not_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kdc_replies, "_MAX_CONNECTIONS", 1)
    layer = KdcLayer()
    reply = kdc_reply(kerberos_handshake().ticket)
    data = TracedBytes.of_frame(len(reply).to_bytes(4, "big") + reply, 1, 54)
    first, second = (
        Connection(number, Endpoint("10.0.0.2", 50000 + number), Endpoint("10.0.0.9", 88), True) for number in (0, 1)
    )
    layer.feed(Recognised(first, "kerberos", 0))
    assert not layer.feed(StreamBatch.of_part(first, 0, 0, data))
    layer.feed(Recognised(second, "kerberos", 0))
    (given_back,) = layer.feed(StreamBatch.of_part(first, 1, 0, data))
    assert isinstance(given_back, StreamBatch)
    (issued,) = layer.feed(StreamBatch.of_part(second, 1, 0, data))
    assert isinstance(issued, TicketIssued)
    assert isinstance(issued, StandsAlone)  # no logon before it knows it


# -------------------------------------------------------------------------------------------------------- keys and files


def test_keys_are_chosen_by_name() -> None:
    ring = Keyring(
        [UserKey("perfmon", "LAB", nt_hash("x"), "x")],
        [KerberosKey("host/srv", "LAB.TEST", AES, 1, bytes(32))],
        [SmbKeys(0x1D, session_key=bytes(16))],
    )
    assert ring.named(ring.names).names == ring.names
    assert ring.named(["lab\\PERFMON"]).names == ("LAB\\perfmon",)
    with pytest.raises(KeyError, match="nobody"):
        ring.named(["LAB\\perfmon", "nobody"])


def test_keys_that_a_capture_carries_are_read_without_the_files_they_name(tmp_path: Path) -> None:
    ring = Keyring([UserKey("perfmon", "LAB", nt_hash("x"), "x")])
    assert keyring_of_documents(tmp_path / "x.pcapng", []).names == ()
    documents = [document_of(ring), b'{"keytabs": ["/etc/krb5.keytab"]}']
    assert keyring_of_documents(tmp_path / "x.pcapng", documents).names == ("LAB\\perfmon",)


def test_a_line_without_a_key_and_a_file_that_is_no_secrets_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="no key in it"):
        parse_seskey_line("1d00000000000000,,")
    monkeypatch.setattr(secrets, "_MAX_FILE_BYTES", 10)
    (tmp_path / "secrets.toml").write_bytes(b"#" * 11)
    with pytest.raises(InputError, match="too large for a secrets file"):
        Keyring.load(tmp_path / "secrets.toml")


def test_a_key_longer_than_a_block_is_hashed_first() -> None:
    assert Hmac(bytes(range(100)), "md5").digest(b"x") == hmac_md5(bytes(range(100)), b"x")


def test_messages_earn_what_searches_may_cost() -> None:
    search = SearchBudget(tries=0, keystream=10)
    assert not search.spend(11)
    assert search.spend(10)
    for size, tries in ((1, 0), (BYTES_A_TRY - 2, 0), (1, 1), (3 * BYTES_A_TRY - 1, 3), (1, 4)):
        search.earn(size)
        assert search.tries == tries
    assert search.keystream == 4 * BYTES_A_TRY * KEYSTREAM_A_BYTE
