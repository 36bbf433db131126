"""The SHA-256 of a file, taken while it is read: bytes pass through to the reader, and each is counted once."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from os import SEEK_CUR
from pathlib import Path
from typing import BinaryIO

from analyzer.core.file_names import text_of_path
from analyzer.results.provenance import FileDigest

_AT_ONCE = 1 << 20


class HashedFile:
    """Hashes a file while it is read from front to end. What is read again after a step back is not counted again."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._size = 0
        self._again = 0

    def read(self, size: int) -> bytes:
        return self._noted(self._file.read(size))

    def read1(self, size: int) -> bytes:
        """The bytes of the hashed file that are there, once there are some."""
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
        """Steps back over bytes that were read and hashed."""
        assert whence == SEEK_CUR
        assert offset <= 0
        self._file.seek(offset, whence)
        self._size += offset
        self._again -= offset

    def digest(self, name: str) -> FileDigest:
        """Reads the rest of the file (behind damage, say), and gives the SHA-256 of the whole."""
        with suppress(OSError, ValueError):
            while self.read(_AT_ONCE):
                pass
        return FileDigest(name, self._size, self._hash.hexdigest())

    def close(self) -> None:
        self._file.close()


def digest_of(path: Path) -> FileDigest:
    """The SHA-256 of a whole file that is read for it alone; that of a beginning would be of another file."""
    try:
        with path.open("rb", buffering=0) as file:
            found = hashlib.file_digest(file, "sha256")
            return FileDigest(text_of_path(path), file.tell(), found.hexdigest())
    except OSError:
        return FileDigest(text_of_path(path), None, None)
