"""Prints what the command line says of itself as Markdown, for the prose linter: a paragraph for each sentence of help.

Run from the root of the repository: `python tools/prose/help_texts.py > build/help.md`. A heading names the command.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import Any

import typer.main

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from analyzer.commands.about import ABOUT
from analyzer.commands.commands import command_line


def main() -> None:
    """Prints every text once, below the command that has it first."""
    seen: set[str] = set()
    for name, command in _commands(typer.main.get_command(command_line()), ""):
        sys.stdout.write(f"# {name}\n\n")
        texts = [*(command.help or "").split("\n\n"), *(getattr(item, "help", None) or "" for item in command.params)]
        texts += [f"{about.line[:1].upper()}{about.line[1:]}." for about in [ABOUT.get(name)] if about is not None]
        for text in texts:
            words = " ".join(text.split())
            if words and words not in seen:
                seen.add(words)
                sys.stdout.write(
                    fill(words.replace("*", "\\*").replace("<", "\\<"), 100, break_long_words=False) + "\n\n"
                )


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield name, command
        return
    for word, one in command.commands.items():
        yield from _commands(one, f"{name} {word}".strip())


main()
