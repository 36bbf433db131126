"""Calls, samples and problems as polars DataFrames: one row each, with the columns of their record types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from analyzer.interfaces.contents.lines import call_records, problem_record, shown_problems
from analyzer.results.analysis import Analysis
from analyzer.results.call import Call, CallRecord
from analyzer.results.capture import ProblemRecord
from analyzer.results.sample import SampleRecord
from analyzer.screens.formats.schema import table_of_records


def calls_table(analysis: Analysis, *, shown: Sequence[tuple[int, Call]] | None = None) -> pl.DataFrame:
    """One row a call, of all calls or of those `shown`; `*_params` and `*_buffer` are JSON text."""
    calls = enumerate(analysis.calls, 1) if shown is None else shown
    return table_of_records(CallRecord, call_records(calls, analysis))


def samples_frame(records: Iterable[SampleRecord]) -> pl.DataFrame:
    """Sample records as columns."""
    return table_of_records(SampleRecord, records)


def problems_table(analysis: Analysis) -> pl.DataFrame:
    """One row for each thing that could not be read, of the calls that are shown."""
    facts = analysis.capture
    return table_of_records(ProblemRecord, (problem_record(one, facts) for one in shown_problems(analysis)))
