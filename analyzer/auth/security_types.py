"""The types of what authentication offers to the layers above: a security context of any mechanism, which opens messages.

`token_handshake.py` makes one. All contexts of an analysis share the budget that bounds searches for lost keystreams.
"""

from __future__ import annotations

from typing import Literal, Protocol

from msgspec import Struct

from analyzer.core.limits import DEFAULTS
from analyzer.results.security import Decryption

Sender = Literal["initiator", "acceptor"]

# A capture with losses earns more searches with each byte that its contexts see, so that the time stays in proportion: so many
# bytes a try, of some two microseconds, and so much keystream a byte, of which RC4 makes 300 MB a second.
BYTES_A_TRY, KEYSTREAM_A_BYTE = 2, 64

# The first bytes of every NTLM message, [MS-NLMP] section 2.2.1.
NTLM_SIGNATURE = b"NTLMSSP\x00"


class Unprotected(Struct, frozen=True, gc=False):
    """What a security context gives: one RPC message after its signature was checked and its seal was removed.

    `body` has the length of the sealed body, with its padding. It is None if it could not be decrypted (`decryption`, `reason`).
    `verified`: the checksum was right (True), wrong (False), or there is none at this level or no key for it (None). At PRIVACY a
    wrong checksum never gives a body: it is `decryption` WRONG_KEY or BYTES_MISSING. Below PRIVACY the body was never hidden and is
    always given, with `decryption` NOT_SEALED, and `reason` if it could not be verified. `header_signed`: the checksum covers the
    PDU header too.
    """

    body: bytes | None
    verified: bool | None
    decryption: Decryption
    reason: str | None = None
    header_signed: bool | None = None


class SearchBudget:
    """The budget of searches for lost positions in RC4 keystreams, shared by all security contexts of an analysis.

    `tries` and `keystream` (bytes) are what is left. `given_up` counts the messages whose search ended early because one of them
    ran out.
    """

    def __init__(self, tries: int = DEFAULTS.search_tries, keystream: int = DEFAULTS.search_keystream) -> None:
        self.tries = tries
        self.keystream = keystream
        self.given_up = 0
        self._earned = 0

    def earn(self, size: int) -> None:
        """Increases the search budget that security contexts of all types share, because `size` bytes of protected messages were
        seen."""
        self._earned += size
        self.keystream += size * KEYSTREAM_A_BYTE
        if self._earned >= BYTES_A_TRY:
            self.tries += self._earned // BYTES_A_TRY
            self._earned %= BYTES_A_TRY

    def spend(self, size: int) -> bool:
        """Takes `size` bytes of keystream from the search budget that security contexts of all types share. Returns False if it
        has fewer."""
        if size > self.keystream:
            return False
        self.keystream -= size
        return True


class SecurityContext(Protocol):
    """The type of an established security context. It opens RPC messages one by one, in the order in which their sender protected
    them."""

    def open(self, sender: Sender, level: int, pdu: bytes, body: slice, verifier: slice) -> Unprotected:
        """Opens or checks one protected RPC PDU in a security context of any type. It tries the expected place first, at the
        cost of one attempt.

        `pdu` is the whole fragment. `pdu[body]` is the stub data with its authentication padding, and `pdu[verifier]` the
        auth_value. The other signed bytes are the header before the body and the sec_trailer between the two ([MS-RPCE] sections
        2.2.2.11 and 3.3.1.5.2). Levels below PKT return the body unverified.
        """
        ...

    def lost(self, sender: Sender, length: int | None) -> None:
        """Notes in a security context, whatever its type, that about `length` bytes (None: unknown) of this sender's PDUs were not
        captured. Only stream ciphers need it."""
        ...
