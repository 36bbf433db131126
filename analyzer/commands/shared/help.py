"""Prints `--help`: one screen of 80 columns with the options of the task, the others by name; `--help-all` explains all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import wrap
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from analyzer.commands.shared.about import ABOUT
from analyzer.core.output.gate import put

# Groups of options that several commands share.
SHOWN, KEYS, READING, WRITING = "Selection", "Keys", "Reading", "Output"
_TASK, _MORE = "Options", "Also"
_ALL = "help_all"
# Longer names of options get a line of their own.
_WIDEST = 24
# Placeholder for the value of an option without a metavar, by type.
_VALUES = {"int": "N", "int range": "N", "float range": "N", "path": "FILE", "str": "TEXT", "choice": "NAME"}


def _explain_all(context: Any, _: Any, wanted: bool) -> None:
    if wanted:
        context.meta[_ALL] = True
        put(*context.get_help().splitlines())
        raise typer.Exit


class Command(TyperCommand):
    """A command whose `--help` shows options in groups."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Returns the command's parameters with `--help`, and with `--help-all` if that shows more."""
        params = super().get_params(ctx)
        if len([item for item in params if item.param_type_name == "option"]) > 1:
            every = ["--help-all"]
            params.append(
                TyperOption(
                    param_decls=every,
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_explain_all,
                    help="Show every option, and exit.",
                )
            )
        return params

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Writes the first paragraph of a command's help; with `--help-all` all paragraphs."""
        text = (self.help or "").strip()
        paragraphs = text.split("\n\n") if ctx.meta.get(_ALL) else [text.partition("\n\n")[0]]
        for paragraph in paragraphs:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(paragraph)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the task's options into the help, one a line, and the names of the others; with `--help-all` every option and
        default."""
        groups: dict[str, list[Any]] = {_TASK: [], _MORE: [], SHOWN: []}
        first = _first_options(ctx)
        for item in self.get_params(ctx):
            if not getattr(item, "hidden", False):
                groups.setdefault(_group(item, first), []).append(item)
        groups[_TASK].sort(key=lambda item: (item.param_type_name != "argument", _place(item, first)))
        if ctx.meta.get(_ALL):
            for name, items in groups.items():
                if items:
                    with formatter.section(name):
                        formatter.write_dl([_record(item, ctx) for item in items], col_max=_WIDEST)
            return
        with formatter.section(_TASK):
            shown = [item for item in groups.pop(_TASK) if item.name not in ("help", _ALL)]
            formatter.write_dl([_brief(item) for item in shown], col_max=_WIDEST)
        if others := {name: items for name, items in groups.items() if items}:
            with formatter.section("More options (--help-all explains them)"):
                for name, items in others.items():
                    formatter.write("".join(f"  {line}\n" for line in _named(name, items, formatter.width - 2)))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Writes a command's examples into the help, one a line and not wrapped, so that they can be copied."""
        _write_examples(self.epilog, formatter, explained=ctx.meta.get(_ALL, False))


class Group(TyperGroup):
    """The command line, whose help shows commands in groups by their purpose."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes a help line for each command, with the name of its group beside the first one."""
        places = {name: place for place, name in enumerate(ABOUT)}
        names = sorted(self.list_commands(ctx), key=lambda name: places.get(name, len(places)))
        widest = max(map(len, names))
        found: list[tuple[str, Any]] = [(name, self.get_command(ctx, name)) for name in names]
        panels = [one.rich_help_panel if isinstance(one.rich_help_panel, str) else "Commands" for _, one in found]
        margin = max(map(len, panels))
        before = None
        formatter.write("\n")
        for panel, (name, one) in zip(panels, found, strict=True):
            heading = panel if panel != before else ""
            formatter.write(f"{heading:{margin}}  {name:{widest}}  {one.get_short_help_str(200)}\n")
            before = panel

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the commands into the help of the command line, in place of its options."""
        self.format_commands(ctx, formatter)


class SubGroup(Group):
    """A command with commands below it, such as `keys`, whose help has examples."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Writes the examples of a command with commands below it into its help."""
        _write_examples(self.epilog, formatter, explained=False)


def _first_options(context: Any) -> tuple[str, ...]:
    """Returns the options that `--help` explains; empty if these are the command's own."""
    about = ABOUT.get(context.info_name)
    return about.first if about is not None else ()


def _place(item: Any, first: tuple[str, ...]) -> int:
    """Returns the position of an option among the first ones in the help."""
    return min((first.index(name) for name in item.opts if name in first), default=len(first))


def _group(item: Any, first: tuple[str, ...]) -> str:
    """Returns the help section that shows an argument or option."""
    if item.param_type_name == "argument" or item.name in ("help", _ALL):
        return _TASK
    panel = getattr(item, "rich_help_panel", None)
    own = panel if isinstance(panel, str) else _TASK
    if not first:
        return own
    return _TASK if _place(item, first) < len(first) else _MORE if own == _TASK else own


def _name(item: Any) -> str:
    """Returns an argument or option as the user types it, for the help."""
    if item.param_type_name == "argument":
        return str(item.metavar or item.name.upper())
    names = ", ".join(sorted(item.opts, key=len))
    if item.secondary_opts:
        names = f"{names}/{', '.join(item.secondary_opts)}"
    return names if item.is_flag or item.count else f"{names} {item.metavar or _VALUES.get(item.type.name, 'VALUE')}"


def _brief(item: Any) -> tuple[str, str]:
    """Returns the short help of an option: what is typed, and the first sentence of its help."""
    return _name(item), re.split(r"(?<=[.]) ", item.help or "", maxsplit=1)[0]


def _record(item: Any, context: Any) -> tuple[str, str]:
    """Returns the full help of an option: what is typed, and its whole help with the default."""
    record = item.get_help_record(context)
    return _name(item), record[1] if record is not None else item.help or ""


def _named(group: str, items: list[Any], width: int) -> Iterator[str]:
    """Yields help lines with the names of options, after the name of their group."""
    lines = wrap(" ".join(max(item.opts, key=len) for item in items), width - 11, break_on_hyphens=False)
    for number, line in enumerate(lines):
        yield f"{group if number == 0 else '':9}  {line}"


def _write_examples(epilog: str | None, formatter: Any, *, explained: bool) -> None:
    """Writes examples of a command into the help, as they are typed; `explained` ones below their purpose."""
    if epilog:
        lines = epilog.splitlines()
        with formatter.section("Examples"):
            formatter.write(
                "".join(
                    f"  {line}\n" if explained else f"  {line.strip()}\n"
                    for line in lines
                    if explained or line.startswith(" ")
                )
            )
