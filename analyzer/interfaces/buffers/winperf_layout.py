"""Reads an undamaged little-endian PERF_DATA_BLOCK (winperf.h) into columns: where each of its values stands.

Objects, definitions and instances are followed by their own lengths, like in `ksy/winperf.ksy`, and each of its conditions is
checked. If one does not hold, or anything is not aligned to 4 bytes, there is no result, and the compiled parser reads the block.
The tests compare these arrays with its results. The definitions show where the values of an instance stand, so all of them are
taken at once. An object that has text or numbers of odd sizes is read value by value (`mixed_object`). A block that differs from an
earlier one in clocks and values only, every other bit being equal, reads as that one did.

The tree of a regular block is made of its layout, and equals that of `decode_buffer`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
from msgspec import Struct
from msgspec.structs import replace

from analyzer.core.caches import cached_property
from analyzer.interfaces.buffers.compiled_parsers import TYPE_CLASS_MASK, TYPE_CLASS_TEXT, Encoding, winperf_value
from analyzer.interfaces.buffers.known_layouts import KnownLayout, SameLayout
from analyzer.interfaces.buffers.struct_layouts import CLOCK, IrregularError
from analyzer.interfaces.buffers.windows_text import code_page_text, utf16_text
from analyzer.interfaces.buffers.winperf_structs import (
    WINPERF_CLOCKS,
    WINPERF_DEFINITION,
    WINPERF_DEFINITION_FIELDS,
    WINPERF_HEADER,
    WINPERF_HEADER_LENGTH,
    WINPERF_INSTANCE,
    WINPERF_INSTANCE_FIELDS,
    WINPERF_LENGTH,
    WINPERF_OBJECT,
    WINPERF_OBJECT_CLOCK_PLACES,
    WINPERF_OBJECT_CLOCKS,
    WINPERF_OBJECT_FIELDS,
    WINPERF_OBJECT_LENGTH,
    WINPERF_WHOLE_HEADER,
    WINPERF_WHOLE_OBJECT,
)

if TYPE_CHECKING:
    import numpy.typing as npt

# ------------------------------------------------------------------------------------------------ winperf object values


# NumInstances of an object that never has instances; below that are those that carry metadata alone (winperf.h).
PERF_NO_INSTANCES, PERF_METADATA_MULTIPLE_INSTANCES, PERF_METADATA_NO_INSTANCES = -1, -2, -3


class CounterDefinition(Struct, frozen=True):
    """A PERF_COUNTER_DEFINITION: a counter of an object, and where its value stands in each counter block."""

    name_index: int
    help_index: int
    default_scale: int
    detail_level: int
    counter_type: int
    size: int
    offset: int


class WinPerfInstance(Struct, frozen=True):
    """A winperf instance and its values, one for each definition of the object (None: the counter has no value).

    The single instance of an object without instances has neither name nor references. A `unique_id` of None (UniqueID -1) means
    that the name identifies the instance; `name` is None if it has none.
    """

    name: str | None
    unique_id: int | None
    parent_index: int | None
    parent_instance: int | None
    values: tuple[int | str | None, ...]


class WinPerfObject(Struct, frozen=True):
    """A PERF_OBJECT_TYPE with its definitions and instances.

    `num_instances` is -1 for an object that never has instances. It is -2 and -3 for metadata alone, of an object with and without
    instances (winperf.h, PERF_METADATA_MULTIPLE_INSTANCES and PERF_METADATA_NO_INSTANCES): no `instances` then.
    """

    name_index: int
    help_index: int
    detail_level: int
    default_counter: int
    num_instances: int
    code_page: int
    perf_time: int
    perf_freq: int
    definitions: tuple[CounterDefinition, ...]
    instances: tuple[WinPerfInstance, ...]

    @property
    def is_metadata(self) -> bool:
        """Whether this object of a winperf block has counter definitions alone: it answers a query for metadata."""
        return self.num_instances < PERF_NO_INSTANCES


# ------------------------------------------------------------------------------------------------------- winperf layout


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
        """The positions where the values begin in a winperf block of this layout, also those of `mixed` objects: object by object,
        instance by instance."""
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
        """Reads the clocks and values of a winperf block that has this layout."""
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
    """Reads layout and values of a regular PERF_DATA_BLOCK. Returns None if anything in it is irregular."""
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
    """Reads the layout of a winperf object, and where the counter blocks of its instances begin."""
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
    """Returns a winperf instance of the layout, without its values, from the bytes of its definition."""
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
    """Returns the values of one counter of a winperf object in this layout, one for each instance."""
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
        """Reads a winperf block, faster if its layout was met before. Blocks of equal layout share one `layout` object."""
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


# -------------------------------------------------------------------------------------------------------- winperf trees


_Values = list[int | str | None]
# Stands for a number in text: JSON has no such character elsewhere.
_NUMBER = orjson.Fragment(b"\0")
# Names of the clocks in headers and objects, beside SYSTEMTIME.
_TICKS = {"perf_time", "perf_freq", "perf_time_100ns"}


def winperf_tree(data: bytes) -> dict[str, Any] | None:
    """Returns the tree of a regular winperf block by its layout. None if it is irregular or calls for a remark (`remarks`)."""
    block = WINPERF.read(data)
    return _tree(data, block, iter(block.values.tolist())) if block is not None and is_plain(data, block) else None


def winperf_form(data: bytes, block: WinperfParts) -> bytes | None:
    """Returns the tree of an undamaged PERF_DATA_BLOCK as JSON text for all blocks of its winperf layout, with a NUL for each of
    `winperf_numbers`. None if it calls for a remark, or values are text."""
    if any(block.layout.mixed) or not is_plain(data, block):
        return None
    tree = _tree(data, block, repeat(_NUMBER))
    tree["system_time"] = dict.fromkeys(CLOCK, _NUMBER)
    for structure in (tree, *(item["body"] for item in tree["objects"])):
        structure.update(dict.fromkeys(structure.keys() & _TICKS, _NUMBER))
    return orjson.dumps(tree)


def winperf_numbers(data: bytes, block: WinperfParts) -> list[int]:
    """Returns the clocks and values of a PERF_DATA_BLOCK by its layout, in the order of its tree."""
    layout = block.layout
    values = iter(block.values.tolist())
    numbers = [*winperf_header(data)["system_time"].values(), block.perf_time, block.perf_freq, block.perf_time_100ns]
    for clocks, item, blocks in zip(block.object_clocks, layout.objects, layout.blocks, strict=True):
        numbers += clocks
        numbers += islice(values, len(blocks) * sum(definition.size > 0 for definition in item.definitions))
    return numbers


def winperf_header(data: bytes) -> dict[str, Any]:
    """Returns the header fields of a PERF_DATA_BLOCK by its layout, which stand before its objects."""
    signature, order, version, revision, *lengths = WINPERF_WHOLE_HEADER.unpack_from(data)
    total, header_length, count, default, *clock = lengths[: 4 + len(CLOCK)]
    _, perf_time, perf_freq, perf_time_100ns, name_length, name_offset = lengths[4 + len(CLOCK) :]
    return {
        "signature": utf16_text(signature),
        "little_endian": order,
        "version": version,
        "revision": revision,
        "total_byte_length": total,
        "header_length": header_length,
        "num_object_types": count,
        "default_object": default,
        "system_time": dict(zip(CLOCK, clock, strict=True)),
        "perf_time": perf_time,
        "perf_freq": perf_freq,
        "perf_time_100ns": perf_time_100ns,
        "system_name_length": name_length,
        "system_name_offset": name_offset,
    }


def _tree(data: bytes, block: WinperfParts, values: Iterator[Any]) -> dict[str, Any]:
    tree = winperf_header(data)
    tree["objects"] = [_object_tree(data, block, number, values) for number in range(len(block.layout.objects))]
    start, length = tree["system_name_offset"], tree["system_name_length"]
    tree["system_name"] = utf16_text(data[start : start + length]) if length else None
    return tree


def _object_tree(data: bytes, block: WinperfParts, number: int, values: Iterator[Any]) -> dict[str, Any]:
    layout, start = block.layout, block.layout.starts[number]
    item = layout.objects[number]
    total, *fields = WINPERF_WHOLE_OBJECT.unpack_from(data, start)
    body = dict(zip(WINPERF_OBJECT_FIELDS[1:], fields, strict=True))
    at = start + body["header_length"]
    counters = []
    for _ in item.definitions:
        counters.append(dict(zip(WINPERF_DEFINITION_FIELDS, WINPERF_DEFINITION.unpack_from(data, at), strict=True)))
        at += counters[-1]["byte_length"]
    body["counters"] = counters
    if layout.mixed[number]:
        rows: Iterator[_Values] = (list(one.values) for one in mixed_object(data, block, number).instances)
    else:
        rows = (_row(item.definitions, values) for _ in item.instances)
    has_one = item.num_instances == PERF_NO_INSTANCES
    body["counter_block"] = _counter_block(data, layout.blocks[number][0], next(rows)) if has_one else None
    body["instances"] = None
    if item.num_instances >= 0:
        at, instances = start + body["definition_length"], []
        for instance, place, row in zip(item.instances, layout.blocks[number], rows, strict=True):
            length, *described = WINPERF_INSTANCE.unpack_from(data, at)
            definition = dict(zip(WINPERF_INSTANCE_FIELDS[1:], described, strict=True))
            definition["name"] = instance.name
            counter_block = _counter_block(data, place, row)
            instances.append({"byte_length": length, "definition": definition, "counter_block": counter_block})
            at = place + counter_block["byte_length"]
        body["instances"] = instances
    return {"total_byte_length": total, "body": body}


def _row(definitions: tuple[CounterDefinition, ...], values: Iterator[Any]) -> _Values:
    """Returns the tree of a winperf instance's values, None for a counter without size."""
    return [next(values) if definition.size else None for definition in definitions]


def _counter_block(data: bytes, at: int, values: _Values) -> dict[str, Any]:
    return {"byte_length": WINPERF_LENGTH.unpack_from(data, at)[0], "body": {"values": values}}


def is_plain(data: bytes, block: WinperfParts) -> bool:
    """Whether the layout of a PERF_DATA_BLOCK calls for no remark: its lengths agree with each other, and no bytes are left
    over."""
    layout = block.layout
    total, at, *_ = WINPERF_HEADER.unpack_from(data)
    for start, item, blocks in zip(layout.starts, layout.objects, layout.blocks, strict=True):
        at = start + WINPERF_LENGTH.unpack_from(data, start)[0]
        needed = max((one.offset + one.size for one in item.definitions if one.size), default=0)
        if blocks and WINPERF_LENGTH.unpack_from(data, blocks[-1])[0] < needed:
            return False
    return (not layout.starts or at <= total) and not data[at:].strip(b"\0")
