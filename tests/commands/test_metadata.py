"""`handles`, `stats`, `export-metadata` and `--metadata` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from tests.commands.test_commands import CAPTURES, CLEAR, PCQ, SECRETS, run

V1 = CAPTURES / "n_v1_midstream.pcap"


def test_metadata_goes_from_one_capture_to_another(tmp_path: Path) -> None:
    saved = tmp_path / "x.json"
    exported = run("export-metadata", PCQ, "--secrets", SECRETS, "-o", saved)
    assert exported.exit_code == 0
    assert "1 server, 5 countersets" in exported.stderr
    assert json.loads(saved.read_bytes())["version"] == 1
    for given in (saved, PCQ):
        result = run("timeline", CLEAR, "--metadata", given, "--secrets", SECRETS, "--format", "jsonl")
        assert result.exit_code == 0
    stranger = json.loads(saved.read_bytes())
    stranger["servers"][0]["ip"] = "192.0.2.9"
    saved.write_text(json.dumps(stranger))
    reported = run("timeline", CLEAR, "--metadata", saved).stdout
    assert "--metadata-from" in reported
    reported = run("timeline", CLEAR, "--metadata", saved, "--metadata-from", "192.0.2.9").stdout
    assert "taken from" in reported


def test_a_capture_that_reported_nothing_exits_with_3(tmp_path: Path) -> None:
    result = run("export-metadata", V1, "-o", tmp_path / "x.json")
    assert result.exit_code == 3
