"""Text as Windows keeps it: 16-bit units or single bytes up to the first NUL in, text that every renderer can print out.

Unpaired surrogates are legal in names of instances (any 16-bit unit is) but not in UTF-8; they are shown as their two
bytes, `\\x00\\xd8`, so that two different names stay different.
"""

from __future__ import annotations

import codecs
import re

# Surrogates that are left in decoded text: they are no half of a pair.
_UNPAIRED = "[\ud800-\udfff]"


def utf16_text(data: bytes, *, big_endian: bool = False) -> str:
    """Returns UTF-16 text of Windows up to its first NUL. An odd byte at the end is ignored."""
    return data[: utf16_length(data)].decode("utf-16-be" if big_endian else "utf-16-le", "backslashreplace")


def utf16_length(data: bytes) -> int:
    """Returns the number of bytes of UTF-16 text before the first NUL unit, an even number."""
    at = data.find(b"\0\0")
    while at != -1 and at % 2:
        at = data.find(b"\0\0", at + 1)
    return at if at != -1 else len(data) & ~1


def code_page_text(data: bytes, code_page: int) -> str:
    """Returns single-byte text of Windows up to its first NUL, in a Windows code page that Python knows, else in Latin-1."""
    raw = data.partition(b"\0")[0]
    name = f"cp{code_page}"
    try:
        codecs.lookup(name)
    except LookupError:
        name = "latin-1"
    return raw.decode(name, "backslashreplace")


def without_unpaired(data: bytes, start: int = 0) -> bytes | None:
    """Returns UTF-16 text of Windows with U+FFFD for each unpaired surrogate from `start` on, None if it has none.

    Parsers compiled for zero-terminated UTF-16 refuse such text. The length stays equal, so every offset stays true.
    """
    stop = len(data) - (len(data) - start) % 2
    text, count = re.subn(_UNPAIRED, "\ufffd", data[start:stop].decode("utf-16-le", "surrogatepass"))
    return data[:start] + text.encode("utf-16-le") + data[stop:] if count else None


def counter_value(value: bytes, *, big_endian: bool = False) -> str | int:
    """Returns the text of Windows that is a counter's value in PerflibV2, unless it has 4 or 8 bytes: then it is an unsigned
    integer (MS-PCQ 2.2.4.9)."""
    if len(value) in (4, 8):
        return int.from_bytes(value, "big" if big_endian else "little")
    return utf16_text(value, big_endian=big_endian)
