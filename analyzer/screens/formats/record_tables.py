"""Derives tables from record types: the columns of a type, and records as their rows.

A column has the name of the record's key. Parts of a single value follow it (`server_ip`, `auth_user`). A time or duration loses
its `_ns`, since its type has the unit. Words of a fixed set are an Enum, several values a List, of parts a Struct. Values without a
fixed shape (parameters, decoded buffers) are JSON text. A value that is a number or a text has a second column for the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec.inspect as inspect
import numpy as np
import polars as pl
from msgspec import UNSET, Struct

from analyzer.core.output.json import dumps
from analyzer.results.records.record_types import INSTANT, Record
from analyzer.results.records.sample import CounterRecord

if TYPE_CHECKING:
    import numpy.typing as npt

Row = list[Any]
# The names of text columns beside values that are numbers or texts.
_TEXT_OF = {"raw": "text", "base_raw": "base_text"}
_INSTANT, _DURATION = pl.Datetime("ns", "UTC"), pl.Duration("ns")
_UINT64, _INT64, _TEXT = pl.UInt64(), pl.Int64(), pl.String()


class Column(Struct, frozen=True):
    """A column of a table of records: the path to its value in the record, its type, and a function that makes its cells."""

    name: str
    path: tuple[str, ...]
    kind: pl.DataType
    cell: Callable[[Any], Any]

    def cell_of(self, record: Any) -> Any:
        """Returns the cell of a record in this column of a table of records; None if the value is absent or left out."""
        value = _at(record, self.path)
        return self.cell(value) if value is not None else None


@cache
def columns_of(kind: type[Record]) -> tuple[Column, ...]:
    """Returns the table columns of a record type, in the order of its fields."""
    found = inspect.type_info(kind)
    assert isinstance(found, inspect.StructType)
    return tuple(_columns(found, (), (kind,)))


@cache
def table_schema(kind: type[Record]) -> Mapping[str, pl.DataType]:
    """Returns the names and types of a record type's table columns, the same for any capture."""
    return {column.name: column.kind for column in columns_of(kind)}


def merged_schema(kinds: Iterable[type[Record]]) -> Mapping[str, pl.DataType]:
    """Returns the columns of one table for several record types. `record` names a row's type; columns of other types are null."""
    chosen = list(kinds)
    schema: dict[str, pl.DataType] = {"record": pl.Enum([str(kind.__struct_config__.tag) for kind in chosen])}
    for kind in chosen:
        for name, column in table_schema(kind).items():
            known = schema.get(name, column)
            if isinstance(known, pl.Enum) and isinstance(column, pl.Enum):
                schema[name] = pl.Enum(sorted({*known.categories, *column.categories}))
            elif known != column:
                raise TypeError(f"{name} is {known} and {column}")
            else:
                schema[name] = column
    return schema


def table_of_records(kind: type[Record], records: Iterable[Record]) -> pl.DataFrame:
    """Makes a table of the records that a screen or dataset has of one type, with the columns of the type, also without records."""
    columns = columns_of(kind)
    cells: list[Row] = [[] for _ in columns]
    plan = _Plan.of_columns(columns)
    for record in records:
        plan.add_cells(record, cells)
    return frame_of(cells, table_schema(kind))


def table_of_several(kinds: Sequence[type[Record]], records: Iterable[Record]) -> pl.DataFrame:
    """Makes one table of records of several types, in their order, with the columns of all types."""
    schema = merged_schema(kinds)
    places = {name: number for number, name in enumerate(schema)}
    cells: list[Row] = [[] for _ in schema]
    known = {kind: columns_of(kind) for kind in kinds}
    for record in records:
        row: Row = [None] * len(schema)
        row[0] = record.__struct_config__.tag
        for column in known[type(record)]:
            row[places[column.name]] = column.cell_of(record)
        for cell, out in zip(row, cells, strict=True):
            out.append(cell)
    return frame_of(cells, schema)


def frame_of(cells: Sequence[Row], schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Makes a table of records (a polars DataFrame) from the cells of each column."""
    return pl.DataFrame(
        [_series(name, kind, values) for (name, kind), values in zip(schema.items(), cells, strict=True)]
    )


def _series(name: str, kind: pl.DataType, cells: Row) -> pl.Series:
    """Makes a column of a table of records as a polars Series from cells. polars takes 10 to 50 us for each list it is given, so
    the items of lists become one column, which is divided."""
    if isinstance(kind, pl.List):
        sizes = np.array([len(cell) if cell is not None else 0 for cell in cells], np.int64)
        items = [item for cell in cells if cell is not None for item in cell]
        if items and None not in items:
            return _divided(name, kind, _series("", kind.inner, items), sizes, cells)  # type: ignore[arg-type]
    elif isinstance(kind, pl.Struct) and cells and None not in cells:
        parts = [_series(part.name, part.dtype, [cell[part.name] for cell in cells]) for part in kind.fields]  # type: ignore[arg-type]
        return pl.DataFrame(parts).to_struct(name)
    return pl.Series(name, cells, dtype=_physical(kind)).cast(kind)


def _divided(name: str, kind: pl.DataType, items: pl.Series, sizes: npt.NDArray[np.int64], cells: Row) -> pl.Series:
    """Divides a column of items into the column of lists with these sizes that a table of records has."""
    rows = pl.Series("row", np.repeat(np.arange(len(sizes)), sizes)).set_sorted()
    lists = pl.DataFrame([rows, items.alias("items")]).group_by("row", maintain_order=True).agg("items")["items"]
    if not sizes.all():
        places = np.cumsum(sizes > 0) - 1
        places[sizes == 0] = [len(lists) + (cells[row] is None) for row in np.flatnonzero(sizes == 0).tolist()]
        lists = pl.concat([lists, pl.Series("items", [[], None], dtype=kind)]).gather(places)
    return lists.alias(name)


def cells_of(kind: type[Record], record: Record) -> Iterator[tuple[str, Any]]:
    """Yields the table cells of one record with their columns, without keys that the record leaves out."""
    for column in columns_of(kind):
        value = _at(record, column.path, UNSET)
        if value is not UNSET:
            yield column.name, column.cell(value) if value is not None else None


def _at(record: Any, path: tuple[str, ...], default: Any = None) -> Any:
    for name in path:
        record = getattr(record, name)
        if record is None:
            return None
        if record is UNSET:
            return default
    return record


# Columns of the record of a displayed value that its table has not: `display` is the value as text, the others are of the
# sample (`call`, `block`, ...).
LEFT_OUT = ("display", "exact", "base_raw", "object_perf_time", "object_perf_freq")


@cache
def reading_schema(*, exact: bool) -> Mapping[str, pl.DataType]:
    """Returns the columns that a table of reading records has: those of `CounterRecord`, with names as categories and flags in one
    word. `exact` adds the value as a fraction."""
    from analyzer.questions.series.columns_of_readings import FLAGS  # not needed for records, and slow to load

    left_out = [name for name in LEFT_OUT if name != "exact" or not exact]
    schema = {
        name: pl.Categorical() if kind == pl.String and name not in ("text", "exact") else kind
        for name, kind in table_schema(CounterRecord).items()
        if name not in left_out
    }
    return schema | {"flags": pl.Enum([" ".join(flags) for flags in FLAGS])}


class _Plan(Struct):
    """The table columns of a record type, grouped by part, so that a part is looked up once a record."""

    leaves: list[tuple[str, Callable[[Any], Any], int]]
    parts: dict[str, _Plan]

    @classmethod
    def of_columns(cls, columns: Sequence[Column]) -> _Plan:
        plan = cls([], {})
        for number, column in enumerate(columns):
            at = plan
            for name in column.path[:-1]:
                at = at.parts.setdefault(name, cls([], {}))
            at.leaves.append((column.path[-1], column.cell, number))
        return plan

    def add_cells(self, value: Any, cells: list[Row]) -> None:
        for name, cell, number in self.leaves:
            found = getattr(value, name) if value is not None else None
            cells[number].append(cell(found) if found is not None and found is not UNSET else None)
        for name, part in self.parts.items():
            found = getattr(value, name) if value is not None else None
            part.add_cells(found if found is not UNSET else None, cells)


# ----------------------------------------------------------------------------------------------------- from types


def _columns(found: inspect.StructType, path: tuple[str, ...], within: tuple[type, ...]) -> Iterator[Column]:
    names = {field.name for field in found.fields}
    for field in found.fields:
        if f"{field.name}_ns" in names:
            continue  # the same in words
        if isinstance(field.type, inspect.Metadata) and (field.type.extra or {}).get("in_tables") is False:
            continue
        kind, unit = _plain(field.type)
        way = (*path, field.name)
        name = "_".join(way)
        choices = choices_of(kind)
        if len(choices) == 1 and isinstance(choices[0], inspect.StructType) and choices[0].cls not in within:
            yield from _columns(choices[0], way, (*within, choices[0].cls))
        elif len(choices) == 2 and _is_unsigned(choices[0]) and isinstance(choices[1], inspect.StrType):
            yield Column(name, way, _UINT64, number_cell(_UINT64))
            yield Column(_TEXT_OF[field.name], way, _TEXT, _text_alone)
        else:
            made, cell = _of_type(kind, unit, within)
            yield Column(name.removesuffix("_ns") if made in (_INSTANT, _DURATION) else name, way, made, cell)


def _of_type(
    kind: inspect.Type, unit: str | None, within: tuple[type, ...]
) -> tuple[pl.DataType, Callable[[Any], Any]]:
    """Returns the type of a table column for a record's field, and the function that makes its cells."""
    choices = choices_of(kind)
    names = {type(choice) for choice in choices}
    first = choices[0]
    if names == {inspect.IntType}:
        made = _UINT64 if _is_unsigned(first) else _INT64
        number = number_cell(made)
        return (_INSTANT if unit == INSTANT else _DURATION if unit == "ns" else made), number
    if names <= {inspect.IntType, inspect.FloatType}:
        return pl.Float64(), float
    if names == {inspect.BoolType}:
        return pl.Boolean(), _same
    if names == {inspect.LiteralType}:
        return pl.Enum(sorted({value for each in choices for value in each.values})), str  # type: ignore[attr-defined]
    if names == {inspect.EnumType}:
        words = (word.value for each in choices for word in each.cls)  # type: ignore[attr-defined]
        return pl.Enum(sorted(words)), str
    if names <= {inspect.StrType, inspect.IntType}:
        return _TEXT, lambda value: storable(str(value))
    if len(choices) == 1 and (several := _several(first, within)) is not None:
        return several
    return _TEXT, json_ready


def _several(kind: inspect.Type, within: tuple[type, ...]) -> tuple[pl.DataType, Callable[[Any], Any]] | None:
    """Returns the table column's type and cell function for a field with several parts; None if it has no fixed shape."""
    if isinstance(kind, inspect.VarTupleType | inspect.TupleType):
        item = kind.item_type if isinstance(kind, inspect.VarTupleType) else kind.item_types[0]
        inner, unit = _plain(item)
        made, cell = _of_type(inner, unit, within)
        return pl.List(made), lambda values: [cell(value) for value in values]
    if isinstance(kind, inspect.DictType):
        inner, unit = _plain(kind.value_type)
        if isinstance(choices_of(inner)[0], inspect.AnyType | inspect.StructType | inspect.DictType):
            return None
        made, cell = _of_type(inner, unit, within)
        pair = pl.List(pl.Struct({"key": _TEXT, "value": made}))
        return pair, lambda values: [{"key": storable(str(key)), "value": cell(one)} for key, one in values.items()]
    if isinstance(kind, inspect.StructType) and kind.cls not in within:
        columns = tuple(_columns(kind, (), (*within, kind.cls)))
        return pl.Struct({column.name: column.kind for column in columns}), lambda value: {
            column.name: column.cell_of(value) for column in columns
        }
    return None


def _plain(kind: inspect.Type) -> tuple[inspect.Type, str | None]:
    """Returns the type of a record's field, for its column in a table of records, without its annotation, and the unit that the
    annotation names."""
    unit = None
    while isinstance(kind, inspect.Metadata):
        unit = (kind.extra_json_schema or {}).get("unit", unit)
        kind = kind.type
    return kind, unit


def choices_of(kind: inspect.Type) -> list[inspect.Type]:
    """Returns the types that a value in a table column's record may have, without None."""
    kinds = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    return [plain for each in kinds if not isinstance(plain := _plain(each)[0], inspect.NoneType)]


def _is_unsigned(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.IntType) and kind.ge == 0


def _physical(kind: pl.DataType) -> pl.DataType:
    """Returns the physical type of a table column's cells, before they are cast to the column's type."""
    if isinstance(kind, pl.Datetime | pl.Duration):
        return _INT64
    if isinstance(kind, pl.Enum):
        return _TEXT
    if isinstance(kind, pl.List):
        return pl.List(_physical(kind.inner))  # type: ignore[arg-type]
    if isinstance(kind, pl.Struct):
        return pl.Struct({field.name: _physical(field.dtype) for field in kind.fields})  # type: ignore[arg-type]
    return kind


# ------------------------------------------------------------------------------------------------------------ cells


def _same(value: Any) -> Any:
    return value


def _text_alone(value: Any) -> str | None:
    return storable(value) if isinstance(value, str) else None


def number_cell(kind: pl.DataType) -> Callable[[Any], int | None]:
    """Returns the function that makes table cells of numbers. A number that the column cannot hold (a forged clock below zero) is
    null there; the JSON record has it."""
    # Types of polars are compared in Python: once a column, not once a cell.
    low, high = (0, (1 << 64) - 1) if kind == pl.UInt64 else (-(1 << 63), (1 << 63) - 1)

    def cell(value: Any) -> int | None:
        return value if isinstance(value, int) and low <= value <= high else None

    return cell


def json_ready(value: object) -> str | None:
    """Returns a nested value as JSON text, for a column of a table. None stays None."""
    return None if value is None else dumps(value).decode()


def storable(value: str | None) -> str | None:
    """Returns text that a cell in a table of records can store: a lone surrogate, which has no UTF-8 form, becomes a readable
    escape."""
    if value is None or value.isascii():
        return value
    return value.encode("utf-8", "backslashreplace").decode()
