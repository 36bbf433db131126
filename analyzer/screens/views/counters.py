"""The view of `counters`, displayed values: one text line a series with its course; one record or row a reading or interval.

The text shows the series under their machine and client, in the order of first readings. It keeps some numbers of each series and
none of its readings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, field
from rich.cells import cell_len

from analyzer.core.caches import cached_property
from analyzer.core.printable_text import shortened
from analyzer.core.times import NS_PER_S
from analyzer.interfaces.call_contents.machine_names import machine_names
from analyzer.questions.series.columns_of_readings import FLAGS, WHYS, Ints
from analyzer.questions.series.counter_paths import PathSelection, selection_of
from analyzer.questions.series.counter_records import Bucket, buckets, counter_batches, counter_records, display_of
from analyzer.questions.series.formulas import ATTRIB_HEX, formula_of
from analyzer.questions.series.reading_batches import Batch
from analyzer.questions.series.series_and_points import Series
from analyzer.results.analysis import Analysis
from analyzer.results.records.sample import BucketRecord, CounterRecord, Why
from analyzer.screens.views.text_report import doubt_lines, folded, part_lines, problem_lines, safe, styled
from analyzer.screens.views.view_type import OfCapture

if TYPE_CHECKING:
    from analyzer.questions.filters.filter import SampleFilter

SPARK_CELLS = 14
_BARS = "▁▂▃▄▅▆▇█"
_EMPTY = "·"
# The columns of numbers; a narrow terminal leaves out the first ones.
_TITLES: tuple[str, ...] = ("min", "mean", "max", "last")
# Widths: of a number, of a unit, of the name.
_NUMBER, _UNIT = 9, 4
_LEAST_NAME, _MOST_NAME = 28, 60


class Counters(Struct, OfCapture, frozen=True, dict=True):
    """The view of `pcq counters`. `patterns` are counter paths (none: all). `interval_ns` puts readings together that pass the
    filter; `exact` asks for fractions beside the values.
    """

    analysis: Analysis
    patterns: tuple[str, ...] = ()
    interval_ns: int | None = None
    filter: SampleFilter | None = None
    exact: bool = False

    @cached_property
    def selection(self) -> PathSelection:
        """Returns what the counter paths of `counters` mean; after the view was written, also which of them matched nothing."""
        return selection_of(self.patterns, lambda: machine_names(self.analysis))

    def records(self) -> Iterator[CounterRecord | BucketRecord]:
        return counter_records(self.analysis, self.selection, self.interval_ns, self.passes, exact=self.exact)

    @property
    def passes(self) -> Callable[[CounterRecord], bool] | None:
        """Returns for the view of `counters` the test whether a value passes the filter; None without a filter."""
        return self.filter.test(self.analysis) if self.filter is not None else None

    def batches(self) -> Iterator[Batch]:
        """Yields the readings of the shown counters, as columns."""
        return counter_batches(self.analysis, self.selection, self.passes)

    def lines(self, width: int | None) -> Iterator[str]:
        """Yields one line of `counters` a series: path, count of values, unit, minimum, mean, maximum, last, course, why values
        lack."""
        lines, answers = _collected(self)
        yield from part_lines(self.analysis, width)
        if not lines:
            if self.filter is not None:
                yield safe(f"no value passes: filter {self.filter}")
            elif self.patterns:
                yield "no counter of this capture has such a path"
            else:
                yield "no counter value could be read"
                yield from problem_lines(self.analysis, width)
            return
        for name in self.analysis.capture.files:
            yield styled("bold", name)
        hidden = sum(line.series.is_hidden for line in lines) if not self.patterns else 0
        shown = [line for line in _merged(lines) if self.patterns or not line.series.is_hidden]
        by_place: dict[tuple[Any, ...], list[_SeriesLine]] = {}
        for line in shown:
            by_place.setdefault(_place(line.series), []).append(line)
        for place in sorted(by_place):
            yield ""
            yield from _place_lines(by_place[place], width)
        yield ""
        yield from folded(_summary(self, lines, hidden, answers), 2, width)
        legend = "n/m: values of readings; the first reading of a rate or timer has no value yet"
        if self.interval_ns is not None:
            legend = "n/m: intervals with a value of intervals with a reading; min to last are those of the means"
        paths = Counter(
            (_place(line.series), line.series.local_path) for line in shown if line.series.added is not None
        )
        if any(count > 1 for count in paths.values()):
            legend += "; by: what the client added to its query to get it"
        if any(line.times > 1 for line in shown):
            legend += "; asked 2×: the client asked for the series twice, and it is shown once"
        yield from folded(legend, 2, width)
        yield from doubt_lines(self.analysis, width)


class Spark:
    """Draws the course of a series in `counters` in few characters. Each cell is the mean of as many neighbouring values as
    needed."""

    def __init__(self, cells: int = SPARK_CELLS) -> None:
        self._most = cells
        self._stride = 1
        self._cells: list[tuple[float, int]] = []
        self._taken = 0

    def add_value(self, value: float | None) -> None:
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
        # The sum or range of very large values may be infinite.
        if not known or not isfinite(max(known) - min(known)):
            return ""
        low, span = min(known), max(known) - min(known)
        return "".join(
            _EMPTY if mean is None else _BARS[int((mean - low) / span * (len(_BARS) - 1) + 0.5)] if span else _BARS[3]
            for mean in means
        )


class _SeriesLine(Struct):
    """The numbers that one series' line in `counters` shows."""

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
    # A hash of the course: equal for a series that a client asked for twice in two ways.
    course: int = 0
    first_ns: int = 0
    last_ns: int = 0
    times: int = 1

    def take_readings(self, batch: Batch, rows: Ints) -> None:
        """Adds the series' readings of one batch to its line."""
        whys, flags = batch.why[rows].tolist(), batch.flags[rows].tolist()
        found = batch.value[rows].tolist()
        values = [None if why else value for why, value in zip(whys, found, strict=True)] if any(whys) else found
        answers = batch.answer[rows]
        times = [batch.answers[at].time_ns for at in answers.tolist()]
        self._add(values, times)
        for why in filter(None, whys):
            self.why[str(WHYS[why])] += 1
        for marks in filter(None, flags):
            self.flags.update(FLAGS[marks])
        if _is_hex(self.series) or _is_text(self.series):
            shown = (display_of(batch.point(row)) for row in rows[::-1].tolist())
            self.shown = next(filter(None, shown), self.shown)
        raws = batch.raw[rows].tobytes()
        self.course = hash((self.course, tuple(times), raws, tuple(values), tuple(whys)))

    def take_bucket(self, bucket: Bucket) -> None:
        self._add([bucket.mean], [bucket.start_ns])
        self.course = hash((self.course, bucket.start_ns, bucket.mean, bucket.readings))

    def _add(self, values: Sequence[float | None], times_ns: Sequence[int]) -> None:
        if self.readings == 0:
            self.first_ns = times_ns[0]
        self.readings += len(values)
        self.last_ns = max(self.last_ns, *times_ns)
        for value in values:
            self.spark.add_value(value)
        known = [value for value in values if value is not None]
        if not known:
            return
        self.minimum = min(self.minimum, *known) if self.values else min(known)
        self.maximum = max(self.maximum, *known) if self.values else max(known)
        self.values += len(known)
        self.total += sum(known)
        self.last = known[-1]

    @property
    def count(self) -> str:
        """Returns, for the line of a series in `counters`, how many readings have values: `9/10`."""
        return f"{self.values}/{self.readings}"

    @property
    def notes(self) -> str:
        """Returns the notes of a series' line in `counters`: why values lack (not the first reading of each rate), and what is
        unusual about values."""
        formula = formula_of(self.series.counter_type) if self.series.counter_type is not None else None
        why = self.why.copy()
        if formula is not None and formula.delta and why[Why.FIRST_SAMPLE]:
            why[Why.FIRST_SAMPLE] -= 1
        if formula is not None and formula.kind == "text":
            why[Why.TEXT] = 0
        notes = [f"{count} {reason}" for reason, count in why.items() if count > 0]
        notes += [f"{count} {flag}" for flag, count in self.flags.items()]
        if self.times > 1:
            notes.append(f"asked {self.times}×")
        return ", ".join(notes)


def _collected(view: Counters) -> tuple[list[_SeriesLine], int]:
    """Returns the lines of `counters` in the order of their first readings, and the number of answers that the readings came in."""
    lines: dict[int, _SeriesLine] = {}
    answers = 0

    def counted() -> Iterator[Batch]:
        nonlocal answers
        for batch in view.batches():
            answers += len(np.unique(batch.answer))
            yield batch

    if view.interval_ns is None:
        for batch in counted():
            for rows in batch.by_series():
                series = batch.series(int(rows[0]))
                lines.setdefault(series.number, _SeriesLine(series)).take_readings(batch, rows)
    else:
        for bucket in buckets(counted(), view.interval_ns):
            lines.setdefault(bucket.series.number, _SeriesLine(bucket.series)).take_bucket(bucket)
    return [lines[number] for number in sorted(lines)], answers


def _merged(lines: Iterable[_SeriesLine]) -> list[_SeriesLine]:
    """Merges lines of `counters` whose series have the same client, path and course."""
    found: dict[tuple[Any, ...], _SeriesLine] = {}
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


def _place_lines(lines: list[_SeriesLine], width: int | None) -> Iterator[str]:
    """Yields the text of `counters` for one machine and client: who watched it, how, and when; then its series by object."""
    first = lines[0].series
    span = (max(line.last_ns for line in lines) - min(line.first_ns for line in lines)) / NS_PER_S
    way = f"query {first.handle}" if first.source == "perflib-v2" else "HKEY_PERFORMANCE_DATA"
    count = sum(line.times for line in lines)
    machine = f"\\\\{first.server.ip}"
    watched = f"{machine}  watched by {first.client} through {way}, {count} series over {span:,.3f} s"
    head, *others = folded(watched, 4, width)
    yield styled("bold", machine) + safe(head.removeprefix(machine))
    yield from map(safe, others)
    by_object: dict[str, list[_SeriesLine]] = {}
    for line in lines:
        by_object.setdefault(line.series.objects[0], []).append(line)
    is_nested = width is not None
    names = {line.series.number: _name(line.series, is_nested=is_nested) for line in lines}
    columns = _Columns.fitting_columns(lines, max(map(cell_len, names.values())), width)
    yield styled("dim", columns.head())
    for group, members in by_object.items():
        if is_nested:
            yield from (styled("bold", text) for text in folded(f"  \\{group}", 4, width))
        alike = Counter(line.series.local_path for line in members)
        for line in members:
            added = line.series.added if alike[line.series.local_path] > 1 else None
            by = added.removeprefix(f"\\{group}") if added is not None else None
            yield from _series_lines(line, names[line.series.number], columns, width, by)


class _Columns(Struct, frozen=True):
    """The column widths of one table in `counters`: the name, the count of values, and the titles of the numbers."""

    name: int
    count: int
    titles: tuple[str, ...]

    @classmethod
    def fitting_columns(cls, lines: Sequence[_SeriesLine], widest_name: int, width: int | None) -> _Columns:
        """Returns the columns of `counters` that fit the width: with fewer numbers, or long names on their own lines."""
        count = max(len(line.count) for line in lines) + 2
        course = max(len("course"), *(len(str(line.spark)) for line in lines))
        least, titles, room = min(widest_name, _LEAST_NAME), _TITLES, _MOST_NAME
        if width is not None:
            beside = count + 1 + _UNIT + 2 + course
            while len(titles) > 1 and least + beside + len(titles) * (_NUMBER + 1) > width:
                titles = titles[1:]
            room = max(least, width - beside - len(titles) * (_NUMBER + 1))
        return cls(min(widest_name, room, _MOST_NAME), count, titles)

    def head(self) -> str:
        titles = "".join(f" {title:>{_NUMBER}}" for title in self.titles)
        return f"{'  counter':<{self.name}}{'n/m':>{self.count}} {'unit':<{_UNIT}}{titles}  course"

    @property
    def numbers(self) -> int:
        """Returns the width of all number columns in a table of `counters`."""
        return len(self.titles) * (_NUMBER + 1)


def _name(series: Series, *, is_nested: bool) -> str:
    if not is_nested:
        return f"  {series.local_path}"
    return "    " + series.local_path.removeprefix(f"\\{series.objects[0]}").removeprefix("\\")


def _series_lines(
    line: _SeriesLine, name: str, columns: _Columns, width: int | None, by: str | None = None
) -> Iterator[str]:
    """Yields the lines of a series in `counters`. `by` is what the client added to its query, if two series have this path."""
    if cell_len(name) > columns.name:
        yield from (safe(text) for text in folded(name, 6, width))
        name = ""
    head = (
        f"{name}{' ' * (columns.name - cell_len(name))}{line.count:>{columns.count}} {line.series.unit or '':<{_UNIT}}"
    )
    if line.values == 0 and line.shown is not None:
        room = max(columns.numbers, width - len(head)) - 3 if width is not None else _MOST_NAME
        numbers = f' "{shortened(line.shown, room)}"'
    elif line.last is None:
        numbers = "-".rjust(columns.numbers)
    elif _is_hex(line.series):
        numbers = (line.shown or "").rjust(columns.numbers)
    else:
        values = {"min": line.minimum, "mean": line.total / line.values, "max": line.maximum, "last": line.last}
        numbers = "".join(f" {compact(values[title]):>{_NUMBER}}" for title in columns.titles)
    full = f"{head}{numbers}  {line.spark}".rstrip()
    notes = ", ".join(note for note in (line.notes, f"by {by}" if by else "") if note)
    if width is None or not notes or cell_len(full) + 2 + len(notes) <= width:
        yield safe(full) + (f"  {styled('yellow', notes)}" if notes else "")
    else:
        yield safe(full)
        yield from (styled("yellow", text) for text in folded(f"      {notes}", 6, width))


def _is_hex(series: Series) -> bool:
    formula = formula_of(series.counter_type) if series.counter_type is not None else None
    return (formula is not None and formula.is_hex) or bool(series.attributes & ATTRIB_HEX)


def _is_text(series: Series) -> bool:
    formula = formula_of(series.counter_type) if series.counter_type is not None else None
    return formula is not None and formula.kind == "text"


def _summary(view: Counters, lines: list[_SeriesLine], hidden: int, answers: int) -> str:
    readings = sum(line.readings for line in lines)
    what = "intervals" if view.interval_ns is not None else "readings"
    words = f"{len(lines)} series, {readings:,} {what} in {answers} answers"
    if view.interval_ns is not None:
        words += f"; means over {view.interval_ns / NS_PER_S:g} s, nothing where nothing was read"
    if hidden:
        are = "base or hidden counter is" if hidden == 1 else "bases and hidden counters are"
        words += f"; {hidden} {are} not listed (--counter '\\*' lists all)"
    return words


_LETTERS = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"))
# Whole numbers below this are written out.
_WRITTEN_OUT = 1e7


def compact(value: float) -> str:
    """Shortens a displayed value of `counters` to nine characters, with a letter from ten millions on."""
    size = abs(value)
    if not size < 1e23:  # also nan, as the mean of infinite values
        return f"{value:.2e}"
    if size >= _WRITTEN_OUT:
        power, letter = next((power, letter) for power, letter in _LETTERS if size >= power)
        return f"{value / power:#.5g}{letter}"
    if value == int(value):
        return f"{value:,.0f}"
    if size >= 1e5:
        return f"{value:.1f}"
    return f"{value:.3f}" if size >= 0.001 else f"{value:.2e}"
