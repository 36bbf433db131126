"""Documents as contracts: what they state of commands, options, filters, counter types and numbers is what the program does.

docs/output.md is held by tests/screens/formats and tests/records_document.py, docs/rules.md by tests/rules_document.py, the
sample of the README by tests/readme.py, the page of limits by tests/core/test_limits.py.
"""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from analyzer.commands.shared import exit_codes
from analyzer.commands.shared.all_commands import EXIT_CODES, command_line
from analyzer.questions.audit.rule_registry import catalogue, every_rule
from analyzer.questions.filters import binder, grammar
from analyzer.questions.filters.filter import CallFilter
from analyzer.questions.series.formulas import Why
from analyzer.results.records.finding import CoverageVerdict
from tests.commands.test_all_commands import PCQ, SECRETS, records, run

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def section(name: str, title: str) -> str:
    """What stands below a heading."""
    return text_of(name).partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(text: str) -> Iterator[list[str]]:
    """The cells of the tables in a text, without heads."""
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("|---"):
            yield [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


# ------------------------------------------------------------------------------------------------ command lines


@cache
def click_command() -> Any:
    return typer.main.get_command(command_line())


def commands_of(path: Path) -> list[list[str]]:
    """The command lines in the shell blocks of a document, in words, without the name of the program."""
    found = []
    for block in re.findall(r"```(?:sh|console)\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            words: list[str] = []
            for word in [*lexer, ";"]:
                if set(word) <= set("();<>|&"):
                    if words[:1] in (["pcq-analyzer"], ["pcq"]):
                        found.append(words[1:])
                    words = ["a file"] if ">" in word else []
                elif word != "$":
                    words.append(word)
    return found


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_line_is_one_that_the_program_takes(path: Path) -> None:
    """Options, their values, filters and arguments; nothing is read."""
    for line in commands_of(path):
        command, words = click_command(), line
        if words[0].startswith("--") or "..." in words:
            continue
        if words[0].endswith((".pcap", ".pcapng", ".etl")):
            # Files without a command are triaged.
            words = ["triage", *words]
        while hasattr(command, "commands"):
            assert words[0] in command.commands, f"{path.name}: {line}"
            command, words = command.commands[words[0]], words[1:]
        with command.make_context("x", words):
            pass


def test_documents_show_every_command() -> None:
    shown = {line[0] for path in DOCUMENTS for line in commands_of(path)}
    # `explain` and `docs` are named in sentences.
    everything = "".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
    names = set(click_command().commands)
    assert names <= shown | {name for name in names if f"`{name}" in everything or f"pcq-analyzer {name}" in everything}


# ------------------------------------------------------------------------------------------------ filters


def test_the_document_of_filters_lists_every_operator_and_no_other() -> None:
    written = {word for cells in rows(section("docs/filters.md", "Expressions")) for word in quoted(cells[0])}
    operators = {word.split()[1] if " " in word and word.split()[0] in ("status", "not") else word for word in written}
    assert set(grammar._OPERATORS) - {"any_eq", "any_ne", "all_eq", "all_ne", "~="} <= operators
    words = {"any", "all", "not", "!", "and", "&&", "xor", "^^", "or", "||"}
    assert words <= operators
    functions = {word.partition("(")[0] for word in written if re.fullmatch(r"\w+\(f\)", word)}
    assert functions == set(grammar._FUNCTIONS.split("|"))
    for word in written:
        if re.match(r"[a-z_.0-9]+ ", word):
            CallFilter(
                word.replace("in {1, 3..5, 0x10}", "opnum in {1, 3..5, 0x10}") if word.startswith("in ") else word
            )


def test_the_bounds_of_filters_are_those_of_the_document() -> None:
    stated = " ".join(section("docs/filters.md", "Limits").split())
    found = re.search(r"A pattern may have ([\d,]+) characters, a filter ([\d,]+) and (\d+) levels", stated)
    numbers = [int(number.replace(",", "")) for number in found.groups()]
    assert numbers == [binder.MAX_PATTERN, grammar.MAX_LENGTH, grammar.MAX_DEPTH]


def test_the_filters_of_the_documents_are_run() -> None:
    texts = text_of("docs/filters.md") + text_of("README.md")
    shown = re.findall(r"^pcq-analyzer (\w+) \S+ -Y '([^']+)'", texts, re.MULTILINE)
    passed = []
    for command, text in shown:
        summary = records(run(command, PCQ, "--secrets", SECRETS, "-Y", text, "--format", "jsonl").stdout)[-1]
        passed.append(summary["record"] == "summary" or summary["record"] == "sample")
    assert passed == [True] * len(shown)
    assert len(shown) >= 6


def test_the_options_that_select_are_those_of_the_document() -> None:
    stated = section("docs/filters.md", "What else picks calls")
    listed = {word.split()[0] for cells in rows(stated) for word in quoted(cells[0])}
    commands = set(quoted(stated.partition("These options are the same on every command")[2].partition(".")[0]))
    here: dict[str, set[str]] = {}
    for name, command in click_command().commands.items():
        options = {option for parameter in command.params for option in parameter.opts}
        if "--follow-handle" in options:
            here[name] = options
    assert set(here) == commands
    common = listed - {"--tail"}
    for name, options in here.items():
        assert common <= options, name
    assert {name for name, options in here.items() if "--tail" in options} == {"timeline", "export"}


# ---------------------------------------------------------------------------------------- counter types, exit codes, numbers


def test_the_document_of_counter_types_lists_every_reason_and_no_other() -> None:
    table = text_of("docs/counter-types.md").partition("| `why_null` |")[2].partition("\n\n")[0]
    listed = {word for cells in rows(table) for word in quoted(cells[0])}
    assert listed == {str(why) for why in Why}


def test_exit_codes_are_the_same_everywhere() -> None:
    codes = {value for name, value in vars(exit_codes).items() if name.startswith("EXIT_")} | {10, 11, 12}
    table = rows(section("docs/output.md", "Exit codes"))
    documented = {int(number) for cells in table for number in re.findall(r"\d+", cells[0])}
    assert documented == codes | {130, 143, 129}
    stated = {int(number) for number in re.findall(r"(?:^|, )(\d+) ", EXIT_CODES)}
    assert stated == codes | {130}


def test_numbers_of_requirements_and_rules_are_those_of_the_catalogue() -> None:
    found = re.search(
        r"each of the (\d+) requirements.*No\s+traffic\s+can\s+show\s+(\d+)\s+of", text_of("README.md"), re.DOTALL
    )
    requirements = catalogue()
    untestable = run("audit", PCQ, "--format", "jsonl").stdout.count('"verdict":"untestable"')
    assert (int(found[2]), int(found[1])) == (untestable, len(requirements))
    for name in ("docs/rules.md", "docs/ci.md", "docs/probe.md"):
        for number in re.findall(r"\b(\d+) rules\b", text_of(name)):
            assert int(number) == len(every_rule()), name
        for number in re.findall(r"\b(\d{3}) requirements\b", text_of(name)):
            assert int(number) == len(requirements), name


def test_verdicts_are_those_of_the_document() -> None:
    from typing import get_args

    assert {f"`{verdict}`" for verdict in get_args(CoverageVerdict)} <= set(
        re.findall(r"`[a-z-]+`", text_of("docs/output.md"))
    )
