"""The tables of a dataset: the record type of each table, its columns (the same for any capture), and their types in Parquet.

Spark refuses Parquet timestamps in nanoseconds. So each time is stored twice: as a timestamp in microseconds, and as a number of
nanoseconds since 1970, `*_ns`, as in the JSON records. No precision is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from analyzer.results.calls.call import CallRecord
from analyzer.results.records.capture_records import ProblemRecord
from analyzer.results.records.finding import CoverageRecord, FindingRecord
from analyzer.results.records.handle import HandleRecord
from analyzer.results.records.record_types import Record
from analyzer.results.records.sample import CounterRecord, SampleRecord
from analyzer.results.records.session_and_host import HostRecord, LogonRecord, SessionRecord
from analyzer.results.reported_names.saved_metadata import MetadataRecord
from analyzer.screens.formats.record_tables import reading_schema, table_schema

RECORDS: Mapping[str, type[Record]] = {
    "calls": CallRecord,
    "samples": SampleRecord,
    "counters": CounterRecord,
    "sessions": SessionRecord,
    "logons": LogonRecord,
    "hosts": HostRecord,
    "handles": HandleRecord,
    "problems": ProblemRecord,
    "findings": FindingRecord,
    "coverage": CoverageRecord,
    "metadata": MetadataRecord,
}
# The tables whose files lie in directories of a day and a server.
PARTITIONED = ("calls", "samples", "counters", "sessions", "logons", "handles", "problems", "findings")
# Categories keep repeated names once in memory; in a file they are text.
TABLES: Mapping[str, Mapping[str, pl.DataType]] = {
    name: {
        column: pl.String() if kind == pl.Categorical else kind
        for column, kind in pl.Schema(
            reading_schema(exact=False) if record is CounterRecord else table_schema(record)
        ).items()
    }
    # Only within a site an address is one host.
    | ({"site": pl.String()} if name == "hosts" else {})
    for name, record in RECORDS.items()
}


# `Get` returns a column of a table, or a field of a struct, by name. `Change` returns what replaces it, nothing if it stays.
Get = Callable[[str], pl.Expr]
Change = Callable[[Get, str, pl.DataType], list[pl.Expr]]
_EXACT, _SHOWN = pl.Datetime("ns", "UTC"), pl.Datetime("us", "UTC")


def rebuilt(schema: Mapping[str, Any], change: Change, get: Get = pl.col) -> list[pl.Expr]:
    """Returns the columns of a dataset's table after some of them were changed, also fields of structs and lists within them."""
    return [part for name, kind in schema.items() for part in _changed(get, name, kind, change) or [get(name)]]


def _changed(get: Get, name: str, kind: Any, change: Change) -> list[pl.Expr]:
    if parts := change(get, name, kind):
        return parts
    value = _rebuilt_value(get(name), kind, change)
    return [] if value is None else [value.alias(name)]


def _rebuilt_value(value: pl.Expr, kind: Any, change: Change) -> pl.Expr | None:
    """Returns the expression for a struct or list in the schema of a dataset's table that a change reaches; None if it stays the
    same."""
    if isinstance(kind, pl.List):
        inner = _rebuilt_value(pl.element(), kind.inner, change)
        return None if inner is None else value.list.eval(inner)
    if isinstance(kind, pl.Struct):
        get, schema = value.struct.field, {field.name: field.dtype for field in kind.fields}
        if any(_changed(get, name, part, change) for name, part in schema.items()):
            return pl.struct(rebuilt(schema, change, get))
    return None


def _in_both(get: Get, name: str, kind: pl.DataType) -> list[pl.Expr]:
    if kind != _EXACT:
        return []
    return [get(name).dt.cast_time_unit("us").alias(name), get(name).to_physical().alias(f"{name}_ns")]


def _exact(get: Get, name: str, kind: pl.DataType) -> list[pl.Expr]:
    return [get(f"{name}_ns").cast(_EXACT).alias(name)] if kind == _EXACT else []


def stored(table: pl.DataFrame) -> pl.DataFrame:
    """Converts a dataset's table to the columns that it has in Parquet."""
    return table.select(rebuilt(table.schema, _in_both))


def restored(table: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """Converts the dataset's table of this name, read from Parquet, back to the columns of its records. Other columns stay."""
    schema = TABLES[name]
    return table.with_columns(rebuilt(schema, _exact)).drop(f"{one}_ns" for one in schema if schema[one] == _EXACT)


# The columns of the tables as they stand in Parquet.
STORED: Mapping[str, Mapping[str, pl.DataType]] = {
    name: stored(pl.DataFrame(schema=dict(schema))).schema for name, schema in TABLES.items()
}
