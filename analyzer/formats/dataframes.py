"""Records as polars DataFrames: one row a call, a sample or a problem; what is nested stays JSON text in one column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import polars as pl
from msgspec import UNSET, to_builtins
from msgspec.structs import asdict

from analyzer.buffers import ReadyTrees
from analyzer.contents.lines import all_problems, call_record, problem_record
from analyzer.model.analysis import Analysis
from analyzer.model.call import Call, CallRecord
from analyzer.model.record import Record
from analyzer.model.sample import SampleKeys, SampleRecord
from analyzer.output.json import json_ready

Row = dict[str, Any]

_CALL_SCHEMA: dict[str, Any] = {
    "number": pl.Int64,
    "time": pl.Datetime("ns", "UTC"),
    "time_relative_ns": pl.Int64,
    "client_ip": pl.String,
    "client_port": pl.Int64,
    "server_ip": pl.String,
    "server_port": pl.Int64,
    "transport": pl.String,
    "pipe": pl.String,
    "dialect": pl.String,
    "smb_encrypted": pl.Boolean,
    "auth_type": pl.String,
    "auth_level": pl.String,
    "user": pl.String,
    "interface": pl.String,
    "opnum": pl.Int64,
    "method": pl.String,
    "call_id": pl.Int64,
    "state": pl.String,
    "reason": pl.String,
    "status": pl.Int64,
    "status_name": pl.String,
    "fault": pl.Int64,
    "fault_name": pl.String,
    "latency_ns": pl.Int64,
    "handle": pl.String,
    "counterset": pl.String,
    "request_frames": pl.List(pl.Int64),
    "response_frames": pl.List(pl.Int64),
    "request_bytes": pl.Int64,
    "response_bytes": pl.Int64,
    "request_params": pl.String,
    "response_params": pl.String,
    "request_buffer": pl.String,
    "response_buffer": pl.String,
}

SAMPLE_SCHEMA: dict[str, Any] = {
    "call": pl.Int64,
    "time": pl.Datetime("ns", "UTC"),
    "source": pl.String,
    "server_ip": pl.String,
    "query": pl.String,
    "block": pl.Int64,
    "block_type": pl.Int64,
    "block_status": pl.Int64,
    "counterset": pl.String,
    "counterset_name": pl.String,
    "counter_id": pl.Int64,
    "object_index": pl.Int64,
    "object_name": pl.String,
    "counter_index": pl.Int64,
    "counter_name": pl.String,
    "counter_type": pl.Int64,
    "instance": pl.String,
    "instance_id": pl.Int64,
    "parent_index": pl.Int64,
    "parent_instance": pl.String,
    "raw": pl.UInt64,
    "text": pl.String,
    "data_size": pl.Int64,
    "perf_time_stamp": pl.UInt64,
    "perf_time": pl.Int64,
    "perf_time_100ns": pl.Int64,
    "perf_freq": pl.Int64,
}

_PROBLEM_SCHEMA: dict[str, Any] = {
    "kind": pl.String,
    "layer": pl.String,
    "frames": pl.List(pl.Int64),
    "text": pl.String,
}


def calls_table(analysis: Analysis, *, shown: Sequence[tuple[int, Call]] | None = None) -> pl.DataFrame:
    """One row a call, of all calls or of those `shown`.

    Times are UTC, `*_params` and `*_buffer` JSON text, sizes those of the stubs in bytes.
    """
    calls = enumerate(analysis.calls, 1) if shown is None else shown
    ready = ReadyTrees()
    rows = (_call_row(call_record(call, analysis, ready=ready)) for _, call in calls)
    return frame_of(rows, _CALL_SCHEMA)


def _call_row(record: CallRecord) -> Row:
    smb, counterset = record.smb, record.counterset
    row: Row = {
        **{key: getattr(record, key) for key in _CALL_SCHEMA if key in record.__struct_fields__},
        "time": record.time_ns,
        "client_ip": record.client.ip,
        "client_port": record.client.port,
        "server_ip": record.server.ip,
        "server_port": record.server.port,
        "dialect": smb.dialect if smb is not None else None,
        "smb_encrypted": smb.encrypted if smb is not None else None,
        "auth_type": record.auth.type,
        "auth_level": record.auth.level,
        "user": record.auth.user,
        "interface": record.interface.name or record.interface.uuid,
        "counterset": counterset.name or counterset.guid if counterset is not None else None,
    }
    for name, side in (("request", record.request), ("response", record.response)):
        if side is not None:
            row[f"{name}_frames"] = side.frames
            row[f"{name}_bytes"] = side.stub_length
            row[f"{name}_params"] = json_ready(side.params)
            row[f"{name}_buffer"] = json_ready(side.buffer)
    return row


def samples_frame(records: Iterable[SampleRecord]) -> pl.DataFrame:
    """Sample records as columns."""
    return frame_of((sample_row(record) for record in records), SAMPLE_SCHEMA)


def sample_row(record: SampleKeys) -> Row:
    """A sample record as the row of a table."""
    raw = record.raw
    is_text = isinstance(raw, str)
    return {
        **{key: value for key in SAMPLE_SCHEMA if (value := getattr(record, key, UNSET)) is not UNSET},
        "time": record.time_ns,
        "server_ip": record.server.ip if record.server is not None else None,
        "raw": None if is_text else raw,
        "text": raw if is_text else None,
    }


def problems_table(analysis: Analysis) -> pl.DataFrame:
    """One row for each thing that could not be read."""
    rows = (asdict(problem_record(problem, analysis.capture)) for problem in all_problems(analysis))
    return frame_of(rows, _PROBLEM_SCHEMA)


def records_table(records: Iterable[Record]) -> pl.DataFrame:
    """Any records as a table; nested values become JSON text."""
    rows = [
        {
            key: json_ready(value) if isinstance(value, dict | list | tuple) else fitting(storable(value), pl.Int64)
            for key, value in to_builtins(record).items()
        }
        for record in records
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def frame_of(rows: Iterator[Row], schema: dict[str, Any]) -> pl.DataFrame:
    columns: dict[str, list[Any]] = {name: [] for name in schema}
    for row in rows:
        for name, values in columns.items():
            values.append(row.get(name))
    return pl.DataFrame(
        {
            name: pl.Series(name, [fitting(value, pl.Int64) for value in values], dtype=pl.Int64).cast(kind)
            if name in ("time", "interval")
            else pl.Series(name, [fitting(storable(value), kind) for value in values], dtype=kind)
            for (name, values), kind in zip(columns.items(), schema.values(), strict=True)
        }
    )


_BOUNDS = {pl.Int64: (-(1 << 63), (1 << 63) - 1), pl.UInt64: (0, (1 << 64) - 1)}


def fitting(value: Any, kind: Any) -> Any:
    """A number that the column cannot hold (a forged clock below zero) is null there; the JSON record has it."""
    if not isinstance(value, int) or kind not in _BOUNDS:
        return value
    low, high = _BOUNDS[kind]
    return value if low <= value <= high else None


def storable(value: Any) -> Any:
    """A string with a lone surrogate has no UTF-8 form; it is kept readable as an escape."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
