"""Trees of performance data as JSON text: an undamaged buffer in, what orjson makes of its tree out, without the tree.

The text of a buffer is written around places for its values, which are then filled in all at once. Answers of the same layout
(`vector.PartReader`) have the same text around their clocks and values, so that only these are looked at.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import orjson

from analyzer.buffers.fast import (
    CLOCK,
    COUNTERS,
    ERROR,
    HEADER,
    SINGLE,
    RegularBlock,
    Row,
    read_regular,
    row_values,
)
from analyzer.buffers.text import utf16_text
from analyzer.buffers.vector import Layout, PartReader

_HEADER_TEXT = (
    b'{"total_size":%d,"num_blocks":%d,"perf_time_stamp":%d,"perf_time_100ns":%d,"perf_freq":%d,'
    b'"system_time":{' + b",".join(b'"%b":%%d' % name.encode() for name in CLOCK) + b'},"blocks":['
)


class ReadyTrees:
    """Makes the JSON text of one buffer after the other."""

    def __init__(self) -> None:
        self._reader = PartReader()
        self._texts: WeakKeyDictionary[Layout, bytes] = WeakKeyDictionary()

    def json(self, kind: str, data: bytes) -> bytes | None:
        """The text of the tree; None where `decode_buffer` has to be asked."""
        if kind != "perf-data":
            return None
        read = self._reader.read(data)
        if read is None or read.layout.places is None:
            return regular_json(data)
        text = self._texts.get(read.layout)
        if text is None:
            regular = read_regular(data)
            if regular is None:
                return None
            text = self._texts[read.layout] = _text(data, regular[1])
        held = read.layout.data_sizes >= 0
        values = read.values if held.all() else read.values[held]
        return text % (*HEADER.unpack_from(data), *values.tolist())


def regular_json(data: bytes) -> bytes | None:
    """The text of the tree of one buffer, by the road of `fast`."""
    read = read_regular(data)
    if read is None:
        return None
    header, blocks = read
    values = (value for block in blocks for row in block.rows for value in row_values(data, row))
    return _text(data, blocks) % (
        *header,
        *(value if isinstance(value, int) else orjson.dumps(value) for value in values),
    )


def _text(data: bytes, blocks: list[RegularBlock]) -> bytes:
    """The text of a buffer, with places for its header and values."""
    return _HEADER_TEXT + b",".join(_block_text(data, block) for block in blocks) + b"]}"


def _block_text(data: bytes, block: RegularBlock) -> bytes:
    parts = []
    if block.ids is not None:
        size, ids = block.ids
        numbers = orjson.dumps(ids)
        parts.append(b'"counters":{"size":%d,"num_counters":%d,"counter_ids":%b}' % (size, len(ids), numbers))
    if block.kind == SINGLE:
        parts.append(b'"data":' + block.rows[0][4].json)
    elif block.kind == COUNTERS:
        parts.append(b'"data":[' + block.rows[0][4].json + b"]")
    elif block.kind != ERROR:
        numbers = b'"instances":{"total_size":%d,"num_instances":%d,' % (block.total_size or 0, len(block.rows))
        instances = b",".join(_instance_text(data, row) for row in block.rows)
        parts.append(numbers + b'"instances":[' + instances + b"]}")
    head = b'{"status":%d,"block_type":%d,"size":%d,"reserved":%d,"body":{' % (
        *(block.status, block.kind),
        *(block.size, block.reserved),
    )
    return head + b",".join(parts) + b"}}"


def _instance_text(data: bytes, row: Row) -> bytes:
    size, number, start, stop, shape = row
    name = orjson.dumps(utf16_text(data[start:stop])).replace(b"%", b"%%")
    return b'{"header":{"size":%d,"instance_id":%d,"name":' % (size, number) + name + b'},"data":[' + shape.json + b"]}"
