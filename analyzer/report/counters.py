"""Displayed values for people and programs: one line a series with its course, one record or row a reading or interval.

In: an analysis, counter paths, an interval. The text holds one line a series under the machine and client it belongs to, in the
order of first readings; it keeps some numbers of each series and none of its readings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from analyzer.core.times import NS_PER_S
from analyzer.model.analysis import Analysis
from analyzer.model.records import Record
from analyzer.report.output import OfCapture, dumps
from analyzer.report.text import folded, problem_lines, safe, styled
from analyzer.timeline.cooking import Why, formula_of
from analyzer.timeline.counters import Bucket, buckets, counter_records, display_of, selection_of
from analyzer.timeline.paths import Selection
from analyzer.timeline.series import Point, Series, points

if TYPE_CHECKING:
    import polars as pl

# Rows of a table that are made and written at a time.
ROWS_AT_ONCE = 50_000

SPARK_CELLS = 16
_BARS = "▁▂▃▄▅▆▇█"
_EMPTY = "·"
# Widths of the columns, and what the path has of a line at least and at most.
_NUMBER = 9
_MIN_PATH, _MAX_PATH, _NO_WIDTH = 30, 60, 132


@dataclass(frozen=True)
class Counters(OfCapture):
    """The view of `pcq counters`. `patterns` are counter paths (none: all), `interval_ns` puts readings together."""

    analysis: Analysis
    patterns: tuple[str, ...] = ()
    interval_ns: int | None = None

    @cached_property
    def selection(self) -> Selection:
        """What the patterns mean; once the view is written, also which of them meant nothing."""
        return selection_of(self.analysis, self.patterns)

    def records(self) -> Iterator[Record]:
        return counter_records(self.analysis, self.selection, self.interval_ns)

    def lines(self, width: int | None) -> Iterator[str]:
        return counter_lines(self, width)

    def table(self) -> pl.DataFrame:
        import polars as pl

        return pl.concat(self.tables(), rechunk=False)

    def json_lines(self) -> Iterator[bytes]:
        return (dumps(record) + b"\n" for record in self.records())

    def tables(self) -> Iterator[pl.DataFrame]:
        from analyzer.report.tables import frame_of

        schema = _schema(in_buckets=self.interval_ns is not None)
        rows = (_row(record) for record in self.records())
        while len(table := frame_of(islice(rows, ROWS_AT_ONCE), schema)) == ROWS_AT_ONCE:
            yield table
        yield table


def _schema(*, in_buckets: bool) -> dict[str, Any]:
    """The columns of a table, in order."""
    import polars as pl

    from analyzer.report.tables import SAMPLE_SCHEMA

    if in_buckets:
        return {
            "time": pl.Datetime("ns", "UTC"),
            "interval_ns": pl.Int64,
            "source": pl.String,
            "server_ip": pl.String,
            "client_ip": pl.String,
            "client_port": pl.Int64,
            "handle": pl.String,
            "series": pl.Int64,
            "path": pl.String,
            "counter_type": pl.Int64,
            "counter_type_name": pl.String,
            "first_call": pl.Int64,
            "last_call": pl.Int64,
            "readings": pl.Int64,
            "values": pl.Int64,
            "value": pl.Float64,
            "last": pl.Float64,
            "minimum": pl.Float64,
            "maximum": pl.Float64,
            "unit": pl.String,
            "scale": pl.Int64,
            "aggregate": pl.String,
        }
    return {
        "series": pl.Int64,
        "path": pl.String,
        **SAMPLE_SCHEMA,
        "client_ip": pl.String,
        "client_port": pl.Int64,
        "handle": pl.String,
        "counter_type_name": pl.String,
        "value": pl.Float64,
        "exact": pl.String,
        "unit": pl.String,
        "scale": pl.Int64,
        "scaled": pl.Float64,
        "display": pl.String,
        "why_null": pl.String,
        "reason": pl.String,
        "flags": pl.String,
        "interval_ns": pl.Int64,
        "server_interval_ns": pl.Int64,
        "previous_call": pl.Int64,
        "missed": pl.Int64,
        "aggregate": pl.String,
        "aggregated": pl.Int64,
        "left_out": pl.Int64,
    }


def _row(record: Record) -> Record:
    client = record["client"]
    row = {**record, "client_ip": client["ip"], "client_port": client["port"]}
    if record["record"] == "counter":
        from analyzer.report.tables import sample_row

        row |= sample_row(record)
        row["flags"] = " ".join(record["flags"])
    else:
        row |= {"time": record["time_ns"], "server_ip": record["server"]["ip"]}
    for name in ("value", "scaled", "last", "minimum", "maximum"):
        if row.get(name) is not None:
            row[name] = float(row[name])
    return row


class Spark:
    """A course in few characters: each cell the mean of as many neighbours as it takes."""

    def __init__(self, cells: int = SPARK_CELLS) -> None:
        self._most = cells
        self._stride = 1
        self._cells: list[tuple[float, int]] = []
        self._taken = 0

    def take(self, value: float | None) -> None:
        if self._taken == self._most * self._stride:
            pairs = zip(self._cells[::2], self._cells[1::2], strict=True)
            self._cells = [(first[0] + second[0], first[1] + second[1]) for first, second in pairs]
            self._stride *= 2
        if self._taken % self._stride == 0:
            self._cells.append((0.0, 0))
        self._taken += 1
        if value is not None:
            total, count = self._cells[-1]
            self._cells[-1] = (total + value, count + 1)

    def __str__(self) -> str:
        means = [total / count if count else None for total, count in self._cells]
        known = [mean for mean in means if mean is not None]
        if not known:
            return ""
        low, span = min(known), max(known) - min(known)
        return "".join(
            _EMPTY if mean is None else _BARS[int((mean - low) / span * (len(_BARS) - 1) + 0.5)] if span else _BARS[3]
            for mean in means
        )


@dataclass(slots=True)
class _Line:
    """What the text says of one series."""

    series: Series
    readings: int = 0
    values: int = 0
    total: float = 0.0
    minimum: float = 0.0
    maximum: float = 0.0
    last: float | None = None
    shown: str | None = None
    why: Counter[str] = field(default_factory=Counter)
    flags: Counter[str] = field(default_factory=Counter)
    spark: Spark = field(default_factory=Spark)
    # The course as a number: series that a client asked for twice, in two ways, are the same all along.
    course: int = 0
    first_ns: int = 0
    last_ns: int = 0
    times: int = 1

    def take(self, point: Point) -> None:
        cooked = point.cooked
        value = float(cooked.value) if cooked.value is not None else None
        self._add(value, cooked.why, display_of(point), point.time_ns)
        self.flags.update(cooked.flags)
        raw = point.sample.raw if point.sample is not None else None
        self.course = hash((self.course, point.call, raw, cooked.value, cooked.why))

    def take_bucket(self, bucket: Bucket) -> None:
        self._add(bucket.mean, None, None, bucket.start_ns)
        self.course = hash((self.course, bucket.start_ns, bucket.mean, bucket.readings))

    def _add(self, value: float | None, why: Why | None, shown: str | None, time_ns: int) -> None:
        if self.readings == 0:
            self.first_ns = time_ns
        self.readings += 1
        self.last_ns = max(self.last_ns, time_ns)
        self.spark.take(value)
        self.shown = shown if shown is not None else self.shown
        if why is not None:
            self.why[why] += 1
        if value is None:
            return
        self.minimum = min(self.minimum, value) if self.values else value
        self.maximum = max(self.maximum, value) if self.values else value
        self.values += 1
        self.total += value
        self.last = value

    @property
    def notes(self) -> str:
        """Reasons for no value, but for the one reading every rate begins with, and what is odd about values."""
        formula = formula_of(self.series.counter_type) if self.series.counter_type is not None else None
        why = self.why.copy()
        if formula is not None and formula.delta and why[Why.FIRST_SAMPLE]:
            why[Why.FIRST_SAMPLE] -= 1
        if formula is not None and formula.kind == "text":
            why[Why.TEXT] = 0
        notes = [f"{count} {reason}" for reason, count in why.items() if count > 0]
        notes += [f"{count} {flag}" for flag, count in self.flags.items()]
        if self.times > 1:
            notes.append(f"asked for {self.times} times")
        return ", ".join(notes)


def counter_lines(view: Counters, width: int | None) -> Iterator[str]:
    """One line a series: path, values of readings, unit, minimum, mean, maximum, last, course, and why values lack."""
    lines, answers = _collected(view)
    if not lines:
        if view.patterns:
            yield "no counter of this capture has such a path"
        else:
            yield "no counter value could be read"
            yield from problem_lines(view.analysis, width)
        return
    for name in view.analysis.capture.files:
        yield styled("bold", name)
    shown = [line for line in _merged(lines) if view.patterns or not line.series.is_hidden]
    hidden = sum(line.series.is_hidden for line in lines) if not view.patterns else 0
    room = (width or _NO_WIDTH) - _columns_width()
    longest = max((len(line.series.local_path) for line in shown), default=0)
    path_width = min(longest, max(_MIN_PATH, min(room, _MAX_PATH)))
    heading: tuple[Any, ...] | None = None
    for line in sorted(shown, key=lambda line: (_place(line.series), line.series.number)):
        if (place := _place(line.series)) != heading:
            heading = place
            yield ""
            yield from _heading(line.series, lines)
            yield _titles(path_width)
        yield from _series_lines(line, path_width, width)
    yield ""
    yield from folded(_summary(view, lines, hidden, answers), 2, width)
    yield from folded("n/m: values of readings; the first reading of a rate or timer has no value yet", 2, width)


def _collected(view: Counters) -> tuple[list[_Line], int]:
    """The series in the order of their first readings, and the number of answers they came in."""
    lines: dict[int, _Line] = {}
    calls = 0
    last_call = None

    def counted() -> Iterator[Point]:
        nonlocal calls, last_call
        for point in points(view.analysis, view.selection):
            calls += point.call != last_call
            last_call = point.call
            yield point

    if view.interval_ns is None:
        for point in counted():
            lines.setdefault(point.series.number, _Line(point.series)).take(point)
    else:
        for bucket in buckets(counted(), view.interval_ns):
            lines.setdefault(bucket.series.number, _Line(bucket.series)).take_bucket(bucket)
    return [lines[number] for number in sorted(lines)], calls


def _merged(lines: Iterable[_Line]) -> list[_Line]:
    """Series of one client that have the same path and went the same way all along, as one line."""
    found: dict[tuple[Any, ...], _Line] = {}
    for line in lines:
        key = (_place(line.series), line.series.local_path, line.course, line.readings)
        if key in found:
            found[key].times += 1
        else:
            found[key] = line
    return list(found.values())


def _place(series: Series) -> tuple[Any, ...]:
    handle = series.handle if series.source == "perflib-v2" else ""
    return series.server.ip, series.client.ip, series.client.port, series.source, len(handle), handle


def _heading(series: Series, lines: Iterable[_Line]) -> Iterator[str]:
    """The machine, who watched it, how, and when."""
    here = [line for line in lines if _place(line.series) == _place(series)]
    span = (max(line.last_ns for line in here) - min(line.first_ns for line in here)) / NS_PER_S
    way = f"query {series.handle}" if series.source == "perflib-v2" else "HKEY_PERFORMANCE_DATA"
    yield styled("bold", f"\\\\{series.server.ip}") + safe(
        f"  watched by {series.client} through {way}, {len(here)} series over {span:,.3f} s"
    )


def _columns_width() -> int:
    """What a line takes beside the path: two spaces before it, then values, unit, four numbers, the course."""
    return 2 + 10 + 4 + 4 * (_NUMBER + 1) + 2 + SPARK_CELLS


def _titles(path_width: int) -> str:
    names = "".join(f" {name:>{_NUMBER}}" for name in ("min", "mean", "max", "last"))
    return styled("dim", f"  {'counter':<{path_width}}{'n/m':>9} {'unit':<4}{names}  course")


def _series_lines(line: _Line, path_width: int, width: int | None) -> Iterator[str]:
    path = line.series.local_path
    if len(path) > path_width:
        yield from (safe(text) for text in folded(f"  {path}", 4, width))
        path = ""
    count = f"{line.values}/{line.readings}"
    head = f"  {path:<{path_width}}{count:>9} {line.series.unit or '':<4}"
    if line.values == 0 and line.shown is not None:
        numbers = f' "{line.shown}"'
    elif line.values == 0 or line.last is None:
        numbers = " " + "-".rjust(4 * (_NUMBER + 1) - 1)
    elif _is_hex(line.series):
        numbers = f" {line.shown or '':>{4 * (_NUMBER + 1) - 1}}"
    else:
        values = (line.minimum, line.total / line.values, line.maximum, line.last)
        numbers = "".join(f" {compact(value):>{_NUMBER}}" for value in values)
    course = f"  {line.spark!s:<{SPARK_CELLS}}"
    notes = line.notes
    full = (head + numbers + course).rstrip()
    if not notes:
        yield safe(full)
    elif width is None or len(full) + 2 + len(notes) <= width:
        yield f"{safe(full)}  {styled('yellow', notes)}"
    else:
        yield safe(full)
        yield from (styled("yellow", text) for text in folded(f"    {notes}", 4, width))


def _is_hex(series: Series) -> bool:
    formula = formula_of(series.counter_type) if series.counter_type is not None else None
    return (formula is not None and formula.is_hex) or bool(series.attributes & 0x10)


def _summary(view: Counters, lines: list[_Line], hidden: int, answers: int) -> str:
    readings = sum(line.readings for line in lines)
    what = "intervals" if view.interval_ns is not None else "readings"
    words = f"{len(lines)} series, {readings:,} {what} in {answers} answers"
    if view.interval_ns is not None:
        words += f"; means over {view.interval_ns / NS_PER_S:g} s, nothing where nothing was read"
    if hidden:
        words += f"; {hidden} bases and hidden counters are not listed (--counter '\\*' lists all)"
    return words


_LETTERS = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"))
# Whole numbers below this are written out.
_WRITTEN_OUT = 1e7


def compact(value: float) -> str:
    """A number in nine characters: written out, or with a letter for ten millions and more."""
    size = abs(value)
    if size >= 1e23:
        return f"{value:.2e}"
    if size >= _WRITTEN_OUT:
        power, letter = next((power, letter) for power, letter in _LETTERS if size >= power)
        return f"{value / power:#.5g}{letter}"
    if value == int(value):
        return f"{value:,.0f}"
    if size >= 1e5:
        return f"{value:.1f}"
    return f"{value:.3f}" if size >= 0.001 else f"{value:.2e}"
