"""Options and messages of commands, asked in this process: what they say beside their result, and how they end."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copy
from types import SimpleNamespace

import pytest

from analyzer.commands import selection_options
from tests.commands.test_commands import CLEAR, run


def test_a_keytab_is_written_with_a_warning_that_it_is_a_secret(tmp_path: Path) -> None:
    path = tmp_path / "x.keytab"
    result = run("keys", "keytab", "svc@LAB.TEST", "--password", "secret", "-o", path)
    assert result.exit_code == 0, result.output
    assert str(path) in " ".join(result.stderr.split())
    assert "warning" in result.stderr.lower()
    # RFC-less, but of every reader: format 5.2.
    assert path.read_bytes()[:2] == b"\5\2"


@pytest.mark.parametrize(("columns", "most"), [(200, 200), (120, 120), (20, None)])
def test_fields_are_listed_as_wide_as_the_terminal(
    columns: int, most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal that is too narrow for a column of meanings still gets 30 characters of each."""
    whole = run("timeline", "--list-fields").stdout.splitlines()
    monkeypatch.setattr(selection_options, "is_terminal", lambda: True)
    monkeypatch.setattr(selection_options, "get_terminal_size", lambda: SimpleNamespace(columns=columns))
    shown = run("timeline", "--list-fields").stdout.splitlines()[:-1]
    indent = next(line.index("number of the call") for line in whole if "number of the call" in line)
    # Words are parted where a line ends.
    assert "".join("".join(shown).split()) == "".join("".join(whole[:-1]).split())
    assert max(map(len, shown)) <= (most or indent + 30)
    assert max(map(len, shown)) > (most or indent + 30) - 15
    assert {line[:indent].strip() == "" for line in shown if line.startswith(" ")} <= {True}


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("-Y", "opnum == 999"),
        ("-Y", "opnum == 17"),
        ("--handle", "k1"),
        ("--handle", "k9"),
        ("--interface", "winreg"),
    ],
)
def test_a_selection_ends_alike_while_a_capture_is_read(options: tuple[str, ...]) -> None:
    codes = {run("timeline", CLEAR, *options, *more).exit_code for more in ((), ("--names-from", "now"))}
    assert len(codes) == 1


def test_the_files_of_a_pattern_are_stated_with_their_digests(tmp_path: Path) -> None:
    for name in ("a.pcap", "b.pcap"):
        copy(CLEAR, tmp_path / name)
    for given in (f"{tmp_path}/*.pcap", str(tmp_path / "a.pcap")):
        first = json.loads(run("timeline", given, "--hash", "--format", "jsonl").stdout.splitlines()[0])
        names = [Path(one["name"]).name for one in first["inputs"]]
        assert names == (["a.pcap", "b.pcap"] if "*" in given else ["a.pcap"])
        assert all(len(one["sha256"]) == 64 for one in first["inputs"])
