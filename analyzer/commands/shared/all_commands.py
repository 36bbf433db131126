"""Finds and runs all commands; the module of a command is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from analyzer.commands.shared.exit_codes import EXIT_DONE, EXIT_UNUSABLE, EXIT_USAGE
from analyzer.commands.shared.help import ABOUT, Command, Group, examples_of
from analyzer.core.output.gate import put, say

# Commands whose module has another name.
_MODULES = {"sessions": "sessions_and_hosts", "hosts": "sessions_and_hosts", "export-metadata": "metadata"}
DESCRIPTION = "Reads Windows performance-counter traffic ([MS-PCQ] and HKEY_PERFORMANCE_DATA) out of packet captures."
EXIT_CODES = (
    "0 done, 1 unusable input, 2 wrong usage, 3 readable but nothing of ours in it, 4 --strict and something could not be read, "
    "5 crosscheck found a difference, 6 some of several files could not be read, 7 verify: the result is of other captures, "
    "10 audit or triage found warnings only or diff a difference, 11 failures, 12 audit judged or diff compared less than asked, "
    "70 the command itself failed, "
    "130 Ctrl-C."
)


def command_line(words: Iterable[str] = ()) -> typer.Typer:
    """Makes the command line with the commands that these words name, else with all: to read the options of all takes long."""
    words = list(words)
    named = [word for word in words if word in ABOUT]
    app = typer.Typer(
        name="pcq-analyzer",
        help=DESCRIPTION,
        epilog="pcq COMMAND --help: how a command is used. pcq docs man: all options, exit codes. "
        "Also --version, --install-completion, --show-completion.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        cls=Group,
        add_completion=not named,  # its options stand before a command
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for name in named or ([] if words == ["--version"] else ABOUT):
        module = import_module(f"analyzer.commands.{_MODULES.get(name, name)}")
        found = getattr(module, name.replace("-", "_"))
        about = ABOUT[name]
        said: dict[str, Any] = {"short_help": about.line, "rich_help_panel": about.group, "epilog": examples_of(name)}
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name, **said)
        else:
            app.command(name, cls=Command, **said)(found)
    return app


def run(arguments: Sequence[str]) -> int:
    """Runs the command that the arguments name, and returns its exit code. Files without a command are triaged. Wrong usage is a
    sentence on standard error."""
    if arguments and _is_file(arguments[0]):
        arguments = ["triage", *arguments]
    app = command_line(arguments[:1])
    try:
        return app(list(arguments), standalone_mode=False) or EXIT_DONE
    except typer.Abort:
        say("Aborted.")
        return EXIT_UNUSABLE
    except Exception as error:
        # Wrong usage: typer has had several classes for it, all with `format_message`.
        if not hasattr(error, "format_message"):
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            put(error.format_message())
        else:
            context = getattr(error, "ctx", None)
            say(f"pcq-analyzer: {error.format_message()}")
            say(f"  {context.command_path if context is not None else 'pcq-analyzer'} --help shows how it is used.")
        return int(getattr(error, "exit_code", EXIT_USAGE))


def _is_file(word: str) -> bool:
    """Tells whether the first word of a command line names files, not a command."""
    if word == "-r":  # as tshark has it
        return True
    is_one = Path(word).exists() or any(sign in word for sign in "*?[")
    return is_one and word not in ABOUT and not word.startswith("-")


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        put(f"pcq-analyzer {version('pcq-analyzer')}")
        raise typer.Exit


# A name: typer reads the annotations of a function four times.
_ShowVersion = Annotated[
    bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
]


def _root(show_version: _ShowVersion = False) -> None:
    pass
