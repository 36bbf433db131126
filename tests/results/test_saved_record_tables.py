"""Records as rows of a table: whatever their types allow comes back, and other programs read it."""

import io
from enum import Enum
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import astuple

from analyzer.core.arrow_files import WIDTHS
from analyzer.core.errors import CaseError
from analyzer.results.records import saved_record_tables
from analyzer.results.records.saved_record_tables import Rows, narrowest, saved
from tests.build.cases import Kept


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Inner(Struct, frozen=True):
    number: int
    word: Literal["one", "two"]


class Outer(Struct, frozen=True):
    number: int
    text: str
    maybe: int | None
    flag: bool
    colour: Colour
    colour_or_not: Colour | None
    data: bytes
    inner: Inner
    inner_or_not: Inner | None
    several: tuple[Inner, ...]
    pair: tuple[int, str]
    listed: list[str | None]
    by_number: dict[int, Inner]
    anything: dict[str, Any] | None


# Characters that have a UTF-8 form.
TEXT = st.text(st.characters(codec="utf-8"), max_size=5)
NUMBER = st.integers(-(1 << 63), (1 << 63) - 1)
INNER = st.builds(Inner, NUMBER, st.sampled_from(["one", "two"]))
OUTER = st.builds(
    Outer,
    st.integers(0, (1 << 64) - 1),
    TEXT,
    st.none() | NUMBER,
    st.booleans(),
    st.sampled_from(Colour),
    st.none() | st.sampled_from(Colour),
    st.binary(max_size=5),
    INNER,
    st.none() | INNER,
    st.lists(INNER, max_size=3).map(tuple),
    st.tuples(NUMBER, TEXT),
    st.lists(st.none() | TEXT, max_size=3),
    st.dictionaries(NUMBER, INNER, max_size=2),
    st.none() | st.dictionaries(TEXT, st.none() | NUMBER | TEXT, max_size=2),
)


def again(records: list[Outer], at_once: int = 64) -> Rows[Outer]:
    made = saved(Outer, records)
    return Rows("outers", Outer, Kept(b"".join(made.pieces())), made.rows, made.widths, at_once=at_once)


@given(st.lists(OUTER, max_size=9), st.integers(1, 3), st.integers(1, 2))
def test_records_come_back(records: list[Outer], at_once: int, groups: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saved_record_tables, "ROWS_OF_BATCH", at_once * groups)
        found = again(records, at_once)
        assert list(found) == records
        assert (len(found), found[:]) == (len(records), records)
        assert [found[at] for at in range(-len(records), 0)] == records
        if records:
            first, beside = found.beside(len(records) - 1)
            assert records[first:] == beside
        with pytest.raises(IndexError):
            found[len(records)]


@given(st.lists(OUTER, min_size=1, max_size=4))
def test_polars_reads_what_was_saved(records: list[Outer]) -> None:
    whole = pl.read_ipc(io.BytesIO(b"".join(saved(Outer, records).pieces())))
    assert whole.columns == list(Outer.__struct_fields__)
    assert whole["number"].to_list() == [one.number for one in records]
    assert whole["text"].to_list() == [one.text for one in records]
    assert whole["maybe"].to_list() == [one.maybe for one in records]
    assert whole["colour_or_not"].to_list() == [one.colour_or_not and one.colour_or_not.value for one in records]
    assert whole["listed"].to_list() == [one.listed for one in records]
    assert [one["word"] for one in whole["inner"].to_list()] == [one.inner.word for one in records]
    assert [[astuple(Inner(**one)) for one in several] for several in whole["several"].to_list()] == [
        [astuple(one) for one in record.several] for record in records
    ]


@given(st.integers(-(1 << 63), (1 << 64) - 1), st.integers(-(1 << 63), (1 << 64) - 1))
def test_a_column_is_as_narrow_as_its_numbers(one: int, other: int) -> None:
    low, high = min(one, other), max(one, other)
    if low < 0 and high >= 1 << 63:
        return
    width = narrowest(low, high)
    fitting = [one for one in WIDTHS if np.iinfo(one).min <= low and high <= np.iinfo(one).max]
    assert width in fitting
    assert width[1] == min(one[1] for one in fitting)


def test_a_column_is_no_wider_than_what_it_is_read_into() -> None:
    assert narrowest(0, (1 << 31) - 1, "i") == "i4"
    assert narrowest(0, 200, "h") == "u1"


def test_what_has_no_utf_8_form_is_readable() -> None:
    class Line(Struct, frozen=True):
        text: str

    made = saved(Line, [Line("B\udcfcro \ud800")])
    assert Rows("lines", Line, Kept(b"".join(made.pieces())), 1, made.widths)[0].text == "B\\udcfcro \\ud800"


RECORD = Outer(1, "t", None, True, Colour.BLUE, None, b"", Inner(7, "two"), None, (), (2, "p"), [], {}, {"a": 5})


@pytest.mark.parametrize(
    ("there", "other"), [(b"two", b"owt"), (b"blue", b"glue"), (b"t", b"\xff"), (b'{"a":5}', b'{"a":5]')]
)
def test_a_value_of_no_such_type_is_damage(there: bytes, other: bytes) -> None:
    made = saved(Outer, [RECORD])
    data = b"".join(made.pieces())
    at = data.rindex(there.ljust(8, b"\0"))
    forged = Kept(data[:at] + other + data[at + len(other) :])
    with pytest.raises(CaseError, match="the case is damaged: outers cannot be read"):
        Rows("outers", Outer, forged, 1, made.widths)[0]


def test_a_table_has_no_more_rows_than_bytes() -> None:
    made = saved(Outer, [RECORD])
    data = Kept(b"".join(made.pieces()))
    for count in (-1, data.size + 1, 1 << 62):
        with pytest.raises(ValueError, match=f"outers has {count} rows"):
            Rows("outers", Outer, data, count, made.widths)


def test_a_list_of_empty_lists_takes_no_more_than_its_places() -> None:
    """As MessagePack it took 60 times its bytes."""

    class Lists(Struct, frozen=True):
        lists: tuple[tuple[int, ...], ...]

    made = saved(Lists, [Lists(((),) * 100_000)])
    data = b"".join(made.pieces())
    assert len(data) > 800_000
    (found,) = Rows("lists", Lists, Kept(data), 1, made.widths)
    assert len({id(one) for one in found.lists}) == 1
