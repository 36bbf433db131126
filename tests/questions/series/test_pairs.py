"""What distinguishes instances, and which answers prove that one is gone: each part of both definitions on its own."""

from pathlib import Path

from msgspec.structs import replace

from analyzer.questions.series.answer_columns import _columns, why_first
from analyzer.questions.series.series_and_points import Point
from analyzer.questions.series.series_keys import SeriesPlace
from analyzer.questions.series.value_plans import Instances
from analyzer.results.records.record_types import Endpoint
from analyzer.results.records.sample import Why
from tests.build.counters import Info, Reader, Watch, one
from tests.questions.series.test_displayed_points import BULK, instances, numbered, outcomes, process, rates
from tests.written import Outcomes, Tables, of_rows

TABLES = Tables()


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


def test_an_answer_of_which_nothing_is_known_is_one_that_was_missed() -> None:
    """Blocks mean nothing without what was added to the query; the next answer, which is described, counts it."""
    watch = Watch((Info(5, BULK),)).open(one(5)).poll(instances(("a", 1), values=(0,))).lose()
    found = watch.poll(instances(("a", 1), values=(6,))).points()
    assert outcomes(found) == [Why.FIRST_SAMPLE, 3]
    assert [point.missed for point in found] == [0, 1]


FIRST, TWINS = ("UniqueID", 1), [("nth", 0, 2), ("nth", 1, 2)]


@TABLES.of(
    *(([], [FIRST], FIRST), ([FIRST], [FIRST, ("UniqueID", 2)], ("UniqueID", 2))),
    ([FIRST, ("UniqueID", 3)], [("UniqueID", 2)], ("UniqueID", 2)),
    ([("name",)], [("nth", 0, 2, "name"), ("nth", 1, 2, "name")], ("nth", 0, 2, "name")),
    *((TWINS, [one], one) for one in (("nth", 0, 1), ("UniqueID", 4))),
)
def why_a_reading_has_none_before_it(before, now, identity):
    """What distinguished the instances of a name in the answer before, what does now, and this one."""
    group, name = ("object", 1), ("a",)
    held = [Instances([SeriesPlace(group, name, one) for one in identities]) for identities in (before, now)]
    why, words = why_first(held[0] if before else None, held[1], SeriesPlace(group, name, identity))
    return f"{why}, {words}" if words else why


HELD = Outcomes(Path(__file__).parent / "tables" / "pairs.txt", TABLES, of_rows)


def test_reasons_are_what_was_read_through() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    for name in TABLES:
        HELD.holds(name)
    HELD.is_as_written()


def test_other_clients_break_no_pair() -> None:
    found = Reader().read(numbered((1, 0))).read(numbered((1, 5))).points()
    assert {point.series.client for point in found} == {Endpoint("10.0.0.2", 49152)}
    assert [point.interval_ns is not None for point in found] == [False, True]


def test_a_number_of_more_than_64_bits_is_no_value() -> None:
    """A definition may state any size of its values; no counter type has more than eight bytes."""
    values, numbers, others = _columns([(1 << 64) - 1, 1 << 64, "text", None])
    assert values.tolist() == [(1 << 64) - 1, 0, 0, 0]
    assert (numbers.tolist(), others) == ([True, False, False, False], {1: None, 2: "text", 3: None})
