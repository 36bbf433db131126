"""Cases: an analysis saved as one file, and opened again in place of its captures (docs/case-file.md).

A case is a container (`container.py`) of tables as Parquet, for any program, and of the state from which every command of ours
prints what it prints of the captures. What was decrypted is in it as it was decrypted; keys are not, and none are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from analyzer.core.errors import CaseError, InputError
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.core.spill import ReadLog
from analyzer.model.analysis import Analysis
from analyzer.model.capture import SCHEMA
from analyzer.model.evidence import FileDigest
from analyzer.model.packed import dump, load
from analyzer.pipeline.container import Container, Entry, EntryReader, damaged, is_container, measured, write

FORMAT, VERSION = "pcq-case", 2
_STATE, _LOG = "state/state.msgpack", "state/calls.log"
# What comes of reading a manifest or a state that holds other things than it should.
_CONTRADICTIONS = (msgspec.MsgspecError, LookupError, ValueError, TypeError, ArithmeticError, RecursionError)


class TableFacts(Struct, frozen=True):
    """A table of a case: its file, rows, and columns with the types polars has for them."""

    file: str
    rows: int
    columns: dict[str, str]


class Manifest(Struct, frozen=True, kw_only=True):
    """The manifest of a case. `limits` and `options` are those the captures were read with, `program` is the version that saved
    it. `problems` are those of its table; of a case without tables, those of reading alone, since no buffer was decoded. `entries`
    are all that it holds, in their order."""

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
    entries: tuple[Entry, ...]


class _Kind(Struct, frozen=True):
    """What a manifest says of its own form."""

    format: str
    version: int
    schema: int
    program: str


def is_case(source: object) -> bool:
    """Whether a source of captures is a case, or the directory that one was unpacked to."""
    return isinstance(source, str | Path) and is_container(Path(source))


def open_case(path: str | Path, *, hashing: bool = False) -> Analysis:
    """The analysis that a case holds. Raises `InputError` for what is none, damaged, or of another version.

    `hashing` lets the facts of the capture state the digests of its files.
    """
    place = Path(path)
    manifest, entries = _opened(place)
    for name in (_STATE, _LOG):
        if name not in entries:
            raise damaged(place, f"{name} is not in it")
    try:
        analysis = load(entries[_STATE].whole(), ReadLog(entries[_LOG]))
    except OSError as error:
        raise _unreadable(place, error) from None
    except _CONTRADICTIONS as error:
        raise damaged(place, f"{error}") from error
    return replace(analysis, capture=replace(analysis.capture, digests=manifest.digests if hashing else ()))


def manifest_of(path: str | Path) -> Manifest:
    """The manifest of a case. Raises `InputError` as `open_case` does."""
    return _opened(Path(path))[0]


def check_case(path: str | Path) -> Manifest:
    """Reads every byte of a case, and returns its manifest. Raises `InputError` where one is not what was written."""
    place = Path(path)
    manifest, entries = _opened(place)
    try:
        for entry in entries.values():
            entry.check()
    except OSError as error:
        raise _unreadable(place, error) from None
    return manifest


def read_back(path: Path) -> None:
    """Opens a case that was just written, and reads every byte of it. Raises `InputError`."""
    check_case(path)
    open_case(path)


def _opened(place: Path) -> tuple[Manifest, dict[str, EntryReader]]:
    try:
        container = Container(place)
        manifest = _checked(container.manifest, place)
        return manifest, container.entries(manifest.entries)
    except OSError as error:
        raise _unreadable(place, error) from None


def _unreadable(place: Path, error: OSError) -> InputError:
    return InputError(f"{place} cannot be read: {error.strerror or error}")


def _checked(text: bytes, place: Path) -> Manifest:
    try:
        kind = msgspec.json.decode(text, type=_Kind)
    except msgspec.ValidationError:
        raise InputError(f"{place} is no case") from None
    except _CONTRADICTIONS as error:
        raise damaged(place, f"its manifest is none ({error})") from error
    if kind.format != FORMAT:
        raise InputError(f"{place} is no case")
    if (kind.version, kind.schema) != (VERSION, SCHEMA):
        what = f"of version {kind.version}" if kind.version != VERSION else f"with records of schema {kind.schema}"
        raise CaseError(
            f"{place} is a case {what}, saved by pcq-analyzer {kind.program}",
            hint=f"This program reads version {VERSION} with records of schema {SCHEMA}. Save it again from its captures.",
        )
    try:
        return msgspec.json.decode(text, type=Manifest)
    except _CONTRADICTIONS as error:
        raise damaged(place, f"its manifest is none ({error})") from error


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

    state, log = dump(analysis)
    facts = analysis.capture
    tables = case_tables(analysis, profile) if with_tables else []
    # The manifest states all entries and stands first: they are made, and read twice.
    contents: dict[str, Callable[[], Iterable[bytes]]] = {
        f"tables/{table.name}.parquet": table.pieces for table in tables
    }
    contents |= {_STATE: lambda: (state,), _LOG: log.pieces}
    entries = [(measured(name, pieces()), pieces) for name, pieces in contents.items()]
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
        entries=tuple(entry for entry, _ in entries),
    )
    write(out, msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n", entries)
    return manifest
