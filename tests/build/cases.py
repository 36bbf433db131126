"""Cases of any content, in the form that cases have."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from analyzer.core.columns import saved_column
from analyzer.core.errors import CaseError
from analyzer.pipeline.container import MANIFEST, measured, write
from analyzer.results.analysis import Analysis
from analyzer.results.saved import dump


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


def kept(analysis: Analysis) -> dict[str, Kept]:
    """The entries of a case of this analysis."""
    return {name: Kept(b"".join(pieces())) for name, pieces in dump(analysis).items()}


def column(*numbers: int) -> bytes:
    """A column of a case."""
    return b"".join(saved_column(np.array(numbers)))


def written(path: Path, entries: Mapping[str, bytes], **changes: Any) -> Path:
    """A case of these entries, whose manifest states them; `changes` are keys of the manifest."""
    stated = [measured(name, [data]) for name, data in entries.items() if name != MANIFEST]
    manifest = json.loads(entries[MANIFEST]) | {"entries": msgspec.to_builtins(stated)} | changes
    with path.open("wb") as out:
        write(out, json.dumps(manifest).encode(), [(one, lambda one=one: [entries[one.name]]) for one in stated])  # type: ignore[misc]
    return path
