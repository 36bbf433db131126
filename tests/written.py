"""Texts that are held to files: each file is what was printed once and read through, and is written anew on purpose.

`make golden` writes them, with those of `tests/golden/`; `git diff tests` shows what is different.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests import truth

IS_WRITING = bool(os.environ.get("PCQ_WRITE_PAGES"))


def is_as_written(path: Path, text: str) -> None:
    """Holds a text to its file; where captures lie is no part of it."""
    text = text.replace(str(truth.CAPTURES), "captures")
    if IS_WRITING:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    assert text == path.read_text(encoding="utf-8"), (
        f"{path.name} is not what it was, which guards words and numbers that are shown; if that is meant, write it anew as "
        f"{__name__} says"
    )
