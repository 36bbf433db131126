"""What the layers above use of an established security context: opened messages, and what looking for lost keys may cost."""

from __future__ import annotations

from typing import Literal, Protocol

from msgspec import Struct

from analyzer.core.limits import DEFAULTS
from analyzer.results.security import Decryption

Sender = Literal["initiator", "acceptor"]

# A capture with losses earns more searches with each byte that its contexts see, so that the time stays in proportion: so many
# bytes a try, of some two microseconds, and so much keystream a byte, of which RC4 makes 300 MB a second.
BYTES_A_TRY, KEYSTREAM_A_BYTE = 2, 64

# What every NTLM message begins with, [MS-NLMP] section 2.2.1.
NTLM_SIGNATURE = b"NTLMSSP\x00"


class Unprotected(Struct, frozen=True):
    """One RPC message after its signature was checked and its seal undone.

    `body` has the length of the sealed body (padding still on); None where it could not be decrypted (`decryption`, `reason`).
    `verified`: the checksum was right (True), wrong (False), there is none at this level or no key for it (None). At
    PRIVACY a wrong checksum never gives a body: it is `decryption` WRONG_KEY or BYTES_MISSING. Below PRIVACY the body was never
    hidden and is always given, with `decryption` NOT_SEALED, and `reason` where it could not be verified. `header_signed`: the
    checksum covers the PDU header too.
    """

    body: bytes | None
    verified: bool | None
    decryption: Decryption
    reason: str | None = None
    header_signed: bool | None = None


class SearchBudget:
    """What searching for lost positions in RC4 keystreams may cost, for all security contexts of an analysis together.

    `tries` and `keystream` (bytes) are what is left. `given_up` counts the messages that were not looked for as far as they
    would have been, for want of either.
    """

    def __init__(self, tries: int = DEFAULTS.search_tries, keystream: int = DEFAULTS.search_keystream) -> None:
        self.tries = tries
        self.keystream = keystream
        self.given_up = 0
        self._earned = 0

    def earn(self, size: int) -> None:
        """Adds to the search budget: so many bytes of protected messages were seen."""
        self._earned += size
        self.keystream += size * KEYSTREAM_A_BYTE
        if self._earned >= BYTES_A_TRY:
            self.tries += self._earned // BYTES_A_TRY
            self._earned %= BYTES_A_TRY

    def makes(self, size: int) -> bool:
        """Takes so many bytes of keystream from the search budget, where as much is left."""
        if size > self.keystream:
            return False
        self.keystream -= size
        return True


class SecurityContext(Protocol):
    """An established context that opens RPC messages one after the other, in the order their sender protected them."""

    def open(self, sender: Sender, level: int, pdu: bytes, body: slice, verifier: slice) -> Unprotected:
        """Opens or checks one protected RPC PDU. The place where it is expected is tried first, so that messages in sequence cost
        one attempt.

        `pdu` is the whole fragment. `pdu[body]` is the stub data with its authentication padding, and `pdu[verifier]` the
        auth_value. The other signed bytes are the header before the body and the sec_trailer between the two ([MS-RPCE] sections
        2.2.2.11 and 3.3.1.5.2). Levels below PKT return the body unverified.
        """
        ...

    def lost(self, sender: Sender, length: int | None) -> None:
        """Informs a stream cipher that about `length` bytes of this sender's PDUs (None: unknown) were not captured."""
        ...
