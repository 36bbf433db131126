"""Layouts of performance data, taken from the descriptions in ksy/: which fields of a structure stand where.

The compiled parsers are the reference. Readers that are faster or more tolerant use these layouts. All `struct` formats of our
buffers stand here, and those of winperf.h in `winperf_structs` (tests/interfaces/buffers/test_struct_layouts.py). None of them is
written by hand: they follow from the descriptions.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

from msgspec import Struct

from analyzer.core.ksy_layouts import Layouts
from analyzer.interfaces.buffers.ksy_descriptions import spec_texts
from analyzer.interfaces.buffers.windows_text import counter_value

_LAYOUTS = Layouts(spec_texts())
record, spans = _LAYOUTS.record, _LAYOUTS.spans


def names(paths: str | tuple[str, ...]) -> tuple[str, ...]:
    """Returns the names of the fixed fields of a performance data structure, in order."""
    return tuple(_LAYOUTS.places(paths))


def u4s(data: bytes, at: int, count: int) -> tuple[int, ...]:
    """Reads `count` unsigned 32-bit integers from a performance data buffer. Raises struct.error if there are fewer."""
    return struct.unpack_from(f"<{count}I", data, at)


# MS-PCQ 2.2.4.7 to 2.2.4.11: _PERF_DATA_HEADER, _PERF_COUNTER_HEADER, _PERF_COUNTER_DATA, _PERF_MULTI_COUNTERS,
# _PERF_MULTI_INSTANCES; 2.2.4.5 _PERF_INSTANCE_HEADER.
DATA_HEADER = record("ms_pcq_perf_data")
DATA_NUMBERS = record("ms_pcq_perf_data", "total_size", "num_blocks", "perf_time_stamp", "perf_time_100ns", "perf_freq")
BLOCK = record("ms_pcq_perf_data.block")
BLOCK_TYPE_AND_SIZE = record("ms_pcq_perf_data.block", "block_type", "size")
BLOCK_SIZE = record("ms_pcq_perf_data.block", "size")
COUNTER_DATA = record("ms_pcq_perf_data.counter_data")
COUNTER_IDS = record("ms_pcq_perf_data.counter_ids")
INSTANCES_HEADER = record("ms_pcq_perf_data.instances")
INSTANCE_HEADER = record("ms_pcq.instance_header")
INSTANCE_SIZE = record("ms_pcq.instance_header", "size")
CLOCK: tuple[str, ...] = names("ms_dtyp.systemtime")
# 2.2.4.1 _PERF_COUNTERSET_REG_INFO, 2.2.4.2 _PERF_COUNTER_REG_INFO, 2.2.4.3 _STRING_BUFFER_HEADER and 2.2.4.4
# _STRING_COUNTER_HEADER, 2.2.4.6 _PERF_COUNTER_IDENTIFIER.
COUNTERSET_INFO = record("ms_pcq_counterset_info")
COUNTER_INFO = record("ms_pcq.counter_reg_info")
STRING_TABLE = record("ms_pcq_string_table")
STRING_HEADER = record("ms_pcq_string_table.counter_string")
IDENTIFIER = record("ms_pcq_identifier_list.identifier")

# Wider rows are planned anew each time; the plans of a capture's countersets are few and small.
_LONGEST_PLAN = 1024


class IrregularError(Exception):
    """The error that a performance data buffer does not fit the struct layouts, so that the plain parser must read it."""


class Shape:
    """The struct layout of one row of performance data (PERF_COUNTER_DATA, 2.2.4.9): the sizes of its values, and how to read a row
    that has them."""

    __slots__ = ("_json", "data_sizes", "in_words", "ints", "length", "raw", "sizes", "texts", "words")

    def __init__(self, pairs: Sequence[tuple[int, int]]) -> None:
        self.data_sizes = tuple(pair[0] for pair in pairs)
        self.sizes = tuple(pair[1] for pair in pairs)
        self.length = sum(self.sizes)
        # In which 8-byte word of the row each value is, which is so only where all sizes are multiples of 8.
        self.words = [place // 8 + 1 for place in accumulate((0, *self.sizes[:-1]))]
        self.in_words = not any(size % 8 for size in self.sizes)
        self.texts = [at for at, size in enumerate(self.data_sizes) if size not in (4, 8)]
        head = COUNTER_DATA.format[1:]
        pads = [size - COUNTER_DATA.size - held for held, size in pairs]
        kinds = {4: "I", 8: "Q"}
        self.ints = struct.Struct(
            "<" + "".join(f"{head}{kinds.get(n, f'{n}s')}{pad}x" for n, pad in zip(self.data_sizes, pads, strict=True))
        )
        self.raw = struct.Struct(
            "<" + "".join(f"{head}{n}s{pad}x" for n, pad in zip(self.data_sizes, pads, strict=True))
        )
        self._json: bytes | None = None

    @property
    def json(self) -> bytes:
        """The JSON tree of a row of counter values with this struct layout, with places for the values."""
        if self._json is None:
            pairs = zip(self.data_sizes, self.sizes, strict=True)
            self._json = b",".join(
                b'{"data_size":%d,"size":%d,"value":' % pair + (b"%d}" if pair[0] in (4, 8) else b"%b}")
                for pair in pairs
            )
        return self._json

    def fits(self, row: tuple[Any, ...]) -> bool:
        return row[0::3] == self.data_sizes and row[1::3] == self.sizes

    def values(self, data: bytes, at: int) -> list[int | str]:
        """Unpacks the raw counter values of the performance data row at `at` by this struct layout."""
        values = list(self.ints.unpack_from(data, at)[2::3])
        for text in self.texts:
            values[text] = counter_value(values[text])
        return values


_planned = lru_cache(maxsize=64)(Shape)


def planned(pairs: tuple[tuple[int, int], ...]) -> Shape:
    """Returns the `struct.Struct`s (shape) that read a row of counter values of these sizes (dwDataSize, dwSize)."""
    return _planned(pairs) if len(pairs) <= _LONGEST_PLAN else Shape(pairs)


def shape_at(data: bytes, at: int, stop: int, count: int) -> Shape:
    """Returns the struct layout (shape) of the performance data row at `at`, which has `count` counter values."""
    if count * 8 > stop - at:
        raise IrregularError
    pairs = []
    for _ in range(count):
        if at + 8 > stop:
            raise IrregularError
        held, size = COUNTER_DATA.unpack_from(data, at)
        if size < 8 + held:
            raise IrregularError
        pairs.append((held, size))
        at += size
    if at > stop:
        raise IrregularError
    return planned(tuple(pairs))


class BlockTypes(Struct, frozen=True):
    """The shape of a data answer, by the structs of its headers: the number of blocks that its header promises, and the dwType of
    each captured block."""

    promised: int
    types: tuple[int, ...]


def promised_blocks(data: bytes) -> int | None:
    """Unpacks the header struct of a data answer: returns the number of blocks that it promises, None without a header. Only the
    header has to be in `data`."""
    if len(data) < DATA_HEADER.size:
        return None
    promised: int = DATA_NUMBERS.unpack_from(data)[1]
    return promised


def block_types(data: bytes) -> BlockTypes | None:
    """Unpacks the header structs of a data answer: returns its block types, without reading the blocks; None if its header is
    absent."""
    promised = promised_blocks(data)
    if promised is None:
        return None
    types: list[int] = []
    at = DATA_HEADER.size
    while len(types) < promised and at + BLOCK.size <= len(data):
        kind, size = BLOCK_TYPE_AND_SIZE.unpack_from(data, at)
        types.append(kind)
        if size < BLOCK.size:
            break
        at += size
    return BlockTypes(promised, tuple(types))
