"""Lines of a dump and the bytes they spell: where offsets, groups and the text beside them decide."""

from __future__ import annotations

import pytest

from analyzer.screens.views.decode import _USUAL, _WIDEST, MAX_REPEATED, dumped_bytes

SIXTEEN = bytes(range(0x80, 0x90))


def shown(data: bytes) -> str:
    return "".join(chr(byte) if 0x20 <= byte <= 0x7E else "." for byte in data)


def test_bounds_are_those_of_the_programs() -> None:
    """`xxd` has at most 256 columns; a `*` of more than 64 MiB is no dump that anybody keeps."""
    assert (_USUAL, _WIDEST, MAX_REPEATED) == (16, 256, 67_108_864)


@pytest.mark.parametrize(
    ("lines", "data"),
    [
        # Offsets are hexadecimal, count from that of the first line, and have to agree with the bytes.
        ([f"0010  {SIXTEEN.hex(' ')}", f"0020  {SIXTEEN.hex(' ')}"], SIXTEEN * 2),
        ([f"00f0: {SIXTEEN.hex(' ')}", "0100: 41"], SIXTEEN + b"A"),
        (["0000  41 42", "0002  43 44", "0004"], b"ABCD"),
        (["0000  41 42", "", "  ", "0002  43 44"], b"ABCD"),
        (["0000  41 42", "0003  43 44"], None),
        (["0000  41 42", "0001  43 44"], b"AC"),
        (["0002  41 42", "0000  43 44"], None),
        (["0000  41 42", "0000  43 44"], None),
        # On a line are as many bytes as up to the next offset; groups do not cross it.
        (["0000  4142 43", "0003  44"], b"ABCD"),
        (["0000  414243", "0002  44"], None),
        (["0000  41", "0002  44"], None),
        (["0000  zz", "0002  44"], None),
        (["0000", "0002  44"], None),
        (["0000  41 42 43 44  ABCD", "0001  43"], b"AC"),
        # No dump is without bytes, or has other lines.
        (["0000"], None),
        ([], None),
        (["*"], None),
        (["xyz"], None),
        (["0000  41 42", "xyz"], None),
        (["0000  zz"], None),
        # A star repeats the line before it up to the next offset.
        (["0000  41 42", "*", "0008  43 44"], b"ABABABABCD"),
        (["0000  41 42", "0002  43 44", "*", "0009  45 46"], b"ABCDCDCDCEF"),
        (["0000  41 42", "0002  43 44", "*", "0008"], b"ABCDCDCD"),
        (["0000  41 42", "0002  43 44", "*", "0004  45"], b"ABCDE"),
        (["0000  41 42", "0002  43 44", "*", "0003  45"], None),
        (["0010  41 42", "0012  43 44", "*", "0018  45"], b"ABCDCDCDE"),
        (["0000  41 42", "0002  43 44", "*", "0006  45 46", "0009  47"], None),
        (["*", "0000  41"], None),
    ],
)
def test_offsets_and_bytes_agree(lines: list[str], data: bytes | None) -> None:
    assert dumped_bytes(lines) == data


@pytest.mark.parametrize(
    ("data", "beside"),
    [
        # Of each, the text begins with what could be bytes as well.
        (b"ab cd", "ab cd"),
        (b"ab \x7f cd", "ab . cd"),
        (b"ab \x1f cd", "ab . cd"),
        (b"ab ~ cd", "ab ~ cd"),
        (b"ab ! cd", "ab ! cd"),
        (b"abab", "abab"),
        (b"12 34", "|12 34|"),
        (b"12 34  ", "  12 34  "),
        (b"beef", "beef"),
    ],
)
def test_of_the_last_line_the_text_is_no_part(data: bytes, beside: str) -> None:
    assert dumped_bytes([f"0000  {data.hex(' ')}  {beside}"]) == data


@pytest.mark.parametrize("size", [_USUAL, _USUAL + 1, 32, _WIDEST])
def test_a_line_is_as_wide_as_its_text_says(size: int) -> None:
    """`xxd -c 32` of few bytes writes one line of more than 16."""
    data = bytes(0x40 + at % 32 for at in range(size))
    assert dumped_bytes([f"00000000: {data.hex(' ')}  {shown(data)}"]) == data


def test_a_line_wider_than_any_program_writes_is_read_as_of_sixteen() -> None:
    data = b"@" * (_WIDEST + 1)
    assert dumped_bytes([f"00000000: {data.hex(' ')}  {shown(data)}"]) == data[:_USUAL]
    lines = [f"0000  {data.hex(' ')}", f"{len(data):04x}  41"]
    assert dumped_bytes(lines) is None
    assert dumped_bytes([f"0000  {data[1:].hex(' ')}", "0100  41"]) == data[1:] + b"A"


def test_a_line_that_nothing_measures_has_sixteen_bytes_or_those_of_the_line_before() -> None:
    assert dumped_bytes([f"0000  {SIXTEEN.hex(' ')}  de ad in EBCDIC"]) == SIXTEEN
    assert dumped_bytes(["0000  41 42  xy", "0002  43 44  ad other"]) == b"ABCD"
    assert dumped_bytes(["0000  41 42  xy", "0002  43"]) == b"ABC"


@pytest.mark.parametrize(
    ("lines", "data"),
    [
        # As `hexdump` prints "ABCD", "ABC", 33 zeros and 40 times "AB" on a little-endian machine.
        (["0000000 4241 4443", "0000004"], b"ABCD"),
        (["0000000 4241 0043", "0000003"], b"ABC"),
        (["0000000" + " 0000" * 8, "*", "0000020 0000", "0000021"], bytes(33)),
        (["0000000" + " 4241" * 8, "*", "0000050"], b"AB" * 40),
        (["0000000 4241 4443"], b"ABCD"),
        (["0000000 4241 0043", "0000003 4241 4241"], b"ABCABA"),
        # Eight digits of offset, capitals or bytes by themselves are of other programs.
        (["00000000 4241 4443", "00000004"], b"BADC"),
        (["0000000 42 41 44 43", "0000004"], b"BADC"),
        (["0000000 4A41 4443", "0000004"], b"JADC"),
    ],
)
def test_words_of_hexdump_are_swapped(lines: list[str], data: bytes) -> None:
    assert dumped_bytes(lines) == data
