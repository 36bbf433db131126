"""Which of two readings a table of strings has: what its bytes prove, and the Windows SDK where they prove neither."""

import re
from itertools import chain, product
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.errors import MalformedError
from analyzer.interfaces.buffers.ambiguous_readings import (
    check_strings,
    id_paddings,
    string_offsets,
    string_table_base,
)
from analyzer.interfaces.buffers.buffer_trees import decode_buffer
from analyzer.interfaces.buffers.windows_text import without_unpaired
from tests.build.buffers import string_table, wide
from tests.interfaces.buffers.strategies import names, u32

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


HIGH, BAD = b"\x3d\xd8", b"\xfd\xff"


# The first and last of both halves, their neighbours, and a letter.
UNITS = [pack("<H", unit) for unit in (0x61, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000)]


@pytest.mark.parametrize("start", [0, 2, 8])
def test_half_a_pair_of_surrogates_becomes_the_replacement_character(start: int) -> None:
    """Of all texts of up to four units, as Python decodes them; half a unit at the end is no unit."""
    before = HIGH * (start // 2)
    for text in map(b"".join, chain.from_iterable(product(UNITS, repeat=count) for count in range(5))):
        whole = re.sub("[\ud800-\udfff]", "\ufffd", text.decode("utf-16-le", "surrogatepass")).encode("utf-16-le")
        for behind in (b"", b"\x3d"):
            expected = before + whole + behind if whole != text else None
            assert without_unpaired(before + text + behind, start) == expected


def ids_block(kind: int, ids: int, size: int, after: bytes, *, padding: int = 0) -> bytes:
    """Performance data of one block with counter ids, whose Size says `size`, and what follows them."""
    body = pack("<II", size, ids) + pack("<I", 5) * ids + bytes(padding) + after
    block = pack("<IIII", 0, kind, 16 + len(body), 0) + body
    return pack("<II40x", 48 + len(block), 1) + block


def values_of_size(*sizes: int) -> bytes:
    return b"".join(pack("<II", held, 8 + held + -held % 8) + bytes(held + -held % 8) for held in sizes)


def instances_of(*rows: bytes) -> bytes:
    inside = b"".join(pack("<II", 16, 7) + b"a\0\0\0\0\0\0\0" + row for row in rows)
    return pack("<II", 8 + len(inside), len(rows)) + inside


NOTE = "block 0: 4 bytes of padding after the counter ids are counted by no size"
UNALIGNED = "block 0: the counter ids have no padding (Windows SDK, perflib.h); what follows is not 8-aligned, against MS-PCQ 2.2.4"


@pytest.mark.parametrize("kind", [2, 6])
@pytest.mark.parametrize(
    ("ids", "counted", "padding", "paddings", "notes"),
    [
        (1, True, 4, 4, [NOTE]),
        (1, True, 0, 0, [UNALIGNED]),
        (1, False, 4, 0, []),
        (2, True, 0, 0, []),
        (3, True, 4, 4, [NOTE]),
        (3, True, 0, 0, [UNALIGNED]),
    ],
)
def test_padding_after_counter_ids_shows_by_what_follows(
    kind: int, ids: int, counted: bool, padding: int, paddings: int, notes: list[str]
) -> None:
    """[MS-PCQ] 2.2.4 against 2.2.4.11: an odd number of ids is followed by 4 bytes that Size counts, or does not, or by none."""
    row = values_of_size(*[8] * ids)
    after = instances_of(row, row) if kind == 6 else row
    size = 8 + 4 * ids + (0 if counted else padding)
    assert id_paddings(ids_block(kind, ids, size, after, padding=padding)) == ([paddings], notes)


@pytest.mark.parametrize("kind", [0, 1, 4])
def test_other_blocks_have_no_counter_ids(kind: int) -> None:
    assert id_paddings(ids_block(kind, 1, 12, values_of_size(8), padding=4)) == ([0], [])


@pytest.mark.parametrize(
    ("kind", "size", "ids", "after", "paddings"),
    [
        # Values that end behind the block, or before its end, in both readings: the one that leaves less than 8 bytes.
        (2, 12, 1, bytes(4) + values_of_size(4) + bytes(4), 4),
        (2, 12, 1, bytes(4) + values_of_size(4) + bytes(8), 0),
        (2, 12, 1, values_of_size(4) + bytes(4), 0),
        (2, 12, 1, b"", 0),
        (2, 4, 1, bytes(4) + values_of_size(4), 0),
        (2, 1000, 1, bytes(4) + values_of_size(4), 0),
        (2, 12, 1, bytes(4) + pack("<II", 8, 12) + bytes(8), 0),
        (6, 12, 1, bytes(4) + instances_of(values_of_size(4)), 4),
        (6, 12, 1, bytes(4) + instances_of(), 4),
        (6, 12, 1, instances_of(), 0),
        (6, 12, 1, bytes(4) + pack("<II", 16, 1) + pack("<II", 4, 7), 0),
        (6, 12, 1, bytes(4) + pack("<II", 16, 1) + pack("<II", 24, 7), 0),
        (6, 12, 1, bytes(4) + pack("<II", 48, 3) + pack("<II", 16, 7) + bytes(8) + pack("<II", 8, 12) + bytes(8), 0),
        (6, 12, 1, bytes(4) + pack("<II", 40, 3) + pack("<II", 16, 7) + bytes(8) + values_of_size(8), 0),
        # A value without bytes, and an instance without values, up to the very end.
        (2, 12, 1, bytes(4) + values_of_size(0), 4),
        (6, 12, 1, bytes(4) + instances_of(values_of_size(0)), 4),
        # Less than 8 bytes may be left over in either reading; as the sizes state it comes first.
        (6, 12, 1, bytes(16), 4),
        (6, 12, 1, bytes(15), 0),
        (6, 12, 1, bytes(19), 4),
        (6, 12, 1, bytes(20), 0),
    ],
)
def test_what_fits_neither_reading_is_followed_as_it_is(
    kind: int, size: int, ids: int, after: bytes, paddings: int
) -> None:
    assert id_paddings(ids_block(kind, ids, size, after))[0] == [paddings]


@pytest.mark.parametrize(
    ("first", "after", "expected"),
    [
        # No ids at all, behind a block that ends between words: nothing follows, or their padding, or other bytes.
        (20, b"", [0, 0]),
        (20, bytes(4), [0, 4]),
        (16, bytes(4), [0, 0]),
        (20, instances_of(b""), [0, 0]),
    ],
)
def test_ids_between_words_are_padded_as_well(first: int, after: bytes, expected: list[int]) -> None:
    error = pack("<4I", 0, 0, first, 0) + bytes(first - 16)
    body = pack("<II", 8, 0) + after
    block = pack("<4I", 0, 2, 16 + len(body), 0) + body
    assert id_paddings(pack("<II40x", 0, 2) + error + block)[0] == expected


def test_instances_without_values_are_read_to_the_very_end() -> None:
    assert id_paddings(ids_block(6, 0, 12, bytes(8) + instances_of(b"")))[0] == [4]
    assert id_paddings(ids_block(6, 0, 12, bytes(4) + instances_of(b"")))[0] == [0]


@pytest.mark.parametrize("kind", [2, 6])
@pytest.mark.parametrize("more", range(12))
def test_a_block_may_end_in_the_middle_of_its_ids(kind: int, more: int) -> None:
    """The size of ids is looked at where it is there with their number, and never behind the block."""
    ids = pack("<III", 12, 1, 5)[:more]
    data = pack("<II40x", 0, 1) + pack("<4I", 0, kind, 16 + more, 0) + ids
    assert id_paddings(data) == ([0], [UNALIGNED] if more >= 8 else [])


def test_blocks_are_looked_at_as_far_as_they_are_there() -> None:
    row = values_of_size(8)
    one = ids_block(2, 1, 12, row, padding=4)[48:]
    two = pack("<II40x", 0, 2) + one + one
    assert id_paddings(two)[0] == [4, 4]
    assert id_paddings(two)[1] == [NOTE, NOTE.replace("block 0", "block 1")]
    lengths = (0, 47, 48, 63, 64, 48 + len(one) - 1, 48 + len(one), len(two) - 1)
    assert [id_paddings(two[:length])[0] for length in lengths] == [[], [], [], [], [], [], [4], [4]]
    assert id_paddings(pack("<II40x", 0, 3) + one + pack("<IIII", 0, 2, 15, 0) + one)[0] == [4]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", (0, [])),
        (bytes(7), (0, [])),
        (pack("<II", 8, 0), (0, [])),
        (pack("<II", 8, 1), (16, [])),
        (pack("<II", 8, 2) + bytes(15), (24, [])),
        (pack("<II", 8, 0xFFFFFFFF), (0xFFFFFFFF, [])),
        (table([0xFFFFFFFF], b""), (0, [])),
    ],
)
def test_a_table_without_strings_counts_from_where_it_may(data: bytes, expected: tuple[int, list[str]]) -> None:
    assert string_table_base(data) == expected


def test_strings_that_share_bytes_are_refused_beyond_twice_the_table() -> None:
    """Each is a copy: 2 * length + 1024 bytes of them at most."""
    text = "x" * 1000 + "\0"
    for count, is_refused in ((2, False), (3, True), (40, True)):
        raw = text.encode("utf-16-le")
        data = table([8 + 8 * count] * count, raw)
        wanted = count * 2000
        assert is_refused == (wanted > 2 * len(data) + 1024)
        if is_refused:
            with pytest.raises(MalformedError, match="the strings overlap"):
                check_strings(data, 0)
        else:
            check_strings(data, 0)
    check_strings(b"", 0)
    check_strings(pack("<II", 8, 0xFFFFFFFF), 0)
    check_strings(table([0xFFFFFFFF] * 3, b""), 0)


def test_text_is_looked_at_from_its_beginning() -> None:
    assert without_unpaired(HIGH + b"a\0") == BAD + b"a\0"


@pytest.mark.parametrize("zeros", [3, 4, 5])
def test_the_last_nul_stands_at_an_even_place(zeros: int) -> None:
    data = b"a\0" + bytes(zeros)
    last = len(data) - 2 - len(data) % 2
    assert string_offsets(data, (0, last), 0).lost == []
    assert string_offsets(data, (0, last + 2), 0).lost == [1]
