"""Where results go, what they are never written over, and names from captures that would do harm where they are shown."""

import csv
import io
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import Result

from analyzer.core.errors import InputError
from tests.commands.test_all_commands import CAPTURES, CLEAR, PCQ, SECRETS, VECTORS, here, records, run

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


SEALED = f"{PCQ} --secrets {SECRETS}"
WRITERS = (
    *(f"{name} {CLEAR}" for name in ("timeline", "audit")),
    *(f"audit {CLEAR} --format sarif", f"audit {CLEAR} --format junit", "audit --list", "docs PCQ101"),
    *(f"samples {CLEAR} --format csv", f"diff {CLEAR} {CLEAR}", f"show {CLEAR} --call 1", f"export-metadata {SEALED}"),
    *(f"decode {VECTORS / 'data_empty_query.bin'} --format jsonl", f"keys wireshark {SEALED}"),
    "keys keytab host/s.example@EXAMPLE --password x --salt s",
    pytest.param(f"crosscheck {CLEAR}", marks=pytest.mark.needs("tshark")),
)


@pytest.mark.parametrize("line", WRITERS)
def test_minus_is_standard_output_and_a_file_gets_the_same(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def written(*more: str) -> Result:
        return run(*line.split(), "-o", *more)

    shown = written("-").stdout_bytes
    assert shown
    assert list(tmp_path.iterdir()) == []
    assert written("x").stdout == ""
    assert Path("x").read_bytes() == shown
    Path("x").write_bytes(b"mine")
    assert isinstance(written("x").exception, InputError)
    assert Path("x").read_bytes() == b"mine"
    written("x", "--force")
    assert Path("x").read_bytes() == shown


@pytest.mark.parametrize("form", ["jsonl", "csv"])
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


@pytest.mark.needs("tshark")
def test_one_good_file_among_bad_ones_is_read_by_tshark_as_well(folder: Path) -> None:
    files = (folder / name for name in ("empty.pcap", "good.pcap", "gone.pcap"))
    result = run("timeline", *files, "--engine", "tshark", "--format", "jsonl")
    assert result.exit_code == 6
    assert len([one for one in records(result.stdout) if one["record"] == "call"]) == 15
