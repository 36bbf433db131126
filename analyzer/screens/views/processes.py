"""The view of `processes`: each process of a machine that any answer shows, as records and as text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from msgspec import Struct
from rich.cells import cell_len

from analyzer.core.printable_text import shortened
from analyzer.core.times import shown_second
from analyzer.questions.processes.process_records import MARK_WORDS, process_records
from analyzer.results.analysis import Analysis
from analyzer.results.records.process import ProcessRecord
from analyzer.screens.viewmodel.call_summary_words import parent_words
from analyzer.screens.views.text_report import doubt_lines, folded, nothing_passes, problem_lines, safe, styled
from analyzer.screens.views.view_type import OfCapture

_MOST_NAME = 40
_HEAD = ("pid", "parent", "name", "started", "first seen", "last seen", "processor", "memory")
# Columns of numbers, which are aligned on the right.
_RIGHT = frozenset(("pid", "processor", "memory"))
# A narrow terminal leaves out empty columns, then these, in this order.
_SPARE = ("last seen", "first seen", "parent")


class Processes(Struct, OfCapture, frozen=True):
    """The view of `pcq processes`: each process of a machine."""

    analysis: Analysis

    def records(self) -> Iterator[ProcessRecord]:
        return iter(process_records(self.analysis))

    def lines(self, width: int | None) -> Iterator[str]:
        """Yields a table of processes for each machine, and below it what is odd about them."""
        records = process_records(self.analysis)
        for number, (server, found) in enumerate(groupby(records, key=lambda one: one.server_ip)):
            if number:
                yield ""
            yield from _machine_lines(server, list(found), width)
        if not records:
            yield from nothing_passes(self.analysis) or ("no answer that could be read shows a process",)
        yield from doubt_lines(self.analysis, width)
        yield from problem_lines(self.analysis, width)


def _machine_lines(server: str, records: list[ProcessRecord], width: int | None) -> Iterator[str]:
    name = records[0].server_name
    where = f"{name} ({server})" if name is not None and name != server else server
    count = f"{len(records):,} process" + ("es" if len(records) != 1 else "")
    yield styled("bold", f"{where}: {count}")
    viewers = list(dict.fromkeys(who for one in records for who in one.seen_by))
    for who in viewers:
        yield from map(safe, folded(f"  seen by {who.name} from {who.client_ip}", 4, width))
    rows = [_HEAD, *map(_row, records)]
    widths = _widths(rows, width)
    for row, record in zip(rows, [None, *records], strict=True):
        cells = (_padded(row[column], title, widths[title]) for column, title in enumerate(_HEAD) if title in widths)
        line = f"  {'  '.join(cells)}".rstrip()
        yield styled("yellow", line) if record is not None and record.oddities else safe(line)
    for record in records:
        if record.altered == record.answers:
            text = f"  {shortened(record.name, _MOST_NAME)}: only answers that others may have changed show it"
            yield from (styled("yellow", line) for line in folded(text, 4, width))
        for mark in record.oddities:
            pid = f" (pid {record.pid})" if record.pid is not None else ""
            text = f"  {shortened(record.name, _MOST_NAME)}{pid}: {MARK_WORDS[mark.kind]}: {mark.reason}"
            yield from (styled("yellow", line) for line in folded(text, 4, width))


def _widths(rows: list[tuple[str, ...]], width: int | None) -> dict[str, int]:
    """Returns the width of each column of `processes` that fits, by title. The first of the rows has the titles."""
    widths = {title: max(cell_len(row[column]) for row in rows) for column, title in enumerate(_HEAD)}
    empty = [title for column, title in enumerate(_HEAD) if not any(row[column] for row in rows[1:])]
    for title in (*empty, *_SPARE):
        if width is not None and sum(widths.values()) + 2 * len(widths) > width:
            widths.pop(title, None)
    return widths


def _padded(cell: str, title: str, width: int) -> str:
    room = " " * (width - cell_len(cell))
    return room + cell if title in _RIGHT else cell + room


def _row(one: ProcessRecord) -> tuple[str, ...]:
    started = _time(one.started_ns)
    if one.started_after_ns is not None:
        started = f"{started or _time(one.first_time_ns)} (new)"
    last = _time(one.last_time_ns) + (" (ended)" if one.ended_before_ns is not None else "")
    cpu = f"{one.cpu.mean:.1f} %" if one.cpu is not None else ""
    memory = f"{one.memory.last / (1 << 20):,.1f} MiB" if one.memory is not None else ""
    pid = str(one.pid) if one.pid is not None else ""
    parent = parent_words(one.parent_pid, one.parent_name)
    return pid, parent, shortened(one.name, _MOST_NAME), started, _time(one.first_time_ns), last, cpu, memory


def _time(time_ns: int | None) -> str:
    return shown_second(time_ns) if time_ns is not None else ""
