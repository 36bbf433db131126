"""Readings become series: what makes a pair, what breaks one, where base, clock and multiplier are taken from."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.questions.series.readings import points
from analyzer.questions.series.series import Point
from analyzer.results.record import Endpoint
from analyzer.results.sample import Why
from tests.build.buffers import Block, Counter, Instance, PerfObject, name_table, perf_data, winperf
from tests.build.calls import HANDLE, OTHER_HANDLE, Calls, analysis_of, winreg
from tests.build.counters import MANY, SECOND, Info, Reader, Watch, large, one, small, whole
from tests.build.rpc import CHANNEL
from tests.written import IS_WRITING, is_as_written

RAW, COUNTER, BULK, TIMER = 0x00010000, 0x10410400, 0x10410500, 0x20410500
FRACTION, FRACTION_BASE = 0x20020400, 0x40030403
AVERAGE, AVERAGE_BASE = 0x40020500, 0x40030402
ELAPSED, LARGE_RAW, MULTI_TIMER, MULTI_BASE = 0x30240500, 0x00010100, 0x22410500, 0x42030500
PRECISION_OBJECT, LARGE_BASE = 0x20670500, 0x40030500
SINGLE, AGGREGATE, MULTI_AGGREGATE, AGGREGATE_HISTORY = 0, 4, 6, 12


def outcomes(found: list[Point], name: str | None = None) -> list[Fraction | Why | None]:
    """Values, or why there is none, of the readings of one instance."""
    return [
        point.formatted.value if point.formatted.value is not None else point.formatted.why
        for point in found
        if name is None or (point.series.instance or "").startswith(name)
    ]


def instances(*pairs: tuple[str, int], values: tuple[int, ...]) -> Block:
    """Block of type 4: one counter of several instances, each given by name and InstanceId."""
    return Block(4, instances=pairs, values=tuple(large(value) for value in values))


# ------------------------------------------------------------------------------------------------ one promise a case

NO_ID, TOP = -1, (0, 0)
FRACTIONS = (Info(5, FRACTION, base=6), Info(6, FRACTION_BASE))
OF_A = one(5, "a", 0, 1)


def process(*rows: tuple[str, int, int]) -> PerfObject:
    """Process with ID Process and a rate: name, id and value of each."""
    counters = (Counter(784, RAW, 4), Counter(28, COUNTER, 4))
    return PerfObject(230, counters, tuple(Instance(name, NO_ID, TOP, (pid, value)) for name, pid, value in rows))


def rates(found: list[Point]) -> list[Point]:
    return [point for point in found if point.series.counter_type == COUNTER]


def polled(
    *polls: list[tuple[str, int, int]] | None, infos: tuple[Info, ...] = (Info(5, BULK),), kind: int = MANY
) -> Watch:
    """One counter of all instances: name, InstanceId and value of each; None for an answer that was lost."""
    watch = Watch(infos, kind).open(one(5))
    for rows in polls:
        if rows is None:
            watch.lose()
        else:
            watch.poll(
                instances(*((name, number) for name, number, _ in rows), values=tuple(value for *_, value in rows))
            )
    return watch


def blocks(infos: tuple[Info, ...], opened: tuple[bytes, ...], *polls: tuple[Block, ...], kind: int = MANY) -> Watch:
    watch = Watch(infos, kind).open(*opened)
    for poll in polls:
        watch.poll(*poll)
    return watch


def number(value: int) -> Block:
    return Block(1, values=(small(value),))


def count(value: int) -> Block:
    return Block(1, values=(large(value),))


def again(first: Watch, *values: int) -> list[Point]:
    """The polls of another handle of the client, behind those of the first."""
    second = Watch(first.infos, handle=OTHER_HANDLE, make=first.make).open(one(5))
    for value in values:
        second.poll(instances(("a", 1), values=(value,)))
    return list(points(analysis_of(*first.events, *second.events)))


def reads(*items: PerfObject | tuple[PerfObject, ...]) -> Reader:
    reader = Reader()
    for item in items:
        reader.read(*(item if isinstance(item, tuple) else (item,)))
    return reader


def rows(index: int, counters: dict[int, tuple[int, int]], *values: tuple[Any, ...], has: bool = True) -> PerfObject:
    """An object with the types and sizes of its counters; name, UniqueID and values of each instance."""
    made = tuple(Counter(number, kind, size) for number, (kind, size) in counters.items())
    return PerfObject(
        index, made, tuple(Instance(name, unique, TOP, row) for name, unique, *row in values), has_instances=has
    )


def numbered(*values: tuple[int, int], name: str | None = None) -> PerfObject:
    """Instances with a UniqueID, which winperf.h puts in the place of a name; value of each."""
    return rows(500, {28: (COUNTER, 4)}, *((name, number, value) for number, value in values))


def threads(*values: tuple[int, int, int]) -> PerfObject:
    return rows(232, {784: (RAW, 4), 804: (RAW, 4), 28: (COUNTER, 4)}, *(("0", NO_ID, *row) for row in values))


def with_names(reader: Reader) -> Reader:
    for name in ("Counter 009", "Help 009"):
        reader.events.append(reader.make.query_value(name, name_table([("230", "Process")]), kind=7))
    return reader


def by_another_key(reader: Reader, item: PerfObject) -> Reader:
    reader.events.append(reader.make.open_key(handle=OTHER_HANDLE))
    return reader.read(item, handle=OTHER_HANDLE)


def cut_between() -> Reader:
    """A block that ends in its last instance."""
    reader = Reader().read(process(("a", 1, 0), ("b", 2, 0)))
    whole = winperf([process(("a", 1, 2), ("b", 2, 2))], clocks=(2 * SECOND, SECOND, 133_541_156_967_890_000))
    reader.reads += 1
    reader.events.append(reader.make.query_value("Global", whole[:-8], HANDLE))
    return reader.read(process(("a", 1, 5), ("b", 2, 4)))


CLOCKS = (
    Info(1, ELAPSED, time=2, freq=3),
    Info(2, LARGE_RAW),
    Info(3, LARGE_RAW),
    Info(4, MULTI_TIMER, multi=5),
    Info(5, RAW),
)
BUSY = [(Block(2, ids=(1, 2, 3, 4, 5), values=((*large(40, 100, 10, busy), *small(4)),)),) for busy in (0, SECOND)]
BOTH = Block(6, ids=(5, 6), instances=(("a", 1), ("b", 2)), values=(small(1, 4), small(3, 4)))
TWO_BASES = [Block(6, ids=(5, 6), instances=(("a", 1),), values=(small(1, base),)) for base in (4, 8)]
OF_INSTANCE = [Block(4, instances=(("a", 1),), values=(small(value),)) for value in (30, 60)]
GONE = (count(0),), (Block(0, status=0x1069),), (count(9),), (count(10),)
TWICE = [(count(value), instances(("a", 1), values=(value,))) for value in (1, 3)]
OBJECT_CLOCK = {684: (ELAPSED, 8), 6: (PRECISION_OBJECT, 8), 7: (LARGE_BASE, 8)}
MEMORY = rows(4, {24: (RAW, 4)}, (None, NO_ID, 1), has=False)
TWO = process(("chrome", 100, 0), ("chrome", 200, 1000)), process(("chrome", 200, 1007), ("chrome", 100, 5))
OWN_THREADS = PerfObject(
    232,
    (Counter(146, COUNTER, 4), Counter(784, RAW, 4), Counter(804, RAW, 4)),
    (Instance("0", NO_ID, (230, 0), (1, 100, 8)), Instance("0", NO_ID, (230, 1), (2, 200, 9))),
)
SERIES = Path(__file__).parent / "tables" / "series.txt"
# `tables/series.txt` has their values, or why there is none, read through.
CASES: dict[str, list[Point]] = {
    "a base is found by its id": blocks(FRACTIONS, (whole(),), (BOTH,)).points(),
    "a base of another block": blocks(FRACTIONS, (OF_A, one(6, "a", 1, 1)), (number(1), number(8))).points(),
    "the base of another instance": blocks(FRACTIONS, (OF_A, one(6, "b", 1, 2)), (number(1), number(8))).points(),
    "each block has its own base": blocks(FRACTIONS, (whole(), whole(index=1)), (*TWO_BASES,)).points(),
    "one block twice has its base": blocks(
        FRACTIONS, (one(5), one(6, index=1), one(5, index=2)), (*OF_INSTANCE, OF_INSTANCE[0])
    ).points(),
    "clocks and multipliers of one answer": blocks(CLOCKS, (whole(""),), *BUSY, kind=SINGLE).points(),
    "one counter added twice": blocks((Info(5, BULK),), (OF_A, one(5, "*", 1)), *TWICE).points(),
    "an error in between": blocks((Info(5, BULK),), (OF_A,), *GONE).points(),
    "an answer that was lost": polled([("a", 1, 0)], None, [("a", 1, 10)]).points(),
    "an instance that was gone": polled([("a", 1, 0), ("b", 2, 0)], [("b", 2, 1)], [("a", 1, 9), ("b", 2, 2)]).points(),
    "another instance of a name": polled([("a", 1, 0)], [("a", 7, 9)]).points(),
    "ids tell instances apart": polled([("a", 1, 0), ("a", 2, 100)], [("a", 2, 107), ("a", 1, 5)]).points(),
    "position tells twins apart while their number stays": polled(
        [("a", 1, 0), ("a", 1, 100)], [("a", 1, 1), ("a", 1, 102)], [("a", 1, 103)]
    ).points(),
    "another number of twins": polled([("a", 1, 0)], [("a", 1, 1), ("a", 1, 2)]).points(),
    "a machine that was started again": polled()
    .poll(instances(("a", 1), values=(0,)), ticks=5 * SECOND)
    .poll(instances(("a", 1), values=(9,)), ticks=SECOND)
    .poll(instances(("a", 1), values=(19,)), ticks=2 * SECOND, freq=SECOND * 2)
    .points(),
    "a handle that was opened anew": again(polled([("a", 1, 0)]), 4, 9),
    "a set with history keeps what is gone": Watch((Info(5, RAW, aggregate=1),), AGGREGATE_HISTORY)
    .open(one(5))
    .poll(Block(4, instances=(("a", 1), ("b", 2)), values=(small(3), small(4))))
    .poll(Block(4, instances=(("b", 2),), values=(small(5),)))
    .points(),
    "a set without aggregation": blocks((Info(5, RAW, aggregate=1),), (one(5),), (OF_INSTANCE[0],)).points(),
    "an aggregate of one chosen instance": blocks(
        (Info(5, RAW, aggregate=1),), (OF_A,), (number(3),), kind=AGGREGATE
    ).points(),
    "winperf: a base follows its counter": reads(
        *(rows(236, {6: (AVERAGE, 8), 7: (AVERAGE_BASE, 4)}, ("C:", NO_ID, *row)) for row in ((0, 0xFFFFFFFF), (30, 2)))
    ).points(),
    "winperf: a multiplier follows its counter": reads(
        *(rows(236, {6: (MULTI_TIMER, 8), 7: (MULTI_BASE, 8)}, (None, NO_ID, at, 4), has=False) for at in (0, SECOND))
    ).points(),
    "winperf: clocks of the object": reads(
        *(rows(230, OBJECT_CLOCK, ("a", NO_ID, 2000, at, 2 * at)) for at in (0, 5))
    ).points(),
    "winperf: ids tell processes apart": rates(reads(*TWO).points()),
    "winperf: another process of a name": rates(reads(process(("a", 100, 0)), process(("a", 200, 50))).points()),
    "winperf: another object in between": rates(reads(process(("a", 1, 0)), MEMORY, process(("a", 1, 8))).points()),
    "winperf: names in between": rates(with_names(reads(process(("a", 1, 0)))).read(process(("a", 1, 8))).points()),
    "winperf: a key that was opened anew": rates(
        by_another_key(reads(process(("a", 1, 0))), process(("a", 1, 8))).points()
    ),
    "winperf: a block that was cut proves nothing of what it lacks": rates(cut_between().points()),
    "winperf: names in any case": rates(reads(process(("Chrome", 1, 0)), process(("CHROME", 1, 9))).points()),
    "winperf: a UniqueID in any order": reads(numbered((5, 0), (7, 100)), numbered((7, 130), (5, 10))).points(),
    "winperf: another UniqueID": reads(numbered((5, 0)), numbered((6, 10))).points(),
    "winperf: another UniqueID of a name": reads(numbered((5, 0), name="a"), numbered((6, 10), name="a")).points(),
    "winperf: a UniqueID goes before ids that an object counts": rates(
        reads(*(rows(230, {784: (RAW, 4), 28: (COUNTER, 4)}, ("a", 9, *row)) for row in ((100, 0), (200, 8)))).points()
    ),
    "winperf: both ids tell threads apart": rates(
        reads(threads((1, 8, 0), (1, 9, 100), (2, 8, 200)), threads((2, 8, 203), (1, 8, 1), (1, 9, 102))).points()
    ),
    "winperf: another thread of a process": rates(reads(threads((1, 8, 0)), threads((1, 9, 5))).points()),
    "a base that was not added": blocks(FRACTIONS, (OF_A,), (number(1),)).points(),
    "a base that nobody describes": blocks(FRACTIONS[:1], (OF_A,), (number(1),)).points(),
    "a base that nobody names": blocks((Info(5, FRACTION),), (OF_A,), (number(1),)).points(),
    "a multiplier that was not added": blocks(
        (Info(4, MULTI_TIMER, multi=9),), (one(4, "a"),), (count(1),), (count(2),)
    ).points(),
    "winperf: threads are those of their process": rates(reads((TWO[0], OWN_THREADS)).points()),
}


def told(promise: str) -> Iterator[str]:
    """A line a reading: instance, value or reason, what was missed before it, and how the series is called."""
    yield promise
    for point in CASES[promise]:
        formatted, series = point.formatted, point.series
        value = formatted.value if formatted.value is not None else formatted.why
        words = f"{value}{f' ({formatted.reason})' if formatted.reason else ''} {' '.join(formatted.flags)}".rstrip()
        yield f"  {point.handle} series {series.number}, {series.instance}, {series.added}: {words}; {point.missed} missed"


@pytest.mark.parametrize("promise", CASES)
def test_a_reading_has_a_value_or_a_reason(promise: str) -> None:
    assert IS_WRITING or "".join(f"{line}\n" for line in told(promise)) in SERIES.read_text("utf-8")


def test_all_readings_are_in_one_text() -> None:
    is_as_written(SERIES, "".join(f"{line}\n" for promise in CASES for line in told(promise)))


# ------------------------------------------------------------------------------------------------ PerflibV2


def test_a_rate_takes_two_readings() -> None:
    watch = Watch((Info(5, BULK),)).open(one(5))
    found = watch.poll(instances(("a", 1), values=(100,))).poll(instances(("a", 1), values=(150,))).points()
    assert outcomes(found) == [Why.FIRST_SAMPLE, 50]
    first, second = found
    assert first.series is second.series
    assert first.previous_call is None
    assert second.previous_call == first.call
    assert second.server_interval_ns == 1_000_000_000
    assert second.interval_ns == second.time_ns - first.time_ns
    assert second.missed == 0
    assert second.series.local_path == "\\383487a6-3676-4870-a4e7-d45b30c35629(a)\\counter 5"


def test_a_clock_that_is_missing_is_named() -> None:
    infos = (Info(1, ELAPSED, time=2, freq=3), Info(2, LARGE_RAW), Info(4, BULK, time=9))
    watch = Watch(infos, SINGLE).open(whole(""))
    for value in (1, 2):
        watch.poll(Block(2, ids=(1, 2, 4), values=(large(40, 100, value),)), freq=0)
    reasons = [point.formatted.reason for point in watch.points() if point.formatted.why is Why.NO_CLOCK]
    elapsed = "counter 3, its PerfFreqId, is not in the answer; inconclusive"
    assert reasons == [elapsed, elapsed, "the clock's frequency is missing, zero or below zero"]


def test_two_clients_are_two_series() -> None:
    """Each saw its own readings: q2's first is not paired with q1's."""
    ours = Watch((Info(5, BULK),)).open(one(5))
    theirs = Watch((Info(5, BULK),), handle=OTHER_HANDLE, make=ours.make).open(one(5))
    ours.poll(instances(("a", 1), values=(100,)))
    theirs.poll(instances(("a", 1), values=(130,)))
    ours.poll(instances(("a", 1), values=(150,)))
    found = list(points(analysis_of(*ours.events, *theirs.events)))
    assert sorted((point.handle, str(point.formatted.why), point.formatted.value) for point in found) == [
        ("q1", "None", 50), ("q1", "first-sample", None), ("q2", "first-sample", None)
    ]  # fmt: skip
    assert len({point.series.number for point in found}) == 2


def test_what_the_capture_does_not_describe_is_not_formatted() -> None:
    (point,) = points(analysis_of(Calls().counter_data(perf_data([Block(1, values=(small(7),))]))))
    assert (point.formatted.why, point.series.unit) == (Why.TYPE_UNKNOWN, None)
    assert (point.formatted.reason or "").startswith("the capture does not state the counter's type: ")
    assert point.series.local_path == "\\block 0\\unknown counter"


def test_a_damaged_answer_does_not_prove_an_instance_gone() -> None:
    watch = Watch((Info(5, BULK),)).open(one(5))
    watch.poll(instances(("a", 1), ("b", 2), values=(0, 0)))
    cut = perf_data([instances(("a", 1), ("b", 2), values=(1, 1))], (1000 + 2 * SECOND, 5, SECOND))[:-8]
    watch.polls += 1
    watch.events.append(watch.make.counter_data(cut))
    found = watch.poll(instances(("a", 1), ("b", 2), values=(4, 4))).points()
    assert outcomes(found, "a") == [Why.FIRST_SAMPLE, 1, 3]
    assert outcomes(found, "b") == [Why.FIRST_SAMPLE, 2]
    assert [point.missed for point in found if point.formatted.value is not None] == [0, 0, 1]


# ------------------------------------------------------------------------------------------------ aggregates


def test_a_set_that_asks_for_it_is_aggregated() -> None:
    watch = Watch((Info(5, RAW, aggregate=1),), AGGREGATE).open(one(5))
    found = watch.poll(Block(4, instances=(("a", 1), ("b", 2)), values=(small(3), small(4)))).points()
    assert outcomes(found) == [3, 4, 7]
    assert found[-1].series.aggregate == "total"
    assert (found[-1].sample, found[-1].aggregated, found[-1].left_out) == (None, 2, 0)
    assert found[-1].series.local_path.endswith("(total of all)\\counter 5")


def test_instances_without_a_value_are_left_out_and_counted() -> None:
    watch = Watch((Info(5, BULK, aggregate=4),), MULTI_AGGREGATE).open(one(5))
    watch.poll(instances(("a", 1), values=(0,))).poll(instances(("a", 1), ("b", 2), values=(9, 9)))
    totals = [point for point in watch.points() if point.series.aggregate]
    assert outcomes(totals) == [Why.NO_INSTANCES, 9]
    assert [(point.aggregated, point.left_out) for point in totals] == [(0, 1), (1, 1)]


# ------------------------------------------------------------------------------------------------ winperf

NO_ID, TOP = -1, (0, 0)


def test_two_pipes_are_two_series() -> None:
    ours = Reader().read(process(("a", 1, 0)))
    channel = replace(CHANNEL, number=7, client=Endpoint("10.0.0.3", 50000))
    theirs = Reader(make=winreg(channel=channel, first_frame=90)).read(process(("a", 1, 4)))
    found = rates(list(points(analysis_of(*ours.events, *theirs.events))))
    assert outcomes(found) == [Why.FIRST_SAMPLE, Why.FIRST_SAMPLE]
    assert [point.series.client.ip for point in found] == ["10.0.0.2", "10.0.0.3"]


def test_samba_sends_small_counters_in_8_bytes_and_they_are_marked() -> None:
    counters = (Counter(28, COUNTER, 8),)
    found = Reader().read(PerfObject(4, counters, (Instance(None, NO_ID, TOP, (1,)),), has_instances=False)).points()
    assert found[0].formatted.flags == ("data-size",)


# ------------------------------------------------------------------------------------------------ properties


@settings(max_examples=60)
@given(st.binary(max_size=12), st.integers(0, 2000), st.booleans())
def test_damaged_answers_give_values_or_reasons(junk: bytes, at: int, is_winperf: bool) -> None:
    if is_winperf:
        reader = Reader().read(process(("a", 1, 0), ("a", 2, 3)))
        data = bytearray(reader.events[1].response.stub.data)  # type: ignore[union-attr]
        at %= len(data)
        data[at : at + len(junk)] = junk
        event = reader.make.exchange(17, reader.events[1].request.stub.data, bytes(data))  # type: ignore[union-attr]
        found = list(points(analysis_of(*reader.events, event)))
    else:
        watch = Watch((Info(5, BULK), Info(6, AVERAGE, base=7), Info(7, AVERAGE_BASE))).open(whole())
        block = Block(6, ids=(5, 6, 7), instances=(("a", 1), ("b", 2)), values=(large(1, 2, 3), large(4, 5, 6)))
        watch.poll(block)
        damaged = bytearray(perf_data([block], (5 * SECOND, 5, SECOND)))
        at %= len(damaged)
        damaged[at : at + len(junk)] = junk
        watch.events.append(watch.make.counter_data(bytes(damaged)))
        found = watch.poll(block).points()
    for point in found:
        assert (point.formatted.value is None) == (point.formatted.why is not None)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 1 << 40), st.integers(1, 1 << 30)), min_size=2, max_size=8))
def test_rates_are_the_growth_over_the_time_whatever_the_steps(steps: list[tuple[int, int]]) -> None:
    """Summed over all intervals, rate times time is what the counter grew by."""
    watch = Watch((Info(5, BULK),)).open(one(5))
    value, ticks = 0, 0
    for grown, waited in steps:
        value, ticks = value + grown, ticks + waited
        watch.poll(instances(("a", 1), values=(value,)), ticks=ticks)
    found = watch.points()
    grown_again = sum(
        (point.formatted.value or Fraction(0)) * Fraction(waited, SECOND)
        for point, (_, waited) in zip(found[1:], steps[1:], strict=True)
    )
    assert grown_again == sum(grown for grown, _ in steps[1:])


def test_clocks_further_apart_than_a_signed_number_holds() -> None:
    """PerfTime of a block is signed (winperf.h): from below zero to above it, the difference may take 64 bits."""
    ends = -(1 << 62), 1 << 62, (1 << 63) - 1
    reader = Reader()
    reader.read(process(("a", 1, 0)))
    reader.events[1:] = [
        reader.make.query_value(
            "Global", winperf([process(("a", 1, 10 * turn))], clocks=(ticks, 1 << 32, 133_541_156_967_890_000)), HANDLE
        )
        for turn, ticks in enumerate(ends)
    ]
    found = rates(reader.points())
    assert outcomes(found) == [Why.FIRST_SAMPLE, Fraction(10 << 32, 1 << 63), Fraction(10 << 32, (1 << 62) - 1)]
    # 2^63 ticks at 2^32 a second are 2^31 seconds.
    assert [point.server_interval_ns for point in found] == [
        None,
        (1 << 31) * 1_000_000_000,
        ((1 << 62) - 1) * 1_000_000_000 >> 32,
    ]


def test_bases_in_other_blocks_count_where_they_agree() -> None:
    """One for the counter, and two or three blocks with a base that may be its own."""
    for bases, value in (((4, 4), 25), ((4, 8), Why.NO_BASE), ((4, 4, 4), 25), ((4, 4, 8), Why.NO_BASE)):
        watch = Watch((Info(5, FRACTION, base=6), Info(6, FRACTION_BASE))).open(
            one(5, "a", 0, 1), *(one(6, "a", number, 1) for number in range(1, len(bases) + 1))
        )
        found = watch.poll(Block(1, values=(small(1),)), *(Block(1, values=(small(base),)) for base in bases)).points()
        assert outcomes(found)[0] == value
