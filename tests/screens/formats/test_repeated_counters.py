"""A counter that was asked for twice comes twice in each answer: the second reading is marked wherever readings are shown."""

import polars as pl
from polars.testing import assert_frame_equal

from analyzer.interfaces.call_contents.raw_samples import SampleChunk, sample_chunks, sample_records
from analyzer.questions.series.reading_batches import points
from analyzer.results.analysis import Analysis
from analyzer.results.records.sample import SampleRecord
from analyzer.screens.formats.record_tables import table_of_records
from analyzer.screens.formats.table_writer import table_of
from analyzer.screens.formats.view_writer import json_lines
from analyzer.screens.views.counters import Counters
from analyzer.screens.views.samples import Samples
from tests import truth
from tests.analyses import analysis_of_file
from tests.build.buffers import Block, Counter, Instance, PerfObject, winperf
from tests.build.calls import Calls, analysis_of, winreg
from tests.build.counters import Info, Watch, large, one
from tests.screens.formats.test_sample_chunks import assert_same

RAW, BULK, TOTAL = 0x00010100, 0x10410500, 1
NAMES = (("a", 1), ("b", 2), ("c", 3))
ALL = Block(4, instances=NAMES, values=tuple(large(value) for value in (10, 20, 30)))
ONLY_B = Block(4, instances=(("b", 2),), values=(large(20),))


def marked(analysis: Analysis) -> list[tuple[int, str | None, bool]]:
    """Block, instance and mark of each value; samples and counters agree about them, in tables and lines."""
    samples = table_of(Samples(analysis))
    assert_frame_equal(samples, table_of_records(SampleRecord, sample_records(analysis)))
    counters = table_of(Counters(analysis))
    assert counters["repeated"].to_list() == samples["repeated"].to_list()
    lines = b"".join(json_lines(Samples(analysis)))
    assert lines.count(b'"repeated":true') == samples["repeated"].sum()
    return samples.select("block", "instance", "repeated").rows()


def test_an_instance_that_was_asked_for_by_name_and_by_a_wildcard_is_marked_the_second_time() -> None:
    watch = Watch((Info(5, BULK),)).open(one(5, "b"), one(5, index=1)).poll(ONLY_B, ALL).poll(ONLY_B, ALL)
    answer = [(0, "b", False), (1, "a", False), (1, "b", True), (1, "c", False)]
    assert marked(watch.analysis) == answer * 2
    assert_same(watch.analysis)
    # The rows are in chunks all the same.
    assert [len(chunk.values) for chunk in sample_chunks(watch.analysis) if isinstance(chunk, SampleChunk)] == [
        1,
        1,
        1,
        1,
    ] * 2


def test_the_other_way_round_the_one_instance_is_marked() -> None:
    watch = Watch((Info(5, BULK),)).open(one(5), one(5, "b", index=1)).poll(ALL, ONLY_B)
    assert marked(watch.analysis) == [(0, "a", False), (0, "b", False), (0, "c", False), (1, "b", True)]


def test_two_instances_of_one_name_in_one_block_are_two() -> None:
    twins = Block(4, instances=(("a", 1), ("a", 1)), values=(large(1), large(2)))
    assert marked(Watch((Info(5, BULK),)).open(one(5)).poll(twins).analysis) == [(0, "a", False), (0, "a", False)]


def test_what_is_not_known_to_be_the_same_is_not_marked() -> None:
    make = Calls()
    unknown = Watch((), make=make)
    unknown.events.append(make.open_query())
    unknown.poll(
        Block(4, instances=(("a", 1),), values=(large(1),)), Block(4, instances=(("a", 1),), values=(large(1),))
    )
    assert {mark for _, _, mark in marked(unknown.analysis)} == {False}


def test_an_object_that_comes_twice_is_marked() -> None:
    disk = PerfObject(236, (Counter(200, BULK, 8),), (Instance("C:", -1, (0, 0), (5,)),))
    keys = winreg()
    analysis = analysis_of(keys.open_key(), keys.query_value("236 236", winperf([disk, disk])))
    assert [mark for _, _, mark in marked(analysis)] == [False, True]


def test_an_aggregate_counts_a_reading_once() -> None:
    watch = Watch((Info(5, RAW, aggregate=TOTAL),), instance_type=4).open(one(5), one(5, index=1)).poll(ALL, ALL)
    (total,) = [point.formatted.value for point in points(watch.analysis) if point.series.aggregate == "total"]
    assert total == 60


def test_intervals_count_what_is_repeated() -> None:
    watch = Watch((Info(5, RAW),)).open(one(5), one(5, "b", index=1)).poll(ALL, ONLY_B).poll(ALL, ONLY_B)
    buckets = table_of(Counters(watch.analysis, interval_ns=3600 * 10**9))
    assert buckets.group_by("path").agg(pl.col("repeated").sort()).filter(pl.col("repeated").list.len() > 1)[
        "repeated"
    ].to_list() == [[0, 2]]


def test_captured_readings_are_marked_as_a_table_would_find_them() -> None:

    capture = truth.captures()[0]
    samples = table_of(Samples(analysis_of_file(capture.file)))
    key = ["call", "counterset", "counter_id", "instance", "instance_id"]
    known = samples.filter(pl.col("counter_id").is_not_null(), pl.col("data_size").is_not_null())
    again = known.select(pl.col("block") != pl.col("block").first().over(key)).to_series()
    assert again.to_list() == known["repeated"].to_list()
    assert again.sum() > 0
