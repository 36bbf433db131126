"""`pcq docs`: the documentation that comes with the program, and its manual page, where there is no network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analyzer.commands.completion import complete_page
from analyzer.commands.options import Writing, command
from analyzer.core.errors import InputError
from analyzer.core.output.gate import write_document

_PACKAGE = Path(__file__).resolve().parents[1]
MANUAL = "man"


def pages() -> dict[str, Path]:
    """The pages by name: in the package where it was installed, beside it in a checkout."""
    installed = _PACKAGE / "_docs"
    if installed.is_dir():
        found = list(installed.glob("*.md"))
    else:
        found = [
            *(_PACKAGE.parent / "docs").glob("*.md"),
            _PACKAGE.parent / "README.md",
            _PACKAGE.parent / "CHANGELOG.md",
        ]
    return {path.stem.lower(): path for path in sorted(found)}


@command
def docs(
    writing: Writing,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", autocompletion=complete_page, help="A page; none: list them.")
    ] = None,
) -> None:
    """The documentation, without a network: `docs` lists the pages, `docs man | man -l -` shows the manual page."""
    known = pages()
    if name is None:
        lines = [f"{key:<15} {_title(path)}" for key, path in known.items()]
        lines.append(f"{MANUAL:<15} pcq-analyzer(1), for man -l -")
        write_document("".join(f"{line}\n" for line in lines).encode(), writing.destination)
        return
    if name == MANUAL:
        from analyzer.commands.manual import manual_page

        write_document(manual_page().encode(), writing.destination)
        return
    if name not in known:
        raise InputError(f"there is no page {name}", hint=f"There are {', '.join((*known, MANUAL))}.")
    writing.document(known[name].read_bytes())


def _title(path: Path) -> str:
    """The first heading of a page."""
    with path.open(encoding="utf-8") as file:
        return next((line.lstrip("# ").rstrip() for line in file if line.startswith("# ")), path.stem)
