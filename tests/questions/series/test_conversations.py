"""Whole conversations and every record that `counters` makes of them, column by column; the slow ways of reading give the same.

`conversations.json` holds the records, gone through by hand; a value that all of them share stands once in its column.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.interfaces.buffers.known_layouts import SameLayout
from analyzer.interfaces.buffers.perf_data_layout import PerfDataReader
from analyzer.interfaces.buffers.winperf_layout import WinperfReader
from analyzer.interfaces.call_contents.bound_answers import Bindings
from analyzer.questions.series import reading_batches as readings_module
from analyzer.questions.series.counter_paths import PathSelection
from analyzer.questions.series.counter_records import counter_records
from analyzer.questions.series.reading_batches import points, readings
from analyzer.questions.series.series_and_points import Point, Series
from analyzer.questions.series.series_limit import SeriesLeftOut, SeriesLimit
from analyzer.results.analysis import Analysis, Part
from tests.build.buffers import Block, Counter, Instance, PerfObject, name_table, string_table, wide
from tests.build.calls import COUNTERSET
from tests.build.counters import (
    SECOND,
    Chosen,
    Info,
    Reader,
    Watch,
    large,
    one,
    small,
    whole,
    without_number,
)
from tests.records import plains

RAW, LARGE_RAW, COUNTER, BULK, TEXT = 0x00010000, 0x00010100, 0x10410400, 0x10410500, 0x00000B00
AVERAGE, AVERAGE_BASE, AVERAGE_TIMER, FRACTION, FRACTION_BASE = (
    0x40020500,
    0x40030402,
    0x30020400,
    0x20020400,
    0x40030403,
)
ELAPSED, MULTI_TIMER, MULTI_BASE, LARGE_BASE = 0x30240500, 0x22410500, 0x42030500, 0x40030500
OBJECT_TIMER, PRECISION_OBJECT, HUNDRED, UNKNOWN, DOUBLE = 0x20610500, 0x20670500, 0x20510500, 0x12345678, 0x00012000
TOP = (0, 0)
RECORDS = json.loads((Path(__file__).parent / "conversations.json").read_text(encoding="utf-8"))


def records(analysis: Analysis, *patterns: str, **options: Any) -> list[dict[str, Any]]:
    return list(plains(counter_records(analysis, PathSelection(list(patterns), {}), **options)))


def in_columns(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Records column by column; what all records share stands once."""
    names = dict.fromkeys(name for one in found for name in one)
    columns = {name: [one.get(name) for one in found] for name in names}
    return {
        name: values[0] if all(value == values[0] for value in values) else values for name, values in columns.items()
    }


def of_one_set() -> Watch:
    """A counterset of one instance: a rate, an average, an age by a clock of its own, a multi timer, and what no formula is for."""
    infos = (
        Info(1, BULK, scale=-1, attributes=0x10),
        Info(2, AVERAGE, base=3),
        Info(3, AVERAGE_BASE),
        Info(4, ELAPSED, time=5, freq=6),
        Info(5, LARGE_RAW, attributes=0x2),
        Info(6, LARGE_RAW),
        Info(7, MULTI_TIMER, multi=8),
        Info(8, RAW),
        Info(9, UNKNOWN),
        Info(10, DOUBLE),
        Info(11, OBJECT_TIMER, time=5, freq=6),
        Info(12, FRACTION, base=99),
        Info(13, HUNDRED, scale=3),
    )
    watch = Watch(infos, 0).open(whole(""))
    ids = tuple(info.id for info in infos)
    for turn, rate in ((0, 10), (1, 25), (2, 25)):
        values = (*large(rate), *large(7 * turn), *small(2 * turn), *large(40, 100 + turn, 10), *large(turn * SECOND))
        watch.poll(
            Block(
                2,
                ids=ids,
                values=((*values, *small(4, 5), *large(6), *large(50 * turn), *small(1), *large(turn * SECOND // 4)),),
            )
        )
    return watch


def of_instances() -> Watch:
    """Instances that come, go and change; aggregates; an error, a lost answer, and a value twice."""
    infos = (Info(5, BULK, aggregate=1), Info(6, RAW, aggregate=2), Info(7, RAW, aggregate=3))
    watch = Watch(infos, 6).open(whole(), one(5, "a", 1, 1), one(6, "b", 2, 2))

    def poll(*rows: tuple[str, int, int], **clocks: int) -> None:
        watch.poll(
            Block(
                6,
                ids=(5, 6, 7),
                instances=tuple((name, number) for name, number, _ in rows),
                values=tuple((*large(value), *small(value, value * 2)) for _, _, value in rows),
            ),
            Block(1, values=(large(rows[0][2]),)),
            Block(0, status=0x1069) if len(rows) == 2 else Block(1, values=(small(rows[-1][2]),)),
            **clocks,
        )

    poll(("a", 1, 100), ("b", 2, 200), ("b", 2, 300))
    poll(("a", 1, 110), ("b", 2, 210))
    watch.lose()
    poll(("a", 9, 120), ("b", 2, 230), ("b", 2, 330))
    poll(("a", 9, 90), ("b", 2, 231), ("b", 2, 331))
    poll(("a", 9, 91), ("b", 2, 232), ("b", 2, 332), ticks=5)
    poll(("a", 9, 92), ("b", 2, 233), ("b", 2, 333), ticks=6, freq=7)
    return watch


def of_names() -> Watch:
    """Names in two languages, text, and a counter whose value is text where it should be a number."""
    infos = (Info(5, RAW), Info(6, TEXT), Info(7, BULK))
    watch = Watch(infos)
    make = watch.make
    watch.events += [
        make.registration(9, wide("Set")),
        make.registration(3, wide("Satz"), lcid=0x407),
        make.registration(10, string_table([(5, "five"), (6, "text")], from_start=True)),
        make.registration(5, string_table([(5, "fünf")], from_start=True), lcid=0x407),
    ]
    watch.open(whole())
    for value in (1, 2):
        watch.poll(
            Block(
                6,
                ids=(5, 6, 7),
                instances=(("a", 1), ("b", 2)),
                values=((*small(value), wide("x y"), *large(value)), (wide("text"), wide("z"), *large(value * 3))),
            )
        )
    return watch


def of_winperf() -> Reader:
    """Objects with bases, multipliers and clocks of their own; processes of one name; metadata alone; an object that has no
    instances."""
    reader = Reader()
    reader.events += [
        reader.make.query_value(
            "Counter 009", name_table([("230", "Process"), ("6", "% Time"), ("500", "Odd")]), kind=7
        ),
        reader.make.query_value("Counter 007", name_table([("230", "Prozess"), ("7", "Basis")]), kind=7),
    ]

    def process(*rows: tuple[str, int, int], clock: tuple[int, int]) -> PerfObject:
        counters = (Counter(784, RAW, 4), Counter(6, COUNTER, 4), Counter(684, ELAPSED, 8))
        instances = tuple(Instance(name, -1, TOP, (pid, value, 1000)) for name, pid, value in rows)
        return PerfObject(230, counters, instances, clock=clock, default_scale=1)

    def odd(turn: int) -> PerfObject:
        counters = (
            Counter(8, AVERAGE, 8),
            Counter(9, AVERAGE_BASE, 4),
            Counter(10, MULTI_TIMER, 8),
            Counter(11, MULTI_BASE, 4),
            Counter(12, PRECISION_OBJECT, 8),
            Counter(13, LARGE_BASE, 8),
            Counter(14, OBJECT_TIMER, 8),
            Counter(8, FRACTION, 4),
            Counter(15, RAW, 4),
        )
        values = (30 * turn, 4 * turn, turn * SECOND, 2, 10 * turn, 40 * turn, 100 * turn, 7, turn)
        return PerfObject(
            500, counters, (Instance(None, 3, TOP, values), Instance(None, 4, TOP, values)), clock=(1000 * turn, 1000)
        )

    for turn in (1, 2, 3):
        rows = [("svc", 10, 100 * turn), ("svc", 20, 50 * turn)]
        memory = PerfObject(4, (Counter(24, RAW, 4),), (Instance(None, -1, TOP, (turn,)),), has_instances=False)
        alone = PerfObject(700, (Counter(24, RAW, 4),), (), metadata=True)
        clock = (-5, 1000) if turn == 3 else (4000 * turn, 1000)
        reader.read(process(*(rows if turn != 2 else rows[::-1]), clock=clock), memory, alone, odd(turn))
    return reader


def of_mixed() -> Reader:
    """An object with text among objects of numbers."""
    reader = Reader()
    for turn in (1, 2):
        texts = PerfObject(
            500,
            (Counter(20, 0x00000B00, 8), Counter(21, 0x40000200, 0), Counter(28, COUNTER, 4)),
            (Instance("t", -1, TOP, (f"v{turn}", 0, 10 * turn)), Instance("u", -1, TOP, ("w", 0, 20 * turn))),
        )
        numbers = PerfObject(501, (Counter(28, COUNTER, 4),), (Instance("n", -1, TOP, (5 * turn,)),))
        reader.read(numbers, texts, replace(numbers, index=502))
    return reader


CONVERSATIONS = {made.__name__: made for made in (of_one_set, of_instances, of_names, of_winperf, of_mixed)}


@pytest.fixture(params=CONVERSATIONS.values(), ids=CONVERSATIONS.keys())
def conversation(request: pytest.FixtureRequest) -> Analysis:
    analysis: Analysis = request.param().analysis
    return analysis


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_records_of_a_conversation(name: str) -> None:
    found = in_columns(records(CONVERSATIONS[name]().analysis, exact=True))
    if "names" not in RECORDS[name]:
        # All names of a counter, which one conversation holds.
        del found["names"]
    assert found == RECORDS[name]


def test_buckets_of_instances() -> None:
    """Calls are 2 ms apart, so that a bucket of 7 ms holds three or four of them."""
    assert in_columns(records(of_instances().analysis, interval_ns=7_000_000)) == RECORDS["buckets"]


@pytest.mark.parametrize("reader", [PerfDataReader, WinperfReader])
def test_values_read_one_by_one_are_those_of_whole_columns(
    conversation: Analysis, reader: type[PerfDataReader] | type[WinperfReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has no regular layout is read sample by sample."""
    expected = list(points(conversation))
    monkeypatch.setattr(reader, "read", lambda _self, _data: None)
    assert list(points(conversation)) == expected


@pytest.mark.parametrize("most", [0, 1, 20, 60])
def test_plans_that_are_forgotten_are_made_again(
    conversation: Analysis, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = list(points(conversation))
    monkeypatch.setattr(Bindings, "MAX_VALUES", most)
    monkeypatch.setattr(SameLayout, "MAX_LAYOUTS", 1)
    assert list(points(conversation)) == expected


@pytest.mark.parametrize("size", [1, 2, 30, 31, 100])
def test_batches_of_any_size_hold_the_same(conversation: Analysis, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = list(points(conversation))
    monkeypatch.setattr(readings_module, "ROWS_AT_ONCE", size)
    assert list(points(conversation)) == expected


def test_batches_have_the_values_of_their_points(conversation: Analysis) -> None:
    for batch in readings(conversation):
        found = list(batch.points())
        values = [one.formatted.value for one in found]
        # A whole number is whole, and not 5.0.
        numbers = [
            None if value is None else value.numerator if value.denominator == 1 else float(value) for value in values
        ]
        assert repr(batch.numbers()) == repr(numbers)
        assert [batch.fraction(row) for row in range(len(batch))] == values
        keep = batch.place % 3 != 1
        some = batch.only(keep)
        assert list(some.points()) == [one for one, is_kept in zip(found, keep.tolist(), strict=True) if is_kept]
        assert sorted(row for _, rows in some.plans for row in rows.tolist()) == list(range(len(some)))
        rows = [rows.tolist() for rows in batch.by_series()]
        assert sorted(row for part in rows for row in part) == list(range(len(batch)))
        assert all(part == sorted(part) for part in rows)
        assert [len({found[row].series.number for row in part}) for part in rows] == [1] * len(rows)


def test_a_selection_gives_what_all_have(conversation: Analysis) -> None:
    expected = list(points(conversation))
    for number in {point.series.number for point in expected}:
        chosen = [point for point in expected if point.series.number == number]
        (path, instance, aggregate) = (chosen[0].series.path, chosen[0].series.instance, chosen[0].series.aggregate)
        found = list(
            points(
                conversation,
                Chosen(
                    lambda series, is_it=(path, instance, aggregate): (
                        (series.path, series.instance, series.aggregate) == is_it
                    )
                ),
            )
        )
        assert [point.formatted for point in found if point.series.number == number] == [
            one.formatted for one in chosen
        ]


def test_a_selection_of_counters_gives_what_all_have(conversation: Analysis) -> None:
    """Of the others nothing is made, but what is computed with them is."""
    expected = list(points(conversation))
    for names in {(point.series.objects, point.series.counters) for point in expected}:

        def is_chosen(series: Series, names: tuple[tuple[str, ...], ...] = names) -> bool:
            return (series.objects, series.counters) == names

        def may_be(objects: Sequence[str], counters: Sequence[str], names: tuple[tuple[str, ...], ...] = names) -> bool:
            return (objects or names[0], counters) == names

        chosen = [point for point in expected if is_chosen(point.series)]
        found = list(points(conversation, Chosen(is_chosen, may_be)))
        assert [without_number(point) for point in found] == [without_number(point) for point in chosen]


def test_readings_of_a_part_are_those_of_its_calls(conversation: Analysis) -> None:
    """Each with the reading before it, whether that is shown or not."""
    expected = list(points(conversation))
    calls = sorted({point.call for point in expected})
    for chosen in (calls, calls[1:], calls[:1], calls[-1:], calls[::2], []):
        part = replace(conversation, part=Part(tuple(chosen), (), "some"))
        assert list(points(part)) == [point for point in expected if point.call in chosen]


@pytest.mark.parametrize("is_regular", [True, False])
@pytest.mark.parametrize(("of_set", "in_all"), [(1, 1000), (3, 1000), (6, 1000), (12, 1000), (1000, 5), (1000, 20)])
def test_a_limit_takes_whole_series_and_leaves_whole_ones_out(
    conversation: Analysis, of_set: int, in_all: int, is_regular: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it leaves out it counts. Only where a companion is left out, there is less to say of a value."""
    everything = [alone(point) for point in points(conversation) if point.sample is not None]
    if not is_regular:
        monkeypatch.setattr(PerfDataReader, "read", lambda _self, _data: None)
        monkeypatch.setattr(WinperfReader, "read", lambda _self, _data: None)
    limit = SeriesLimit(of_set, in_all)
    found = [alone(point) for batch in readings(conversation, limit=limit) for point in batch.points()]
    taken = {point.series for point in found}
    for series in taken:
        if series.aggregate is None:
            its = [point for point in everything if point.series == series]
            of_limit = [point for point in found if point.series == series]
            for point, limited in zip(its, of_limit, strict=True):
                assert limited == point or "left out here" in str(limited.formatted.reason)
    left_out = limit.left_out()
    numbers = [point for point in found if point.sample is not None]
    assert sum(one.readings for one in left_out) == len(everything) - len(numbers)
    assert all(one.kept < one.instances for one in left_out)
    assert len([series for series in taken if series.aggregate is None]) <= in_all


def alone(point: Point) -> Point:
    """A reading, whatever the number of its series, and whether its counter is in the answer before."""
    sample = point.sample
    return without_number(replace(point, sample=None if sample is None else replace(sample, repeated=False)))


def polled(
    *polls: Sequence[tuple[str, int]], infos: tuple[Info, ...] = (Info(1, LARGE_RAW),), instance_type: int = 2
) -> Watch:
    """Polls of all instances: name and id of each; a value is ten times the id."""
    watch = Watch(infos, instance_type).open(whole())
    for instances in polls:
        values = tuple(large(*[10 * number] * len(infos)) for _, number in instances)
        watch.poll(Block(6, ids=tuple(info.id for info in infos), instances=tuple(instances), values=values))
    return watch


def within(watch: Watch, limit: SeriesLimit) -> list[tuple[int, str | None, Any]]:
    """Call, instance and value of each reading within a limit."""
    found = [point for batch in readings(watch.analysis, limit=limit) for point in batch.points()]
    return [(point.call, point.series.instance, point.formatted.value) for point in found]


def test_the_names_that_were_read_first_are_read_wherever_they_stand() -> None:
    """Also once the set is too large: then it takes no further names, even if there is room again."""
    limit = SeriesLimit(3)
    watch = polled(
        [("a", 1), ("b", 2)],
        [("new", 9), ("b", 2), ("late", 8), ("a", 1)],
        [("late", 8), ("a", 1)],
    )
    assert within(watch, limit) == [
        (4, "a", 10),
        (4, "b", 20),
        (5, "new", 90),
        (5, "b", 20),
        (5, "a", 10),
        (6, "a", 10),
    ]
    assert limit.left_out() == [SeriesLeftOut("10.0.0.1", COUNTERSET, 3, 4, 2)]


def test_all_instances_of_a_name_are_read_or_none() -> None:
    """So that they are numbered as they are in the answer."""
    limit = SeriesLimit(3)
    watch = polled([("svc", 1), ("svc", 2), ("x", 3), ("x", 4), ("y", 5)])
    assert within(watch, limit) == [(4, "svc", 10), (4, "svc#1", 20), (4, "y", 50)]
    assert limit.left_out() == [SeriesLeftOut("10.0.0.1", COUNTERSET, 3, 5, 2)]


def test_a_name_of_more_and_more_instances_ends_its_set() -> None:
    limit = SeriesLimit(2)
    many = [("svc", number) for number in range(1, 10)]
    watch = polled([("svc", 1)], many, [("svc", 1)])
    assert within(watch, limit) == [(4, "svc", 10)]
    assert limit.left_out() == [SeriesLeftOut("10.0.0.1", COUNTERSET, 0, 9, 10)]


def test_viewers_that_find_no_room_are_counted_together() -> None:
    """There may be a hundred thousand handles."""
    watch = polled([("a", 1), ("b", 2)])
    for number in range(1, 4):
        other = Watch(watch.infos, handle=f"{number:08x}-9b1d-4f3c-8a55-0d2b7c9e1f10", make=watch.make).open(whole())
        other.poll(Block(6, ids=(1,), instances=(("a", 1), ("c", 3)), values=(large(10), large(30))))
        watch.events += other.events
    limit = SeriesLimit(in_all=2)
    assert within(watch, limit) == [(4, "a", 10), (4, "b", 20)]
    assert limit.left_out() == [SeriesLeftOut("10.0.0.1", COUNTERSET, 0, 2, 6)]
    assert (len(limit.sets), len(limit.unread)) == (0, 1)


def test_a_set_of_which_instances_are_left_out_has_no_aggregate() -> None:
    """It would be one of other instances than the client showed."""
    infos = (Info(1, LARGE_RAW, aggregate=1),)
    watch = polled([("a", 1), ("b", 2), ("c", 3)], infos=infos, instance_type=4)
    assert [point.series.instance for point in watch.points()] == ["a", "b", "c", "total of all"]
    assert within(watch, SeriesLimit(2)) == [(4, "a", 10), (4, "b", 20)]


def test_values_that_are_held_but_not_read_end_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings_module, "ROWS_AT_ONCE", 8)
    watch = polled(*[[(f"p{number}", number) for number in range(1, 131)]] * 4)
    batches = [len(batch.answers) for batch in readings(watch.analysis, limit=SeriesLimit(1))]
    assert batches == [1, 2, 1]


def test_values_are_displayed_as_their_types_ask() -> None:
    infos = (Info(1, 0x0), Info(2, 0x100), Info(3, RAW), Info(4, RAW, attributes=0x10), Info(5, TEXT), Info(6, UNKNOWN))
    watch = Watch(infos, 0).open(whole(""))
    values = (*small(255), *large(1 << 40), *small(255, 255), wide("text"), *small(1))
    watch.poll(Block(2, ids=tuple(range(1, 7)), values=(values,)))
    found = records(watch.analysis)
    assert [one["display"] for one in found] == ["FF", "10000000000", "255", "FF", "text", None]
    assert [one["value"] for one in found] == [255, 1 << 40, 255, 255, None, None]
