"""Guesses the kind of a buffer from its bytes: the kinds that fit, the most convincing first, each with its reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from analyzer.interfaces.buffers.ambiguous_readings import NO_STRING, offsets_of_strings
from analyzer.interfaces.buffers.buffer_trees import decode_buffer
from analyzer.interfaces.buffers.ksy_descriptions import enum_names
from analyzer.interfaces.buffers.struct_layouts import (
    COUNTER_INFO,
    COUNTERSET_INFO,
    DATA_HEADER,
    IDENTIFIER,
    INSTANCE_HEADER,
    STRING_TABLE,
)
from analyzer.interfaces.buffers.windows_text import utf16_text
from analyzer.results.buffer_kinds import BufferKind

# `certain`: marks of its own, and everything decodes; `likely`: sizes and counts agree with the length, or marks of its own and
# damage; `possible`: nothing but the length or readable text fits.
Confidence = Literal["certain", "likely", "possible"]


class Guess(NamedTuple):
    """A guess at the kind of a buffer, with its reason and its confidence."""

    kind: BufferKind
    why: str
    confidence: Confidence


def guess_kind(data: bytes) -> list[Guess]:
    """Guesses the kind of a buffer: returns all that fit, the surest first.

    A kind with unmistakable marks is included even if the buffer is damaged further on.
    """
    found: list[tuple[int, Guess]] = []
    for rank, (kind, test) in enumerate(_TESTS):
        why = test(data)
        if why is None:
            continue
        problem = decode_buffer(kind, data).problem
        damaged = problem is not None
        if damaged and kind not in _MARKED:
            continue
        words = f"{why}, damaged further on: {problem}" if damaged else why
        found.append((rank, Guess(kind, words, _confidence(kind, damaged=damaged))))
    return [guess for _, guess in sorted(found)]


def _confidence(kind: BufferKind, *, damaged: bool) -> Confidence:
    if kind in _MARKED:
        return "likely" if damaged else "certain"
    return "possible" if kind in _UNMARKED else "likely"


def _winperf(data: bytes) -> str | None:
    if data.startswith((b"P\0E\0R\0F\0", b"\0P\0E\0R\0F")):
        return "begins with the signature PERF"
    return None


def _perf_data(data: bytes) -> str | None:
    if len(data) < DATA_HEADER.size:
        return None
    total, blocks, *_, year, month, weekday, day, hour, minute, second, _ = DATA_HEADER.unpack_from(data)
    dated = (
        year >= 1601
        and 1 <= month <= 12
        and weekday < 7
        and 1 <= day <= 31
        and hour < 24
        and minute < 60
        and second < 62
    )
    if dated and total >= 48:
        return f"a header with a date in it ({year}-{month:02}-{day:02}) and {blocks} blocks"
    return None


def _counterset_info(data: bytes) -> str | None:
    if len(data) < 32 or (len(data) - 32) % 48:
        return None
    _, _, level, count, instances = COUNTERSET_INFO.unpack_from(data)
    if level in enum_names("ms_pcq::detail_level") and count == (len(data) - 32) // 48 and instances < 0x20:
        return f"a counterset with {count} counters, which are as long as the data"
    return None


def _counter_info(data: bytes) -> str | None:
    if len(data) != 48:
        return None
    _, kind, _, level, *_ = COUNTER_INFO.unpack_from(data)
    if kind in enum_names("ms_pcq::counter_type") and level in enum_names("ms_pcq::detail_level"):
        return "a counter of a known type and detail level, 48 bytes"
    return None


def _string_table(data: bytes) -> str | None:
    offsets = offsets_of_strings(data)
    if not offsets:
        return None
    total, count = STRING_TABLE.unpack_from(data)
    if total > len(data) or total + 8 < len(data) or count != len(offsets):
        return None
    if all(offset == NO_STRING or (offset < len(data) and offset % 2 == 0) for offset in offsets):
        return f"{count} counters whose strings lie within the {total} bytes of its dwSize"
    return None


def _identifiers(data: bytes) -> str | None:
    at = count = 0
    while at + 40 <= len(data):
        _, _, size, *_, reserved = IDENTIFIER.unpack_from(data, at)
        if size < 40 or size % 2 or reserved:
            return None
        at, count = at + size, count + 1
    return f"{count} identifiers, whose sizes use it up" if count and at == len(data) else None


def _instances(data: bytes) -> str | None:
    at = count = 0
    while at + 16 <= len(data):
        size, _ = INSTANCE_HEADER.unpack_from(data, at)
        name = utf16_text(data[at + 8 : at + size])
        if size < 16 or size % 8 or not all(char.isprintable() for char in name):
            return None
        at, count = at + size, count + 1
    return f"{count} instances, whose sizes use it up" if count and at == len(data) else None


def _name_table(data: bytes) -> str | None:
    first = data[:64].decode("utf-16-le", "replace").partition("\0")[0]
    if first.isdecimal() and first.isascii() and data[-2:] == b"\0\0":
        return f"begins with a number as text ({first})"
    return None


def _string(data: bytes) -> str | None:
    text, end, _ = data[: len(data) & ~1].decode("utf-16-le", "replace").partition("\0")
    if not text or not end or 2 * len(text) + 10 < len(data) or "\ufffd" in text:
        return None
    readable = all(char.isprintable() or char in "\r\n\t" for char in text)
    return "readable text with a NUL at its end" if readable else None


def _guid(data: bytes) -> str | None:
    return "16 bytes" if len(data) == 16 else None


def _guids(data: bytes) -> str | None:
    return f"{len(data) // 16} times 16 bytes" if data and len(data) % 16 == 0 else None


_TESTS: tuple[tuple[BufferKind, Callable[[bytes], str | None]], ...] = (
    ("winperf", _winperf),
    ("perf-data", _perf_data),
    ("counterset-info", _counterset_info),
    ("counter-info", _counter_info),
    ("identifiers", _identifiers),
    ("instances", _instances),
    ("string-table", _string_table),
    ("name-table", _name_table),
    ("string", _string),
    ("guid", _guid),
    ("guids", _guids),
)
# Kinds with marks of their own, convincing even where the rest is damaged.
_MARKED = ("winperf", "perf-data", "name-table")
# Kinds that anything of the right length, or any text, may be.
_UNMARKED = ("string", "guid", "guids")
