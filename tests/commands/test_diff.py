"""`diff` as it is called: two sides, their exit code, their forms."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.build.calls import write_capture
from tests.commands.test_commands import CAPTURES, CLEAR, PCQ, SECRETS, records, run
from tests.commands.test_redact import names_of
from tests.questions.differences.script import everything, perflib, services
from tests.truth import CAPTURES as _FOLDER

OTHER = CAPTURES / "pcq_smbd_scapy_sambalib_smb311_spnego_seal.pcap"
KEYS = ["--secrets", SECRETS, "--secrets", OTHER.with_name(f"{OTHER.stem}.secrets.json")]
# Not all of these can be read: what was lost is not equal to what was lost.
LOSSY = {"n_pcq_dropseg.pcap", "n_v1_midstream.pcap"}
EMPTY = {"n_v1_snap160.pcap"}


@pytest.mark.parametrize("path", sorted(_FOLDER.glob("*.pcap*")), ids=lambda path: path.name)
def test_a_capture_is_equal_to_itself(path: Path) -> None:
    secrets = path.with_name(f"{path.stem}.secrets.json")
    result = run("diff", path, path, *(["--secrets", secrets] if secrets.is_file() else []), "--format", "jsonl")
    found = records(result.stdout)
    assert {one["record"] for one in found} <= {"not-compared", "diff-summary"}
    assert result.exit_code == (12 if path.name in LOSSY else 3 if path.name in EMPTY else 0)
    assert found[-1]["differences"] == {}


def test_a_sealed_capture_is_compared_by_its_bytes() -> None:
    """The captured bytes are the same; of those of another session nothing can be said."""
    assert run("diff", PCQ, PCQ).exit_code == 0
    found = records(run("diff", PCQ, OTHER, "--format", "jsonl").stdout)
    assert {str(one["why"]) for one in found if one["record"] == "not-compared"} == {"sealed"}


def test_two_clients_that_run_the_same_script_ask_the_same() -> None:
    """The script of both captures is one; providers have a GUID of their own in each, and one process is called otherwise."""
    result = run("diff", PCQ, OTHER, *KEYS, "--format", "jsonl", "--interface", "PerflibV2")
    assert result.exit_code == 10
    found: list[Any] = records(result.stdout)
    summary = found[-1]
    assert summary["compared_calls"] == 83
    assert summary["volatile"]["GUIDs of countersets"] > 100
    countersets = [one for one in found if one["record"] == "difference" and one["about"] == "counterset"]
    assert {each["name"] for one in countersets for each in one["properties"]} >= {"GUID", "provider GUID"}


def test_a_case_is_compared_as_its_capture(tmp_path: Path) -> None:
    case = tmp_path / "x.pcq"
    assert run("save", PCQ, "--secrets", SECRETS, "-o", case).exit_code == 0
    assert run("diff", PCQ, case, "--secrets", SECRETS).exit_code == 0


def test_a_glob_is_one_side(tmp_path: Path) -> None:
    for name in ("a1.pcapng", "b.pcapng"):
        write_capture(tmp_path / name, *everything())
    assert run("diff", tmp_path / "a*", tmp_path / "b.pcapng").exit_code == 0


def test_what_is_selected_is_compared(tmp_path: Path) -> None:
    a, b = (
        write_capture(tmp_path / name, *made) for name, made in (("a", everything()), ("b", [*perflib(), *services()]))
    )
    assert run("diff", a, b).exit_code == 10
    assert run("diff", a, b, "--interface", "PerflibV2").exit_code == 0
    assert run("diff", a, b, "-Y", "opnum == 99").exit_code == 3


@pytest.mark.parametrize(("files", "words"), [([CLEAR], "1 are named"), ([CLEAR] * 3, "3 are named")])
def test_two_sides_are_compared(files: list[Path], words: str) -> None:
    result = run("diff", *files)
    assert result.exit_code == 2
    assert "two sides" in str(result.exception) + result.output


@pytest.mark.parametrize("form", ["text", "jsonl", "json", "csv"])
def test_redacted_it_names_nobody(form: str) -> None:
    result = run("diff", PCQ, OTHER, *KEYS, "--redact", "--format", form)
    assert result.exit_code == 10
    words = {word.casefold() for word in re.findall(r"[\w-]+", result.stdout)}
    names = {name for name in names_of(PCQ.name) if not name.isascii() or not re.fullmatch(r"[\d.:]+", name)}
    assert words.isdisjoint(names - {"text", "flags"}), words & names


def test_the_text_fits_a_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = run("diff", PCQ, OTHER, *KEYS, "-o", tmp_path / "x.txt")
    assert result.exit_code == 10
    text = (tmp_path / "x.txt").read_text("utf-8")
    assert "Countersets of PERFSRV" in text
    assert "not compared" not in text


def test_the_table_has_the_differences(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    assert run("diff", PCQ, OTHER, *KEYS, "--format", "csv", "-o", path).exit_code == 10
    found = [
        one
        for one in records(run("diff", PCQ, OTHER, *KEYS, "--format", "jsonl").stdout)
        if one["record"] == "difference"
    ]
    lines = path.read_text("utf-8").splitlines()
    assert len(lines) == len(found) + 1
    assert json.dumps(found[0]["name"])[1:-1] in lines[1]


def test_only_what_is_new_is_told(tmp_path: Path) -> None:
    path = tmp_path / "host.json"
    written = run("diff", CLEAR, "--write-baseline", path)
    assert (written.exit_code, written.stdout) == (0, "")
    assert "things that are usual" in written.stderr
    assert run("diff", CLEAR, "--baseline", path).exit_code == 0
    result = run("diff", PCQ, "--secrets", SECRETS, "--baseline", path, "--format", "jsonl")
    assert result.exit_code == 10
    assert {one["record"] for one in records(result.stdout)} == {"difference", "diff-summary"}
    assert run("diff", PCQ, "--baseline", path).exit_code == 10
    assert "new     " in run("diff", PCQ, "--secrets", SECRETS, "--baseline", path).stdout


def test_a_baseline_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "host.json"
    path.write_text("mine")
    assert run("diff", CLEAR, "--write-baseline", path).exit_code == 1
    assert path.read_text() == "mine"
    assert run("diff", CLEAR, "--write-baseline", path, "--force").exit_code == 0


@pytest.mark.parametrize(
    "options",
    [["--at", "1s"], ["--at", "1s", "--at", "2s", "--at", "3s"], ["--at", "1s", "--baseline", "x.json"]],
    ids=["one", "three", "baseline"],
)
def test_two_moments_are_compared(options: list[str]) -> None:
    assert run("diff", CLEAR, *options).exit_code == 2


def test_moments_of_a_capture_differ_in_what_was_asked_between() -> None:
    assert run("diff", CLEAR, "--at", "10s", "--at", "20s").exit_code == 0
    result = run("diff", CLEAR, "--at", "0.275s", "--at", "10s", "--format", "jsonl")
    assert result.exit_code == 10
    assert {one.get("kind") for one in records(result.stdout)} <= {"only-b", "changed", None}


def test_a_page_says_what_it_was_made_from(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = run("diff", PCQ, OTHER, *KEYS, "--interface", "PerflibV2", "--format", "html", "--hash", "-o", page)
    assert result.exit_code == 10
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert run("verify", page, PCQ, OTHER).exit_code == 0
    assert run("verify", page, PCQ, CLEAR).exit_code == 7
