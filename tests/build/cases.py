"""Cases of any content, in the form that cases have."""

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from analyzer.capture.first_bytes import MANIFEST
from analyzer.core.byte_log import Readable
from analyzer.core.errors import CaseError
from analyzer.pipeline.case_container import measured, write
from analyzer.results.analysis import Analysis
from analyzer.results.calls.saved_calls import SAVED, saved_calls, saved_columns
from analyzer.results.records.saved_record_tables import Rows, SavedTable, TableFacts, saved
from analyzer.results.saved_analysis import (
    CALLS,
    RECORDS,
    CaseContents,
    CaseFacts,
    dump,
)


def contents(case: Path) -> dict[str, bytes]:
    """All entries of a case."""
    with zipfile.ZipFile(case) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


class Kept:
    """An entry in memory."""

    def __init__(self, data: bytes) -> None:
        self._data, self.size = data, len(data)

    def read(self, position: int, length: int) -> bytes:
        if not 0 <= position <= position + length <= self.size:
            raise CaseError("it ends before what it holds")
        return self._data[position : position + length]


def kept(dumped: CaseContents) -> tuple[CaseFacts, dict[str, Readable]]:
    """What a case of these entries is read from."""
    return dumped.facts, {name: Kept(b"".join(pieces())) for name, pieces in dumped.entries.items()}


def rows_of(analysis: Analysis, name: str) -> list[Any]:
    """The records of a table of a case of this analysis."""
    facts, entries = kept(dump(analysis))
    table = facts.tables[name]
    return list(Rows(name, RECORDS[name], entries[f"tables/{name}.arrow"], table.rows, table.widths))


def with_tables(dumped: CaseContents, **tables: SavedTable | Sequence[Any]) -> CaseContents:
    """A case with other tables, or with other records in them."""
    facts, entries = dumped
    for name, given in tables.items():
        made = given if isinstance(given, SavedTable) else saved(RECORDS[name], given)
        stated = facts.tables | {name: TableFacts(made.rows, made.widths)}
        facts = msgspec.structs.replace(facts, tables=stated)
        entries = entries | {f"tables/{name}.arrow": made.pieces}
    return CaseContents(facts, entries)


def with_columns(dumped: CaseContents, columns: Mapping[str, Sequence[int]]) -> CaseContents:
    """A case whose calls have other numbers in some columns."""
    if not columns:
        return dumped
    facts, entries = kept(dumped)
    there = saved_columns(facts.tables[CALLS], entries[f"tables/{CALLS}.arrow"])
    known = {name: there.column(name) for name in SAVED} | {name: np.array(one) for name, one in columns.items()}
    return with_tables(dumped, calls=saved_calls(len(there), lambda: iter([known])))


def entries_of(dumped: CaseContents, manifest: bytes) -> dict[str, bytes]:
    """The entries of a case, with what a manifest says besides."""
    stated = json.loads(manifest) | msgspec.to_builtins(dumped.facts)
    return {MANIFEST: json.dumps(stated).encode()} | {
        name: b"".join(pieces()) for name, pieces in dumped.entries.items()
    }


def written(path: Path, entries: Mapping[str, bytes], **changes: Any) -> Path:
    """A case of these entries, whose manifest states them; `changes` are keys of the manifest."""
    stated = [measured(name, [data]) for name, data in entries.items() if name != MANIFEST]
    manifest = json.loads(entries[MANIFEST]) | {"entries": msgspec.to_builtins(stated)} | changes
    with path.open("wb") as out:
        write(out, json.dumps(manifest).encode(), [(one, lambda one=one: [entries[one.name]]) for one in stated])
    return path
