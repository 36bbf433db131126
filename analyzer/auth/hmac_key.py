"""Computes HMACs with one key over many short messages (RFC 2104). The key's own blocks are hashed once.

`hmac.digest` looks the algorithm up and hashes the key anew each time, which costs more than a message of a hundred bytes.
"""

from __future__ import annotations

import hashlib

_INNER = bytes(octet ^ 0x36 for octet in range(256))
_OUTER = bytes(octet ^ 0x5C for octet in range(256))


class Hmac:
    """The HMAC of one key. `digest` equals `hmac.digest(key, message, name)`. It shows nothing of its key."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, key: bytes, name: str) -> None:
        blank = hashlib.new(name, usedforsecurity=False)
        if len(key) > blank.block_size:
            key = hashlib.new(name, key, usedforsecurity=False).digest()
        key = key.ljust(blank.block_size, b"\0")
        self._inner, self._outer = blank, blank.copy()
        self._inner.update(key.translate(_INNER))
        self._outer.update(key.translate(_OUTER))

    def digest(self, message: bytes) -> bytes:
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(message)
        outer.update(inner.digest())
        return outer.digest()
