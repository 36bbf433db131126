"""Columns that grow read like one table, and as they were when they are saved."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core import columns
from analyzer.core.columns import GROUP, GrowingColumns, SavedColumns, saved_column
from analyzer.core.spill import Log
from tests.build.cases import Kept


def test_rows_and_columns_are_what_was_appended_across_groups() -> None:
    table = GrowingColumns({"time": "q", "number": "I"}, Log(0))
    count = 2 * GROUP + 3
    for at in range(count):
        table.append((-at, at))
    assert len(table) == count
    for at in (0, GROUP - 1, GROUP, 2 * GROUP, count - 1):
        assert table.row(at) == (-at, at)
        assert (table.number("time", at), table.number("number", at)) == (-at, at)
    assert table.column("time").tolist() == [-at for at in range(count)]
    assert table.column("number").tolist() == list(range(count))
    table.append((1, 2))  # a column that somebody holds keeps nothing from growing
    assert table.row(count) == (1, 2)


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


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1)) | st.lists(st.integers(0, 3)), st.integers(1, 4))
def test_a_saved_column_is_what_numpy_reads_and_as_narrow_as_may_be(numbers: list[int], group: int) -> None:
    data = b"".join(saved_column(np.array(numbers, np.int64)))
    read = np.load(io.BytesIO(data))
    assert read.tolist() == (numbers[:1] if len(set(numbers)) == 1 else numbers)
    if numbers:
        low, high = min(numbers), max(numbers)
        narrow = [one for one in np.typecodes["AllInteger"] if np.iinfo(one).min <= low and high <= np.iinfo(one).max]
        assert read.dtype.itemsize == min(np.dtype(one).itemsize for one in narrow)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "GROUP", group)
        saved = SavedColumns({"a": "q"}, {"a": Kept(data)}, len(numbers))
        assert saved.column("a").tolist() == numbers
        assert [saved.row(at) for at in range(len(saved))] == [(number,) for number in numbers]
        with pytest.raises(IndexError):
            saved.row(len(numbers) + group)


def test_what_is_no_saved_column_is_refused() -> None:
    data = b"".join(saved_column(np.array([1, 2, 300])))
    assert SavedColumns({"a": "q"}, {"a": Kept(data)}, 3).column("a").tolist() == [1, 2, 300]
    for other in (data.replace(b"<u2", b">u2"), data.replace(b"False", b"True "), data.replace(b"(3,)", b"(4,)")):
        with pytest.raises(ValueError, match="a is no column of 3 numbers"):
            SavedColumns({"a": "q"}, {"a": Kept(other)}, 3).column("a")
