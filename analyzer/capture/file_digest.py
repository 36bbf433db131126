"""Computes the SHA-256 of a capture file while it is read. Each byte counts once."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from os import SEEK_CUR
from pathlib import Path
from typing import BinaryIO

from analyzer.core.printable_text import text_of_path
from analyzer.results.analysis import FileDigest

_AT_ONCE = 1 << 20


class HashedFile:
    """Hashes a capture file while it is read from front to end. Bytes that are read again after a step back count once."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._size = 0
        self._again = 0

    def read(self, size: int) -> bytes:
        return self._noted(self._file.read(size))

    def read1(self, size: int) -> bytes:
        """Returns the bytes of the hashed file that have come, at least one unless it ends."""
        return self._noted(getattr(self._file, "read1", self._file.read)(size))

    def _noted(self, data: bytes) -> bytes:
        self._size += len(data)
        if data and self._again < len(data):
            self._hash.update(memoryview(data)[self._again :] if self._again else data)
        self._again = max(self._again - len(data), 0)
        return data

    def seekable(self) -> bool:
        return self._file.seekable()

    def seek(self, offset: int, whence: int) -> None:
        """Steps back over bytes of the hashed file that were read and hashed."""
        assert whence == SEEK_CUR
        assert offset <= 0
        self._file.seek(offset, whence)
        self._size += offset
        self._again -= offset

    def digest(self, name: str) -> FileDigest:
        """Reads the rest of the hashed file (such as behind damage), and returns the SHA-256 of the whole."""
        with suppress(OSError, ValueError):
            while self.read(_AT_ONCE):
                pass
        return FileDigest(name, self._size, self._hash.hexdigest())

    def close(self) -> None:
        self._file.close()


def digest_of(path: Path) -> FileDigest:
    """Reads a whole capture file and returns its SHA-256. It has no digest if it cannot be read to its end."""
    try:
        with path.open("rb", buffering=0) as file:
            found = hashlib.file_digest(file, "sha256")
            return FileDigest(text_of_path(path), file.tell(), found.hexdigest())
    except OSError:
        return FileDigest(text_of_path(path), None, None)
