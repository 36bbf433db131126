"""Follows authentication tokens, and gives identity, session key and security contexts ([MS-SPNG], [MS-NLMP], [MS-KILE]).

A handshake looks at each token and finds out what it is: raw NTLM, SPNEGO with something inside, Kerberos with or without
its GSS-API framing. It collects; what opens is decided by the exchange of the mechanism that was chosen. Nothing that a
token holds makes `feed` raise: a token that cannot be read makes everything undecryptable and states why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.auth.security_types import NTLM_SIGNATURE, SearchBudget, SecurityContext, Sender, Unprotected
from analyzer.core.caches import cached_property
from analyzer.core.errors import DecodeError, MalformedError, UnsupportedError
from analyzer.results.security import AuthLevel, AuthType, Decryption, Identity

if TYPE_CHECKING:
    from analyzer.auth.kdc_replies import Tickets
    from analyzer.auth.kerberos_handshake import KerberosExchange
    from analyzer.auth.ntlm import NtlmExchange

_READABLE = {AuthType.NONE, AuthType.GSS_NEGOTIATE, AuthType.WINNT, AuthType.GSS_KERBEROS, AuthType.DEFAULT}


def begin(keyring: Keyring, auth_type: int | None = None, tickets: Tickets | None = None) -> TokenHandshake:
    """Begins to follow a new exchange of authentication tokens. `auth_type` is the RPC security provider if known: it names
    providers that are not read here. `tickets` are those that KDCs were seen to issue."""
    return TokenHandshake(keyring, auth_type, tickets)


def is_first_token(token: bytes) -> bool:
    """Whether a client's token begins a handshake: NTLM NEGOTIATE, a bare Kerberos AP-REQ, SPNEGO NegTokenInit, or an initial
    GSS-API token (RFC 2743 3.1)."""
    return token.startswith((b"NTLMSSP\0\x01\0\0\0", b"\x6e", b"\xa0", b"\x60"))


class TokenHandshake:
    """Follows the SPNEGO, NTLM or Kerberos tokens of one authentication exchange. `begin` makes it.

    Tokens may be raw NTLM, raw Kerberos (with or without the GSS-API 0x60 header) or SPNEGO with either inside; the
    handshake finds out. The last leg may be given twice. `identity` grows with the tokens.
    """

    def __init__(self, keyring: Keyring, auth_type: int | None = None, tickets: Tickets | None = None) -> None:
        self._keyring = keyring
        self._tickets = tickets
        self._spnego = False
        self._offered: tuple[str, ...] = ()
        self._chosen: str | None = None
        self._missed: list[Sender] = []
        self._token_error: tuple[Decryption, str] | None = None
        self._foreign: str | None = None
        if auth_type is not None and auth_type not in _READABLE:
            self._foreign = AuthType.label(auth_type).removeprefix("GSS_").lower()

    def __repr__(self) -> str:
        return f"TokenHandshake({self.identity.mechanism}, {self.decryption.name})"

    @cached_property
    def _ntlm(self) -> NtlmExchange:
        # Loaded when a capture needs it, as Kerberos is.
        from analyzer.auth.ntlm import NtlmExchange

        return NtlmExchange(self._keyring)

    @cached_property
    def _kerberos(self) -> KerberosExchange:
        from analyzer.auth.kerberos_handshake import KerberosExchange

        return KerberosExchange(self._keyring, self._tickets)

    def feed(self, sender: Sender, token: bytes) -> None:
        """Takes one authentication token of this sender, and follows its mechanism (NTLM, SPNEGO, Kerberos)."""
        if self._foreign is not None or not token:
            return
        try:
            self._take(sender, bytes(token))
        except DecodeError as error:
            decryption = Decryption.UNSUPPORTED if isinstance(error, UnsupportedError) else Decryption.NO_HANDSHAKE
            self._token_error = (decryption, f"a token of the {sender} cannot be read: {error}")
        else:
            self._token_error = None

    def missed(self, sender: Sender) -> None:
        """Notes in the handshake that a token of this sender was not captured."""
        self._missed.append(sender)

    def _take(self, sender: Sender, token: bytes) -> None:
        if token.startswith(NTLM_SIGNATURE):
            self._chosen = "ntlm"
            self._ntlm.feed(token)
            return
        from analyzer.auth.spnego import MECHANISMS, is_spnego

        if is_spnego(token):
            self._take_spnego(sender, token)
            return
        from analyzer.auth.der import unwrap_gss
        from analyzer.auth.kerberos import is_kerberos

        if is_kerberos(token):
            self._chosen = "krb5"
            self._kerberos.feed(sender, token)
            return
        if (framed := unwrap_gss(token)) is not None:
            name = MECHANISMS.get(framed[0], framed[0])
            raise UnsupportedError(f"security mechanism {name} is not supported", field="gss.thisMech")
        if token.startswith(b"NEGOEXTS"):
            # Windows offers it first; what the acceptor then chooses counts.
            self._chosen = "negoex"
            return
        if token[:2] == b"\x16\x03":
            self._foreign = "schannel"
            return
        raise MalformedError("neither NTLM, SPNEGO nor Kerberos", field="token", start=0)

    def _take_spnego(self, sender: Sender, token: bytes) -> None:
        from analyzer.auth.spnego import is_spnego, parse_spnego

        self._spnego = True
        spnego = parse_spnego(token)
        if spnego.is_init:
            if sender == "initiator":
                self._offered = spnego.mechanisms
        elif spnego.mechanisms:
            self._chosen = spnego.mechanisms[0]
        if spnego.token:
            # Nobody negotiates the negotiation; nesting would only let a token drive us as deep as it is long.
            if is_spnego(spnego.token):
                raise MalformedError("SPNEGO inside SPNEGO", field="spnego.mechToken")
            self._take(sender, spnego.token)

    @property
    def _mechanism(self) -> str | None:
        if self._foreign is not None:
            return self._foreign
        inner = self._chosen
        if inner is None and len(self._offered) == 1:
            inner = self._offered[0]
        if self._spnego:
            return f"spnego-{inner}" if inner else "spnego"
        return inner

    @property
    def identity(self) -> Identity:
        """The names of user, domain and machines that the authentication tokens have shown so far."""
        exchange = self._exchange
        found = exchange.identity if exchange is not None else Identity()
        return replace(found, mechanism=self._mechanism)

    @property
    def _exchange(self) -> NtlmExchange | KerberosExchange | None:
        """The NTLM or Kerberos exchange of the mechanism that the tokens chose, None if it has none."""
        if self._chosen == "ntlm":
            return self._ntlm
        return self._kerberos if self._chosen == "krb5" else None

    @property
    def decryption(self) -> Decryption:
        """Whether the keyring opens what the token exchange protects, or why not."""
        return self._verdict()[0]

    @property
    def reason(self) -> str | None:
        """A sentence why nothing under the token handshake can be decrypted, naming user or ticket (principal, realm, etype, kvno).
        None if it can."""
        return self._verdict()[1]

    def _verdict(self) -> tuple[Decryption, str | None]:
        if self._foreign is not None:
            return Decryption.UNSUPPORTED, f"security provider {self._foreign} is not supported"
        exchange = self._exchange
        if self._token_error is not None and (exchange is None or not exchange.complete):
            return self._token_error
        if exchange is not None:
            return exchange.decryption, exchange.reason
        if self._chosen is not None:
            return Decryption.UNSUPPORTED, f"security mechanism {self._chosen} is not supported"
        if self._missed:
            return Decryption.NO_HANDSHAKE, "the authentication tokens are not in the capture"
        return Decryption.NO_HANDSHAKE, "no authentication token is in the capture"

    @property
    def session_key(self) -> bytes | None:
        """The full exported session key that the token handshake agreed on ([MS-NLMP] ExportedSessionKey; Kerberos subkey as used
        by [MS-SMB2] 3.2.5.3.1)."""
        exchange = self._exchange
        return exchange.session_key if exchange is not None else None

    @property
    def decrypted_by(self) -> str | None:
        """The password, hash or key of the keyring that opened the token handshake, in words (`password of LAB\\perfmon`); None
        while nothing has."""
        exchange = self._exchange
        return exchange.decrypted_by if exchange is not None else None

    @property
    def is_anonymous(self) -> bool:
        """Whether the initiator of the token handshake authenticated with no name and no proof (a null session)."""
        return self._chosen == "ntlm" and self._ntlm.is_anonymous

    @property
    def proves_key(self) -> bool:
        """Whether the token handshake shows that nobody changed what its key comes from. The MIC over NTLM's three messages does so
        if it fits. Kerberos seals that."""
        return self._ntlm.mic_is_right is True if self._chosen == "ntlm" else self._chosen == "krb5"

    def context(self, search: SearchBudget | None = None) -> SecurityContext:
        """Makes a new security context from the keys of the token handshake, in its initial state (keystreams at the start). All
        contexts of an analysis share `search`.

        It can be used without a key too: then it states that for every message.
        """
        exchange = self._exchange
        made = exchange.context(search) if exchange is not None else None
        if made is not None:
            return made
        decryption, reason = self._verdict()
        return KeylessContext(decryption, reason)


class KeylessContext:
    """The security context of a token handshake that gave no keys. It states why a sealed message stays sealed, and returns bodies
    that were never sealed."""

    def __init__(self, decryption: Decryption, reason: str | None) -> None:
        self._decryption = decryption
        self._reason = reason

    def __repr__(self) -> str:
        return f"KeylessContext({self._decryption.name})"

    def open(self, sender: Sender, level: int, pdu: bytes, body: slice, verifier: slice) -> Unprotected:
        """Returns the body of a PDU that was never sealed. For a sealed one, states why the handshake's tokens gave no key
        (`SecurityContext.open`)."""
        if level >= AuthLevel.PRIVACY:
            return Unprotected(None, None, self._decryption, self._reason)
        reason = self._reason if level >= AuthLevel.PKT else None
        return Unprotected(pdu[body], None, Decryption.NOT_SEALED, reason)

    def lost(self, sender: Sender, length: int | None) -> None:
        """Does nothing for lost bytes, because a handshake without keys gives no keystream (`SecurityContext.lost`)."""
