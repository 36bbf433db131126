"""What a newcomer meets: help in groups with examples that work, the pages without a network, and the manual page."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from analyzer.commands.docs import MADE, manual_page, pages
from analyzer.commands.shared.all_commands import command_line
from analyzer.commands.shared.help import ABOUT
from analyzer.core.errors import InputError
from tests.commands.test_all_commands import run

ROOT = Path(__file__).resolve().parents[2]
COMMAND: Any = typer.main.get_command(command_line())


# Lines of a screen on which the help of a command is read at once.
SCREEN = 34


def test_every_command_has_a_group_and_examples_and_one_screen_lists_them() -> None:
    shown = run("--help", env={"COLUMNS": "80"}).stdout.splitlines()
    group = ""
    for name, about in ABOUT.items():
        heading = about.group if about.group != group else ""
        assert f"{heading:13}  {name:15}  {about.line}" in shown
        assert about.examples
        group = about.group
    assert max(map(len, shown)) <= 80
    assert len(shown) <= SCREEN


@pytest.mark.parametrize("words", [words for about in ABOUT.values() for _, words in about.examples])
def test_every_example_is_a_command_line_that_is_understood(words: str) -> None:
    name, *arguments = shlex.split(words)
    command = COMMAND.commands[name]
    if hasattr(command, "commands"):
        command, arguments = command.commands[arguments[0]], arguments[1:]
    context = command.make_context(name, arguments)
    assert context.params


def test_help_shows_the_examples_of_a_command() -> None:
    brief, whole = (" ".join(run("timeline", word).stdout.split()) for word in ("--help", "--help-all"))
    assert "Examples: pcq timeline x.pcapng --secrets keys.toml" in brief
    assert "Every call, encrypted ones opened: pcq timeline x.pcapng --secrets keys.toml" in whole


def test_help_explains_the_options_of_the_task_and_names_the_others() -> None:
    brief, whole = (run("timeline", word).stdout for word in ("--help", "--help-all"))
    assert "--max-ratio" in brief
    assert "Bytes each compressed byte may become" not in brief
    assert "Bytes each compressed byte may become" in whole
    assert "Only the last N calls." in brief
    assert "Only the last N calls." in whole


def commands(command: Any = COMMAND, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its name."""
    if not hasattr(command, "commands"):
        yield name.strip(), command
        return
    for word, one in command.commands.items():
        yield from commands(one, f"{name} {word}")


@pytest.mark.parametrize(("name", "command"), list(commands()), ids=lambda one: one if isinstance(one, str) else "")
def test_help_names_every_option_on_one_screen_of_80_columns(name: str, command: Any) -> None:
    """Examples are to be copied, and stand in one line whatever its length."""
    shown = run(*name.split(), "--help", env={"COLUMNS": "80"}).stdout
    before, _, _ = shown.partition("Examples:")
    assert max(map(len, before.splitlines())) <= 80
    assert len(shown.splitlines()) <= SCREEN
    for item in command.params:
        if item.param_type_name == "option":
            assert any(name in before for name in item.opts), item.opts


@pytest.mark.parametrize(("name", "command"), list(commands()), ids=lambda one: one if isinstance(one, str) else "")
def test_the_first_sentence_of_an_option_says_in_one_line_what_it_does(name: str, command: Any) -> None:
    for item in command.params:
        assert 0 < len((item.help or "").partition(". ")[0]) <= 50, item.opts


def test_the_options_that_help_explains_are_those_of_the_command_and_few() -> None:
    for name, about in ABOUT.items():
        known = {word for item in COMMAND.commands[name].params for word in item.opts}
        assert set(about.first) <= known
        assert len(about.first) <= 10


# Options of other commands and programs, of which the text says whose they are.
OF_OTHERS = {
    ("verify", "--hash"),
    ("docs", "-l"),
    ("keys nt-hash", "--nt-hash"),
    *(("report", word) for word in ("-U", "-w")),
}


@pytest.mark.parametrize(("name", "command"), list(commands()), ids=lambda one: one if isinstance(one, str) else "")
def test_help_names_options_that_the_command_has(name: str, command: Any) -> None:
    known = {word for item in command.params for word in (*item.opts, *item.secondary_opts)} | {"--help"}
    texts = [command.help or "", *(getattr(item, "help", None) or "" for item in command.params)]
    named = {word for text in texts for word in re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", text)}
    assert {(name, word) for word in named - known} <= OF_OTHERS


def test_pages_are_listed_and_shown(tmp_path: Path) -> None:
    listed = run("docs").stdout
    for name in ("output", "filters", "architecture", "readme", "changelog", "man"):
        assert re.search(rf"^{name} ", listed, re.MULTILINE)
    titles = dict(line.split(maxsplit=1) for line in listed.splitlines())
    assert list(titles) == [*pages(), *MADE, "CODE"]
    assert (titles["output"], titles["readme"]) == ("Output for programs, schema 2", "pcq-analyzer")
    assert titles["man"] == "pcq-analyzer(1), for man -l -"
    assert run("docs", "output").stdout == (ROOT / "docs" / "output.md").read_text(encoding="utf-8")
    assert run("docs", "filters", "-o", tmp_path / "x").exit_code == 0
    assert (tmp_path / "x").read_bytes() == pages()["filters"].read_bytes()
    result = run("docs", "nothing")
    assert isinstance(result.exception, InputError)
    assert "nothing: there is no page, rule or attack of this name" in str(result.exception)
    assert "Looks for:" in run("docs", "PCQ101").stdout
    assert "process-discovery" in run("docs", "ATK01").stdout


def test_the_manual_page_names_every_command_and_option() -> None:
    page = manual_page()
    assert run("docs", "man").stdout == page
    for name, command in COMMAND.commands.items():
        assert f'.SS "{name}'.replace("-", "\\-") in page
        for item in getattr(command, "params", ()):
            for word in item.opts if item.param_type_name == "option" and item.name != "help" else ():
                assert word.replace("-", "\\-") in page


def test_the_manual_page_that_is_installed_is_of_this_command_line() -> None:
    """`make man` writes it anew."""
    assert (ROOT / "docs" / "pcq-analyzer.1").read_text(encoding="utf-8") == manual_page()


@pytest.mark.needs("groff")
def test_groff_finds_nothing_wrong_with_it(tmp_path: Path) -> None:
    (tmp_path / "page.1").write_text(manual_page(), encoding="utf-8")
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", tmp_path / "page.1"], capture_output=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"EXIT STATUS" in re.sub(rb".\x08", b"", done.stdout)
