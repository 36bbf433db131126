"""Derives SMB 3 keys, decrypts messages and checks signatures ([MS-SMB2] 3.1.4.1 to 3.1.4.3).

Keys stay inside `SessionKeys`, which shows nothing of them. The ciphers' library is loaded with the first key that needs one.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING

from analyzer.core.printable_text import Discreet

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM
    from cryptography.hazmat.primitives.cmac import CMAC

    from analyzer.auth.hmac_key import Hmac

AES_128_CCM, AES_128_GCM, AES_256_CCM, AES_256_GCM = 1, 2, 3, 4
CIPHERS = {
    AES_128_CCM: "AES-128-CCM",
    AES_128_GCM: "AES-128-GCM",
    AES_256_CCM: "AES-256-CCM",
    AES_256_GCM: "AES-256-GCM",
}
HMAC_SHA256, AES_CMAC, AES_GMAC = 0, 1, 2
SIGNINGS = {HMAC_SHA256: "HMAC-SHA256", AES_CMAC: "AES-CMAC", AES_GMAC: "AES-GMAC"}

DIALECT_300, DIALECT_311 = 0x0300, 0x0311

TRANSFORM_LEN = 52
_NONCE_AT = 20
_LONG = 128 * 1024
_SIGNATURE_AT = slice(48, 64)


class SessionKeys(Discreet, frozen=True):
    """The keys of an SMB2 or SMB3 session, for checking signatures and for decrypting each side's messages with `cipher`."""

    hidden = ("signing_key", "client_to_server", "server_to_client")
    cipher: int | None
    signing_key: bytes | None
    client_to_server: bytes | None
    server_to_client: bytes | None

    def __repr__(self) -> str:
        return f"SessionKeys(cipher={CIPHERS.get(self.cipher or 0)})"


def preauth_update(so_far: bytes, message: bytes) -> bytes:
    """Returns the next preauthentication integrity hash of SMB 3.1.1, always SHA-512 ([MS-SMB2] section 2.2.3.1.1)."""
    return hashlib.sha512(so_far + message).digest()


def kdf(key: bytes, label: bytes, context: bytes, length: int) -> bytes:
    """Derives an SMB 3 key: SP 800-108 in counter mode with HMAC-SHA256, with the parameters of [MS-SMB2] section 3.1.4.2."""
    from hmac import digest  # not before there is a key

    out = b""
    counter = 0
    while len(out) < length:
        counter += 1
        block = counter.to_bytes(4, "big") + label + b"\0" + context + (8 * length).to_bytes(4, "big")
        out += digest(key, block, "sha256")
    return out[:length]


def derive_keys(dialect: int, session_key: bytes, preauth_hash: bytes | None, cipher: int | None) -> SessionKeys | None:
    """Derives the keys of an SMB2 or SMB3 session by dialect. Returns None for 3.1.1 without the hash of its negotiation."""
    # [MS-SMB2] 3.2.5.3.1: the first 16 bytes, padded with zeros where the mechanism gave fewer.
    key = session_key[:16].ljust(16, b"\0")
    if dialect < DIALECT_300:
        return SessionKeys(None, key, None, None)
    size, secret = 16, key
    if cipher in (AES_256_CCM, AES_256_GCM):
        size, secret = 32, session_key
    if dialect == DIALECT_311:
        if preauth_hash is None:
            return None
        return SessionKeys(
            cipher,
            kdf(key, b"SMBSigningKey\0", preauth_hash, 16),
            kdf(secret, b"SMBC2SCipherKey\0", preauth_hash, size),
            kdf(secret, b"SMBS2CCipherKey\0", preauth_hash, size),
        )
    return SessionKeys(
        cipher,
        kdf(key, b"SMB2AESCMAC\0", b"SmbSign\0", 16),
        kdf(secret, b"SMB2AESCCM\0", b"ServerIn \0", size),
        kdf(secret, b"SMB2AESCCM\0", b"ServerOut\0", size),
    )


def decrypt_transform(cipher: int, key: bytes, data: bytes, at: int = 0, stop: int | None = None) -> bytes | None:
    """Decrypts the SMB 3 message from `at` to `stop` ([MS-SMB2] 2.2.41, 3.1.4.3). Returns None if the key does not fit."""
    if len(key) != (32 if cipher in (AES_256_CCM, AES_256_GCM) else 16):
        return None
    start, stop = at + TRANSFORM_LEN, len(data) if stop is None else stop
    tag, aad = data[at + 4 : at + _NONCE_AT], data[at + _NONCE_AT : start]
    try:
        if cipher in (AES_128_CCM, AES_256_CCM):
            return _aead(cipher, key).decrypt(aad[:11], data[start:stop] + tag, aad)
        if stop - start < _LONG:
            return _aead(cipher, key).decrypt(aad[:12], data[start:stop] + tag, aad)
        # The tag of a message precedes it; this way costs more to begin with, but no copy to put it behind.
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import AES
        from cryptography.hazmat.primitives.ciphers.modes import GCM

        decryptor = Cipher(AES(key), GCM(aad[:12], tag)).decryptor()
        decryptor.authenticate_additional_data(aad)
        plain = decryptor.update(memoryview(data)[start:stop])
        decryptor.finalize()
        return plain
    except _refusals():
        return None


def _refusals() -> tuple[type[Exception], ...]:
    """Returns the exceptions that the ciphers raise if an SMB 3 key does not fit."""
    from cryptography.exceptions import InvalidTag

    return InvalidTag, ValueError, OverflowError


# Making these costs more than a short message, and a session has few keys.
@lru_cache(maxsize=16)
def _aead(cipher: int, key: bytes) -> AESCCM | AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM

    return AESCCM(key, tag_length=16) if cipher in (AES_128_CCM, AES_256_CCM) else AESGCM(key)


# Zeros in the place of the signature while it is computed.
_NO_SIGNATURE = bytes(16)


@lru_cache(maxsize=16)
def _hmac(key: bytes) -> Hmac:
    from analyzer.auth.hmac_key import Hmac

    return Hmac(key, "sha256")


@lru_cache(maxsize=16)
def _cmac(key: bytes) -> CMAC:
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.cmac import CMAC

    return CMAC(AES(key))


def check_signature(algorithm: int, key: bytes, message: bytes, *, from_server: bool, cancel: bool) -> bool:
    """Whether the signature in an SMB2 header is right ([MS-SMB2] section 3.1.4.1)."""
    signature = message[_SIGNATURE_AT]
    body = message[:48] + _NO_SIGNATURE + message[64:]
    if algorithm == HMAC_SHA256:
        return _hmac(key).digest(body)[:16] == signature
    if algorithm == AES_CMAC:
        mac = _cmac(key).copy()
        mac.update(body)
        return mac.finalize() == signature
    # AES-GMAC: the nonce is the MessageId, then one bit for the sender and one for CANCEL.
    nonce = message[24:32] + (from_server | cancel << 1).to_bytes(4, "little")
    return _aead(AES_128_GCM, key).encrypt(nonce, b"", body) == signature
