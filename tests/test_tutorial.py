"""The tutorial, typed line by line: every line that it shows is printed, in its order."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.commands.test_all_commands import run

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


def steps() -> list[tuple[list[str], list[str]]]:
    """Each command line of the tutorial in words, and the lines that are shown below it."""
    found: list[tuple[list[str], list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((shlex.split(line[2:]), []))
            else:
                found[-1][1].append(line)
    return found


def test_the_tutorial_prints_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment: dict[str, str] = {}
    asked = set()
    monkeypatch.chdir(tmp_path)
    for (program, *words), shown in steps():
        if program == "cp":
            shutil.copy(ROOT / words[0], tmp_path / words[1])
        elif program == "export":
            environment |= dict([words[0].split("=")])
        else:
            assert program == "pcq"
            asked.add(words[0])
            # Files without a command are triaged (tests/commands/test_triage.py).
            typed = ["triage", *words] if words[0] == "incident.pcap" else words
            result = run(*typed, env=environment)
            assert result.exception is None or isinstance(result.exception, SystemExit), words
            assert left_out(result.output.rstrip().splitlines(), shown) == [], words
    assert len(asked) == 11


def left_out(printed: list[str], shown: list[str]) -> list[str]:
    """The lines shown that were not printed where they stand; `...` stands for any number of lines."""
    at, may_skip = 0, False
    for line in shown:
        if line == "...":
            may_skip = True
            continue
        places = [number for number, one in enumerate(printed[at:], at) if one.rstrip() == line]
        if not places or (not may_skip and places[0] != at):
            return [line]
        at, may_skip = places[0] + 1, False
    return [] if may_skip or at == len(printed) else printed[at:]
