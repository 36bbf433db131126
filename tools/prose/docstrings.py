"""Writes the docstrings of each package as Markdown, for the prose linter: modules, classes and public functions.

Run from the root of the repository: `python -m tools.prose.docstrings build/docstrings` writes a file for each package into this
folder, because the linter's time grows with the square of a file. A comment before each docstring names its file and line.
"""

from __future__ import annotations

import ast
import re
import shutil
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from tools.prose.markdown import ROOT, once

_ITEM = re.compile(r"(?:[-*]|\d+\.) ")
_Described = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def main(folder: Path) -> None:
    """Writes the paragraphs of each package once, below the name of the first file and line that has them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for package, found in groupby(docstrings(), lambda one: one[0].rpartition("/")[0]):
        places = ((f"<!-- {place} -->", paragraphs(text)) for place, text in found)
        with (folder / f"{package.replace('/', '.')}.md").open("w", encoding="utf-8") as file:
            file.writelines(once(places))


def docstrings() -> Iterator[tuple[str, str]]:
    """Yields the file and line of each docstring, and the docstring. Generated modules are left out."""
    for path in sorted((ROOT / "analyzer").rglob("*.py"), key=lambda path: (path.parent, path)):
        if "_generated" not in path.parts:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, _Described) and (text := ast.get_docstring(node)) and _is_public(node):
                    yield f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}", text


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


if __name__ == "__main__":
    main(Path(sys.argv[1]))
