"""Columns that grow read like one table, and as they were when they are saved."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core import growing_columns
from analyzer.core.arrow_files import ArrowColumn, ArrowTable, ArrowValues, SavedColumns, written
from analyzer.core.byte_log import Log
from analyzer.core.growing_columns import GROUP, GrowingColumns
from tests.build.cases import Kept


def test_rows_and_columns_are_what_was_appended_across_groups() -> None:
    table = GrowingColumns({"time": "q", "number": "I"}, Log(0))
    count = 2 * GROUP + 3
    for at in range(count):
        table.append((-at, at))
    assert len(table) == count
    places = np.array([5, GROUP, 0, count - 1, GROUP - 1])
    assert table.rows(places)["number"].tolist() == places.tolist()
    for at in (0, GROUP - 1, GROUP, 2 * GROUP, count - 1):
        assert table.row(at) == (-at, at)
        assert (table.number("time", at), table.number("number", at)) == (-at, at)
    assert table.column("time").tolist() == [-at for at in range(count)]
    assert table.column("number").tolist() == list(range(count))
    table.append((1, 2))  # a column that somebody holds keeps nothing from growing
    assert table.row(count) == (1, 2)


def test_whoever_goes_to_and_fro_between_groups_reads_each_once_and_few_are_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Calls of four captures of the same time lie in as many groups."""
    monkeypatch.setattr(growing_columns, "GROUP", 8)
    table = GrowingColumns({"number": "I"}, Log(0))
    for at in range(60):
        table.append((at,))
    read: list[int] = []
    whole = GrowingColumns._read
    monkeypatch.setattr(GrowingColumns, "_read", lambda self, number: read.append(number) or whole(self, number))
    places = [8 * group + at for at in range(8) for group in range(4)]
    assert [table.row(at) for at in places] == [(at,) for at in places]
    assert read == [0, 1, 2, 3]
    read.clear()
    assert [table.row(8 * group) for group in (4, 3, 0)] == [(32,), (24,), (0,)]
    assert read == [4, 0]


def test_columns_have_a_length_where_there_is_no_row() -> None:
    table = GrowingColumns({"time": "q"}, Log(0))
    assert (len(table), table.column("time").tolist()) == (0, [])


def test_a_number_that_does_not_fit_is_refused() -> None:
    table = GrowingColumns({"first": "q", "number": "I"}, Log(0))
    table.append((1, 2))
    with pytest.raises(struct.error):
        table.append((3, -1))
    # What was there is as it was.
    table.append((5, 6))
    assert [table.row(at) for at in range(len(table))] == [(1, 2), (5, 6)]


@given(st.lists(st.integers(-1, (1 << 63) - 1)), st.integers(1, 4), st.integers(1, 3), st.booleans())
def test_saved_columns_are_what_was_saved(numbers: list[int], group: int, groups: int, nullable: bool) -> None:
    values = np.array(numbers, np.int64)
    column = ArrowColumn("a", "number", "i8", nullable)
    step = group * groups
    cuts = [values[at : at + step] for at in range(0, len(values), step)]
    present = [cut >= 0 if nullable else None for cut in cuts]
    batches = ([ArrowValues(len(cut), (cut,), (), there)] for cut, there in zip(cuts, present, strict=True))
    data = b"".join(written([column], batches))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growing_columns, "GROUP", group)
        saved = SavedColumns({"a": "q"}, ArrowTable([column], Kept(data), len(numbers), step))
        assert saved.column("a").tolist() == numbers
        assert [saved.row(at) for at in range(len(saved))] == [(number,) for number in numbers]
        places = np.arange(len(numbers))[::-2]
        assert saved.rows(places)["a"].tolist() == numbers[::-2]
        with pytest.raises(IndexError):
            saved.row(len(numbers) + group)


def test_a_number_is_absent_where_it_says_so_and_nowhere_else() -> None:
    column, numbers = ArrowColumn("a", "number", "i8", nullable=True), np.array([1, -1, 3])
    for present, is_right in (([True, False, True], True), ([True] * 3, False), ([True, False, False], False)):
        data = b"".join(written([column], [[ArrowValues(3, (numbers,), (), np.array(present))]]))
        saved = SavedColumns({"a": "q"}, ArrowTable([column], Kept(data), 3, 8))
        if is_right:
            assert saved.column("a").tolist() == [1, -1, 3]
            continue
        with pytest.raises(ValueError, match="a has numbers that are not there"):
            saved.column("a")
