"""The interface of an authentication handshake to the layers above: it takes tokens, and gives identity, decryption and reason."""

from __future__ import annotations

from typing import Protocol

from analyzer.auth.security_context_type import SearchBudget, SecurityContext, Sender
from analyzer.results.security import Decryption, Identity


class Handshake(Protocol):
    """Follows one authentication exchange (NTLM, Kerberos, SPNEGO) token by token. `token_handshake.begin(keyring)` makes it. Made
    by `analyzer.auth.token_handshake.begin(keyring)`.

    Tokens may be raw NTLM, raw Kerberos (with or without the GSS-API 0x60 header) or SPNEGO with either inside; the
    handshake finds out. The last leg may be given twice. `identity` grows with the tokens.
    """

    def feed(self, sender: Sender, token: bytes) -> None: ...

    def missed(self, sender: Sender) -> None:
        """Notes that this sender sent a token that was not captured."""
        ...

    @property
    def identity(self) -> Identity: ...

    @property
    def decryption(self) -> Decryption: ...

    @property
    def reason(self) -> str | None:
        """A sentence why nothing can be decrypted, naming user or ticket (principal, realm, etype, kvno). None if it can."""
        ...

    @property
    def decrypted_by(self) -> str | None:
        """The password, hash or key of the keyring that opened the exchange, in words (`password of LAB\\perfmon`); None while
        nothing has."""
        ...

    @property
    def is_anonymous(self) -> bool:
        """Whether the initiator of the handshake authenticated with no name and no proof (a null session)."""
        ...

    @property
    def session_key(self) -> bytes | None:
        """The full exported session key ([MS-NLMP] ExportedSessionKey; Kerberos subkey as used by [MS-SMB2] 3.2.5.3.1)."""
        ...

    def context(self, search: SearchBudget | None = None) -> SecurityContext:
        """Makes a new security context in its initial state (keystreams at the start). All contexts of an analysis share `search`.

        It can be used without a key too: then it states that for every message.
        """
        ...
