"""Text on one line of a terminal, whatever is in it."""

from __future__ import annotations


def printable(text: str) -> str:
    """Text for a terminal, on one line: whatever does not print is shown as an escape (`\\x1b`, `\\u202e`)."""
    if text.isprintable():
        return text
    return "".join(mark if mark.isprintable() else _shown(mark) for mark in text)


def _shown(control: str) -> str:
    return control.encode("unicode_escape").decode()
