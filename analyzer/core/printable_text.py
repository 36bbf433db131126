"""Fits any text on one line of a terminal, and puts numbers of things into words."""

from __future__ import annotations

# So many characters of a text are shown in the middle of a line.
SHOWN_TEXT = 60


def printable(text: str) -> str:
    """Returns text on one line for a terminal. Characters that do not print become escapes (`\\x1b`, `\\u202e`)."""
    if text.isprintable():
        return text
    return "".join(mark if mark.isprintable() else _shown(mark) for mark in text)


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Returns a number of things in words, for people: `1 call`, `2,000 calls`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def shortened(text: str, most: int = SHOWN_TEXT) -> str:
    """Returns a text printable on one line, cut to at most `most` characters. `show` has the whole text."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def cut_in_middle(text: str, most: int) -> str:
    """Returns a text printable on one line of at most `most` characters, with its beginning and its end."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most // 2]}…{line[most // 2 + 1 - most :]}"


def _shown(control: str) -> str:
    return control.encode("unicode_escape").decode()
