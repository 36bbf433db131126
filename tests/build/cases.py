"""Cases of any content, in the form that cases have."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from analyzer.pipeline.container import MANIFEST, measured, write

STATE, LOG = "state/state.msgpack", "state/calls.log"


def contents(case: Path) -> dict[str, bytes]:
    """The manifest, the state and the calls of a case."""
    with zipfile.ZipFile(case) as archive:
        return {name: archive.read(name) for name in (MANIFEST, STATE, LOG)}


def written(path: Path, entries: Mapping[str, bytes], **changes: Any) -> Path:
    """A case of these entries, whose manifest states them; `changes` are keys of the manifest."""
    stated = [measured(name, [data]) for name, data in entries.items() if name != MANIFEST]
    manifest = json.loads(entries[MANIFEST]) | {"tables": {}, "entries": msgspec.to_builtins(stated)} | changes
    with path.open("wb") as out:
        write(out, json.dumps(manifest).encode(), [(one, lambda one=one: [entries[one.name]]) for one in stated])  # type: ignore[misc]
    return path
