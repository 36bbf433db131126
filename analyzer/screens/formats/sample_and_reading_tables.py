"""Makes tables of samples and of readings (displayed values), which come as columns: an entry for each instance, counter or answer.

numpy lays the entries out over the rows of a table. Texts are positions in a list of all distinct texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl
from msgspec import Struct

from analyzer.interfaces.call_contents.raw_samples import ChunkPart, SampleChunk, sample_keys
from analyzer.questions.series.columns_of_readings import FLAGS, WHYS
from analyzer.questions.series.formulas import scaled, type_name
from analyzer.questions.series.reading_batches import Batch
from analyzer.questions.series.value_plans import ValuePlan
from analyzer.results.records.sample import BucketRecord, SampleRecord
from analyzer.screens.formats.record_tables import (
    Column,
    cells_of,
    columns_of,
    frame_of,
    number_cell,
    reading_schema,
    storable,
    table_of_records,
    table_schema,
)
from analyzer.screens.views.counters import Counters

if TYPE_CHECKING:
    import numpy.typing as npt

# Rows of a table of samples, and so of a row group: some 40 MB while they are made.
ROWS_AT_ONCE = 131_072
# Rows of a table of intervals that are made and written at a time.
_INTERVALS_AT_ONCE = 50_000
# Records that wait until their columns are made: some 6 MB.
_RECORDS_AT_ONCE = 16_384
# A row of a plan takes 1 KB before it is in columns.
_PLAN_ROWS_AT_ONCE = 4096


# ----------------------------------------------------------------------------------------------------------- layout


def _is_text(kind: Any) -> bool:
    return kind in (pl.String, pl.Categorical) or isinstance(kind, pl.Enum)


class _ColumnTexts:
    """Numbers the distinct texts of one table column, each looked at once. Position 0 is no text."""

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
        """Returns the positions of many texts in a column of a table of samples or readings; they are often the same."""
        if texts.count(texts[0]) == len(texts):
            return [self.position(texts[0])] * len(texts)
        return [self.position(text) for text in texts]

    def taken(self, positions: npt.NDArray[np.int64]) -> pl.Series:
        return self._known().gather(positions)

    def same(self, position: int, count: int) -> pl.Series:
        """Returns a column of a table of samples or readings that repeats one text."""
        return self._known().new_from_index(position, count)

    def _known(self) -> pl.Series:
        if len(self._series) != len(self._texts):
            self._series = pl.Series(self._texts, dtype=self._kind)
        return self._series


class _Entries(Struct, frozen=True, eq=False):
    """The entries that a table column is laid out from: numbers, or positions of texts. `absent` marks entries without a value
    (None: no such entry). If all entries are the same, `only` is that entry and whether it is absent. They belong to instances
    (`by_row`), else to counters."""

    entries: npt.NDArray[np.int64]
    absent: npt.NDArray[np.bool_] | None
    only: tuple[int, bool] | None
    by_row: bool = False

    @classmethod
    def entries_of(cls, values: Sequence[Any], texts: _ColumnTexts | None, *, by_row: bool = False) -> _Entries:
        """Makes the entries of a column of samples or readings from these cells."""
        if texts is not None:
            entries, absent = np.array(texts.positions(values), np.int64), None
        else:
            entries = np.array([0 if value is None else value for value in values], np.int64)
            absent = np.array([value is None for value in values])
        return cls._made(entries, absent, by_row=by_row)

    @classmethod
    def joined(cls, pieces: Sequence[_Entries]) -> _Entries:
        """Joins the entries of several sequences of cells in one column of a table of readings."""
        if len(pieces) == 1:
            return pieces[0]
        absent = [np.zeros(len(one.entries), np.bool_) if one.absent is None else one.absent for one in pieces]
        return cls._made(np.concatenate([one.entries for one in pieces]), np.concatenate(absent), by_row=False)

    @classmethod
    def _made(cls, entries: npt.NDArray[np.int64], absent: npt.NDArray[np.bool_] | None, *, by_row: bool) -> _Entries:
        is_same = (entries == entries[0]).all() and (absent is None or (absent == absent[0]).all())
        only = (int(entries[0]), absent is not None and bool(absent[0])) if is_same else None
        if is_same:  # one number for all of them
            entries = np.broadcast_to(entries[:1].copy(), entries.shape)
        return cls(entries, absent if absent is not None and absent.any() else None, only, by_row)


def _laid_out(
    name: str,
    kind: Any,
    texts: _ColumnTexts | None,
    entries: npt.NDArray[np.int64],
    absent: npt.NDArray[np.bool_] | None,
) -> pl.Series:
    """Makes a column of a table of samples or readings from one entry for each row."""
    if texts is not None:
        return texts.taken(entries).alias(name)
    series = pl.Series(name, entries).cast(kind)
    return series if absent is None else series.set(pl.Series(absent), None)


def _same(name: str, kind: Any, texts: _ColumnTexts | None, only: tuple[int, bool], count: int) -> pl.Series:
    """Makes a column of a table of samples or readings whose rows all have the same entry."""
    entry, is_absent = only
    if texts is not None:
        return texts.same(entry, count).alias(name)
    return pl.Series(name, [None if is_absent else entry], dtype=pl.Int64).cast(kind).new_from_index(0, count)


def _texts_of(schema: Mapping[str, Any]) -> dict[str, _ColumnTexts]:
    return {name: _ColumnTexts(kind) for name, kind in schema.items() if _is_text(kind)}


# ---------------------------------------------------------------------------------------------------------- samples


def sample_tables(items: Iterable[SampleChunk | SampleRecord]) -> Iterator[pl.DataFrame]:
    """Lays samples out in tables of about `ROWS_AT_ONCE` rows to write, and yields them; at least one, which may be empty."""
    made = 0
    tables = _Samples()
    waiting: list[SampleChunk | SampleRecord] = []
    pieces: list[pl.DataFrame] = []
    rows = held = 0
    parts: set[int] = set()
    for item in items:
        for piece in _cut(item) if isinstance(item, SampleChunk) else (item,):
            waiting.append(piece)
            if not isinstance(piece, SampleChunk):
                rows, held = rows + 1, held + 1
            else:
                rows += len(piece.values)
                held += len(piece.part.columns) * (id(piece.part) not in parts)
                parts.add(id(piece.part))
            if held >= _RECORDS_AT_ONCE or rows >= ROWS_AT_ONCE:
                pieces.append(tables.table_of(waiting))
                waiting.clear()
                parts.clear()
                held = 0
            if rows >= ROWS_AT_ONCE:
                yield pl.concat(pieces)
                made, rows = made + 1, 0
                pieces.clear()
    if waiting:
        pieces.append(tables.table_of(waiting))
    if pieces or not made:
        yield pl.concat(pieces) if pieces else tables.table_of(())


def _cut(chunk: SampleChunk) -> Iterator[SampleChunk]:
    """Cuts a large chunk of samples, before its table is made, into pieces of whole rows."""
    part, width = chunk.part, len(chunk.part.columns)
    if part.rows is None or len(part) <= ROWS_AT_ONCE:
        yield chunk
        return
    step = max(1, ROWS_AT_ONCE // width)
    for first in range(0, len(part.rows), step):
        piece = ChunkPart(part.columns, part.rows[first : first + step], part.bases)
        yield SampleChunk(piece, chunk.of_call, chunk.values[first * width : (first + step) * width])


class _Samples:
    """Makes tables of samples; looks at each distinct text once."""

    def __init__(self) -> None:
        self._texts = _texts_of(table_schema(SampleRecord))

    def table_of(self, items: Sequence[SampleChunk | SampleRecord]) -> pl.DataFrame:
        """Makes one table of samples from chunks and records of samples, in order."""
        tables: list[pl.DataFrame] = []
        at = 0
        while at < len(items):
            stop = at
            is_chunk = isinstance(items[at], SampleChunk)
            while stop < len(items) and isinstance(items[stop], SampleChunk) == is_chunk:
                stop += 1
            chunks = [item for item in items[at:stop] if isinstance(item, SampleChunk)]
            records = [item for item in items[at:stop] if not isinstance(item, SampleChunk)]
            tables.append(self._of_chunks(chunks) if is_chunk else table_of_records(SampleRecord, records))
            at = stop
        return pl.concat(tables) if tables else table_of_records(SampleRecord, [])

    def _of_chunks(self, chunks: Sequence[SampleChunk]) -> pl.DataFrame:
        sizes = [len(chunk.values) for chunk in chunks]
        columns = [self._columns(chunk.part) for chunk in chunks]
        series = []
        of_call = {key for chunk in chunks for key in chunk.of_call}
        for column in columns_of(SampleRecord):
            name, key = column.name, column.path[-1]
            if name in ("raw", "base_raw"):
                series.append(_sample_values(name, chunks))
            elif key in of_call:
                stated = [
                    column.cell(value) if (value := chunk.of_call.get(key)) is not None else None for chunk in chunks
                ]
                each = frame_of([stated], {name: column.kind})[name]
                series.append(each.gather(np.repeat(np.arange(len(chunks)), sizes)))
            else:
                series.append(self._over(column, chunks, [laid[name] for laid in columns]))
        return pl.DataFrame(series)

    def _columns(self, part: ChunkPart) -> dict[str, _Entries]:
        """Returns the columns that a part of samples has in the table of samples, made once."""
        known: dict[str, _Entries] | None = part.made.get("table")
        if known is None:
            records = [dict(cells_of(SampleRecord, record)) for record in part.columns]
            known = part.made["table"] = {
                column.name: _Entries.entries_of(
                    [row[column.name] for row in part.rows]
                    if (by_row := part.rows is not None and column.name in part.rows[0])
                    else [record.get(column.name) for record in records],
                    self._texts.get(column.name),
                    by_row=by_row,
                )
                for column in columns_of(SampleRecord)
            }
        return known

    def _over(self, column: Column, chunks: Sequence[SampleChunk], found: Sequence[_Entries]) -> pl.Series:
        """Makes a column of the table of samples from each chunk's entries."""
        name, kind, texts = column.name, column.kind, self._texts.get(column.name)
        only = {one.only for one in found}
        if len(only) == 1 and (same := only.pop()) is not None:
            return _same(name, kind, texts, same, sum(len(chunk.values) for chunk in chunks))
        pairs = [(one, chunk.part) for one, chunk in zip(found, chunks, strict=True)]
        entries = np.concatenate([_over_part(one.entries, one, part) for one, part in pairs])
        if texts is not None or all(one.absent is None for one in found):
            return _laid_out(name, kind, texts, entries, None)
        absent = [
            np.zeros(len(part), np.bool_) if one.absent is None else _over_part(one.absent, one, part)
            for one, part in pairs
        ]
        return _laid_out(name, kind, texts, entries, np.concatenate(absent))


def _over_part(entries: npt.NDArray[Any], of: _Entries, part: ChunkPart) -> npt.NDArray[Any]:
    """Lays out the entries of a part of samples over its rows in the table of samples: repeats those of instances, and those of
    counters in turn."""
    if of.by_row:
        return np.repeat(entries, len(part.columns))
    return np.tile(entries, len(part.rows)) if part.rows is not None else entries


def _sample_values(name: str, chunks: Sequence[SampleChunk]) -> pl.Series:
    """Makes the column of raw values, or of base values, in the table of samples."""
    parts = [chunk.values if name == "raw" else _bases(chunk) for chunk in chunks]
    series = pl.Series(name, np.concatenate(parts), dtype=pl.UInt64)
    lacking = [
        np.array([record.raw is None for record in chunk.part.columns])
        if name == "raw"
        else np.array([base is None for base in _base_columns(chunk)])
        for chunk in chunks
    ]
    if not any(each.any() for each in lacking):
        return series
    nulls = [np.tile(each, len(chunk.part) // len(each)) for each, chunk in zip(lacking, chunks, strict=True)]
    return series.set(pl.Series(np.concatenate(nulls)), None)


def _base_columns(chunk: SampleChunk) -> Sequence[int | None]:
    return chunk.part.bases if chunk.part.bases is not None else [None] * len(chunk.part.columns)


def _bases(chunk: SampleChunk) -> npt.NDArray[np.uint64]:
    """Returns the base value of each row in the table of samples; any value for samples without a base."""
    columns = [base if base is not None else 0 for base in _base_columns(chunk)]
    return chunk.values.reshape(-1, len(columns))[:, columns].reshape(-1)


# --------------------------------------------------------------------------------------------------- displayed values


def reading_tables(view: Counters) -> Iterator[pl.DataFrame]:
    tables = _Readings(exact=view.exact)
    made = 0
    for batch in view.batches():
        made += 1
        yield tables.table_of(batch)
    if not made:
        yield pl.DataFrame(schema=reading_schema(exact=view.exact))


def interval_tables(view: Counters) -> Iterator[pl.DataFrame]:
    records = view.records()
    while len(table := table_of_records(BucketRecord, islice(records, _INTERVALS_AT_ONCE))) == _INTERVALS_AT_ONCE:
        yield table
    yield table


Places: TypeAlias = "npt.NDArray[np.int64]"


class _Readings:
    """Makes tables from batches of counter readings."""

    def __init__(self, *, exact: bool) -> None:
        self._schema = reading_schema(exact=exact)
        self._texts = _texts_of(self._schema)

    def table_of(self, batch: Batch) -> pl.DataFrame:
        made = self._of_answers(batch) | _of_values(batch, self._schema)
        rest = {name: kind for name, kind in self._schema.items() if name not in made}
        known = [(self._columns(plan, rest), rows) for plan, rows in batch.plans]
        columns = [
            made[name].alias(name) if name in made else self._over(name, kind, known, batch)
            for name, kind in self._schema.items()
        ]
        return pl.DataFrame(columns)

    def _columns(self, plan: ValuePlan, schema: Mapping[str, Any]) -> dict[str, _Entries]:
        """Returns the columns that a plan of readings has in the table of readings, made once."""
        known: dict[str, _Entries] | None = plan.made.get("table")
        if known is None:
            pieces: dict[str, list[_Entries]] = {name: [] for name in schema}
            for first in range(0, len(plan), _PLAN_ROWS_AT_ONCE):
                rows = [_plan_row(plan, place) for place in range(len(plan))[first : first + _PLAN_ROWS_AT_ONCE]]
                for name, kind in schema.items():
                    cells = _cells([row.get(name) for row in rows], kind)
                    pieces[name].append(_Entries.entries_of(cells, self._texts.get(name)))
            known = plan.made["table"] = {name: _Entries.joined(found) for name, found in pieces.items()}
        return known

    def _over(
        self, name: str, kind: Any, known: Sequence[tuple[dict[str, _Entries], Places]], batch: Batch
    ) -> pl.Series:
        """Makes a column of the table of readings from each plan's entries."""
        found, texts = [columns[name] for columns, _ in known], self._texts.get(name)
        only = found[0].only
        if only is not None and all(one.only == only for one in found):
            return _same(name, kind, texts, only, len(batch))
        if len(found) == 1:
            absent = found[0].absent[batch.place] if found[0].absent is not None else None
            return _laid_out(name, kind, texts, found[0].entries[batch.place], absent)
        entries, lacking = np.empty(len(batch), np.int64), np.zeros(len(batch), np.bool_)
        for one, (_, rows) in zip(found, known, strict=True):
            entries[rows] = one.entries[batch.place[rows]]
            if one.absent is not None:
                lacking[rows] = one.absent[batch.place[rows]]
        return _laid_out(name, kind, texts, entries, lacking if lacking.any() else None)

    def _of_answers(self, batch: Batch) -> dict[str, pl.Series]:
        """Makes those columns of the table of readings that are the same for all readings of an answer."""
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
            "time": over([answer.time_ns for answer in answers], pl.Int64).cast(pl.Datetime("ns", "UTC")),
            "handle": self._texts["handle"].taken(handles[batch.answer]),
        }


def _cells(values: list[Any], kind: Any) -> list[Any]:
    """Returns the cells of readings for their table: None for numbers that their column cannot hold; texts stay."""
    return values if _is_text(kind) else list(map(number_cell(kind), values))


def _plan_row(plan: ValuePlan, place: int) -> dict[str, Any]:
    """Returns those cells of a reading in the table of readings that are the same in every answer of its plan."""
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
    """Makes those columns of the table of readings that differ from reading to reading."""
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
        "interval": pl.Series(batch.interval_ns).set(no_pair, None).cast(pl.Duration("ns")),
        "server_interval": pl.Series(batch.server_interval_ns)
        .set(pl.Series(~batch.has_server_interval), None)
        .cast(pl.Duration("ns")),
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
    """Makes a column of the table of readings with few values, given by row."""
    series = pl.Series([None], dtype=kind).new_from_index(0, len(batch))
    return series.scatter(list(values), list(values.values())) if values else series


def _texts(batch: Batch) -> dict[int, str | None]:
    """Returns the raw values that are texts in the table of readings, by their rows."""
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
    """Makes the column of raw values that are numbers in the table of readings."""
    absent = np.zeros(len(batch), np.bool_)
    for plan, rows in batch.plans:
        absent[rows] = (plan.is_error | (plan.at < 0))[batch.place[rows]]
    absent[list(texts)] = True
    raw = pl.Series(batch.raw)
    return raw.set(pl.Series(absent), None) if absent.any() else raw


def _exact(batch: Batch) -> pl.Series:
    """Makes the column of displayed values as fractions in lowest terms in the table of readings."""
    divisor = np.gcd(batch.numerator, batch.denominator)
    parts = pl.DataFrame({"n": batch.numerator // divisor, "d": batch.denominator // divisor})
    texts = parts.select(pl.format("{}/{}", "n", "d")).to_series()
    fractions = {row: fraction for row in batch.exact if (fraction := batch.fraction(row)) is not None}
    if fractions:
        written = [f"{fraction.numerator}/{fraction.denominator}" for fraction in fractions.values()]
        texts = texts.scatter(list(fractions), written)
    return texts.set(pl.Series(batch.why != 0), None)


def _by_series(batch: Batch, of: str, make: Any) -> npt.NDArray[np.int64]:
    """Returns a number of its series for each row of the table of readings; `make` computes it once a series."""
    out = np.empty(len(batch), np.int64)
    for plan, rows in batch.plans:
        if (entries := plan.made.get(of)) is None:
            entries = plan.made[of] = np.array([make(series) for series in plan.series], np.int64)
        out[rows] = entries[batch.place[rows]]
    return out


def _scaled(batch: Batch, value: pl.Series) -> pl.Series:
    """Makes the column of values times ten to the power of DefaultScale in the table of readings."""
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
