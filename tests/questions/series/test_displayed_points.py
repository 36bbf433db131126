"""Readings become series: what makes a pair, what breaks one, where base, clock and multiplier are taken from."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.questions.series.reading_batches import points
from analyzer.questions.series.series_and_points import Point
from analyzer.results.records.record_types import Endpoint
from analyzer.results.records.sample import Why
from tests.build.buffers import Block, Counter, Instance, PerfObject, name_table, perf_data, winperf
from tests.build.calls import HANDLE, OTHER_HANDLE, Calls, analysis_of, winreg
from tests.build.counters import MANY, SECOND, Info, Reader, Watch, large, one, small, whole
from tests.build.rpc import CHANNEL
from tests.written import is_as_written

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


def cut_instances() -> Watch:
    """An answer that is damaged does not prove an instance gone."""
    watch = Watch((Info(5, BULK),)).open(one(5)).poll(instances(("a", 1), ("b", 2), values=(0, 0)))
    cut = perf_data([instances(("a", 1), ("b", 2), values=(1, 1))], (1000 + 2 * SECOND, 5, SECOND))[:-8]
    watch.polls += 1
    watch.events.append(watch.make.counter_data(cut))
    return watch.poll(instances(("a", 1), ("b", 2), values=(4, 4)))


def of_two_clients() -> list[Point]:
    """Each saw its own readings: q2's first is not paired with q1's."""
    ours = Watch((Info(5, BULK),)).open(one(5))
    theirs = Watch((Info(5, BULK),), handle=OTHER_HANDLE, make=ours.make).open(one(5))
    for watch, value in ((ours, 100), (theirs, 130), (ours, 150)):
        watch.poll(instances(("a", 1), values=(value,)))
    return list(points(analysis_of(*ours.events, *theirs.events)))


def of_two_pipes() -> list[Point]:
    ours = Reader().read(process(("a", 1, 0)))
    channel = replace(CHANNEL, number=7, client=Endpoint("10.0.0.3", 50000))
    theirs = Reader(make=winreg(channel=channel, first_frame=90)).read(process(("a", 1, 4)))
    return rates(list(points(analysis_of(*ours.events, *theirs.events))))


def far_apart() -> list[Point]:
    """PerfTime of a block is signed (winperf.h): from below zero to above it, the difference may take 64 bits.

    2^63 ticks at 2^32 a second are 2^31 seconds.
    """
    reader = Reader().read(process(("a", 1, 0)))
    blocks = [
        winperf([process(("a", 1, 10 * turn))], clocks=(ticks, 1 << 32, 133_541_156_967_890_000))
        for turn, ticks in enumerate((-(1 << 62), 1 << 62, (1 << 63) - 1))
    ]
    reader.events[1:] = [reader.make.query_value("Global", block, HANDLE) for block in blocks]
    return rates(reader.points())


def with_bases(*bases: int) -> list[Point]:
    """One block for the counter, and blocks with a base each that may be its own."""
    opened = OF_A, *(one(6, "a", at, 1) for at in range(1, len(bases) + 1))
    return blocks(FRACTIONS, opened, (number(1), *map(number, bases))).points()


def aggregated(rule: int, kind: int, *polls: Block, counter: int = BULK) -> list[Point]:
    return blocks((Info(5, counter, aggregate=rule),), (one(5),), *((poll,) for poll in polls), kind=kind).points()


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
NO_FREQ = [(Block(2, ids=(1, 2, 4), values=(large(40, 100, value),)),) for value in (1, 2)]
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
def cases() -> dict[str, list[Point]]:
    return {
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
        "an instance that was gone": polled(
            [("a", 1, 0), ("b", 2, 0)], [("b", 2, 1)], [("a", 1, 9), ("b", 2, 2)]
        ).points(),
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
            *(
                rows(236, {6: (AVERAGE, 8), 7: (AVERAGE_BASE, 4)}, ("C:", NO_ID, *row))
                for row in ((0, 0xFFFFFFFF), (30, 2))
            )
        ).points(),
        "winperf: a multiplier follows its counter": reads(
            *(
                rows(236, {6: (MULTI_TIMER, 8), 7: (MULTI_BASE, 8)}, (None, NO_ID, at, 4), has=False)
                for at in (0, SECOND)
            )
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
            reads(
                *(rows(230, {784: (RAW, 4), 28: (COUNTER, 4)}, ("a", 9, *row)) for row in ((100, 0), (200, 8)))
            ).points()
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
        "a rate takes two readings": polled([("a", 1, 100)], [("a", 1, 150)]).points(),
        "a clock that is missing is named": blocks(
            (Info(1, ELAPSED, time=2, freq=3), Info(2, LARGE_RAW), Info(4, BULK, time=9)),
            (whole(""),),
            *NO_FREQ,
            kind=SINGLE,
        ).points(),
        "two clients are two series": of_two_clients(),
        "what the capture does not describe is not formatted": list(
            points(analysis_of(Calls().counter_data(perf_data([number(7)]))))
        ),
        "a damaged answer does not prove an instance gone": cut_instances().points(),
        "a set that asks for it is aggregated": aggregated(
            1, AGGREGATE, Block(4, instances=(("a", 1), ("b", 2)), values=(small(3), small(4))), counter=RAW
        ),
        "instances without a value are left out and counted": aggregated(
            4, MULTI_AGGREGATE, instances(("a", 1), values=(0,)), instances(("a", 1), ("b", 2), values=(9, 9))
        ),
        "winperf: two pipes are two series": of_two_pipes(),
        "winperf: Samba sends small counters in 8 bytes": reads(
            rows(4, {28: (COUNTER, 8)}, (None, NO_ID, 1), has=False)
        ).points(),
        "winperf: clocks further apart than a signed number holds": far_apart(),
        **{f"bases {bases} in other blocks": with_bases(*bases) for bases in ((4, 4), (4, 8), (4, 4, 4), (4, 4, 8))},
    }


def told(promise: str, found: list[Point]) -> Iterator[str]:
    """A line a reading: instance, value or reason, its pair, what was missed before it, and how the series is called."""
    yield promise
    paths = dict.fromkeys(f"{point.series.client.ip} {point.series.local_path}" for point in found)
    yield from (f"  {path}" for path in paths)
    for point in found:
        formatted, series = point.formatted, point.series
        value = formatted.value if formatted.value is not None else formatted.why
        words = f"{value}{f' ({formatted.reason})' if formatted.reason else ''} {' '.join(formatted.flags)}".rstrip()
        pair = (
            f"; #{point.call} and #{point.previous_call}, {point.interval_ns} ns, {point.server_interval_ns} ns there"
        )
        of = f"; {series.aggregate} of {point.aggregated} without {point.left_out}" if series.aggregate else ""
        missed = f"{point.missed} missed{pair if point.previous_call is not None else ''}{of}"
        yield f"  {point.handle} series {series.number}, {series.instance}, {series.added}: {words}; {missed}"


def test_all_readings_are_in_one_text() -> None:
    is_as_written(SERIES, "".join(f"{line}\n" for case in cases().items() for line in told(*case)))


@settings(max_examples=60)
@given(st.binary(max_size=12), st.integers(0, 2000), st.booleans())
def test_damaged_answers_give_values_or_reasons(junk: bytes, at: int, is_winperf: bool) -> None:
    if is_winperf:
        reader = Reader().read(process(("a", 1, 0), ("a", 2, 3)))
        data = bytearray(reader.events[1].response.stub.data)
        at %= len(data)
        data[at : at + len(junk)] = junk
        event = reader.make.exchange(17, reader.events[1].request.stub.data, bytes(data))
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


def test_a_clock_without_a_frequency_is_named() -> None:
    watch = Watch((Info(4, BULK, time=9),), SINGLE).open(whole(""))
    for value in (1, 2):
        watch.poll(Block(2, ids=(4,), values=(large(value),)), freq=0)
    assert [point.formatted.reason for point in watch.points()][1:] == [
        "the clock's frequency is missing, zero or below zero"
    ]
