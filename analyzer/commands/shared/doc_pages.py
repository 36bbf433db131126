"""Finds the pages of the documentation, for `docs` and for shells that complete their names."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[2]
MANUAL, LIMITS = "man", "limits"
# Names that are no page, with their titles.
MADE = {MANUAL: "pcq-analyzer(1), for man -l -", LIMITS: "What bounds an analysis, and the option for it"}


def pages() -> dict[str, Path]:
    """Returns the pages of the documentation by name: those in the installed package, or those of the checkout."""
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
