"""The tables of a dataset open in other programs as they are: DuckDB, pandas, Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import analyzer as pcq
from analyzer.auth.keyring import Keyring
from analyzer.collect.schemas import RECORDS, STORED, TABLES, restored, stored
from tests.build.capture import NANO, pcap
from tests.collect.sets import CAPTURES, collected, frames_of, keyring_of, moved, readdressed

pytestmark = pytest.mark.needs("distributed")
CLEAR, SEALED = "v1_samba_impacket_smb311_noauth.pcap", "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap"
_DAY_NS = 86_400 * 10**9


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two servers on two days, one of them with query handles."""
    directory = tmp_path_factory.mktemp("set")
    (directory / "in").mkdir()
    for number, name in enumerate((CLEAR, SEALED)):
        talk = moved(readdressed(frames_of(CAPTURES / name)[1], "10.0.0.1", f"10.0.1.{number}"), number * _DAY_NS)
        (directory / "in" / f"{number}.pcap").write_bytes(pcap(talk, magic=NANO))
    keyring = Keyring().merged(keyring_of(CLEAR), keyring_of(SEALED))
    collected(directory / "in", directory / "out", keyring)
    return directory / "out"


def _leaves(kind: pl.DataType) -> Iterator[pl.DataType]:
    if isinstance(kind, pl.List):
        yield from _leaves(kind.inner)  # type: ignore[arg-type]
    elif isinstance(kind, pl.Struct):
        for field in kind.fields:
            yield from _leaves(field.dtype)  # type: ignore[arg-type]
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


@pytest.mark.needs("pyspark", "java")
def test_spark_reads_what_polars_reads(dataset: Path) -> None:
    """Takes a JVM and half a minute."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    try:
        for table in RECORDS:
            found = spark.read.parquet(str(dataset / table))
            expected = pcq.open(dataset).table(table).collect()
            rows: list[dict[str, Any]] = [row.asDict(recursive=True) for row in found.collect()]
            assert len(rows) == expected.height
            assert set(rows[0]) >= set(STORED[table])
            for column, kind in expected.schema.items():
                if isinstance(kind, pl.Datetime):
                    assert dict(found.dtypes)[column] == "timestamp"
                    values, name = expected[column].to_physical(), f"{column}_ns"
                elif isinstance(kind, pl.List | pl.Struct | pl.Date):
                    continue
                else:
                    values, name = expected[column], column
                    if isinstance(kind, pl.Duration):
                        values = values.to_physical()
                assert sorted(str(row[name]) for row in rows) == sorted(map(str, values.to_list())), column
    finally:
        spark.stop()
