"""Two runs of a command write the same bytes, whatever order sets and dictionaries have by chance."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from tests.cli.test_commands import CLEAR, PCQ, SECRETS, VECTORS, run

MANY = ("timeline", "samples", "counters", "handles", "stats", "sessions", "hosts")
LINES: list[list[object]] = [
    *(
        [command, PCQ, "--secrets", SECRETS, "--hash", "--format", form]
        for command, form in product(MANY, ("text", "jsonl"))
    ),
    *(["samples", PCQ, "--secrets", SECRETS, "--format", form] for form in ("json", "csv", "parquet")),
    *(["audit", PCQ, "--secrets", SECRETS, "--format", form] for form in ("text", "jsonl", "sarif", "junit")),
    *(["triage", PCQ, CLEAR, "--secrets", SECRETS, "--format", form] for form in ("text", "jsonl")),
    *(["decode", VECTORS / "data_empty_query.bin", "--format", form] for form in ("text", "jsonl")),
    ["show", PCQ, "--secrets", SECRETS, "--call", "2"],
    ["export-metadata", PCQ, "--secrets", SECRETS],
    ["explain", "PCQ101"],
    ["limits"],
    ["docs"],
]


def digests(folder: Path) -> list[str]:
    """Of what each command line writes."""
    found = []
    for number, line in enumerate(LINES):
        if "parquet" in line:
            done = run(*line, "-o", folder / f"{number}.parquet")
            written = (folder / f"{number}.parquet").read_bytes()
        else:
            done = run(*line)
            written = done.stdout_bytes
        assert done.exit_code in (0, 10, 11, 12), (line, done.output, done.exception)
        found.append(hashlib.sha256(written).hexdigest())
    return found


@pytest.fixture(scope="module")
def other_run(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The digests of a process whose sets have another order."""
    code = "import sys; from pathlib import Path; from tests.cli.test_same_every_time import digests; "
    code += "print(*digests(Path(sys.argv[1])), sep='\\n')"
    folder = tmp_path_factory.mktemp("other")
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", code, str(folder)]
    return subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout.split()


def test_two_runs_write_the_same_bytes(other_run: list[str], tmp_path: Path) -> None:
    found = digests(tmp_path)
    assert len(found) == len(other_run)
    assert [line for line, one, two in zip(LINES, found, other_run, strict=True) if one != two] == []
