"""The manifest of a dataset, which lists its files and tables, and the facts of its stages, from which it grows.

`manifest.json` is written last: a file that it does not list is no part of the dataset. Its files are in place by then; files of
the manifest before are removed after. Directories whose names begin with `_` are no tables (as Spark and others have it).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import zstandard
from msgspec import Struct, field

from analyzer.collect.stage_tasks_and_facts import ConversationFacts, FileFacts, RowsFacts, TableFile, Window
from analyzer.core.errors import CONTRADICTIONS, InputError
from analyzer.core.output.file_store import StorageError, Store

FORMAT, VERSION = "pcq-dataset", 5
MANIFEST = "manifest.json"
STAGING, PIECES, STATE, FACTS = "_staging", "_pieces", "_state", "_facts"


class SourceEntry(Struct, frozen=True, kw_only=True):
    """A capture of the dataset, as the manifest lists it. `number` is what `frame_files` of the tables name; within a `site`, an
    address is one machine."""

    number: int
    url: str
    size: int | None
    version: str
    sha256: str | None
    status: str
    frames: int
    bytes: int
    first_time_ns: int | None
    last_time_ns: int | None
    since_ns: int | None
    until_ns: int | None
    problems: int
    site: str = ""


class SkippedEntry(Struct, frozen=True):
    """A capture, as the manifest lists it, that was named but that the last run did not read, and why."""

    url: str
    reason: str


class TableEntry(Struct, frozen=True):
    """A table of the dataset, as the manifest lists it: its rows, its columns with the types polars has for them, and its files."""

    rows: int
    columns: dict[str, str]
    files: list[str]


class StageEntry(Struct, frozen=True, kw_only=True):
    """The cost of a stage of the last run, as the manifest states it: tasks, processor seconds of all workers, elapsed seconds,
    bytes read and written."""

    stage: str
    tasks: int
    failed: int
    cpu_s: float
    elapsed_s: float
    bytes_in: int
    bytes_out: int


class Manifest(Struct, kw_only=True):
    """The manifest of a dataset. `options` are those that rows depend on, `asked` what else the last run was asked for, `fence` the
    number of the last lock that was taken over from a run that was not heard of (on S3)."""

    format: str = FORMAT
    version: int = VERSION
    program: str
    schema: int
    run: str
    first_time_ns: int | None = None
    last_time_ns: int | None = None
    frames: int = 0
    bytes: int = 0
    conversations: int = 0
    options: dict[str, str] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    stages: list[StageEntry] = field(default_factory=list)
    sources: list[SourceEntry] = field(default_factory=list)
    skipped: list[SkippedEntry] = field(default_factory=list)
    tables: dict[str, TableEntry] = field(default_factory=dict)
    facts: str = ""
    fence: int = 0


class Facts(Struct):
    """The facts beside the manifest: all that later runs of `collect` need to know of earlier ones."""

    files: list[FileFacts] = field(default_factory=list)
    conversations: list[ConversationFacts] = field(default_factory=list)
    shared: list[TableFile] = field(default_factory=list)
    # The bounds of time that were asked for, and the number of the next conversation.
    window: Window = (None, None)
    next_conversation: int = 1

    @property
    def rows(self) -> list[RowsFacts]:
        """Returns the facts beside the manifest about the table rows that were written for conversations."""
        return [one.rows for one in self.conversations if one.rows is not None]

    @property
    def tables(self) -> list[TableFile]:
        """Returns the Parquet files of all tables of the dataset, for its manifest."""
        return [*(file for one in self.rows for file in one.files), *self.shared]

    @property
    def sizes(self) -> dict[str, int]:
        """Returns the sizes of the dataset's files, by name, without the manifest and these facts."""
        return {
            **{file.pieces: file.pieces_bytes for file in self.files if file.pieces is not None},
            **{one.state: one.state_bytes for one in self.conversations if one.state is not None},
            **{file.name: file.bytes for file in self.tables},
        }


def is_dataset(path: str | Path) -> bool:
    """Tells whether a path or URL is a dataset: any URL, or a directory with a manifest that is no case."""
    if "://" in str(path):
        return True
    place = Path(path)
    return place.is_dir() and (place / MANIFEST).is_file() and not (place / "state").is_dir()


def read_dataset(path: str | Path) -> tuple[Store, Manifest]:
    """Reads the manifest of the dataset at a path, for all who open one; returns it with the store. Raises `InputError` if it is no
    dataset, of another version, or cannot be reached."""
    store = Store(str(path))
    try:
        manifest = read_manifest(store)
    except StorageError as error:
        raise InputError(str(error)) from None
    if manifest is None:
        raise InputError(f"{path} is no dataset: it has no {MANIFEST}", hint="collect writes one.")
    return store, manifest


def read_manifest(store: Store) -> Manifest | None:
    """Reads the manifest of a dataset; None if there is none yet. Raises `InputError` if it is damaged or of another version."""
    if not store.exists(MANIFEST):
        return None
    try:
        stated: Any = msgspec.json.decode(store.read(MANIFEST))
        if not isinstance(stated, dict) or stated.get("format") != FORMAT:
            raise InputError(f"{store.root} is no dataset: its manifest is of something else")
        if int(stated.get("version", 0)) < VERSION:
            raise InputError(
                f"{store.root} is a dataset of version {stated.get('version')}, which an earlier pcq-analyzer wrote",
                hint="Collect its captures into a new dataset.",
            )
        if int(stated.get("version", 0)) > VERSION:
            raise InputError(
                f"{store.root} is a dataset of version {stated['version']}, written by pcq-analyzer {stated.get('program')}",
                hint=f"This program reads version {VERSION}: take a newer one.",
            )
        return msgspec.convert(stated, Manifest)
    except CONTRADICTIONS as error:
        raise InputError(f"{store.root} has a damaged manifest: {error}") from None


def read_facts(store: Store, manifest: Manifest) -> Facts:
    try:
        return msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(store.read(manifest.facts)), type=Facts)
    except (OSError, zstandard.ZstdError, *CONTRADICTIONS) as error:
        raise InputError(
            f"{store.root} cannot grow: {manifest.facts} cannot be read ({error})", hint="Collect into a new dataset."
        ) from None


def packed_facts(facts: Facts) -> bytes:
    return zstandard.ZstdCompressor(3).compress(msgspec.msgpack.encode(facts))
