"""`handles`, `stats`, `export-metadata` and `--metadata` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from analyzer.core.errors import InputError
from tests.commands.test_commands import CAPTURES, CLEAR, PCQ, SECRETS, records, run

V1 = CAPTURES / "n_v1_midstream.pcap"
V1_SECRETS = CAPTURES / "v1_samba_impacket_smb311_ntlm_privacy.secrets.json"


def test_handles_tells_lives_and_exits_as_timeline_does() -> None:
    result = run("handles", PCQ, "--secrets", SECRETS, "--format", "jsonl")
    assert result.exit_code == 0
    assert [record["end"] for record in records(result.stdout)][:2] == ["closed", "closed"]
    assert run("handles", PCQ, "--secrets", SECRETS).stdout.startswith("q1 ")
    assert run("handles", PCQ, "--strict").exit_code == 4


def test_stats_sums_up_and_exits_as_timeline_does() -> None:
    result = run("stats", PCQ, "--secrets", SECRETS, "--format", "jsonl")
    assert result.exit_code == 0
    kinds = {str(record["record"]) for record in records(result.stdout)}
    assert kinds == {"method-stats", "poll-stats", "session", "identity-stats", "error-stats", "activity", "image"}
    assert "Service response time" in run("stats", CLEAR).stdout
    assert run("stats", PCQ, "--strict").exit_code == 4


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


def test_wrong_use_of_metadata_is_reported_in_a_sentence(tmp_path: Path) -> None:
    saved = tmp_path / "x.json"
    saved.write_text("{}")
    result = run("timeline", CLEAR, "--metadata", saved)
    assert isinstance(result.exception, InputError)
    assert "no metadata file" in str(result.exception)
    assert isinstance(run("timeline", CLEAR, "--metadata", tmp_path / "gone.json").exception, InputError)
    assert run("timeline", CLEAR, "--metadata-from", "a").exit_code == 2
    result = run("timeline", CLEAR, "--metadata", CLEAR, "--metadata-from", "a")
    assert isinstance(result.exception, InputError)
    assert "knows the server a" in str(result.exception)


def test_a_capture_that_reported_nothing_exits_with_3(tmp_path: Path) -> None:
    result = run("export-metadata", V1, "-o", tmp_path / "x.json")
    assert result.exit_code == 3
