"""Names of files as text. On POSIX a name is bytes; those that are not UTF-8 reach Python as lone surrogates (PEP 383), which no
output form can hold."""

from __future__ import annotations

import os
import re
from pathlib import Path

_UNDECODED = re.compile("[\udc80-\udcff]")
# A backslash of the name itself that would be taken for the start of an escape, and the escapes.
_MISTAKABLE = re.compile(r"\\(?=x(?:[89a-f][0-9a-f]|5c))")
_ESCAPE = re.compile(rb"\\x([89a-f][0-9a-f]|5c)")


def text_of_path(path: str | Path) -> str:
    """Returns the name of a file as text: `\\xfc` in place of each byte that is not UTF-8. `path_of_text` gives the name back."""
    return without_raw_bytes(_MISTAKABLE.sub(r"\\x5c", str(path)))


def path_of_text(text: str) -> Path:
    """Returns the path of the file that `text_of_path` named."""
    return Path(os.fsdecode(_ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), os.fsencode(text))))


def without_raw_bytes(text: str) -> str:
    """Returns a sentence about files, with `\\xfc` in place of each byte of their names that is not UTF-8."""
    return _UNDECODED.sub(lambda found: f"\\x{ord(found[0]) - 0xDC00:02x}", text)


def shell_word(path: str | Path) -> str:
    """Returns a file name, or another argument, quoted for a shell."""
    word = str(path)
    if _UNDECODED.search(word) is None:
        from shlex import quote

        return quote(word)
    escaped = word.replace("\\", r"\\").replace("'", r"\'")
    return f"$'{without_raw_bytes(escaped)}'"
