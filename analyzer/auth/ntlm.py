"""Reads NTLM messages, and solves exchanges to identity and session key ([MS-NLMP] section 2.2).

Reading a message needs no secret, and gives the names in it. `ntlm_keys` proves the keys that were given.

An exchange (`NtlmExchange`) collects the three messages. It gives identity and session key, or the reason why not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring, UserKey
from analyzer.auth.security_types import NTLM_SIGNATURE, SearchBudget, SecurityContext
from analyzer.core.errors import MalformedError, TruncatedError
from analyzer.core.printable_text import Discreet
from analyzer.core.wire_numbers import WireNumbers
from analyzer.results.security import Decryption, Identity

if TYPE_CHECKING:
    from analyzer.auth.ntlm_keys import Proof

# -------------------------------------------------------------------------------------------------------- ntlm


NEGOTIATE, CHALLENGE, AUTHENTICATE = 1, 2, 3


class Flag(metaclass=WireNumbers):
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
            from analyzer.auth.ntlm_keys import anonymous

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
        if candidates:
            from analyzer.auth.ntlm_keys import prove  # not before there is a key
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
        from analyzer.auth.ntlm_keys import mic_is_right

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
