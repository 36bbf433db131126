"""The tables of a dataset open in other programs as they are: DuckDB and pandas; Spark with `make spark`."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import analyzer as pcq
from analyzer.collect.dataset_schemas import RECORDS, STORED, TABLES, restored, stored
from analyzer.core.errors import InputError
from tests.collect.sets import dataset_of_two_servers

pytestmark = pytest.mark.needs("distributed")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset_of_two_servers(tmp_path_factory.mktemp("set"))


def _leaves(kind: pl.DataType) -> Iterator[pl.DataType]:
    if isinstance(kind, pl.List):
        yield from _leaves(kind.inner)
    elif isinstance(kind, pl.Struct):
        for field in kind.fields:
            yield from _leaves(field.dtype)
    else:
        yield kind


# Spark 4.3 refuses timestamps in nanoseconds ([PARQUET_TYPE_ILLEGAL]), and has no time of day, and no unsigned number but as a
# decimal of 20 digits; a duration is a number of nanoseconds to it.
READ_BY_ALL = (pl.String, pl.Boolean, pl.Int64, pl.UInt64, pl.Float64, pl.Enum, pl.Duration)


@pytest.mark.parametrize("table", RECORDS)
def test_columns_are_of_types_that_every_reader_has(table: str) -> None:
    for column, kind in STORED[table].items():
        for leaf in _leaves(kind):
            assert isinstance(leaf, READ_BY_ALL) or leaf == pl.Datetime("us", "UTC"), (column, leaf)
    for column, kind in TABLES[table].items():
        if isinstance(kind, pl.Datetime):
            assert STORED[table][f"{column}_ns"] == pl.Int64()


def test_times_are_exact_though_stored_in_microseconds(dataset: Path) -> None:
    later = pl.element().struct.with_fields(pl.field("time") + pl.duration(nanoseconds=1))
    handles = pcq.open(dataset).handles.select(*TABLES["handles"]).collect()
    handles = handles.with_columns(pl.col("first_time") + pl.duration(nanoseconds=1), pl.col("events").list.eval(later))
    written = stored(handles)
    assert dict(written.schema) == STORED["handles"]
    assert written["first_time_ns"][0] % 1000 == 1
    assert written["first_time"].dt.epoch("us").to_list() == [ns // 1000 for ns in written["first_time_ns"]]
    assert restored(written.lazy(), "handles").collect().equals(handles)


@pytest.mark.needs("duckdb")
@pytest.mark.parametrize("table", RECORDS)
def test_duckdb_and_pandas_read_what_polars_reads(table: str, dataset: Path) -> None:
    import duckdb
    import pandas as pd

    ds = pcq.open(dataset)
    expected = ds.table(table).collect()
    assert expected.height
    found = duckdb.sql(f"SELECT * FROM read_parquet('{dataset}/{table}/**/*.parquet', hive_partitioning=true)").pl()
    frame = pd.read_parquet(dataset / table)
    assert len(frame) == found.height == expected.height == ds.manifest.tables[table].rows
    assert set(found.columns) == set(frame.columns)
    assert set(STORED[table]) <= set(found.columns)
    for column, kind in expected.schema.items():
        if isinstance(kind, pl.Datetime):
            ns = expected[column].to_physical().sort().to_list()
            assert found[f"{column}_ns"].sort().to_list() == ns
            assert sorted(frame[column].dt.as_unit("us").astype("int64")) == [one // 1000 for one in ns]
        elif isinstance(kind, pl.String | pl.Int64 | pl.UInt64 | pl.Boolean | pl.Float64 | pl.Enum):
            plain = expected[column].cast(pl.String) if isinstance(kind, pl.Enum) else expected[column]
            wanted = sorted(map(repr, plain.to_list()))
            assert sorted(map(repr, found[column].cast(plain.dtype).to_list())) == wanted, column


def test_a_notebook_has_the_tables_lazily_and_each_call_by_its_number(dataset: Path) -> None:
    ds = pcq.open(dataset)
    assert isinstance(ds.samples, pl.LazyFrame)
    counts = ds.samples.group_by("day", "server").len().collect()
    assert (counts.height, counts["len"].sum()) == (2, ds.manifest.tables["samples"].rows)
    table = ds.calls.collect()
    number = table["call"][-1]
    cap = ds.conversation(number >> 32)
    assert cap.call(number & 0xFFFFFFFF)["number"] == number & 0xFFFFFFFF
    assert sum(ds.conversations()["calls"]) == table.height
    assert ds.counters().collect().height == ds.manifest.tables["counters"].rows
    assert ds.audit()["coverage"].collect().height > 300
    assert "samples" in repr(ds)
    assert "<table>" in ds._repr_html_()
    for ask, words in ((lambda: ds.table("call"), "no table"), (lambda: ds.conversation(77), "no conversation")):
        with pytest.raises(InputError, match=f"there is {words}"):
            ask()
