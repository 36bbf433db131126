"""Loads metadata of counters: from a file that `export-metadata` wrote, or from another capture, whose metadata calls are read."""

from __future__ import annotations

from pathlib import Path

from analyzer.auth.keyring import Keyring
from analyzer.core.errors import InputError
from analyzer.core.limits import Limits
from analyzer.core.output.json import dumps
from analyzer.pipeline.run import Engine, analyze
from analyzer.results.reported_names.counter_name_tables import NameTables
from analyzer.results.reported_names.counterset_catalog import Catalogs
from analyzer.results.reported_names.saved_metadata import (
    Metadata,
    looks_like_metadata,
    metadata_from_json,
    metadata_record,
)

# Windows has some 250 countersets with 5,000 counters; their names in all languages are far below this.
MAX_FILE_BYTES = 256 << 20
_HEAD = 4096


def load_metadata(
    path: Path, keyring: Keyring | None = None, *, engine: Engine = "own", limits: Limits | None = None
) -> Metadata:
    """Loads metadata from a saved file or another capture; raises `InputError` for what is neither."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            is_ours = looks_like_metadata(head)
            data = head + file.read(MAX_FILE_BYTES) if is_ours else b""
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', error)}") from None
    if is_ours:
        if len(data) > MAX_FILE_BYTES:
            raise InputError(f"{path} is larger than any metadata file ({MAX_FILE_BYTES} bytes)")
        return metadata_from_json(data, str(path))
    other = analyze([path], keyring, engine=engine, limits=limits, pdus=False)
    return metadata_of(other.catalogs, other.name_tables, str(path))


def metadata_of(catalogs: Catalogs, tables: NameTables, origin: str) -> Metadata:
    """Returns what another capture reported about counters, as if it were loaded from a metadata file."""
    return metadata_from_json(dumps(metadata_record(catalogs, tables)), origin)
