"""Lines of a dump and the bytes they spell: where offsets, groups and the text beside them decide."""

import pytest

from analyzer.commands.shared.hex_dump import _USUAL, _WIDEST, MAX_REPEATED, dumped_bytes
from tests.written import Tables, held

TABLES = Tables()

SIXTEEN = bytes(range(0x80, 0x90))


def shown(data: bytes) -> str:
    return "".join(chr(byte) if 0x20 <= byte <= 0x7E else "." for byte in data)


def test_bounds_are_those_of_the_programs() -> None:
    """`xxd` has at most 256 columns; a `*` of more than 64 MiB is no dump that anybody keeps."""
    assert (_USUAL, _WIDEST, MAX_REPEATED) == (16, 256, 67_108_864)


def spelled(lines: list[str]) -> object:
    data = dumped_bytes(lines)
    return data.decode() if data is not None and data.isascii() and data.decode().isprintable() else data


@TABLES.of(
    # Offsets are hexadecimal, count from that of the first line, and have to agree with the bytes.
    *(f"0010  {SIXTEEN.hex(' ')} / 0020  {SIXTEEN.hex(' ')}", f"00f0: {SIXTEEN.hex(' ')} / 0100: 41"),
    *("0000  41 42 / 0002  43 44 / 0004", "0000  41 42 /  /    / 0002  43 44", "0000  41 42 / 0003  43 44"),
    *("0000  41 42 / 0001  43 44", "0002  41 42 / 0000  43 44", "0000  41 42 / 0000  43 44"),
    # On a line are as many bytes as up to the next offset; groups do not cross it.
    *("0000  4142 43 / 0003  44", "0000  414243 / 0002  44", "0000  41 / 0002  44", "0000  zz / 0002  44"),
    *("0000 / 0002  44", "0000  41 42 43 44  ABCD / 0001  43"),
    # No dump is without bytes, or has other lines.
    *("0000", "", "*", "xyz", "0000  41 42 / xyz", "0000  zz"),
    # A star repeats the line before it up to the next offset.
    *("0000  41 42 / * / 0008  43 44", "0000  41 42 / 0002  43 44 / * / 0009  45 46"),
    *(f"0000  41 42 / 0002  43 44 / * / {end}" for end in ("0008", "0004  45", "0003  45", "0006  45 46 / 0009  47")),
    *("0010  41 42 / 0012  43 44 / * / 0018  45", "* / 0000  41"),
)
def offsets_and_bytes_agree(lines):
    return spelled(lines.split(" / ") if lines else [])


# As `hexdump` prints "ABCD", "ABC", 33 zeros and 40 times "AB" on a little-endian machine. Eight digits of offset, capitals or
# bytes by themselves are of other programs.
@TABLES.of(
    *("0000000 4241 4443 / 0000004", "0000000 4241 0043 / 0000003", "0000000 4241 4443"),
    *(f"0000000{' 0000' * 8} / * / 0000020 0000 / 0000021", f"0000000{' 4241' * 8} / * / 0000050"),
    *("0000000 4241 0043 / 0000003 4241 4241", "00000000 4241 4443 / 00000004", "0000000 42 41 44 43 / 0000004"),
    "0000000 4A41 4443 / 0000004",
)
def words_of_hexdump_are_swapped(lines):
    return spelled(lines.split(" / "))


# Of each, the text begins with what could be bytes as well.
@pytest.mark.parametrize("beside", ["ab cd", "ab . cd", "ab ~ cd", "ab ! cd", "abab", "|12 34|", "  12 34  ", "beef"])
@pytest.mark.parametrize("unprinted", [b"\x7f", b"\x1f"])
def test_of_the_last_line_the_text_is_no_part(beside: str, unprinted: bytes) -> None:
    data = beside.strip("|").encode().replace(b".", unprinted).removeprefix(b"  ")
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


test_dumps_spell_what_was_read_through = held(__file__, TABLES)
