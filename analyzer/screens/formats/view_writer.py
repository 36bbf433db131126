"""Writes a view: text for people, JSON Lines and JSON for programs, CSV and Parquet for columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, cast

from analyzer.core.output.gate import Destination, is_read
from analyzer.core.output.json import dumps, line, lines
from analyzer.core.output.terminal import write_markup
from analyzer.results.analysis import EVIDENCE_KEY, EvidenceRecord, evidence_lines
from analyzer.screens.views.view_type import OfCalls, OfCapture, OfSamples, View

if TYPE_CHECKING:
    from analyzer.screens.formats.json_projection import Projection
    from analyzer.screens.views.exported_entries import Entries
    from analyzer.screens.views.streamed_timeline import StreamedTimeline

# The forms that are made of entries.
FOR_OTHERS = ("timesketch", "ecs", "zeek")


def write(
    view: View,
    form: str,
    destination: Destination,
    *,
    columns: Sequence[str] = (),
    raw_cells: bool = False,
    evidence: EvidenceRecord | None = None,
    pager: list[str] | None = None,
) -> None:
    """Writes a view as `text`, `jsonl`, `json`, `csv` or `parquet`; calls, sessions and findings also as `timesketch`, `ecs` or
    `zeek`.

    `columns` are those of tables and the keys of JSON; none means all. `raw_cells` leaves the cells of CSV as they are, whatever a
    terminal or a spreadsheet would make of them. `evidence` is the first record of JSON, a comment before CSV, metadata of Parquet,
    and the last lines of text, which a `pager` shows on terminals.
    """
    destination = destination.sparing(view.inputs())
    if form == "text":
        write_markup(lambda width: _with_evidence(_text(view, width), lambda: evidence), destination, pager=pager)
        return
    chosen = _projection(view, columns) if columns and form in ("jsonl", "json") else None
    with destination.opened() as out:
        if form in FOR_OTHERS:
            for text in lines_for_others(cast("Entries", view), form):
                out.write(text)
        elif form == "jsonl":
            if evidence is not None:
                out.write(line(evidence))
            for text in json_lines(view) if chosen is None else chosen.lines(json_lines(view)):
                out.write(text)
        elif form == "json":
            found = map(dumps, view.records())
            if chosen is not None:
                found = map(bytes.rstrip, chosen.lines(lines(view.records())))
            separator = b"[\n"
            for text in chain([] if evidence is None else [dumps(evidence)], found):
                out.write(separator + text)
                separator = b",\n"
            out.write(b"\n]\n" if separator != b"[\n" else b"[]\n")
        elif form == "csv":
            if evidence is not None:
                out.write(b"# " + line(evidence))
            from analyzer.screens.formats.table_writer import write_csv

            write_csv(view, out, columns, raw_cells=raw_cells)
        else:
            from analyzer.screens.formats.table_writer import write_parquet

            write_parquet(view, out, columns, None if evidence is None else {EVIDENCE_KEY: dumps(evidence).decode()})


def _projection(view: View | StreamedTimeline, columns: Sequence[str]) -> Projection:
    from analyzer.screens.formats.json_projection import Projection
    from analyzer.screens.formats.table_writer import kinds_of

    return Projection.of_columns(kinds_of(view), columns)


def write_streamed(
    view: StreamedTimeline,
    form: str,
    destination: Destination,
    *,
    columns: Sequence[str] = (),
    evidence: Callable[[], EvidenceRecord | None],
) -> None:
    """Writes a view as `text` or `jsonl` while it is made; `evidence` comes last, when everything was read."""
    destination = destination.sparing(view.inputs())
    if form == "text":
        write_markup(lambda width: _with_evidence(view.lines(width), evidence), destination, at_once=True)
        return
    chosen = _projection(view, columns) if columns else None
    with destination.opened() as out:
        for batch in view.batches():
            for text in lines(batch) if chosen is None else chosen.lines(lines(batch)):
                out.write(text)
            out.flush()
            if not is_read(out):
                return
        if (record := evidence()) is not None:
            out.write(line(record))


def lines_for_others(view: Entries, form: str) -> Iterator[bytes]:
    """Writes a view of calls, sessions or findings in the form of another program (Timesketch, ECS, Zeek): yields its lines."""
    from analyzer.screens.views.exported_entries import entries, kind_of

    if form == "timesketch":
        from analyzer.screens.formats.timesketch import timesketch_lines

        return timesketch_lines(entries(view))
    if form == "ecs":
        from analyzer.screens.formats.ecs import ecs_lines

        return ecs_lines(entries(view))
    from analyzer.screens.formats.zeek import zeek_lines

    capture = view.analysis.capture
    return zeek_lines(kind_of(view), entries(view), capture.first_time_ns, capture.last_time_ns)


def _text(view: View, width: int | None) -> Iterator[str]:
    """Yields the text lines of a view; the first says so if names are pseudonyms."""
    if isinstance(view, OfCapture) and view.analysis.capture.redacted:
        from analyzer.screens.viewmodel.call_summary_words import REDACTED
        from analyzer.screens.views.text_report import folded, styled

        yield from (styled("bold", text) for text in folded(REDACTED, 4, width))
    yield from view.lines(width)


def _with_evidence(lines: Iterable[str], evidence: Callable[[], EvidenceRecord | None]) -> Iterator[str]:
    from analyzer.screens.views.text_report import safe

    yield from lines
    if (record := evidence()) is not None:
        yield ""
        yield from map(safe, evidence_lines(record))


def json_lines(view: View) -> Iterator[bytes]:
    """Writes the records of a view as JSON Lines: yields several lines at a time, or a long line in pieces."""
    if isinstance(view, OfCalls):
        from analyzer.screens.formats.call_json_lines import call_lines

        return call_lines(view)
    if isinstance(view, OfSamples):
        from analyzer.screens.formats.sample_json_lines import sample_json_lines

        return sample_json_lines(view.chunks())
    return lines(view.records())
