"""What the probe sends where messages are protected, and what it takes of answers, beside the PDUs of another builder."""

from struct import pack
from typing import Any

import pytest

from analyzer.core.dcerpc_encoding import NDR, NDR64
from analyzer.probe import dcerpc_client
from analyzer.probe.dcerpc_client import BoundStream, Credentials, OfferedContext, Reply
from analyzer.probe.probe_calls import PERFLIB, WINREG
from tests.build import rpc
from tests.probe.test_probe_script import Scripted, response

CALLER = Credentials("user", "LAB", "password")
FIRST, LAST, CHALLENGE = b"the first token", b"the last of them", b"a challenge"
# auth_type of NTLM ([MS-RPCE] section 2.2.1.1.7).
WINNT = 10


class Inverting:
    """Stands for NTLM: bodies are inverted, signatures count."""

    def __init__(self, number: int, level: int, credentials: Credentials) -> None:
        self.number, self.level, self.who = number, level, credentials
        self.asked: list[Any] = []

    @property
    def protects(self) -> bool:
        return self.level >= 3

    def token(self) -> bytes:
        return FIRST

    def answer(self, challenge: bytes) -> bytes:
        assert challenge == CHALLENGE
        return LAST

    def protect(self, head: bytes, body: bytes, trailer: bytes) -> tuple[bytes, bytes]:
        self.asked.append((head, body, trailer))
        return bytes(255 - one for one in body), b"signature %6d" % len(self.asked)

    def unprotect(self, body: bytes, signature: bytes) -> bytes:
        self.asked.append(signature)
        return bytes(255 - one for one in body)


def bound(
    level: int, *answers: bytes, monkeypatch: pytest.MonkeyPatch
) -> tuple[BoundStream, Scripted, list[Inverting]]:
    made: list[Inverting] = []

    def security(*given: Any) -> Inverting:
        made.append(Inverting(*given))
        return made[-1]

    monkeypatch.setattr(dcerpc_client, "_Ntlm", security)
    stream = Scripted(rpc.bind_ack(auth=rpc.Auth(CHALLENGE, level, WINNT, 1)), *answers)
    association = BoundStream(stream, CALLER)
    assert association.bind(OfferedContext(PERFLIB), level) == 0
    return association, stream, made


@pytest.mark.parametrize("level", [2, 3, 5, 6])
def test_a_bind_with_a_security_context(level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three messages: bind, its ack with the challenge, auth3 with the last token and four bytes of padding."""
    association, stream, (made,) = bound(level, monkeypatch=monkeypatch)
    assert (made.number, made.level, made.who) == (1, level, CALLER)
    assert stream.sent == [
        rpc.bind(auth=rpc.Auth(FIRST, level, WINNT, 1)),
        rpc.pdu(16, bytes(4), auth=rpc.Auth(LAST, level, WINNT, 1)),
    ]
    assert not association.is_ndr64(0)
    # One more context: alter_context, and a security context of its own.
    accepted = rpc.bind_ack(ptype=rpc.ALTER_RESP, call_id=2, auth=rpc.Auth(CHALLENGE, 4, WINNT, 2))
    stream.answers.append(accepted)
    assert association.bind(OfferedContext(WINREG, NDR64), 4) == 1
    assert stream.sent[2:] == [
        rpc.bind([rpc.context(1, rpc.WINREG, [rpc.NDR64])], ptype=14, call_id=2, auth=rpc.Auth(FIRST, 4, WINNT, 2)),
        rpc.pdu(16, bytes(4), call_id=2, auth=rpc.Auth(LAST, 4, WINNT, 2)),
    ]
    assert association.is_ndr64(1)


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 4000, 4001, 8000])
@pytest.mark.parametrize("level", [3, 6])
def test_a_protected_call_is_padded_to_16_and_signed(level: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    association, stream, (made,) = bound(level, response(b"ok"), monkeypatch=monkeypatch)
    stub = bytes(number % 251 for number in range(size))
    assert association.call(0, 6, stub) == Reply(b"ok", opnum=6)
    pieces = [stub[at : at + 4000] for at in range(0, size, 4000)] or [b""]
    sent = []
    for place, piece in enumerate(pieces):
        flags = (rpc.FIRST if place == 0 else 0) | (rpc.LAST if place == len(pieces) - 1 else 0)
        pad = -len(piece) % 16
        padded = piece + bytes(pad)
        head = pack("<IHH", size, 0, 6)
        auth = rpc.Auth(b"signature %6d" % (place + 1), level, WINNT, 1)
        inverted = bytes(255 - one for one in padded)
        sent.append(rpc.pdu(rpc.REQUEST, head + inverted, flags=flags, call_id=2, auth=auth, pad=pad))
        plain = rpc.pdu(rpc.REQUEST, head + padded, flags=flags, call_id=2, auth=auth, pad=pad)
        assert made.asked[place] == (plain[:24], padded, plain[24 + len(padded) : -16])
    assert stream.sent[2:] == sent


def test_below_level_3_nothing_is_protected(monkeypatch: pytest.MonkeyPatch) -> None:
    association, stream, (made,) = bound(2, response(b"ok"), monkeypatch=monkeypatch)
    assert association.call(0, 0, b"abc").stub == b"ok"
    assert stream.sent[2] == rpc.pdu(rpc.REQUEST, pack("<IHH", 3, 0, 0) + b"abc", call_id=2)
    assert made.asked == []


@pytest.mark.parametrize(
    ("level", "number", "stub", "signatures"),
    [
        (6, 1, bytes(255 - one for one in b"12345"), [b"its signature..."]),
        (2, 1, b"12345", []),
        # A security context that nobody made: taken as it is, for the analyzer to judge.
        (6, 7, b"12345", []),
    ],
)
def test_the_body_of_an_answer_is_what_is_between_header_and_padding(
    level: int, number: int, stub: bytes, signatures: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    auth = rpc.Auth(b"its signature...", level, WINNT, number)
    answer = rpc.pdu(rpc.RESPONSE, pack("<IHH", 5, 0, 0) + b"12345" + bytes(11), call_id=2, auth=auth, pad=11)
    association, _, (made,) = bound(level, answer, monkeypatch=monkeypatch)
    assert association.call(0, 5, b"").stub == stub
    assert made.asked[1 if level == 6 else 0 :] == signatures


def test_the_status_of_a_fault_is_never_sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    """But its body runs through the keystream (C706 section 12.6.4.7): what comes after it could not be read otherwise."""
    auth = rpc.Auth(b"its signature...", 6, WINNT, 1)
    fault = rpc.pdu(rpc.FAULT, pack("<IHBBII", 0, 0, 0, 0, 0x1C010003, 0) + b"rest", call_id=2, auth=auth)
    association, _, (made,) = bound(6, fault, monkeypatch=monkeypatch)
    assert association.call(0, 6, b"") == Reply(fault=0x1C010003, opnum=6)
    assert made.asked[1:] == [b"its signature..."]


def test_a_pdu_of_a_header_alone_is_whole() -> None:
    """As shutdown and orphaned are (C706 sections 12.6.4.8 and 12.6.4.11)."""
    stream = Scripted(rpc.bind_ack(), rpc.pdu(17), response(b"never"))
    association = BoundStream(stream, CALLER)
    association.bind(OfferedContext(PERFLIB), 1)
    assert association.call(0, 6, b"").lost == "a PDU of type 17 came in place of an answer"
    assert stream.answers == [response(b"never")]


def test_an_error_without_words_is_its_kind() -> None:
    stream = Scripted(rpc.bind_ack())
    association = BoundStream(stream, CALLER)
    association.bind(OfferedContext(PERFLIB), 1)

    def send(data: bytes) -> None:
        raise TimeoutError

    stream.send = send
    assert association.call(0, 3, b"") == Reply(lost="TimeoutError", opnum=3)


@pytest.mark.needs("impacket")
@pytest.mark.parametrize("level", [3, 5, 6])
@pytest.mark.parametrize("given", [{"password": "password"}, {"nt_hash": "8846f7eaee8fb117ad06bdd830b7586c"}])
def test_ntlm_is_that_of_impacket(level: int, given: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A server with the password reads what is sent, and sends what is read: the hash is that of the word `password`."""
    from Cryptodome.Cipher import ARC4
    from impacket import ntlm

    security = dcerpc_client._Ntlm(1, level, Credentials("user", "LAB", **given))
    assert security.protects
    sent = ntlm.NTLMAuthNegotiate()
    sent.fromString(security.token())
    challenge = ntlm.NTLMAuthChallenge()
    names = ntlm.AV_PAIRS()
    for name in (ntlm.NTLMSSP_AV_HOSTNAME, ntlm.NTLMSSP_AV_DOMAINNAME, ntlm.NTLMSSP_AV_DNS_HOSTNAME):
        names[name] = "LAB".encode("utf-16-le")
    challenge["flags"] = sent["flags"] | ntlm.NTLMSSP_NEGOTIATE_TARGET_INFO
    challenge["domain_len"] = challenge["domain_max_len"] = 6
    challenge["domain_offset"] = 40 + 16
    challenge["challenge"] = b"12345678"
    challenge["domain_name"] = "LAB".encode("utf-16-le")
    challenge["TargetInfoFields_len"] = challenge["TargetInfoFields_max_len"] = len(names.getData())
    challenge["TargetInfoFields"] = names
    challenge["TargetInfoFields_offset"] = 56 + 6
    challenge["Version"] = b"\xff" * 8
    challenge["VersionLen"] = 8
    last = ntlm.NTLMAuthChallengeResponse()
    last.fromString(security.answer(challenge.getData()))
    assert (last["user_name"], last["domain_name"]) == ("user".encode("utf-16-le"), "LAB".encode("utf-16-le"))
    response_key = ntlm.NTOWFv2("user", "password", "LAB")
    proof, blob = last["ntlm"][:16], last["ntlm"][16:]
    assert proof == ntlm.hmac_md5(response_key, b"12345678" + blob)
    base = ntlm.hmac_md5(response_key, proof)
    key = ntlm.generateEncryptedSessionKey(base, last["session_key"])
    flags = last["flags"]
    signing = [ntlm.SIGNKEY(flags, key, side) for side in ("Client", "Server")]
    sealing = [ARC4.new(ntlm.SEALKEY(flags, key, side)) for side in ("Client", "Server")]
    for number in range(3):
        body, signature = security.protect(b"head", b"the body", b"tail")
        plain = sealing[0].encrypt(body) if level == 6 else body
        assert plain == b"the body"
        mac = ntlm.MAC(flags, sealing[0].encrypt, signing[0], number, b"headthe bodytail")
        assert signature == mac.getData()
    for number in range(3):
        body = sealing[1].encrypt(b"an answer") if level == 6 else b"an answer"
        signature = ntlm.MAC(flags, sealing[1].encrypt, signing[1], number, b"headan answer").getData()
        assert security.unprotect(body, signature) == b"an answer"


def test_what_is_offered() -> None:
    assert (PERFLIB, WINREG) == ((rpc.PCQ, 1, 0), (rpc.WINREG, 1, 0))
    assert (NDR, NDR64) == (rpc.NDR, rpc.NDR64)
