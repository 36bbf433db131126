"""Stores files in a directory, on this machine or in object storage (fsspec). All output of several processes goes through here.

A file appears whole or not at all: locally it is written beside its place and renamed, object storage keeps nothing of an upload
that was not completed. Names are relative to the root, with `/` between their parts.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import file_digest
from pathlib import Path
from shutil import copyfileobj
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from analyzer.core.errors import InputError
from analyzer.core.output.gate import PartFile
from analyzer.core.printable_text import without_raw_bytes

# The packages that fsspec needs for URLs of other storage, by scheme.
_PACKAGES = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "az": "adlfs",
    "ssh": "paramiko",
    "sftp": "paramiko",
}


# Hexadecimal digits of a SHA-256 in the name of a file.
_DIGEST = 32
# Work under the lock takes milliseconds.
_ALONE_WITHIN_S, _ASKED_AGAIN_S = 10.0, 0.01


class StorageError(OSError):
    """The error that storage gave no answer, as a sentence. (Its pickle is its text: it comes from other processes.)"""


class StoreError(StorageError):
    """The error that a file could not be written to the store, as a sentence."""


def file_system(url: str) -> tuple[Any, str]:
    """Returns the file system (fsspec) of a store's URL or local path, and the path in it.

    Raises `InputError` if the scheme is unknown, its package is not installed, or the storage cannot be reached.
    """
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise InputError("datasets need fsspec", hint="pip install 'pcq-analyzer[cluster]'") from None
    scheme = url.partition("://")[0]
    try:
        if urlsplit(url).password is not None:
            raise InputError(
                f"{scheme}://... has a password in it, which would be stored in the dataset",
                hint="Put it in the configuration of fsspec, or use keys.",
            )
        fs, path = url_to_fs(url)
    except ImportError:
        package = _PACKAGES.get(scheme, f"of fsspec for {scheme}://")
        raise InputError(
            f"{url} needs the package {package}",
            hint=f"pip install {package}, on every machine that reads or writes." if scheme in _PACKAGES else None,
        ) from None
    except (ValueError, OSError) as error:
        raise InputError(f"{url} cannot be used: {error}") from None
    return fs, str(path)


def _synced(out: BinaryIO) -> None:
    """Forces a written file of the store onto the disk."""
    out.flush()
    os.fsync(out.fileno())


@contextmanager
def _spooled() -> Iterator[tuple[Path, BinaryIO]]:
    """Opens a temporary file for the content of a stored file, which is sent to object storage when it is whole."""
    with NamedTemporaryFile(prefix="pcq-") as out:
        yield Path(out.name), cast(BinaryIO, out)


class NamedByContent:
    """A stored file that gets its name from its content. It is open for bytes first; then it has its name and size."""

    file: BinaryIO
    name = ""
    size = 0


class Store:
    """A store of files below a URL, or below a local path."""

    def __init__(self, root: str) -> None:
        if without_raw_bytes(root) != root:
            raise InputError(f"{root} cannot be a dataset: readers of Parquet open no path that is not UTF-8")
        self.root = root
        self._fs, self._base = file_system(root)
        # The directory, where it is one of this machine.
        self.local = Path(self._base) if self._fs.protocol[0] == "file" else None
        self._is_conditional = "s3" in self._fs.protocol

    def _path(self, name: str) -> str:
        return f"{self._base}/{name}"

    def url(self, name: str) -> str:
        """Returns the URL or path of a stored file, for a program that opens it itself."""
        return str(self.local / name) if self.local is not None else str(self._fs.unstrip_protocol(self._path(name)))

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Turns errors of the store's object storage (its file systems have their own exceptions) into a `StorageError`."""
        try:
            yield
        except OSError:
            raise
        except Exception as error:
            if self.local is not None:
                raise
            raise StorageError(f"{self.root} gives no answer: {error}") from None

    def exists(self, name: str) -> bool:
        with self._asked():
            return bool(self._fs.exists(self._path(name)))

    def names(self, below: str) -> list[str]:
        """Returns the names of the store's files below a name, at any depth. Empty if there is no such directory."""
        return sorted(self.sizes(below))

    def sizes(self, below: str) -> dict[str, int]:
        """Returns the store's files below a name, each with its size in bytes."""
        start = len(self._base.rstrip("/")) + 1
        with suppress(FileNotFoundError), self._asked():
            self._fs.invalidate_cache()  # others write there too
            found = self._fs.find(self._path(below), detail=True)
            return {path[start:]: int(about["size"] or 0) for path, about in found.items()}
        return {}

    def digest(self, name: str) -> str:
        """Returns the digest of a stored file's content. Files that are named by content have it in their name."""
        with self._asked(), self._fs.open(self._path(name), "rb") as file:
            return file_digest(file, "sha256").hexdigest()[:_DIGEST]

    def read(self, name: str, start: int | None = None, stop: int | None = None) -> bytes:
        """Returns the bytes of a stored file, or a part of them."""
        with self._asked():
            return cast(bytes, self._fs.cat_file(self._path(name), start=start, end=stop))

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """Opens a file of the store for writing. It takes its place when all is written. Raises `StoreError`."""
        try:
            with self._asked(), self._local_file(name) if self.local is not None else self._object(name) as out:
                yield out
        except StorageError as error:
            raise StoreError(str(error)) from error
        except OSError as error:
            raise StoreError(f"{self.root} cannot be written: {error.strerror or error}") from error

    def write(self, name: str, data: bytes) -> None:
        with self.writing(name) as out:
            out.write(data)

    def create(self, name: str, data: bytes) -> bool:
        """Writes a stored file if its name is free, and returns whether it was. If many try, one succeeds. Raises `StoreError`."""
        try:
            if self.local is None:
                with self._asked():
                    self._fs.pipe_file(self._path(name), data, mode="create")
                return True
            with self._part(name) as (path, out):
                out.write(data)
                _synced(out)
                os.link(path, self.local / name)
            return True
        except FileExistsError:
            return False
        except StorageError as error:
            raise StoreError(str(error)) from error
        except OSError as error:
            raise StoreError(f"{self.root} cannot be written: {error.strerror or error}") from error

    @contextmanager
    def keeping(self, pattern: str) -> Iterator[NamedByContent]:
        """Opens a file of the store that is named by its content. When all is written, it takes its place, with the digest in the
        place of `{}` in the pattern. Raises `StoreError`."""
        kept = NamedByContent()
        try:
            with self._part(pattern) if self.local is not None else _spooled() as (path, out):
                kept.file = out
                yield kept
                _synced(out)
                kept.size = path.stat().st_size
                with path.open("rb") as written:
                    kept.name = pattern.format(file_digest(written, "sha256").hexdigest()[:_DIGEST])
                if self.local is not None:
                    path.replace(self.local / kept.name)
                else:
                    with self._asked(), path.open("rb") as written, self._object(kept.name) as there:
                        copyfileobj(written, there)
        except StorageError as error:
            raise StoreError(str(error)) from error
        except OSError as error:
            raise StoreError(f"{self.root} cannot be written: {error.strerror or error}") from error

    def stamp(self, name: str) -> str | None:
        """Returns the ETag of a stored file in S3, for replacing it on condition. None if there is none, and in other stores."""
        if not self._is_conditional:
            return None
        with suppress(FileNotFoundError), self._asked():
            self._fs.invalidate_cache()
            return str(self._fs.info(self._path(name))["ETag"])
        return None

    def replace(self, name: str, data: bytes, stamp: str | None) -> bool:
        """Writes a file of the store; on S3 only if it still has this stamp, or is still missing. Returns whether it was written.

        Raises `StoreError`.
        """
        if not self._is_conditional:
            self.write(name, data)
            return True
        if stamp is None:
            return self.create(name, data)
        try:
            with self._asked():
                self._fs.pipe_file(self._path(name), data, IfMatch=stamp)
        except OSError as error:
            if self.stamp(name) != stamp:
                return False
            raise StoreError(f"{self.root} cannot be written: {error.strerror or error}") from error
        return True

    @contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Locks a directory of the store against other processes of this machine. Object storage and some network file systems have
        no such lock. Raises `StoreError` if another process keeps the lock."""
        if self.local is None:
            yield
            return
        try:
            (self.local / name).mkdir(parents=True, exist_ok=True)
            directory = os.open(self.local / name, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise StoreError(f"{self.root} cannot be written: {error.strerror or error}") from error
        try:
            self._locked(directory)
            yield
        finally:
            os.close(directory)

    def _locked(self, directory: int) -> None:
        for _ in range(int(_ALONE_WITHIN_S / _ASKED_AGAIN_S)):
            try:
                fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_ASKED_AGAIN_S)
            except OSError:
                return
            else:
                return
        raise StoreError(f"{self.root} is being written by another process, which does not go on")

    def fetch(self, name: str, to: Path) -> Path:
        """Copies a stored file to a path of this machine, and returns that path."""
        with self._asked():
            self._fs.get_file(self._path(name), str(to))
        return to

    @contextmanager
    def _local_file(self, name: str) -> Iterator[BinaryIO]:
        assert self.local is not None
        with self._part(name) as (path, out):
            yield out
            _synced(out)
            path.replace(self.local / name)

    @contextmanager
    def _part(self, name: str) -> Iterator[tuple[Path, BinaryIO]]:
        """Makes a new file in the directory of a stored file. Only its owner may read it, because its content is decrypted. It is
        removed afterwards, unless it has taken another place."""
        assert self.local is not None
        directory = (self.local / name).parent
        directory.mkdir(parents=True, exist_ok=True)
        part = PartFile(directory, private=True)
        try:
            with part.opened() as out:
                yield part.path, out
        finally:
            with suppress(OSError):
                part.path.unlink()
            part.close()

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

    def move(self, names: Mapping[str, str]) -> None:
        """Renames files of the store, each to the name beside its own. Object storage copies them, many at a time."""
        try:
            if self.local is None:
                with self._asked():
                    self._fs.mv([self._path(name) for name in names], [self._path(name) for name in names.values()])
                return
            for name, to in names.items():
                (self.local / to).parent.mkdir(parents=True, exist_ok=True)
                (self.local / name).replace(self.local / to)
        except StorageError as error:
            raise StoreError(str(error)) from error
        except OSError as error:
            raise StoreError(f"{self.root} cannot be written: {error.strerror or error}") from error

    def remove(self, name: str) -> None:
        """Removes a file of the store, or a directory with everything in it. A missing file is no error. Raises `StoreError`."""
        try:
            with suppress(FileNotFoundError), self._asked():
                self._fs.rm(self._path(name), recursive=True)
        except StorageError as error:
            raise StoreError(str(error)) from error
        except OSError as error:
            raise StoreError(f"{self.root} cannot be written: {error.strerror or error}") from error

    def prune(self) -> None:
        """Removes the empty directories of the store. Object storage has none."""
        if self.local is not None:
            for path, _, _ in os.walk(self.local, topdown=False):
                if Path(path) != self.local:
                    with suppress(OSError):
                        Path(path).rmdir()
