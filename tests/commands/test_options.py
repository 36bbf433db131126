"""Every option of every command: its names, what it takes, its default and its bounds, beside what they were."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from analyzer.commands.shared.all_commands import command_line
from tests.written import is_as_written

# Functions that take the options: export_metadata, nt_hash_of, wireshark, keytab_of; and those that all commands share: _reading,
# _writing, call_selection, SELECTIONS.
ROOT: Any = typer.main.get_command(command_line())
OPTIONS = Path(__file__).parent / "options"


def commands() -> Iterator[tuple[str, Any]]:
    """Each command by the words that call it."""
    for name, one in ROOT.commands.items():
        yield name, one
        for inner, found in getattr(one, "commands", {}).items():
            yield f"{name} {inner}", found


def described(command: Any) -> Iterator[str]:
    yield f"{command.help} (without arguments: {'help' if command.no_args_is_help else 'it runs'})"
    for item in command.params:
        if item.name in ("help", "install_completion", "show_completion"):
            continue
        names = ", ".join((*item.opts, *item.secondary_opts))
        kind = item.type.name
        if choices := getattr(item.type, "choices", None):
            kind = "|".join(str(getattr(one, "value", one)) for one in choices)
        bounds = "".join(
            f" {bound} {found}" for bound in ("min", "max") if (found := getattr(item.type, bound, None)) is not None
        )
        traits = [
            trait
            for trait in ("required", "multiple", "is_flag", "is_eager", "hidden", "count", "prompt", "envvar", "nargs")
            if (value := getattr(item, trait, None)) and (trait != "nargs" or value != 1)
        ]
        traits += [
            words
            for trait, words in (("callback", "looked at"), ("_custom_shell_complete", "completed"))
            if getattr(item, trait, None)
        ]
        default = item.default() if callable(item.default) else item.default
        yield f"{names}: {kind}{bounds}, default {default!s}{''.join(f', {trait}' for trait in traits)}"
        if not getattr(item, "show_default", None):
            yield "    its default is not shown"
        if item.help:
            yield f"    {item.help}"


@pytest.mark.parametrize(("name", "found"), list(commands()), ids=lambda one: one if isinstance(one, str) else "")
def test_options_are_what_they_were(name: str, found: Any) -> None:
    is_as_written(OPTIONS / f"{name.replace(' ', '-')}.txt", "".join(f"{line}\n" for line in described(found)))


def test_the_command_line_itself_is_what_it_was() -> None:
    lines = [*described(ROOT), ROOT.epilog, *(f"{name}: {one.rich_help_panel}" for name, one in ROOT.commands.items())]
    is_as_written(OPTIONS / "command-line.txt", "".join(f"{line}\n" for line in lines))
