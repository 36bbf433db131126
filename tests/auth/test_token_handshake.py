"""A handshake says who somebody is in clear, and why nothing can be decrypted: `token_handshake.txt` has it, each name is a
promise."""

import base64
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.auth.kerberos import string_to_key
from analyzer.auth.key_files import KerberosKey, write_keytab
from analyzer.auth.keyring import Keyring, UserKey
from analyzer.auth.ntlm import NtlmExchange
from analyzer.auth.ntlm_keys import nt_hash
from analyzer.auth.security_types import Sender
from analyzer.auth.token_handshake import TokenHandshake, begin
from analyzer.results.security import Decryption, Identity
from tests.auth.test_token_fields import message
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
from tests.written import Outcomes

PASSWORD = "correct horse"
RING = Keyring([UserKey("perfmon", "LAB", nt_hash(PASSWORD), PASSWORD)])


def followed(conversation: NtlmConversation | KerberosConversation, keyring: Keyring = RING) -> TokenHandshake:
    handshake = begin(keyring)
    for sender, token in conversation.legs:
        handshake.feed(sender, token)
    return handshake


def key_of(conversation: KerberosConversation, etype: int = 18) -> KerberosKey:
    return KerberosKey("host/srv.lab.test", "LAB.TEST", etype, 2, conversation.service_key)


NTLM, KERBEROS, NOBODY = ntlm_handshake(), kerberos_handshake(), ntlm_handshake(anonymous=True)
CHANGED, AGAIN = ntlm_handshake(), ntlm_handshake(seed=2, workstation="OTHER", mic=False)
CHANGED.legs[0] = (
    "initiator",
    CHANGED.negotiate[:12] + struct.pack("<I", USUAL_FLAGS & ~0x10) + CHANGED.negotiate[16:],
)
NEGOEX, TLS = bytes.fromhex("060a2b06010401823702021e"), b"\x16\x03\x01\x00\x05hello"
# NegTokenInit2 in the SMB2 negotiate response, [MS-SPNG] section 2.2.1.
HINTS = tlv(0xA3, tlv(0x30, tlv(0xA0, tlv(0x1B, b"not_defined_in_RFC4178@please_ignore"))))
OFFER = tlv(0x60, OID_SPNEGO, tlv(0xA0, tlv(0x30, tlv(0xA0, tlv(0x30, OID_NTLM, OID_KRB5)), HINTS)))
SKEW = tlv(0x7E, tlv(0x30, tlv(0xA0, integer(5)), tlv(0xA1, integer(30)), tlv(0xA6, integer(37))))
CLIENT = "<I8x8x8s"
BEGUN = message(1, struct.pack(CLIENT, 0x02003000, b"\x06\x01\xb1\x1d\0\0\0\x0f"), (16, b"LAB"), (24, b"PC1"))
UNNAMED = message(3, bytes(48) + struct.pack("<I", 1), (36, "me".encode("utf-16-le")))
Legs = list[tuple[Sender, bytes]]
Case = tuple[Legs, Keyring, NtlmConversation | KerberosConversation]


def of(
    conversation: NtlmConversation | KerberosConversation, keyring: Keyring = RING, legs: Legs | None = None
) -> Case:
    return (conversation.legs if legs is None else legs), keyring, conversation


def asked(*tokens: bytes, keyring: Keyring = RING) -> Case:
    """Tokens of the initiator and the acceptor in turn."""
    ends: tuple[Sender, Sender] = ("initiator", "acceptor")
    return [(ends[at % 2], token) for at, token in enumerate(tokens)], keyring, NTLM


def with_keys(*users: UserKey, keys: tuple[KerberosKey, ...] = ()) -> Keyring:
    return Keyring(users, kerberos_keys=keys)


def twice(conversation: NtlmConversation | KerberosConversation, keyring: Keyring) -> Case:
    return of(conversation, keyring, conversation.legs + conversation.legs[2:] * 2)


def of_service(etype: int) -> Case:
    made = string_to_key(etype, "service pw", "LAB.TESTsvc-perf")
    keyring = with_keys(UserKey("svc-perf", "LAB", nt_hash("service pw"), "service pw"))
    return of(kerberos_handshake(etype=etype, service_key=made), keyring)


def of_unknown_type() -> Case:
    """The ticket's etype is the first INTEGER 18 in the message."""
    request = KERBEROS.legs[0][1]
    at = request.index(b"\xa0\x03\x02\x01\x12")
    return asked(request[: at + 4] + b"\x03" + request[at + 5 :])


def chosen_otherwise() -> Case:
    first = neg_token_init([OID_MS_KRB5, OID_NTLM], KERBEROS.legs[0][1])
    answers = neg_token_resp(state=1, mechanism=OID_NTLM), neg_token_resp(state=1, token=NTLM.challenge)
    asks = neg_token_resp(token=NTLM.negotiate), neg_token_resp(token=NTLM.authenticate)
    return asked(first, answers[0], asks[0], answers[1], asks[1])


def wrapped(*, framed: bool, spnego: bool, dce_style: bool) -> Case:
    made = kerberos_handshake(framed=framed, spnego=spnego, dce_style=dce_style)
    return of(made, Keyring(kerberos_keys=[key_of(made)]))


NEGOEX_FIRST = neg_token_init([NEGOEX, OID_NTLM], b"NEGOEXTS" + bytes(88))
BOTH = [False, True]
FITTING = {
    "a second password": Keyring.build(passwords=["wrong", PASSWORD]),
    "the NT hash of nobody": Keyring.build(nt_hashes=[nt_hash(PASSWORD).hex()]),
    "that of another domain": Keyring.build(passwords=[("OTHER\\PerfMon", PASSWORD)]),
    "a second of the account": with_keys(
        UserKey("perfmon", "LAB", nt_hash("old"), "old"), UserKey("perfmon", "DNS.NAME", nt_hash(PASSWORD), PASSWORD)
    ),
}
UNFITTING = {
    "no key": Keyring(),
    "a key of somebody else": with_keys(UserKey("somebody", None, nt_hash("x"), "x")),
    "a wrong password": with_keys(UserKey("PERFMON", "lab", nt_hash("x"), "x")),
    "a wrong NT hash": with_keys(UserKey("perfmon", None, nt_hash("x"))),
    "a wrong password of anybody": Keyring.build(passwords=["x"]),
    "several wrong keys": Keyring.build(passwords=["x", "y"], nt_hashes=["00" * 16]),
}
SERVICE = KerberosKey("cifs/other.lab.test", "LAB.TEST", 18, 2, bytes(32))
CASES: dict[str, Case] = {
    **{
        f"the session key of NTLM is found: SPNEGO {spnego}, first version {v1}, flags {flags:#x}": of(
            ntlm_handshake(spnego=spnego, v1=v1, flags=flags)
        )
        for spnego in BOTH
        for v1 in BOTH
        for flags in (USUAL_FLAGS, USUAL_FLAGS & ~KEY_EXCH, USUAL_FLAGS & ~0x80000, USUAL_FLAGS & ~1)
    },
    **{f"a missing key and a wrong one are distinguished: {what}": of(NTLM, ring) for what, ring in UNFITTING.items()},
    **{f"every key that may fit is tried: {what}": of(NTLM, ring) for what, ring in FITTING.items()},
    "without any message nothing is known": asked(),
    **{
        f"missing messages are named, where {what} is there": of(NTLM, legs=[NTLM.legs[at] for at in legs])
        for what, legs in {
            "the first": [0],
            "all but the last": [0, 1],
            "the last": [2],
            "all but the first": [1, 2],
        }.items()
    },
    "an anonymous session needs no key": of(NOBODY, Keyring()),
    "a client lets the server identify it alone": of(ntlm_handshake(flags=USUAL_FLAGS | 0x00100000)),
    "a changed exchange shows in its MIC": of(CHANGED),
    **{
        f"a last leg given twice changes nothing: SPNEGO {one}": twice(ntlm_handshake(spnego=one), RING) for one in BOTH
    },
    **{
        f"a last leg of Kerberos given twice changes nothing: SPNEGO {one}": twice(
            kerberos_handshake(spnego=one), Keyring(kerberos_keys=[key_of(KERBEROS)])
        )
        for one in BOTH
    },
    "a new exchange takes the place of the old one": of(
        AGAIN, legs=[*ntlm_handshake(seed=1).legs, ("initiator", AGAIN.negotiate + b"x")]
    ),
    "a new exchange has its own key": of(
        AGAIN, legs=[*ntlm_handshake(seed=1).legs, ("initiator", AGAIN.negotiate + b"x"), *AGAIN.legs[1:]]
    ),
    **{
        f"a Kerberos ticket is opened however it is wrapped: framed {framed}, SPNEGO {spnego}, three legs {dce}": wrapped(
            framed=framed, spnego=spnego, dce_style=dce
        )
        for framed in BOTH
        for spnego in BOTH
        for dce in BOTH
    },
    "a ticket without its key is named": of(KERBEROS, Keyring()),
    "a ticket without its key is named where others are given": of(KERBEROS, Keyring(kerberos_keys=[SERVICE])),
    "a ticket without its key is named where a user's is given": of(KERBEROS),
    "a wrong key of a ticket is named": of(
        KERBEROS, Keyring(kerberos_keys=[KerberosKey("HOST/srv.lab.test", "LAB.TEST", 18, 7, bytes(32))])
    ),
    "a key of another principal and version is tried all the same": of(
        KERBEROS, Keyring(kerberos_keys=[KerberosKey("cifs/alias", "ELSEWHERE", 18, 9, KERBEROS.service_key)])
    ),
    **{f"the password of a service opens its tickets: type {etype}": of_service(etype) for etype in (17, 18, 23)},
    "an encryption type we do not have is named": of_unknown_type(),
    "a Kerberos error is shown with its name": asked(KERBEROS.legs[0][1], SKEW, keyring=Keyring()),
    "the mechanism is the first one offered": asked(neg_token_init([OID_MS_KRB5, OID_NTLM], KERBEROS.legs[0][1])),
    "the mechanism is what the acceptor chose": chosen_otherwise(),
    "NEGOEX offered first is named": asked(NEGOEX_FIRST),
    "NEGOEX offered first does not hide NTLM": asked(
        NEGOEX_FIRST,
        neg_token_resp(state=1, mechanism=OID_NTLM, token=NTLM.challenge),
        neg_token_resp(token=NTLM.authenticate),
    ),
    "a name that is empty is no name": of(ntlm_handshake(user="")),
    "the offer of a server is no choice": ([("acceptor", OFFER)], RING, NTLM),
    "TLS is recognised without a hint": asked(TLS),
    "an unknown mechanism is recognised without a hint": (
        [("acceptor", neg_token_resp(state=1, mechanism=NEGOEX))],
        RING,
        NTLM,
    ),
    "the first message of NTLM says something of the client": asked(BEGUN, keyring=Keyring()),
    "the first message of NTLM may say nothing": asked(message(1, struct.pack(CLIENT, 0, bytes(8))), keyring=Keyring()),
    "the second message of NTLM says something of the server": asked(BEGUN, NTLM.challenge, keyring=Keyring()),
    "the last message of NTLM says more than the first": asked(
        BEGUN, *[leg for _, leg in NTLM.legs[1:]], keyring=Keyring()
    ),
    "the last message of NTLM has the target information too": asked(NTLM.authenticate, keyring=Keyring()),
    "an answer without a name of its machine leaves that of the first message": (
        [("initiator", BEGUN), ("initiator", UNNAMED)],
        Keyring(),
        NTLM,
    ),
}


# Whom most handshakes name.
OF_PERFMON = (
    "mechanism ntlm, user perfmon, domain LAB, workstation CLIENT7, server_name PERFSRV, server_domain LAB, "
    "server_dns_name perfsrv.lab.test, server_dns_domain lab.test, os_version 10.0.20348, client_os_version 10.0.19041, "
    "allows impersonation"
)


def said(case: Case) -> Iterator[str]:
    legs, keyring, conversation = case
    handshake = begin(keyring)
    for sender, token in legs:
        handshake.feed(sender, token)
    assert isinstance(handshake, TokenHandshake)
    key = {None: "none", conversation.session_key: "right"}.get(handshake.session_key, "another")
    yield f"{handshake.decryption.name} ({handshake.reason}), key {key} by {handshake.decrypted_by}"
    yield f"anonymous {handshake.is_anonymous}, proven {handshake.proves_key}, account {handshake.identity.account}"
    usual = Identity()
    fields = ((name, getattr(handshake.identity, name)) for name in usual.__struct_fields__)
    known = ", ".join(f"{name} {value}" for name, value in fields if value != getattr(usual, name))
    if known != OF_PERFMON:
        yield known or "nobody"


OUTCOMES = Outcomes(Path(__file__).parent / "token_handshake.txt", CASES, said)


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_of_a_handshake_is_what_was_read_through(name: str) -> None:
    OUTCOMES.holds(name)


def test_what_is_said_of_handshakes_is_written_as_it_is() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    OUTCOMES.is_as_written()


def test_tokens_that_were_missed_are_named() -> None:
    handshake = begin(RING)
    handshake.missed("acceptor")
    assert handshake.reason == "the authentication tokens are not in the capture"


@pytest.mark.parametrize(("auth_type", "name"), [(0x0E, "schannel"), (0x44, "netlogon"), (0x7B, "0x7b?")])
def test_providers_not_read_here_are_named(auth_type: int, name: str) -> None:
    handshake = begin(RING, auth_type)
    handshake.feed("initiator", b"\x16\x03\x01\x00\x05hello")
    assert (handshake.decryption, handshake.identity.mechanism) == (Decryption.UNSUPPORTED, name)
    assert handshake.reason == f"security provider {name} is not supported"
    result = handshake.context().open("initiator", 6, b"0123456789", slice(2, 6), slice(8, 10))
    assert (result.body, result.decryption) == (None, Decryption.UNSUPPORTED)


WHOLE = [ntlm_handshake(), ntlm_handshake(spnego=True), ntlm_handshake(v1=True), kerberos_handshake(spnego=True)]


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
    conversation = data.draw(st.sampled_from(WHOLE))
    keyring = RING.merged(Keyring(kerberos_keys=[key_of(kerberos_handshake())]))
    handshake = begin(keyring)
    for sender, token in conversation.legs:
        at = data.draw(st.integers(0, len(token)))
        stop = data.draw(st.integers(at, min(at + 8, len(token))))
        handshake.feed(sender, token[:at] + data.draw(st.binary(max_size=8)) + token[stop:])
        assert (handshake.reason is None) == (handshake.decryption is Decryption.DECRYPTED)
    handshake.context().open("initiator", 6, bytes(80), slice(24, 56), slice(64, 80))


def test_cut_tokens_never_raise() -> None:
    for sender, token in (leg for conversation in WHOLE for leg in conversation.legs):
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
