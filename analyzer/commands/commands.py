"""The commands there are, each in a module of its own that is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated

import typer

from analyzer.commands.examples import EXAMPLES, examples_of
from analyzer.commands.exits import EXIT_DONE, EXIT_UNUSABLE, EXIT_USAGE
from analyzer.core.output.gate import put, say

# Name on the command line: module, and what it is called there. In this order `--help` lists them.
_COMMANDS = {
    "triage": ("triage", "triage"),
    "timeline": ("timeline", "timeline"),
    "show": ("show", "show"),
    "report": ("report", "report"),
    "browse": ("browse", "browse"),
    "sessions": ("sessions", "sessions"),
    "hosts": ("sessions", "hosts"),
    "handles": ("handles", "handles"),
    "stats": ("stats", "stats"),
    "counters": ("counters", "counters"),
    "samples": ("samples", "samples"),
    "export-metadata": ("metadata", "export_metadata"),
    "audit": ("audit", "audit"),
    "explain": ("audit", "explain"),
    "export": ("export", "export"),
    "save": ("save", "save"),
    "collect": ("collect", "collect"),
    "decode": ("decode", "decode"),
    "crosscheck": ("crosscheck", "crosscheck"),
    "verify": ("verify", "verify"),
    "docs": ("docs", "docs"),
    "calibrate": ("calibrate", "calibrate"),
    "probe": ("probe", "probe"),
    "limits": ("limits", "limits"),
}
DESCRIPTION = "Reads Windows performance-counter traffic ([MS-PCQ] and HKEY_PERFORMANCE_DATA) out of packet captures."
EXIT_CODES = (
    "0 done, 1 unusable input, 2 wrong usage, 3 readable but nothing of ours in it, 4 --strict and something could not be read, "
    "5 crosscheck found a difference, 6 some of several files could not be read, 7 verify: the result is of other captures, "
    "10 audit or triage found warnings only, 11 failures, 12 audit judged less than asked, 70 the command itself failed, "
    "130 Ctrl-C."
)
_GROUPS = {"keys": ("keys", "app")}


def command_line(words: Iterable[str] = ()) -> typer.Typer:
    """The command line as far as these words need it: to read the options of all commands takes longer than most captures."""
    app = typer.Typer(
        name="pcq-analyzer",
        help=DESCRIPTION,
        epilog=f"Exit codes: {EXIT_CODES}",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    known = _COMMANDS | _GROUPS
    words = list(words)
    for name in [word for word in words if word in known] or ([] if words == ["--version"] else known):
        module, attribute = known[name]
        found = getattr(import_module(f"analyzer.commands.{module}"), attribute)
        panel, epilog = EXAMPLES.get(name, (None, ()))[0], examples_of(name)
        if name in _GROUPS:
            app.add_typer(found, name=name, rich_help_panel=panel, epilog=epilog)
        else:
            app.command(name, rich_help_panel=panel, epilog=epilog)(found)
    return app


def run(arguments: Sequence[str]) -> int:
    """Runs the command that the arguments name; the exit code. Wrong usage is a sentence on standard error."""
    app = command_line(arguments[:1])
    try:
        return app(list(arguments), standalone_mode=False) or EXIT_DONE
    except typer.Abort:
        say("Aborted.")
        return EXIT_UNUSABLE
    except Exception as error:
        # What is wrong with the usage: typer has had several classes for it, all of which can say so.
        if not hasattr(error, "format_message"):
            raise
        if type(error).__name__ != "NoArgsIsHelpError":  # the help has been shown
            context = getattr(error, "ctx", None)
            say(f"pcq-analyzer: {error.format_message()}")
            say(f"  {context.command_path if context is not None else 'pcq-analyzer'} --help shows how it is used.")
        return int(getattr(error, "exit_code", EXIT_USAGE))


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        put(f"pcq-analyzer {version('pcq-analyzer')}")
        raise typer.Exit


def _root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass
