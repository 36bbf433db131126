"""Puts things into text that can be printed: any text on one line of a terminal, numbers in words, names of files and GUIDs.

On POSIX the name of a file is bytes; those that are not UTF-8 reach Python as lone surrogates (PEP 383), which no output form can
hold. The first three groups of a GUID follow the byte order, the last two do not ([MS-DTYP] section 2.3.4).

`Discreet` structs hide some fields when they are shown, because these are secret or long.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal
from uuid import UUID

from msgspec import Struct

# ------------------------------------------------------------------------------------------------------- printable text


# So many characters of a text are shown in the middle of a line.
SHOWN_TEXT = 60


def printable(text: str) -> str:
    """Returns text on one line for a terminal. Characters that do not print become escapes (`\\x1b`, `\\u202e`)."""
    if text.isprintable():
        return text
    return "".join(mark if mark.isprintable() else _shown(mark) for mark in text)


def plural(number: int, noun: str, many: str | None = None) -> str:
    """Returns the noun to print for a number of things: `call` for 1, else `calls`, or `many` where that is another word."""
    return noun if number == 1 else many or f"{noun}s"


def counted(number: int, noun: str, many: str | None = None) -> str:
    """Returns a number of things in words to print: `1 call`, `2,000 calls`."""
    return f"{number:,} {plural(number, noun, many)}"


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


# ----------------------------------------------------------------------------------------------------------- file names


_UNDECODED = "[\udc80-\udcff]"
# A backslash of the name itself that would be taken for the start of an escape, and the escapes.
_MISTAKABLE = r"\\(?=x(?:[89a-f][0-9a-f]|5c))"
_ESCAPE = rb"\\x([89a-f][0-9a-f]|5c)"


def text_of_path(path: str | Path) -> str:
    """Returns the name of a file as printable text: `\\xfc` in place of each byte that is not UTF-8. `path_of_text` gives the name
    back."""
    text = str(path)
    # Few names have one, and the first pattern costs more than all else that is done with a name.
    return without_raw_bytes(re.sub(_MISTAKABLE, r"\\x5c", text) if "\\" in text else text)


def path_of_text(text: str) -> Path:
    """Returns the path of the file that `text_of_path` named."""
    return Path(os.fsdecode(re.sub(_ESCAPE, lambda found: bytes([int(found[1], 16)]), os.fsencode(text))))


def without_raw_bytes(text: str) -> str:
    """Returns a printable sentence about files, with `\\xfc` in place of each byte of their names that is not UTF-8."""
    return text if text.isascii() else re.sub(_UNDECODED, lambda found: f"\\x{ord(found[0]) - 0xDC00:02x}", text)


def shell_word(path: str | Path) -> str:
    """Returns a file name, or another argument, as printable text that a shell takes back."""
    word = str(path)
    if re.search(_UNDECODED, word) is None:
        from shlex import quote

        return quote(word)
    escaped = word.replace("\\", r"\\").replace("'", r"\'")
    return f"$'{without_raw_bytes(escaped)}'"


# ----------------------------------------------------------------------------------------------------------------- guid


@lru_cache(maxsize=1024)
def guid_text(data: bytes, order: Literal["little", "big"] = "little") -> str:
    """Returns the printable text of a GUID, made of its 16 bytes: lower case, without braces."""
    return str(UUID(bytes_le=data) if order == "little" else UUID(bytes=data))


# -------------------------------------------------------------------------------------------------------------- secrets


class Discreet(Struct, frozen=True):
    """Hides the fields named in `hidden` when a value is printed as text, by `repr` and by rich."""

    hidden: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in self.__struct_fields__ if name not in self.hidden]
