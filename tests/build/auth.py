"""Authentication exchanges and protected messages, made from the specifications without the code under test.

`ntlm_handshake` and `kerberos_handshake` return a conversation: `legs` are the tokens in order, `session_key` what both
ends share, and `protect` seals or signs RPC messages as either end would. With `spnego=True` the tokens are wrapped and
the mechListMIC exchange spends keystream and sequence numbers as real peers do.
"""

import hmac
import struct
import zlib
from dataclasses import dataclass, field
from hashlib import md5
from typing import Any, Literal

from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4, TripleDES
from cryptography.hazmat.primitives.ciphers import Cipher, modes
from scapy.layers.tls.crypto.hash import Hash_MD4
from scapy.libs.rfc3961 import EncryptionType
from scapy.libs.rfc3961 import Key as ScapyKey

Sender = Literal["initiator", "acceptor"]
PKT, INTEGRITY, PRIVACY = 4, 5, 6

UNICODE, SIGN, SEAL, LM_KEY, NTLM = 0x1, 0x10, 0x20, 0x80, 0x200
ESS, TARGET_INFO, VERSION = 0x80000, 0x800000, 0x2000000
KEY_128, KEY_EXCH, KEY_56 = 0x20000000, 0x40000000, 0x80000000
USUAL_FLAGS = UNICODE | SIGN | SEAL | NTLM | ESS | TARGET_INFO | VERSION | KEY_128 | KEY_EXCH | KEY_56


def md4(data: bytes) -> bytes:
    return bytes(Hash_MD4().digest(data))


def hmac_md5(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "md5")


class Rc4:
    """An RC4 handle."""

    def __init__(self, key: bytes) -> None:
        self._cipher = Cipher(ARC4(key), mode=None).encryptor()

    def update(self, data: bytes) -> bytes:
        return self._cipher.update(data)


# --- DER and SPNEGO ---------------------------------------------------------------------------------------------------


def tlv(tag: int, *parts: bytes) -> bytes:
    data = b"".join(parts)
    if len(data) < 128:
        return bytes([tag, len(data)]) + data
    length = len(data).to_bytes((len(data).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + data


def integer(value: int) -> bytes:
    return tlv(2, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


OID_SPNEGO = bytes.fromhex("06062b0601050502")
OID_NTLM = bytes.fromhex("060a2b06010401823702020a")
OID_KRB5 = bytes.fromhex("06092a864886f712010202")
OID_MS_KRB5 = bytes.fromhex("06092a864882f712010202")


def neg_token_init(mechanisms: list[bytes], token: bytes | None, *, framed: bool = True) -> bytes:
    inside = tlv(0xA0, tlv(0x30, *mechanisms))
    if token is not None:
        inside += tlv(0xA2, tlv(4, token))
    inner = tlv(0xA0, tlv(0x30, inside))
    return tlv(0x60, OID_SPNEGO, inner) if framed else inner


def neg_token_resp(
    *, state: int | None = None, mechanism: bytes | None = None, token: bytes | None = None, mic: bytes | None = None
) -> bytes:
    inside = b""
    if state is not None:
        inside += tlv(0xA0, tlv(10, bytes([state])))
    if mechanism is not None:
        inside += tlv(0xA1, mechanism)
    if token is not None:
        inside += tlv(0xA2, tlv(4, token))
    if mic is not None:
        inside += tlv(0xA3, tlv(4, mic))
    return tlv(0xA1, tlv(0x30, inside))


# --- NTLM -------------------------------------------------------------------------------------------------------------


def av_pair(av_id: int, value: bytes) -> bytes:
    return struct.pack("<HH", av_id, len(value)) + value


def version(major: int, minor: int, build: int) -> bytes:
    return struct.pack("<BBH3xB", major, minor, build, 15)


@dataclass
class _NtlmDirection:
    sign_key: bytes
    rc4: Rc4
    number: int = 0


@dataclass
class NtlmConversation:
    """One NTLM exchange. `spent` counts the keystream bytes used per sender."""

    negotiate: bytes
    challenge: bytes
    authenticate: bytes
    session_key: bytes
    flags: int
    legs: list[tuple[Sender, bytes]] = field(default_factory=list)
    mic_right: bool = True

    def __post_init__(self) -> None:
        self._ends: dict[Sender, _NtlmDirection] = {}
        if self.flags & ESS:
            for sender, name in (("initiator", "client-to-server"), ("acceptor", "server-to-client")):
                weak = self.session_key
                if not self.flags & KEY_128:
                    weak = weak[: 7 if self.flags & KEY_56 else 5]
                seal = md5(weak + f"session key to {name} sealing key magic constant\0".encode()).digest()
                sign = md5(self.session_key + f"session key to {name} signing key magic constant\0".encode()).digest()
                self._ends[sender] = _NtlmDirection(sign, Rc4(seal))
        else:
            key = self.session_key
            if self.flags & LM_KEY:
                key = key[:7] + b"\xa0" if self.flags & KEY_56 else key[:5] + b"\xe5\x38\xb0"
            shared = _NtlmDirection(b"", Rc4(key))
            self._ends = {"initiator": shared, "acceptor": shared}

    @property
    def tokens(self) -> tuple[bytes, bytes, bytes]:
        """The three messages in their order."""
        return self.negotiate, self.challenge, self.authenticate

    def signature_len(self, level: int) -> int:
        return 16

    def protect(
        self, sender: Sender, level: int, header: bytes, body: bytes, trailer: bytes, *, header_signed: bool = True
    ) -> tuple[bytes, bytes]:
        """The body as it goes on the wire, and the auth_value."""
        end = self._ends[sender]
        message = header + body + trailer if header_signed else body
        wire = end.rc4.update(body) if level == PRIVACY else body
        return wire, self._sign(end, message)

    def _sign(self, end: _NtlmDirection, message: bytes) -> bytes:
        number = struct.pack("<I", end.number)
        end.number += 1
        if self.flags & ESS:
            checksum = hmac_md5(end.sign_key, number + message)[:8]
            if self.flags & KEY_EXCH:
                checksum = end.rc4.update(checksum)
            return b"\1\0\0\0" + checksum + number
        end.rc4.update(bytes(4))
        return b"\1\0\0\0" + bytes(4) + end.rc4.update(struct.pack("<I", zlib.crc32(message))) + end.rc4.update(number)

    def mech_list_mic(self, sender: Sender, mechanisms: list[bytes]) -> bytes:
        return self._sign(self._ends[sender], tlv(0x30, *mechanisms))


def _fields(fixed: int, *values: bytes) -> tuple[list[bytes], bytes]:
    headers, payload = [], b""
    for value in values:
        headers.append(struct.pack("<HHI", len(value), len(value), fixed + len(payload)))
        payload += value
    return headers, payload


def challenge_message(flags: int, server_challenge: bytes, target: bytes = b"", info: bytes = b"") -> bytes:
    """A CHALLENGE_MESSAGE of these fields."""
    (target_field, info_field), payload = _fields(56, target, info)
    front = b"NTLMSSP\0" + struct.pack("<I", 2) + target_field + struct.pack("<I", flags)
    return front + server_challenge + bytes(8) + info_field + version(10, 0, 20348) + payload


def authenticate_message(
    flags: int, lm_response: bytes, nt_response: bytes, domain: bytes, user: bytes, workstation: bytes, key: bytes
) -> bytes:
    """An AUTHENTICATE_MESSAGE of these fields, without a MIC."""
    headers, payload = _fields(72, lm_response, nt_response, domain, user, workstation, key)
    front = b"NTLMSSP\0" + struct.pack("<I", 3) + b"".join(headers) + struct.pack("<I", flags)
    return front + version(10, 0, 19041) + payload


def ntlm_handshake(
    user: str = "perfmon",
    domain: str = "LAB",
    password: str = "correct horse",
    *,
    workstation: str = "CLIENT7",
    server: str = "PERFSRV",
    server_domain: str = "LAB",
    dns_domain: str = "lab.test",
    flags: int = USUAL_FLAGS,
    v1: bool = False,
    mic: bool = True,
    spnego: bool = False,
    anonymous: bool = False,
    seed: int = 1,
) -> NtlmConversation:
    """A whole NTLM exchange. Every random field follows from `seed`."""

    def noise(name: str, length: int) -> bytes:
        return (md5(f"{seed}/{name}".encode()).digest() * (length // 16 + 1))[:length]

    def text(value: str) -> bytes:
        return value.encode("utf-16-le" if flags & UNICODE else "cp437")

    server_challenge = noise("server challenge", 8)
    names = [
        av_pair(2, server_domain.encode("utf-16-le")),
        av_pair(1, server.encode("utf-16-le")),
        av_pair(4, dns_domain.encode("utf-16-le")),
        av_pair(3, f"{server.lower()}.{dns_domain}".encode("utf-16-le")),
        av_pair(7, noise("time", 8)),
    ]
    negotiate = b"NTLMSSP\0" + struct.pack("<II", 1, flags) + bytes(16) + version(10, 0, 19041)
    challenge = challenge_message(flags, server_challenge, text(server_domain), b"".join(names) + av_pair(0, b""))

    nt_hash = md4(password.encode("utf-16-le"))
    if anonymous:
        user = domain = workstation = ""
        lm_response, nt_response, exchange_key = b"\0", b"", bytes(16)
    elif v1:
        lm_response, nt_response, exchange_key = _v1_response(nt_hash, server_challenge, flags, noise("client", 8))
    else:
        if mic:
            names.append(av_pair(6, struct.pack("<I", 2)))
        temp = b"\1\1" + bytes(6) + noise("time", 8) + noise("client", 8) + bytes(4) + b"".join(names) + bytes(8)
        response_key = hmac_md5(nt_hash, (user.upper() + domain).encode("utf-16-le"))
        proof = hmac_md5(response_key, server_challenge + temp)
        lm_response, nt_response, exchange_key = bytes(24), proof + temp, hmac_md5(response_key, proof)
    session_key, encrypted = exchange_key, b""
    if flags & KEY_EXCH:
        session_key = noise("session key", 16)
        encrypted = Rc4(exchange_key).update(session_key)
    with_mic = mic and not v1 and not anonymous
    fixed = 88 if with_mic else 72
    headers, payload = _fields(fixed, lm_response, nt_response, text(domain), text(user), text(workstation), encrypted)
    front = b"NTLMSSP\0" + struct.pack("<I", 3) + b"".join(headers) + struct.pack("<I", flags) + version(10, 0, 19041)
    authenticate = front + (bytes(16) if with_mic else b"") + payload
    if with_mic:
        whole = hmac_md5(session_key, negotiate + challenge + authenticate)
        authenticate = front + whole + payload
    made = NtlmConversation(negotiate, challenge, authenticate, session_key, flags)
    if not spnego:
        made.legs = [("initiator", negotiate), ("acceptor", challenge), ("initiator", authenticate)]
        return made
    mechanisms = [OID_NTLM]
    client_mic = made.mech_list_mic("initiator", mechanisms)
    server_mic = made.mech_list_mic("acceptor", mechanisms)
    made.legs = [
        ("initiator", neg_token_init(mechanisms, negotiate)),
        ("acceptor", neg_token_resp(state=1, mechanism=OID_NTLM, token=challenge)),
        ("initiator", neg_token_resp(token=authenticate, mic=client_mic)),
        ("acceptor", neg_token_resp(state=0, mic=server_mic)),
    ]
    return made


def _v1_response(nt_hash: bytes, server_challenge: bytes, flags: int, client: bytes) -> tuple[bytes, bytes, bytes]:
    def des(key: bytes, block: bytes) -> bytes:
        bits = "".join(f"{octet:08b}" for octet in key)
        spread = bytes(int(bits[at : at + 7] + "0", 2) for at in range(0, 56, 7))
        return Cipher(TripleDES(spread * 3), modes.ECB()).encryptor().update(block)

    def desl(key: bytes, block: bytes) -> bytes:
        key += bytes(5)
        return des(key[:7], block) + des(key[7:14], block) + des(key[14:], block)

    base = md4(nt_hash)
    if flags & ESS:
        response = desl(nt_hash, md5(server_challenge + client).digest()[:8])
        return client + bytes(16), response, hmac_md5(base, server_challenge + client)
    response = desl(nt_hash, server_challenge)
    return response, response, base


# --- Kerberos ---------------------------------------------------------------------------------------------------------


def make_key(etype: int, name: str) -> Any:
    size = {17: 16, 18: 32, 19: 16, 20: 32, 23: 16}[etype]
    return ScapyKey(EncryptionType(etype), key=(md5(name.encode()).digest() * 2)[:size])


def _principal(name: str, name_type: int = 2) -> bytes:
    parts = [tlv(0x1B, part.encode()) for part in name.split("/")]
    return tlv(0x30, tlv(0xA0, integer(name_type)), tlv(0xA1, tlv(0x30, *parts)))


def _encrypted(key: Any, usage: int, plain: bytes, kvno: int | None = None) -> bytes:
    inside = tlv(0xA0, integer(int(key.etype)))
    if kvno is not None:
        inside += tlv(0xA1, integer(kvno))
    return tlv(0x30, inside, tlv(0xA2, tlv(4, _encrypt(key, usage, plain))))


def _encrypt(key: Any, usage: int, plain: bytes) -> bytes:
    if int(key.etype) != 23:
        return bytes(key.encrypt(usage, plain))
    # RFC 4757 section 5, written out: scapy's way of calling RC4 leaves the cryptography package with its version 48.
    inner = hmac_md5(key.key, struct.pack("<I", usage))
    data = md5(plain).digest()[:8] + plain
    checksum = hmac_md5(inner, data)
    return checksum + Rc4(hmac_md5(inner, checksum)).update(data)


def _key_value(key: Any) -> bytes:
    return tlv(0x30, tlv(0xA0, integer(int(key.etype))), tlv(0xA1, tlv(4, key.key)))


@dataclass
class KerberosConversation:
    """One AP exchange. `key` protects the messages."""

    legs: list[tuple[Sender, bytes]]
    key: Any
    service_key: bytes
    has_acceptor_subkey: bool
    filler: int = 16
    ticket: bytes = b""

    def __post_init__(self) -> None:
        self._number: dict[Sender, int] = {"initiator": 1000, "acceptor": 2000}

    @property
    def session_key(self) -> bytes:
        return bytes(self.key.key)

    @property
    def is_rc4(self) -> bool:
        return int(self.key.etype) == 23

    def signature_len(self, level: int) -> int:
        if self.is_rc4:
            return 45 if level == PRIVACY else 37
        mac = int(self.key.ep.macsize)
        return 16 + 16 + self.filler + 16 + mac if level == PRIVACY else 16 + mac

    def protect(
        self, sender: Sender, level: int, header: bytes, body: bytes, trailer: bytes, *, header_signed: bool = True
    ) -> tuple[bytes, bytes]:
        """The body as it goes on the wire, and the auth_value."""
        number = self._number[sender]
        self._number[sender] += 1
        signed = (header, trailer) if header_signed else (b"", b"")
        if self.is_rc4:
            return self._protect_rc4(sender, level, number, body, *signed)
        return self._protect_aes(sender, level, number, body, *signed)

    def _protect_aes(
        self, sender: Sender, level: int, number: int, body: bytes, before: bytes, behind: bytes
    ) -> tuple[bytes, bytes]:
        flags = (1 if sender == "acceptor" else 0) | (4 if self.has_acceptor_subkey else 0)
        usage = 22 if sender == "acceptor" else 24
        if level != PRIVACY:
            token = b"\x04\x04" + bytes([flags]) + b"\xff" * 5 + struct.pack(">Q", number)
            return body, token + self.key.make_checksum(usage + 1, before + body + behind + token)
        extra = self.filler
        copy = b"\x05\x04" + bytes([flags | 2]) + b"\xff" + struct.pack(">HHQ", extra, 0, number)
        confounder = md5(copy).digest()
        tail = bytes(extra) + copy
        if self.key.ep.rfc8009:
            # The checksum covers the ciphertext, so the buffers that are only signed are woven in afterwards.
            ep = self.key.ep
            derive = ep.derive
            ke = derive(self.key, struct.pack(">IB", usage, 0xAA), ep.keysize * 8)
            ki = derive(self.key, struct.pack(">IB", usage, 0x55), ep.macsize * 8)
            cipher = ep.basic_encrypt(ke, confounder + body + tail)
            stop = 16 + len(body)
            covered = bytes(16) + cipher[:16] + before + cipher[16:stop] + behind + cipher[stop:]
            name = {19: "sha256", 20: "sha384"}[int(self.key.etype)]
            data = cipher + hmac.digest(ki, covered, name)[: ep.macsize]
        else:
            data = self.key.encrypt(
                usage, body + tail, confounder=confounder, signtext=confounder + before + body + behind + tail
            )
        rotation = 16 + int(self.key.ep.macsize)
        turn = (rotation + extra) % len(data)
        turned = data[-turn:] + data[:-turn]
        token = copy[:6] + struct.pack(">H", rotation) + copy[8:]
        split = len(turned) - len(body)
        return turned[split:], token + turned[:split]

    def _protect_rc4(
        self, sender: Sender, level: int, number: int, body: bytes, before: bytes, behind: bytes
    ) -> tuple[bytes, bytes]:
        key = self.session_key
        sealed = level == PRIVACY
        sequence = struct.pack(">I", number)
        head = b"\x02\x01\x11\x00\x10\x00\xff\xff" if sealed else b"\x01\x01\x11\x00\xff\xff\xff\xff"
        confounder = md5(sequence).digest()[:8] if sealed else b""
        inner = md5((13 if sealed else 15).to_bytes(4, "little") + head + confounder + before + body + behind).digest()
        checksum = hmac_md5(hmac_md5(key, b"signaturekey\0"), inner)[:8]
        number_key = hmac_md5(hmac_md5(key, bytes(4)), checksum)
        token = head + Rc4(number_key).update(sequence + (b"\xff" * 4 if sender == "acceptor" else bytes(4))) + checksum
        if sealed:
            local = bytes(octet ^ 0xF0 for octet in key)
            cipher = Rc4(hmac_md5(hmac_md5(local, bytes(4)), sequence))
            token += cipher.update(confounder)
            body = cipher.update(body)
        return body, tlv(0x60, OID_KRB5, token)


def kerberos_handshake(
    service: str = "host/srv.lab.test",
    realm: str = "LAB.TEST",
    client: str = "perfmon",
    *,
    etype: int = 18,
    session_etype: int | None = None,
    initiator_subkey: int | None = 18,
    acceptor_subkey: int | None = 18,
    kvno: int = 2,
    dce_style: bool = True,
    framed: bool = False,
    spnego: bool = False,
    filler: int = 16,
    service_key: bytes | None = None,
    seed: int = 1,
) -> KerberosConversation:
    """A whole AP exchange: subkeys by encryption type, None for none."""
    long_term = (
        make_key(etype, f"{seed}/service") if service_key is None else ScapyKey(EncryptionType(etype), service_key)
    )
    session = make_key(session_etype or etype, f"{seed}/session")
    mine = make_key(initiator_subkey, f"{seed}/initiator") if initiator_subkey else None
    theirs = make_key(acceptor_subkey, f"{seed}/acceptor") if acceptor_subkey else None
    now = tlv(0x18, b"20250102030405Z")
    ticket_part = tlv(
        0x63,
        tlv(
            0x30,
            tlv(0xA0, tlv(3, b"\0\x40\xa1\0\0")),
            tlv(0xA1, _key_value(session)),
            tlv(0xA2, tlv(0x1B, realm.encode())),
            tlv(0xA3, _principal(client, 1)),
            tlv(0xA4, tlv(0x30, tlv(0xA0, integer(0)), tlv(0xA1, tlv(4)))),
            tlv(0xA5, now),
            tlv(0xA7, now),
        ),
    )
    ticket = tlv(
        0x61,
        tlv(
            0x30,
            tlv(0xA0, integer(5)),
            tlv(0xA1, tlv(0x1B, realm.encode())),
            tlv(0xA2, _principal(service)),
            tlv(0xA3, _encrypted(long_term, 2, ticket_part, kvno)),
        ),
    )
    inside = tlv(0xA0, integer(5)) + tlv(0xA1, tlv(0x1B, realm.encode())) + tlv(0xA2, _principal(client, 1))
    inside += tlv(0xA4, integer(7)) + tlv(0xA5, now)
    if mine is not None:
        inside += tlv(0xA6, _key_value(mine))
    inside += tlv(0xA7, integer(1000))
    authenticator = tlv(0x62, tlv(0x30, inside))
    request = tlv(
        0x6E,
        tlv(
            0x30,
            tlv(0xA0, integer(5)),
            tlv(0xA1, integer(14)),
            tlv(0xA2, tlv(3, b"\0\x20\0\0\0")),
            tlv(0xA3, ticket),
            tlv(0xA4, _encrypted(session, 11, authenticator)),
        ),
    )

    def ap_rep(subkey: Any) -> bytes:
        part = tlv(0xA0, now) + tlv(0xA1, integer(7))
        if subkey is not None:
            part += tlv(0xA2, _key_value(subkey))
        sealed = _encrypted(session, 12, tlv(0x7B, tlv(0x30, part + tlv(0xA3, integer(2000)))))
        return tlv(0x6F, tlv(0x30, tlv(0xA0, integer(5)), tlv(0xA1, integer(15)), tlv(0xA2, sealed)))

    reply, third = ap_rep(theirs), ap_rep(None)
    if framed:
        request, reply = tlv(0x60, OID_KRB5, b"\1\0", request), tlv(0x60, OID_KRB5, b"\2\0", reply)
    if spnego:
        mechanisms = [OID_MS_KRB5, OID_KRB5, OID_NTLM]
        legs: list[tuple[Sender, bytes]] = [
            ("initiator", neg_token_init(mechanisms, request)),
            ("acceptor", neg_token_resp(state=1 if dce_style else 0, mechanism=OID_MS_KRB5, token=reply)),
        ]
        if dce_style:
            legs.append(("initiator", neg_token_resp(token=third)))
            legs.append(("acceptor", neg_token_resp(state=0)))
    else:
        legs = [("initiator", request), ("acceptor", reply)]
        if dce_style:
            legs.append(("initiator", third))
    key = theirs or mine or session
    return KerberosConversation(legs, key, bytes(long_term.key), theirs is not None, filler, ticket)


def kdc_reply(
    ticket: bytes, client: str = "perfmon", realm: str = "LAB.TEST", *, tag: int = 0x6D, etype: int = 18
) -> bytes:
    """An AS-REP (0x6B) or TGS-REP (0x6D) that issues the ticket."""
    return tlv(
        tag,
        tlv(
            0x30,
            tlv(0xA0, integer(5)),
            tlv(0xA1, integer(tag & 0x1F)),
            tlv(0xA3, tlv(0x1B, realm.encode())),
            tlv(0xA4, _principal(client, 1)),
            tlv(0xA5, ticket),
            tlv(0xA6, _encrypted(make_key(etype, "reply"), 8, b"sealed")),
        ),
    )


# --- RPC messages around them -----------------------------------------------------------------------------------------


def protected_pdu(
    conversation: NtlmConversation | KerberosConversation,
    sender: Sender,
    body: bytes,
    *,
    level: int = PRIVACY,
    header_signed: bool = True,
    auth_type: int = 10,
    call_id: int = 1,
    pad: int = 0,
) -> tuple[bytes, slice, slice]:
    """A request or response PDU with a sec_trailer, and where its body and verifier are."""
    length = conversation.signature_len(level)
    fragment = 24 + len(body) + 8 + length
    kind = 0 if sender == "initiator" else 2
    header = struct.pack("<BBBB4sHHI", 5, 0, kind, 3, b"\x10\0\0\0", fragment, length, call_id)
    header += struct.pack("<IHH", len(body) - pad, 0, 0)
    trailer = struct.pack("<BBBBI", auth_type, level, pad, 0, 79231)
    wire, value = conversation.protect(sender, level, header, body, trailer, header_signed=header_signed)
    assert len(value) == length
    pdu = header + wire + trailer + value
    return pdu, slice(24, 24 + len(body)), slice(len(pdu) - length, len(pdu))
