"""The commands there are, each in a module of its own that is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Annotated

import typer

# Name on the command line: module, and what it is called there. In this order `--help` lists them.
_COMMANDS = {
    "audit": ("audit", "audit"),
    "explain": ("audit", "explain"),
    "counters": ("counters", "counters"),
    "handles": ("handles", "handles"),
    "stats": ("stats", "stats"),
    "export-metadata": ("metadata", "export_metadata"),
    "timeline": ("timeline", "timeline"),
    "samples": ("samples", "samples"),
    "sessions": ("sessions", "sessions"),
    "hosts": ("sessions", "hosts"),
    "show": ("show", "show"),
    "crosscheck": ("crosscheck", "crosscheck"),
    "decode": ("decode", "decode"),
}
_GROUPS = {"keys": ("keys", "app")}


def command_line(words: Iterable[str] = ()) -> typer.Typer:
    """The command line as far as these words need it: to read the options of all commands takes longer than most captures."""
    app = typer.Typer(
        name="pcq-analyzer",
        help="Reads Windows performance-counter traffic ([MS-PCQ] and HKEY_PERFORMANCE_DATA) out of packet captures.",
        epilog="Exit codes: 0 done, 1 unusable input, 2 wrong usage, 3 readable but nothing of ours in it, 4 --strict and "
        "something could not be read, 5 crosscheck found a difference, 10 audit found warnings only, 11 audit found failures.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    known = _COMMANDS | _GROUPS
    for name in [word for word in words if word in known] or known:
        module, attribute = known[name]
        found = getattr(import_module(f"analyzer.cli.{module}"), attribute)
        if name in _GROUPS:
            app.add_typer(found, name=name)
        else:
            app.command(name)(found)
    return app


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        typer.echo(f"pcq-analyzer {version('pcq-analyzer')}")
        raise typer.Exit


def _root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass
