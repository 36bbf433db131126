"""Chooses between two readings of MS-PCQ by the data of a buffer: the reading that fits.

The two cases are the padding after an odd number of counter ids (2.2.4 against 2.2.4.11), and the base of string offsets (2.2.4.4
against perflib.h). If both readings fit, the Windows SDK is the authority for what Windows writes (docs/readings.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from analyzer.core.errors import MalformedError
from analyzer.interfaces.buffers.struct_layouts import (
    BLOCK,
    BLOCK_TYPE_AND_SIZE,
    COUNTER_DATA,
    COUNTER_IDS,
    DATA_HEADER,
    DATA_NUMBERS,
    INSTANCE_SIZE,
    INSTANCES_HEADER,
    STRING_HEADER,
    STRING_TABLE,
)
from analyzer.results.methods.perflib import COUNTERS, COUNTERSET

NO_STRING = 0xFFFFFFFF
# Types of blocks with counter ids.
_WITH_IDS = (COUNTERS, COUNTERSET)


def id_paddings(data: bytes) -> tuple[list[int], list[str]]:
    """Returns for each block of performance data the number of uncounted bytes after its counter ids in the reading that fits, and
    notes on such bytes.

    An array of ids whose size is no multiple of 8 is followed by 4 bytes of padding that no size counts, or by none. The reading
    that uses the block up is the right one. If neither does, the sizes are followed as they are.
    """
    paddings: list[int] = []
    notes: list[str] = []
    if len(data) < DATA_HEADER.size:
        return paddings, notes
    at = DATA_HEADER.size
    for number in range(DATA_NUMBERS.unpack_from(data)[1]):
        if at + BLOCK.size > len(data):
            break
        kind, size = BLOCK_TYPE_AND_SIZE.unpack_from(data, at)
        stop = at + size
        if size < BLOCK.size or stop > len(data):
            break
        padding, ids_at = 0, at + BLOCK.size
        if kind in _WITH_IDS and ids_at + COUNTER_IDS.size <= stop:
            padding = _padding(data, ids_at, stop, kind)
            if padding:
                notes.append(f"block {number}: {padding} bytes of padding after the counter ids are counted by no size")
            elif (ids_at + COUNTER_IDS.unpack_from(data, ids_at)[0]) % 8:
                notes.append(
                    f"block {number}: the counter ids have no padding (Windows SDK, perflib.h); what follows is not 8-aligned, "
                    "against MS-PCQ 2.2.4"
                )
        paddings.append(padding)
        at = stop
    return paddings, notes


def _padding(data: bytes, start: int, stop: int, kind: int) -> int:
    size, count = COUNTER_IDS.unpack_from(data, start)
    after = start + size
    # Rounded up to 8 from the start of the array, or of the buffer: 4 bytes in either case.
    extra = 4
    if (size % 8 == 0 and after % 8 == 0) or size < 8 or after > stop:
        return 0
    as_stated = _left_over(data, after, stop, kind, count)
    if as_stated == 0:
        return 0
    padded = _left_over(data, after + extra, stop, kind, count)
    if padded == 0:
        return extra
    if as_stated is not None and as_stated < 8:
        return 0
    return extra if padded is not None and padded < 8 else 0


def _left_over(data: bytes, at: int, stop: int, kind: int, count: int) -> int | None:
    """Returns the bytes that one of both readings leaves of a block of performance data, if its values are read from `at` on. None
    if they cannot be."""
    if kind == 2:
        end = _values(data, at, stop, count)
        return None if end is None else stop - end
    if at + 8 > stop:
        return None
    position: int | None = at + 8
    for _ in range(INSTANCES_HEADER.unpack_from(data, at)[1]):
        if position is None or position + 8 > stop:
            return None
        size = INSTANCE_SIZE.unpack_from(data, position)[0]
        if size < 8 or position + size > stop:
            return None
        position = _values(data, position + size, stop, count)
    return None if position is None else stop - position


def _values(data: bytes, at: int, stop: int, count: int) -> int | None:
    data_size: int
    size: int
    for _ in range(count):
        if at + 8 > stop:
            return None
        data_size, size = COUNTER_DATA.unpack_from(data, at)
        if size < 8 + data_size or at + size > stop:
            return None
        at += size
    return at


def string_table_base(data: bytes) -> tuple[int, list[str]]:
    """Returns the base of a string table's offsets in the reading that fits, 0 for its start or else the end of its headers, and a
    sentence on it.

    A right offset leads behind the headers, to where the last header or another string has just ended. If that holds for all
    offsets in both readings, the Windows SDK is the authority: they count from the start of the block (perflib.h, comment on
    PERF_STRING_COUNTER_HEADER). If it holds in neither, the table is read in the way that fits more of its offsets.
    """
    if len(data) < 8:
        return 0, []
    count = STRING_TABLE.unpack_from(data)[1]
    head = STRING_TABLE.size + STRING_HEADER.size * count
    if head > len(data):
        return min(head, NO_STRING), []
    used = [offset for offset in offsets_of_strings(data) if offset != NO_STRING]
    if not used:
        return 0, []
    from_start, from_end = (_leading_to_strings(data, used, head, base) for base in (0, head))
    if from_end > from_start:
        return head, ["offsets count from the end of the headers (MS-PCQ 2.2.4.4, against perflib.h)"]
    if from_end == from_start > 0:
        return 0, ["offsets fit both readings; taken from the start of the block (Windows SDK, perflib.h)"]
    return 0, ["offsets count from the start of the block (Windows SDK, perflib.h)"]


def _leading_to_strings(data: bytes, offsets: list[int], head: int, base: int) -> int:
    """Counts the offsets of a string table that fit a reading: from its `base`, they lead to where the headers (of `head` bytes) or
    a string have just ended."""
    places = (base + offset for offset in offsets)
    return sum(
        at == head or (head < at and at % 2 == 0 and data[at - 2 : at] == b"\0\0")
        for at in places
        if at + 2 <= len(data)
    )


def check_strings(data: bytes, base: int) -> None:
    """Raises `MalformedError` for a string table whose strings, in the chosen reading, share its bytes more than twice over.

    Each string is a copy, and nothing else limits how many offsets of a forged table point into one long string.
    """
    left = 2 * len(data) + 1024
    for offset in offsets_of_strings(data):
        if offset != NO_STRING:
            end = data.find(b"\0\0", base + offset)
            left -= (len(data) if end < 0 else end) - min(base + offset, len(data))
            if left < 0:
                raise MalformedError("the strings overlap", field="strings", start=8, stop=len(data))


def offsets_of_strings(data: bytes) -> list[int]:
    """Returns the dwOffset of each header of a string table, which two readings explain, as far as the headers were captured."""
    count = STRING_TABLE.unpack_from(data)[1] if len(data) > STRING_TABLE.size else 0
    heads = data[STRING_TABLE.size :]
    whole = min(count, len(heads) // STRING_HEADER.size) * STRING_HEADER.size
    return [offset for _, offset in STRING_HEADER.iter_unpack(heads[:whole])]


class StringOffsets(NamedTuple):
    """What a check finds of a string table in a buffer: the base of its offsets (0: its start, else the end of its headers), and
    the offsets that lead to no string."""

    base: int
    lost: list[int]

    @property
    def counts_from_start(self) -> bool:
        return not self.base


def string_offsets(data: bytes, offsets: Sequence[int], head: int) -> StringOffsets:
    """Checks the offsets of a string table in a buffer: returns the base with which fewer are lost; if both are equal, the one that
    decoding takes. `head` bytes are headers."""
    taken, _ = string_table_base(data)
    bases = (taken, 0 if taken else head)
    return min(
        (StringOffsets(base, _lost_strings(data, offsets, head, base)) for base in bases), key=lambda one: len(one.lost)
    )


def _lost_strings(data: bytes, offsets: Sequence[int], head: int, base: int) -> list[int]:
    """Tests a reading of the offsets in a string table: returns those that lead to no UTF-16 string with a NUL after the headers of
    the buffer. 0xFFFFFFFF leads to none on purpose."""
    # Characters take two bytes, and all that precedes the first string a multiple of that: no string begins at an odd place.
    last = data.rfind(b"\0\0")
    while last > 0 and last % 2:
        last = data.rfind(b"\0\0", 0, last + 1)
    return [
        number
        for number, offset in enumerate(offsets)
        if offset != NO_STRING and ((base + offset) % 2 or not head <= base + offset <= last)
    ]
