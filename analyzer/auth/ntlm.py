"""Reads NTLM messages, proves passwords, and solves exchanges to identity and session key ([MS-NLMP] sections 2.2, 3.3 and 3.4.5).

Reading a message needs no secret, and gives the names in it. Proving a password needs the challenge and the authenticate message:
the response computed from the key is compared with the captured one. So a key that fits is known to be right. The ciphers' library
is loaded with the first key that needs one.

MD4 (RFC 1320) is computed here, since OpenSSL 3 does not offer it by default. A password is hashed with it once. scapy has it too,
behind a configuration that takes longer to load than a small capture to read.

An exchange (`NtlmExchange`) collects the three messages. It gives identity and session key, or the reason why not.
"""

from __future__ import annotations

import hmac
from enum import IntFlag
from functools import lru_cache
from hashlib import md5
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring, UserKey
from analyzer.auth.security_types import NTLM_SIGNATURE, SearchBudget, SecurityContext
from analyzer.core.errors import MalformedError, TruncatedError
from analyzer.core.printable_text import Discreet
from analyzer.results.security import Decryption, Identity

# ------------------------------------------------------------------------------------------------------------------ md4


_MASK = 0xFFFFFFFF
_BLOCK_LEN = 64
_BEGIN = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)
# For each round: the added number, the rotations, and the order of the words of the block.
_ROUNDS = (
    (0, (3, 7, 11, 19), range(16)),
    (0x5A827999, (3, 5, 9, 13), (0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)),
    (0x6ED9EBA1, (3, 9, 11, 15), (0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15)),
)


def md4(data: bytes) -> bytes:
    """Returns the MD4 digest of bytes, 16 bytes, by which NTLM hashes passwords."""
    zeros = bytes(-(len(data) + 9) % _BLOCK_LEN)
    padded = data + b"\x80" + zeros + (8 * len(data) & (1 << 64) - 1).to_bytes(8, "little")
    state = _BEGIN
    for at in range(0, len(padded), _BLOCK_LEN):
        words = [int.from_bytes(padded[place : place + 4], "little") for place in range(at, at + _BLOCK_LEN, 4)]
        state = _with_block(state, words)
    return b"".join([word.to_bytes(4, "little") for word in state])


def _with_block(state: tuple[int, int, int, int], words: list[int]) -> tuple[int, int, int, int]:
    a, b, c, d = state
    for number, (added, turns, order) in enumerate(_ROUNDS):
        for step, at in enumerate(order):
            total = a + _mixed(number, b, c, d) + words[at] + added & _MASK
            turn = turns[step % 4]
            a, b, c, d = d, (total << turn | total >> 32 - turn) & _MASK, b, c
    first, second, third, fourth = state
    return first + a & _MASK, second + b & _MASK, third + c & _MASK, fourth + d & _MASK


def _mixed(number: int, x: int, y: int, z: int) -> int:
    """Computes the function F, G or H of NTLM's MD4 (RFC 1320 section 3.4), by the number of its round."""
    if number == 0:
        return x & y | ~x & z
    return x & y | x & z | y & z if number == 1 else x ^ y ^ z


# -------------------------------------------------------------------------------------------------------- ntlm


NEGOTIATE, CHALLENGE, AUTHENTICATE = 1, 2, 3

_CLIENT_SIGN = b"session key to client-to-server signing key magic constant\x00"
_SERVER_SIGN = b"session key to server-to-client signing key magic constant\x00"
_CLIENT_SEAL = b"session key to client-to-server sealing key magic constant\x00"
_SERVER_SEAL = b"session key to server-to-client sealing key magic constant\x00"


class Flag(IntFlag):
    """Negotiated flags of NTLM that change what the bytes mean ([MS-NLMP] section 2.2.2.5)."""

    UNICODE = 0x00000001
    SIGN = 0x00000010
    SEAL = 0x00000020
    LM_KEY = 0x00000080
    ANONYMOUS = 0x00000800
    IDENTIFY = 0x00100000
    EXTENDED_SESSIONSECURITY = 0x00080000
    NON_NT_SESSION_KEY = 0x00400000
    TARGET_INFO = 0x00800000
    VERSION = 0x02000000
    KEY_128 = 0x20000000
    KEY_EXCH = 0x40000000
    KEY_56 = 0x80000000


class TargetInfo(Struct, frozen=True):
    """The AV pairs of an NTLM challenge or NTLMv2 response ([MS-NLMP] section 2.2.2.1). An absent pair is None."""

    computer: str | None = None
    domain: str | None = None
    dns_computer: str | None = None
    dns_domain: str | None = None
    dns_tree: str | None = None
    flags: int = 0
    target: str | None = None


class Negotiate(Discreet, frozen=True):
    """An NTLM NEGOTIATE_MESSAGE ([MS-NLMP] section 2.2.1.1)."""

    hidden = ("raw",)
    raw: bytes
    flags: int
    domain: str
    workstation: str
    os_version: str | None


class Challenge(Discreet, frozen=True):
    """An NTLM CHALLENGE_MESSAGE ([MS-NLMP] section 2.2.1.2)."""

    hidden = ("raw",)
    raw: bytes
    flags: int
    challenge: bytes
    target: str
    info: TargetInfo
    os_version: str | None


class Authenticate(Discreet, frozen=True):
    """An NTLM AUTHENTICATE_MESSAGE ([MS-NLMP] section 2.2.1.3). `ofs_mic` is None if it has no MIC field."""

    hidden = ("raw", "lm_response", "nt_response", "encrypted_session_key")
    raw: bytes
    flags: int
    lm_response: bytes
    nt_response: bytes
    domain: str
    user: str
    workstation: str
    encrypted_session_key: bytes
    info: TargetInfo
    os_version: str | None
    ofs_mic: int | None

    @property
    def is_anonymous(self) -> bool:
        """Whether NTLM's AUTHENTICATE_MESSAGE has no name and no response: a null session ([MS-NLMP] section 3.2.5.1.2)."""
        return not self.user and not self.nt_response and self.lm_response in (b"", b"\x00")

    @property
    def is_v2(self) -> bool:
        return len(self.nt_response) > 24


Message = Negotiate | Challenge | Authenticate


def parse_message(raw: bytes) -> Message:
    """Parses one NTLM message. Raises `DecodeError` if it is none."""
    if raw[:8] != NTLM_SIGNATURE:
        raise MalformedError("no NTLMSSP signature", field="ntlm.Signature", start=0, stop=8)
    kind = _u32(raw, 8, "ntlm.MessageType")
    if kind == NEGOTIATE:
        return _read_negotiate(raw)
    if kind == CHALLENGE:
        return _read_challenge(raw)
    if kind == AUTHENTICATE:
        return _read_authenticate(raw)
    raise MalformedError(f"message type {kind} is not 1, 2 or 3", field="ntlm.MessageType", start=8, stop=12)


def _read_negotiate(raw: bytes) -> Negotiate:
    flags = _u32(raw, 12, "ntlm.NegotiateFlags")
    # Old clients end here; names in this message are always in the OEM code page ([MS-NLMP] section 2.2).
    domain = _field(raw, 16, "ntlm.DomainName") if len(raw) >= 24 else b""
    workstation = _field(raw, 24, "ntlm.Workstation") if len(raw) >= 32 else b""
    return Negotiate(raw, flags, _text(domain, 0), _text(workstation, 0), _version(raw, 32, flags))


def _read_challenge(raw: bytes) -> Challenge:
    flags = _u32(raw, 20, "ntlm.NegotiateFlags")
    if len(raw) < 32:
        raise TruncatedError("ends before the server challenge", field="ntlm.ServerChallenge", start=24, stop=32)
    info = TargetInfo()
    if flags & Flag.TARGET_INFO and len(raw) >= 48:
        info = _read_target_info(_field(raw, 40, "ntlm.TargetInfo"))
    target = _text(_field(raw, 12, "ntlm.TargetName"), flags)
    return Challenge(raw, flags, raw[24:32], target, info, _version(raw, 48, flags))


def _read_authenticate(raw: bytes) -> Authenticate:
    lm_response = _field(raw, 12, "ntlm.LmChallengeResponse")
    nt_response = _field(raw, 20, "ntlm.NtChallengeResponse")
    domain = _field(raw, 28, "ntlm.DomainName")
    user = _field(raw, 36, "ntlm.UserName")
    workstation = _field(raw, 44, "ntlm.Workstation")
    # Windows NT 4 ended the fixed part before the session key and the flags.
    payload = min(
        (_u32(raw, at + 4, "ntlm.BufferOffset") for at in (12, 20, 28, 36, 44) if raw[at : at + 2] != b"\0\0"),
        default=88,
    )
    key = _field(raw, 52, "ntlm.EncryptedRandomSessionKey") if payload >= 60 and len(raw) >= 60 else b""
    flags = _u32(raw, 60, "ntlm.NegotiateFlags") if payload >= 64 and len(raw) >= 64 else 0
    info = TargetInfo()
    ofs_mic = None
    if len(nt_response) > 44:
        try:
            info = _read_target_info(nt_response[44:])
        except MalformedError:
            info = TargetInfo()
        if info.flags & 2 and payload >= 88:
            ofs_mic = 72
    return Authenticate(
        raw=raw,
        flags=flags,
        lm_response=lm_response,
        nt_response=nt_response,
        domain=_text(domain, flags),
        user=_text(user, flags),
        workstation=_text(workstation, flags),
        encrypted_session_key=key,
        info=info,
        os_version=_version(raw, 64, flags) if payload >= 72 else None,
        ofs_mic=ofs_mic,
    )


def _read_target_info(data: bytes) -> TargetInfo:
    names: dict[int, str] = {}
    flags = 0
    at = 0
    while at + 4 <= len(data):
        av_id = int.from_bytes(data[at : at + 2], "little")
        stop = at + 4 + int.from_bytes(data[at + 2 : at + 4], "little")
        if av_id == 0:
            break
        if stop > len(data):
            raise MalformedError(
                "AV pair runs past the target information", field="ntlm.AvLen", start=at + 2, stop=at + 4
            )
        value = data[at + 4 : stop]
        if av_id == 6 and len(value) == 4:
            flags = int.from_bytes(value, "little")
        elif av_id in (1, 2, 3, 4, 5, 9):
            names[av_id] = value.decode("utf-16-le", "replace")
        at = stop
    return TargetInfo(names.get(1), names.get(2), names.get(3), names.get(4), names.get(5), flags, names.get(9))


def _u32(raw: bytes, at: int, name: str) -> int:
    if len(raw) < at + 4:
        raise TruncatedError(f"message ends at byte {len(raw)}", field=name, start=at, stop=at + 4)
    return int.from_bytes(raw[at : at + 4], "little")


def _field(raw: bytes, at: int, name: str) -> bytes:
    offset = _u32(raw, at + 4, name)
    length = int.from_bytes(raw[at : at + 2], "little")
    if not length:
        return b""
    if offset + length > len(raw):
        raise MalformedError(f"{length} bytes at {offset} run past the message", field=name, start=at, stop=at + 8)
    return raw[offset : offset + length]


def _text(data: bytes, flags: int) -> str:
    # Which OEM code page a client has is not stated anywhere; 437 maps every byte to something.
    return data.decode("utf-16-le", "replace") if flags & Flag.UNICODE else data.decode("cp437")


def _version(raw: bytes, at: int, flags: int) -> str | None:
    if not flags & Flag.VERSION or len(raw) < at + 8:
        return None
    major, minor, build = raw[at], raw[at + 1], int.from_bytes(raw[at + 2 : at + 4], "little")
    return f"{major}.{minor}.{build}" if major or build else None


def nt_hash(password: str) -> bytes:
    """Returns the NT hash of a password: NTOWFv1, MD4 of its UTF-16 form ([MS-NLMP] section 3.3.1)."""
    return md4(password.encode("utf-16-le", "surrogatepass"))


def lm_hash(password: str) -> bytes:
    """Returns the LM hash of a password: LMOWFv1 ([MS-NLMP] section 3.3.1)."""
    short = password.upper().encode("cp437", "replace")[:14].ljust(14, b"\0")
    return _des(short[:7], b"KGS!@#$%") + _des(short[7:], b"KGS!@#$%")


def upper(text: str) -> str:
    """Returns a user or domain name in upper case like Windows does for NTLM: one code unit for one, no `SS` for a sharp s."""
    return "".join(big if len(big := char.upper()) == 1 else char for char in text)


def ntowf_v2(hash_of_password: bytes, user: str, domain: str) -> bytes:
    """Returns the key of NTLMv2 responses, from the hash of a password: NTOWFv2 ([MS-NLMP] section 3.3.2)."""
    return _hmac_md5(hash_of_password, (upper(user) + domain).encode("utf-16-le", "surrogatepass"))


def rc4(key: bytes, data: bytes) -> bytes:
    from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
    from cryptography.hazmat.primitives.ciphers import Cipher

    return Cipher(ARC4(key), mode=None).encryptor().update(data)


def _hmac_md5(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "md5")


def _des(key7: bytes, block: bytes) -> bytes:
    from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
    from cryptography.hazmat.primitives.ciphers import Cipher, modes

    bits = int.from_bytes(key7, "big")
    key = bytes(((bits >> (49 - 7 * at)) & 0x7F) << 1 for at in range(8))
    # ECB of one block is what the LM and NTLMv1 responses are made of; single DES is triple DES with one key.
    return Cipher(TripleDES(key * 3), modes.ECB()).encryptor().update(block)


def _desl(key16: bytes, block: bytes) -> bytes:
    key = key16.ljust(21, b"\0")
    return _des(key[:7], block) + _des(key[7:14], block) + _des(key[14:], block)


class Proof(Discreet, frozen=True):
    """The proof that a key made the captured NTLM response. `session_key` is the ExportedSessionKey, `domain` the name that was
    hashed."""

    hidden = ("session_key", "domain")
    session_key: bytes
    domain: str


def prove(
    challenge: Challenge,
    answer: Authenticate,
    key: bytes,
    password: str | None = None,
    domains: tuple[str, ...] = (),
) -> Proof | None:
    """Returns the proof with NTLM's session key if `key` (an NT hash) made the response, else None.

    `domains` are further spellings to try: the name that a client hashes is not always the one that it sends.
    """
    flags = answer.flags or challenge.flags
    if answer.is_v2:
        for domain in dict.fromkeys((answer.domain, *domains, "", upper(answer.domain), challenge.info.domain or "")):
            response_key = ntowf_v2(key, answer.user, domain)
            proof = _hmac_md5(response_key, challenge.challenge + answer.nt_response[16:])
            if hmac.compare_digest(proof, answer.nt_response[:16]):
                return Proof(_exported(answer, flags, _hmac_md5(response_key, proof)), domain)
        return None
    if len(answer.nt_response) == 24:
        base = challenge.challenge
        extended = bool(flags & Flag.EXTENDED_SESSIONSECURITY)
        if extended:
            base = md5(base + answer.lm_response[:8]).digest()[:8]
        if hmac.compare_digest(_desl(key, base), answer.nt_response):
            return Proof(_exported(answer, flags, _kxkey_v1(challenge, answer, flags, key, password)), answer.domain)
        return None
    if len(answer.lm_response) == 24 and password is not None:
        # Windows 9x and clients so configured: only the LM response is there.
        hashed = lm_hash(password)
        if hmac.compare_digest(_desl(hashed, challenge.challenge), answer.lm_response):
            return Proof(_exported(answer, flags, _lm_kxkey(answer, flags, hashed)), answer.domain)
    return None


def anonymous(answer: Authenticate) -> Proof:
    """Returns the proof of an NTLM null session: its key exchange key is sixteen zeros ([MS-NLMP] section 3.2.5.1.2)."""
    return Proof(_exported(answer, answer.flags, bytes(16)), answer.domain)


def _kxkey_v1(challenge: Challenge, answer: Authenticate, flags: int, key: bytes, password: str | None) -> bytes:
    """Returns the key exchange key of NTLMv1: KXKEY ([MS-NLMP] section 3.4.5.1)."""
    base = md4(key)
    if flags & Flag.EXTENDED_SESSIONSECURITY:
        return _hmac_md5(base, challenge.challenge + answer.lm_response[:8])
    if flags & (Flag.LM_KEY | Flag.NON_NT_SESSION_KEY) and password is not None:
        return _lm_kxkey(answer, flags, lm_hash(password))
    return base


def _lm_kxkey(answer: Authenticate, flags: int, hashed: bytes) -> bytes:
    if flags & Flag.LM_KEY:
        block = answer.lm_response[:8].ljust(8, b"\0")
        return _des(hashed[:7], block) + _des(hashed[7:8] + b"\xbd" * 6, block)
    return hashed[:8] + bytes(8)


def _exported(answer: Authenticate, flags: int, key_exchange_key: bytes) -> bytes:
    if flags & Flag.KEY_EXCH and len(answer.encrypted_session_key) == 16:
        return rc4(key_exchange_key, answer.encrypted_session_key)
    return key_exchange_key


def mic_is_right(session_key: bytes, negotiate: Negotiate, challenge: Challenge, answer: Authenticate) -> bool | None:
    """Whether the MIC over the three NTLM messages fits ([MS-NLMP] section 3.1.5.1.2). None if there is no MIC."""
    at = answer.ofs_mic
    if at is None:
        return None
    blanked = answer.raw[:at] + bytes(16) + answer.raw[at + 16 :]
    expected = _hmac_md5(session_key, negotiate.raw + challenge.raw + blanked)
    return hmac.compare_digest(expected, answer.raw[at : at + 16])


class DirectionKeys(Discreet, frozen=True):
    """The signing and the sealing key that an NTLM exchange gives one sender ([MS-NLMP] sections 3.4.5.2 and 3.4.5.3)."""

    hidden = ("sign", "seal")
    sign: bytes
    seal: bytes


@lru_cache(maxsize=64)
def direction_keys(session_key: bytes, flags: int, *, initiator: bool) -> DirectionKeys:
    """Returns the signing and the sealing key that an NTLM exchange gives one sender under its negotiated flags."""
    if flags & Flag.EXTENDED_SESSIONSECURITY:
        weak = session_key
        if not flags & Flag.KEY_128:
            weak = session_key[:7] if flags & Flag.KEY_56 else session_key[:5]
        sign = md5(session_key + (_CLIENT_SIGN if initiator else _SERVER_SIGN)).digest()
        return DirectionKeys(sign, md5(weak + (_CLIENT_SEAL if initiator else _SERVER_SEAL)).digest())
    if flags & Flag.LM_KEY:
        seal = session_key[:7] + b"\xa0" if flags & Flag.KEY_56 else session_key[:5] + b"\xe5\x38\xb0"
        return DirectionKeys(b"", seal)
    return DirectionKeys(b"", session_key)


# ----------------------------------------------------------------------------------------------------------- ntlm exchange


class NtlmExchange:
    """Collects the three messages of one NTLM exchange (negotiate, challenge, authenticate), and proves the keyring's keys."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self._negotiate: Negotiate | None = None
        self._challenge: Challenge | None = None
        self._authenticate: Authenticate | None = None
        self._proof: Proof | None = None
        self.decrypted_by: str | None = None
        self.decryption = Decryption.NO_HANDSHAKE
        self.reason: str | None = "no NTLM message is in the capture"
        self.identity = Identity(mechanism="ntlm")

    @property
    def complete(self) -> bool:
        return self._authenticate is not None

    def feed(self, token: bytes) -> None:
        """Takes one NTLM message of the exchange. Its type tells who sent it. Raises `DecodeError`."""
        message = parse_message(token)
        if isinstance(message, Negotiate):
            if self._negotiate is not None and self._negotiate.raw == message.raw:
                return
            # A new exchange begins.
            self._negotiate, self._challenge, self._authenticate = message, None, None
            self._proof, self.decrypted_by = None, None
            self.identity = Identity(mechanism="ntlm")
        elif isinstance(message, Challenge):
            self._challenge = message
        else:
            if self._authenticate is not None and self._authenticate.raw == message.raw:
                return
            self._authenticate = message
        self._note_identity()
        self._solve()

    def _note_identity(self) -> None:
        """Notes the identity in the clear fields of the NTLM exchange's messages: user, domain, workstation."""
        known = Identity(mechanism="ntlm")
        if (negotiate := self._negotiate) is not None:
            known = replace(
                known,
                workstation=negotiate.workstation or None,
                domain=negotiate.domain or None,
                client_os_version=negotiate.os_version,
            )
        answer, challenge = self._authenticate, self._challenge
        # An NTLMv2 response repeats the server's target information, which helps where the challenge is missing.
        info = challenge.info if challenge is not None else answer.info if answer is not None else None
        if info is not None:
            known = replace(
                known,
                server_name=info.computer,
                server_domain=info.domain,
                server_dns_name=info.dns_computer,
                server_dns_domain=info.dns_domain,
                server_dns_tree=info.dns_tree,
            )
        if challenge is not None:
            known = replace(
                known, os_version=challenge.os_version, server_domain=known.server_domain or challenge.target or None
            )
        if answer is not None:
            known = replace(
                known,
                user=answer.user or None,
                domain=answer.domain or None,
                workstation=answer.workstation or known.workstation,
                client_os_version=answer.os_version or known.client_os_version,
                allows=_allowed(answer),
                is_anonymous=answer.is_anonymous,
            )
        self.identity = known

    @property
    def is_anonymous(self) -> bool:
        return self._authenticate is not None and self._authenticate.is_anonymous

    def _solve(self) -> None:
        self._proof, self.decrypted_by = None, None
        answer, challenge = self._authenticate, self._challenge
        if answer is None:
            missing = "authenticate" if challenge is not None else "challenge"
            self.decryption, self.reason = Decryption.NO_HANDSHAKE, f"the NTLM {missing} message is not in the capture"
            return
        if answer.is_anonymous:
            self._proof = anonymous(answer)
            self.decrypted_by = "anonymous session, no key needed"
            self.decryption, self.reason = Decryption.DECRYPTED, None
            return
        who = self.identity.account or "a user without a name"
        if challenge is None:
            self.decryption = Decryption.NO_HANDSHAKE
            self.reason = f"the NTLM challenge message is not in the capture, so no key of {who} can be used"
            return
        candidates = self._keyring.users_for(answer.user, answer.domain)
        for user in candidates:
            domains = (user.domain,) if user.domain else ()
            proof = prove(challenge, answer, user.nt_hash, user.password, domains)
            if proof is not None:
                self._proof = proof
                self.decrypted_by = f"{user.kind} of {who}"
                self.decryption, self.reason = Decryption.DECRYPTED, None
                return
        if not candidates:
            self.decryption, self.reason = Decryption.NO_KEY, f"no password or NT hash given for {who}"
            return
        self.decryption, self.reason = (
            Decryption.WRONG_KEY,
            f"{_what(candidates)} given for {who} {_do(candidates)} not fit what was captured of the handshake",
        )

    @property
    def session_key(self) -> bytes | None:
        return self._proof.session_key if self._proof is not None else None

    @property
    def flags(self) -> int:
        """The negotiated NTLM flags: the client's last ones, or the server's if the client states none."""
        if self._authenticate is not None and self._authenticate.flags:
            return self._authenticate.flags
        return self._challenge.flags if self._challenge is not None else 0

    @property
    def mic_is_right(self) -> bool | None:
        """Whether NTLM's MIC proves that nobody changed the exchange on its way. None if it cannot be checked."""
        parts = (self._negotiate, self._challenge, self._authenticate, self._proof)
        negotiate, challenge, answer, proof = parts
        if negotiate is None or challenge is None or answer is None or proof is None:
            return None
        return mic_is_right(proof.session_key, negotiate, challenge, answer)

    def context(self, search: SearchBudget | None = None) -> SecurityContext | None:
        if self._proof is None:
            return None
        # Not before there is a key: it loads the ciphers.
        from analyzer.auth.ntlm_context import NtlmContext

        return NtlmContext(self._proof.session_key, self.flags, search)


def _allowed(answer: Authenticate) -> Literal["nothing", "identification", "impersonation"]:
    if answer.is_anonymous:
        return "nothing"
    return "identification" if answer.flags & Flag.IDENTIFY else "impersonation"


def _what(users: tuple[UserKey, ...]) -> str:
    words = []
    for kind, many in (("password", "passwords"), ("NT hash", "NT hashes")):
        if count := sum(user.kind == kind for user in users):
            words.append(f"the {kind if count == 1 else many}")
    return " and ".join(words)


def _do(users: tuple[UserKey, ...]) -> str:
    return "does" if len(users) == 1 else "do"
