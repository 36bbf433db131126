"""Reads performance data as rows, one for each value, or as columns, for readers that want values and no trees.

Regular performance data is read on the fast path (`perf_data_layout`), anything else by the compiled parsers. Rows before damage
are returned; the damage is `problem`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple

from analyzer.core.caches import cached_property
from analyzer.core.errors import DecodeError
from analyzer.interfaces.buffers.buffer_trees import notes_on, parse_positions, plan_for
from analyzer.interfaces.buffers.compiled_parsers import (
    PARSER_ERRORS,
    Encoding,
    LazyError,
    check_overlap,
    contained,
    damage_of,
    type_of,
    winperf_value,
)
from analyzer.interfaces.buffers.perf_data_layout import (
    PERF_DATA,
    Grid,
    Ints,
    Part,
    PerfDataLayout,
    Singles,
    Words,
    arrays_joined,
)
from analyzer.interfaces.buffers.struct_layouts import DATA_HEADER
from analyzer.interfaces.buffers.windows_text import code_page_text, counter_value, utf16_text
from analyzer.interfaces.buffers.winperf_layout import CounterDefinition, WinPerfInstance, WinPerfObject

if TYPE_CHECKING:
    import numpy.typing as npt

# ------------------------------------------------------------------------------------------------ rows of performance data


class SystemTime(Struct, frozen=True):
    """The SYSTEMTIME ([MS-DTYP] 2.3.13) beside the rows of performance data, with its fields as they are encoded."""

    year: int
    month: int
    day_of_week: int
    day: int
    hour: int
    minute: int
    second: int
    milliseconds: int


class PerfRow(Struct, frozen=True):
    """A row of performance data: a value, or the error block in its place.

    `block` is the position of its block in the answer. `counter_id` is None if the block has none (types 1 and 4; then the query's
    identifier at that index has it). `instance` and `instance_id` are None if there is no instance. `data` is the value's bytes,
    None for an error block.
    """

    block: int
    block_type: int
    status: int
    counter_id: int | None
    instance: str | None
    instance_id: int | None
    data: bytes | None

    @property
    def value(self) -> int | str | None:
        """The value of a performance data row: 4 or 8 bytes as an unsigned integer, anything else as text (MS-PCQ 2.2.4.9)."""
        return None if self.data is None else counter_value(self.data)


class PerfData(Struct, frozen=True):
    """An answer of PerflibV2QueryCounterData (MS-PCQ 2.2.4.7) as rows. The header's numbers are None if it was cut off."""

    total_size: int | None
    num_blocks: int | None
    perf_time_stamp: int | None
    perf_time_100ns: int | None
    perf_freq: int | None
    system_time: SystemTime | None
    rows: tuple[PerfRow, ...]
    problem: DecodeError | None
    notes: tuple[str, ...]


RawRow = tuple[int, int, int, int | None, str | None, int | None, bytes | None]


def rows_of(data: bytes, layout: PerfDataLayout) -> Iterator[RawRow]:
    """Yields the fields of each row (`PerfRow`) of regular performance data, value by value."""
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


def perf_data_rows(data: bytes) -> PerfData:
    """Reads the value rows of a performance data buffer, in the order of the buffer."""
    regular = PERF_DATA.read(data)
    if regular is None:
        return plain_perf_data_rows(data)
    rows = tuple(PerfRow(*row) for row in rows_of(data, regular.layout))
    size, count, stamp, time_100ns, freq, *clock = DATA_HEADER.unpack_from(data)
    return PerfData(size, count, stamp, time_100ns, freq, SystemTime(*clock), rows, None, ())


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


def perf_data_columns(data: bytes, counters: Collection[int] | None = None) -> PerfColumns:
    """Reads the values of any performance data buffer as columns in the order of its rows, up to damage. With `counters`, an
    instance may lack values, but not its first, nor those that may be of these counters."""
    columns = regular_columns(data, counters)
    if columns is not None:
        return columns
    read = perf_data_rows(data)
    return columns_of([astuple(row) for row in read.rows], read.problem)


def regular_columns(data: bytes, counters: Collection[int] | None = None) -> PerfColumns | None:
    """Reads the values of a regular buffer of performance data as columns in the order of its rows, else None. With `counters`,
    instances keep only their first value and those that may be of these counters."""
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
    """Reads the values of a part of performance data as columns in the order of its rows, only the wanted ones: block, type,
    status, counter, instance id, instance, size, and place among all values. `start` values and `named` instances come before this
    part."""
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


def columns_of(rows: Sequence[RawRow], problem: DecodeError | None = None) -> PerfColumns:
    """Makes columns of performance data from its rows, value by value."""
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
                -1 if instance_id is None else instance_id,
                -1 if raw is None else len(raw),
                value if isinstance(value, int) else 0,
                isinstance(value, int),
                -1 if name is None else names.setdefault(name, len(names)),
            )
        )
    columns = zip(*entries, strict=True) if entries else [()] * len(_DTYPES)
    arrays: list[Any] = [np.array(column, dtype) for column, dtype in zip(columns, _DTYPES, strict=True)]
    block, kind, status, counter, number, held, value, is_int, instance = arrays
    return PerfColumns(
        block, kind, status, counter, number, held, value, is_int, texts, tuple(names), instance, problem
    )


_DTYPES = (np.uint32, np.uint32, np.uint32, np.int64, np.int64, np.int64, np.uint64, np.bool_, np.int64)


def plain_perf_data_rows(data: bytes) -> PerfData:
    """Reads the rows of a performance data buffer like `perf_data_rows`, but only with the plain parser."""
    plan = plan_for("perf-data", data, None)
    problem: DecodeError | None = None
    try:
        compiled = plan.fresh("plain")
    except PARSER_ERRORS:
        compiled, problem = parse_positions(plan)
    rows: list[PerfRow] = []
    for number, block in enumerate(getattr(compiled, "blocks", ())):
        rows.extend(_block_rows(number, block))
    size, count, stamp, time_100ns, freq = (getattr(compiled, name, None) for name in PerfData.__struct_fields__[:5])
    clock, notes = _system_time(compiled), notes_on(plan, compiled)
    return PerfData(size, count, stamp, time_100ns, freq, clock, tuple(rows), problem, notes)


def _system_time(header: Any) -> SystemTime | None:
    clock = getattr(header, "system_time", None)
    if clock is None or not hasattr(clock, "milliseconds"):
        return None
    return SystemTime(*(int(getattr(clock, name)) for name in SystemTime.__struct_fields__))


def _block_rows(number: int, block: Any) -> Iterator[PerfRow]:
    """Yields the rows of one performance data block, which may be cut off at any field."""
    body = getattr(block, "body", None)
    if body is None:
        return
    kind, status = int(block.block_type), block.status
    if kind == 0:
        yield PerfRow(number, kind, status, None, None, None, None)
        return
    if kind == 1:
        if hasattr(body, "data") and hasattr(body.data, "value"):
            yield PerfRow(number, kind, status, None, None, None, body.data.value)
        return
    ids: list[int | None] = [None]
    if kind != 4:
        ids = list(getattr(getattr(body, "counters", None), "counter_ids", ()))
    if kind == 2:
        yield from _value_rows(number, kind, status, ids, None, None, body)
        return
    for instance in getattr(getattr(body, "instances", None), "instances", ()):
        header = getattr(instance, "header", None)
        if header is not None and hasattr(header, "name"):
            yield from _value_rows(number, kind, status, ids, utf16_text(header.name), header.instance_id, instance)


def _value_rows(
    number: int, kind: int, status: int, ids: list[int | None], name: str | None, instance_id: int | None, holder: Any
) -> Iterator[PerfRow]:
    for counter_id, data in zip(ids, getattr(holder, "data", ()), strict=False):
        if hasattr(data, "value"):
            yield PerfRow(number, kind, status, counter_id, name, instance_id, data.value)


# --------------------------------------------------------------------------------------------------------- rows of winperf


class WinPerf(Struct, frozen=True):
    """A PERF_DATA_BLOCK (winperf.h) as rows of values. The header's numbers are None if it was cut off.

    A damaged object has its values up to its damage. The first damage is `problem`, others are among the notes.
    """

    big_endian: bool
    total_byte_length: int | None
    num_object_types: int | None
    default_object: int | None
    system_time: SystemTime | None
    perf_time: int | None
    perf_freq: int | None
    perf_time_100ns: int | None
    system_name: str | None
    objects: tuple[WinPerfObject, ...]
    problem: DecodeError | None
    notes: tuple[str, ...]


def winperf_rows(data: bytes) -> WinPerf:
    """Reads the objects of a PERF_DATA_BLOCK (winperf.h) as rows of values, in the order of the block."""
    plan = plan_for("winperf", data, None)
    problem: DecodeError | None = None
    try:
        compiled = plan.fresh("plain")
    except PARSER_ERRORS:
        compiled, problem = parse_positions(plan)
    objects, damage, name = _objects(compiled)
    if damage:
        # The same with recorded positions, which keeps what was read of a damaged object.
        compiled, problem = parse_positions(plan)
        objects, damage, name = _objects(compiled)
    problem, others = damage_of(compiled, problem, damage, len(data))
    return WinPerf(
        compiled.big_endian,
        getattr(compiled, "total_byte_length", None),
        getattr(compiled, "num_object_types", None),
        getattr(compiled, "default_object", None),
        _system_time(compiled),
        getattr(compiled, "perf_time", None),
        getattr(compiled, "perf_freq", None),
        getattr(compiled, "perf_time_100ns", None),
        name,
        tuple(objects),
        problem,
        (*notes_on(plan, compiled), *others),
    )


def _objects(compiled: Any) -> tuple[list[WinPerfObject], list[LazyError], str | None]:
    """Reads the value rows of all objects of a PERF_DATA_BLOCK as far as possible. Returns the objects, errors of damaged ones, and
    the system's name."""
    objects: list[WinPerfObject] = []
    damage: list[LazyError] = []
    order = Encoding(compiled.big_endian)
    name: str | None = None
    if hasattr(compiled, "header_rest"):
        try:
            name = _text(compiled, "system_name", order)
        except LazyError as error:
            damage.append(error)
    for item in getattr(compiled, "objects", ()):
        body, ended = contained(item, "body")
        if ended is not None:
            damage.append(ended)
        if body is not None and hasattr(body, "header_rest"):
            try:
                _read_object(objects, body, order)
            except LazyError as error:
                damage.append(error)
    return objects, damage, name


def _text(compiled: Any, field_name: str, reading: Encoding) -> str | None:
    """Reads a name for the value rows of a PERF_DATA_BLOCK on demand, None if there is none."""
    try:
        raw = getattr(compiled, field_name)
    except PARSER_ERRORS as error:
        raise LazyError(compiled, field_name) from error
    if raw is None:
        return None
    encoding = next(field.encoding for field in type_of(compiled).fields if field.name == field_name)
    if encoding == "code-page" and reading.code_page:
        return code_page_text(raw, reading.code_page)
    return utf16_text(raw, big_endian=reading.big_endian)


def _read_object(objects: list[WinPerfObject], body: Any, order: Encoding) -> None:
    reading = Encoding(order.big_endian, body.code_page)
    instances: list[WinPerfInstance] = []
    definitions = tuple(
        CounterDefinition(
            item.counter_name_title_index,
            item.counter_help_title_index,
            item.default_scale,
            int(item.detail_level),
            int(item.counter_type),
            item.counter_size,
            item.counter_offset,
        )
        for item in getattr(body, "counters", ())
        if hasattr(item, "counter_offset")
    )
    try:
        block = getattr(body, "counter_block", None)
        if block is not None:
            instances.append(WinPerfInstance(None, None, None, None, _values(block, reading)))
        for instance in getattr(body, "instances", None) or ():
            definition = getattr(instance, "definition", None)
            if definition is None or not hasattr(definition, "name_length"):
                continue
            block = getattr(instance, "counter_block", None)
            instances.append(
                WinPerfInstance(
                    _text(definition, "name", reading),
                    None if definition.unique_id == -1 else definition.unique_id,
                    definition.parent_object_title_index,
                    definition.parent_object_instance,
                    () if block is None else _values(block, reading),
                )
            )
    finally:
        objects.append(
            WinPerfObject(
                body.object_name_title_index,
                body.object_help_title_index,
                int(body.detail_level),
                body.default_counter,
                body.num_instances,
                body.code_page,
                body.perf_time,
                body.perf_freq,
                definitions,
                tuple(instances),
            )
        )


def _values(block: Any, reading: Encoding) -> tuple[int | str | None, ...]:
    """Returns all values of one winperf counter block as a row, none if it was cut off."""
    body = getattr(block, "body", None)
    if body is None or not hasattr(body, "raw"):
        return ()
    try:
        check_overlap(body, len(body.raw))
    except DecodeError as error:
        raise LazyError(body, "values") from error
    values = []
    for item in body.values:
        try:
            values.append(winperf_value(item.definition, item.value, reading))
        except PARSER_ERRORS as error:
            raise LazyError(item, "value") from error
    return tuple(values)
