"""Hex dumps given to `decode`, in the forms of xxd, hexdump, od and Wireshark: read back to the bytes they show."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LINE = re.compile(r"\s*([0-9a-fA-F]{4,16})(:?)(?:\s+(\S.*?)\s*)?")
_GROUP = re.compile(r"((?:[0-9a-fA-F]{2})+)(?:\s+|$)")
# Bytes on a line that most programs print, used if nothing says how many; and the most that any prints (`xxd -c 256`).
_USUAL, _WIDEST = 16, 256
# The most bytes that one `*` may stand for, so that a forged offset does not fill the memory.
MAX_REPEATED = 64 << 20


def dumped_bytes(lines: Sequence[str]) -> bytes | None:
    """Returns the bytes that the lines of a hex dump spell out, for `decode`; None if they are no dump."""
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
    """Reads exactly `count` bytes from the start of a hex dump's line; None if it has fewer."""
    digits, at = "", 0
    while len(digits) < 2 * count:
        group = _GROUP.match(text, at)
        if group is None:
            return None
        digits += group[1]
        at = group.end()
    return bytes.fromhex(digits) if len(digits) == 2 * count else None


def _last_bytes(text: str, width: int) -> bytes:
    """Reads the bytes on the last line of a hex dump: as many as its text column shows, at most `width` without a text column."""
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
    """Tells whether a hex dump's text column shows these bytes, with a dot or a space for unprintable ones."""
    reported = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in shown)
    return beside.strip() == reported.strip()


def _in_words(size: int) -> int:
    """Rounds a count of bytes up to whole 16-bit words of a hex dump: an odd last byte has a zero behind it."""
    return size + size % 2


def _unswapped(words: bytes) -> bytes:
    out = bytearray(words)
    out[0::2], out[1::2] = words[1::2], words[0::2]
    return bytes(out)


_PLAIN_HEX = re.compile(rb"(?:[0-9a-fA-F]{2}[\s,:]*)+")
_OFFSET_APART = re.compile(r"0{4,16}(?:: |  )")


def bytes_of(data: bytes) -> tuple[bytes, bool]:
    """Returns the buffer in a file given to `decode`, taken from a hex dump or as the file has it, and whether it was a dump."""
    stripped = data.strip()
    if not stripped or not stripped.isascii() or b"\0" in stripped:
        return data, False
    lines = stripped.decode().splitlines()
    compact = stripped.removeprefix(b"0x")
    # A dump of one line differs from a line of plain digits only by the gap after its offset.
    if (len(lines) > 1 or _OFFSET_APART.match(lines[0])) and (spelled := dumped_bytes(lines)) is not None:
        return spelled, True
    if _PLAIN_HEX.fullmatch(compact):
        return bytes.fromhex(re.sub(rb"[\s,:]", b"", compact).decode()), True
    spelled = dumped_bytes(lines)
    return (data, False) if spelled is None else (spelled, True)
