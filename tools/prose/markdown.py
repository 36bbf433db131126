"""Texts of the program as Markdown for the prose linter, each once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import fill

ROOT = Path(__file__).resolve().parents[2]
_CODE = re.compile(r"(`[^`]*`)")
_SIGN = re.compile(r"[*<_\[]")


def once(places: Iterable[tuple[str, Iterable[str]]]) -> Iterator[str]:
    """Yields each text once, behind the line that says where it stands first."""
    seen: set[str] = set()
    for place, texts in places:
        new = dict.fromkeys(" ".join(text.split()) for text in texts)
        words = [one for one in new if one not in seen]
        if words:
            seen.update(words)
            yield f"{place}\n\n"
            for one in words:
                yield fill(_escaped(one), 98, break_long_words=False, break_on_hyphens=False) + "\n\n"


def _escaped(words: str) -> str:
    """The words with Markdown's signs as plain text, outside of code between backquotes."""
    parts = _CODE.split(words)
    return "".join(part if at % 2 else _SIGN.sub(r"\\\g<0>", part) for at, part in enumerate(parts))
