"""Which of two readings a table of strings has: what its bytes prove, and the Windows SDK where they prove neither."""

from __future__ import annotations

from struct import pack

from hypothesis import given
from hypothesis import strategies as st

from analyzer.buffers import decode_buffer
from analyzer.buffers.readings import string_table_base
from tests.buffers.strategies import names, u32
from tests.build.buffers import string_table, wide

START, END = "offsets count from the start of the block", "offsets count from the end of the headers"


def strings_of(data: bytes) -> list[str | None]:
    return [item["string"] for item in decode_buffer("string-table", data).tree["strings"]]


@given(st.lists(st.tuples(u32, st.none() | names), max_size=5), st.booleans())
def test_a_table_without_gaps_proves_its_reading(made: list[tuple[int, str | None]], from_start: bool) -> None:
    base, notes = string_table_base(string_table(made, from_start=from_start))
    if all(text is None for _, text in made):
        assert (base, notes) == (0, [])
    elif from_start:
        assert base == 0
        assert "start of the block" in notes[0]
    else:
        assert base == 8 + 8 * len(made)
        assert notes[0].startswith(END)


def table(offsets: list[int], texts: bytes) -> bytes:
    head = b"".join(pack("<II", number, offset) for number, offset in enumerate(offsets))
    return pack("<II", 8 + len(head) + len(texts), len(offsets)) + head + texts


def test_where_both_readings_fit_the_sdk_header_decides() -> None:
    # The headers end at 16; counted from there, the string `b` is at 16 + 16, and from the start of the block `a` is at 16.
    data = table([16], wide("a") + wide("cdefg") + wide("b"))
    assert data[32:34] == "b".encode("utf-16-le")
    assert strings_of(data) == ["a"]
    assert decode_buffer("string-table", data).notes == (
        "offsets fit both readings; taken from the start of the block (Windows SDK, perflib.h)",
    )


def test_an_offset_into_the_middle_of_a_string_is_no_evidence() -> None:
    # Both places lie in the block; only one of them is where a string begins.
    data = table([20], wide("a") + wide("bcdefghij") + bytes(8))
    assert strings_of(data) == ["bcdefghij"]
    assert decode_buffer("string-table", data).notes[0].startswith(START)
    data = table([24], wide("abcdefghijk") + wide("l") + bytes(8))
    assert strings_of(data) == ["l"]
    assert decode_buffer("string-table", data).notes[0].startswith(END)


def test_strings_may_be_padded_and_stand_in_any_order() -> None:
    texts = wide("one") + wide("two") + bytes(8)
    assert strings_of(table([24 + 8, 24], texts)) == ["two", "one"]
    assert strings_of(table([8, 0], texts)) == ["two", "one"]


def test_of_a_damaged_table_what_fits_is_read() -> None:
    texts = wide("one") + wide("two") + wide("six")
    assert strings_of(table([0, 8, 7], texts))[:2] == ["one", "two"]
    assert strings_of(table([32, 40, 33], texts))[:2] == ["one", "two"]
