"""The tables of a dataset: the record type of each, whose columns it has on any capture, and how they stand in Parquet.

Spark refuses Parquet timestamps in nanoseconds. A time is stored as a timestamp in microseconds, which every reader takes for one,
and beside it as a number, `*_ns`, nanoseconds since 1970 as in the JSON records: nothing of it is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from analyzer.results.audit import CoverageRecord, FindingRecord
from analyzer.results.call import CallRecord
from analyzer.results.capture import HostRecord, ProblemRecord, SessionRecord
from analyzer.results.handle import HandleRecord
from analyzer.results.metadata import MetadataRecord
from analyzer.results.record import Record
from analyzer.results.sample import CounterRecord, SampleRecord
from analyzer.screens.formats.schema import reading_schema, table_schema

RECORDS: Mapping[str, type[Record]] = {
    "calls": CallRecord,
    "samples": SampleRecord,
    "counters": CounterRecord,
    "sessions": SessionRecord,
    "hosts": HostRecord,
    "handles": HandleRecord,
    "problems": ProblemRecord,
    "findings": FindingRecord,
    "coverage": CoverageRecord,
    "metadata": MetadataRecord,
}
# Those whose files lie in directories of a day and a server.
PARTITIONED = ("calls", "samples", "counters", "sessions", "handles", "problems", "findings")
# Names that come again and again are kept once in memory; in a file they are text.
TABLES: Mapping[str, Mapping[str, pl.DataType]] = {
    name: {
        column: pl.String() if kind == pl.Categorical else kind
        for column, kind in pl.Schema(
            reading_schema(exact=False) if record is CounterRecord else table_schema(record)
        ).items()
    }
    for name, record in RECORDS.items()
}
# Only within a site an address is one host.
TABLES = {**TABLES, "hosts": {**TABLES["hosts"], "site": pl.String()}}


_EXACT, _SHOWN = pl.Datetime("ns", "UTC"), pl.Datetime("us", "UTC")


def _has_times(kind: pl.DataType) -> bool:
    if isinstance(kind, pl.List):
        return _has_times(kind.inner)  # type: ignore[arg-type]
    if isinstance(kind, pl.Struct):
        return any(_has_times(field.dtype) for field in kind.fields)  # type: ignore[arg-type]
    return kind == _EXACT


def _stored_columns(schema: Mapping[str, pl.DataType]) -> Iterator[tuple[str, pl.DataType]]:
    for name, kind in schema.items():
        yield name, _stored_type(kind)
        if kind == _EXACT:
            yield f"{name}_ns", pl.Int64()


def _stored_type(kind: pl.DataType) -> pl.DataType:
    if isinstance(kind, pl.List):
        return pl.List(_stored_type(kind.inner))  # type: ignore[arg-type]
    if isinstance(kind, pl.Struct):
        return pl.Struct(dict(_stored_columns({field.name: field.dtype for field in kind.fields})))  # type: ignore[misc]
    return _SHOWN if kind == _EXACT else kind


# The columns of the tables as they stand in Parquet.
STORED: Mapping[str, Mapping[str, pl.DataType]] = {
    name: dict(_stored_columns(schema)) for name, schema in TABLES.items()
}


def stored(table: pl.DataFrame) -> pl.DataFrame:
    """A table with its columns as they stand in Parquet."""
    return table.select(part for name, kind in table.schema.items() for part in _stored_parts(pl.col(name), name, kind))


def _stored_parts(value: pl.Expr, name: str, kind: pl.DataType) -> Iterator[pl.Expr]:
    """A column, or a field of a struct, as those that it is stored as."""
    if kind == _EXACT:
        yield value.dt.cast_time_unit("us").alias(name)
        yield value.to_physical().alias(f"{name}_ns")
    else:
        yield (_stored_value(value, kind) if _has_times(kind) else value).alias(name)


def _stored_value(value: pl.Expr, kind: pl.DataType) -> pl.Expr:
    if isinstance(kind, pl.List):
        return value.list.eval(_stored_value(pl.element(), kind.inner))  # type: ignore[arg-type]
    assert isinstance(kind, pl.Struct), "a time stands in a column or in a field of its own"
    return pl.struct(
        part
        for field in kind.fields
        for part in _stored_parts(value.struct.field(field.name), field.name, field.dtype)  # type: ignore[arg-type]
    )


def restored(table: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """The table of this name, read from Parquet, with the columns of its records; what it has besides them stays."""
    schema = TABLES[name]
    changed = [_restored(pl.col(column), column, kind) for column, kind in schema.items() if _has_times(kind)]
    return table.with_columns(changed).drop(f"{column}_ns" for column, kind in schema.items() if kind == _EXACT)


def _restored(value: pl.Expr, name: str, kind: pl.DataType) -> pl.Expr:
    if kind == _EXACT:
        return pl.col(f"{name}_ns").cast(_EXACT).alias(name)
    return _restored_value(value, kind).alias(name)


def _restored_value(value: pl.Expr, kind: pl.DataType) -> pl.Expr:
    if isinstance(kind, pl.List):
        return value.list.eval(_restored_value(pl.element(), kind.inner))  # type: ignore[arg-type]
    if not isinstance(kind, pl.Struct):
        return value
    fields = {field.name: field.dtype for field in kind.fields}
    return pl.struct(
        value.struct.field(f"{name}_ns").cast(_EXACT).alias(name)
        if kind == _EXACT
        else _restored_value(value.struct.field(name), kind).alias(name)  # type: ignore[arg-type]
        for name, kind in fields.items()
    )
