"""What fuzzing found stays mended, and some inputs for each target are tried each time.

`python -m fuzz.run` runs more of them; docs/reliability.md says how many were.
"""

import pytest

from analyzer.commands.shared.help import ABOUT
from fuzz.hostile import with_table
from fuzz.run import CORPUS, REGRESSIONS, execute, generated
from fuzz.shapes import SHAPES
from fuzz.targets import COMMANDS, TARGETS

# Inputs for each target; whole captures are dear.
INPUTS = 75
FEWER = {
    "analysis": 12,
    "browse": 2,
    "collect": 3,
    "commands": len(COMMANDS),
    "case": 12,
    "counter-path": 40,
    "handshake": 40,
    "rpc": 60,
    "smb": 60,
    "wireshark": 2,  # of 60 captures each
}
NAMES = [pytest.param(name, marks=pytest.mark.needs("tshark")) if name == "wireshark" else name for name in TARGETS]


@pytest.mark.parametrize("name", NAMES)
def test_generated_inputs_give_results_or_errors_of_ours(name: str) -> None:
    inputs = generated(name, 0)
    for number in range(FEWER.get(name, INPUTS)):
        data = next(inputs)
        if name == "commands":
            data = bytes([number]) + data[1:]
        execute(name, data)


@pytest.mark.parametrize("name", TARGETS)
def test_what_was_found_once_is_not_found_again(name: str) -> None:
    for folder in (CORPUS, REGRESSIONS):
        for path in sorted((folder / name).glob("*")):
            execute(name, path.read_bytes())


def test_the_corpus_and_the_regressions_belong_to_targets() -> None:
    found = {path.name for folder in (CORPUS, REGRESSIONS) if folder.exists() for path in folder.iterdir()}
    assert found <= set(TARGETS)


def test_the_same_seed_gives_the_same_inputs() -> None:
    for name in ("stub", "commands"):
        first, second = generated(name, 3), generated(name, 3)
        assert [next(first) for _ in range(20)] == [next(second) for _ in range(20)]


# What reads no capture, or has an analysis of tshark's beside it.
NO_CAPTURES = {"decode", "crosscheck", "verify", "docs", "calibrate", "probe"}


def test_the_costs_of_every_command_are_measured() -> None:
    """`make hostile` has a row for each command that reads captures; SECURITY.md promises nothing of others."""
    measured = {each.command[0] for each in SHAPES.values()}
    assert measured == set(ABOUT) - NO_CAPTURES


def test_rows_that_are_measured_again_take_the_place_of_the_old() -> None:
    page = "before\n<!-- shapes -->\nwords\n\n| shape | s |\n| --- | --- |\n| a | 1 |\n| b | 1 |\n<!-- end of shapes -->\nafter"
    found = with_table(page, ["| shape | s |", "| --- | --- |", "| a | 2 |", "| a-save | 3 |"], 64)
    rows = "| shape | s |\n| --- | --- |\n| a | 2 |\n| a-save | 3 |\n| b | 1 |\n"
    assert found.startswith(
        "before\n<!-- shapes -->\nMeasured by `make hostile HOSTILE_ARGS='--unit 64 --write'`.\n\n| shape"
    )
    assert found.endswith(f"{rows}<!-- end of shapes -->\nafter")
