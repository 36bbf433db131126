"""`pcq docs`: what the program says of itself without a network: pages, rules, attacks, limits, the manual page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.main

from analyzer.commands.shared.all_commands import DESCRIPTION, EXIT_CODES, command_line
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.completion import LIMITS, MADE, MANUAL, complete_page, pages
from analyzer.commands.shared.help import ABOUT
from analyzer.commands.shared.options import OutputFormat
from analyzer.commands.shared.result_writing import Writing
from analyzer.core.errors import InputError
from analyzer.core.output.gate import write_document

if TYPE_CHECKING:
    from analyzer.screens.views.view_type import View


_CODES = "CODE"


@command
def docs(
    writing: Writing,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME...]",
            autocompletion=complete_page,
            help="A page, `limits`, or codes of rules and attacks. None: list the pages. Codes are PCQ101, ATK01; names, layers, "
            "sections and requirements also name rules.",
        ),
    ] = None,
    output_format: OutputFormat = "text",
) -> None:
    """Read a page, a rule of the audit, an attack, or the limits of an analysis, without a network.

    `docs man | man -l -` shows the manual page.
    """
    known = pages()
    name = names[0] if names and len(names) == 1 else None
    if names and (name is None or name not in known) and name != MANUAL:
        writing.write(_view(names, known), output_format)
        return
    if output_format != "text":
        raise typer.BadParameter("pages are text; rules, attacks and limits have other forms", param_hint="--format")
    if name is None:
        titles = (
            {key: _title(path) for key, path in known.items()}
            | MADE
            | {_CODES: "A rule of the audit (PCQ101) or an attack (ATK01)"}
        )
        write_document("".join(f"{key:<15} {title}\n" for key, title in titles.items()).encode(), writing.destination)
    elif name == MANUAL:
        write_document(manual_page().encode(), writing.destination)
    else:
        writing.document(known[name].read_bytes())


def _view(names: Sequence[str], known: dict[str, Path]) -> View:
    """Returns the view of `docs` for these names: limits, attacks or audit rules."""
    from analyzer.questions.audit.rule_registry import every_rule, select_rules
    from analyzer.questions.observations.known_attacks import attacks_named
    from analyzer.screens.views.docs import AttackList, LimitList, RuleList

    if list(names) == [LIMITS]:
        return LimitList()
    if attacks := attacks_named(names):
        return AttackList(attacks)
    try:
        return RuleList(select_rules(every_rule(), names, ()), whole=True)
    except InputError:
        raise InputError(
            f"{', '.join(names)}: there is no page, rule or attack of this name",
            hint=f"`audit --list` shows the rules. Pages are {', '.join((*known, *MADE))}.",
        ) from None


def _title(path: Path) -> str:
    """Returns the first heading of a page, for the list that the `docs` command prints."""
    with path.open(encoding="utf-8") as file:
        return next((line.lstrip("# ").rstrip() for line in file if line.startswith("# ")), path.stem)


_FILES = (
    ("PCQ_SECRETS", "The path of a secrets file, read where --secrets is not given."),
    ("PCQ_PASSWORD", "A password, as for --password."),
    ("PCQ_DEBUG", "Where it is set, failures of the program and unusable input show their traceback."),
    ("TMPDIR", "Where what is too large for memory is kept while a command runs, in a file without a name."),
)


def manual_page() -> str:
    """What `docs man` prints: pcq-analyzer(1) in groff's man macros (man(7)), made of the command line itself."""
    root: Any = typer.main.get_command(command_line())
    lines = [
        f'.TH PCQ-ANALYZER 1 "" "pcq-analyzer {version("pcq-analyzer")}" "User Commands"',
        ".SH NAME",
        "pcq-analyzer, pcq \\- " + _roff(DESCRIPTION.rstrip(".")),
        ".SH SYNOPSIS",
        ".B pcq-analyzer",
        ".I COMMAND FILE... [OPTION...]",
        ".SH COMMANDS",
    ]
    for name, one in root.commands.items():
        lines += _command(name, one)
    lines += [".SH EXIT STATUS", _roff(EXIT_CODES), ".SH ENVIRONMENT"]
    for name, words in _FILES:
        lines += [".TP", f".B {_roff(name)}", _roff(words)]
    lines += [".SH SEE ALSO", ".BR tshark (1),", ".BR editcap (1).", "More is shown by", ".B pcq-analyzer docs."]
    return "\n".join(lines) + "\n"


def _command(name: str, one: Any) -> Iterator[str]:
    inner = getattr(one, "commands", None)
    arguments = " ".join(_metavar(item) for item in one.params if _is_argument(item))
    yield f'.SS "{_roff(f"{name} {arguments}".strip())}"'
    yield _roff(" ".join((one.help or "").split()))
    for item in one.params:
        if not _is_argument(item) and item.name not in ("help", "install_completion", "show_completion"):
            yield from _option(item)
    for what, words in ABOUT[name].examples if name in ABOUT else ():
        yield from (
            ".PP",
            f"{_roff(what[:1].upper() + what[1:])}:",
            ".PP",
            ".nf",
            f"    pcq-analyzer {_roff(words)}",
            ".fi",
        )
    for name_of_inner, found in (inner or {}).items():
        yield from _command(f"{name} {name_of_inner}", found)


def _is_argument(item: Any) -> bool:
    return bool(getattr(item, "param_type_name", "") == "argument")


def _metavar(item: Any) -> str:
    return str(getattr(item, "metavar", None) or item.name.upper())


def _option(item: Any) -> Iterator[str]:
    words = ", ".join((*item.opts, *getattr(item, "secondary_opts", ())))
    choices = getattr(item.type, "choices", None)
    value = (
        "" if getattr(item, "is_flag", False) else f" {item.metavar or '|'.join(map(str, choices or ())) or 'VALUE'}"
    )
    yield from (".TP", f"\\fB{_roff(words)}\\fR{_roff(value)}", _roff(" ".join((item.help or "").split())))


def _roff(text: str) -> str:
    """Text of the manual page that the `docs` command prints, as roff takes it: its own escapes, and no line that begins as a
    request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("×", "\\(mu")
    return re.sub(r"^(?=[.'])", r"\\&", escaped)
