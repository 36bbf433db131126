"""Rows in parts read like one table."""

from __future__ import annotations

import struct

import pytest

from analyzer.core.rows import PART, Rows


def test_rows_and_columns_are_what_was_appended_across_parts() -> None:
    rows = Rows(time="q", number="I", flag="?")
    count = 2 * PART + 3
    for at in range(count):
        rows.append(-at, at, at % 2)
    assert len(rows) == count
    for at in (0, PART - 1, PART, 2 * PART, count - 1):
        assert rows[at] == (-at, at, at % 2 == 1)
    assert rows.column("time").tolist() == [-at for at in range(count)]
    assert rows.column("number").tolist() == list(range(count))
    assert rows.column("flag").tolist() == [at % 2 == 1 for at in range(count)]


def test_a_row_is_replaced_in_its_place() -> None:
    rows = Rows(time="q", number="I")
    for at in range(PART + 2):
        rows.append(at, 0)
    rows[PART] = (-1, 7)
    assert [rows[at] for at in (PART - 1, PART, PART + 1)] == [(PART - 1, 0), (-1, 7), (PART + 1, 0)]


def test_columns_have_a_length_where_there_is_no_row() -> None:
    assert Rows(time="q").column("time").tolist() == []


def test_a_number_that_does_not_fit_is_refused() -> None:
    with pytest.raises(struct.error):
        Rows(number="I").append(-1)
