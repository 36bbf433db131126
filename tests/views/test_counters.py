"""Displayed values for people: one line a series, courses that stay short, and numbers that fit their column."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.text import Text

from analyzer.formats.tables import table_of, tables_of
from analyzer.views.counters import SPARK_CELLS, Counters, Spark, compact
from tests.build.buffers import Block, wide
from tests.build.calls import OTHER_HANDLE, analysis_of
from tests.build.counters import Info, Watch, large, one, whole

BULK, RAW, TEXT, HEX = 0x10410500, 0x00010100, 0x00000B00, 0x00000100
BASE = 0x40030500


def text(view: Counters, width: int | None = None) -> list[str]:
    return [Text.from_markup(line, emoji=False).plain for line in view.lines(width)]


def watched() -> Watch:
    watch = Watch((Info(5, BULK), Info(6, RAW), Info(7, BASE))).open(whole())
    for value in (0, 10, 30):
        watch.poll(Block(6, ids=(5, 6, 7), instances=(("a", 1),), values=(large(value, value, 4),)))
    return watch


def test_one_line_a_series_under_the_machine_and_the_handle() -> None:
    lines = text(Counters(watched().analysis))
    assert lines[2] == "\\\\10.0.0.1  watched by 10.0.0.2:49152 through query q1, 2 series over 0.004 s"
    assert lines[3].split() == ["counter", "n/m", "unit", "min", "mean", "max", "last", "course"]
    assert lines[4].split()[-7:] == ["2/3", "/s", "10", "15", "20", "20", "·▁█"]
    assert lines[5].split()[-6:] == ["3/3", "0", "13.333", "30", "30", "▁▃█"]
    assert "1 base or hidden counter is not listed" in lines[-2]


def test_a_terminal_has_them_under_their_objects() -> None:
    lines = text(Counters(watched().analysis), 100)
    assert lines[4] == "  \\383487a6-3676-4870-a4e7-d45b30c35629"
    assert lines[5].split()[:3] == ["(a)\\counter", "5", "2/3"]


def test_bases_are_listed_when_asked_for() -> None:
    lines = text(Counters(watched().analysis, ("\\*",)))
    assert any("counter 7" in line and "3 not-displayed" in line for line in lines)


def test_a_counter_asked_for_twice_is_one_line() -> None:
    watch = Watch((Info(5, BULK),)).open(one(5, "a", 0, 1), one(5, "*", 1))
    watch.poll(Block(1, values=(large(1),)), Block(4, instances=(("a", 1),), values=(large(1),)))
    watch.poll(Block(1, values=(large(3),)), Block(4, instances=(("a", 1),), values=(large(3),)))
    lines = [line for line in text(Counters(watch.analysis)) if "counter 5" in line]
    assert len(lines) == 1
    assert lines[0].endswith("asked 2×")


def test_two_clients_are_distinguished() -> None:
    ours = watched()
    theirs = Watch((Info(5, BULK),), handle=OTHER_HANDLE, make=ours.make).open(one(5, "a"))
    theirs.poll(Block(1, values=(large(5),)))
    lines = text(Counters(analysis_of(*ours.events, *theirs.events)))
    assert [line.split()[-6].rstrip(",") for line in lines if "watched by" in line] == ["q1", "q2"]


def test_texts_and_hexadecimals_are_shown_as_such() -> None:
    watch = Watch((Info(5, TEXT), Info(6, HEX))).open(whole())
    watch.poll(Block(6, ids=(5, 6), instances=(("a", 1),), values=((wide("Running"), *large(0xBEEF)),)))
    lines = text(Counters(watch.analysis))
    assert any('"Running"' in line for line in lines)
    assert any(" BEEF " in line for line in lines)


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


def test_names_from_the_wire_are_shown_not_sent() -> None:
    watch = Watch((Info(5, RAW),)).open(one(5))
    watch.poll(Block(4, instances=(("[bold]\x1b[31m", 1),), values=(large(5),)))
    assert any("([bold]\\x1b[31m)" in line for line in text(Counters(watch.analysis)))


def test_tables_have_one_row_a_value_or_interval() -> None:
    view = Counters(watched().analysis)
    table = table_of(view)
    assert table.filter(table["unit"] == "/s")["value"].to_list() == [None, 10.0, 20.0]
    assert table["why_null"].to_list()[::3] == ["first-sample", None, None]
    in_buckets = table_of(Counters(watched().analysis, interval_ns=1_000_000_000))
    assert in_buckets["readings"].to_list() == [3, 3, 3]
    assert in_buckets["value"].to_list() == [15.0, 40 / 3, None]


def test_tables_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    whole_table = table_of(Counters(watched().analysis))
    for rows, sizes in ((1, [3, 3, 3]), (3, [3, 3, 3]), (4, [6, 3]), (9, [9]), (10, [9])):
        monkeypatch.setattr("analyzer.series.readings.ROWS_AT_ONCE", rows)
        pieces = list(tables_of(Counters(watched().analysis)))
        assert [len(piece) for piece in pieces] == sizes
        assert pl.concat(pieces).equals(whole_table)


def test_a_course_keeps_the_order_of_heights() -> None:
    spark = Spark()
    for value in range(8):
        spark.take(float(value))
    spark.take(None)
    assert str(spark) == "▁▂▃▄▅▆▇█·"


@settings(deadline=None, max_examples=50)
@given(st.lists(st.none() | st.floats(-1e6, 1e6), max_size=200))
def test_a_course_never_grows(values: list[float | None]) -> None:
    spark = Spark()
    for value in values:
        spark.take(value)
    assert len(str(spark)) <= SPARK_CELLS


@settings(deadline=None, max_examples=200)
@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(1 << 70), 1 << 70))
def test_a_number_fits_its_column(value: float) -> None:
    assert len(compact(float(value))) <= 10
