"""`audit` and `explain` as users meet them."""

import json
from collections.abc import Collection
from pathlib import Path

import pytest

from analyzer.capture.frame_offsets import frame_offsets
from tests.commands.test_all_commands import PCQ, SECRETS, records, run

NOTES = "toolExecutionNotifications"


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

    monkeypatch.setattr("analyzer.capture.frame_offsets.frame_offsets", gone)
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
