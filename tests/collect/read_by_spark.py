"""The tables of a dataset open in Spark as they are. It takes a JVM and pyspark, which no other test does: `make spark`."""

from pathlib import Path
from typing import Any

import polars as pl
from pyspark.sql import SparkSession

import analyzer as pcq
from analyzer.collect.dataset_schemas import RECORDS, STORED
from tests.collect.sets import dataset_of_two_servers


def test_spark_reads_what_polars_reads(tmp_path: Path) -> None:
    dataset = dataset_of_two_servers(tmp_path)
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
