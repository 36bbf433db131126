"""What a command shows, and the forms it can be written in: text for people, records for programs, tables for columns."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import orjson
from msgspec import Struct

from analyzer.buffers import ReadyTrees
from analyzer.contents.lines import ReadyJson, Record, session_record, timeline_records
from analyzer.model.analysis import Analysis
from analyzer.model.evidence import EVIDENCE_KEY, EvidenceRecord, evidence_json, evidence_lines
from analyzer.output.escapes import safe_cells, safe_json
from analyzer.output.gate import Destination
from analyzer.output.terminal import write_markup
from analyzer.timeline.selection import EVERYTHING, Selection

if TYPE_CHECKING:
    import polars as pl

    from analyzer.contents.chunks import SampleChunk
    from analyzer.timeline.filters.filter import SampleFilter

# What the time of a call is counted from: 1970, the capture's first frame, the call shown before it.
Clock = Literal["absolute", "relative", "delta"]


class View(Protocol):
    """One command's result."""

    def records(self) -> Iterator[Record]:
        """One dictionary a line, as documented in docs/output.md."""
        ...

    def lines(self, width: int | None) -> Iterator[str]:
        """Text for people, folded at `width` columns (None: not folded), with rich's markup for colours."""
        ...

    def table(self) -> pl.DataFrame:
        """The main records as columns."""
        ...

    def inputs(self) -> tuple[str, ...]:
        """Names of the files it was made from, which must not be written over."""
        ...


@runtime_checkable
class LinesView(View, Protocol):
    """A result whose JSON Lines are quicker to be had than its records: the same bytes, any number of whole lines at a time."""

    def json_lines(self) -> Iterator[bytes]: ...


@runtime_checkable
class TablesView(View, Protocol):
    """A result that may be larger than memory: the rows of `table` in pieces, at least one, which may be empty."""

    def tables(self) -> Iterator[pl.DataFrame]: ...


class OfCapture:
    """What every view of a capture shares."""

    __slots__ = ()
    analysis: Analysis

    def inputs(self) -> tuple[str, ...]:
        return self.analysis.capture.files


class Timeline(Struct, OfCapture, frozen=True):
    analysis: Analysis
    selection: Selection = EVERYTHING
    all_attempts: bool = False
    clock: Clock = "relative"
    unfold: bool = False

    def records(self) -> Iterator[Record]:
        return self._records(None)

    def _records(self, ready: ReadyTrees | None) -> Iterator[Record]:
        shown = self.selection.shown(self.analysis)
        return timeline_records(self.analysis, shown=shown, selected_by=self.selection.words, ready=ready)

    def lines(self, width: int | None) -> Iterator[str]:
        from analyzer.report.text import timeline_lines

        return timeline_lines(
            self.analysis,
            width,
            selection=self.selection,
            all_attempts=self.all_attempts,
            clock=self.clock,
            unfold=self.unfold,
        )

    def table(self) -> pl.DataFrame:
        from analyzer.report.tables import calls_table

        return calls_table(self.analysis, shown=self.selection.shown(self.analysis))

    def json_lines(self) -> Iterator[bytes]:
        return map(dumps_line, self._records(ReadyTrees()))


class Samples(Struct, OfCapture, frozen=True):
    analysis: Analysis
    filter: SampleFilter | None = None

    def records(self) -> Iterator[Record]:
        from analyzer.contents.samples import sample_records

        return sample_records(self.analysis) if self.filter is None else self.filter.records(self.analysis)

    def lines(self, width: int | None) -> Iterator[str]:
        from analyzer.report.text import sample_lines

        return sample_lines(self.analysis, width, self.filter)

    def table(self) -> pl.DataFrame:
        import polars as pl

        return pl.concat(self.tables(), rechunk=True)

    def json_lines(self) -> Iterator[bytes]:
        from analyzer.report.sample_lines import sample_json_lines

        return sample_json_lines(self._chunks())

    def tables(self) -> Iterator[pl.DataFrame]:
        from analyzer.report.sample_tables import sample_tables

        return sample_tables(self._chunks())

    def _chunks(self) -> Iterator[SampleChunk | Record]:
        from analyzer.contents.chunks import sample_chunks

        return sample_chunks(self.analysis) if self.filter is None else self.filter.records(self.analysis)


class Sessions(Struct, OfCapture, frozen=True):
    analysis: Analysis

    def records(self) -> Iterator[Record]:
        return (session_record(session, self.analysis.capture) for session in self.analysis.sessions)

    def lines(self, width: int | None) -> Iterator[str]:
        from analyzer.report.text import session_lines

        return session_lines(self.analysis, width)

    def table(self) -> pl.DataFrame:
        from analyzer.report.tables import records_table

        return records_table(self.records())


class Hosts(Struct, OfCapture, frozen=True):
    analysis: Analysis

    def records(self) -> Iterator[Record]:
        from analyzer.timeline.hosts import host_records

        return host_records(self.analysis)

    def lines(self, width: int | None) -> Iterator[str]:
        from analyzer.report.text import host_lines

        return host_lines(self.analysis, width)

    def table(self) -> pl.DataFrame:
        from analyzer.report.tables import records_table

        return records_table(self.records())


def dumps(record: Record) -> bytes:
    """One record as JSON. A lone surrogate (of an ill-formed UTF-16 name) and control characters are escaped, never lost."""
    return _dumped(record, 0)


def dumps_line(record: Record) -> bytes:
    """The same with a newline behind it; a record may be too large to be copied for that."""
    return _dumped(record, orjson.OPT_APPEND_NEWLINE)


def _dumped(record: Record, option: int) -> bytes:
    try:
        return safe_json(orjson.dumps(record, default=_ready, option=orjson.OPT_PASSTHROUGH_DATACLASS | option))
    except TypeError:
        import json

        end = b"\n" if option else b""
        return json.dumps(record, ensure_ascii=True, separators=(",", ":"), default=_parsed).encode() + end


def _ready(value: Any) -> orjson.Fragment:
    if isinstance(value, ReadyJson):
        return orjson.Fragment(value.text)
    raise TypeError


def _parsed(value: Any) -> Any:
    if isinstance(value, ReadyJson):
        import json

        return json.loads(value.text)
    raise TypeError(f"{type(value).__name__} in a record")


def write(
    view: View,
    form: str,
    destination: Destination,
    *,
    raw_cells: bool = False,
    evidence: EvidenceRecord | None = None,
) -> None:
    """Writes a view as `text`, `jsonl`, `json`, `csv` or `parquet`.

    `raw_cells` leaves the cells of CSV as they are, whatever a terminal or a spreadsheet would make of them. `evidence` is the
    first record of JSON, a comment before CSV, metadata of Parquet, and the last lines of text.
    """
    stated = None if evidence is None else evidence_json(evidence)
    destination = destination.sparing(view.inputs())
    if form == "text":
        write_markup(partial(_with_evidence, view, evidence), destination)
        return
    with destination.opened() as out:
        if form == "jsonl":
            if stated is not None:
                out.write(dumps_line(stated))
            lines = view.json_lines() if isinstance(view, LinesView) else map(dumps_line, view.records())
            for line in lines:
                out.write(line)
        elif form == "json":
            separator = b"[\n"
            for record in chain([] if stated is None else [stated], view.records()):
                out.write(separator + dumps(record))
                separator = b",\n"
            out.write(b"\n]\n" if separator != b"[\n" else b"[]\n")
        elif form == "csv":
            if stated is not None:
                out.write(b"# " + dumps_line(stated))
            tables = view.tables() if isinstance(view, TablesView) else iter([view.table()])
            for number, table in enumerate(tables):
                flat = _flat(table) if raw_cells else safe_cells(_flat(table))
                out.write(flat.write_csv(include_header=number == 0).encode())
        elif isinstance(view, TablesView):
            from analyzer.report.sample_tables import write_sample_parquet

            write_sample_parquet(view.tables(), out, _parquet_metadata(stated))
        else:
            view.table().write_parquet(out, metadata=_parquet_metadata(stated))


def _parquet_metadata(stated: Record | None) -> dict[str, str] | None:
    return None if stated is None else {EVIDENCE_KEY: dumps(stated).decode()}


def _with_evidence(view: View, evidence: EvidenceRecord | None, width: int | None) -> Iterator[str]:
    from analyzer.report.text import safe

    yield from view.lines(width)
    if evidence is not None:
        yield ""
        yield from map(safe, evidence_lines(evidence))


def _flat(table: pl.DataFrame) -> pl.DataFrame:
    """CSV has no lists: they become JSON text, as what is nested is already."""
    import polars as pl

    nested = [name for name, kind in table.schema.items() if isinstance(kind, pl.List)]
    return table.with_columns(
        pl.Series(name, [json_ready(value) for value in table[name].to_list()], dtype=pl.String) for name in nested
    )


def json_ready(value: Any) -> str | None:
    """A nested value as JSON text, for a table's column; None stays None."""
    return None if value is None else dumps(value).decode()
