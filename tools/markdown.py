"""Paragraphs and lists as the lines of a document in Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from analyzer.screens.views.docs import ITEM, parts_of

# Lines of documents are no wider.
_DOCUMENT_WIDTH = 100


def document_lines(page: str) -> Iterator[str]:
    """The paragraphs and lists of a page as Markdown, with an empty line behind each. Words with hyphens stay whole, for a line
    ends in a space there."""
    for block in page.split("\n\n"):
        for part in parts_of(block):
            yield from item_lines(part) if part.startswith(ITEM) else _wrapped(part, "", "")
        yield ""


def item_lines(item: str, indent: str = "") -> list[str]:
    """An item of a list in Markdown, its further lines indented. `indent` is that of a list inside of another: four spaces, for
    mkdocs."""
    return _wrapped(item, indent, indent + " " * len(ITEM))


def _wrapped(text: str, first: str, further: str) -> list[str]:
    return textwrap.wrap(
        text,
        _DOCUMENT_WIDTH,
        initial_indent=first,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    )
