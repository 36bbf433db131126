"""The packets of a call, as commands show them: frames, TCP payload and SMB messages, or why there are none."""

from pathlib import Path
from typing import Any

import pytest

from analyzer.pipeline.packet_rereading import packets_of
from analyzer.results.captured_packets import Packets
from tests.commands.test_all_commands import CLEAR, run
from tests.page import blocks


def layer_kinds(path: Path) -> tuple[set[str], set[str | None]]:
    """The kinds of layers of the calls of a page, and what it says where carriers are missing."""
    found = blocks(path.read_text(encoding="utf-8"))
    kinds, lacking = set(), set()
    for name, block in found.items():
        if not name.startswith("details-"):
            continue
        outlines = found[f"shared-{block['shared']}"]["outlines"]
        for _, *sides in block["calls"]:
            for template, *_ in sides:
                outline, layers = outlines[template]
                lacking.add(outlines[outline][-1])
                kinds |= {outlines[layer[0]][1] for layer in layers}
    return kinds, lacking


def test_a_page_has_them_and_that_of_a_case_says_what_it_lacks(tmp_path: Path) -> None:
    page, case, of_case = tmp_path / "a.html", tmp_path / "a.pcq", tmp_path / "b.html"
    assert run("report", CLEAR, "-o", page).exit_code == 0
    assert layer_kinds(page) == ({"frame", "tcp", "smb", "pdu", "stub", "buffer"}, {None})
    assert run("save", CLEAR, "-o", case).exit_code == 0
    assert run("report", case, "-o", of_case).exit_code == 0
    assert layer_kinds(of_case) == ({"pdu", "stub", "buffer"}, {"a case does not hold captured packets"})


def test_a_capture_that_is_gone_when_its_packets_are_read_is_a_stated_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture, page = tmp_path / "a.pcap", tmp_path / "a.html"
    capture.write_bytes(CLEAR.read_bytes())

    def gone(*given: Any, **more: Any) -> Packets:
        capture.unlink()
        return packets_of(*given, **more)

    monkeypatch.setattr("analyzer.pipeline.packet_rereading.packets_of", gone)
    result = run("report", capture, "-o", page)
    assert result.exit_code == 6
    assert (
        "frames, TCP payload and SMB messages are not in the page: the capture could not be read again" in result.stderr
    )
    assert layer_kinds(page)[0] == {"pdu", "stub", "buffer"}


@pytest.mark.parametrize("command", ["report", "show"])
def test_redacted_output_holds_no_packets(command: str, tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    more = ("-o", path) if command == "report" else ("--call", 5, "--packets")
    result = run(command, CLEAR, "--redact", *more)
    assert result.exit_code == 0
    if command == "report":
        assert layer_kinds(path) == ({"pdu", "stub", "buffer"}, {"packets hold the names that --redact replaces"})
    else:
        assert "packets hold the names that --redact replaces" in result.stdout
        assert "SMB2 header" not in result.stdout
