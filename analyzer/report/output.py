"""What a command shows, and the forms it can be written in: text for people, records for programs, tables for columns."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Protocol, runtime_checkable

import orjson

from analyzer.buffers import ReadyTrees
from analyzer.core.errors import InputError
from analyzer.core.values import dataclass
from analyzer.model.analysis import Analysis
from analyzer.model.records import ReadyJson, Record, session_record, timeline_records
from analyzer.timeline.selection import EVERYTHING, Selection

if TYPE_CHECKING:
    import polars as pl

    from analyzer.model.chunks import SampleChunk
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


@dataclass(frozen=True, slots=True)
class Timeline(OfCapture):
    analysis: Analysis
    selection: Selection = EVERYTHING
    all_attempts: bool = False
    clock: Clock = "relative"

    def records(self) -> Iterator[Record]:
        return self._records(None)

    def _records(self, ready: ReadyTrees | None) -> Iterator[Record]:
        shown = self.selection.shown(self.analysis)
        return timeline_records(self.analysis, shown=shown, selected_by=self.selection.words, ready=ready)

    def lines(self, width: int | None) -> Iterator[str]:
        from analyzer.report.text import timeline_lines

        return timeline_lines(
            self.analysis, width, selection=self.selection, all_attempts=self.all_attempts, clock=self.clock
        )

    def table(self) -> pl.DataFrame:
        from analyzer.report.tables import calls_table

        return calls_table(self.analysis, shown=self.selection.shown(self.analysis))

    def json_lines(self) -> Iterator[bytes]:
        return map(dumps_line, self._records(ReadyTrees()))


@dataclass(frozen=True, slots=True)
class Samples(OfCapture):
    analysis: Analysis
    filter: SampleFilter | None = None

    def records(self) -> Iterator[Record]:
        from analyzer.model.samples import sample_records

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
        from analyzer.model.chunks import sample_chunks

        return sample_chunks(self.analysis) if self.filter is None else self.filter.records(self.analysis)


@dataclass(frozen=True, slots=True)
class Sessions(OfCapture):
    analysis: Analysis

    def records(self) -> Iterator[Record]:
        return (session_record(session, self.analysis.capture) for session in self.analysis.sessions)

    def lines(self, width: int | None) -> Iterator[str]:
        from analyzer.report.text import session_lines

        return session_lines(self.analysis, width)

    def table(self) -> pl.DataFrame:
        from analyzer.report.tables import records_table

        return records_table(self.records())


@dataclass(frozen=True, slots=True)
class Hosts(OfCapture):
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
    """One record as JSON. A string with a lone surrogate (an ill-formed UTF-16 name) is escaped, never lost."""
    return _dumped(record, 0)


def dumps_line(record: Record) -> bytes:
    """The same with a newline behind it; a record may be too large to be copied for that."""
    return _dumped(record, orjson.OPT_APPEND_NEWLINE)


def _dumped(record: Record, option: int) -> bytes:
    try:
        return orjson.dumps(record, default=_ready, option=orjson.OPT_PASSTHROUGH_DATACLASS | option)
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


def write(view: View, form: str, path: Path | None) -> None:
    """Writes a view as `text`, `jsonl`, `json`, `csv` or `parquet`, to standard output where `path` is None.

    A reader that went away (`| head`) ends the writing and is no error.
    """
    with _written():
        _write(view, form, path)


@contextmanager
def _written() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # Python flushes standard output once more at exit; there is nobody left to read it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise InputError(f"standard output cannot be written: {error.strerror or error}") from None


def write_document(document: bytes, path: Path | None, inputs: Sequence[str]) -> None:
    """Writes a document that is made as a whole, as `write` does."""
    with _written(), _opened(path, inputs) as out:
        out.write(document)


def _write(view: View, form: str, path: Path | None) -> None:
    if form == "text":
        _write_text(view, path)
        return
    with _opened(path, view.inputs()) as out:
        if form == "jsonl":
            lines = view.json_lines() if isinstance(view, LinesView) else map(dumps_line, view.records())
            for line in lines:
                out.write(line)
        elif form == "json":
            separator = b"[\n"
            for record in view.records():
                out.write(separator + dumps(record))
                separator = b",\n"
            out.write(b"\n]\n" if separator != b"[\n" else b"[]\n")
        elif form == "csv":
            tables = view.tables() if isinstance(view, TablesView) else iter([view.table()])
            for number, table in enumerate(tables):
                out.write(_flat(table).write_csv(include_header=number == 0).encode())
        elif isinstance(view, TablesView):
            from analyzer.report.sample_tables import write_sample_parquet

            write_sample_parquet(view.tables(), out)
        else:
            view.table().write_parquet(out)


def _flat(table: pl.DataFrame) -> pl.DataFrame:
    """CSV has no lists: they become JSON text, as what is nested is already."""
    import polars as pl

    nested = [name for name, kind in table.schema.items() if isinstance(kind, pl.List)]
    return table.with_columns(
        pl.Series(name, [json_ready(value) for value in table[name].to_list()], dtype=pl.String) for name in nested
    )


@contextmanager
def _opened(path: Path | None, inputs: Sequence[str]) -> Iterator[BinaryIO]:
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if path.exists() and any(Path(name).exists() and path.samefile(name) for name in inputs):
        raise InputError(f"{path} is what was read; it is not written over")
    try:
        with path.open("wb") as out:
            yield out
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None


def _write_text(view: View, path: Path | None) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    if path is None and console.is_terminal:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # for terminals that know only their own alphabet
        for line in view.lines(console.width):
            console.print(Text.from_markup(line, emoji=False))
        return
    with _opened(path, view.inputs()) as out:
        for line in view.lines(None):
            out.write((Text.from_markup(line, emoji=False).plain + "\n").encode("utf-8", "backslashreplace"))


def json_ready(value: Any) -> str | None:
    """A nested value as JSON text, for a table's column; None stays None."""
    return None if value is None else dumps(value).decode()
