"""Makes tree, rows and columns of a regular buffer of performance data from its layout (`perf_data_layout`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from analyzer.core.caches import cached_property
from analyzer.core.errors import DecodeError
from analyzer.interfaces.buffers.perf_data_layout import (
    PERF_DATA,
    Grid,
    Ints,
    Part,
    PerfDataLayout,
    PerfDataParts,
    Singles,
    Words,
    arrays_joined,
)
from analyzer.interfaces.buffers.struct_layouts import BLOCK, CLOCK, COUNTER_IDS, DATA_HEADER, INSTANCE_SIZE
from analyzer.interfaces.buffers.windows_text import counter_value, utf16_text
from analyzer.results.methods.perflib import COUNTERS, COUNTERSET, ERROR, SINGLE

if TYPE_CHECKING:
    import numpy.typing as npt


class BlockParts(Struct, frozen=True):
    """One block of performance data (MS-PCQ), as its tree and rows need it: the fields of its header, where it begins, and its
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
    """Yields the blocks of a buffer of performance data of this layout, in order, for its tree and rows."""
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
    """Returns all values for the tree or rows of performance data, 0 for an error block."""
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


RawRow = tuple[int, int, int, int | None, str | None, int | None, bytes | None]


def rows_of(data: bytes, layout: PerfDataLayout) -> Iterator[RawRow]:
    """Yields the fields of each row (`PerfRow`) of performance data, value by value."""
    for part in layout.parts:
        if isinstance(part, Grid):
            yield from _grid_rows(data, part)
            continue
        arrays = part.block, part.block_type, part.status, part.counter_id, part.data_size, part.at
        for block, kind, status, counter, held, at in zip(*(array.tolist() for array in arrays), strict=True):
            value = data[at : at + held] if held >= 0 else None
            yield block, kind, status, None if counter < 0 else counter, None, None, value


def _grid_rows(data: bytes, grid: Grid) -> Iterator[RawRow]:
    head = grid.block, grid.block_type, grid.status
    ids: Sequence[int | None] = (None,) if grid.counter_ids is None else grid.counter_ids
    raw = grid.shape.raw.unpack_from
    for name, number, begin in zip(grid.names, grid.instance_ids.tolist(), grid.begins.tolist(), strict=True):
        for counter, value in zip(ids, raw(data, begin)[2::3], strict=True):
            yield *head, counter, name, number, value


class PerfColumns(Struct, frozen=True, eq=False, dict=True):
    """The values of performance data as columns of equal length, one entry a value, in the order of the rows (`PerfRow`).

    Missing ids are -1. `name` is a position in `names`, the distinct names of instances in order of appearance, or -1. `data_size`
    is -1 for an error block. If `is_int` is false, `value` is 0, and `texts` has the text at that position (nothing for an error
    block). `problem` is the damage that ends the columns, None for a whole buffer.
    """

    block: npt.NDArray[np.uint32]
    block_type: npt.NDArray[np.uint32]
    status: npt.NDArray[np.uint32]
    counter_id: Ints
    instance_id: Ints
    data_size: Ints
    value: Words
    is_int: npt.NDArray[np.bool_]
    texts: dict[int, str]
    # The name of each instance, and which instance a value is of: -1 for none.
    instance_names: Sequence[str]
    instance: Ints
    problem: DecodeError | None = None

    def __len__(self) -> int:
        return len(self.value)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.instance_names))

    @cached_property
    def name(self) -> Ints:
        if len(self.names) == len(self.instance_names):
            return self.instance
        numbers = {name: number for number, name in enumerate(self.names)}
        # The last entry is what -1 finds.
        return np.array([*(numbers[name] for name in self.instance_names), -1], np.int64)[self.instance]


def regular_columns(data: bytes, counters: Collection[int] | None = None) -> PerfColumns | None:
    """Returns the columns of a regular buffer of performance data, else None. With `counters`, instances keep only their first
    value and those that may be of these counters."""
    read = PERF_DATA.read(data)
    if read is None:
        return None
    columns, names = [], list[str]()
    start = 0
    for part in read.layout.parts:
        columns.append(_part_columns(part, start, len(names), counters))
        if isinstance(part, Grid):
            names.extend(part.names)
        start += len(part)
    joined = [arrays_joined(arrays, np.int64) for arrays in zip(*columns, strict=True)] or [np.empty(0, np.int64)] * 8
    block, kind, status, counter, number, instance, held, at = joined
    texts = {}
    is_int = held >= 0
    if read.layout.texts:
        is_text = np.isin(at, list(read.layout.texts))
        texts = {place: utf16_text(read.layout.texts[int(at[place])]) for place in np.flatnonzero(is_text).tolist()}
        is_int &= ~is_text
    return PerfColumns(
        block.astype(np.uint32),
        kind.astype(np.uint32),
        status.astype(np.uint32),
        counter,
        number,
        held,
        read.values[at] if counters is not None else read.values,
        is_int,
        texts,
        names,
        instance,
    )


def _part_columns(part: Part, start: int, named: int, counters: Collection[int] | None) -> tuple[npt.NDArray[Any], ...]:
    """Returns the columns of a part of performance data, for the wanted values: block, type, status, counter, instance id,
    instance, size, and place among all values. `start` values and `named` instances come before this part."""
    if isinstance(part, Singles):
        none, places = np.full(len(part), -1), np.arange(start, start + len(part))
        return part.block, part.block_type, part.status, part.counter_id, none, none, part.data_size, places
    rows, count = len(part.names), len(part.data_sizes)
    ids = np.full(count, -1) if part.counter_ids is None else np.array(part.counter_ids, np.int64)
    wanted = np.arange(count)
    if counters is not None:
        wanted = wanted[(wanted == 0) | (ids < 0) | np.isin(ids, list(counters))]
    chosen, sizes = len(wanted), np.array(part.data_sizes, np.int64)[wanted]
    return (
        *(np.full(rows * chosen, value, np.uint32) for value in (part.block, part.block_type, part.status)),
        *(np.tile(ids[wanted], rows), np.repeat(part.instance_ids, chosen)),
        *(np.repeat(np.arange(named, named + rows), chosen), np.tile(sizes, rows)),
        (np.arange(start, start + rows * count, count or 1)[:rows, None] + wanted).reshape(-1),
    )
