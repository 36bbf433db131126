"""Reads an undamaged little-endian PERF_DATA_BLOCK (winperf.h) into columns: where each of its values stands.

Objects, definitions and instances are followed by their own lengths, like in `ksy/winperf.ksy`, and each of its conditions is
checked. If one does not hold, or anything is not aligned to 4 bytes, there is no result, and the compiled parser reads the block.
The tests compare these arrays with its results. The definitions show where the values of an instance stand, so all of them are
taken at once. An object that has text or numbers of odd sizes is read value by value (`mixed_object`). A block that differs from an
earlier one in clocks and values only, every other bit being equal, reads as that one did.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from analyzer.core.cached_properties import cached_property
from analyzer.interfaces.buffers.compiled_values import TYPE_CLASS_MASK, TYPE_CLASS_TEXT, Encoding, winperf_value
from analyzer.interfaces.buffers.known_layouts import KnownLayout, SameLayout
from analyzer.interfaces.buffers.struct_layouts import (
    WINPERF_CLOCKS,
    WINPERF_DEFINITION,
    WINPERF_HEADER,
    WINPERF_HEADER_LENGTH,
    WINPERF_INSTANCE,
    WINPERF_LENGTH,
    WINPERF_OBJECT,
    WINPERF_OBJECT_CLOCK_PLACES,
    WINPERF_OBJECT_CLOCKS,
    WINPERF_OBJECT_LENGTH,
    IrregularError,
)
from analyzer.interfaces.buffers.windows_text import code_page_text, utf16_text
from analyzer.interfaces.buffers.winperf_object_values import (
    PERF_METADATA_NO_INSTANCES,
    PERF_NO_INSTANCES,
    CounterDefinition,
    WinPerfInstance,
    WinPerfObject,
)

# Blocks of so many bytes are compared with later ones.
MAX_BYTES = 8 * 1024 * 1024
# So many definitions of instances are known again, if each has no more bytes than these.
_KNOWN_INSTANCES, _SHORT_INSTANCE = 4096, 256
_SIGNATURE = "PERF".encode("utf-16-le") + b"\1\0\0\0"


class WinperfLayout(KnownLayout, frozen=True, eq=False):
    """The layout of a PERF_DATA_BLOCK: all of it except its clocks and values. `objects` have no clocks, and their instances no
    values.

    `places` states in which 4 bytes of the block each value begins, object by object, instance by instance, without counters that
    have no size, and without `mixed` objects; `wide` which of them have 8 bytes. `starts` states where each object begins, `blocks`
    where the values of its instances do.
    """

    objects: tuple[WinPerfObject, ...]
    mixed: tuple[bool, ...]
    starts: tuple[int, ...]
    blocks: tuple[tuple[int, ...], ...]
    places: npt.NDArray[np.int64]
    wide: npt.NDArray[np.bool_]

    @cached_property
    def value_starts(self) -> npt.NDArray[np.int64]:
        """The positions where the values begin in the PERF_DATA_BLOCK, also those of `mixed` objects: object by object, instance by
        instance."""
        found = [
            np.array([start + one.offset for start in blocks for one in item.definitions if one.size], np.int64)
            for item, blocks in zip(self.objects, self.blocks, strict=True)
        ]
        return np.concatenate([np.empty(0, np.int64), *found])

    @property
    def free(self) -> Iterator[npt.NDArray[np.int64]]:
        """Yields the 4-byte words that differ between PERF_DATA_BLOCKs of this layout: clocks and values."""
        yield from (np.arange(at // 4, (at + size) // 4) for at, size in WINPERF_CLOCKS)
        for start in self.starts:
            places = ((start + at, size) for at, size in WINPERF_OBJECT_CLOCK_PLACES)
            yield from (np.arange(at // 4, (at + size) // 4) for at, size in places)
        for item, is_mixed, blocks in zip(self.objects, self.mixed, self.blocks, strict=True):
            for definition in item.definitions if is_mixed else ():
                for begin in blocks if definition.size else ():
                    at = begin + definition.offset
                    yield np.arange(at // 4, (at + definition.size + 3) // 4)
        yield self.places
        yield self.places[self.wide] + 1

    def block(self, data: bytes) -> WinperfParts:
        """Reads the clocks and values of a PERF_DATA_BLOCK that has this layout."""
        words: npt.NDArray[np.uint32] = np.frombuffer(data, "<u4", len(data) // 4)
        values = words[self.places].astype(np.uint64)
        if self.wide.any():
            values[self.wide] |= words[self.places[self.wide] + 1].astype(np.uint64) << np.uint64(32)
        _, _, _, _, perf_time, perf_freq, perf_time_100ns, _, _ = WINPERF_HEADER.unpack_from(data)
        clocks = tuple(WINPERF_OBJECT_CLOCKS.unpack_from(data, start) for start in self.starts)
        return WinperfParts(perf_time, perf_freq, perf_time_100ns, clocks, self, values)


class WinperfParts(Struct, frozen=True, eq=False):
    """A PERF_DATA_BLOCK: its clocks, those of its objects, and its values in the order of the layout's places."""

    perf_time: int
    perf_freq: int
    perf_time_100ns: int
    object_clocks: tuple[tuple[int, int], ...]
    layout: WinperfLayout
    values: npt.NDArray[np.uint64]


def read_winperf(data: bytes) -> WinperfParts | None:
    """Reads the values of a regular PERF_DATA_BLOCK. Returns None if anything in it is irregular."""
    try:
        layout = _layout(data)
    except (IrregularError, struct.error):
        return None
    return layout.block(data)


def _layout(data: bytes) -> WinperfLayout:
    if data[: len(_SIGNATURE)] != _SIGNATURE:
        raise IrregularError
    total, header_length, count, _, _, _, _, name_length, name_offset = WINPERF_HEADER.unpack_from(data)
    if total > len(data) or header_length < WINPERF_HEADER_LENGTH or header_length > len(data):
        raise IrregularError
    if name_length and name_offset + name_length > len(data):
        raise IrregularError
    at = header_length
    objects, mixed, starts, blocks, places, wide = [], [], [], [], [], []
    for _ in range(count):
        (length,) = WINPERF_LENGTH.unpack_from(data, at)
        if length < WINPERF_OBJECT_LENGTH or at + length > len(data) or at % 4:
            raise IrregularError
        item, found = _object(data, at, at + length)
        objects.append(item)
        starts.append(at)
        blocks.append(found)
        held = [definition for definition in item.definitions if definition.size]
        mixed.append(any(_is_irregular(definition) for definition in item.definitions))
        if not mixed[-1]:
            offsets = np.array([definition.offset for definition in held], np.int64)
            places.append(((np.array(found, np.int64)[:, None] + offsets) // 4).reshape(-1))
            wide.append(np.tile(np.array([definition.size == 8 for definition in held], np.bool_), len(found)))
        at += length
    none = np.empty(0, np.int64)
    return WinperfLayout(
        *(tuple(objects), tuple(mixed), tuple(starts), tuple(blocks)),
        np.concatenate([none, *places]),
        np.concatenate([none.astype(np.bool_), *wide]),
    )


def _is_irregular(definition: CounterDefinition) -> bool:
    """Whether values of a winperf counter are other than numbers of 4 or 8 bytes at a multiple of 4."""
    is_text = definition.counter_type & TYPE_CLASS_MASK == TYPE_CLASS_TEXT
    return is_text or (definition.size not in (0, 4, 8)) or (definition.size > 0 and definition.offset % 4 > 0)


def _object(data: bytes, start: int, stop: int) -> tuple[WinPerfObject, tuple[int, ...]]:
    """Reads a winperf object, and where the counter blocks of its instances begin."""
    head, tail = WINPERF_OBJECT.unpack_from(data, start)[1:8], WINPERF_OBJECT.unpack_from(data, start)[8:]
    definition_length, header_length, name, _, help_index, _, detail = head
    number, default, instances, code_page = tail
    at = start + header_length
    if (
        header_length < WINPERF_OBJECT_LENGTH
        or definition_length < WINPERF_OBJECT_LENGTH
        or start + definition_length > stop
    ):
        raise IrregularError
    if instances < PERF_METADATA_NO_INSTANCES:
        raise IrregularError
    definitions = []
    for _ in range(number):
        length, title, _, help_title, _, scale, level, kind, size, offset = WINPERF_DEFINITION.unpack_from(data, at)
        if length < WINPERF_DEFINITION.size:
            raise IrregularError
        definitions.append(CounterDefinition(title, help_title, scale, level, kind, size, offset))
        at += length
    if at > start + definition_length:
        raise IrregularError
    held = [item for item in definitions if item.size]
    if any(item.offset < 4 for item in held):
        raise IrregularError
    end = max((item.offset + item.size for item in held), default=4)
    wanted = sum(item.size for item in held)
    made, blocks = [], []
    at = start + definition_length
    count = max(instances, int(instances == PERF_NO_INSTANCES))
    for number_of_instance in range(count):
        if instances == PERF_NO_INSTANCES:
            one = WinPerfInstance(None, None, None, None, ())
        else:
            (length,) = WINPERF_LENGTH.unpack_from(data, at)
            if length < WINPERF_INSTANCE.size or at + length > stop:
                raise IrregularError
            described = _known_instance if length <= _SHORT_INSTANCE else _instance
            one = described(data[at : at + length], code_page)
            at += length
        made.append(one)
        (length,) = WINPERF_LENGTH.unpack_from(data, at)
        room = stop - at if number_of_instance == count - 1 else length
        # Values may share bytes, which the parser allows within bounds of its own; none of the servers we know do that.
        if length < max(4, number) or at + length > stop or room < end or wanted > room or at % 4:
            raise IrregularError
        blocks.append(at)
        at += length
    item = WinPerfObject(name, help_index, detail, default, instances, code_page, 0, 0, tuple(definitions), tuple(made))
    return item, tuple(blocks)


def _instance(definition: bytes, code_page: int) -> WinPerfInstance:
    """Returns a winperf instance without its values, from the bytes of its definition."""
    length, parent, number, unique_id, offset, size = WINPERF_INSTANCE.unpack_from(definition)
    if size and (offset < 4 or offset + size > length):
        raise IrregularError
    name = None
    if size:
        raw = definition[offset : offset + size]
        name = code_page_text(raw, code_page) if code_page else utf16_text(raw)
    return WinPerfInstance(name, None if unique_id == -1 else unique_id, parent, number, ())


# The same processes, disks and threads are in one block after the other.
_known_instance = lru_cache(maxsize=_KNOWN_INSTANCES)(_instance)


def mixed_object(data: bytes, block: WinperfParts, number: int) -> WinPerfObject:
    """Returns a winperf object with its clocks and values, equal to the result of the compiled parser."""
    item = block.layout.objects[number]
    perf_time, perf_freq = block.object_clocks[number]
    instances = tuple(
        replace(instance, values=tuple(_value(data, start, definition) for definition in item.definitions))
        for instance, start in zip(item.instances, block.layout.blocks[number], strict=True)
    )
    return replace(item, perf_time=perf_time, perf_freq=perf_freq, instances=instances)


def counter_values(data: bytes, layout: WinperfLayout, number: int, column: int) -> list[int | str | None]:
    """Returns the values of one counter of a winperf object, one for each instance."""
    definition = layout.objects[number].definitions[column]
    return [_value(data, start, definition) for start in layout.blocks[number]]


def _value(data: bytes, start: int, definition: CounterDefinition) -> int | str | None:
    at = start + definition.offset
    return winperf_value(definition, data[at : at + definition.size] if definition.size else None, Encoding())


class WinperfReader:
    """Reads PERF_DATA_BLOCKs like `read_winperf`, but faster if a block has the layout of an earlier one."""

    def __init__(self) -> None:
        self._known: SameLayout[WinperfLayout, np.uint32] = SameLayout("<u4", MAX_BYTES)

    def read(self, data: bytes) -> WinperfParts | None:
        """Reads a PERF_DATA_BLOCK, faster if its layout was met before. Blocks of equal layout share one `layout` object."""
        layout = self._known.find(data)
        if layout is not None:
            return layout.block(data)
        block = read_winperf(data)
        if block is not None and not _is_name_free(data, block.layout):
            self._known.remember(data, block.layout, block.layout.free)
        return block


def _is_name_free(data: bytes, layout: WinperfLayout) -> bool:
    """Whether the system name of a PERF_DATA_BLOCK has words that differ between blocks of the layout: a damaged header can place
    it among the clocks or values."""
    _, header_length, *_, length, start = WINPERF_HEADER.unpack_from(data)
    if start >= WINPERF_HEADER_LENGTH and start + length <= header_length:
        return False
    name = np.arange(start // 4, (start + length + 3) // 4)
    return any(bool(np.isin(name, words).any()) for words in layout.free)


# All blocks of a process are read by this one, as `perf_data_layout.PERF_DATA` reads answers.
WINPERF: Final = WinperfReader()
