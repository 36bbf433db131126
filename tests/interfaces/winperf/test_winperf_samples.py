"""Values of performance blocks: bases bound to what they belong to, parents resolved, the same in either byte order."""

import pytest

from analyzer.interfaces.call_contents.raw_samples import sample_records
from tests.build.buffers import Counter, Instance, Order, PerfObject, name_table, winperf
from tests.build.calls import analysis_of, winreg
from tests.records import Record, plains

NONE = -1
TIMER, RAW = 0x20510500, 0x00010000
AVERAGE, AVERAGE_BASE = 0x30020400, 0x40030402
FRACTION, FRACTION_BASE, MULTI_BASE, TEXT, NO_DATA = 0x20020400, 0x40030403, 0x42030500, 0x00000B00, 0x00000200


def samples(objects: list[PerfObject], order: Order = "little", *, names: bool = True) -> list[Record]:
    make = winreg()
    table = [("230", "Process"), ("232", "Thread"), ("6", "% Processor Time")]
    events = [make.open_key(), make.query_value("Global", winperf(objects, order))]
    if names:
        events.append(make.query_value("Counter 009", name_table(table)))
    return list(plains(sample_records(analysis_of(*events))))


def values(records: list[Record], *keys: str) -> list[tuple[object, ...]]:
    return [tuple(record[key] for key in keys) for record in records]


PROCESS = PerfObject(
    230,
    (Counter(6, TIMER, 8), Counter(784, RAW, 4)),
    (Instance("Idle", NONE, (0, 0), (10, 0)), Instance("smss", NONE, (0, 0), (20, 4))),
)
THREAD = PerfObject(
    232,
    (Counter(6, TIMER, 8),),
    (
        Instance("0", 7, (230, 0), (1,)),
        Instance("0", NONE, (230, 1), (2,)),
        Instance("1", NONE, (230, 2), (3,)),
        Instance("1", NONE, (999, 0), (4,)),
    ),
)


def test_values_have_names_instances_and_clocks() -> None:
    found = samples([PROCESS])
    keys = (
        "object_index",
        "object_name",
        "counter_index",
        "counter_name",
        "name_source",
        "instance",
        "raw",
        "data_size",
    )
    assert values(found, *keys) == [
        (230, "Process", 6, "% Processor Time", "capture", "Idle", 10, 8),
        (230, "Process", 784, "ID Process", "well-known", "Idle", 0, 4),
        (230, "Process", 6, "% Processor Time", "capture", "smss", 20, 8),
        (230, "Process", 784, "ID Process", "well-known", "smss", 4, 4),
    ]
    assert values(found[:1], "perf_time", "perf_freq", "perf_time_100ns", "object_perf_time", "object_perf_freq") == [
        (987_654_321, 10_000_000, 133_541_156_967_890_000, 5000, 1000)
    ]
    assert found[0]["source"] == "winperf"


def test_an_index_without_name_is_a_number() -> None:
    (found,) = samples([PerfObject(9000, (Counter(9002, RAW, 4),), (Instance("x", NONE, (0, 0), (1,)),))], names=False)
    assert (found["object_name"], found["counter_name"], found["name_source"]) == (None, None, None)


def test_parents_are_counted_from_the_first_instance_of_their_object_or_left_open() -> None:
    keys = ("instance", "instance_id", "parent_index", "parent_instance")
    assert values([one for one in samples([PROCESS, THREAD]) if one["object_index"] == 232], *keys) == [
        ("0", 7, 230, "Idle"),
        ("0", None, 230, "smss"),
        ("1", None, 230, None),
        ("1", None, 999, None),
    ]


def test_a_base_belongs_to_the_counter_before_it() -> None:
    counters = (
        Counter(2, RAW, 4),
        Counter(4, AVERAGE, 8),
        Counter(6, AVERAGE_BASE, 4),
        Counter(8, FRACTION, 4),
        Counter(10, FRACTION_BASE, 4),
        Counter(12, RAW, 4),
        Counter(14, MULTI_BASE, 8),
        Counter(16, FRACTION_BASE, 4),
    )
    found = samples([PerfObject(2, counters, (Instance(None, NONE, (0, 0), tuple(range(1, 9))),), has_instances=False)])
    assert values(found, "raw", "base_raw", "instance", "instance_id", "parent_index") == [
        (1, None, None, None, None),
        (2, 3, None, None, None),
        (3, None, None, None, None),
        (4, 5, None, None, None),
        (5, None, None, None, None),
        (6, 7, None, None, None),
        (7, None, None, None, None),
        (8, None, None, None, None),
    ]


def test_a_counter_of_size_zero_has_no_value() -> None:
    counters = (Counter(2, NO_DATA, 0), Counter(4, RAW, 4))
    assert values(
        samples([PerfObject(2, counters, (Instance("a", NONE, (0, 0), (0, 5)),))]), "counter_index", "raw"
    ) == [(4, 5)]


@pytest.mark.parametrize("has_instances", [True, False])
def test_the_byte_order_changes_nothing(has_instances: bool) -> None:
    counters = (Counter(2, RAW, 4), Counter(4, TIMER, 8), Counter(6, TEXT, 24))
    rows = (Instance("eins" if has_instances else None, 3, (0, 0), (1, 1 << 40, "W\u00e4rme")),)
    objects = [PerfObject(230, counters, rows, has_instances=has_instances)]
    little, big = samples(objects, "little"), samples(objects, "big")
    assert little == big
    assert [one["raw"] for one in little] == [1, 1 << 40, "W\u00e4rme"]


def test_an_object_that_has_no_instance_now_gives_nothing() -> None:
    assert samples([PerfObject(230, (Counter(6, RAW, 4),), ())]) == []


def test_a_damaged_block_gives_what_stands_before_the_damage() -> None:
    make = winreg()
    data = winperf([PROCESS, PerfObject(2, (Counter(6, RAW, 4),), (Instance("a", NONE, (0, 0), (1,)),))])
    found = list(plains(sample_records(analysis_of(make.open_key(), make.query_value("Global", data[:-40])))))
    assert {one["object_index"] for one in found} == {230}
    assert len(found) == 4
