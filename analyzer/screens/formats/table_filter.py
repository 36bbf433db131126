"""Applies a filter of calls to a table of calls: rebuilds a record from the columns that the filter asks for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from analyzer.questions.filters.filter import CallFilter
from analyzer.results.calls.call import CallRecord
from analyzer.screens.formats.record_tables import Column, columns_of, json_ready

_MARK = "__passes"


def passing(calls: pl.LazyFrame, passes: CallFilter) -> pl.LazyFrame:
    """Returns the rows of a table of calls that pass a filter. Reads only the columns of the filter's fields for it.

    The answer is a column first: polars would apply a condition to the least and greatest values of a file.
    """
    paths = [path.split(".") for field in passes.fields for path in field.paths]
    columns = [column for column in columns_of(CallRecord) if any(_meet(column.path, path) for path in paths)]
    row = pl.struct([_plain_column(column) for column in columns])
    answer = row.map_batches(partial(_passing, passes, columns), return_dtype=pl.Boolean(), is_elementwise=True)
    return calls.with_columns(answer.alias(_MARK)).filter(pl.col(_MARK)).drop(_MARK)


def _meet(column: Sequence[str], path: Sequence[str]) -> bool:
    """Tells whether a table column is the value that a filter's path leads to, a part of it, or holds it."""
    return all(one == other for one, other in zip(column, path, strict=False))


def _plain_column(column: Column) -> pl.Expr:
    """Returns a column of a table that is to be filtered as Python values without loss: times and durations are nanoseconds."""
    value = pl.col(column.name)
    if isinstance(column.kind, pl.Datetime | pl.Duration):
        return value.to_physical()
    return value.cast(pl.String) if isinstance(column.kind, pl.Enum) else value


def _passing(passes: CallFilter, columns: Sequence[Column], rows: pl.Series) -> pl.Series:
    found = [passes.passes(_record(columns, row)) for row in rows.to_list()]
    return pl.Series(rows.name, found, dtype=pl.Boolean)


def _record(columns: Sequence[Column], row: Mapping[str, Any]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for column in columns:
        value = row[column.name]
        if value is None:
            continue
        at = record
        for name in column.path[:-1]:
            at = at.setdefault(name, {})
        at[column.path[-1]] = json.loads(value) if column.cell is json_ready else value
    return record
