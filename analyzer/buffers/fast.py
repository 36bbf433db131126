"""The fast path for performance data (MS-PCQ 2.2.4.7): undamaged buffers in, the plain parser's trees and rows out.

Every size has to be what the layout makes it, every byte has to belong to something, and nothing may call for a remark.
Anything else is None here and is left to the compiled parser, against which all results are tested. Within a
block, instances nearly always have values of the same sizes: the first one's are planned as one `Struct` for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from analyzer.buffers.layout import (
    BLOCK,
    CLOCK,
    COUNTER_IDS,
    COUNTERS,
    COUNTERSET,
    DATA_HEADER,
    ERROR,
    INSTANCE_HEADER,
    INSTANCES,
    INSTANCES_HEADER,
    KINDS,
    SINGLE,
    IrregularError,
    Shape,
    shape_at,
    u4s,
)
from analyzer.buffers.text import utf16_text

# Of one instance: size of its header, id, start of the name, start of the values (where the name ends), and their shape.
# Values that belong to no instance have a row with a header size of 0.
Row = tuple[int, int, int, int, Shape]


class RegularBlock(Struct, frozen=True):
    """A block, its counter ids (size, ids) and the size of its instances where its type has them, and its rows."""

    status: int
    kind: int
    size: int
    reserved: int
    ids: tuple[int, tuple[int, ...]] | None
    total_size: int | None
    rows: list[Row]


def read_regular(data: bytes) -> tuple[tuple[int, ...], list[RegularBlock]] | None:
    """The header's fields and the blocks of a buffer in which everything is as it should be."""
    if len(data) < DATA_HEADER.size:
        return None
    header = DATA_HEADER.unpack_from(data)
    if header[0] != len(data) or header[1] * BLOCK.size > len(data):
        return None
    blocks = []
    at = DATA_HEADER.size
    try:
        for _ in range(header[1]):
            block = _block(data, at)
            blocks.append(block)
            at += block.size
    except IrregularError:
        return None
    return (header, blocks) if at == len(data) else None


def _block(data: bytes, start: int) -> RegularBlock:
    if start + BLOCK.size > len(data):
        raise IrregularError
    status, kind, size, reserved = BLOCK.unpack_from(data, start)
    stop = start + size
    if kind not in KINDS or size < BLOCK.size or stop > len(data):
        raise IrregularError
    at = start + BLOCK.size
    ids: tuple[int, tuple[int, ...]] | None = None
    count = 1
    if kind in (COUNTERS, COUNTERSET):
        if at + 8 > stop:
            raise IrregularError
        ids_size, count = COUNTER_IDS.unpack_from(data, at)
        # Ids that leave what follows unaligned can be read in two ways.
        if ids_size < 8 or ids_size % 8 or at % 8 or count > (ids_size - 8) // 4 or at + ids_size > stop:
            raise IrregularError
        ids = ids_size, u4s(data, at + COUNTER_IDS.size, count)
        at += ids_size
    total_size: int | None = None
    rows: list[Row] = []
    if kind in (SINGLE, COUNTERS):
        shape = shape_at(data, at, stop, count)
        rows.append((0, -1, at, at, shape))
        at += shape.length
    elif kind in (INSTANCES, COUNTERSET):
        if at + 8 > stop:
            raise IrregularError
        total_size, number = INSTANCES_HEADER.unpack_from(data, at)
        if total_size != stop - at:
            raise IrregularError
        at = _instances(data, at + 8, stop, number, count, rows)
    if at != stop:
        raise IrregularError
    return RegularBlock(status, kind, size, reserved, ids, total_size, rows)


def _instances(data: bytes, at: int, stop: int, number: int, count: int, rows: list[Row]) -> int:
    """Adds the rows of `number` instances of `count` values each; where they end."""
    if number * 8 > stop - at:
        raise IrregularError
    if number == 0:
        return at
    read_pair = INSTANCE_HEADER.unpack_from
    shape: Shape | None = None
    length = 0
    for _ in range(number):
        if at + 8 > stop:
            raise IrregularError
        size, instance_id = read_pair(data, at)
        begin = at + size
        if size < 8 or begin > stop:
            raise IrregularError
        if shape is None or begin + length > stop or not shape.fits(shape.ints.unpack_from(data, begin)):
            shape = shape_at(data, begin, stop, count)
            length = shape.length
        rows.append((size, instance_id, at + 8, begin, shape))
        at = begin + length
    return at


def regular_tree(data: bytes) -> dict[str, Any] | None:
    """The tree of a regular buffer, as `decode_buffer` has it."""
    read = read_regular(data)
    if read is None:
        return None
    header, blocks = read
    return {
        "total_size": header[0],
        "num_blocks": header[1],
        "perf_time_stamp": header[2],
        "perf_time_100ns": header[3],
        "perf_freq": header[4],
        "system_time": dict(zip(CLOCK, header[5:], strict=True)),
        "blocks": [
            {
                "status": block.status,
                "block_type": block.kind,
                "size": block.size,
                "reserved": block.reserved,
                "body": _body_tree(data, block),
            }
            for block in blocks
        ],
    }


def _body_tree(data: bytes, block: RegularBlock) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if block.ids is not None:
        size, ids = block.ids
        body["counters"] = {"size": size, "num_counters": len(ids), "counter_ids": list(ids)}
    if block.kind == SINGLE:
        body["data"] = _row_tree(data, block.rows[0])[0]
    elif block.kind == COUNTERS:
        body["data"] = _row_tree(data, block.rows[0])
    elif block.kind != ERROR:
        body["instances"] = {
            "total_size": block.total_size,
            "num_instances": len(block.rows),
            "instances": [
                {
                    "header": {"size": size, "instance_id": number, "name": utf16_text(data[start:stop])},
                    "data": _row_tree(data, row),
                }
                for row in block.rows
                for size, number, start, stop, _ in (row,)
            ],
        }
    return body


def row_values(data: bytes, row: Row) -> list[int | str]:
    """The values of a row."""
    return row[4].values(data, row[3])


def _row_tree(data: bytes, row: Row) -> list[dict[str, Any]]:
    shape = row[4]
    return [
        {"data_size": held, "size": size, "value": value}
        for held, size, value in zip(shape.data_sizes, shape.sizes, row_values(data, row), strict=True)
    ]


RawRow = tuple[int, int, int, int | None, str | None, int | None, bytes | None]


def rows_of(data: bytes, blocks: Sequence[RegularBlock]) -> Iterator[RawRow]:
    """What `PerfRow` consists of, value by value."""
    for number, block in enumerate(blocks):
        if block.kind == ERROR:
            yield number, ERROR, block.status, None, None, None, None
            continue
        ids: Sequence[int | None] = (None,) if block.ids is None else block.ids[1]
        kind, status = block.kind, block.status
        for size, number_of_instance, start, begin, shape in block.rows:
            name = utf16_text(data[start:begin]) if size else None
            instance = number_of_instance if size else None
            for counter, value in zip(ids, shape.raw.unpack_from(data, begin)[2::3], strict=True):
                yield number, kind, status, counter, name, instance, value
