"""Finds the capture files that paths, globs, directories and URLs stand for, and reads them from any storage.

fsspec reads `s3://`, `gs://`, `abfs://`, `ssh://`, `file://` and more. Its own configuration and environment, on every machine that
reads, say how it reaches them (credentials, endpoints). A URL with a password is refused: it would be in the dataset.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from io import UnsupportedOperation
from os import SEEK_CUR, SEEK_SET
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct

from analyzer.capture.first_bytes import refuse_special
from analyzer.core.errors import InputError
from analyzer.core.output.file_store import file_system
from analyzer.core.printable_text import path_of_text, text_of_path, without_raw_bytes

# Names of captures that a directory is searched for, as programs write them, also rotated and compressed.
_NAMES = (".pcap", ".pcapng", ".cap", ".pcapng1", ".etl")
_GLOB = "*?["
# Pause before a failed read is tried again; it doubles each time. Tests set it to 0.
FIRST_WAIT_S = 0.2
_READ_AHEAD = 8 * 1024 * 1024
# What shows that a file has changed: local files have a time, objects a tag.
_VERSIONS = (
    "ETag",
    "etag",
    "md5Hash",
    "content_md5",
    "generation",
    "mtime",
    "LastModified",
    "last_modified",
    "modified",
)


class SourceFile(Struct, frozen=True):
    """A capture file of a collection when it was found. `url` is a path for files of this machine, `size` is in bytes (None if
    unknown), and `version` changes with the content."""

    url: str
    size: int | None
    version: str


def find_sources(names: Iterable[str], failures: list[InputError]) -> list[SourceFile]:
    """Returns the capture files to collect that names (paths, globs, URLs) stand for, each once, sorted by URL. Adds an error to
    `failures` for each name that stands for none."""
    found: dict[str, SourceFile] = {}
    for name in names:
        try:
            for source in _expanded(name, failures):
                found.setdefault(source.url, source)
        except InputError as error:
            failures.append(error)
        except Exception as error:
            # File systems have exceptions of their own for storage that gives no answer.
            if "://" not in name and not isinstance(error, OSError | ValueError):
                raise
            failures.append(InputError(f"{shown(name)} cannot be read: {_reason(error)}"))
    return [found[url] for url in sorted(found)]


def _expanded(name: str, failures: list[InputError]) -> Iterator[SourceFile]:
    fs, path = file_system(name)
    local = fs.protocol[0] == "file"
    if fs.exists(path):
        found = {path: fs.info(path)}
        if found[path]["type"] == "directory":
            found = {one: about for one, about in fs.find(path, detail=True).items() if is_capture_name(one)}
            if not found:
                raise InputError(f"{name}: no capture is below it", hint=f"Names that end in {', '.join(_NAMES)} are.")
    elif any(character in name for character in _GLOB):
        found = {one: about for one, about in fs.glob(path, detail=True).items() if about["type"] != "directory"}
        if not found:
            raise InputError(f"{name}: no file matches.", hint="Check the pattern and the directory it starts in.")
    else:
        raise InputError(f"{name}: there is no such file.", hint="Check the path; quote it if it has spaces.")
    for one, about in sorted(found.items()):
        try:
            if local:
                refuse_special(one)
        except InputError as error:
            failures.append(error)
            continue
        version = next((str(about[key]) for key in _VERSIONS if about.get(key) is not None), "")
        yield SourceFile(text_of_path(one) if local else fs.unstrip_protocol(one), about.get("size"), version)


def is_capture_name(path: str) -> bool:
    """Tells whether a file in a directory has the name of a capture, whatever rotation or compression added to it."""
    name = path.rsplit("/", 1)[-1].lower()
    if name.startswith("."):
        return False
    return any(end in name for end in _NAMES)


class _ReplacedError(OSError):
    """Says that the capture file was replaced by another since it was found."""


# Errors that no further attempt changes.
_FINAL = (FileNotFoundError, PermissionError, IsADirectoryError, UnsupportedOperation, _ReplacedError)


class RetriedFile:
    """Reads a capture file on any storage from front to end, up to the size at which it was found. If a read fails, it opens the
    file again at the same place, up to `retries` times, unless the file was replaced.

    `failure` says why it could not be read to the end, None if nothing failed.
    """

    def __init__(self, source: SourceFile, retries: int) -> None:
        self._source = source
        self.name = source.url if "://" in source.url else str(path_of_text(source.url))
        self._fs, self._path = file_system(self.name)
        self._retries = retries
        self._file: BinaryIO | None = None
        self._at = 0
        self.failure: str | None = None
        self._again(self._opened)

    def _opened(self) -> None:
        if self._file is None:
            if self._at and not self._is_same(self._now()):
                raise _ReplacedError("it was changed while it was read")
            ahead = {} if self._fs.protocol[0] == "file" else {"cache_type": "readahead", "block_size": _READ_AHEAD}
            file = self._fs.open(self._path, "rb", **ahead)
            if self._at:
                file.seek(self._at)
            self._file = file

    def _again(self, attempt: Any) -> Any:
        """Returns the result of an attempt to read a capture file; repeats the attempt while storage fails."""
        wait, left = FIRST_WAIT_S, self._retries
        while True:
            try:
                return attempt()
            except _FINAL as error:
                self.failure = _reason(error)
                raise
            except Exception as error:
                # File systems have exceptions of their own for a connection that broke.
                self.close()
                if not left:
                    self.failure = _reason(error)
                    raise OSError(self.failure) from None
                time.sleep(wait)
                wait, left = 2 * wait, left - 1

    def read(self, size: int = -1) -> bytes:
        found = self._source.size
        if found is not None:
            left = max(found - self._at, 0)
            size = min(size, left) if size >= 0 else left

        def attempt() -> bytes:
            self._opened()
            assert self._file is not None
            return self._file.read(size)

        data: bytes = self._again(attempt) if size else b""
        self._at += len(data)
        if found is not None and size and not data and self.failure is None:
            self.failure = f"it ends there, and had {found} bytes when it was found"
        return data

    def change(self) -> str | None:
        """Says in words how the capture file changed since it was found, if that part is not read; None if it is the same, or
        nobody can tell."""
        try:
            now: Mapping[str, Any] = self._again(self._now)
        except OSError:  # it is gone, and was read before
            self.failure = None
            return None
        size, found = now.get("size"), self._source.size
        if size is not None and found is not None and size > found:
            return f"has {size} bytes by now: read were the {found} that it had when it was found"
        return None if self._is_same(now) else "was changed while it was read"

    def _is_same(self, now: Mapping[str, Any]) -> bool:
        """Tells whether storage describes the same capture file as when it was found. A listing may say less of a file than storage
        does when it is asked."""
        return self._source.version in ("", *(str(now.get(key)) for key in _VERSIONS))

    def _now(self) -> Mapping[str, Any]:
        """Asks storage for the present facts of the capture file (size, version)."""
        self._fs.invalidate_cache()
        about: Mapping[str, Any] = self._fs.info(self._path)
        return about

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        if whence not in (SEEK_SET, SEEK_CUR):
            raise UnsupportedOperation("the end of the file is not known")
        self._at = offset + (self._at if whence == SEEK_CUR else 0)
        if self._file is not None:
            self._file.seek(self._at)
        return self._at

    def tell(self) -> int:
        return self._at

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with suppress(Exception):
                file.close()


def _reason(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    if isinstance(error, PermissionError):
        return "you may not read it"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def shown(path: str | Path) -> str:
    """Returns the URL of a capture source for people, without the user and password before `@`."""
    text = without_raw_bytes(str(path))
    head, found, rest = text.partition("://")
    authority, slash, path_of = rest.partition("/")
    return f"{head}{found}{authority.rpartition('@')[2]}{slash}{path_of}" if found else text
