"""Solves one Kerberos exchange: AP-REQ and AP-REP give identity and keys, or the reason why not ([MS-KILE] section 3).

The per-message key is the acceptor's subkey; else the initiator's; else the ticket's session key (RFC 4121 section 2). It
may be of another type than the ticket. With DCE style ([MS-KILE] section 3.4.5.1) a third leg, an AP-REP of the initiator,
changes nothing in the keys and may come twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from analyzer.auth.kerberos import (
    RC4_HMAC,
    SUPPORTED_ETYPES,
    ApRep,
    ApReq,
    Key,
    KrbError,
    TicketPart,
    etype_name,
    open_ap_rep,
    open_authenticator,
    open_ticket,
    parse_message,
    string_to_key,
)
from analyzer.auth.key_files import KerberosKey
from analyzer.auth.keyring import Keyring
from analyzer.auth.security_types import SearchBudget, SecurityContext, Sender
from analyzer.core.errors import DecodeError
from analyzer.results.security import Decryption, Identity

if TYPE_CHECKING:
    from analyzer.auth.kdc_replies import Tickets


class KerberosExchange:
    """Follows the handshake of one Kerberos exchange: collects AP-REQ and AP-REP, and opens them with the keyring."""

    def __init__(self, keyring: Keyring, tickets: Tickets | None = None) -> None:
        """`tickets` are the Kerberos tickets that KDCs were seen to issue. They name the client of a handshake whose ticket no key
        opens."""
        self._keyring = keyring
        self._tickets = tickets
        self._request: ApReq | None = None
        self._reply: ApRep | None = None
        self._error: KrbError | None = None
        self._reset()

    def _reset(self) -> None:
        self._session_key: Key | None = None
        self._initiator_subkey: Key | None = None
        self._acceptor_subkey: Key | None = None
        self._is_reply_opened = False
        self.decrypted_by: str | None = None
        self.identity = Identity(mechanism="krb5")
        self.decryption = Decryption.NO_HANDSHAKE
        self.reason: str | None = "the Kerberos AP-REQ is not in the capture"

    @property
    def complete(self) -> bool:
        return self._request is not None

    def feed(self, sender: Sender, token: bytes) -> None:
        """Takes one Kerberos message of the handshake. Raises `DecodeError`."""
        message = parse_message(token)
        if isinstance(message, ApReq):
            if self._request is not None and self._request.raw == message.raw:
                return
            self._request, self._reply, self._error = message, None, None
            self._reset()
            self._solve(message)
        elif isinstance(message, ApRep):
            if sender == "acceptor":
                self._reply, self._error = message, None
                self._solve_reply()
        else:
            self._error = message
            if self.decryption is not Decryption.DECRYPTED:
                self.reason = f"{self.reason}; the {sender} answered {message.name}"

    def _solve(self, request: ApReq) -> None:
        ticket = request.ticket
        self.identity = replace(
            self.identity, service=request.service, realm=request.realm, etype=ticket.etype, kvno=ticket.kvno
        )
        issued = self._tickets.find(request.ticket_raw) if self._tickets is not None else None
        if issued is not None:
            self.identity = replace(self.identity, client_principal=issued.client, kdc_frames=issued.frames)
        name = KerberosKey(request.service, request.realm, ticket.etype, ticket.kvno, b"").name
        if ticket.etype not in SUPPORTED_ETYPES:
            self.decryption = Decryption.UNSUPPORTED
            self.reason = f"the ticket for {name} uses {etype_name(ticket.etype)}, which is not supported"
            return
        part: TicketPart | None = None
        any_named = False
        for key, what, named in self._candidates(request):
            any_named |= named
            part = open_ticket(request, key)
            if part is not None:
                self.decrypted_by = what
                break
        if part is None:
            if any_named:
                self.decryption, self.reason = Decryption.WRONG_KEY, f"the key given for {name} does not fit"
            else:
                self.decryption, self.reason = Decryption.NO_KEY, f"no key given for {name}"
            return
        self._session_key = part.session_key
        self.identity = replace(
            self.identity,
            user=part.client,
            domain=part.realm,
            client_principal=f"{part.client}@{part.realm}",
            kdc_frames=(),
        )
        self.decryption, self.reason = Decryption.DECRYPTED, None
        try:
            authenticator = open_authenticator(request, part.session_key)
        except DecodeError as error:
            authenticator, why = None, str(error)
        else:
            why = f"it uses {etype_name(request.authenticator.etype)}" if authenticator is None else ""
        if authenticator is None:
            self.decryption, self.reason = (
                Decryption.UNSUPPORTED,
                f"the authenticator for {name} cannot be opened: {why}",
            )
            return
        self._initiator_subkey = authenticator.subkey

    def _candidates(self, request: ApReq) -> Iterator[tuple[Key, str, bool]]:
        """Yields keys to try on the ticket of the Kerberos handshake: the key, its description, and whether it was given for this
        very principal."""
        etype = request.ticket.etype

        def rank(key: KerberosKey) -> tuple[bool, bool]:
            return not _is_for(key, request), key.kvno != request.ticket.kvno

        for key in sorted((key for key in self._keyring.kerberos_keys if key.etype == etype), key=rank):
            yield Key(etype, key.key), f"key of {key.name}", _is_for(key, request) or not key.principal
        for user in self._keyring.users:
            if etype == RC4_HMAC:
                # A service account's RC4 key is its NT hash.
                yield Key(etype, user.nt_hash), f"{user.kind} of {user.name}", False
            elif user.password is not None:
                for salt in salts(request.realm, request.service, user.username):
                    made = string_to_key(etype, user.password, salt)
                    yield Key(etype, made), f"password of {user.name}", False

    def _solve_reply(self) -> None:
        if self._reply is None or self._session_key is None:
            return
        self._is_reply_opened, subkey = open_ap_rep(self._reply, self._session_key)
        if self._is_reply_opened and subkey is not None:
            self._acceptor_subkey = subkey

    @property
    def _keys(self) -> tuple[Key, ...]:
        """All keys that the Kerberos handshake agreed on (session key, subkeys), the one to use first."""
        found = (self._acceptor_subkey, self._initiator_subkey, self._session_key)
        return tuple(dict.fromkeys(key for key in found if key is not None))

    @property
    def session_key(self) -> bytes | None:
        keys = self._keys
        return keys[0].data if keys and self.decryption is Decryption.DECRYPTED else None

    def context(self, search: SearchBudget | None = None) -> SecurityContext | None:
        if self.decryption is not Decryption.DECRYPTED:
            return None
        # Not before there is a key: it loads the ciphers.
        from analyzer.auth.kerberos_context import KerberosContext

        lacks = None
        if not self._is_reply_opened:
            found = "cannot be opened" if self._reply is not None else "is not in the capture"
            lacks = f"the Kerberos AP-REP, which may have the acceptor's key, {found}"
        return KerberosContext(self._keys, lacks)


def _is_for(key: KerberosKey, request: ApReq) -> bool:
    same_realm = not key.realm or key.realm.casefold() == request.realm.casefold()
    return same_realm and key.principal.casefold() == request.service.casefold()


def salts(realm: str, principal: str, account: str | None = None) -> tuple[str, ...]:
    """Returns the salts to try for a password in a Kerberos handshake with `principal`, the likeliest first. They are the account's
    own name (Active Directory user), the computer's name ([MS-KILE] section 3.1.1.2), and the principal's components (RFC 4120
    section 4)."""
    parts = principal.split("/")
    out = []
    if account:
        if account.endswith("$"):
            out.append(f"{realm.upper()}host{account[:-1].lower()}.{realm.lower()}")
        else:
            out.append(f"{realm}{account}")
    if len(parts) > 1:
        host = parts[1].lower()
        out.append(f"{realm.upper()}host{host if '.' in host else f'{host}.{realm.lower()}'}")
    out.append(realm + "".join(parts))
    return tuple(dict.fromkeys(out))
