"""Views as polars DataFrames: what CSV and Parquet are written from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import polars as pl

from analyzer.formats.counter_tables import counter_tables
from analyzer.formats.dataframes import calls_table, records_table, samples_frame
from analyzer.formats.sample_tables import sample_tables, write_sample_parquet
from analyzer.model.audit import FindingRecord
from analyzer.model.triage import TriageFinding
from analyzer.output.escapes import safe_cells
from analyzer.output.json import json_ready
from analyzer.views.audit import AuditView, MatrixView
from analyzer.views.counters import Counters
from analyzer.views.decode import Decode
from analyzer.views.samples import Samples
from analyzer.views.timeline import Timeline
from analyzer.views.triage import Triage
from analyzer.views.view import View


def table_of(view: View) -> pl.DataFrame:
    """The main records of a view as columns."""
    tables = list(tables_of(view))
    return pl.concat(tables, rechunk=isinstance(view, Samples)) if len(tables) > 1 else tables[0]


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
    """CSV has no lists: they become JSON text, as what is nested is already. Categories are text, durations nanoseconds."""
    nested = [name for name, kind in table.schema.items() if isinstance(kind, pl.List)]
    return table.with_columns(
        pl.col(pl.Categorical, pl.Enum).cast(pl.String),
        pl.col(pl.Duration).cast(pl.Int64),
        *(pl.Series(name, [json_ready(value) for value in table[name].to_list()], dtype=pl.String) for name in nested),
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
    if isinstance(view, AuditView | Triage):
        main = FindingRecord if isinstance(view, AuditView) else TriageFinding
        return records_table(record for record in view.records() if isinstance(record, main))
    if isinstance(view, MatrixView):
        return _matrix(view)
    if isinstance(view, Decode) and view.samples:
        return samples_frame(view.sample_records())
    return records_table(view.records())


def _matrix(view: MatrixView) -> pl.DataFrame:
    rows = [
        {
            "requirement": requirement,
            "section": view.coverages[0][requirement].requirement.section,
            "statement": view.coverages[0][requirement].requirement.statement,
            **dict(zip(view.names, verdicts, strict=True)),
        }
        for requirement, verdicts in view.rows()
    ]
    return pl.DataFrame(rows, infer_schema_length=None)
