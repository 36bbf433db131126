"""Security contexts of one association: sec_trailers in, opened stubs out ([MS-RPCE] 3.3.1.5.2).

A context is known by its auth_context_id. It begins with the first token of a bind or alter_context, grows with the tokens
of both sides and AUTH3, and is asked for the first time when a PDU protected by it comes. Another first token under the same
id begins a new authentication; a repeated last token does not. Each protected PDU passes through it in the order sent,
also those nobody asks for, since sealing may be one stream per direction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from analyzer.auth.context import AuthLevel, AuthType, Door, Handshake, Identity, SecurityContext, Sender, Unprotected
from analyzer.rpc.pdu import SecTrailer

_MECHANISMS = {
    AuthType.NONE: "none",
    AuthType.GSS_NEGOTIATE: "spnego",
    AuthType.WINNT: "ntlm",
    AuthType.GSS_SCHANNEL: "schannel",
    AuthType.GSS_KERBEROS: "krb5",
    AuthType.NETLOGON: "netlogon",
    AuthType.DEFAULT: "default",
}


def _is_first_token(token: bytes) -> bool:
    """NTLM NEGOTIATE, a bare Kerberos AP-REQ, or an initial GSS-API token (RFC 2743 3.1) with whatever in it."""
    return token.startswith((b"NTLMSSP\0\x01\0\0\0", b"\x6e", b"\x60"))


@dataclass(frozen=True, slots=True)
class Opened:
    """One PDU after its security was undone, and whose it was. `plain` None: it stayed closed, for `reason`."""

    plain: bytes | None
    sealed: bool
    verified: bool | None
    header_signed: bool | None
    door: Door
    reason: str | None


class Security:
    """One security context of an association."""

    def __init__(self, auth_type: int, level: int, handshake: Handshake) -> None:
        self.auth_type = auth_type
        self.level = level
        self._handshake = handshake
        self._context: SecurityContext | None = None
        self._lost_before: list[tuple[Sender, int | None]] = []

    @property
    def identity(self) -> Identity:
        return self._handshake.identity

    @property
    def mechanism(self) -> str:
        """The provider by the name reports use."""
        if (mechanism := self._handshake.identity.mechanism) is not None:
            return mechanism
        return (
            _MECHANISMS.get(AuthType(self.auth_type), "")
            if self.auth_type in set(AuthType)
            else f"auth-{self.auth_type:#x}"
        )

    def token(self, sender: Sender, token: bytes) -> None:
        if token:
            self._handshake.feed(sender, token)

    def missed(self, sender: Sender) -> None:
        if self._context is None:
            self._handshake.missed(sender)

    def lost(self, sender: Sender, length: int | None) -> None:
        if self._context is not None:
            self._context.lost(sender, length)
        else:
            self._lost_before.append((sender, length))

    def open(self, sender: Sender, trailer: SecTrailer, pdu: bytes, body: slice) -> Opened:
        """Opens or checks one PDU with a trailer."""
        sealed = trailer.level >= AuthLevel.PRIVACY
        wire = pdu[body]
        if self._context is None:
            self._context = self._handshake.context()
            for side, length in self._lost_before:
                self._context.lost(side, length)
            self._lost_before.clear()
        result = self._context.unprotect(sender, trailer.level, pdu, body, trailer.value)
        if not sealed:
            return self._checked(wire, result)
        if result.body is not None and result.verified and len(result.body) == len(wire):
            return Opened(result.body, True, True, result.header_signed, Door.OPEN, None)
        door = result.door if result.door not in (Door.OPEN, Door.NOT_SEALED) else Door.WRONG_KEY
        return Opened(None, True, None, None, door, result.reason or self._handshake.reason or door.value)

    def _checked(self, wire: bytes, result: Unprotected) -> Opened:
        """A readable stub: whatever came of its checksum, it is handed up as it was on the wire."""
        verified = result.verified
        if (
            verified is None
            and result.body is None
            and self._handshake is not None
            and self._handshake.door is Door.OPEN
        ):
            verified = False
        return Opened(
            wire, False, verified, result.header_signed, Door.NOT_SEALED, result.reason if verified is False else None
        )


class SecurityTable:
    """The security contexts of one association by auth_context_id."""

    def __init__(self, begin: Callable[[int], Handshake]) -> None:
        self._begin = begin
        self._by_id: dict[int, Security] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def offered(self, sender: Sender, trailer: SecTrailer, token: bytes) -> Security:
        """A token of bind, alter_context, their answers or AUTH3."""
        security = self._by_id.get(trailer.context_id)
        first = sender == "initiator" and _is_first_token(token)
        if security is None or first:
            security = self._by_id[trailer.context_id] = self._new(trailer)
            if not first:
                security.missed("initiator")
        security.token(sender, token)
        return security

    def used(self, trailer: SecTrailer) -> Security:
        """The context a protected PDU names; a shut one where its handshake was not captured."""
        security = self._by_id.get(trailer.context_id)
        if security is None:
            security = self._by_id[trailer.context_id] = self._new(trailer)
        return security

    def connect_level(self) -> Security | None:
        """The context that requests without a trailer belong to: level CONNECT authenticates at the bind only."""
        for security in self._by_id.values():
            if security.level == AuthLevel.CONNECT:
                return security
        return None

    def lost(self, sender: Sender, length: int | None) -> None:
        for security in self._by_id.values():
            security.lost(sender, length)

    def missed(self, sender: Sender) -> None:
        for security in self._by_id.values():
            security.missed(sender)

    def _new(self, trailer: SecTrailer) -> Security:
        return Security(trailer.auth_type, trailer.level, self._begin(trailer.auth_type))
