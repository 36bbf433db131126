"""Displayed values as polars DataFrames: one row a reading, or one an interval."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import polars as pl
from msgspec import UNSET
from msgspec.structs import asdict

from analyzer.formats.dataframes import SAMPLE_SCHEMA, Row, frame_of, sample_row
from analyzer.model.sample import BucketRecord, CounterRecord
from analyzer.views.counters import Counters

# Rows of a table that are made and written at a time.
ROWS_AT_ONCE = 50_000


def counter_tables(view: Counters) -> Iterator[pl.DataFrame]:
    """The rows of `counters` in pieces, at least one, which may be empty."""
    schema = _schema(in_buckets=view.interval_ns is not None)
    rows = (_row(record) for record in view.records())
    while len(table := frame_of(islice(rows, ROWS_AT_ONCE), schema)) == ROWS_AT_ONCE:
        yield table
    yield table


def _schema(*, in_buckets: bool) -> dict[str, Any]:
    """The columns of a table, in order."""
    if in_buckets:
        return {
            "time": pl.Datetime("ns", "UTC"),
            "interval_ns": pl.Int64,
            "source": pl.String,
            "server_ip": pl.String,
            "client_ip": pl.String,
            "client_port": pl.Int64,
            "handle": pl.String,
            "series": pl.Int64,
            "path": pl.String,
            "counter_type": pl.Int64,
            "counter_type_name": pl.String,
            "first_call": pl.Int64,
            "last_call": pl.Int64,
            "readings": pl.Int64,
            "values": pl.Int64,
            "value": pl.Float64,
            "last": pl.Float64,
            "minimum": pl.Float64,
            "maximum": pl.Float64,
            "unit": pl.String,
            "scale": pl.Int64,
            "aggregate": pl.String,
        }
    return {
        "series": pl.Int64,
        "path": pl.String,
        **SAMPLE_SCHEMA,
        "client_ip": pl.String,
        "client_port": pl.Int64,
        "handle": pl.String,
        "added": pl.String,
        "counter_type_name": pl.String,
        "value": pl.Float64,
        "exact": pl.String,
        "unit": pl.String,
        "scale": pl.Int64,
        "scaled": pl.Float64,
        "display": pl.String,
        "why_null": pl.String,
        "reason": pl.String,
        "flags": pl.String,
        "interval_ns": pl.Int64,
        "server_interval_ns": pl.Int64,
        "previous_call": pl.Int64,
        "missed": pl.Int64,
        "aggregate": pl.String,
        "aggregated": pl.Int64,
        "left_out": pl.Int64,
    }


def _row(record: CounterRecord | BucketRecord) -> Row:
    row = asdict(record) | {"client_ip": record.client.ip, "client_port": record.client.port}
    if isinstance(record, CounterRecord):
        row |= {name: None for name in SAMPLE_SCHEMA if row.get(name) is UNSET} | sample_row(record)
        row["flags"] = " ".join(record.flags)
    else:
        row |= {"time": record.time_ns, "server_ip": record.server.ip}
    for name in ("value", "scaled", "last", "minimum", "maximum"):
        if row.get(name) is not None:
            row[name] = float(row[name])
    return row
