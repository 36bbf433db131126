"""Displayed values as polars DataFrames: one row a reading, or one an interval.

Readings come in batches of columns (`series.readings`) and stay columns: what depends on the series or the place in the answer is
looked up once for all answers of a layout, what depends on the answer once for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec import Struct

from analyzer.interfaces.contents.samples import sample_keys
from analyzer.questions.series.columns import FLAGS, WHYS
from analyzer.questions.series.formulas import scaled, type_name
from analyzer.questions.series.plans import Plan
from analyzer.questions.series.readings import Batch
from analyzer.results.sample import BucketRecord, CounterRecord
from analyzer.screens.formats.schema import number_cell, storable, table_of_records, table_schema
from analyzer.screens.views.counters import Counters

# Rows of a table of intervals that are made and written at a time.
ROWS_AT_ONCE = 50_000

# Names and paths come again and again, and are kept once.
_NAMES = pl.Categorical()
_TIME, _SPAN = pl.Datetime("ns", "UTC"), pl.Duration("ns")
# Columns of the record that the table has not: `display` is the value as text, the others are of the sample (`call`, `block`, ...).
LEFT_OUT = ("display", "exact", "base_raw", "object_perf_time", "object_perf_freq")


@cache
def reading_schema(*, exact: bool) -> Mapping[str, pl.DataType]:
    """The columns of a table of readings: those of `CounterRecord`, with names as categories and flags in one word; the value as
    a fraction where that is asked for."""
    left_out = [name for name in LEFT_OUT if name != "exact" or not exact]
    schema = {
        name: _NAMES if kind == pl.String and name not in ("text", "exact") else kind
        for name, kind in table_schema(CounterRecord).items()
        if name not in left_out
    }
    return schema | {"flags": pl.Enum([" ".join(flags) for flags in FLAGS])}


def counter_tables(view: Counters) -> Iterator[pl.DataFrame]:
    """The rows of `counters` in pieces, at least one, which may be empty."""
    if view.interval_ns is not None:
        yield from _bucket_tables(view)
        return
    tables = _Tables(exact=view.exact)
    made = 0
    for batch in view.batches():
        made += 1
        yield tables.of(batch)
    if not made:
        yield pl.DataFrame(schema=reading_schema(exact=view.exact))


def _is_text(kind: Any) -> bool:
    return kind in (pl.String, pl.Categorical) or isinstance(kind, pl.Enum)


def _bucket_tables(view: Counters) -> Iterator[pl.DataFrame]:
    records = view.records()
    while len(table := table_of_records(BucketRecord, islice(records, ROWS_AT_ONCE))) == ROWS_AT_ONCE:
        yield table
    yield table


Places = npt.NDArray[np.int64]


class _Column(Struct, frozen=True, eq=False):
    """What the rows of a plan have in a column: a number, or the position of a text; where `absent`, nothing. `only` is the one
    entry where all are the same."""

    entries: npt.NDArray[np.int64]
    absent: npt.NDArray[np.bool_] | None
    only: int | None

    @classmethod
    def of(cls, entries: Sequence[int], absent: npt.NDArray[np.bool_] | None = None) -> _Column:
        array = np.array(entries, np.int64)
        is_same = absent is None and bool((array == array[0]).all())
        return cls(array, absent, int(array[0]) if is_same else None)


class _Texts:
    """The texts of one column by their positions; those seen once are not looked at again. Position 0 is no text."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._positions: dict[str | None, int] = {None: 0}
        self._texts: list[str | None] = [None]
        self._series = pl.Series([None], dtype=kind)

    def position(self, text: str | None) -> int:
        number = self._positions.get(text)
        if number is None:
            number = self._positions[text] = len(self._texts)
            self._texts.append(storable(text))
        return number

    def positions(self, texts: Sequence[str | None]) -> list[int]:
        """Those of many, which are often the same."""
        if texts.count(texts[0]) == len(texts):
            return [self.position(texts[0])] * len(texts)
        return [self.position(text) for text in texts]

    def taken(self, positions: npt.NDArray[np.int64]) -> pl.Series:
        return self._known().gather(positions)

    def same(self, position: int, count: int) -> pl.Series:
        """A text again and again."""
        return self._known().new_from_index(position, count)

    def _known(self) -> pl.Series:
        if len(self._series) != len(self._texts):
            self._series = pl.Series(self._texts, dtype=self._kind)
        return self._series


class _Tables:
    """Makes tables of batches."""

    def __init__(self, *, exact: bool) -> None:
        self._schema = reading_schema(exact=exact)
        self._texts = {name: _Texts(kind) for name, kind in self._schema.items() if _is_text(kind)}

    def of(self, batch: Batch) -> pl.DataFrame:
        made = self._of_answers(batch) | _of_values(batch, self._schema)
        rest = {name: kind for name, kind in self._schema.items() if name not in made}
        known = [(self._columns(plan, rest), rows) for plan, rows in batch.plans]
        columns = [
            made[name].alias(name) if name in made else self._laid_out(name, kind, known, batch)
            for name, kind in self._schema.items()
        ]
        return pl.DataFrame(columns)

    def _columns(self, plan: Plan, schema: Mapping[str, Any]) -> dict[str, _Column]:
        """The columns of a plan, made once."""
        known: dict[str, _Column] | None = plan.made.get("table")
        if known is None:
            rows = [_plan_row(plan, place) for place in range(len(plan))]
            known = plan.made["table"] = {
                name: self._column(name, [row.get(name) for row in rows], kind) for name, kind in schema.items()
            }
        return known

    def _column(self, name: str, values: list[Any], kind: Any) -> _Column:
        if _is_text(kind):
            return _Column.of(self._texts[name].positions(values))
        if None not in values and min(values) >= -(1 << 63) and max(values) < 1 << 63:
            return _Column.of(values)
        held = list(map(number_cell(kind), values))
        return _Column.of([value or 0 for value in held], np.array([value is None for value in held]))

    def _laid_out(
        self, name: str, kind: Any, known: Sequence[tuple[dict[str, _Column], Places]], batch: Batch
    ) -> pl.Series:
        found = [columns[name] for columns, _ in known]
        only = found[0].only
        texts = self._texts.get(name)
        if only is not None and all(column.only == only for column in found):
            one = (
                texts.same(only, len(batch))
                if texts is not None
                else pl.Series([only]).cast(kind).new_from_index(0, len(batch))
            )
            return one.alias(name)
        if len(found) == 1:
            entries = found[0].entries[batch.place]
            absent = found[0].absent[batch.place] if found[0].absent is not None else None
        else:
            entries, absent = np.empty(len(batch), np.int64), None
            for column, (_, rows) in zip(found, known, strict=True):
                entries[rows] = column.entries[batch.place[rows]]
                if column.absent is not None:
                    absent = np.zeros(len(batch), np.bool_) if absent is None else absent
                    absent[rows] = column.absent[batch.place[rows]]
        if texts is not None:
            return texts.taken(entries).alias(name)
        series = pl.Series(name, entries).cast(kind)
        return series if absent is None else series.set(pl.Series(absent), None)

    def _of_answers(self, batch: Batch) -> dict[str, pl.Series]:
        """What is the same for all readings of an answer."""
        answers = batch.answers

        def over(values: Sequence[Any], kind: Any) -> pl.Series:
            return pl.Series(list(map(number_cell(kind), values)), dtype=kind).gather(batch.answer)

        is_perflib = [answer.plan.whats is not None for answer in answers]
        ticks = [answer.clocks[0] for answer in answers]
        handles = np.array([self._texts["handle"].position(answer.handle) for answer in answers], np.int64)
        made = {
            "perf_time_stamp": over(
                [at if is_v2 else None for at, is_v2 in zip(ticks, is_perflib, strict=True)], pl.UInt64
            ),
            "perf_time": over([None if is_v2 else at for at, is_v2 in zip(ticks, is_perflib, strict=True)], pl.Int64),
            "perf_freq": over([answer.clocks[1] for answer in answers], pl.Int64),
            "perf_time_100ns": over([answer.clocks[2] for answer in answers], pl.Int64),
        }
        if batch.aggregated:
            aggregates = pl.Series(list(batch.aggregated), dtype=pl.UInt32)
            made = {name: series.scatter(aggregates, None) for name, series in made.items()}
        return made | {
            "call": over([answer.call for answer in answers], pl.Int64),
            "time": over([answer.time_ns for answer in answers], pl.Int64).cast(_TIME),
            "handle": self._texts["handle"].taken(handles[batch.answer]),
        }


def _plan_row(plan: Plan, place: int) -> dict[str, Any]:
    """What a row of a plan says in every answer."""
    series, sample = plan.series[place], plan.samples[place]
    row: dict[str, Any] = {"counter_type": series.counter_type, "counter_name": series.counters[0]}
    if sample is None:
        row["counterset_name"] = series.objects[0]
    else:
        row |= sample_keys(sample)
        if (names := row["names"]) is not None:
            known = {name: getattr(names, name) for name in names.__struct_fields__}
            row |= {f"names_{name}": str(value) for name, value in known.items() if value is not None}
    return row | {
        "series": series.number,
        "path": series.path,
        "source": series.source,
        "server_ip": series.server.ip,
        "server_port": series.server.port,
        "client_ip": series.client.ip,
        "client_port": series.client.port,
        "added": series.added,
        "counter_type_name": type_name(series.counter_type) if series.counter_type is not None else None,
        "unit": series.unit,
        "scale": series.scale,
        "aggregate": series.aggregate,
    }


def _of_values(batch: Batch, schema: Mapping[str, Any]) -> dict[str, pl.Series]:
    """What differs from reading to reading."""
    none = pl.Series(batch.why != 0)
    no_pair = pl.Series(batch.previous_call == 0)
    texts = _texts(batch)
    value = pl.Series(batch.value).set(none, None)
    made = {
        "raw": _raw(batch, texts),
        "text": _sparse({row: storable(text) for row, text in texts.items()}, pl.String, batch),
        "value": value,
        "scaled": _scaled(batch, value),
        "why_null": _picked([why and why.value for why in WHYS], schema["why_null"], batch.why),
        "reason": _picked([storable(text) for text in batch.reasons], schema["reason"], batch.reason),
        "flags": _picked([" ".join(flags) for flags in FLAGS], schema["flags"], batch.flags),
        "interval": pl.Series(batch.interval_ns).set(no_pair, None).cast(_SPAN),
        "server_interval": pl.Series(batch.server_interval_ns)
        .set(pl.Series(~batch.has_server_interval), None)
        .cast(_SPAN),
        "previous_call": pl.Series(batch.previous_call).set(no_pair, None),
        "missed": pl.Series(batch.missed),
        "aggregated": _sparse({row: count for row, (count, _) in batch.aggregated.items()}, pl.Int64, batch),
        "left_out": _sparse({row: count for row, (_, count) in batch.aggregated.items()}, pl.Int64, batch),
    }
    if "exact" in schema:
        made["exact"] = _exact(batch)
    return made


def _picked(values: Sequence[Any], kind: Any, positions: npt.NDArray[Any]) -> pl.Series:
    return pl.Series(values, dtype=kind).gather(positions.astype(np.int64))


def _sparse(values: Mapping[int, Any], kind: Any, batch: Batch) -> pl.Series:
    """A column that has few values, by their rows."""
    series = pl.Series([None], dtype=kind).new_from_index(0, len(batch))
    return series.scatter(list(values), list(values.values())) if values else series


def _texts(batch: Batch) -> dict[int, str | None]:
    """The raw values that are no numbers, by their rows."""
    texts: dict[int, str | None] = {}
    if not any(answer.texts for answer in batch.answers):
        return texts
    for plan, rows in batch.plans:
        for row in rows.tolist():
            held, at = batch.answers[batch.answer[row]].texts, int(plan.at[batch.place[row]])
            if at in held:
                texts[row] = held[at]
    return texts


def _raw(batch: Batch, texts: dict[int, str | None]) -> pl.Series:
    """Raw numbers."""
    absent = np.zeros(len(batch), np.bool_)
    for plan, rows in batch.plans:
        absent[rows] = (plan.is_error | (plan.at < 0))[batch.place[rows]]
    absent[list(texts)] = True
    raw = pl.Series(batch.raw)
    return raw.set(pl.Series(absent), None) if absent.any() else raw


def _exact(batch: Batch) -> pl.Series:
    """Values as fractions in lowest terms."""
    divisor = np.gcd(batch.numerator, batch.denominator)
    parts = pl.DataFrame({"n": batch.numerator // divisor, "d": batch.denominator // divisor})
    texts = parts.select(pl.format("{}/{}", "n", "d")).to_series()
    fractions = {row: fraction for row in batch.exact if (fraction := batch.fraction(row)) is not None}
    if fractions:
        written = [f"{fraction.numerator}/{fraction.denominator}" for fraction in fractions.values()]
        texts = texts.scatter(list(fractions), written)
    return texts.set(pl.Series(batch.why != 0), None)


def _by_series(batch: Batch, of: str, make: Any) -> npt.NDArray[np.int64]:
    """A number of the series of each row."""
    out = np.empty(len(batch), np.int64)
    for plan, rows in batch.plans:
        if (entries := plan.made.get(of)) is None:
            entries = plan.made[of] = np.array([make(series) for series in plan.series], np.int64)
        out[rows] = entries[batch.place[rows]]
    return out


def _scaled(batch: Batch, value: pl.Series) -> pl.Series:
    """Values times ten to the power of DefaultScale."""
    scales = _by_series(batch, "scale", lambda series: max(-(1 << 40), min(series.scale, 1 << 40)))
    rows = np.flatnonzero((scales != 0) & (batch.why == 0)).tolist()
    if not rows:
        return value
    values = []
    for row in rows:
        fraction = batch.fraction(row)
        assert fraction is not None
        times = scaled(fraction, int(scales[row]))
        values.append(None if times is None else float(times))
    return value.clone().scatter(rows, pl.Series(values, dtype=pl.Float64))
