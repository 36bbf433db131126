"""pcq-analyzer(1), the manual page, made of the command line itself (groff's man macros, man(7))."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import typer.main

from analyzer.commands.about import ABOUT
from analyzer.commands.commands import DESCRIPTION, EXIT_CODES, command_line

_FILES = (
    ("PCQ_SECRETS", "The path of a secrets file, read where --secrets is not given."),
    ("PCQ_PASSWORD", "A password, as for --password."),
    ("PCQ_DEBUG", "Where it is set, failures of the program and unusable input show their traceback."),
    ("TMPDIR", "Where what is too large for memory is kept while a command runs, in a file without a name."),
)


def manual_page() -> str:
    """The page as roff."""
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
    """Text as roff takes it: its own escapes, and no line that begins as a request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("×", "\\(mu")
    return re.sub(r"^(?=[.'])", r"\\&", escaped)
