"""Readings become series: what makes a pair, what breaks one, where base, clock and multiplier are taken from."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.questions.series.readings import points
from analyzer.questions.series.series import Point
from analyzer.results.record import Endpoint
from analyzer.results.sample import Why
from tests.build.buffers import Block, Counter, Instance, PerfObject, name_table, perf_data, winperf
from tests.build.calls import HANDLE, OTHER_HANDLE, Calls, analysis_of, winreg
from tests.build.counters import SECOND, Info, Reader, Watch, large, one, small, whole
from tests.build.rpc import CHANNEL

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


def test_a_base_is_found_by_its_id_in_the_same_answer() -> None:
    watch = Watch((Info(5, FRACTION, base=6), Info(6, FRACTION_BASE))).open(whole())
    block = Block(6, ids=(5, 6), instances=(("a", 1), ("b", 2)), values=(small(1, 4), small(3, 4)))
    assert outcomes(watch.poll(block).points()) == [25, Why.NOT_DISPLAYED, 75, Why.NOT_DISPLAYED]


def test_a_base_may_stand_in_another_block() -> None:
    watch = Watch((Info(5, FRACTION, base=6), Info(6, FRACTION_BASE))).open(one(5, "a", 0, 1), one(6, "a", 1, 1))
    found = watch.poll(Block(1, values=(small(1),)), Block(1, values=(small(8),))).points()
    assert outcomes(found)[0] == Fraction(25, 2)


def test_a_base_that_was_not_added_is_said_to_be_missing() -> None:
    watch = Watch((Info(5, FRACTION, base=6), Info(6, FRACTION_BASE))).open(one(5, "a", 0, 1))
    (point,) = watch.poll(Block(1, values=(small(1),))).points()
    assert point.formatted.why is Why.NO_BASE
    assert point.formatted.reason == "counter 6, its BaseCounterId, was not added to the query; inconclusive"


def test_a_base_added_for_another_instance_or_set_was_not_added() -> None:
    watch = Watch((Info(5, FRACTION, base=6), Info(6, FRACTION_BASE))).open(one(5, "a", 0, 1), one(6, "b", 1, 2))
    found = watch.poll(Block(1, values=(small(1),)), Block(1, values=(small(8),))).points()
    assert found[0].formatted.reason == "counter 6, its BaseCounterId, was not added to the query; inconclusive"


def test_a_clock_that_is_missing_is_named() -> None:
    infos = (Info(1, ELAPSED, time=2, freq=3), Info(2, LARGE_RAW), Info(4, BULK, time=9))
    watch = Watch(infos, SINGLE).open(whole(""))
    for value in (1, 2):
        watch.poll(Block(2, ids=(1, 2, 4), values=(large(40, 100, value),)), freq=0)
    reasons = [point.formatted.reason for point in watch.points() if point.formatted.why is Why.NO_CLOCK]
    elapsed = "counter 3, its PerfFreqId, is not in the answer; inconclusive"
    assert reasons == [elapsed, elapsed, "the clock's frequency is missing, zero or below zero"]


def test_a_base_nobody_names_is_said_to_be_missing() -> None:
    watch = Watch((Info(5, FRACTION),)).open(one(5, "a", 0, 1))
    (point,) = watch.poll(Block(1, values=(small(1),))).points()
    assert (point.formatted.why, point.formatted.reason) == (Why.NO_BASE, "its BaseCounterId names no counter")


def test_the_base_of_another_instance_is_not_taken() -> None:
    watch = Watch((Info(5, FRACTION, base=6), Info(6, FRACTION_BASE))).open(one(5, "a", 0, 1), one(6, "b", 1, 2))
    found = watch.poll(Block(1, values=(small(1),)), Block(1, values=(small(8),))).points()
    assert outcomes(found)[0] is Why.NO_BASE


def test_clocks_and_multipliers_are_counters_of_the_same_answer() -> None:
    infos = (
        Info(1, ELAPSED, time=2, freq=3), Info(2, LARGE_RAW), Info(3, LARGE_RAW), Info(4, MULTI_TIMER, multi=5), Info(5, RAW)
    )  # fmt: skip
    watch = Watch(infos, SINGLE).open(whole(""))
    for busy in (0, SECOND):
        watch.poll(Block(2, ids=(1, 2, 3, 4, 5), values=((*large(40, 100, 10, busy), *small(4)),)))
    found = watch.points()
    assert outcomes(found)[::5] == [6, 6]
    assert outcomes(found)[3::5] == [Why.FIRST_SAMPLE, 25]


def test_a_missing_multiplier_is_named() -> None:
    watch = Watch((Info(4, MULTI_TIMER, multi=9),)).open(one(4, "a"))
    watch.poll(Block(1, values=(large(1),))).poll(Block(1, values=(large(2),)))
    last = watch.points()[-1].formatted
    assert (last.why, last.reason) == (
        Why.NO_MULTIPLIER, "counter 9, its MultiId, was not added to the query; inconclusive"
    )  # fmt: skip


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


def test_a_handle_opened_anew_starts_again_and_says_so() -> None:
    first = Watch((Info(5, BULK),)).open(one(5)).poll(instances(("a", 1), values=(1,)))
    again = Watch((Info(5, BULK),), handle=OTHER_HANDLE, make=first.make).open(one(5))
    again.poll(instances(("a", 1), values=(2,))).poll(instances(("a", 1), values=(3,)))
    found = list(points(analysis_of(*first.events, *again.events)))
    assert [point.formatted.reason for point in found] == [
        None,
        "the first through this handle; q1 read it before",
        None,
    ]


def test_the_same_counter_added_twice_is_two_series() -> None:
    watch = Watch((Info(5, BULK),)).open(one(5, "a", 0, 1), one(5, "*", 1))
    watch.poll(Block(1, values=(large(1),)), instances(("a", 1), values=(1,)))
    watch.poll(Block(1, values=(large(3),)), instances(("a", 1), values=(3,)))
    found = watch.points()
    assert outcomes(found) == [Why.FIRST_SAMPLE, Why.FIRST_SAMPLE, 2, 2]
    assert [(point.series.added or "").partition("(")[2] for point in found[:2]] == ["a)\\counter 5", "*)\\counter 5"]


def test_a_lost_answer_makes_the_interval_longer() -> None:
    watch = Watch((Info(5, BULK),)).open(one(5))
    found = watch.poll(instances(("a", 1), values=(0,))).lose().poll(instances(("a", 1), values=(10,))).points()
    assert outcomes(found) == [Why.FIRST_SAMPLE, 5]
    assert (found[1].missed, found[1].server_interval_ns) == (1, 2_000_000_000)


def test_an_error_in_between_breaks_the_pair() -> None:
    watch = Watch((Info(5, BULK),)).open(one(5, "a", 0, 1))
    watch.poll(Block(1, values=(large(0),))).poll(Block(0, status=0x1069)).poll(Block(1, values=(large(9),)))
    found = watch.poll(Block(1, values=(large(10),))).points()
    assert outcomes(found) == [Why.FIRST_SAMPLE, Why.ERROR_BLOCK, Why.INTERRUPTED, 1]
    assert found[1].formatted.reason == "ERROR_WMI_INSTANCE_NOT_FOUND"
    assert {point.series.number for point in found} == {1}


def test_an_instance_that_was_gone_starts_again() -> None:
    watch = Watch((Info(5, BULK),)).open(one(5))
    watch.poll(instances(("a", 1), ("b", 2), values=(0, 0))).poll(instances(("b", 2), values=(1,)))
    found = watch.poll(instances(("a", 1), ("b", 2), values=(9, 2))).points()
    assert outcomes(found, "a") == [Why.FIRST_SAMPLE, Why.INTERRUPTED]
    assert outcomes(found, "b") == [Why.FIRST_SAMPLE, 1, 1]


def test_another_instance_of_the_same_name_is_not_the_same() -> None:
    watch = Watch((Info(5, BULK),)).open(one(5))
    found = watch.poll(instances(("a", 1), values=(0,))).poll(instances(("a", 7), values=(9,))).points()
    assert outcomes(found) == [Why.FIRST_SAMPLE, Why.INSTANCE_CHANGED]
    assert found[1].formatted.reason == "InstanceId 7; in the answer before, the name belonged to InstanceId 1"


def test_instances_of_one_name_are_reported_apart_by_their_ids() -> None:
    watch = Watch((Info(5, BULK),)).open(one(5))
    watch.poll(instances(("a", 1), ("a", 2), values=(0, 100)))
    found = watch.poll(instances(("a", 2), ("a", 1), values=(107, 5))).points()
    assert outcomes(found) == [Why.FIRST_SAMPLE, Why.FIRST_SAMPLE, 7, 5]
    assert [point.series.instance for point in found] == ["a", "a#1", "a#1", "a"]


def test_instances_that_nothing_tells_apart_go_by_position_while_their_number_stays() -> None:
    watch = Watch((Info(5, BULK),)).open(one(5))
    watch.poll(instances(("a", 1), ("a", 1), values=(0, 100))).poll(instances(("a", 1), ("a", 1), values=(1, 102)))
    found = watch.poll(instances(("a", 1), values=(103,))).points()
    assert outcomes(found) == [Why.FIRST_SAMPLE, Why.FIRST_SAMPLE, 1, 2, Why.INSTANCE_CHANGED]


def test_a_number_of_twins_that_changes_is_ambiguous() -> None:
    watch = Watch((Info(5, BULK),)).open(one(5))
    watch.poll(instances(("a", 1), values=(0,)))
    found = watch.poll(instances(("a", 1), ("a", 1), values=(1, 2))).points()
    assert outcomes(found) == [Why.FIRST_SAMPLE, Why.AMBIGUOUS_INSTANCE, Why.AMBIGUOUS_INSTANCE]


def test_a_machine_that_was_started_again_gives_no_rate() -> None:
    watch = Watch((Info(5, BULK),)).open(one(5))
    watch.poll(instances(("a", 1), values=(0,)), ticks=5 * SECOND)
    watch.poll(instances(("a", 1), values=(9,)), ticks=SECOND)
    found = watch.poll(instances(("a", 1), values=(19,)), ticks=2 * SECOND, freq=SECOND * 2).points()
    assert outcomes(found) == [Why.FIRST_SAMPLE, Why.CLOCK_BACK, Why.CLOCK_CHANGED]


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


def test_a_set_without_aggregation_has_none() -> None:
    watch = Watch((Info(5, RAW, aggregate=1),)).open(one(5))
    found = watch.poll(Block(4, instances=(("a", 1),), values=(small(3),))).points()
    assert [point.series.aggregate for point in found] == [None]


def test_one_chosen_instance_is_no_aggregate_of_all() -> None:
    watch = Watch((Info(5, RAW, aggregate=1),), AGGREGATE).open(one(5, "a", 0, 1))
    assert [point.series.aggregate for point in watch.poll(Block(1, values=(small(3),))).points()] == [None]


def test_a_set_with_history_keeps_what_is_gone() -> None:
    watch = Watch((Info(5, RAW, aggregate=1),), AGGREGATE_HISTORY).open(one(5))
    watch.poll(Block(4, instances=(("a", 1), ("b", 2)), values=(small(3), small(4))))
    found = watch.poll(Block(4, instances=(("b", 2),), values=(small(5),))).points()
    assert [point.formatted.value for point in found if point.series.aggregate] == [7, 8]


# ------------------------------------------------------------------------------------------------ winperf

NO_ID, TOP = -1, (0, 0)


def process(*rows: tuple[str, int, int]) -> PerfObject:
    """Process with ID Process and a rate: name, id and value of each."""
    counters = (Counter(784, RAW, 4), Counter(28, COUNTER, 4))
    return PerfObject(230, counters, tuple(Instance(name, NO_ID, TOP, (pid, value)) for name, pid, value in rows))


def rates(found: list[Point]) -> list[Point]:
    return [point for point in found if point.series.counter_type == COUNTER]


def test_a_base_follows_its_counter() -> None:
    counters = (Counter(6, AVERAGE, 8), Counter(7, AVERAGE_BASE, 4))
    reader = Reader()
    for value, base in ((0, 0xFFFFFFFF), (30, 2)):
        reader.read(PerfObject(236, counters, (Instance("C:", NO_ID, TOP, (value, base)),)))
    assert outcomes(reader.points()) == [Why.FIRST_SAMPLE, Why.NOT_DISPLAYED, 10, Why.NOT_DISPLAYED]
    assert reader.points()[2].formatted.flags == ("wrapped",)


def test_a_multi_timer_takes_the_multi_base_after_it() -> None:
    counters = (Counter(6, MULTI_TIMER, 8), Counter(7, MULTI_BASE, 8))
    reader = Reader()
    for value in (0, SECOND):
        reader.read(PerfObject(236, counters, (Instance(None, NO_ID, TOP, (value, 4)),), has_instances=False))
    assert outcomes(reader.points())[2] == 25


def test_object_clocks_are_those_of_the_object() -> None:
    counters = (Counter(684, ELAPSED, 8), Counter(6, PRECISION_OBJECT, 8), Counter(7, LARGE_BASE, 8))
    reader = Reader()
    for value in (0, 5):
        reader.read(PerfObject(230, counters, (Instance("a", NO_ID, TOP, (2000, value, 2 * value)),)))
    assert outcomes(reader.points()) == [3, Why.FIRST_SAMPLE, Why.NOT_DISPLAYED, 3, 50, Why.NOT_DISPLAYED]


def test_processes_of_one_name_are_reported_apart_by_their_ids() -> None:
    reader = Reader().read(process(("chrome", 100, 0), ("chrome", 200, 1000)))
    reader.read(process(("chrome", 200, 1007), ("chrome", 100, 5)))
    found = rates(reader.points())
    assert outcomes(found) == [Why.FIRST_SAMPLE, Why.FIRST_SAMPLE, 7, 5]
    assert [point.series.instance for point in found] == ["chrome", "chrome#1", "chrome#1", "chrome"]


def test_a_name_that_another_process_took_starts_again() -> None:
    found = rates(Reader().read(process(("a", 100, 0))).read(process(("a", 200, 50))).points())
    assert outcomes(found) == [Why.FIRST_SAMPLE, Why.INSTANCE_CHANGED]
    assert found[1].formatted.reason == "ID Process 200; in the answer before, the name belonged to ID Process 100"


def test_threads_are_those_of_their_process() -> None:
    threads = PerfObject(
        232,
        (Counter(146, COUNTER, 4), Counter(784, RAW, 4), Counter(804, RAW, 4)),
        (Instance("0", NO_ID, (230, 0), (1, 100, 8)), Instance("0", NO_ID, (230, 1), (2, 200, 9))),
    )
    found = rates(Reader().read(process(("chrome", 100, 0), ("chrome", 200, 0)), threads).points())
    assert [point.series.instance for point in found] == ["chrome", "chrome#1", "chrome/0", "chrome/0#1"]


def test_another_object_in_between_breaks_nothing() -> None:
    memory = PerfObject(4, (Counter(24, RAW, 4),), (Instance(None, NO_ID, TOP, (1,)),), has_instances=False)
    found = rates(Reader().read(process(("a", 1, 0))).read(memory).read(process(("a", 1, 8))).points())
    assert outcomes(found) == [Why.FIRST_SAMPLE, 4]


def test_a_key_opened_anew_on_the_same_pipe_breaks_nothing() -> None:
    """As some clients do: one open of the key a read."""
    reader = Reader().read(process(("a", 1, 0)))
    reader.events.append(reader.make.open_key(handle=OTHER_HANDLE))
    found = rates(reader.read(process(("a", 1, 8)), handle=OTHER_HANDLE).points())
    assert outcomes(found) == [Why.FIRST_SAMPLE, 8]
    assert [point.handle for point in found] == ["k1", "k2"]


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


def test_a_table_of_names_is_no_answer_that_was_missed() -> None:
    reader = Reader().read(process(("a", 1, 0)))
    for name, kind in (("Counter 009", 7), ("Help 009", 7)):
        reader.events.append(reader.make.query_value(name, name_table([("230", "Process")]), kind=kind))
    found = rates(reader.read(process(("a", 1, 8))).points())
    assert outcomes(found) == [Why.FIRST_SAMPLE, 8]
    assert [point.missed for point in found] == [0, 0]


def test_of_two_blocks_with_the_same_counters_each_has_its_own_base() -> None:
    watch = Watch((Info(5, FRACTION, base=6), Info(6, FRACTION_BASE))).open(whole(), whole(index=1))
    blocks = [Block(6, ids=(5, 6), instances=(("a", 1),), values=(small(1, base),)) for base in (4, 8)]
    assert outcomes(watch.poll(*blocks).points()) == [25, Why.NOT_DISPLAYED, Fraction(25, 2), Why.NOT_DISPLAYED]


def test_bases_in_other_blocks_count_where_they_agree() -> None:
    """One for the counter, and two or three blocks with a base that may be its own."""
    for bases, value in (((4, 4), 25), ((4, 8), Why.NO_BASE), ((4, 4, 4), 25), ((4, 4, 8), Why.NO_BASE)):
        watch = Watch((Info(5, FRACTION, base=6), Info(6, FRACTION_BASE))).open(
            one(5, "a", 0, 1), *(one(6, "a", number, 1) for number in range(1, len(bases) + 1))
        )
        found = watch.poll(Block(1, values=(small(1),)), *(Block(1, values=(small(base),)) for base in bases)).points()
        assert outcomes(found)[0] == value
