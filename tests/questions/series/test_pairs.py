"""What distinguishes instances, and which answers prove that one is gone: each part of both definitions on its own."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from analyzer.questions.series.answer_columns import _columns, why_first
from analyzer.questions.series.readings import points
from analyzer.questions.series.series import Point
from analyzer.questions.series.series_keys import SeriesPlace
from analyzer.questions.series.value_plans import Instances
from analyzer.results.record import Endpoint
from analyzer.results.sample import Why
from tests.build.buffers import Block, Counter, Instance, PerfObject, winperf
from tests.build.calls import HANDLE, OTHER_HANDLE, analysis_of
from tests.build.counters import SECOND, Info, Reader, Watch, one, small
from tests.questions.series.test_series import BULK, COUNTER, NO_ID, RAW, TOP, instances, outcomes, process, rates


def numbered(*rows: tuple[int, int], name: str | None = None) -> PerfObject:
    """Instances with a UniqueID, which winperf.h puts in the place of a name; value of each."""
    counters = (Counter(28, COUNTER, 4),)
    return PerfObject(500, counters, tuple(Instance(name, number, TOP, (value,)) for number, value in rows))


def test_instances_that_have_only_a_unique_id_go_by_it_in_any_order() -> None:
    reader = Reader().read(numbered((5, 0), (7, 100))).read(numbered((7, 130), (5, 10)))
    found = reader.points()
    assert [point.series.instance for point in found] == ["5", "7", "7", "5"]
    assert outcomes(found) == [Why.FIRST_SAMPLE, Why.FIRST_SAMPLE, 30, 10]
    assert [point.series.number for point in found] == [1, 2, 2, 1]


def test_another_unique_id_is_another_instance_and_not_a_change_of_one() -> None:
    found = Reader().read(numbered((5, 0))).read(numbered((6, 10))).points()
    assert outcomes(found) == [Why.FIRST_SAMPLE, Why.FIRST_SAMPLE]
    assert [point.formatted.reason for point in found] == [None, None]


def test_a_name_whose_unique_id_changes_has_become_another_instance() -> None:
    found = Reader().read(numbered((5, 0), name="a")).read(numbered((6, 10), name="a")).points()
    assert outcomes(found) == [Why.FIRST_SAMPLE, Why.INSTANCE_CHANGED]
    assert found[1].formatted.reason == "UniqueID 6; in the answer before, the name belonged to UniqueID 5"


def test_a_unique_id_goes_before_the_ids_that_an_object_counts() -> None:
    counters = (Counter(784, RAW, 4), Counter(28, COUNTER, 4))

    def block(process_id: int, value: int) -> PerfObject:
        return PerfObject(230, counters, (Instance("a", 9, TOP, (process_id, value)),))

    found = rates(Reader().read(block(100, 0)).read(block(200, 8)).points())
    assert outcomes(found) == [Why.FIRST_SAMPLE, 8]


def test_threads_of_one_name_are_distinguished_by_both_of_their_ids() -> None:
    counters = (Counter(784, RAW, 4), Counter(804, RAW, 4), Counter(28, COUNTER, 4))

    def threads(*rows: tuple[int, int, int]) -> PerfObject:
        return PerfObject(232, counters, tuple(Instance("0", NO_ID, TOP, row) for row in rows))

    reader = Reader().read(threads((1, 8, 0), (1, 9, 100), (2, 8, 200)))
    found = rates(reader.read(threads((2, 8, 203), (1, 8, 1), (1, 9, 102))).points())
    assert outcomes(found)[3:] == [3, 1, 2]
    changed = rates(Reader().read(threads((1, 8, 0))).read(threads((1, 9, 5))).points())
    assert (
        changed[1].formatted.reason
        == "ID Process and ID Thread 1/9; in the answer before, the name belonged to ID Process and ID Thread 1/8"
    )


def test_names_of_instances_are_the_same_in_any_case_and_under_one_parent_alone() -> None:
    found = rates(Reader().read(process(("Chrome", 1, 0))).read(process(("CHROME", 1, 9))).points())
    assert outcomes(found) == [Why.FIRST_SAMPLE, 9]


def missed(found: list[Point]) -> list[int]:
    return [point.missed for point in found if point.formatted.value is not None]


def test_an_answer_that_is_not_complete_proves_no_instance_gone_and_counts_as_missed() -> None:
    """Everything in its buffer can be read; of the call a fragment is missing."""
    for state in ("partial", "complete"):
        watch = Watch((Info(5, BULK),)).open(one(5))
        watch.poll(instances(("a", 1), ("b", 2), values=(0, 0)))
        watch.poll(instances(("a", 1), values=(2,)))
        watch.events[-1] = replace(watch.events[-1], state=state)
        found = watch.poll(instances(("a", 1), ("b", 2), values=(5, 4))).points()
        assert outcomes(found, "b")[1:] == ([2] if state == "partial" else [Why.INTERRUPTED])
        assert missed(found) == ([0, 0, 1] if state == "partial" else [0, 0])
        assert outcomes(found, "a") == [Why.FIRST_SAMPLE, 2, 3]


def test_a_read_of_winperf_that_is_not_complete_proves_nothing_either() -> None:
    for state in ("partial", "complete"):
        reader = Reader().read(process(("a", 1, 0), ("b", 2, 0))).read(process(("a", 1, 2)))
        reader.events[-1] = replace(reader.events[-1], state=state)
        found = rates(reader.read(process(("a", 1, 5), ("b", 2, 4))).points())
        assert outcomes(found, "b")[1:] == ([2] if state == "partial" else [Why.INTERRUPTED])
        assert outcomes(found, "a") == [Why.FIRST_SAMPLE, 2, 3]
        assert missed(found) == ([0, 0, 1] if state == "partial" else [0, 0])


def test_a_cut_block_of_winperf_proves_nothing_of_what_it_lacks() -> None:
    reader = Reader().read(process(("a", 1, 0), ("b", 2, 0)))
    whole = winperf([process(("a", 1, 2), ("b", 2, 2))], clocks=(2 * SECOND, SECOND, 133_541_156_967_890_000))
    reader.reads += 1
    reader.events.append(reader.make.query_value("Global", whole[:-8], HANDLE))
    found = rates(reader.read(process(("a", 1, 5), ("b", 2, 4))).points())
    assert outcomes(found, "a") == [Why.FIRST_SAMPLE, 2, 3]
    assert outcomes(found, "b") == [Why.FIRST_SAMPLE, 2]


def test_an_answer_of_which_nothing_is_known_is_one_that_was_missed() -> None:
    """Blocks mean nothing without what was added to the query; the next answer, which is described, counts it."""
    watch = Watch((Info(5, BULK),)).open(one(5)).poll(instances(("a", 1), values=(0,))).lose()
    found = watch.poll(instances(("a", 1), values=(6,))).points()
    assert outcomes(found) == [Why.FIRST_SAMPLE, 3]
    assert [point.missed for point in found] == [0, 1]


def test_two_handles_of_one_client_are_two_series_and_the_second_says_so_once() -> None:
    first = Watch((Info(5, BULK), Info(6, BULK))).open(one(5)).poll(instances(("a", 1), values=(0,)))
    second = Watch((Info(5, BULK), Info(6, BULK)), handle=OTHER_HANDLE, make=first.make).open(one(5))
    second.poll(instances(("a", 1), values=(4,))).poll(instances(("a", 1), values=(9,)))
    found = list(points(analysis_of(*first.events, *second.events)))
    assert outcomes(found) == [Why.FIRST_SAMPLE, Why.FIRST_SAMPLE, 5]
    assert [point.formatted.reason for point in found] == [
        None,
        "the first through this handle; q1 read it before",
        None,
    ]


@pytest.mark.parametrize(
    ("before", "now", "identity", "why", "words"),
    [
        ([], [("UniqueID", 1)], ("UniqueID", 1), Why.FIRST_SAMPLE, None),
        ([("UniqueID", 1)], [("UniqueID", 1), ("UniqueID", 2)], ("UniqueID", 2), Why.FIRST_SAMPLE, None),
        (
            [("UniqueID", 1), ("UniqueID", 3)],
            [("UniqueID", 2)],
            ("UniqueID", 2),
            Why.INSTANCE_CHANGED,
            "UniqueID 2; in the answer before, the name belonged to UniqueID 1, UniqueID 3",
        ),
        (
            [("name",)],
            [("nth", 0, 2, "name"), ("nth", 1, 2, "name")],
            ("nth", 0, 2, "name"),
            Why.AMBIGUOUS_INSTANCE,
            "2 instances of that name, 1 in the answer before, and nothing distinguishes them",
        ),
        (
            [("nth", 0, 2), ("nth", 1, 2)],
            [("nth", 0, 1)],
            ("nth", 0, 1),
            Why.AMBIGUOUS_INSTANCE,
            "one instance of that name, 2 in the answer before, and nothing distinguishes them",
        ),
        (
            [("nth", 0, 2), ("nth", 1, 2)],
            [("UniqueID", 4)],
            ("UniqueID", 4),
            Why.INSTANCE_CHANGED,
            "UniqueID 4; in the answer before, the name belonged to position 0, position 1",
        ),
    ],
)
def test_why_a_reading_has_none_before_it(
    before: list[tuple[object, ...]],
    now: list[tuple[object, ...]],
    identity: tuple[object, ...],
    why: Why,
    words: str | None,
) -> None:
    group, name = ("object", 1), ("a",)

    def held(identities: list[tuple[object, ...]]) -> Instances:
        return Instances([SeriesPlace(group, name, one) for one in identities])

    assert why_first(held(before) if before else None, held(now), SeriesPlace(group, name, identity)) == (why, words)


def test_other_clients_break_no_pair() -> None:
    found = Reader().read(numbered((1, 0))).read(numbered((1, 5))).points()
    assert {point.series.client for point in found} == {Endpoint("10.0.0.2", 49152)}
    assert [point.interval_ns is not None for point in found] == [False, True]


def test_the_same_block_twice_in_an_answer_takes_its_own_base() -> None:
    watch = Watch((Info(5, 0x20020400, base=6), Info(6, 0x40030403))).open(one(5), one(6, index=1), one(5, index=2))
    block = Block(4, instances=(("a", 1),), values=(small(30),))
    base = Block(4, instances=(("a", 1),), values=(small(60),))
    found = watch.poll(block, base, block).points()
    assert [point.formatted.value for point in found] == [50, None, 50]


def test_a_number_of_more_than_64_bits_is_no_value() -> None:
    """A definition may state any size of its values; no counter type has more than eight bytes."""
    values, numbers, others = _columns([(1 << 64) - 1, 1 << 64, "text", None])
    assert values.tolist() == [(1 << 64) - 1, 0, 0, 0]
    assert (numbers.tolist(), others) == ([True, False, False, False], {1: None, 2: "text", 3: None})
