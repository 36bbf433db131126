"""Makes the tree of a regular buffer of performance data from its layout (`perf_data_layout`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from analyzer.interfaces.buffers.perf_data_layout import (
    PERF_DATA,
    Grid,
    PerfDataLayout,
    PerfDataParts,
    Singles,
    arrays_joined,
)
from analyzer.interfaces.buffers.struct_layouts import BLOCK, CLOCK, COUNTER_IDS, DATA_HEADER, INSTANCE_SIZE
from analyzer.interfaces.buffers.windows_text import counter_value
from analyzer.results.methods.perflib import COUNTERS, COUNTERSET, ERROR, SINGLE


class BlockParts(Struct, frozen=True):
    """One block of performance data (MS-PCQ), as its tree needs it: the fields of its header, where it begins, and its
    contents.

    `ids` are the size of its counter ids and the ids, None if its type has none. `pairs` are dwDataSize and dwSize of each value of
    a block without instances, `grids` the instances of a block with them.
    """

    start: int
    status: int
    kind: int
    size: int
    reserved: int
    ids: tuple[int, Sequence[int]] | None
    pairs: tuple[tuple[int, int], ...]
    grids: Sequence[Grid]


def block_parts(data: bytes, layout: PerfDataLayout) -> Iterator[BlockParts]:
    """Yields the blocks for the tree of performance data of this layout, in order."""
    count = len(layout.starts) - 1
    grids: dict[int, list[Grid]] = {}
    singles: list[Singles] = []
    for part in layout.parts:
        if isinstance(part, Grid):
            grids.setdefault(part.block, []).append(part)
        else:
            singles.append(part)
    held, sizes, counters = (
        (
            arrays_joined(columns, np.int64).tolist()
            for columns in zip(*((one.data_size, one.size, one.counter_id) for one in singles), strict=True)
        )
        if singles
        else ([], [], [])
    )
    bounds = np.searchsorted(arrays_joined([one.block for one in singles], np.int64), np.arange(count + 1)).tolist()
    for number in range(count):
        start = layout.starts[number]
        status, kind, size, reserved = BLOCK.unpack_from(data, start)
        first, stop = bounds[number], bounds[number + 1]
        within = grids.get(number, ())
        ids: tuple[int, Sequence[int]] | None = None
        if kind in (COUNTERS, COUNTERSET):
            found = within[0].counter_ids if within else counters[first:stop]
            ids = COUNTER_IDS.unpack_from(data, start + BLOCK.size)[0], tuple(found or ())
        pairs = tuple(zip(held[first:stop], sizes[first:stop], strict=True)) if kind != ERROR else ()
        yield BlockParts(start, status, kind, size, reserved, ids, pairs, within)


def values_of(read: PerfDataParts) -> list[int | str]:
    """Returns all values for the tree of performance data, 0 for an error block."""
    values: list[int | str] = read.values.tolist()
    for at, text in read.layout.texts.items():
        values[at] = counter_value(text)
    return values


def instances_of(data: bytes, grid: Grid) -> Iterator[tuple[int, int, str]]:
    """Yields the size of the header, the id and the name of each instance in a block of performance data, for its tree and rows."""
    size_at = INSTANCE_SIZE.unpack_from
    for start, number, name in zip(grid.starts.tolist(), grid.instance_ids.tolist(), grid.names, strict=True):
        yield size_at(data, start)[0], number, name


def perf_data_tree(data: bytes) -> dict[str, Any] | None:
    """Returns the tree of a regular buffer of performance data, equal to that of `decode_buffer`. None if it is not regular."""
    read = PERF_DATA.read(data)
    if read is None:
        return None
    header = DATA_HEADER.unpack_from(data)
    values = iter(values_of(read))
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
                "body": _body_tree(data, block, values),
            }
            for block in block_parts(data, read.layout)
        ],
    }


def _body_tree(data: bytes, block: BlockParts, values: Iterator[int | str]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if block.ids is not None:
        size, ids = block.ids
        body["counters"] = {"size": size, "num_counters": len(ids), "counter_ids": list(ids)}
    if block.kind == ERROR:
        next(values)
    elif block.kind == SINGLE:
        body["data"] = _row_tree(block.pairs, values)[0]
    elif block.kind == COUNTERS:
        body["data"] = _row_tree(block.pairs, values)
    else:
        instances = [
            {"header": {"size": size, "instance_id": number, "name": name}, "data": _row_tree(pairs, values)}
            for grid in block.grids
            for pairs in (tuple(zip(grid.shape.data_sizes, grid.shape.sizes, strict=True)),)
            for size, number, name in instances_of(data, grid)
        ]
        total_size = block.size - BLOCK.size - (block.ids[0] if block.ids is not None else 0)
        body["instances"] = {"total_size": total_size, "num_instances": len(instances), "instances": instances}
    return body


def _row_tree(pairs: Sequence[tuple[int, int]], values: Iterator[int | str]) -> list[dict[str, Any]]:
    # The sizes come first: what ends a row are they, not the values.
    return [
        {"data_size": held, "size": size, "value": value} for (held, size), value in zip(pairs, values, strict=False)
    ]
