"""Cases: an analysis saved as one file, and opened again in place of its captures (docs/case-file.md).

A case is a ZIP archive: a manifest, tables as Parquet for any program, and the state from which every command of ours prints what
it prints of the captures. What was decrypted is in it as it was decrypted; keys are not, and none are needed.
"""

from __future__ import annotations

import mmap
import os
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from stat import S_ISREG
from typing import IO, Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from analyzer.core.errors import InputError
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.core.spill import MappedLog
from analyzer.model.analysis import Analysis
from analyzer.model.evidence import FileDigest
from analyzer.model.packed import dump, load

FORMAT, VERSION = "pcq-case", 1
_MANIFEST, _STATE, _LOG = "manifest.json", "state/state.msgpack", "state/calls.log"
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
# Every entry has the same date, so that the same analysis gives the same file.
_DATE = (1980, 1, 1, 0, 0, 0)
_PIECE = 1 << 20
# What a manifest may be long: it names files and columns.
_MOST_MANIFEST = 16 << 20
# The records that end an archive, how long they and a comment can be, and what its directory may be long (APPNOTE 4.3.14, 4.3.16).
_END, _END_64, _LONGEST_END, _MOST_DIRECTORY, _IN_END_64 = b"PK\5\6", b"PK\6\6", 66 << 10, 1 << 20, (1 << 32) - 1
# A state is packed to a third or a tenth.
_MOST_RATIO, _FREE_STATE = 20, 2 << 20
# What makes a ZIP archive, or the state in it, unusable, in the words of the libraries that read them.
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    msgspec.MsgspecError,
    struct.error,
    EOFError,
    LookupError,
    ValueError,
    TypeError,
    ArithmeticError,
    RuntimeError,
)


class TableFacts(Struct, frozen=True):
    """A table of a case: its file, rows, and columns with the types polars has for them."""

    file: str
    rows: int
    columns: dict[str, str]


class Manifest(Struct, frozen=True, kw_only=True):
    """The manifest of a case. `limits` and `options` are those the captures were read with, `program` is the version that saved
    it. `problems` are those of its table; of a case without tables, those of reading alone, since no buffer was decoded."""

    format: str
    version: int
    program: str
    schema: int
    files: tuple[str, ...]
    digests: tuple[FileDigest, ...] = ()
    frames: int
    bytes: int
    first_time_ns: int | None
    last_time_ns: int | None
    calls: int
    problems: int
    profile: str
    limits: dict[str, int]
    options: dict[str, str] = field(default_factory=dict)
    tables: dict[str, TableFacts] = field(default_factory=dict)


def is_case(source: object) -> bool:
    """Whether a source of captures is a case, or the directory that one was unpacked to."""
    if not isinstance(source, str | Path):
        return False
    path = Path(source)
    try:
        if not path.is_file():  # what comes out of a pipe can be read but once
            return path.is_dir() and (path / _MANIFEST).is_file()
        with path.open("rb") as file:
            head = file.read(_LOCAL_HEADER.size + len(_MANIFEST))
    except (OSError, ValueError):
        return False
    return head[:4] == b"PK\3\4" and head[_LOCAL_HEADER.size :] == _MANIFEST.encode()


def open_case(path: str | Path, *, hashing: bool = False) -> Analysis:
    """The analysis that a case holds. Raises `InputError` for what is none, damaged, or of a later version.

    `hashing` lets the facts of the capture state the digests of its files.
    """
    place = Path(path)
    try:
        manifest, state, log = _from_directory(place) if place.is_dir() else _from_archive(place)
        analysis = load(state, log)
    except OSError as error:
        raise InputError(f"{place} cannot be read: {error.strerror or error}") from None
    except _DAMAGED as error:
        raise damaged(place, f"{error}") from error
    return replace(analysis, capture=replace(analysis.capture, digests=manifest.digests if hashing else ()))


def damaged(place: Path, why: str) -> InputError:
    """The error for a case that cannot be read to its end."""
    return InputError(f"{place} is a damaged case: {why}", hint="Save it again from its captures.")


def manifest_of(path: str | Path) -> Manifest:
    """The manifest of a case. Raises `InputError` for a file that is no case, or damaged."""
    place = Path(path)
    try:
        if place.is_dir():
            return _checked(_file(place / _MANIFEST, _MOST_MANIFEST), place)
        with _archive(place) as archive:
            return _checked(_entry(archive, _MANIFEST, _MOST_MANIFEST), place)
    except OSError as error:
        raise InputError(f"{place} cannot be read: {error.strerror or error}") from None
    except _DAMAGED as error:
        raise damaged(place, f"{error}") from error


def _archive(place: Path) -> zipfile.ZipFile:
    """The archive. Its directory is read at once: that of a case has a dozen entries, and each takes memory."""
    with place.open("rb") as file:
        file.seek(-min(_LONGEST_END, file.seek(0, 2)), 2)
        tail = file.read()
    at, at64 = tail.rfind(_END), tail.rfind(_END_64)
    sizes = [int.from_bytes(tail[at + 12 : at + 16], "little")] if at >= 0 else []
    if at64 >= 0:
        sizes.append(int.from_bytes(tail[at64 + 40 : at64 + 48], "little"))
    if any(_MOST_DIRECTORY < size != _IN_END_64 for size in sizes):
        raise zipfile.BadZipFile("it has more entries than a case has")
    return zipfile.ZipFile(place)


def _entry(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """The bytes of an entry, which may be so many whatever the archive promises."""
    info = archive.getinfo(name)
    if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise zipfile.BadZipFile(f"{name} is encrypted, or compressed with what no case is compressed with")
    if info.file_size > most:
        raise zipfile.BadZipFile(f"{name} would be {info.file_size} bytes, more than {most}")
    with archive.open(info) as file:
        return file.read(info.file_size)


def _most_state(packed: int) -> int:
    """What a state of so many bytes in the archive may become."""
    return max(_FREE_STATE, packed * _MOST_RATIO)


def _file(path: Path, most: int | None = None) -> bytes:
    """The bytes of a file in a directory, which must be one: what is no file may have no end, or never come."""
    if not path.is_file():
        raise zipfile.BadZipFile(f"{path.name} is not there, or no file")
    if most is not None and path.stat().st_size > most:
        raise zipfile.BadZipFile(f"{path.name} has more than {most} bytes")
    return path.read_bytes()


def _checked(text: bytes, place: Path) -> Manifest:
    stated = msgspec.json.decode(text)
    version = stated.get("version") if isinstance(stated, dict) else None
    if not isinstance(version, int) or stated.get("format") != FORMAT:
        raise InputError(f"{place} is no case")
    if version > VERSION:
        raise InputError(
            f"{place} is a case of version {version}, saved by pcq-analyzer {stated.get('program')}",
            hint=f"This program reads versions up to {VERSION}: take a newer one.",
        )
    return msgspec.convert(stated, Manifest)


def _from_directory(place: Path) -> tuple[Manifest, bytes, MappedLog]:
    manifest = _checked(_file(place / _MANIFEST, _MOST_MANIFEST), place)
    log = _mapped(place / _LOG)
    return manifest, _file(place / _STATE), MappedLog(log, 0, len(log))


def _from_archive(place: Path) -> tuple[Manifest, bytes, MappedLog]:
    with _archive(place) as archive:
        manifest = _checked(_entry(archive, _MANIFEST, _MOST_MANIFEST), place)
        state = _entry(archive, _STATE, _most_state(archive.getinfo(_STATE).compress_size))
        info = archive.getinfo(_LOG)
    whole = _mapped(place)
    *_, name_length, extra_length = _LOCAL_HEADER.unpack_from(whole, info.header_offset)
    start = info.header_offset + _LOCAL_HEADER.size + name_length + extra_length
    log = MappedLog(whole, start, info.file_size)
    if info.compress_type != zipfile.ZIP_STORED or start + info.file_size > len(whole):
        raise zipfile.BadZipFile("its calls are not stored as they should be")
    check = 0
    for at in range(0, info.file_size, _PIECE):
        check = zlib.crc32(log.read(at, min(_PIECE, info.file_size - at)), check)
    if check != info.CRC:
        raise zipfile.BadZipFile("its calls are not those that were saved")
    return manifest, state, log


def _mapped(path: Path) -> mmap.mmap | bytes:
    if not path.is_file():
        raise zipfile.BadZipFile(f"{path.name} is not there, or no file")
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""


def write_case(
    analysis: Analysis,
    out: IO[bytes],
    *,
    limits: Limits = DEFAULTS,
    options: dict[str, str] | None = None,
    profile: str = "windows",
    digests: Sequence[FileDigest] = (),
    with_tables: bool = True,
) -> Manifest:
    """Writes an analysis as a case, and returns what its manifest says. A case of a dataset is without tables."""
    from importlib.metadata import version

    from analyzer.formats.case_tables import case_tables
    from analyzer.model.capture import SCHEMA

    state, log = dump(analysis)
    facts = analysis.capture
    # The manifest stands first, which is how a case is recognised; its entries for tables are known once these are written.
    tables = case_tables(analysis, profile) if with_tables else []
    manifest = Manifest(
        format=FORMAT,
        version=VERSION,
        program=version("pcq-analyzer"),
        schema=SCHEMA,
        files=facts.files,
        digests=tuple(digests) or facts.digests,
        frames=facts.frames,
        bytes=facts.bytes,
        first_time_ns=facts.first_time_ns,
        last_time_ns=facts.last_time_ns,
        calls=len(analysis.calls),
        problems=next((table.rows for table in tables if table.name == "problems"), len(analysis.problems)),
        profile=profile,
        limits=msgspec.structs.asdict(limits),
        options=options or {},
        tables={table.name: TableFacts(f"tables/{table.name}.parquet", table.rows, table.columns) for table in tables},
    )
    place = out if _is_file(out) else _Onwards(out)
    with zipfile.ZipFile(place, "w", zipfile.ZIP_STORED) as archive:
        _put(archive, _MANIFEST, [msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"])
        for table in tables:
            _put(archive, f"tables/{table.name}.parquet", table.pieces())
        _put(archive, _STATE, [state], zipfile.ZIP_DEFLATED)
        _put(archive, _LOG, log)
    return manifest


def _is_file(out: IO[bytes]) -> bool:
    """Whether what is written can be gone back to. Devices claim it, and keep nothing."""
    try:
        return S_ISREG(os.fstat(out.fileno()).st_mode)
    except OSError:
        return out.seekable()


class _Onwards:
    """What can only be written to."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out

    def write(self, data: bytes) -> int:
        return self._out.write(data)

    def flush(self) -> None:
        self._out.flush()

    def close(self) -> None:
        """Whoever opened it closes it."""


def _put(archive: zipfile.ZipFile, name: str, pieces: Any, how: int = zipfile.ZIP_STORED) -> None:
    info = zipfile.ZipInfo(name, _DATE)
    info.compress_type = how
    info.external_attr = 0o644 << 16
    with archive.open(info, "w", force_zip64=name == _LOG) as entry:
        for piece in pieces:
            entry.write(piece)
