"""Trees of performance data as JSON text: an undamaged buffer in, what orjson makes of its tree out, without the tree.

The text of a buffer is written around places for its values, which are then filled in all at once. Answers of the same layout
(`vector.PartReader`) have the same text around their clocks and values, so that only these are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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


# Text with places for values, and how many these are. Texts of some thousand values are filled in at once; one for a buffer of
# millions would be copied again and again while it grows.
_Piece = tuple[bytes, int]
_VALUES_AT_ONCE = 2_000


class ReadyTrees:
    """Makes the JSON text of one buffer after the other."""

    def __init__(self) -> None:
        self._reader = PartReader()
        self._pieces: WeakKeyDictionary[Layout, list[_Piece]] = WeakKeyDictionary()

    def json(self, kind: str, data: bytes) -> bytes | None:
        """The text of the tree; None where `decode_buffer` has to be asked."""
        if kind != "perf-data":
            return None
        read = self._reader.read(data)
        if read is None or read.layout.places is None:
            return regular_json(data)
        pieces: Iterable[_Piece] | None = self._pieces.get(read.layout)
        if pieces is None:
            regular = read_regular(data)
            if regular is None:
                return None
            pieces = _grouped(_pieces(data, regular[1]))
            if self._reader.remembers(read.layout):
                pieces = self._pieces[read.layout] = list(pieces)
        held = read.layout.data_sizes >= 0
        values = read.values if held.all() else read.values[held]
        return _filled(data, pieces, lambda start, stop: values[start:stop].tolist())


def regular_json(data: bytes) -> bytes | None:
    """The text of the tree of one buffer, by the road of `fast`."""
    read = read_regular(data)
    if read is None:
        return None
    values = [value for block in read[1] for row in block.rows for value in row_values(data, row)]

    def json_values(start: int, stop: int) -> list[int | bytes]:
        return [value if isinstance(value, int) else orjson.dumps(value) for value in values[start:stop]]

    return _filled(data, _grouped(_pieces(data, read[1])), json_values)


def _filled(data: bytes, pieces: Iterable[_Piece], values: Callable[[int, int], Sequence[int | bytes]]) -> bytes:
    """The text of a buffer, with its header and values."""
    out = [_HEADER_TEXT % HEADER.unpack_from(data)]
    at = 0
    for text, count in pieces:
        out.append(text % tuple(values(at, at + count)))
        at += count
    return b"".join(out)


def _grouped(pieces: Iterable[_Piece]) -> Iterator[_Piece]:
    texts: list[bytes] = []
    count = 0
    for text, more in pieces:
        texts.append(text)
        count += more
        if count >= _VALUES_AT_ONCE:
            yield b"".join(texts), count
            texts.clear()
            count = 0
    yield b"".join(texts), count


def _pieces(data: bytes, blocks: list[RegularBlock]) -> Iterator[_Piece]:
    """All of a buffer behind its header."""
    for number, block in enumerate(blocks):
        if number:
            yield b",", 0
        yield from _block_pieces(data, block)
    yield b"]}", 0


def _block_pieces(data: bytes, block: RegularBlock) -> Iterator[_Piece]:
    head = b'{"status":%d,"block_type":%d,"size":%d,"reserved":%d,"body":{' % (
        *(block.status, block.kind),
        *(block.size, block.reserved),
    )
    if block.ids is not None:
        size, ids = block.ids
        numbers = orjson.dumps(ids)
        head += b'"counters":{"size":%d,"num_counters":%d,"counter_ids":%b}' % (size, len(ids), numbers)
        head += b"," if block.kind != ERROR else b""
    if block.kind in (SINGLE, COUNTERS):
        shape = block.rows[0][4]
        data_text = shape.json if block.kind == SINGLE else b"[" + shape.json + b"]"
        yield head + b'"data":' + data_text + b"}}", len(shape.sizes)
        return
    if block.kind == ERROR:
        yield head + b"}}", 0
        return
    counts = b'"instances":{"total_size":%d,"num_instances":%d,' % (block.total_size or 0, len(block.rows))
    yield head + counts + b'"instances":[', 0
    for number, row in enumerate(block.rows):
        yield (b"," if number else b"") + _instance_text(data, row), len(row[4].sizes)
    yield b"]}}}", 0


def _instance_text(data: bytes, row: Row) -> bytes:
    size, number, start, stop, shape = row
    name = orjson.dumps(utf16_text(data[start:stop])).replace(b"%", b"%%")
    return b'{"header":{"size":%d,"instance_id":%d,"name":' % (size, number) + name + b'},"data":[' + shape.json + b"]}"
