"""Makes the records of `counters` from displayed values (docs/output.md): one a reading, or with an interval one a bucket."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from msgspec import UNSET, Struct

from analyzer.core.errors import InputError
from analyzer.core.times import NS_PER_S, parse_duration
from analyzer.interfaces.call_contents.raw_samples import sample_keys
from analyzer.questions.series.counter_paths import PathSelection
from analyzer.questions.series.formulas import formula_of, scaled, shown, type_name
from analyzer.questions.series.reading_batches import Batch, readings
from analyzer.questions.series.series_and_points import Point, Series
from analyzer.results.analysis import Analysis
from analyzer.results.records.sample import BucketRecord, CounterRecord

# Buckets of more would lie outside of what a capture can span.
_MAX_INTERVAL_NS = 366 * 86_400 * NS_PER_S


def counter_batches(
    analysis: Analysis, selection: PathSelection, passes: Callable[[CounterRecord], bool] | None = None
) -> Iterator[Batch]:
    """Yields the readings of the selected counter series for their records, in batches; with `passes`, only those whose records
    pass."""
    for batch in readings(analysis, selection):
        if passes is None:
            yield batch
        else:
            yield batch.only(np.array([passes(counter_record(point)) for point in batch.points()], np.bool_))


def counter_records(
    analysis: Analysis,
    selection: PathSelection,
    interval_ns: int | None = None,
    passes: Callable[[CounterRecord], bool] | None = None,
    *,
    exact: bool = False,
) -> Iterator[CounterRecord | BucketRecord]:
    """Yields the records of `counters` in the order of the calls, if they pass; with `interval_ns`, those of their buckets. `exact`
    adds fractions."""
    found, altered = counter_batches(analysis, selection, passes), analysis.calls.altered
    if interval_ns is None:
        for batch in found:
            for point in batch.points():
                yield counter_record(point, exact=exact, altered=altered)
    else:
        for bucket in buckets(found, interval_ns, altered):
            yield bucket_record(bucket, interval_ns)


def counter_record(point: Point, *, exact: bool = False, altered: Collection[int] = ()) -> CounterRecord:
    """Returns the counter record of a reading with its displayed value. `altered` are calls that others may have changed."""
    series, sample, formatted = point.series, point.sample, point.formatted
    value = formatted.value
    return CounterRecord(
        call=point.call,
        time_ns=point.time_ns,
        source=series.source,
        server=series.server,
        client=series.client,
        handle=point.handle,
        series=series.number,
        path=series.path,
        added=series.added,
        counter_type_name=type_name(series.counter_type) if series.counter_type is not None else None,
        value=json_number(value),
        exact=f"{value.numerator}/{value.denominator}" if exact and value is not None else None,
        unit=series.unit,
        scale=series.scale,
        scaled=json_number(scaled(value, series.scale)) if value is not None else None,
        display=display_of(point),
        why_null=formatted.why,
        reason=formatted.reason,
        flags=tuple(formatted.flags),
        interval_ns=point.interval_ns,
        server_interval_ns=point.server_interval_ns,
        previous_call=point.previous_call,
        missed=point.missed,
        aggregate=series.aggregate,
        aggregated=point.aggregated,
        left_out=point.left_out,
        altered=point.call in altered or point.previous_call in altered or UNSET,
        **(sample_keys(sample) if sample is not None else _aggregate_keys(series)),
    )


def _aggregate_keys(series: Series) -> dict[str, Any]:
    """Returns the keys that an aggregate's counter record has in place of a sample's keys."""
    return {
        "counter_name": series.counters[0],
        "counter_type": series.counter_type,
        "counterset_name": series.objects[0],
        "instance": None,
        "instance_id": None,
        "raw": None,
        "data_size": None,
        "name_source": None,
        "names": None,
    }


def display_of(point: Point) -> str | None:
    """The displayed value in a counter record as text, without its unit: `98.700`, `FF`, a text counter's text; None for no
    value."""
    series, sample = point.series, point.sample
    formula = formula_of(series.counter_type) if series.counter_type is not None else None
    if formula is not None and formula.kind == "text":
        raw = sample.raw if sample is not None else None
        return raw if isinstance(raw, str) else None
    value = point.formatted.value
    if value is None:
        return None
    return shown(value, is_hex=formula is not None and formula.is_hex, attributes=series.attributes)


def json_number(value: Fraction | None) -> int | float | None:
    """Returns a counter value as records of counters have it in JSON: an integer if it is whole, else the nearest double."""
    if value is None:
        return None
    return value.numerator if value.denominator == 1 else float(value)


class Bucket(Struct):
    """A bucket: the readings of one counter series in one interval. `start_ns` is a multiple of the interval since 1970."""

    series: Series
    start_ns: int
    first_call: int
    last_call: int
    readings: int = 0
    values: int = 0
    repeated: int = 0
    last: int | float | None = None
    total: float = 0.0
    minimum: int | float | None = None
    maximum: int | float | None = None
    is_altered: bool = False

    @property
    def mean(self) -> float | None:
        return self.total / self.values if self.values else None

    def add_reading(self, call: int, value: int | float | None, *, repeated: bool) -> None:
        """Adds one more reading to the bucket of a counter record, and its displayed value if it has one."""
        self.last_call = call
        self.readings += 1
        self.repeated += repeated
        if value is None:
            return
        self.values += 1
        self.last = value
        self.total += float(value)
        self.minimum = value if self.minimum is None else min(self.minimum, value)
        self.maximum = value if self.maximum is None else max(self.maximum, value)


def buckets(batches: Iterable[Batch], interval_ns: int, altered: Collection[int] = ()) -> Iterator[Bucket]:
    """Yields the buckets of each counter series, for their records. An interval without readings has none. `altered` are calls that
    others may have changed."""
    open_buckets: dict[int, Bucket] = {}
    for batch in batches:
        columns = batch.answer.tolist(), batch.place.tolist(), batch.numbers()
        for at, place, value in zip(*columns, strict=True):
            answer = batch.answers[at]
            series = answer.plan.series[place]
            start = answer.time_ns // interval_ns * interval_ns
            bucket = open_buckets.get(series.number)
            # Answers may cross: one that belongs to an interval that was left is counted where it came.
            if bucket is None or start > bucket.start_ns:
                if bucket is not None:
                    yield bucket
                bucket = open_buckets[series.number] = Bucket(series, start, answer.call, answer.call)
            sample = answer.plan.samples[place]
            bucket.is_altered |= answer.call in altered
            bucket.add_reading(answer.call, value, repeated=sample is not None and sample.repeated)
    yield from sorted(open_buckets.values(), key=lambda bucket: (bucket.start_ns, bucket.series.number))


def bucket_record(bucket: Bucket, interval_ns: int) -> BucketRecord:
    """Returns the record of a bucket of displayed values; `value` is their mean."""
    series = bucket.series
    return BucketRecord(
        time_ns=bucket.start_ns,
        interval_ns=interval_ns,
        source=series.source,
        server=series.server,
        client=series.client,
        handle=series.handle,
        series=series.number,
        path=series.path,
        counter_type=series.counter_type,
        counter_type_name=type_name(series.counter_type) if series.counter_type is not None else None,
        first_call=bucket.first_call,
        last_call=bucket.last_call,
        readings=bucket.readings,
        values=bucket.values,
        repeated=bucket.repeated,
        altered=bucket.is_altered or UNSET,
        value=bucket.mean,
        last=bucket.last,
        minimum=bucket.minimum,
        maximum=bucket.maximum,
        unit=series.unit,
        scale=series.scale,
        aggregate=series.aggregate,
    )


def interval_of(text: str) -> int:
    """Returns the interval of the records of `counters` in nanoseconds: `5s`, `500ms`, `1.5m`, `2h`, `1d`; a number alone counts
    seconds."""
    interval_ns = parse_duration(text)
    if interval_ns is not None and 0 < interval_ns <= _MAX_INTERVAL_NS:
        return interval_ns
    raise InputError(f"{text} is no interval", hint="write it as 5s, 500ms, 2m or 1h")
