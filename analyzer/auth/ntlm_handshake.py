"""Solves one NTLM exchange: its three messages give identity and session key, or the reason why not."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from analyzer.auth.keyring import Keyring, UserKey
from analyzer.auth.ntlm import (
    Authenticate,
    Challenge,
    Flag,
    Negotiate,
    Proof,
    anonymous,
    mic_is_right,
    parse_message,
    prove,
)
from analyzer.auth.security_types import SearchBudget, SecurityContext
from analyzer.results.security import Decryption, Identity


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
        self._describe()
        self._solve()

    def _describe(self) -> None:
        """Fills the identity with the clear fields of the NTLM messages: user, domain, workstation."""
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
