"""Prints the texts of help and the messages of the program as Markdown, for the prose linter: a paragraph for each.

Run from the root of the repository: `python -m tools.prose.help_texts > build/help.md`. A heading names the command or module.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import Any

import typer.main

from analyzer.commands.about import ABOUT
from analyzer.commands.commands import command_line

_ROOT = Path(__file__).resolve().parents[2]
# What says a message: classes of errors, and functions that print on standard error.
_SAYING = frozenset(("BadParameter", "DecodeError", "InputError", "Problem", "say"))


def main() -> None:
    """Prints every text once, below the command or module that has it first."""
    seen: set[str] = set()
    for heading, texts in (*_help_texts(), *_messages()):
        sys.stdout.write(f"# {heading}\n\n")
        for text in texts:
            words = " ".join(text.split())
            if " " in words and words not in seen:
                seen.add(words)
                for sign in "*<_":
                    words = words.replace(sign, f"\\{sign}")
                sys.stdout.write(fill(words, 98, break_long_words=False) + "\n\n")


def _help_texts() -> Iterator[tuple[str, list[str]]]:
    for name, command in _commands(typer.main.get_command(command_line()), ""):
        texts = [*(command.help or "").split("\n\n"), *(getattr(item, "help", None) or "" for item in command.params)]
        texts += [f"{about.line[:1].upper()}{about.line[1:]}." for about in [ABOUT.get(name)] if about is not None]
        yield name, texts


def _messages() -> Iterator[tuple[str, list[str]]]:
    for path in sorted((_ROOT / "analyzer").rglob("*.py")):
        texts = []
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in _SAYING:
                given = [*node.args, *(item.value for item in node.keywords if item.arg in ("hint", "text"))]
                texts += [text for one in given if (text := _text(one)) is not None]
        if texts:
            yield str(path.relative_to(_ROOT)), texts


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
