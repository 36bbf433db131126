"""Makes the tree of a regular PERF_DATA_BLOCK from its layout (`winperf_layout`). It equals that of `decode_buffer`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, repeat
from typing import Any

import orjson

from analyzer.interfaces.buffers.struct_layouts import (
    CLOCK,
    WINPERF_DEFINITION,
    WINPERF_DEFINITION_FIELDS,
    WINPERF_HEADER,
    WINPERF_INSTANCE,
    WINPERF_INSTANCE_FIELDS,
    WINPERF_LENGTH,
    WINPERF_OBJECT_FIELDS,
    WINPERF_WHOLE_HEADER,
    WINPERF_WHOLE_OBJECT,
)
from analyzer.interfaces.buffers.windows_text import utf16_text
from analyzer.interfaces.buffers.winperf_layout import WINPERF, WinperfParts, mixed_object
from analyzer.interfaces.buffers.winperf_object_values import PERF_NO_INSTANCES, CounterDefinition

_Values = list[int | str | None]
# Stands for a number in text: JSON has no such character elsewhere.
_NUMBER = orjson.Fragment(b"\0")
# Names of the clocks in headers and objects, beside SYSTEMTIME.
_TICKS = {"perf_time", "perf_freq", "perf_time_100ns"}


def winperf_tree(data: bytes) -> dict[str, Any] | None:
    """Returns the tree of a regular PERF_DATA_BLOCK. None if it is irregular or calls for a remark (`remarks`)."""
    block = WINPERF.read(data)
    return _tree(data, block, iter(block.values.tolist())) if block is not None and is_plain(data, block) else None


def winperf_form(data: bytes, block: WinperfParts) -> bytes | None:
    """Returns the tree of a regular PERF_DATA_BLOCK as JSON text for all blocks of its layout, with a NUL for each of
    `winperf_numbers`. None if it calls for a remark, or values are text."""
    if any(block.layout.mixed) or not is_plain(data, block):
        return None
    tree = _tree(data, block, repeat(_NUMBER))
    tree["system_time"] = dict.fromkeys(CLOCK, _NUMBER)
    for structure in (tree, *(item["body"] for item in tree["objects"])):
        structure.update(dict.fromkeys(structure.keys() & _TICKS, _NUMBER))
    return orjson.dumps(tree)


def winperf_numbers(data: bytes, block: WinperfParts) -> list[int]:
    """Returns the clocks and values of a PERF_DATA_BLOCK, in the order of its tree."""
    layout = block.layout
    values = iter(block.values.tolist())
    numbers = [*winperf_header(data)["system_time"].values(), block.perf_time, block.perf_freq, block.perf_time_100ns]
    for clocks, item, blocks in zip(block.object_clocks, layout.objects, layout.blocks, strict=True):
        numbers += clocks
        numbers += islice(values, len(blocks) * sum(definition.size > 0 for definition in item.definitions))
    return numbers


def winperf_header(data: bytes) -> dict[str, Any]:
    """Returns the header fields of a regular PERF_DATA_BLOCK, which stand before its objects."""
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
    """Whether a PERF_DATA_BLOCK calls for no remark: its lengths agree with each other, and no bytes are left over."""
    layout = block.layout
    total, at, *_ = WINPERF_HEADER.unpack_from(data)
    for start, item, blocks in zip(layout.starts, layout.objects, layout.blocks, strict=True):
        at = start + WINPERF_LENGTH.unpack_from(data, start)[0]
        needed = max((one.offset + one.size for one in item.definitions if one.size), default=0)
        if blocks and WINPERF_LENGTH.unpack_from(data, blocks[-1])[0] < needed:
            return False
    return (not layout.starts or at <= total) and not data[at:].strip(b"\0")
