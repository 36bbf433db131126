"""Makes and writes all tables of views: as polars DataFrames, CSV and Parquet.

Records become rows with the columns of their types (`record_tables.py`). Samples and displayed values come as columns
(`sample_and_reading_tables.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl
from msgspec.json import decode as decoded
from polars.io.plugins import register_io_source

from analyzer.core.errors import InputError
from analyzer.core.output.json import dumps
from analyzer.core.output.safe_cells import safe_cells
from analyzer.interfaces.call_contents.call_records import CallRecords, problem_record, shown_problems
from analyzer.interfaces.call_contents.session_records import logon_record
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import CallRecord
from analyzer.results.field_tree_records import BufferRecord, PlaceRecord, ShowRecord
from analyzer.results.records.capture_records import ProblemRecord
from analyzer.results.records.command_records import COMMANDS
from analyzer.results.records.difference import DifferenceRecord
from analyzer.results.records.finding import FindingRecord
from analyzer.results.records.handle import HandleRecord
from analyzer.results.records.observation import Observation
from analyzer.results.records.opened_file import FileRecord
from analyzer.results.records.record_types import Record
from analyzer.results.records.sample import BucketRecord, CounterRecord, SampleRecord
from analyzer.results.records.session_and_host import LogonRecord, SessionRecord
from analyzer.screens.formats.record_tables import (
    json_ready,
    table_of_records,
    table_of_several,
)
from analyzer.screens.formats.sample_and_reading_tables import (
    ROWS_AT_ONCE,
    interval_tables,
    reading_tables,
    sample_tables,
)
from analyzer.screens.views.audit import AuditView, MatrixView
from analyzer.screens.views.calibrate import Calibration
from analyzer.screens.views.counters import Counters
from analyzer.screens.views.decode import Decode
from analyzer.screens.views.diff import DifferencesView
from analyzer.screens.views.docs import AttackList, LimitList, RuleList
from analyzer.screens.views.files import FilesView
from analyzer.screens.views.handles import Handles
from analyzer.screens.views.metadata import SavedMetadata
from analyzer.screens.views.processes import Processes
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.sessions_and_hosts import Hosts, Sessions
from analyzer.screens.views.show import Show, ShowPlace
from analyzer.screens.views.stats import Stats
from analyzer.screens.views.streamed_timeline import StreamedTimeline
from analyzer.screens.views.timeline import Timeline
from analyzer.screens.views.triage import Triage
from analyzer.screens.views.view_type import View

if TYPE_CHECKING:
    pass


def table_of(view: View) -> pl.DataFrame:
    """Returns the main records of a view as one table."""
    # The pieces stay as they are: texts that come again and again are shared there, and would be copied.
    return pl.concat(tables_of(view), rechunk=False)


def tables_of(view: View) -> Iterator[pl.DataFrame]:
    """Yields the main records of a view as tables in pieces, at least one, which may be empty. The values of a long capture may be
    larger than memory."""
    if isinstance(view, Samples):
        return sample_tables(view.chunks())
    if isinstance(view, Counters):
        return reading_tables(view) if view.interval_ns is None else interval_tables(view)
    return iter((_whole(view),))


def calls_table(analysis: Analysis, *, shown: Sequence[int] | None = None) -> pl.DataFrame:
    """Makes the table of calls that is written of a timeline, all or those with the numbers `shown`, one row a call; `*_params` and
    `*_buffer` are JSON text."""
    numbers = range(1, len(analysis.calls) + 1) if shown is None else shown
    return table_of_records(CallRecord, CallRecords(analysis, for_json=True).records_of(numbers))


# New names of a call's keys in tables that are joined with others.
KEYS_OF_CALLS = {"number": "call", "auth_logon": "logon"}


def structs_of_json(texts: pl.Series) -> pl.Series:
    """Converts the JSON objects in a column of a table to structs with the fields of all of them. A field with values of several
    types has JSON or plain text. If no object has a field, the type is Null: no file holds structs without fields."""
    rows = [None if text is None else decoded(text) for text in texts]
    fields = {
        name: _one_type(name, [None if row is None else row.get(name) for row in rows])
        for name in dict.fromkeys(name for row in rows if row is not None for name in row)
    }
    if not fields:
        return pl.Series(texts.name, [None] * len(rows), dtype=pl.Null)
    made = pl.DataFrame(fields).to_struct()
    return made.zip_with(texts.is_not_null(), pl.Series([None] * len(rows), dtype=made.dtype)).alias(texts.name)


def _one_type(name: str, values: Sequence[Any]) -> pl.Series:
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1:
        try:
            found = pl.Series(name, values)
        except (TypeError, OverflowError, pl.exceptions.PolarsError):
            pass
        else:
            return found.cast(pl.String) if found.dtype == pl.Null else found
    return pl.Series(
        name, [value if value is None or isinstance(value, str) else dumps(value).decode() for value in values]
    )


def problems_table(analysis: Analysis) -> pl.DataFrame:
    """Makes the table of problems of an analysis, beside those of views: one row for each thing that could not be read in the shown
    calls."""
    facts = analysis.capture
    return table_of_records(ProblemRecord, (problem_record(one, facts) for one in shown_problems(analysis)))


def logons_table(analysis: Analysis) -> pl.DataFrame:
    """Makes the table of logons of an analysis, beside those of views: one row a logon of the shown sessions and calls."""
    facts = analysis.capture
    return table_of_records(LogonRecord, (logon_record(one, facts) for one in analysis.shown_logons))


def write_csv(view: View, out: BinaryIO, columns: Sequence[str] = (), *, raw_cells: bool) -> None:
    """Writes the table of a view as CSV with a header; `columns` and `raw_cells` as for `view_writer.write`."""
    for number, table in enumerate(_only(tables_of(view), columns)):
        flat = _flat(table) if raw_cells else safe_cells(_flat(table))
        out.write(flat.write_csv(include_header=number == 0).encode())


def _only(tables: Iterable[pl.DataFrame], columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Yields the tables with these columns in this order (none named: all). Raises `InputError` for an unknown column."""
    for table in tables:
        if unknown := [name for name in columns if name not in table.columns]:
            raise InputError(f"the table has no column {unknown[0]}", hint=f"It has {', '.join(table.columns)}.")
        yield table.select(columns) if columns else table


def _flat(table: pl.DataFrame) -> pl.DataFrame:
    """Flattens a table for CSV: lists become JSON text, categories text, durations nanoseconds."""
    nested = [
        pl.Series(name, [json_ready(value) for value in table[name].to_list()], dtype=pl.String)
        for name, kind in table.schema.items()
        if isinstance(kind, pl.List)
    ]
    return table.with_columns(
        *nested, pl.col(pl.Categorical, pl.Enum).cast(pl.String), pl.col(pl.Duration).cast(pl.Int64)
    )


def write_parquet(
    view: View, out: BinaryIO, columns: Sequence[str] = (), metadata: dict[str, str] | None = None
) -> None:
    """Writes the table of a view as one Parquet file, with `metadata` in its footer; `columns` as for `view_writer.write`."""
    pieces = _only(tables_of(view), columns)
    if isinstance(view, Samples | Counters):
        write_pieces(pieces, out, metadata)
    else:
        pl.concat(pieces, rechunk=False).write_parquet(out, metadata=metadata)


def write_pieces(tables: Iterator[pl.DataFrame], out: BinaryIO, metadata: dict[str, str] | None = None) -> None:
    """Writes tables of one schema, at least one, to one Parquet file, a row group at a time."""
    ours: list[Exception] = []
    first = next(tables)

    def source(*_: object) -> Iterator[pl.DataFrame]:
        try:
            yield first
            yield from tables
        except Exception as error:
            ours.append(error)
            raise

    frame = register_io_source(source, schema=first.schema)
    try:
        frame.sink_parquet(out, row_group_size=ROWS_AT_ONCE, maintain_order=True, metadata=metadata)
    except (pl.exceptions.PolarsError, OSError):
        if ours:
            raise ours[0] from None
        raise


def _whole(view: View) -> pl.DataFrame:
    if isinstance(view, Timeline):
        return calls_table(view.analysis, shown=view.selection.shown(view.analysis).numbers)
    if isinstance(view, MatrixView):
        return _matrix(view)
    kinds = kinds_of(view)
    records = (record for record in view.records() if isinstance(record, kinds))
    return table_of_records(kinds[0], records) if len(kinds) == 1 else table_of_several(kinds, records)


def kinds_of(view: View | StreamedTimeline) -> tuple[type[Record], ...]:
    """Returns the types of the records in the table that is written of a view: only the main type, if the view has one."""
    if isinstance(view, Decode) and view.samples:
        return (SampleRecord,)
    if isinstance(view, Counters):
        return (CounterRecord if view.interval_ns is None else BucketRecord,)
    return next(kinds for kind, kinds in _KINDS.items() if isinstance(view, kind))


_KINDS: Mapping[type, tuple[type[Record], ...]] = {
    AttackList: COMMANDS["docs CODE"],
    AuditView: (FindingRecord,),
    Calibration: COMMANDS["calibrate"],
    Decode: (BufferRecord,),
    DifferencesView: (DifferenceRecord,),
    Handles: (HandleRecord,),
    Hosts: COMMANDS["hosts"],
    LimitList: COMMANDS["docs limits"],
    MatrixView: COMMANDS["audit --matrix"],
    Processes: COMMANDS["processes"],
    FilesView: (FileRecord,),
    RuleList: COMMANDS["audit --list"],
    Samples: (SampleRecord,),
    SavedMetadata: COMMANDS["export-metadata"],
    Sessions: (SessionRecord,),
    Show: (ShowRecord,),
    ShowPlace: (PlaceRecord,),
    Stats: COMMANDS["stats"],
    StreamedTimeline: (CallRecord,),
    Timeline: (CallRecord,),
    Triage: (Observation,),
}


def _matrix(view: MatrixView) -> pl.DataFrame:
    """Makes the table of the audit's matrix, a column for each capture: the only table whose columns depend on captures."""
    rows = [
        {
            "requirement": requirement,
            "section": view.coverages[0][requirement].requirement.section,
            "statement": view.coverages[0][requirement].requirement.statement,
            **dict(zip(view.names, verdicts, strict=True)),
        }
        for requirement, verdicts in view.rows()
    ]
    fixed = ("requirement", "section", "statement", *view.names)
    return pl.DataFrame(rows, schema=dict.fromkeys(fixed, pl.String))
