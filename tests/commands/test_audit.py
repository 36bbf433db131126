"""`audit` and `explain` as users meet them."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

import pytest

from analyzer.capture.offsets import frame_offsets
from tests.commands.test_commands import CLEAR, PCQ, SECRETS, records, run

NOTES = "toolExecutionNotifications"


def test_failures_are_11_and_an_accepted_capture_is_0(tmp_path: Path) -> None:
    found = run("audit", PCQ, "--secrets", SECRETS, "--select", "PCQ210", "--format", "jsonl")
    assert found.exit_code == 11
    assert {record["rule"] for record in records(found.stdout) if record["record"] == "finding"} == {"PCQ210"}
    path = tmp_path / "accepted.json"
    assert run("audit", PCQ, "--secrets", SECRETS, "--select", "PCQ210", "--write-baseline", path).exit_code == 0
    assert run("audit", PCQ, "--secrets", SECRETS, "--select", "PCQ210", "--baseline", path).exit_code == 0


def test_nothing_of_a_sealed_capture_passes_or_fails() -> None:
    found = run("audit", PCQ, "--select", "PCQ210", "--format", "jsonl")
    assert found.exit_code == 12
    assert "nothing was decrypted" in found.stderr
    assert run("audit", PCQ, "--select", "PCQ210", "--allow-undecrypted").exit_code == 0
    (coverage,) = (record for record in records(found.stdout) if record["record"] == "coverage")
    assert coverage["verdict"] == "inconclusive"
    assert "sealed" in json.dumps(coverage["reasons"])


@pytest.mark.parametrize("is_case", [False, True])
def test_a_capture_that_is_gone_when_findings_are_placed_is_a_stated_problem(
    is_case: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Findings of a case are never placed: where its captures lie is not known."""
    capture, case = tmp_path / "in.pcap", tmp_path / "case"
    capture.write_bytes(PCQ.read_bytes())
    assert run("save", capture, "--secrets", SECRETS, "-o", case).exit_code == 0

    def gone(path: Path, numbers: Collection[int]) -> dict[int, int]:
        capture.unlink()
        return frame_offsets(path, numbers)

    monkeypatch.setattr("analyzer.capture.offsets.frame_offsets", gone)
    given = (case,) if is_case else (capture, "--secrets", SECRETS)
    found = run("audit", *given, "--select", "PCQ210", "--format", "sarif", "--fail-on", "inconclusive")
    told = [one["message"]["text"] for one in json.loads(found.stdout)["runs"][0]["invocations"][0][NOTES]]
    sentence = (
        f"{capture} could not be read a second time (No such file or directory): findings are without their places"
    )
    assert [one.startswith(sentence) for one in told] == [True] * (not is_case)
    assert (sentence in found.stderr) is not is_case
    # What was found goes before what was not there.
    assert found.exit_code == 11
    capture.write_bytes(PCQ.read_bytes())
    assert run("audit", *given, "--select", "PCQ717", "--fail-on", "fail", "--format", "sarif").exit_code == (
        0 if is_case else 6
    )


def test_what_fails_an_audit_is_said_by_its_user() -> None:
    """Of this capture PCQ210 fails, and PCQ717 warns."""

    def code(*options: object) -> int:
        return run("audit", PCQ, "--secrets", SECRETS, *options).exit_code

    assert code("--select", "PCQ717") == 10
    assert code("--select", "PCQ717", "--fail-on", "fail") == 0
    assert code("--select", "PCQ210", "--fail-on", "fail") == 11
    assert code("--select", "PCQ210", "--actor", "server") == 0
    assert code("--select", "PCQ201", "--fail-on", "inconclusive") == 0
    assert code("--select", "PCQ122", "--fail-on", "inconclusive") == 0
    assert code("--select", "PCQ122", "--fail-on", "not-exercised") == 12
    assert code("--select", "PCQ122", "--min-coverage", "50%") == 12
    assert code("--select", "PCQ201", "--min-coverage", "100") == 0


def test_failures_go_before_all_other_exit_codes(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.pcap"
    nothing.write_bytes(PCQ.read_bytes()[:24])
    options = ("--secrets", SECRETS, "--select", "PCQ210")
    assert run("audit", nothing, *options).exit_code == 3
    assert run("audit", PCQ, nothing, "--matrix", *options).exit_code == 11
    assert run("audit", nothing, "--matrix", *options).exit_code == 3
    baseline = tmp_path / "accepted.json"
    run("audit", PCQ, *options, "--write-baseline", baseline)
    assert run("audit", PCQ, "--matrix", *options, "--baseline", baseline).exit_code == 0


def test_rules_are_listed_and_explained() -> None:
    assert "PCQ210" in run("audit", "--list").stdout
    assert "Why it matters" in run("docs", "PCQ210").stdout
    assert run("docs", "request-code-out-of-range").stdout == run("docs", "PCQ210").stdout


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
        assert place["found"], finding["show"]


@pytest.mark.parametrize(
    ("name", "around"),
    [
        ("response.nonsense", "the response stub: bytes 0 to 1616"),
        ("response.dwTotalSize", "the response stub: bytes 0 to 1616"),
        ("response.nonsense[3]", "the response stub: bytes 0 to 1616"),
        ("response.lpData.nonsense", "lpData: bytes 20 to 1612"),
        ("request.dwInSize.nonsense", "dwInSize: bytes 20 to 24"),
    ],
)
def test_a_name_that_no_field_has_is_not_given_to_what_is_around(name: str, around: str) -> None:
    options = ("show", PCQ, "--secrets", SECRETS, "--call", 86, "--field", name)
    shown = run(*options)
    assert shown.exit_code == 3
    lines = [line.strip() for line in shown.stdout.splitlines()]
    at = lines.index(f"No field {name} was read. Around it is {around.partition(':')[0]}:")
    assert lines[at + 1].startswith(around)
    (record,) = records(run(*options, "--format", "jsonl").stdout)
    assert record["found"] is False


def test_a_place_that_is_not_there_is_reported() -> None:
    for place in ("nowhere", "response.pdu[9]", "response.pdu.x:y"):
        assert run("show", CLEAR, "--call", 1, "--field", place).exception is not None
