"""What `--help` prints: plain text of 80 columns, the options of the task first, the others by name; `--help-all` explains all."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from analyzer.core.output.gate import put

# Groups of options that most calls of a command do without: `--help` lists their names.
KEYS, READING, WRITING = "Keys", "What is read", "How it is written"
# Options that pick what is shown.
SHOWN = "What is shown"
_BY_NAME = (KEYS, READING, WRITING)
_ALL = "help_all"
# Names of options that are longer stand in a line of their own.
_WIDEST = 24
# Names of options are not broken at their hyphens.
_UNBROKEN: dict[str, Any] = {"break_on_hyphens": False, "initial_indent": "  ", "subsequent_indent": "    "}


def _explain_all(context: Any, _: Any, wanted: bool) -> None:
    if wanted:
        context.meta[_ALL] = True
        put(*context.get_help().splitlines())
        raise typer.Exit


class Command(TyperCommand):
    """A command whose options are shown in groups."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, `--help`, and `--help-all` where that shows more."""
        params = super().get_params(ctx)
        if any(_group(item) in _BY_NAME for item in params):
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

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Sections of options, those of no group first."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], SHOWN: []}
        for item in self.get_params(ctx):
            if (record := item.get_help_record(ctx)) is not None:
                groups.setdefault(_group(item), []).append(record)
        explained = ctx.meta.get(_ALL, False)
        for name, records in groups.items():
            if records and (explained or name not in _BY_NAME):
                with formatter.section(name):
                    formatter.write_dl(records, col_max=_WIDEST)
        named = [name for name in _BY_NAME if groups.get(name)]
        if named and not explained:
            with formatter.section("Other options, which --help-all explains"):
                for name in named:
                    text = f"{name}: {_names(groups[name])}"
                    formatter.write(fill(text, formatter.width, **_UNBROKEN) + "\n")

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Examples, a line each and none of them wrapped: they are to be copied."""
        _write_examples(self.epilog, formatter)


class Group(TyperGroup):
    """Commands by what they are for."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Sections of commands."""
        sections: dict[str, list[tuple[str, str]]] = {}
        names = self.list_commands(ctx)
        widest = max(map(len, names))
        for name in names:
            one: Any = self.get_command(ctx, name)
            panel = one.rich_help_panel
            section = panel if isinstance(panel, str) else "Commands"
            sections.setdefault(section, []).append((name.ljust(widest), one.get_short_help_str(200)))
        for section, records in sections.items():
            with formatter.section(section):
                formatter.write_dl(records)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The commands, then the few options."""
        self.format_commands(ctx, formatter)
        records = [item.get_help_record(ctx) for item in self.get_params(ctx)]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record is not None])


class SubGroup(Group):
    """Commands below a command, with examples."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Examples, as of a command."""
        _write_examples(self.epilog, formatter)


def _group(item: Any) -> str:
    """The section that an argument or option is shown in."""
    if item.param_type_name == "argument":
        return "Arguments"
    panel = getattr(item, "rich_help_panel", None)
    return panel if isinstance(panel, str) else "Options"


def _names(records: list[tuple[str, str]]) -> str:
    """The long names of options, of what `--help` says of them."""
    return ", ".join(names.split(", ")[-1].split(" ")[0] for names, _ in records)


def _write_examples(epilog: str | None, formatter: Any) -> None:
    if epilog:
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line}\n" for line in epilog.splitlines()))
