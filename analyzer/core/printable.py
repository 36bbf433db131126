"""Text on one line of a terminal, whatever is in it; and numbers of things in words."""

from __future__ import annotations


def printable(text: str) -> str:
    """Text for a terminal, on one line: whatever does not print is shown as an escape (`\\x1b`, `\\u202e`)."""
    if text.isprintable():
        return text
    return "".join(mark if mark.isprintable() else _shown(mark) for mark in text)


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 call`, `2,000 calls`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def _shown(control: str) -> str:
    return control.encode("unicode_escape").decode()
