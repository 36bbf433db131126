"""The container of a case: a manifest and entries in one file. Each piece is compared with its digest when it is read.

The file is a ZIP archive (PKWARE APPNOTE) of one form. Nothing is compressed, so that a case never becomes more than its bytes. The
manifest comes first and states the entries in order: name, size, CRC-32 and digests. The comment at the end has the digest of the
manifest. All other bytes follow from the manifest; opening a case compares them. Entries are read at a place (pread) and never
mapped: another process may shorten the file at any time.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import IO
from weakref import finalize

from msgspec import Struct

from analyzer.capture.first_bytes import MANIFEST, ZIP_ENTRY
from analyzer.core.errors import CaseError

# A digest is of so many bytes of an entry, the last one of what is left. Reading some bytes reads the pieces they lie in.
PIECE = 1 << 20
# The longest manifest. Writing a longer one is an error. It has 70 bytes for each piece, and the names of the captures: 900 GB
# of entries fit, or 200,000 captures.
MOST_MANIFEST = 64 << 20
# Pieces that were read last: a call and its PDUs may lie in several.
_HELD = 4
# A piece that is read again and again is read in parts. As many parts are held as make a piece.
PART, _HELD_PARTS = 1 << 14, 64
# The names of entries. An unpacked entry lies below the directory of its case.
_NAME = r"[a-z]+(?:/[a-z_-]+\.[a-z]+)?"

# APPNOTE 4.3.7, 4.3.12, 4.3.14 to 4.3.16, 4.5.3: a local header, one of the directory, the records that end an archive, and the
# sizes of 64 bits of an entry.
_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END_64, _LOCATOR_64, _END = struct.Struct("<4sQ2H2I4Q"), struct.Struct("<4sIQI"), struct.Struct("<4s4H2IH")
# What stands where a number of 32 bits does not fit, and the versions that an entry needs without and with such a number.
_WIDE, _PLAIN_VERSION, _WIDE_VERSION = 0xFFFF_FFFF, 20, 45
# 1 January 1980, the first day there is: the same analysis gives the same file. Unpacked, only the owner reads an entry (Unix).
_DATE, _MODE, _UNIX = 0x21, 0o100600 << 16, 3 << 8


class CaseEntry(Struct, frozen=True):
    """An entry of a case as the manifest states it: its digests (SHA-256, hexadecimal) are of pieces of `PIECE` bytes."""

    name: str
    size: int
    crc32: int
    sha256: tuple[str, ...]


def measured(name: str, pieces: Iterable[bytes]) -> CaseEntry:
    """Returns the description of an entry with these bytes for a case's manifest."""
    size = check = 0
    digests, digest = [], sha256()
    for piece in pieces:
        view = memoryview(piece)
        check = zlib.crc32(view, check)
        while view:
            part = view[: PIECE - size % PIECE]
            digest.update(part)
            size += len(part)
            view = view[len(part) :]
            if size % PIECE == 0:
                digests.append(digest.hexdigest())
                digest = sha256()
    if size % PIECE:
        digests.append(digest.hexdigest())
    return CaseEntry(name, size, check, tuple(digests))


def write(out: IO[bytes], manifest: bytes, entries: Sequence[tuple[CaseEntry, Callable[[], Iterable[bytes]]]]) -> None:
    """Writes a case's container: the manifest, and the entries that it states, each in pieces. `out` need not be a file.

    Raises `CaseError` for a manifest that is too long for readers.
    """
    if len(manifest) > MOST_MANIFEST:
        raise CaseError(
            f"the case cannot be written: its manifest would have {len(manifest)} bytes, more than {MOST_MANIFEST}",
            hint="Save cases of fewer captures.",
        )
    head, *headers, end = (piece for _, piece in _frame(manifest, [entry for entry, _ in entries]))
    out.write(head)
    for header, (entry, pieces) in zip(headers, entries, strict=True):
        out.write(header)
        left = entry.size
        for piece in pieces():
            out.write(piece)
            left -= len(piece)
        assert left == 0, f"{entry.name} is not as long as it was measured to be"
    out.write(end)


def _frame(manifest: bytes, entries: Sequence[CaseEntry]) -> list[tuple[int, bytes]]:
    """Returns all bytes of a case's container around its entries, each piece with its place: the manifest, the headers of entries,
    and the end."""
    at, directory = 0, []
    found: list[tuple[int, bytes]] = []
    for entry in (CaseEntry(MANIFEST, len(manifest), zlib.crc32(manifest), ()), *entries):
        name, size = entry.name.encode(), min(entry.size, _WIDE)
        sizes = (entry.size, entry.size) if size == _WIDE else ()
        extra = _wide(*sizes)
        version = _WIDE_VERSION if extra else _PLAIN_VERSION
        facts = 0, 0, 0, _DATE, entry.crc32, size, size, len(name)
        header = _LOCAL.pack(ZIP_ENTRY, version, *facts, len(extra)) + name + extra
        extra = _wide(*sizes, *((at,) if at >= _WIDE else ()))
        version = _WIDE_VERSION if extra else _PLAIN_VERSION
        place = len(extra), 0, 0, 0, _MODE, min(at, _WIDE)
        directory.append(_CENTRAL.pack(b"PK\1\2", _UNIX | version, version, *facts, *place) + name + extra)
        piece = header if found else header + manifest
        found.append((at, piece))
        at += len(piece) + (entry.size if len(found) > 1 else 0)
    listed, count = b"".join(directory), len(directory)
    end = b""
    if at >= _WIDE:
        versions = _UNIX | _WIDE_VERSION, _WIDE_VERSION
        end = _END_64.pack(b"PK\6\6", _END_64.size - 12, *versions, 0, 0, count, count, len(listed), at)
        end += _LOCATOR_64.pack(b"PK\6\7", 0, at + len(listed), 1)
    comment = f"manifest sha256 {sha256(manifest).hexdigest()}".encode()
    end += _END.pack(b"PK\5\6", 0, 0, count, count, len(listed), min(at, _WIDE), len(comment)) + comment
    return [*found, (at, listed + end)]


def _wide(*numbers: int) -> bytes:
    """Returns the extra field with 64-bit numbers for a zip entry of a case (APPNOTE 4.5.3), empty without numbers."""
    return struct.pack(f"<HH{len(numbers)}Q", 1, 8 * len(numbers), *numbers) if numbers else b""


def damaged(place: Path, why: str) -> CaseError:
    """Returns the error for a damaged case file: its bytes are not as written."""
    return CaseError(f"{place} is a damaged case: {why}", hint="Save it again from its captures.")


class _CaseFile:
    """A file of a case, read at places, and closed when nobody holds it any more."""

    def __init__(self, path: Path, case: Path) -> None:
        self.case = case
        # Anything but a file may have no end, or never send a byte.
        if not path.is_file():
            raise damaged(case, f"{path.name} is not there, or no file")
        self._file = path.open("rb", buffering=0)
        # Every reader of an entry holds this object. The last one to go closes the file.
        finalize(self, self._file.close)
        self.size = self._file.seek(0, os.SEEK_END)

    def read(self, place: int, length: int) -> bytes:
        """Reads `length` bytes of a case's file. Raises `CaseError` if the file has fewer."""
        found = self._part(place, length)
        while len(found) < length:
            more = self._part(place + len(found), length - len(found))
            if not more:
                raise damaged(self.case, "it ends before it should")
            found += more
        return found

    def _part(self, place: int, length: int) -> bytes:
        try:
            if hasattr(os, "pread"):
                return os.pread(self._file.fileno(), length, place)
            self._file.seek(place)  # Windows
            return self._file.read(length)
        except OSError as error:
            raise damaged(self.case, f"it cannot be read: {error.strerror or error}") from error


class EntryReader:
    """Reads the bytes of one entry of a case. All bytes that it returns were compared with their digest."""

    def __init__(self, file: _CaseFile, start: int, entry: CaseEntry) -> None:
        self.size = entry.size
        self._file, self._start, self._entry = file, start, entry
        # Several threads may read: each looks at the pieces and parts it took.
        self._held: tuple[tuple[int, bytes], ...] = ()
        self._parts: dict[tuple[int, int], bytes] = {}
        # Pieces that were read, with the digests of their parts once they were read again.
        self._known: dict[int, tuple[bytes, ...]] = {}

    def read(self, position: int, length: int) -> bytes:
        """Reads `length` bytes of a case's entry. Raises `CaseError` if they are absent or not as written."""
        stop = position + length
        if not 0 <= position <= stop <= self.size:
            raise damaged(self._file.case, f"{self._entry.name} ends before what it holds")
        first = position // PIECE
        for number, data in self._held:
            if number == first and length <= (first + 1) * PIECE - position:
                return data[position - first * PIECE : stop - first * PIECE]
        if 0 < length <= (first + 1) * PIECE - position:
            return self._within(first, position - first * PIECE, stop - first * PIECE)
        parts = [
            self._piece(number)[max(position - number * PIECE, 0) : stop - number * PIECE]
            for number in range(first, -(-stop // PIECE))
        ]
        return b"".join(parts)

    def _within(self, number: int, start: int, stop: int) -> bytes:
        """Returns the bytes from `start` to `stop` of one piece of a case's entry. A log whose calls end in another order than they
        begin is read here and there: so a piece that was dropped is not read as a whole each time."""
        first, last = start // PART, (stop - 1) // PART
        if last > first + 1 or not self._known.get(number):
            return self._piece(number)[start:stop]
        parts = [self._part(number, at) for at in range(first, last + 1)]
        return b"".join(parts)[start - first * PART : stop - first * PART]

    def _part(self, number: int, at: int) -> bytes:
        parts = self._parts
        data = parts.get((number, at))
        if data is None:
            place = number * PIECE + at * PART
            data = self._file.read(self._start + place, min(PART, (number + 1) * PIECE - place, self.size - place))
            if sha256(data).digest() != self._known[number][at]:
                raise damaged(self._file.case, f"{self._entry.name} is not what was written")
            if len(parts) >= _HELD_PARTS:
                self._parts = parts = {}
            parts[number, at] = data
        return data

    def check(self) -> None:
        """Reads a case's entry once to check it. Raises `CaseError` if it is not as written."""
        for number in range(len(self._entry.sha256)):
            self._piece(number)

    def _piece(self, number: int) -> bytes:
        held = self._held
        for at, data in held:
            if at == number:
                return data
        place = number * PIECE
        data = self._file.read(self._start + place, min(PIECE, self.size - place))
        if sha256(data).hexdigest() != self._entry.sha256[number]:
            raise damaged(self._file.case, f"{self._entry.name} is not what was written")
        self._held = ((number, data), *held[: _HELD - 1])
        is_known = number in self._known
        self._known[number] = _digests_of_parts(data) if is_known else ()
        return data


def _digests_of_parts(piece: bytes) -> tuple[bytes, ...]:
    return tuple([sha256(piece[at : at + PART]).digest() for at in range(0, len(piece), PART)])


class Container:
    """An opened container of a case, or the directory that one was unpacked to (which has no digest of its manifest).

    Raises `OSError` if it cannot be read, `CaseError` if it is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._archive = None if path.is_dir() else _CaseFile(path, path)
        file = self._archive or _CaseFile(path / MANIFEST, path)
        start, size = 0, file.size
        if self._archive is not None:
            start = _LOCAL.size + len(MANIFEST)
            size = _LOCAL.unpack(file.read(0, _LOCAL.size))[8]
        if size > MOST_MANIFEST:
            raise damaged(path, f"its manifest has {size} bytes, more than {MOST_MANIFEST}")
        self.manifest = file.read(start, size)

    def entries(self, stated: Sequence[CaseEntry]) -> dict[str, EntryReader]:
        """Returns readers of the entries that a case's manifest states, after comparing all bytes between them."""
        for entry in stated:
            pieces = -(-entry.size // PIECE)
            if not (re.fullmatch(_NAME, entry.name) and entry.size >= 0 and 0 <= entry.crc32 < 1 << 32):
                raise damaged(self.path, "its manifest states an entry that no case has")
            if len(entry.sha256) != pieces:
                raise damaged(self.path, f"its manifest states {len(entry.sha256)} of {pieces} digests of {entry.name}")
        if len({entry.name for entry in stated}) < len(stated):
            raise damaged(self.path, "its manifest states an entry twice")
        return self._unpacked(stated) if self._archive is None else self._archived(self._archive, stated)

    def _unpacked(self, stated: Sequence[CaseEntry]) -> dict[str, EntryReader]:
        found = {}
        for entry in stated:
            file = _CaseFile(self.path / entry.name, self.path)
            if file.size != entry.size:
                raise damaged(self.path, f"{entry.name} has {file.size} bytes, not {entry.size}")
            found[entry.name] = EntryReader(file, 0, entry)
        return found

    def _archived(self, file: _CaseFile, stated: Sequence[CaseEntry]) -> dict[str, EntryReader]:
        frame = _frame(self.manifest, stated)
        for at, piece in frame:
            if file.read(at, len(piece)) != piece:
                raise damaged(self.path, "what stands between its entries is not what was written")
        at, piece = frame[-1]
        if at + len(piece) != file.size:
            raise damaged(self.path, "it goes on behind its end")
        starts = (at + len(piece) for at, piece in frame[1:])
        return {entry.name: EntryReader(file, start, entry) for entry, start in zip(stated, starts, strict=False)}
