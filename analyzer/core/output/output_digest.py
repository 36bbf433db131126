"""Puts a digest into the text that it covers: SHA-256 of all bytes, with its own 64 digits counted as zeros.

The text has a mark in the place of the digest. `SealedOutput` passes bytes on up to the mark, and keeps later bytes until the end.
Then it writes the digest where the mark was.
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import BinaryIO

from analyzer.core.byte_log import Log

# The length of a digest, and of a mark.
DIGITS = 64
_MEMORY, _PIECE = 16 << 20, 1 << 20


def new_mark() -> str:
    """Returns a mark for the digest within an output: a text as long as a digest that no capture holds."""
    return f"pcq{os.urandom(DIGITS).hex()}"[:DIGITS]


def digest_within(file: BinaryIO, stated: str) -> str | None:
    """Returns the digest of a sealed output file, with the first place that states it as zeros. None if none does."""
    digest, mark, begun = sha256(), stated.encode(), b""
    while piece := file.read(_PIECE):
        joined = begun + piece
        at = joined.find(mark)
        if at >= 0:
            digest.update(joined[:at] + b"0" * DIGITS + joined[at + DIGITS :])
            while piece := file.read(_PIECE):
                digest.update(piece)
            return digest.hexdigest()
        begun = joined[-(DIGITS - 1) :]
        digest.update(joined[: len(joined) - len(begun)])
    return None


class SealedOutput:
    """Output that is sealed with a digest of all its bytes. Bytes behind the mark wait until the end, in a temporary file if they
    are many."""

    def __init__(self, out: BinaryIO, mark: str) -> None:
        self._out, self._mark = out, mark.encode()
        self._digest = sha256()
        # The end of what was written, where the mark may have begun; what waits behind it.
        self._begun = b""
        self._waiting: Log | None = None

    def write(self, data: bytes) -> int:
        """Takes bytes of the output: passes them on, or keeps them if the mark of the digest came before."""
        if self._waiting is not None:
            self._wait(data)
            return len(data)
        joined = self._begun + bytes(data)
        at = joined.find(self._mark)
        if at >= 0:
            self._pass(joined[:at])
            self._digest.update(b"0" * DIGITS)
            self._waiting = Log(_MEMORY)
            self._wait(joined[at + DIGITS :])
            return len(data)
        first = next(n for n in range(min(DIGITS - 1, len(joined)), -1, -1) if joined.endswith(self._mark[:n]))
        self._pass(joined[: len(joined) - first])
        self._begun = joined[len(joined) - first :]
        return len(data)

    def flush(self) -> None:
        """Writes the output that need not wait for the digest."""
        self._out.flush()

    def finish(self) -> None:
        """Writes the digest into the output, then the bytes that waited for it."""
        if self._waiting is None:
            self._pass(self._begun)
            return
        self._out.write(self._digest.hexdigest().encode())
        for piece in self._waiting.pieces():
            self._out.write(piece)

    def _pass(self, data: bytes) -> None:
        self._digest.update(data)
        self._out.write(data)

    def _wait(self, data: bytes) -> None:
        assert self._waiting is not None
        self._digest.update(data)
        if data:
            self._waiting.append(bytes(data))
