"""Prints the docstrings of the package as Markdown, for the prose linter: modules, classes and public functions.

Run from the root of the repository: `python -m tools.prose.docstrings > build/docstrings.md`. A comment before each docstring
names its file and line.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

_ROOT = Path(__file__).resolve().parents[2]
# Rooms whose docstrings are not yet in plain sentences: they are not printed.
_NOT_YET = ("questions/audit/",)
_ITEM = re.compile(r"(?:[-*]|\d+\.) ")
_CODE = re.compile(r"(`[^`]*`)")
_SIGN = re.compile(r"[*<_\[]")
_Described = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def main() -> None:
    """Prints each paragraph once, below the name of the first file and line that has it."""
    seen: set[str] = set()
    for place, text in docstrings():
        new = [words for words in paragraphs(text) if words not in seen]
        if new:
            seen.update(new)
            sys.stdout.write(f"<!-- {place} -->\n\n")
            for words in new:
                sys.stdout.write(fill(_escaped(words), 98, break_long_words=False, break_on_hyphens=False) + "\n\n")


def docstrings() -> Iterator[tuple[str, str]]:
    """Yields the file and line of each docstring, and the docstring. Generated modules are left out."""
    for path in sorted((_ROOT / "analyzer").rglob("*.py")):
        if "_generated" not in path.parts and not path.relative_to(_ROOT / "analyzer").as_posix().startswith(_NOT_YET):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, _Described) and (text := ast.get_docstring(node)) and _is_public(node):
                    yield f"{path.relative_to(_ROOT)}:{getattr(node, 'lineno', 1)}", text


def paragraphs(text: str) -> Iterator[str]:
    """Yields each paragraph and each item of a list of a docstring, on one line. Indented blocks are left out: they are code."""
    for block in re.split(r"\n\s*\n", text):
        if block[:1].isspace() or block.startswith(">>>"):
            continue
        words: list[str] = []
        for line in block.split("\n"):
            item = _ITEM.match(line)
            if item and words:
                yield " ".join(words)
                words = []
            words += line[item.end() if item else 0 :].split()
        yield " ".join(words)


def _is_public(node: _Described) -> bool:
    return isinstance(node, ast.Module | ast.ClassDef) or not node.name.startswith("_")


def _escaped(words: str) -> str:
    """The words with Markdown's signs as plain text, outside of code between backquotes."""
    parts = _CODE.split(words)
    return "".join(part if at % 2 else _SIGN.sub(r"\\\g<0>", part) for at, part in enumerate(parts))


if __name__ == "__main__":
    main()
