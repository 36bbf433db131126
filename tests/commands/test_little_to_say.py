"""What commands say where there is little to say: nothing new, nothing found, no capture on the line."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analyzer.auth.key_files import parse_keytab
from analyzer.collect.collect_run import Done
from analyzer.collect.dataset_manifest import Manifest, SkippedEntry, TableEntry
from analyzer.commands.collect import _report
from analyzer.commands.shared import completion
from analyzer.commands.shared.exit_codes import EXIT_DONE, EXIT_FILES, EXIT_NOTHING
from analyzer.core.events import Problem
from tests.commands.test_all_commands import CLEAR, PCQ, SECRETS, run


def done(**facts: Any) -> Done:
    manifest = Manifest(program="pcq-analyzer", schema=2, run="1", tables=facts.pop("tables", {}))
    manifest.skipped = facts.pop("skipped", [])
    return Done(manifest, **facts)


def test_a_collection_without_news_names_what_the_dataset_holds(capsys: pytest.CaptureFixture[str]) -> None:
    table = TableEntry(2048, {}, [])
    assert _report(done(tables={"calls": table}), "here") == EXIT_DONE
    assert capsys.readouterr().err == "here: nothing is new; 2,048 calls\n"


def test_a_collection_states_why_files_were_skipped_and_that_it_holds_no_call(
    capsys: pytest.CaptureFixture[str],
) -> None:
    skipped = [SkippedEntry(name, "its last frame is before --since") for name in ("a.pcap", "b.pcap")]
    assert _report(done(read=1, shows=False, skipped=skipped, sealed=2), "here") == EXIT_NOTHING
    said = capsys.readouterr().err
    assert "2 skipped: its last frame is before --since" in said
    assert "sealed, at least in part: 2 of 0 conversations. " in said
    assert said.endswith("here holds no performance call.\n")


def test_a_collection_names_ten_problems_and_counts_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    problems = [Problem("unreadable", "capture", (), f"{number}.pcap is no capture") for number in range(12)]
    assert _report(done(read=1, problems=problems), "here") == EXIT_FILES
    said = capsys.readouterr().err.splitlines()
    assert said[9:11] == ["9.pcap is no capture", "and 2 more problems of this kind"]


def test_without_a_capture_there_is_no_machine_or_account_to_offer_and_the_objects_of_windows(tmp_path: Path) -> None:
    large = tmp_path / "large.pcap"
    with large.open("wb") as file:
        file.truncate(completion.MOST_BYTES + 1)
    for files in ((), ("-",), (str(large),), (str(tmp_path / "nowhere.pcap"),)):
        context: Any = SimpleNamespace(params={"files": files})
        assert list(completion.complete_machine(context, "")) == []
        assert list(completion.complete_account(context, "")) == []
        assert ("\\Processor(*)\\*", "") in completion.complete_counter(context, "\\proc")


def test_nt_hashes_go_into_a_keytab_beside_the_session_keys(tmp_path: Path) -> None:
    keytab = tmp_path / "keys.keytab"
    result = run("keys", "wireshark", PCQ, "--secrets", SECRETS, "--keytab-output", keytab)
    assert result.exit_code == 0
    assert [key.etype for key in parse_keytab(keytab.read_bytes())] == [23]


@pytest.mark.needs("tshark")
def test_a_comparison_with_tshark_is_a_json_document_too() -> None:
    result = run("crosscheck", CLEAR, "--format", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)
