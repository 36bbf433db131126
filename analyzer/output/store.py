"""A directory of files, on this machine or in object storage: the one way out for what many processes write (fsspec).

A file appears whole or not at all: locally it is written beside its place and renamed, object storage keeps nothing of an upload
that was not completed. Names are relative to the root, with `/` between their parts.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from analyzer.core.errors import InputError


class StoreError(OSError):
    """What could not be written, in a sentence. (Its pickle is its text: it comes from other processes.)"""


class Store:
    """The files below a URL, or below a path of this machine."""

    def __init__(self, root: str) -> None:
        from fsspec.core import url_to_fs

        self.root = root
        try:
            self._fs, self._base = url_to_fs(root)
        except (ImportError, ValueError) as error:
            raise InputError(f"{root} is no place that can be written: {error}") from None
        # The directory, where it is one of this machine.
        self.local = Path(self._base) if self._fs.protocol[0] == "file" else None

    def _path(self, name: str) -> str:
        return f"{self._base}/{name}"

    def url(self, name: str) -> str:
        """A file for a program that opens it by itself: a path, or a URL."""
        return str(self.local / name) if self.local is not None else str(self._fs.unstrip_protocol(self._path(name)))

    def exists(self, name: str) -> bool:
        return bool(self._fs.exists(self._path(name)))

    def names(self, below: str) -> list[str]:
        """The files below a name, at any depth; none where there is no such directory."""
        start = len(self._base.rstrip("/")) + 1
        with suppress(FileNotFoundError):
            return sorted(path[start:] for path in self._fs.find(self._path(below)))
        return []

    def size(self, name: str) -> int:
        return int(self._fs.size(self._path(name)))

    def read(self, name: str, start: int | None = None, stop: int | None = None) -> bytes:
        """The bytes of a file, or some of them."""
        return cast(bytes, self._fs.cat_file(self._path(name), start=start, end=stop))

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """A file open for bytes, which takes its place when all is written. Raises `StoreError`."""
        try:
            with self._local_file(name) if self.local is not None else self._object(name) as out:
                yield out
        except StoreError:
            raise
        except OSError as error:
            raise StoreError(f"{self.root} cannot be written: {error.strerror or error}") from error

    def write(self, name: str, data: bytes) -> None:
        with self.writing(name) as out:
            out.write(data)

    def fetch(self, name: str, to: Path) -> Path:
        """A copy of a file on this machine."""
        self._fs.get_file(self._path(name), str(to))
        return to

    @contextmanager
    def _local_file(self, name: str) -> Iterator[BinaryIO]:
        assert self.local is not None
        target = self.local / name
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".pcq-{secrets.token_hex(8)}.part")
        try:
            with beside.open("xb") as out:
                yield out
                out.flush()
                os.fsync(out.fileno())
            beside.replace(target)
        except BaseException:
            with suppress(OSError):
                beside.unlink()
            raise

    @contextmanager
    def _object(self, name: str) -> Iterator[BinaryIO]:
        out: Any = self._fs.open(self._path(name), "wb")
        try:
            yield out
        except BaseException:
            with suppress(Exception):
                out.discard()
            raise
        out.close()

    def move(self, name: str, to: str) -> None:
        """Renames a file; object storage copies it."""
        try:
            if self.local is not None:
                (self.local / to).parent.mkdir(parents=True, exist_ok=True)
                (self.local / name).replace(self.local / to)
            else:
                self._fs.mv(self._path(name), self._path(to))
        except OSError as error:
            raise StoreError(f"{self.root} cannot be written: {error.strerror or error}") from error

    def remove(self, name: str) -> None:
        """Removes a file, or a directory with all that is in it; what is not there is removed already."""
        with suppress(FileNotFoundError):
            self._fs.rm(self._path(name), recursive=True)

    def prune(self) -> None:
        """Removes directories that are empty; object storage has none."""
        if self.local is not None:
            for path, _, _ in os.walk(self.local, topdown=False):
                if Path(path) != self.local:
                    with suppress(OSError):
                        Path(path).rmdir()
