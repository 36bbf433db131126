"""Views as polars DataFrames: what CSV and Parquet are written from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import BinaryIO

import polars as pl

from analyzer.core.output.escapes import safe_cells
from analyzer.core.output.json import json_ready
from analyzer.results.audit import FindingRecord
from analyzer.results.lines import COMMANDS
from analyzer.results.record import Record
from analyzer.results.sample import SampleRecord
from analyzer.results.tree import BufferRecord, PlaceRecord, ShowRecord
from analyzer.results.triage import TriageFinding
from analyzer.screens.formats.counter_tables import counter_tables
from analyzer.screens.formats.dataframes import calls_table
from analyzer.screens.formats.sample_tables import sample_tables, write_sample_parquet
from analyzer.screens.formats.schema import table_of_records, table_of_several
from analyzer.screens.views.audit import AuditView, MatrixView
from analyzer.screens.views.calibrate import Calibration
from analyzer.screens.views.counters import Counters
from analyzer.screens.views.decode import Decode
from analyzer.screens.views.handles import Handles
from analyzer.screens.views.metadata import SavedMetadata
from analyzer.screens.views.place import ShowPlace
from analyzer.screens.views.rule_pages import RuleList
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.sessions import Hosts, Sessions
from analyzer.screens.views.show import Show
from analyzer.screens.views.stats import Stats
from analyzer.screens.views.timeline import Timeline
from analyzer.screens.views.triage import Triage
from analyzer.screens.views.view import View


def table_of(view: View) -> pl.DataFrame:
    """The main records of a view as columns."""
    # The pieces stay as they are: texts that come again and again are shared there, and would be copied.
    return pl.concat(tables_of(view), rechunk=False)


def tables_of(view: View) -> Iterator[pl.DataFrame]:
    """The same in pieces, at least one, which may be empty: the values of a long capture may be larger than memory."""
    if isinstance(view, Samples):
        return sample_tables(view.chunks())
    if isinstance(view, Counters):
        return counter_tables(view)
    return iter((_whole(view),))


def write_csv(view: View, out: BinaryIO, *, raw_cells: bool) -> None:
    """Writes the table of a view as CSV with a header; `raw_cells` as for `formats.write.write`."""
    for number, table in enumerate(tables_of(view)):
        flat = _flat(table) if raw_cells else safe_cells(_flat(table))
        out.write(flat.write_csv(include_header=number == 0).encode())


def _flat(table: pl.DataFrame) -> pl.DataFrame:
    """CSV has no lists: they become JSON text. Categories are text, durations nanoseconds."""
    nested = [
        pl.Series(name, [json_ready(value) for value in table[name].to_list()], dtype=pl.String)
        for name, kind in table.schema.items()
        if isinstance(kind, pl.List)
    ]
    return table.with_columns(
        *nested, pl.col(pl.Categorical, pl.Enum).cast(pl.String), pl.col(pl.Duration).cast(pl.Int64)
    )


def write_parquet(view: View, out: BinaryIO, metadata: dict[str, str] | None = None) -> None:
    """Writes the table of a view as one Parquet file, with `metadata` in its footer."""
    if isinstance(view, Samples | Counters):
        write_sample_parquet(tables_of(view), out, metadata)
    else:
        table_of(view).write_parquet(out, metadata=metadata)


def _whole(view: View) -> pl.DataFrame:
    if isinstance(view, Timeline):
        return calls_table(view.analysis, shown=view.selection.shown(view.analysis))
    if isinstance(view, MatrixView):
        return _matrix(view)
    kinds = kinds_of(view)
    records = (record for record in view.records() if isinstance(record, kinds))
    return table_of_records(kinds[0], records) if len(kinds) == 1 else table_of_several(kinds, records)


def kinds_of(view: View) -> tuple[type[Record], ...]:
    """The types of the records in a view's table. Where a view has one main type, the table is of that."""
    if isinstance(view, Decode) and view.samples:
        return (SampleRecord,)
    return next(kinds for kind, kinds in _KINDS.items() if isinstance(view, kind))


_KINDS: Mapping[type, tuple[type[Record], ...]] = {
    AuditView: (FindingRecord,),
    Calibration: COMMANDS["calibrate"],
    Decode: (BufferRecord,),
    Handles: COMMANDS["handles"],
    Hosts: COMMANDS["hosts"],
    RuleList: COMMANDS["audit --list"],
    SavedMetadata: COMMANDS["export-metadata"],
    Sessions: COMMANDS["sessions"],
    Show: (ShowRecord,),
    ShowPlace: (PlaceRecord,),
    Stats: COMMANDS["stats"],
    Triage: (TriageFinding,),
}


def _matrix(view: MatrixView) -> pl.DataFrame:
    """A column for each capture, and so the one table whose columns depend on the captures."""
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
