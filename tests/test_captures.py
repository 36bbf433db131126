"""Every capture that ships is listed, unchanged, and read as its recorded truth says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

import pytest

from analyzer.core.output.json import dumps
from analyzer.interfaces.call_contents.call_records import timeline_records
from analyzer.interfaces.call_contents.sample_records import sample_records
from tests import truth
from tests.analyses import analysis_of_file
from tests.commands.test_all_commands import here
from tests.records import Record

ALL = truth.captures()
NOT_LISTED = {"README.md", "manifest.toml"}


def _plain(records: Iterable[Record]) -> list[Record]:
    """The records as a program reads them."""
    return [json.loads(dumps(record)) for record in records]


def test_the_manifest_lists_every_file_and_no_other() -> None:
    manifest = truth.manifest()
    listed = {entry["file"] for entry in manifest["capture"]} | set(manifest["sha256"])
    assert listed == {path.name for path in truth.CAPTURES.iterdir()} - NOT_LISTED


def test_no_file_has_changed() -> None:
    manifest = truth.manifest()
    hashes = {entry["file"]: entry["sha256"] for entry in manifest["capture"]} | manifest["sha256"]
    assert hashes == {name: hashlib.sha256((truth.CAPTURES / name).read_bytes()).hexdigest() for name in hashes}


def test_secrets_and_truths_are_all_used() -> None:
    named = {name for capture in ALL for name in (capture.secrets, capture.truth)}
    named |= {keytab for capture in ALL for keytab in json.loads(capture.secrets_path.read_bytes()).get("keytabs", ())}
    assert named == set(truth.manifest()["sha256"])


@pytest.mark.parametrize("capture", ALL, ids=lambda capture: capture.file)
def test_reading_agrees_with_the_recorded_truth(capture: truth.Capture) -> None:
    analysis = analysis_of_file(capture.file)
    records = _plain(timeline_records(analysis))
    calls = [record for record in records if record["record"] == "call"]
    samples = _plain(sample_records(analysis))
    true = truth.load(capture)
    if capture.damaged:
        differences = truth.compare_damaged(true, calls, samples, capture.intact_calls)
        assert [record for record in records if record["record"] == "problem"], "nothing is stated about the damage"
    else:
        differences = truth.compare(true, calls, samples)
    assert not differences, "\n".join(differences[:20])


@pytest.mark.parametrize("command", ["timeline", "samples"])
def test_the_command_prints_these_records(command: str) -> None:
    capture = ALL[0]
    done = here(command, capture.path, "--secrets", capture.secrets_path, "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    analysis = analysis_of_file(capture.file)
    records = timeline_records(analysis) if command == "timeline" else sample_records(analysis)
    assert [json.loads(line) for line in done.stdout.splitlines()] == _plain(records)
