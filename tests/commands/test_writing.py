"""Where results go, what they are never written over, and names from captures that would do harm where they are shown."""

from __future__ import annotations

import csv
import io
import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.core.errors import InputError
from tests.commands.test_commands import CAPTURES, CLEAR, PCQ, SECRETS, VECTORS, here, process, records, run

# As long as `_Total`, which it replaces in a capture: an escape sequence, a mark that turns letters round, a formula.
NAME = "=\x1b[J\u202e\x9b"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A capture with a name that does harm, in a file with such a name."""
    path = tmp_path / "x\x1b[2J\n.pcap"
    path.write_bytes(CLEAR.read_bytes().replace("_Total".encode("utf-16-le"), NAME.encode("utf-16-le")))
    return path


def is_harmless(text: str) -> bool:
    return all(mark.isprintable() or mark in "\n" for mark in text)


def test_names_are_escaped_on_both_streams_in_every_form(hostile: Path) -> None:
    for form in ("text", "jsonl", "json", "csv"):
        for command in ("timeline", "samples", "counters"):
            done = run(command, hostile, "--format", form)
            assert done.exit_code == 0, (command, form)
            assert is_harmless(done.stdout), (command, form)
            assert is_harmless(done.stderr), (command, form)
    samples = records(run("samples", hostile, "--format", "jsonl").stdout)
    assert NAME in {record["instance"] for record in samples}
    shown = here("counters", hostile, "--counter", "\\Processor(=\x1b[J\u202e?)\\% Processor time.").stderr.decode()
    assert "near it: " in shown
    assert "\\x1b[J" in shown
    assert is_harmless(shown)


def test_cells_are_no_formulas_unless_asked_for_raw(hostile: Path) -> None:
    def instances(*options: str) -> set[str]:
        text = run("samples", hostile, "--format", "csv", *options).stdout
        return {row["instance"] for row in csv.DictReader(io.StringIO(text, newline=""))}

    assert "'=\\x1b[J\\u202e\\x9b" in instances()
    assert NAME in instances("--csv-raw")


def test_file_names_are_escaped_in_messages(hostile: Path, tmp_path: Path) -> None:
    (tmp_path / "--\x1b[31m").write_bytes(b"")
    for arguments in (["timeline", f"{hostile}?"], ["timeline", "--\x1b[31m"], ["timeline", CLEAR, "-o", hostile]):
        done = here(*arguments)
        assert done.returncode in (1, 2)
        assert is_harmless(done.stderr.decode())
        assert "\\x1b[" in done.stderr.decode()


WRITERS: dict[str, list[object]] = {
    "timeline": ["timeline", CLEAR],
    "samples": ["samples", CLEAR, "--format", "csv"],
    "counters": ["counters", CLEAR],
    "handles": ["handles", CLEAR],
    "processes": ["processes", CLEAR],
    "stats": ["stats", CLEAR],
    "diff": ["diff", CLEAR, CLEAR],
    "sessions": ["sessions", CLEAR],
    "hosts": ["hosts", CLEAR],
    "show": ["show", CLEAR, "--call", "1"],
    "audit": ["audit", CLEAR],
    "audit as SARIF": ["audit", CLEAR, "--format", "sarif"],
    "audit as JUnit": ["audit", CLEAR, "--format", "junit"],
    "list of rules": ["audit", "--list"],
    "docs": ["docs", "PCQ101"],
    "export-metadata": ["export-metadata", PCQ, "--secrets", SECRETS],
    "decode": ["decode", VECTORS / "data_empty_query.bin", "--format", "jsonl"],
    "crosscheck": ["crosscheck", CLEAR],
    "keys keytab": ["keys", "keytab", "host/s.example@EXAMPLE", "--password", "x", "--salt", "s"],
    "keys wireshark": ["keys", "wireshark", PCQ, "--secrets", SECRETS],
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.needs("tshark") if name == "crosscheck" else ()) for name in WRITERS],
)
def test_minus_is_standard_output_and_a_file_gets_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = run(*WRITERS[name], "-o", "-").stdout_bytes
    assert shown
    assert list(tmp_path.iterdir()) == []
    assert run(*WRITERS[name], "-o", "x").stdout == ""
    assert Path("x").read_bytes() == shown
    Path("x").write_bytes(b"mine")
    assert isinstance(run(*WRITERS[name], "-o", "x").exception, InputError)
    assert Path("x").read_bytes() == b"mine"
    run(*WRITERS[name], "-o", "x", "--force")
    assert Path("x").read_bytes() == shown


def test_parquet_goes_into_pipes_when_asked_for(tmp_path: Path) -> None:
    done = process("samples", CLEAR, "--format", "parquet", "-o", "-")
    assert (done.returncode, done.stdout[:4]) == (0, b"PAR1")


def test_no_file_of_the_command_is_written_over(tmp_path: Path) -> None:
    keytab = tmp_path / "k.keytab"
    assert run("keys", "keytab", "host/s.example@EXAMPLE", "--password", "x", "-o", keytab).exit_code == 0
    secrets = tmp_path / "s.json"
    secrets.write_text(json.dumps({"keytabs": ["k.keytab"]}))
    metadata, baseline = tmp_path / "m.json", tmp_path / "b.json"
    assert run("export-metadata", PCQ, "--secrets", SECRETS, "-o", metadata).exit_code == 0
    assert run("audit", CLEAR, "--write-baseline", baseline).exit_code == 0
    read = ["--secrets", secrets, "--metadata", metadata]
    for path in (secrets, keytab, metadata):
        result = run("timeline", CLEAR, *read, "-o", path, "--force")
        assert "is read by this command" in str(result.exception), path
    for options in (["-o", baseline], ["--write-baseline", baseline], ["--write-baseline", secrets]):
        result = run("audit", CLEAR, *read, "--baseline", baseline, *options, "--force")
        assert "is read by this command" in str(result.exception), options
    result = run("keys", "wireshark", CLEAR, "--keytab", keytab, "--keytab-output", keytab, "--force")
    assert "is read by this command" in str(result.exception)


def test_an_output_that_cannot_be_written_is_said_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"mine")
    result = run("timeline", tmp_path / "no such capture", "-o", tmp_path / "x")
    assert "exists already" in str(result.exception)


def test_a_keytab_is_private_also_in_the_place_of_another_file(tmp_path: Path) -> None:
    path = tmp_path / "k"
    path.write_bytes(b"")
    path.chmod(0o644)
    assert run("keys", "keytab", "host/s.example@EXAMPLE", "--password", "x", "-o", path, "--force").exit_code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("form", ["text", "jsonl", "csv"])
def test_a_closed_standard_output_is_a_sentence_and_70(form: str) -> None:
    words = [sys.executable, "-m", "analyzer", "timeline", str(CLEAR), "--format", form]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *words], capture_output=True, timeout=600, env={"PATH": "/usr/bin:/bin"}
    )
    assert done.returncode == 70
    assert done.stderr.startswith(b"pcq-analyzer: standard output is closed")
    assert b"Traceback" not in done.stderr


# ------------------------------------------------------------------------------------------------ many files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(CLEAR, tmp_path / "good.pcap")
    shutil.copy(CAPTURES / "n_v1_midstream.pcap", tmp_path / "other.pcap")
    (tmp_path / "empty.pcap").write_bytes(b"")
    (tmp_path / "paper.pcap").write_bytes(b"%PDF-1.7\n")
    (tmp_path / "folder.pcap").mkdir()
    return tmp_path


def given(folder: Path) -> list[object]:
    return [*sorted(folder.iterdir()), folder / "gone.pcap", folder / "*.nothing"]


def test_files_that_cannot_be_read_are_problems_and_the_rest_is_read(folder: Path) -> None:
    result = run("timeline", *given(folder), "--format", "jsonl")
    assert result.exit_code == 6
    found = records(result.stdout)
    assert found[0]["files"] == [str(folder / "other.pcap"), str(folder / "good.pcap")]  # by time
    assert len([one for one in found if one["record"] == "call"]) > 15
    lost = {str(one["text"]) for one in found if one["record"] == "problem" and one["kind"] == "unreadable"}
    for name in ("empty", "paper", "folder", "gone"):
        assert any(f"{name}.pcap" in text for text in lost), name
    assert len(lost) == 5
    assert set(result.stderr.splitlines()) == lost


def test_every_command_goes_on_without_files_that_cannot_be_read(folder: Path, tmp_path: Path) -> None:
    for words in (
        ["samples"],
        ["counters"],
        ["handles"],
        ["stats"],
        ["processes"],
        ["sessions"],
        ["hosts"],
        ["keys", "wireshark"],
    ):
        assert run(*words, *given(folder)).exit_code == 6, words
    assert run("show", *given(folder), "--call", "1").exit_code == 6
    assert run("export-metadata", *given(folder)).exit_code == 6
    assert run("audit", *given(folder), "--select", "PCQ210").exit_code == 6
    matrix = run("audit", "--matrix", *given(folder), "--select", "PCQ210", "--format", "jsonl")
    assert matrix.exit_code == 6
    assert set(records(matrix.stdout)[0]["verdicts"]) == {  # type: ignore[call-overload]
        str(folder / "good.pcap"),
        str(folder / "other.pcap"),
    }


@pytest.mark.needs("tshark")
def test_one_good_file_among_bad_ones_is_read_by_tshark_as_well(folder: Path) -> None:
    result = run("timeline", *given(folder), "--engine", "tshark", "--format", "jsonl")
    assert result.exit_code == 6
    assert len([one for one in records(result.stdout) if one["record"] == "call"]) > 15


def test_where_no_file_can_be_read_there_is_no_result(folder: Path) -> None:
    result = run("timeline", folder / "empty.pcap", folder / "gone.pcap")
    assert isinstance(result.exception, InputError)
    assert str(result.exception).startswith("None of 2 files can be read. ")
