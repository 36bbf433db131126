"""`pcq counters` as users meet it: formats, paths that mean nothing, intervals, exit codes."""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction
from pathlib import Path

import polars as pl

import analyzer as pcq
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


def test_parquet_needs_a_file_and_has_typed_columns(tmp_path: Path) -> None:
    assert run("counters", *GIVEN, "--format", "parquet").exit_code == 2
    out = tmp_path / "counters.parquet"
    assert run("counters", *GIVEN, "--format", "parquet", "-o", out).exit_code == 0
    table = pl.read_parquet(out)
    assert table.schema["value"] == pl.Float64
    assert table.schema["time"] == pl.Datetime("ns", "UTC")
    assert table["series"].n_unique() > 100


def test_a_path_that_means_nothing_is_reported_with_near_misses() -> None:
    result = run("counters", *GIVEN, "--counter", PATH.replace("Processor I", "Procesor I"))
    assert result.exit_code == 3
    assert f"near it: {PATH}" in result.stderr
    partly = run("counters", *GIVEN, "--counter", PATH, "--counter", r"\no\such")
    assert partly.exit_code == 0
    assert r"\no\such is no counter of this capture" in partly.stderr


def test_fractions_are_there_where_asked() -> None:
    plain, exact = (
        [
            json.loads(line)
            for line in run("counters", *GIVEN, *more, "--counter", PATH, "--format", "jsonl").stdout.splitlines()
        ]
        for more in ((), ("--exact",))
    )
    assert {line["exact"] for line in plain} == {None}
    assert [Fraction(line["exact"]) for line in exact[1:]] == [Fraction("99.84544")] * 3
    rows = list(
        csv.DictReader(io.StringIO(run("counters", *GIVEN, "--exact", "--counter", PATH, "--format", "csv").stdout))
    )
    assert [row["exact"] or None for row in rows] == [line["exact"] for line in exact]


def test_intervals_put_readings_together() -> None:
    result = run("counters", *GIVEN, "--counter", PATH, "--interval", "1h", "--format", "jsonl")
    (bucket,) = [json.loads(line) for line in result.stdout.splitlines()]
    assert (bucket["record"], bucket["readings"], bucket["values"]) == ("bucket", 4, 3)
    assert bucket["interval_ns"] == 3_600_000_000_000
    assert bucket["time_ns"] % bucket["interval_ns"] == 0
    wrong = run("counters", *GIVEN, "--interval", "soon")
    assert (wrong.exit_code, "soon is no interval" in wrong.stderr) == (2, True)


def test_what_cannot_be_read_is_stated() -> None:
    sealed = run("counters", PCQ)
    assert sealed.exit_code == 0
    assert "no counter value could be read" in sealed.stdout
    assert run("counters", PCQ, "--strict").exit_code == 4
    assert run("counters", CLEAR).exit_code == 0


def test_the_notebook_has_them_as_a_table() -> None:
    capture = pcq.analyze(PCQ, SECRETS)
    table = capture.counters(PATH)
    assert table["value"].to_list()[1:] == [99.84544] * 3
    assert capture.counters(PATH, interval="1h")["readings"].to_list() == [4]
    assert capture.counters().height == capture.samples.height
