"""Hex dumps: lines of text in, the bytes they spell out; `xxd`, `hexdump` with and without -C, and Wireshark's.

Beside the bytes stands the same as text, which may look like more bytes. How many there are on a line is known by the offset of
the next one; on the last line by what is left beside them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_LINE = re.compile(r"\s*([0-9a-fA-F]{4,16})(:?)(?:\s+(\S.*?)\s*)?")
_GROUP = re.compile(r"((?:[0-9a-fA-F]{2})+)(?:\s+|$)")
# Bytes on a line where nothing says how many, as most programs print them; and the most that any does (`xxd -c 256`).
_USUAL, _WIDEST = 16, 256
# What one `*` may stand for, so that a forged offset does not fill the memory.
MAX_REPEATED = 64 << 20


def dumped_bytes(lines: Sequence[str]) -> bytes | None:
    """What a dump spells out; None where the lines are no dump."""
    out = bytearray()
    width = _USUAL
    first: int | None = None
    rows = [line for line in lines if line.strip()]
    previous, repeated = b"", False
    # `hexdump` without -C: seven digits of offset, then words whose bytes are swapped.
    swapped = all(re.match(r"[0-9a-f]{7}(?: +[0-9a-f]{4})* *$", row) or row.strip() == "*" for row in rows)
    for at, row in enumerate(rows):
        if row.strip() == "*":
            repeated = True
            continue
        match = _LINE.fullmatch(row)
        if match is None:
            return None
        offset = int(match[1], 16)
        first = offset if first is None else first
        if repeated:
            missing = offset - first - len(out)
            if not previous or not 0 <= missing <= MAX_REPEATED:
                return None
            out += (previous * (missing // len(previous) + 1))[:missing]
            repeated = False
        if offset - first != len(out):
            return None
        following, text = _offset(rows, at + 1), match[3] or ""
        if following is not None and 0 < following - offset <= _WIDEST:
            width = following - offset
            previous = _bytes_on(text, _in_words(width) if swapped else width) or b""
            if not previous:
                return None
        else:
            previous = _last_bytes(text, _in_words(width) if swapped else width)
            if text and not previous:
                return None
        if swapped:
            previous = _unswapped(previous)[:width]
        out += previous
    return bytes(out) or None


def _offset(rows: Sequence[str], at: int) -> int | None:
    match = _LINE.fullmatch(rows[at]) if at < len(rows) else None
    return int(match[1], 16) if match is not None else None


def _bytes_on(text: str, count: int) -> bytes | None:
    """Exactly `count` bytes from the start of the line, None where they are not there."""
    digits, at = "", 0
    while len(digits) < 2 * count:
        group = _GROUP.match(text, at)
        if group is None:
            return None
        digits += group[1]
        at = group.end()
    return bytes.fromhex(digits) if len(digits) == 2 * count else None


def _last_bytes(text: str, width: int) -> bytes:
    """As many bytes as leave beside them their own text; `width` at most where nothing does."""
    counts: list[tuple[int, str]] = []
    digits, at = "", 0
    while (group := _GROUP.match(text, at)) is not None and len(digits) < 2 * _WIDEST:
        digits += group[1]
        counts.append((len(digits), text[group.end(1) :]))
        at = group.end()
    for length, rest in counts:
        beside = rest.strip()
        shown = bytes.fromhex(digits[:length])
        if beside and _looks_like(beside.strip("|") if beside.startswith("|") else rest.removeprefix("  "), shown):
            return shown
    return bytes.fromhex(digits[: 2 * width])


def _looks_like(beside: str, shown: bytes) -> bool:
    """Whether a column of text shows these bytes, a dot or a space for what cannot be printed."""
    reported = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in shown)
    return beside.strip() == reported.strip()


def _in_words(size: int) -> int:
    """The size of the words that so many bytes are in: the last of an odd number has a zero behind it."""
    return size + size % 2


def _unswapped(words: bytes) -> bytes:
    out = bytearray(words)
    out[0::2], out[1::2] = words[1::2], words[0::2]
    return bytes(out)
