"""`pcq counters` as users meet it: formats, paths that mean nothing, intervals, exit codes."""

from __future__ import annotations

import csv
import io
import json

from tests.commands.test_commands import CLEAR, PCQ, SECRETS, run

PATH = r"\Processor Information(_Total)\% Processor Time"
GIVEN = (PCQ, "--secrets", SECRETS)


def test_text_csv_json_and_jsonl_say_the_same() -> None:
    lines = [
        json.loads(line) for line in run("counters", *GIVEN, "--counter", PATH, "--format", "jsonl").stdout.splitlines()
    ]
    assert json.loads(run("counters", *GIVEN, "--counter", PATH, "--format", "json").stdout) == lines
    rows = list(csv.DictReader(io.StringIO(run("counters", *GIVEN, "--counter", PATH, "--format", "csv").stdout)))
    assert [float(row["value"]) if row["value"] else None for row in rows] == [line["value"] for line in lines]
    assert [row["why_null"] or None for row in rows] == [line["why_null"] for line in lines]
    assert [line["why_null"] for line in lines] == ["first-sample", None, None, None]
    assert [line["value"] for line in lines[1:]] == [99.84544] * 3
    assert {line["unit"] for line in lines} == {"%"}
    text = run("counters", *GIVEN, "--counter", PATH)
    assert text.exit_code == 0
    assert "3/4 %       99.845    99.845    99.845    99.845  ·▄▄▄" in text.stdout


def test_a_path_that_means_nothing_is_reported_with_near_misses() -> None:
    result = run("counters", *GIVEN, "--counter", PATH.replace("Processor I", "Procesor I"))
    assert result.exit_code == 3
    assert f"near it: {PATH}" in result.stderr
    partly = run("counters", *GIVEN, "--counter", PATH, "--counter", r"\no\such")
    assert partly.exit_code == 0
    assert r"\no\such is no counter of this capture" in partly.stderr
    wrong = run("counters", *GIVEN, "--interval", "soon")
    assert (wrong.exit_code, "soon is no interval" in wrong.stderr) == (2, True)


def test_what_cannot_be_read_is_stated() -> None:
    sealed = run("counters", PCQ)
    assert sealed.exit_code == 0
    assert "no counter value could be read" in sealed.stdout
    assert run("counters", PCQ, "--strict").exit_code == 4
    assert run("counters", CLEAR).exit_code == 0
