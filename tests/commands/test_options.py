"""Every option of every command: its names, what it takes, its default and its bounds, beside what they were.

`options.txt` has each command with the names of its options in order, then each option with the commands that have it so.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any

import typer.main

from analyzer.commands.shared.all_commands import command_line
from tests.written import is_as_written

# Functions that take the options: export_metadata, keys_nt_hash, wireshark, keys_keytab; and those that all commands share:
# capture_reading, result_writing, call_selection, SELECTIONS.
ROOT: Any = typer.main.get_command(command_line())


def commands() -> Iterator[tuple[str, Any]]:
    """Each command by the words that call it."""
    for name, one in ROOT.commands.items():
        yield name, one
        for inner, found in getattr(one, "commands", {}).items():
            yield f"{name} {inner}", found


def usage(command: Any) -> str:
    return f"{command.help} (without arguments: {'help' if command.no_args_is_help else 'it runs'})"


def options(command: Any) -> Iterator[tuple[str, str]]:
    """Each option, with what is to be known of it."""
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
        lines = [f"{names}: {kind}{bounds}, default {default!s}{''.join(f', {trait}' for trait in traits)}"]
        if not getattr(item, "show_default", None):
            lines.append("its default is not shown")
        yield item.opts[0], "\n    ".join([*lines, *filter(None, [item.help])])


def filled(words: Iterable[str]) -> str:
    return "".join(
        f"\n{line}"
        for line in wrap(" ".join(words), 120, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
    )


def test_options_are_what_they_were() -> None:
    known = {name: dict(options(command)) for name, command in commands()}
    lines = [usage(ROOT), *(text for _, text in options(ROOT)), ROOT.epilog]
    lines += [f"{name}: {one.rich_help_panel}" for name, one in ROOT.commands.items()]
    lines += [f"{name}: {usage(command)}{filled(known[name])}" for name, command in commands()]
    of_commands: dict[str, list[str]] = {}
    for name, given in known.items():
        for text in given.values():
            of_commands.setdefault(text, []).append(name.replace(" ", "-"))
    lines += [f"{text}{filled(['of', *names])}" for text, names in of_commands.items()]
    is_as_written(Path(__file__).with_name("options.txt"), "".join(f"{line}\n" for line in lines))
