"""Case files: an analysis saved as one file, and opened again in place of its captures (docs/case-file.md).

A case is a container (`case_container.py`) for the entries of an analysis (`results/saved_analysis.py`): tables, and the log of the
calls' bytes. The case holds decrypted content in the clear; it holds no keys, and none are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO

import msgspec
from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from analyzer.core.errors import CONTRADICTIONS, CaseError, InputError
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.pipeline.case_container import CaseEntry, Container, EntryReader, damaged, measured, write
from analyzer.results.analysis import Analysis, FileDigest
from analyzer.results.records.capture_records import SCHEMA, EventTrace
from analyzer.results.records.saved_record_tables import TableFacts
from analyzer.results.saved_analysis import ENTRIES, CaseFacts, dump, load

FORMAT, VERSION = "pcq-case", 8
# The format of a dataset of `collect`, which has a manifest too.
_DATASET = "pcq-dataset"


class CaseManifest(Struct, frozen=True, kw_only=True):
    """The manifest of a case. `limits` and `options` are those with which the captures were read; `program` is the version that
    saved it. `problems` counts those of reading; no buffer was decoded for them. `tables` and `entries` describe all that the case
    holds, in order."""

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
    limits: dict[str, int]
    options: dict[str, str] = field(default_factory=dict)
    secrets_given: bool
    connections: dict[str, int]
    tables: dict[str, TableFacts]
    traces: tuple[EventTrace, ...] | UnsetType = UNSET
    redacted: bool | UnsetType = UNSET
    entries: tuple[CaseEntry, ...]


class _Kind(Struct, frozen=True):
    """The part of a case's manifest that states its format and version."""

    format: str
    version: int
    schema: int
    program: str


def open_case(path: str | Path, *, hashing: bool = False) -> Analysis:
    """The analysis that a case holds. Raises `InputError` for what is none, damaged, or of another version.

    `hashing` lets the facts of the capture state the digests of its files.
    """
    place = Path(path)
    manifest, entries = _opened(place)
    for name in ENTRIES:
        if name not in entries:
            raise damaged(place, f"{name} is not in it")
    stated = {name: getattr(manifest, name) for name in CaseFacts.__struct_fields__}
    try:
        analysis = load(CaseFacts(**stated), entries)
    except OSError as error:
        raise _unreadable(place, error) from None
    except CONTRADICTIONS as error:
        raise damaged(place, f"{error}") from error
    return replace(analysis, capture=replace(analysis.capture, digests=manifest.digests if hashing else ()))


def manifest_of(path: str | Path) -> CaseManifest:
    """Returns the manifest of a case file. Raises `InputError` like `open_case`."""
    return _opened(Path(path))[0]


def check_case(path: str | Path) -> CaseManifest:
    """Checks every byte of a saved case and returns its manifest. Raises `InputError` if a byte is not as written."""
    place = Path(path)
    manifest, entries = _opened(place)
    try:
        for entry in entries.values():
            entry.check()
    except OSError as error:
        raise _unreadable(place, error) from None
    return manifest


def read_back(path: Path) -> None:
    """Checks a case file that was just written: opens it and reads every byte. Raises `InputError` if it is damaged."""
    check_case(path)
    open_case(path)


def _opened(place: Path) -> tuple[CaseManifest, dict[str, EntryReader]]:
    try:
        container = Container(place)
        manifest = _checked(container.manifest, place)
        return manifest, container.entries(manifest.entries)
    except OSError as error:
        raise _unreadable(place, error) from None


def _unreadable(place: Path, error: OSError) -> InputError:
    return InputError(f"{place} cannot be read: {error.strerror or error}")


def _checked(text: bytes, place: Path) -> CaseManifest:
    try:
        kind = msgspec.json.decode(text, type=_Kind)
    except msgspec.ValidationError:
        raise InputError(f"{place} is no case") from None
    except CONTRADICTIONS as error:
        raise damaged(place, f"its manifest is none ({error})") from error
    if kind.format == _DATASET:
        raise InputError(
            f"{place} is a dataset of collect, and this command reads captures and cases",
            hint=f"Each conversation in it is a case: name one of {place}/_state/*.pcq. `diff` and pcq.open open datasets.",
        )
    if kind.format != FORMAT:
        raise InputError(f"{place} is no case")
    if (kind.version, kind.schema) != (VERSION, SCHEMA):
        what = f"of version {kind.version}" if kind.version != VERSION else f"with records of schema {kind.schema}"
        raise CaseError(
            f"{place} is a case {what}, saved by pcq-analyzer {kind.program}",
            hint=f"This program reads version {VERSION} with records of schema {SCHEMA}. Save it again from its captures.",
        )
    try:
        return msgspec.json.decode(text, type=CaseManifest)
    except CONTRADICTIONS as error:
        raise damaged(place, f"its manifest is none ({error})") from error


def write_case(
    analysis: Analysis,
    out: IO[bytes],
    *,
    limits: Limits = DEFAULTS,
    options: dict[str, str] | None = None,
    digests: Sequence[FileDigest] = (),
) -> CaseManifest:
    """Writes an analysis as a case file; returns its manifest."""
    from importlib.metadata import version

    dumped = dump(analysis)
    # The manifest states all entries and stands first: they are read twice.
    entries = [(measured(name, pieces()), pieces) for name, pieces in dumped.entries.items()]
    manifest = CaseManifest(
        format=FORMAT,
        version=VERSION,
        program=version("pcq-analyzer"),
        schema=SCHEMA,
        digests=tuple(digests) or analysis.capture.digests,
        calls=len(analysis.calls),
        problems=len(analysis.problems),
        limits=msgspec.structs.asdict(limits),
        options=options or {},
        **{name: getattr(dumped.facts, name) for name in CaseFacts.__struct_fields__},
        entries=tuple(entry for entry, _ in entries),
    )
    write(out, msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n", entries)
    return manifest
