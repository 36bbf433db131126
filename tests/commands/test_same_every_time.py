"""Two runs of a command write the same bytes, whatever order sets and dictionaries have by chance; and no secret among them."""

import hashlib
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from analyzer.auth.keyring import Keyring
from analyzer.pipeline.run import smb_session_keys
from tests.commands.test_all_commands import CLEAR, PCQ, SECRETS, VECTORS, run
from tests.secrets import forms_of_bytes, leaks

MANY = ("timeline", "samples", "counters", "handles", "stats", "processes", "sessions", "hosts")
LINES: list[list[object]] = [
    *(
        [command, PCQ, "--secrets", SECRETS, "--hash", "--format", form]
        for command, form in product(MANY, ("text", "jsonl"))
    ),
    *(["samples", PCQ, "--secrets", SECRETS, "--format", form] for form in ("json", "csv", "parquet")),
    *(["timeline", PCQ, "--secrets", SECRETS, "--format", form] for form in ("timesketch", "ecs", "zeek")),
    *(["audit", PCQ, "--secrets", SECRETS, "--format", form] for form in ("text", "jsonl", "sarif", "junit")),
    *(["triage", PCQ, CLEAR, "--secrets", SECRETS, "--format", form] for form in ("text", "jsonl")),
    *(["decode", VECTORS / "data_empty_query.bin", "--format", form] for form in ("text", "jsonl")),
    ["show", PCQ, "--secrets", SECRETS, "--call", "2"],
    ["export-metadata", PCQ, "--secrets", SECRETS],
    ["docs", "PCQ101"],
    ["docs", "limits"],
    ["docs"],
]


def written(line: list[object], folder: Path) -> tuple[bytes, bytes]:
    """What a command line writes to its file or standard output, and to standard error."""
    if "parquet" not in line:
        done = run(*line)
        result = done.stdout_bytes
    else:
        path = folder / "table.parquet"
        done = run(*line, "-o", path, "--force")
        result = path.read_bytes()
    assert done.exit_code in (0, 10, 11, 12), (line, done.output, done.exception)
    return result, done.stderr_bytes


def digests(folder: Path) -> list[str]:
    """Of what each command line writes."""
    return [hashlib.sha256(written(line, folder)[0]).hexdigest() for line in LINES]


@pytest.fixture(scope="module")
def other_run(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The digests of a process whose sets have another order."""
    code = "import sys; from pathlib import Path; from tests.commands.test_same_every_time import digests; "
    code += "print(*digests(Path(sys.argv[1])), sep='\\n')"
    folder = tmp_path_factory.mktemp("other")
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", code, str(folder)]
    return subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout.split()


def test_two_runs_write_the_same_bytes_without_secrets(other_run: list[str], tmp_path: Path) -> None:
    keys = [form for key in smb_session_keys([PCQ], Keyring.load(SECRETS)).values() for form in forms_of_bytes(key)]
    assert keys
    differing, leaking = [], []
    for line, other in zip(LINES, other_run, strict=True):
        result, messages = written(line, tmp_path)
        if hashlib.sha256(result).hexdigest() != other:
            differing.append(line)
        if "parquet" in line:
            result = pl.read_parquet(tmp_path / "table.parquet").write_ndjson().encode()
        if leaks(result) or leaks(messages) or any(key in result or key in messages for key in keys):
            leaking.append(line)
    assert differing == []
    assert leaking == []
