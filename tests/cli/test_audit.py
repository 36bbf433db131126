"""`audit` and `explain` as users meet them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.test_commands import CLEAR, PCQ, SECRETS, records, run


def test_failures_are_11_and_an_accepted_capture_is_0(tmp_path: Path) -> None:
    found = run("audit", PCQ, "--secrets", SECRETS, "--select", "PCQ210", "--format", "jsonl")
    assert found.exit_code == 11
    assert {record["rule"] for record in records(found.stdout) if record["record"] == "finding"} == {"PCQ210"}
    path = tmp_path / "accepted.json"
    assert run("audit", PCQ, "--secrets", SECRETS, "--select", "PCQ210", "--write-baseline", path).exit_code == 0
    assert run("audit", PCQ, "--secrets", SECRETS, "--select", "PCQ210", "--baseline", path).exit_code == 0


def test_nothing_of_a_sealed_capture_passes_or_fails() -> None:
    found = run("audit", PCQ, "--select", "PCQ210", "--format", "jsonl")
    assert found.exit_code == 0
    (coverage,) = (record for record in records(found.stdout) if record["record"] == "coverage")
    assert coverage["verdict"] == "inconclusive"
    assert "sealed" in json.dumps(coverage["reasons"])


def test_rules_are_listed_and_explained() -> None:
    assert "PCQ210" in run("audit", "--list").stdout
    assert "Why it matters" in run("explain", "PCQ210").stdout
    assert run("explain", "request-code-out-of-range").stdout == run("explain", "PCQ210").stdout


def test_wrong_usage_is_told() -> None:
    assert run("audit").exit_code == 2
    assert "no rule is left" in str(run("audit", "--list", "--select", "PCQ999").exception)
    assert "there is no rule PCQ999" in str(run("explain", "PCQ999").exception)
    assert run("audit", CLEAR, "--matrix", "--format", "sarif").exit_code == 2


def test_the_place_of_a_finding_is_shown_with_its_bytes() -> None:
    found = run("audit", PCQ, "--secrets", SECRETS, "--select", "PCQ210", "--format", "jsonl")
    first = records(found.stdout)[0]
    place = first["show"]
    shown = run("show", PCQ, "--secrets", SECRETS, "--call", first["call"], "--field", place, "--format", "jsonl")
    (record,) = records(shown.stdout)
    assert record["bytes"] == first["bytes"]
    assert record["value"] == int(str(first["seen"]))
    text = run("show", PCQ, "--secrets", SECRETS, "--call", first["call"], "--field", place).stdout
    assert f"RequestCode = {first['seen']}" in text
    assert "<0b 00 00 00>" in text


def test_show_opens_exactly_where_findings_are() -> None:
    found = run("audit", PCQ, "--secrets", SECRETS, "--format", "jsonl")
    findings = [
        record for record in records(found.stdout) if record["record"] == "finding" and record["show"] is not None
    ]
    assert len(findings) > 3
    for finding in findings:
        options = ("--call", finding["call"], "--field", finding["show"], "--format", "jsonl")
        (place,) = records(run("show", PCQ, "--secrets", SECRETS, *options).stdout)
        assert (place["part"], place["bytes"]) == (finding["part"], finding["bytes"])


def test_a_place_that_is_not_there_is_told() -> None:
    for place in ("nowhere", "response.pdu[9]", "response.pdu.x:y"):
        assert run("show", CLEAR, "--call", 1, "--field", place).exception is not None
