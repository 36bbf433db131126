"""The fast road for performance data (MS-PCQ 2.2.4.7): undamaged buffers in, the plain parser's trees, rows and columns out.

Every size has to be what the layout makes it, every byte has to belong to something, and nothing may call for a remark.
Whatever is otherwise is None here, and the plain parser has the word; it is also the test of all that is said here. Within a
block, instances nearly always have values of the same sizes: the first one's are planned as one `Struct` for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from typing import Any

import numpy as np
import numpy.typing as npt

from analyzer.buffers.adapt import counter_value
from analyzer.buffers.text import utf16_text

_HEADER = Struct("<II3Q8H")
_BLOCK = Struct("<4I")
_PAIR = Struct("<II")
_CLOCK = ("year", "month", "day_of_week", "day", "hour", "minute", "second", "milliseconds")
ERROR, SINGLE, COUNTERS, INSTANCES, COUNTERSET = 0, 1, 2, 4, 6
_KINDS = (ERROR, SINGLE, COUNTERS, INSTANCES, COUNTERSET)
# Wider rows are planned anew each time; the plans of a capture's countersets are few and small.
_LONGEST_PLAN = 1024


class _IrregularError(Exception):
    """Something the plain parser has to look at."""


class Shape:
    """The sizes of the values of one row (PERF_COUNTER_DATA, 2.2.4.9), and how to read a row that has them."""

    __slots__ = ("data_sizes", "ints", "length", "plain", "raw", "sizes", "texts")

    def __init__(self, pairs: Sequence[tuple[int, int]]) -> None:
        self.data_sizes = tuple(pair[0] for pair in pairs)
        self.sizes = tuple(pair[1] for pair in pairs)
        self.length = sum(self.sizes)
        self.texts = [at for at, size in enumerate(self.data_sizes) if size not in (4, 8)]
        pads = [size - 8 - held for held, size in pairs]
        kinds = {4: "I", 8: "Q"}
        self.ints = Struct(
            "<" + "".join(f"II{kinds.get(n, f'{n}s')}{pad}x" for n, pad in zip(self.data_sizes, pads, strict=True))
        )
        self.raw = Struct("<" + "".join(f"II{n}s{pad}x" for n, pad in zip(self.data_sizes, pads, strict=True)))

    def fits(self, row: tuple[Any, ...]) -> bool:
        return row[0::3] == self.data_sizes and row[1::3] == self.sizes

    def values(self, data: bytes, at: int) -> list[int | str]:
        """What the values at `at` say."""
        values = list(self.ints.unpack_from(data, at)[2::3])
        for text in self.texts:
            values[text] = counter_value(values[text])
        return values


_planned = lru_cache(maxsize=64)(Shape)


def _shape_at(data: bytes, at: int, stop: int, count: int) -> Shape:
    """The shape of the row of `count` values that begins at `at`."""
    if count * 8 > stop - at:
        raise _IrregularError
    pairs = []
    for _ in range(count):
        if at + 8 > stop:
            raise _IrregularError
        held, size = _PAIR.unpack_from(data, at)
        if size < 8 + held:
            raise _IrregularError
        pairs.append((held, size))
        at += size
    if at > stop:
        raise _IrregularError
    return _planned(tuple(pairs)) if count <= _LONGEST_PLAN else Shape(pairs)


# Of one instance: size of its header, id, start of the name, start of the values (where the name ends), and their shape.
# Values that belong to no instance have a row with a header size of 0.
Row = tuple[int, int, int, int, Shape]


@dataclass(frozen=True, slots=True)
class RegularBlock:
    """A block, its counter ids (size, ids) and the size of its instances where its type has them, and its rows."""

    status: int
    kind: int
    size: int
    reserved: int
    ids: tuple[int, tuple[int, ...]] | None
    total_size: int | None
    rows: list[Row]


def read_regular(data: bytes, *, proven: bool = True) -> tuple[tuple[int, ...], list[RegularBlock]] | None:
    """The header's fields and the blocks of a buffer in which everything is as it should be.

    Where not `proven`, the instances of a block are taken to have the shape of its first one, which is left to be proved.
    """
    if len(data) < _HEADER.size:
        return None
    header = _HEADER.unpack_from(data)
    if header[0] != len(data) or header[1] * _BLOCK.size > len(data):
        return None
    blocks = []
    at = _HEADER.size
    try:
        for _ in range(header[1]):
            block = _block(data, at, proven)
            blocks.append(block)
            at += block.size
    except _IrregularError:
        return None
    return (header, blocks) if at == len(data) else None


def _block(data: bytes, start: int, proven: bool) -> RegularBlock:
    if start + _BLOCK.size > len(data):
        raise _IrregularError
    status, kind, size, reserved = _BLOCK.unpack_from(data, start)
    stop = start + size
    if kind not in _KINDS or size < _BLOCK.size or stop > len(data):
        raise _IrregularError
    at = start + _BLOCK.size
    ids: tuple[int, tuple[int, ...]] | None = None
    count = 1
    if kind in (COUNTERS, COUNTERSET):
        if at + 8 > stop:
            raise _IrregularError
        ids_size, count = _PAIR.unpack_from(data, at)
        # Ids that leave what follows unaligned can be read in two ways.
        if ids_size < 8 or ids_size % 8 or at % 8 or count > (ids_size - 8) // 4 or at + ids_size > stop:
            raise _IrregularError
        ids = ids_size, Struct(f"<{count}I").unpack_from(data, at + 8)
        at += ids_size
    total_size: int | None = None
    rows: list[Row] = []
    if kind in (SINGLE, COUNTERS):
        shape = _shape_at(data, at, stop, count)
        rows.append((0, -1, at, at, shape))
        at += shape.length
    elif kind in (INSTANCES, COUNTERSET):
        if at + 8 > stop:
            raise _IrregularError
        total_size, number = _PAIR.unpack_from(data, at)
        if total_size != stop - at:
            raise _IrregularError
        at = _instances(data, at + 8, stop, number, count, rows, proven)
    if at != stop:
        raise _IrregularError
    return RegularBlock(status, kind, size, reserved, ids, total_size, rows)


def _instances(data: bytes, at: int, stop: int, number: int, count: int, rows: list[Row], proven: bool) -> int:
    """Adds the rows of `number` instances of `count` values each; where they end."""
    if number * 8 > stop - at:
        raise _IrregularError
    if number == 0:
        return at
    read_pair = _PAIR.unpack_from
    shape: Shape | None = None
    length = 0
    for _ in range(number):
        if at + 8 > stop:
            raise _IrregularError
        size, instance_id = read_pair(data, at)
        begin = at + size
        if size < 8 or begin > stop:
            raise _IrregularError
        if shape is None or begin + length > stop or (proven and not shape.fits(shape.ints.unpack_from(data, begin))):
            shape = _shape_at(data, begin, stop, count)
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
        "system_time": dict(zip(_CLOCK, header[5:], strict=True)),
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


def _row_tree(data: bytes, row: Row) -> list[dict[str, Any]]:
    shape = row[4]
    return [
        {"data_size": held, "size": size, "value": value}
        for held, size, value in zip(shape.data_sizes, shape.sizes, shape.values(data, row[3]), strict=True)
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


@dataclass(frozen=True, slots=True, eq=False)
class PerfColumns:
    """The values of performance data as columns of equal length, one entry a value, in the order of the rows (`PerfRow`).

    Ids are -1 where there is none. `name` is a position in `names`, the distinct names of instances in order of appearance, or
    -1. Where `is_int` does not hold, `value` is 0, and `texts` has the text at that position (nothing: an error block).
    """

    block: npt.NDArray[np.uint32]
    block_type: npt.NDArray[np.uint32]
    status: npt.NDArray[np.uint32]
    counter_id: npt.NDArray[np.int64]
    name: npt.NDArray[np.int64]
    instance_id: npt.NDArray[np.int64]
    value: npt.NDArray[np.uint64]
    is_int: npt.NDArray[np.bool_]
    names: tuple[str, ...]
    texts: dict[int, str]

    def __len__(self) -> int:
        return len(self.value)


_DTYPES = (np.uint32, np.uint32, np.uint32, np.int64, np.int64, np.int64, np.uint64, np.bool_)


def _columns(arrays: list[Any], names: dict[str, int], texts: dict[int, str]) -> PerfColumns:
    block, kind, status, counter, name, instance, value, is_int = arrays
    return PerfColumns(block, kind, status, counter, name, instance, value, is_int, tuple(names), texts)


def columns_of(rows: Sequence[RawRow]) -> PerfColumns:
    """Columns from rows, value by value."""
    names: dict[str, int] = {}
    texts: dict[int, str] = {}
    entries = []
    for at, (block, kind, status, counter, name, instance_id, raw) in enumerate(rows):
        value = counter_value(raw) if raw is not None else None
        if isinstance(value, str):
            texts[at] = value
        entries.append(
            (
                *(block, kind, status, -1 if counter is None else counter),
                -1 if name is None else names.setdefault(name, len(names)),
                -1 if instance_id is None else instance_id,
                value if isinstance(value, int) else 0,
                isinstance(value, int),
            )
        )
    columns = zip(*entries, strict=True) if entries else [()] * len(_DTYPES)
    arrays: list[Any] = [np.array(column, dtype) for column, dtype in zip(columns, _DTYPES, strict=True)]
    return _columns(arrays, names, texts)


def regular_columns(data: bytes) -> PerfColumns | None:
    """The columns of a regular buffer of numbers whose values are aligned; in no step is a value an object."""
    read = read_regular(data, proven=False)
    if read is None:
        return None
    words = np.frombuffer(data, "<u8", len(data) // 8)
    names: dict[str, int] = {}
    parts: list[tuple[npt.NDArray[Any], ...]] = []
    for number, block in enumerate(read[1]):
        if block.kind == ERROR:
            parts.append((*_repeated(1, number, ERROR, block.status), *_filled(1, -1, -1, -1), *_filled(1, 0, False)))
            continue
        if block.rows:
            part = _block_columns(words, data, block, names)
            if part is None:
                return None
            parts.append((*_repeated(len(part[0]), number, block.kind, block.status), *part))
    if len(parts) == 1:
        arrays: list[Any] = [part.astype(dtype, copy=False) for part, dtype in zip(parts[0], _DTYPES, strict=True)]
    else:
        arrays = [
            np.concatenate([np.empty(0, dtype), *(part[at].astype(dtype, copy=False) for part in parts)])
            for at, dtype in enumerate(_DTYPES)
        ]
    return _columns(arrays, names, {})


def _repeated(count: int, *values: int) -> tuple[npt.NDArray[Any], ...]:
    return tuple(np.full(count, value, np.uint32) for value in values)


def _filled(count: int, *values: int) -> tuple[npt.NDArray[Any], ...]:
    return tuple(np.full(count, value) for value in values)


def _block_columns(
    words: npt.NDArray[np.uint64], data: bytes, block: RegularBlock, names: dict[str, int]
) -> tuple[npt.NDArray[Any], ...] | None:
    """Counter ids, names, instance ids, values, and that these are numbers; None where a row turns out to be of another shape."""
    rows = block.rows
    shape = rows[0][4]
    starts = np.array([row[3] for row in rows], np.int64)
    if shape.texts or not shape.sizes or (starts % 8).any() or any(size % 8 for size in shape.sizes):
        return None
    if int(starts[-1]) + shape.length > 8 * len(words):
        return None
    offsets = np.cumsum((0, *shape.sizes[:-1]), dtype=np.int64)
    at = (starts // 8)[:, None] + (offsets // 8)[None, :]
    held = np.array(shape.data_sizes, np.uint64)
    if (words[at] != (np.array(shape.sizes, np.uint64) << np.uint64(32) | held)[None, :]).any():
        return None
    values = words[at + 1]
    short = held == 4
    if short.any():
        values[:, short] &= np.uint64(0xFFFFFFFF)
    count = len(shape.sizes)
    total = len(rows) * count
    ids = np.full(count, -1) if block.ids is None else np.array(block.ids[1], np.int64)
    if block.total_size is None:
        name = instance = np.full(total, -1)
    else:
        codes = [names.setdefault(utf16_text(data[row[2] : row[3]]), len(names)) for row in rows]
        name = np.repeat(np.array(codes, np.int64), count)
        instance = np.repeat(np.array([row[1] for row in rows], np.int64), count)
    return np.tile(ids, len(rows)), name, instance, values.reshape(-1), np.full(total, True)
