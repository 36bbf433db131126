"""Shortens a regular PERF_DATA_BLOCK (`winperf_layout`) to one instance of each shape.

Instances of an object have one shape if their fields stand in the same places: definition, name and counter block have equal
lengths. So the fields of one are those of the other, with other values.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from analyzer.interfaces.buffers.struct_layouts import (
    WINPERF_HEADER,
    WINPERF_INSTANCE,
    WINPERF_LENGTH,
    WINPERF_OBJECT,
    WINPERF_OBJECT_COUNTS,
    WINPERF_TOTAL,
)
from analyzer.interfaces.buffers.windows_text import utf16_length
from analyzer.interfaces.buffers.winperf_layout import WinperfParts


class InstancePlace(Struct, frozen=True):
    """The place of an instance in its PERF_DATA_BLOCK. `shape` is the number of the instance in the shorter block that has its
    shape."""

    start: int
    stop: int
    shape: int


def one_of_each_shape(data: bytes, block: WinperfParts) -> tuple[bytes, tuple[tuple[InstancePlace, ...], ...]]:
    """Returns a PERF_DATA_BLOCK with one instance of each shape, and the places of all instances of each object.

    The lengths and numbers in the shorter block fit it. A block whose name lies among its objects is not shortened.
    """
    _, header_length, *_, name_length, name_offset = WINPERF_HEADER.unpack_from(data)
    is_shorter = not name_length or name_offset + name_length <= header_length
    places = tuple(tuple(_places(data, block, number)) for number in range(len(block.layout.objects)))
    shorter, done = bytearray(), 0
    for start, found in zip(block.layout.starts, places, strict=True):
        kept = {place.shape: place for place in reversed(found)}
        if not is_shorter or len(kept) == len(found):
            continue
        shorter += data[done:start]
        at = len(shorter)
        shorter += data[start : found[0].start]
        for shape in sorted(kept):
            shorter += data[kept[shape].start : kept[shape].stop]
        done = found[-1].stop
        for (place, size), number in zip(WINPERF_OBJECT_COUNTS, (len(shorter) - at, len(kept)), strict=True):
            shorter[at + place : at + place + size] = number.to_bytes(size, "little")
    shorter += data[done:]
    place, size = WINPERF_TOTAL[0]
    total = int.from_bytes(data[place : place + size], "little") + len(shorter) - len(data)
    shorter[place : place + size] = total.to_bytes(size, "little")
    return bytes(shorter), places


def _places(data: bytes, block: WinperfParts, number: int) -> Iterator[InstancePlace]:
    """Yields the places of the instances of an object in a PERF_DATA_BLOCK. The first of each shape gets the next number."""
    item, start = block.layout.objects[number], block.layout.starts[number]
    if item.num_instances <= 0:
        return
    length, definition_length, *_ = WINPERF_OBJECT.unpack_from(data, start)
    end, at = start + length, start + definition_length
    blocks = block.layout.blocks[number]
    shapes: dict[tuple[int, ...], int] = {}
    for count, values in enumerate(blocks):
        described, _, _, _, offset, size = WINPERF_INSTANCE.unpack_from(data, at)
        (room,) = WINPERF_LENGTH.unpack_from(data, values)
        # The last counter block has the rest of the object to itself (ksy/winperf.ksy), whatever its length says.
        stop = values + room if count < len(blocks) - 1 else end
        name = data[at + offset : at + offset + size]
        used = name.find(b"\0") if item.code_page else utf16_length(name)
        # Text among the values is read of the instance itself.
        of_its_own = count if block.layout.mixed[number] else -1
        shape = described, offset, size, used, room, stop - values, of_its_own
        yield InstancePlace(at, stop, shapes.setdefault(shape, len(shapes)))
        at = stop
