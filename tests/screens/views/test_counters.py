"""Displayed values for people: one line a series, courses that stay short, and numbers that fit their column."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.text import Text

from analyzer.questions.series.formulas import ATTRIB_HEX
from analyzer.questions.series.series_and_points import Series
from analyzer.results.methods.perflib import Opnum
from analyzer.results.records.record_types import Endpoint
from analyzer.screens.formats.table_writer import table_of, tables_of
from analyzer.screens.views.counters import (
    _LEAST_NAME,
    _MOST_NAME,
    _TITLES,
    SPARK_CELLS,
    Counters,
    Spark,
    _Columns,
    _series_lines,
    _SeriesLine,
    compact,
)
from analyzer.screens.views.handles import Handles
from analyzer.screens.views.processes import Processes
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.stats import Stats
from tests.build.buffers import Block
from tests.build.calls import altered, analysis_of
from tests.build.counters import Info, Watch, large, one, whole
from tests.written import Tables, held, is_as_written

TABLES = Tables()

BULK, RAW, TEXT, HEX = 0x10410500, 0x00010100, 0x00000B00, 0x00000100
BASE = 0x40030500


def text(view: Counters, width: int | None = None) -> list[str]:
    return [Text.from_markup(line, emoji=False).plain for line in view.lines(width)]


def watched() -> Watch:
    watch = Watch((Info(5, BULK), Info(6, RAW), Info(7, BASE))).open(whole())
    for value in (0, 10, 30):
        watch.poll(Block(6, ids=(5, 6, 7), instances=(("a", 1),), values=(large(value, value, 4),)))
    return watch


def test_a_counter_asked_for_twice_is_one_line() -> None:
    watch = Watch((Info(5, BULK),)).open(one(5, "a", 0, 1), one(5, "*", 1))
    watch.poll(Block(1, values=(large(1),)), Block(4, instances=(("a", 1),), values=(large(1),)))
    watch.poll(Block(1, values=(large(3),)), Block(4, instances=(("a", 1),), values=(large(3),)))
    lines = [line for line in text(Counters(watch.analysis)) if "counter 5" in line]
    assert len(lines) == 1
    assert lines[0].endswith("asked 2×")


def test_lines_keep_to_the_width() -> None:
    watch = Watch((Info(5, BULK),)).open(one(5))
    long_name = "a very long name of an instance " * 4
    watch.poll(Block(4, instances=((long_name, 1),), values=(large(5),)))
    watch.poll(Block(4, instances=((long_name, 2),), values=(large(5),)))
    lines = text(Counters(watch.analysis), 100)
    assert max(map(len, lines)) <= 100
    joined = " ".join(" ".join(lines).split())
    assert " ".join(long_name.split()) in joined
    assert "1 instance-changed" in joined


def test_nothing_read_is_stated() -> None:
    assert text(Counters(analysis_of()))[0] == "no counter value could be read"
    assert text(Counters(watched().analysis, ("\\nothing\\such",))) == ["no counter of this capture has such a path"]


@pytest.mark.parametrize("view", [Counters, Samples, Processes, Handles, Stats])
def test_answers_that_others_may_have_changed_are_named(view: Any) -> None:
    watch = watched()
    polls = [at for at, event in enumerate(watch.events) if getattr(event, "opnum", None) == Opnum.QUERY_COUNTER_DATA]
    assert "may have been changed" not in " ".join(text(view(watch.analysis)))
    for at in polls[1:]:
        watch.events[at] = altered(watch.events[at])
    analysis = watch.analysis
    numbers = ", ".join(f"#{number}" for number, call in enumerate(analysis.calls, 1) if call.smb.signature_ok is False)
    last = text(view(analysis))[-1]
    noun = "calls" if view in (Handles, Stats) else "answers"
    assert last == f"2 {noun} may have been changed, because a signature does not fit: {numbers}"


def test_tables_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    whole_table = table_of(Counters(watched().analysis))
    # The first answer counts four times, for the plan that all three share.
    for rows, sizes in ((1, [3, 3, 3]), (4, [3, 6]), (13, [6, 3]), (18, [9]), (19, [9])):
        monkeypatch.setattr("analyzer.questions.series.reading_batches.ROWS_AT_ONCE", rows)
        pieces = list(tables_of(Counters(watched().analysis)))
        assert [len(piece) for piece in pieces] == sizes
        assert pl.concat(pieces).equals(whole_table)


def test_a_course_keeps_the_order_of_heights() -> None:
    spark = Spark()
    for value in range(8):
        spark.add_value(float(value))
    spark.add_value(None)
    assert str(spark) == "▁▂▃▄▅▆▇█·"


@TABLES.of(
    *(([],), ([None, None],), ([5.0],), ([3.0, 3.0, None, 3.0],), ([-4.0, 4.0],)),
    # Heights are eighths, to the nearest.
    ([0.0, 1.4, 3.6, 7.0],),
    # Four cells: from the fifth value on, each is the mean of two, from the ninth on of four.
    *(([0.0, 1.0, 2.0, 7.0],), ([0.0, 0.0, 3.0, 5.0, 8.0],), ([0.0, 0.0, 3.0, 5.0, 7.0, None, 8.0, 8.0],)),
    ([0.0, 4.0, None, None, 2.0, 2.0, 4.0, 4.0, 5.5],),
    *(([*[0.0] * 4, *[7.0] * 4, *[1.0] * 4, 2.0, None, 4.0, 3.0],), ([*[0.0] * 8, *[7.0] * 8, 3.0],)),
)
def a_course_of_four_cells_holds_means(values):
    spark = Spark(4)
    for value in values:
        spark.add_value(value)
    return str(spark)


# ------------------------------------------------------------------------------------------------ lines


@pytest.mark.parametrize(
    ("widest", "width", "name", "titles"),
    [
        (90, None, _MOST_NAME, _TITLES),
        (20, 80, 20, _TITLES),
        (90, 80, 32, _TITLES[1:]),
        (90, 120, _MOST_NAME, _TITLES),
        (90, 60, 32, _TITLES[3:]),
        (90, 20, _LEAST_NAME, _TITLES[3:]),
    ],
)
def test_columns_leave_out_numbers_where_a_terminal_is_narrow(
    widest: int, width: int | None, name: int, titles: tuple[str, ...]
) -> None:
    """n/m in five, the unit in five with its space, ten for each number, two spaces, and a course of six: the name has the rest."""
    columns = _Columns.fitting_columns([line_of([1.0, 2.0, 3.0])], widest, width)
    assert (columns.name, columns.count, columns.titles) == (name, 5, titles)
    assert width is None or width < 60 or len(columns.head()) <= width


def series(kind: int | None = BULK, **options: object) -> Series:
    ends = {"server": Endpoint("10.0.0.1", 445), "client": Endpoint("10.0.0.2", 49152)}
    names = {"objects": ("Memory", "4"), "counters": ("Pages/sec", "40"), "instance": None, "handle": "q1"}
    facts = {"number": 1, "source": "perflib-v2", "counter_type": kind, "unit": "/s", "scale": 0, "attributes": 0}
    return Series(**{**ends, **names, **facts, **options})


def line_of(values: list[float | None], **options: object) -> _SeriesLine:
    line = _SeriesLine(series(**options))
    line._add(values, [(7 + at) * 1_000_000 for at in range(len(values))])
    return line


def test_of_a_series_some_numbers_are_kept() -> None:
    line = line_of([None, 4.0, -2.0, None])
    line._add([7.0, 1.0], [12_000_000, 11_000_000])
    line._add([None], [9_000_000])
    kept = (line.readings, line.values, line.total, line.minimum, line.maximum, line.last)
    assert kept == (7, 4, 10.0, -2.0, 7.0, 1.0)
    assert (line.first_ns, line.last_ns, line.times, line.shown) == (7_000_000, 12_000_000, 1, None)
    assert str(line.spark) == "·▆▁·█▃·"
    assert (line_of([5.0]).minimum, line_of([-5.0]).maximum) == (5.0, -5.0)
    fresh = _SeriesLine(series())
    assert {fresh.readings, fresh.values, fresh.course, fresh.first_ns, fresh.last_ns} == {0}
    assert fresh.times == 1


@TABLES.of(
    (BULK, {}, {}, 1),
    # The first reading of a rate has no value, which is no news; each other one is.
    *((BULK, {"first-sample": 1}, {}, 1), (BULK, {"first-sample": 2}, {}, 1)),
    *((BULK, {"first-sample": 1, "interrupted": 1}, {}, 1), (RAW, {"first-sample": 1}, {}, 1)),
    *((None, {"first-sample": 2}, {}, 1), (TEXT, {"text": 3}, {}, 1), (RAW, {"text": 3}, {}, 1)),
    *((None, {"text": 1}, {}, 1), (RAW, {"block-error": 2, "interrupted": 1}, {"wrapped": 1}, 1), (RAW, {}, {}, 2)),
    (RAW, {"interrupted": 4}, {}, 3),
)
def notes_say_what_is_unusual(kind, why, flags, times):
    line = _SeriesLine(series(kind), times=times)
    line.why.update(why)
    line.flags.update(flags)
    return [line.notes, dict(line.why)]


def one_line(
    line: _SeriesLine, width: int | None = None, by: str | None = None, name: str = "  name", room: int = 8
) -> list[str]:
    return [
        Text.from_markup(text, emoji=False).plain
        for text in _series_lines(line, name, _Columns(room, 9, _TITLES), width, by)
    ]


def of_lines() -> Iterator[tuple[str, list[str]]]:
    yield "a name, counts, a unit and four numbers", one_line(line_of([None, 1.0, 2.5]))
    yield "without a unit", one_line(line_of([8.0, 4.0], unit=None))
    yield "without a value", one_line(line_of([None]))
    yield "of no known type", one_line(line_of([5.0], kind=None))
    for kind, values, shown in ((HEX, [5.0], "BEEF"), (HEX, [5.0], None), (TEXT, [None], "Running")):
        line = line_of([*values], kind=kind)
        line.shown = shown
        yield f"of type {kind:#x}, shown as {shown}", one_line(line)
    yield "hexadecimal by an attribute", one_line(line_of([5.0], attributes=ATTRIB_HEX))
    plain, noted = line_of([5.0]), line_of([5.0])
    noted.why["interrupted"] = 1
    # Where there is room, notes stand behind the line.
    for width in (None, 87, 86):
        yield f"notes in {width}", one_line(noted, width, "\\*")
    for width in (66, 65):
        yield f"no notes in {width}", one_line(plain, width)
    noted.why["a reason of many words that is folded"] = 1
    yield "notes fold", one_line(noted, 40)
    # A name that is too long has lines of its own; characters of two cells take the room of two.
    for name in ("12345678", "123456789", "日本語"):
        yield f"the name {name}", one_line(plain, name=name)
    yield "a name folds", one_line(plain, 26, name="a name of many words that is folded twice")


def test_all_lines_are_in_one_text() -> None:
    text = "".join("\n  ".join([name, *lines]) + "\n" for name, lines in of_lines())
    is_as_written(Path(__file__).parent / "texts" / "series.txt", text)


@TABLES.of(
    *(0.0, -3.0, 1234567.0, 9_999_999.0, 1e7, -1e7, 999_990_000.0, 1e9, 1e12, 1e15, 1e18, 9.9e22, 1e23, 99_999.5),
    *(100_000.5, 1.5, -0.25, 0.001, 0.000_99, -0.000_99),
)
def a_number_is_written_out_or_has_a_letter(value):
    return compact(value)


@settings(max_examples=50)
@given(st.lists(st.none() | st.floats(-1e6, 1e6), max_size=200))
def test_a_course_never_grows(values: list[float | None]) -> None:
    spark = Spark()
    for value in values:
        spark.add_value(value)
    assert len(str(spark)) <= SPARK_CELLS


@settings(max_examples=200)
@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(1 << 70), 1 << 70))
def test_a_number_fits_its_column(value: float) -> None:
    assert len(compact(float(value))) <= 10


test_courses_notes_and_numbers_are_as_they_were_read_through = held(__file__, TABLES)
