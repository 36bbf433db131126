"""Cases: an analysis saved as one file, and opened again in place of its captures (docs/case-file.md).

A case is a ZIP archive: a manifest, tables as Parquet for any program, and the state from which every command of ours prints what
it prints of the captures. What was decrypted is in it as it was decrypted; keys are not, and none are needed.
"""

from __future__ import annotations

import mmap
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any
from zlib import crc32

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


class TableFacts(Struct, frozen=True):
    """A table of a case: its file, rows, and columns with the types polars has for them."""

    file: str
    rows: int
    columns: dict[str, str]


class Manifest(Struct, frozen=True, kw_only=True):
    """What a case says of itself. `limits` are those the captures were read with, `program` is the version that saved it."""

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
        if path.is_dir():
            return (path / _MANIFEST).is_file()
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
    except (zipfile.BadZipFile, KeyError, msgspec.MsgspecError, struct.error, EOFError) as error:
        raise InputError(f"{place} is a damaged case: {error}", hint="Save it again from its captures.") from None
    return replace(analysis, capture=replace(analysis.capture, digests=manifest.digests if hashing else ()))


def manifest_of(path: str | Path) -> Manifest:
    """What a case says of itself."""
    place = Path(path)
    if place.is_dir():
        return _checked((place / _MANIFEST).read_bytes(), place)
    with zipfile.ZipFile(place) as archive:
        return _checked(archive.read(_MANIFEST), place)


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
    manifest = _checked((place / _MANIFEST).read_bytes(), place)
    return manifest, (place / _STATE).read_bytes(), MappedLog(_mapped(place / _LOG), 0)


def _from_archive(place: Path) -> tuple[Manifest, bytes, MappedLog]:
    with zipfile.ZipFile(place) as archive:
        manifest = _checked(archive.read(_MANIFEST), place)
        state, info = archive.read(_STATE), archive.getinfo(_LOG)
    whole = _mapped(place)
    *_, name_length, extra_length = _LOCAL_HEADER.unpack_from(whole, info.header_offset)
    start = info.header_offset + _LOCAL_HEADER.size + name_length + extra_length
    log = MappedLog(whole, start)
    if info.compress_type != zipfile.ZIP_STORED or start + info.file_size > len(whole):
        raise zipfile.BadZipFile("its calls are not stored as they should be")
    check = 0
    for at in range(0, info.file_size, _PIECE):
        check = crc32(log.read(at, min(_PIECE, info.file_size - at)), check)
    if check != info.CRC:
        raise zipfile.BadZipFile("its calls are not those that were saved")
    return manifest, state, log


def _mapped(path: Path) -> mmap.mmap | bytes:
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
) -> Manifest:
    """Writes an analysis as a case, and returns what its manifest says."""
    from importlib.metadata import version

    from analyzer.formats.case_tables import case_tables
    from analyzer.model.capture import SCHEMA

    state, log = dump(analysis)
    facts = analysis.capture
    # The manifest stands first, which is how a case is known; what it says of the tables is known when they are written.
    tables = case_tables(analysis, profile)
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
        problems=len(analysis.problems),
        profile=profile,
        limits=msgspec.structs.asdict(limits),
        options=options or {},
        tables={table.name: TableFacts(f"tables/{table.name}.parquet", table.rows, table.columns) for table in tables},
    )
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        _put(archive, _MANIFEST, [msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"])
        for table in tables:
            _put(archive, f"tables/{table.name}.parquet", table.pieces())
        _put(archive, _STATE, [state], zipfile.ZIP_DEFLATED)
        _put(archive, _LOG, log)
    return manifest


def _put(archive: zipfile.ZipFile, name: str, pieces: Any, how: int = zipfile.ZIP_STORED) -> None:
    info = zipfile.ZipInfo(name, _DATE)
    info.compress_type = how
    info.external_attr = 0o644 << 16
    with archive.open(info, "w", force_zip64=name == _LOG) as entry:
        for piece in pieces:
            entry.write(piece)
