"""Prints the texts of help and the messages of the program as Markdown, for the prose linter: a paragraph for each.

Run from the root of the repository: `python -m tools.prose.help_texts > build/help.md`. A heading names the command or module.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Any

import typer.main

from analyzer.commands.shared.all_commands import command_line
from analyzer.commands.shared.help import ABOUT
from tools.prose.markdown import ROOT, once

# What says a message: classes of errors, and functions that print on standard error.
_SAYING = frozenset(("BadParameter", "DecodeError", "InputError", "Problem", "say"))


def main() -> None:
    """Prints every text of more than one word, below the command or module that has it first."""
    sections = (*_help_texts(), *_messages())
    places = ((f"# {heading}", [text for text in texts if " " in text.strip()]) for heading, texts in sections)
    sys.stdout.writelines(once(places))


def _help_texts() -> Iterator[tuple[str, list[str]]]:
    for name, command in _commands(typer.main.get_command(command_line()), ""):
        texts = [*(command.help or "").split("\n\n"), *(getattr(item, "help", None) or "" for item in command.params)]
        texts += [f"{about.line[:1].upper()}{about.line[1:]}." for about in [ABOUT.get(name)] if about is not None]
        yield name, texts


def _messages() -> Iterator[tuple[str, list[str]]]:
    for path in sorted((ROOT / "analyzer").rglob("*.py")):
        texts = []
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in _SAYING:
                given = [*node.args, *(item.value for item in node.keywords if item.arg in ("hint", "text"))]
                texts += [text for one in given if (text := _text(one)) is not None]
        if texts:
            yield str(path.relative_to(ROOT)), texts


def _text(node: ast.expr) -> str | None:
    """The words of a string; what is filled in is a number, each another one."""
    if isinstance(node, ast.JoinedStr):
        parts = enumerate(node.values, 1)
        return "".join(str(part.value) if isinstance(part, ast.Constant) else str(at) for at, part in parts)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield name, command
        return
    for word, one in command.commands.items():
        yield from _commands(one, f"{name} {word}".strip())


if __name__ == "__main__":
    main()
