"""The tables of a dataset: the record type of each, whose columns it has on any capture."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from analyzer.formats.counter_tables import reading_schema
from analyzer.formats.schema import table_schema
from analyzer.model.audit import CoverageRecord, FindingRecord
from analyzer.model.call import CallRecord
from analyzer.model.capture import HostRecord, ProblemRecord, SessionRecord
from analyzer.model.handle import HandleRecord
from analyzer.model.metadata import MetadataRecord
from analyzer.model.record import Record
from analyzer.model.sample import CounterRecord, SampleRecord

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
