"""Which reading of an ambiguity of the specification a buffer of Windows shows (docs/readings.md)."""

import pytest

from analyzer.screens.viewmodel.pdh_comparison import _of_data, _of_strings
from tests.build.buffers import Block, perf_data, string_table

FOUR, EIGHT = b"\1\0\0\0", bytes(8)
HEADER, NUMBER = ("AMB-05", "the header of data takes 48 bytes"), ("AMB-16", "dwNumCounter is the number of blocks")
SIZED = ("AMB-03", "dwSize of a value of 4 bytes is 16")
NAMED = ("AMB-04", "instances of type 6 carry their names")


@pytest.mark.parametrize(
    ("blocks", "found"),
    [
        ([], []),
        ([Block(0, status=5)], [HEADER, NUMBER]),
        ([Block(1, values=((EIGHT,),))], [HEADER, NUMBER]),
        ([Block(1, values=((FOUR,),))], [HEADER, NUMBER, SIZED]),
        ([Block(2, ids=(1, 2), values=((FOUR, EIGHT),))], [HEADER, NUMBER, SIZED]),
        ([Block(4, instances=(("a", 1),), values=((EIGHT,),))], [HEADER, NUMBER]),
        ([Block(6, ids=(1, 2), instances=(("a", 1),), values=((EIGHT, EIGHT),))], [HEADER, NUMBER, NAMED]),
        ([Block(6, ids=(1, 2), instances=(("", 1),), values=((EIGHT, EIGHT),))], [HEADER, NUMBER]),
    ],
)
def test_what_an_answer_shows(blocks: list[Block], found: list[tuple[str, str]]) -> None:
    assert list(_of_data(perf_data(blocks))) == found


def test_how_an_odd_number_of_ids_is_padded_is_shown() -> None:
    made = list(_of_data(perf_data([Block(2, ids=(1,), values=((EIGHT,),))])))
    assert made[:2] == [HEADER, NUMBER]
    ((code, words),) = made[2:]
    assert code == "AMB-03"
    assert words.startswith("an odd number of counter ids are")


def test_a_count_that_is_wrong_shows_nothing_of_what_it_counts() -> None:
    data = bytearray(perf_data([Block(1, values=((EIGHT,),))]))
    data[4] = 2
    assert list(_of_data(bytes(data))) == [HEADER]
    assert list(_of_data(b"")) == []


@pytest.mark.parametrize("from_start", [True, False])
def test_where_offsets_of_strings_count_from(from_start: bool) -> None:
    where = "the start of the block" if from_start else "the end of the headers"
    table = string_table([(1, "one"), (2, "two")], from_start=from_start)
    assert next(iter(_of_strings(table))) == ("AMB-01", f"offsets of strings count from {where}")


def test_how_the_size_of_strings_counts_is_shown() -> None:
    table = bytearray(string_table([(1, "one"), (2, "two")], from_start=True))
    whole = len(table) + -len(table) % 8
    table += bytes(whole - len(table))
    for size, found in ((whole, None), (whole - 2, "AMB-25"), (whole + 8, "AMB-25")):
        table[:4] = size.to_bytes(4, "little")
        assert [code for code, _ in _of_strings(bytes(table))][1:] == ([found] if found is not None else [])
    odd = bytes(table) + bytes(2)
    odd = len(odd).to_bytes(4, "little") + odd[4:]
    assert list(_of_strings(odd))[1:] == [("AMB-21", "a table of strings is not padded to 8")]
    # Of a table without strings there is no offset, and one that is cut short says nothing.
    assert list(_of_strings((8).to_bytes(4, "little") + bytes(4))) == []
    assert list(_of_strings((8).to_bytes(4, "little") + b"\1\0\0\0")) == []
