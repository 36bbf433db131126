"""What programs of others demand of their input, by their own code: fetched by npm and pip at the versions named here."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
_PYTHON = ("zat==0.4.9", "timesketch==20261014")
# Timesketch's check of JSON Lines. Its module imports what only its server has and the check does not use.
_TIMESKETCH = """
import json, sys
from unittest.mock import MagicMock
sys.modules |= {name: MagicMock() for name in ("pandas", "yaml", "flask")}
from timesketch.lib.utils import read_and_validate_jsonl
print(json.dumps([[*read_and_validate_jsonl(open(path))] for path in sys.argv[1:]]))
"""
_ZEEK = """
import json, sys
from zat.zeek_log_reader import ZeekLogReader
readers = [ZeekLogReader(path, strict=True) for path in sys.argv[1:]]
read = [([*one._readrows()], one.field_names, one.field_types) for one in readers]
print(json.dumps([{"types": dict(zip(names, types)), "rows": rows} for rows, names, types in read], default=str))
"""


def _made(name: str, make: Callable[[Path], None]) -> Path:
    """A folder beside this file that is made once, and is there as a whole or not at all."""
    folder = HERE / name
    if not folder.is_dir():
        beside = Path(tempfile.mkdtemp(dir=HERE, prefix=".fetching-"))
        try:
            make(beside)
            beside.rename(folder)
        except OSError:
            # Another worker was faster.
            if not folder.is_dir():
                raise
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    return folder


@cache
def _packages() -> Path:
    def fetch(folder: Path) -> None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, *_PYTHON]
        subprocess.run(pip, capture_output=True, check=True)

    return _made(".fetched-python", fetch)


@cache
def ecs_fields() -> dict[str, dict[str, Any]]:
    """Every field of the Elastic Common Schema by its dotted name: `type`, `normalize`, `allowed_values`."""

    def fetch(folder: Path) -> None:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, folder)
        options = ["ci", "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run(["npm", *options], cwd=folder, capture_output=True, check=True)

    package = _made(".fetched-ecs", fetch) / "node_modules" / "@elastic" / "ecs"
    code = "const {EcsFlat} = require(process.argv[1]); console.log(JSON.stringify(EcsFlat))"
    ran = subprocess.run(["node", "-e", code, package], capture_output=True, text=True, check=True)
    fields: dict[str, dict[str, Any]] = json.loads(ran.stdout)
    return fields


def _read_by(code: str, logs: Iterable[Path]) -> Any:
    ran = subprocess.run(
        [sys.executable, "-c", code, *logs],
        env={**os.environ, "PYTHONPATH": str(_packages())},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def read_by_timesketch(logs: Iterable[Path]) -> list[list[dict[str, Any]]]:
    """The events that Timesketch takes of each file of JSON Lines; an `AssertionError` with what it says where it refuses one."""
    events: list[list[dict[str, Any]]] = _read_by(_TIMESKETCH, logs)
    return events


def read_by_zat(logs: Iterable[Path]) -> list[dict[str, Any]]:
    """`types` of the columns, and the `rows` that the Zeek Analysis Tools read of each log, in strict mode."""
    read: list[dict[str, Any]] = _read_by(_ZEEK, logs)
    return read
