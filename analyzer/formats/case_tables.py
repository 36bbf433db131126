"""The tables of a case as Parquet: what the commands print, for any program that reads tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BufferedWriter, RawIOBase
from itertools import chain
from typing import Any

import polars as pl
from msgspec import Struct

from analyzer.audit.engine import Audit, Profile
from analyzer.core.spill import Log
from analyzer.formats.dataframes import problems_table
from analyzer.formats.sample_tables import write_sample_parquet
from analyzer.formats.schema import table_of_records
from analyzer.formats.tables import tables_of
from analyzer.model.analysis import Analysis
from analyzer.model.audit import CoverageRecord, FindingRecord
from analyzer.model.store import MEMORY_BYTES
from analyzer.views.audit import AuditView
from analyzer.views.counters import Counters
from analyzer.views.handles import Handles
from analyzer.views.samples import Samples
from analyzer.views.sessions import Hosts, Sessions
from analyzer.views.timeline import Timeline
from analyzer.views.view import View


class CaseTable(Struct, frozen=True):
    """A table as Parquet. Its bytes spill to a temporary file: the values of a long capture may be larger than memory."""

    name: str
    rows: int
    columns: dict[str, str]
    log: Log

    def pieces(self) -> Iterator[bytes]:
        """Its bytes."""
        return self.log.pieces()


class _Spilled(RawIOBase):
    """A file that is only written, into a log."""

    def __init__(self) -> None:
        super().__init__()
        self.log = Log(MEMORY_BYTES)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self.log.append(piece)
        return len(piece)


def case_tables(analysis: Analysis, profile: str) -> list[CaseTable]:
    """Every table of a case, in the order in which they stand there."""
    audit = list(AuditView(Audit(analysis, profile=Profile(profile))).records())
    makers: dict[str, Callable[[], View | pl.DataFrame]] = {
        "calls": lambda: Timeline(analysis),
        "samples": lambda: Samples(analysis),
        "counters": lambda: Counters(analysis),
        "problems": lambda: problems_table(analysis),
        "sessions": lambda: Sessions(analysis),
        "hosts": lambda: Hosts(analysis),
        "handles": lambda: Handles(analysis),
        "findings": lambda: table_of_records(FindingRecord, (one for one in audit if isinstance(one, FindingRecord))),
        "coverage": lambda: table_of_records(CoverageRecord, (one for one in audit if isinstance(one, CoverageRecord))),
    }
    return [_written(name, make()) for name, make in makers.items()]


def _written(name: str, made: View | pl.DataFrame) -> CaseTable:
    out = _Spilled()
    rows = 0
    pieces = iter((made,)) if isinstance(made, pl.DataFrame) else tables_of(made)
    first = next(pieces)

    def counted() -> Iterator[pl.DataFrame]:
        nonlocal rows
        for piece in chain((first,), pieces):
            rows += piece.height
            yield piece

    with BufferedWriter(out) as buffer:
        write_sample_parquet(counted(), buffer)
    return CaseTable(name, rows, {column: str(kind) for column, kind in first.schema.items()}, out.log)
