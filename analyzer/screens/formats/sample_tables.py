"""Samples as polars tables, piece by piece: chunks in, tables of many rows out, the same as of `samples_frame`.

What a column of the table says is either of the call, of the counter, or of the instance; it is looked up once for each of
these, and laid out over the rows with numpy. Texts go through a list of all distinct ones, by their position in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec import Struct
from polars.io.plugins import register_io_source

from analyzer.interfaces.contents.chunks import ChunkPart, SampleChunk
from analyzer.results.sample import SampleRecord
from analyzer.screens.formats.dataframes import samples_frame
from analyzer.screens.formats.schema import Column, cells_of, columns_of, frame_of, storable

# Rows of a table, and so of a row group: some 40 MB while they are made.
ROWS_AT_ONCE = 131_072


def sample_tables(items: Iterable[SampleChunk | SampleRecord]) -> Iterator[pl.DataFrame]:
    """Samples in tables of about `ROWS_AT_ONCE` rows; at least one, which may be empty."""
    made = 0
    tables = _Tables()
    waiting: list[SampleChunk | SampleRecord] = []
    rows = 0
    for item in items:
        for piece in _cut(item) if isinstance(item, SampleChunk) else (item,):
            waiting.append(piece)
            rows += len(piece.values) if isinstance(piece, SampleChunk) else 1
            if rows >= ROWS_AT_ONCE:
                yield tables.of(waiting)
                made, rows = made + 1, 0
                waiting.clear()
    if waiting or not made:
        yield tables.of(waiting)


def write_sample_parquet(tables: Iterator[pl.DataFrame], out: BinaryIO, metadata: dict[str, str] | None = None) -> None:
    """Writes tables of one schema, at least one, as one Parquet file, a row group at a time."""
    ours: list[Exception] = []
    first = next(tables)

    def source(*_: object) -> Iterator[pl.DataFrame]:
        try:
            yield first
            yield from tables
        except Exception as error:
            ours.append(error)
            raise

    frame = register_io_source(source, schema=first.schema)
    try:
        frame.sink_parquet(out, row_group_size=ROWS_AT_ONCE, maintain_order=True, metadata=metadata)
    except (pl.exceptions.PolarsError, OSError):
        if ours:
            raise ours[0] from None
        raise


def _cut(chunk: SampleChunk) -> Iterator[SampleChunk]:
    """A chunk, a piece of whole rows at a time where it is large."""
    part, width = chunk.part, len(chunk.part.columns)
    if part.rows is None or len(part) <= ROWS_AT_ONCE:
        yield chunk
        return
    step = max(1, ROWS_AT_ONCE // width)
    for first in range(0, len(part.rows), step):
        piece = ChunkPart(part.columns, part.rows[first : first + step], part.bases)
        yield SampleChunk(piece, chunk.of_call, chunk.values[first * width : (first + step) * width])


class _Column(Struct, frozen=True):
    """A column of a part: an entry for each instance (`by_row`), else for each counter, row after row.

    Of texts, an entry is a position in the list of texts. `absent` marks entries that are null (None: there are none); `only` is
    the one entry, and whether it is null, where all are the same.
    """

    entries: npt.NDArray[Any]
    absent: npt.NDArray[np.bool_] | None
    by_row: bool
    only: tuple[int, bool] | None

    @classmethod
    def of(cls, entries: npt.NDArray[Any], absent: npt.NDArray[np.bool_], by_row: bool) -> _Column:
        same = (entries == entries[0]).all() and (absent == absent[0]).all()
        only = (int(entries[0]), bool(absent[0])) if same else None
        return cls(entries, absent if absent.any() else None, by_row, only)

    def over(self, part: ChunkPart) -> npt.NDArray[Any]:
        return self._over(part, self.entries)

    def absent_over(self, part: ChunkPart) -> npt.NDArray[np.bool_]:
        return np.zeros(len(part), np.bool_) if self.absent is None else self._over(part, self.absent)

    def _over(self, part: ChunkPart, entries: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self.by_row:
            return np.repeat(entries, len(part.columns))
        return np.tile(entries, len(part.rows)) if part.rows is not None else entries


class _Tables:
    """Makes tables; texts seen once are not looked at again."""

    def __init__(self) -> None:
        # Position 0 is no text.
        self._texts: dict[str | None, int] = {None: 0}
        self._series = pl.Series([None], dtype=pl.String)

    def of(self, items: Sequence[SampleChunk | SampleRecord]) -> pl.DataFrame:
        """One table of chunks and records, in order."""
        tables: list[pl.DataFrame] = []
        at = 0
        while at < len(items):
            stop = at
            is_chunk = isinstance(items[at], SampleChunk)
            while stop < len(items) and isinstance(items[stop], SampleChunk) == is_chunk:
                stop += 1
            chunks = [item for item in items[at:stop] if isinstance(item, SampleChunk)]
            records = [item for item in items[at:stop] if not isinstance(item, SampleChunk)]
            tables.append(self._of_chunks(chunks) if is_chunk else samples_frame(records))
            at = stop
        return pl.concat(tables) if tables else samples_frame([])

    def _of_chunks(self, chunks: Sequence[SampleChunk]) -> pl.DataFrame:
        sizes = [len(chunk.values) for chunk in chunks]
        columns = [self._columns(chunk.part) for chunk in chunks]
        series = []
        of_call = {key for chunk in chunks for key in chunk.of_call}
        for column in columns_of(SampleRecord):
            name, key = column.name, column.path[-1]
            if name in ("raw", "base_raw"):
                series.append(_values(name, chunks))
            elif key in of_call:
                stated = [
                    column.cell(value) if (value := chunk.of_call.get(key)) is not None else None for chunk in chunks
                ]
                each = frame_of([stated], {name: column.kind})[name]
                series.append(each.gather(np.repeat(np.arange(len(chunks)), sizes)))
            else:
                series.append(self._laid_out(column, chunks, [laid[name] for laid in columns]))
        return pl.DataFrame(series)

    def _columns(self, part: ChunkPart) -> dict[str, _Column]:
        """The columns of a part, made once."""
        known: dict[str, _Column] | None = part.made.get("table")
        if known is None:
            records = [dict(cells_of(SampleRecord, record)) for record in part.columns]
            known = part.made["table"] = {
                column.name: self._column(
                    [row[column.name] for row in part.rows]
                    if (by_row := part.rows is not None and column.name in part.rows[0])
                    else [record.get(column.name) for record in records],
                    column.kind,
                    by_row,
                )
                for column in columns_of(SampleRecord)
            }
        return known

    def _column(self, values: Sequence[Any], kind: pl.DataType, by_row: bool) -> _Column:
        if _is_text(kind):
            texts = self._texts
            held = [storable(value) if value is not None else None for value in values]
            entries = np.array([texts.setdefault(value, len(texts)) for value in held], np.int64)
            return _Column.of(entries, np.zeros(len(entries), np.bool_), by_row)
        absent = np.array([value is None for value in values])
        return _Column.of(np.array([0 if value is None else value for value in values], np.int64), absent, by_row)

    def _laid_out(self, column: Column, chunks: Sequence[SampleChunk], columns: Sequence[_Column]) -> pl.Series:
        name, kind = column.name, column.kind
        only = {column.only for column in columns}
        if len(only) == 1 and (one := only.pop()) is not None:
            entry, is_null = one
            value = None if is_null else self._polars_texts()[entry] if _is_text(kind) else entry
            if kind == pl.Boolean and value is not None:
                value = bool(value)
            return pl.Series(name, [value], dtype=kind).new_from_index(0, sum(len(chunk.values) for chunk in chunks))
        pairs = [(column, chunk.part) for column, chunk in zip(columns, chunks, strict=True)]
        entries = np.concatenate([column.over(part) for column, part in pairs])
        if _is_text(kind):
            return self._polars_texts().gather(entries).alias(name).cast(kind)
        series = pl.Series(name, entries).cast(kind)
        if all(column.absent is None for column in columns):
            return series
        return series.set(pl.Series(np.concatenate([column.absent_over(part) for column, part in pairs])), None)

    def _polars_texts(self) -> pl.Series:
        if len(self._series) != len(self._texts):
            self._series = pl.Series(list(self._texts), dtype=pl.String)
        return self._series


def _is_text(kind: pl.DataType) -> bool:
    return isinstance(kind, pl.String | pl.Enum)


def _values(name: str, chunks: Sequence[SampleChunk]) -> pl.Series:
    """The values themselves, or those of their bases."""
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
    """For each value that of its base; of those that have none, any."""
    columns = [base if base is not None else 0 for base in _base_columns(chunk)]
    return chunk.values.reshape(-1, len(columns))[:, columns].reshape(-1)
