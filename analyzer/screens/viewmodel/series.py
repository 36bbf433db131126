"""Series with all their readings, for plots: what `counters` prints one reading at a time, series by series."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from analyzer.questions.series.formulas import type_name
from analyzer.questions.series.readings import points
from analyzer.questions.series.series import Point, Series
from analyzer.results.analysis import Analysis
from analyzer.results.sample import Why
from analyzer.results.view import SeriesView


class _Readings(Struct):
    """The readings of one series, as they come."""

    series: Series
    calls: list[int] = field(default_factory=list)
    times_ns: list[int] = field(default_factory=list)
    values: list[float | None] = field(default_factory=list)
    reasons: list[tuple[int, str]] = field(default_factory=list)

    def take(self, point: Point) -> None:
        formatted = point.formatted
        words = [word for word in (formatted.why, formatted.reason, *formatted.flags) if word]
        if point.missed:
            words.append(f"{point.missed} answers lost before it")
        if words and formatted.why != Why.TEXT:
            self.reasons.append((len(self.values), ": ".join(words)))
        self.calls.append(point.call)
        self.times_ns.append(point.time_ns)
        self.values.append(float(formatted.value) if formatted.value is not None else None)


def series_views(analysis: Analysis, most_readings: int | None = None) -> tuple[Iterator[SeriesView], int]:
    """The series in the order of their first readings, and how many readings were left out.

    With `most_readings`, readings beyond so many, over all series, are only counted.
    """
    found: dict[int, _Readings] = {}
    taken = left_out = 0
    for point in points(analysis):
        if most_readings is not None and taken >= most_readings:
            left_out += 1
            continue
        taken += 1
        found.setdefault(point.series.number, _Readings(point.series)).take(point)
    return (_view(found.pop(number)) for number in sorted(found)), left_out


def _view(readings: _Readings) -> SeriesView:
    series = readings.series
    return SeriesView(
        number=series.number,
        source=series.source,
        server=series.server.ip,
        client=str(series.client),
        handle=series.handle,
        group=series.objects[0],
        instance=series.instance,
        counter=series.counters[0],
        path=series.path,
        added=series.added,
        type=type_name(series.counter_type) if series.counter_type is not None else None,
        unit=series.unit,
        hidden=series.is_hidden,
        calls=tuple(readings.calls),
        times_ns=tuple(readings.times_ns),
        values=tuple(readings.values),
        reasons=tuple(readings.reasons),
    )
