"""Gathers counter series with all their readings, for plots. `counters` prints the same readings one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from msgspec import Struct, field

from analyzer.core.array_functions import distinct, first_places
from analyzer.core.printable_text import counted, plural
from analyzer.questions.films.film_maker import said_of_reading
from analyzer.questions.series.columns_of_readings import FLAGS, WHYS
from analyzer.questions.series.formulas import type_name
from analyzer.questions.series.reading_batches import Batch, readings
from analyzer.questions.series.series_and_points import Series
from analyzer.questions.series.series_limit import SeriesLeftOut, SeriesLimit
from analyzer.results.analysis import Analysis
from analyzer.results.records.display_records import SeriesView

if TYPE_CHECKING:
    import numpy.typing as npt

_Column: TypeAlias = "npt.NDArray[Any]"


class _PlottedReadings(Struct):
    """Gathers the readings of plotted series in columns, batch after batch. The columns are number of the series, call, value,
    whether there is a value, and the number of a remark (0 for none). All readings of a call have its time."""

    series: dict[int, Series] = field(default_factory=dict)
    batches: list[tuple[_Column, ...]] = field(default_factory=list)
    times_ns: dict[int, int] = field(default_factory=dict)
    words: dict[str, int] = field(default_factory=lambda: {"": 0})

    def take_readings(self, batch: Batch, count: int) -> None:
        """Adds the first `count` readings of a batch to the plotted series."""
        numbers = batch.ids[:count].astype(np.int32)
        for row in first_places(numbers).tolist():
            if (number := int(numbers[row])) not in self.series:
                self.series[number] = batch.series(row)
        calls = np.array([answer.call for answer in batch.answers], np.int32)[batch.answer[:count]]
        self.times_ns.update((answer.call, answer.time_ns) for answer in batch.answers)
        has_value = batch.why[:count] == 0
        self.batches.append((numbers, calls, batch.value[:count].copy(), has_value, self._remarks(batch, count)))

    def _remarks(self, batch: Batch, count: int) -> _Column:
        """Returns for a plot the number of the remark on each of the first `count` readings."""
        missed = np.where(batch.previous_call[:count] != 0, batch.missed[:count], 0)
        keys: _Column = missed * len(batch.reasons) + batch.reason[:count]
        keys = (keys * len(FLAGS) + batch.flags[:count]) * len(WHYS) + batch.why[:count]
        different = distinct(keys)
        numbers = np.zeros(len(different), np.int32)
        for place, key in enumerate(different.tolist()):
            key, why = divmod(key, len(WHYS))
            key, flags = divmod(key, len(FLAGS))
            lost, reason = divmod(key, len(batch.reasons))
            text = said_of_reading(WHYS[why], batch.reasons[reason], FLAGS[flags], lost)
            numbers[place] = self.words.setdefault(text, len(self.words))
        said: _Column = numbers[np.searchsorted(different, keys)]
        return said

    def _in_order(self) -> list[_Column]:
        """Returns the columns of all batches with the plotted series one after the other. Batches are let go column by column, so
        that little is held twice."""
        parts = [list(column) for column in zip(*self.batches, strict=True)]
        self.batches.clear()
        order = np.argsort(np.concatenate(parts[0]), kind="stable")
        columns: list[_Column] = []
        for part in parts:
            columns.append(np.concatenate(part)[order])
            part.clear()
        return columns

    def views(self) -> Iterator[SeriesView]:
        """Yields the plotted series in the order of their first readings, each with its readings in the order of the calls."""
        if not self.batches:
            return
        words = list(self.words)
        numbers, *columns = self._in_order()
        ends = np.flatnonzero(np.diff(numbers, append=-1)) + 1
        start = 0
        calls: tuple[int, ...] = ()
        times: tuple[int, ...] = ()
        which = b""
        for stop, number in zip(ends.tolist(), numbers[ends - 1].tolist(), strict=True):
            of_calls, *rest = [column[start:stop] for column in columns]
            # Most series were read in the same answers as the series before.
            if which != (found := of_calls.tobytes()):
                which, calls = found, tuple(of_calls.tolist())
                times = tuple([self.times_ns[call] for call in calls])
            yield _view(self.series.pop(number), calls, times, rest, words)
            start = stop


def series_views(
    analysis: Analysis,
    most_readings: int | None = None,
    *also: Callable[[Batch], None],
    limit: SeriesLimit | None = None,
) -> tuple[Iterator[SeriesView], int]:
    """Returns the plotted series in the order of their first readings, and how many readings were left out.

    `most_readings` limits the readings of all series together; further ones are only counted. Each of `also` receives all batches.
    A `limit` of series counts what it leaves out itself.
    """
    columns = _PlottedReadings()
    taken = left_out = 0
    for batch in readings(analysis, limit=limit):
        for take in also:
            take(batch)
        count = len(batch) if most_readings is None else min(len(batch), most_readings - taken)
        columns.take_readings(batch, count)
        taken += count
        left_out += len(batch) - count
    return columns.views(), left_out


def left_out_words(sets: Sequence[SeriesLeftOut], readings: int) -> list[str]:
    """Returns sentences about plotted series that a limit left out, and about readings beyond the most that are plotted."""
    found = []
    for one in sets:
        what = "blocks without instances" if one.group is None else f"instances of {one.group}"
        here = f"{one.kept:,} of up to {one.instances:,} {what} are here, those that were read first"
        found.append(
            f"\\\\{one.server}: {here}; {counted(one.readings, 'reading')} of others {plural(one.readings, 'is', 'are')} not"
        )
    if readings:
        found.append(f"{counted(readings, 'reading')} at the end {plural(readings, 'is', 'are')} not here")
    return [f"{sentence}: counters prints all" for sentence in found]


def _view(
    series: Series, calls: tuple[int, ...], times: tuple[int, ...], columns: Sequence[_Column], words: Sequence[str]
) -> SeriesView:
    """Makes the view of a plotted series from its readings: calls, times, and the columns of values, presence and remarks."""
    values, has_value, said = columns
    shown: list[float | None] = values.tolist()
    for at in np.flatnonzero(~has_value).tolist():
        shown[at] = None
    remarked = np.flatnonzero(said).tolist()
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
        calls=calls,
        times_ns=times,
        values=tuple(shown),
        reasons=tuple([(at, words[said[at]]) for at in remarked]),
    )
