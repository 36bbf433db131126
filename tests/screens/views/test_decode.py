"""`decode`: hex dumps of every make, kinds guessed and named, damage located."""

import bz2
import gzip
import lzma
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.text import Text

from analyzer.commands.shared.hex_dump import bytes_of, dumped_bytes
from analyzer.core.errors import InputError
from analyzer.screens.views.decode import Decode
from tests.build.capture import pcap
from tests.records import plains

VECTORS = Path(__file__).resolve().parents[2] / "interfaces" / "buffers" / "vectors"


def xxd(data: bytes) -> str:
    rows = []
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        groups = " ".join(row[two : two + 2].hex() for two in range(0, len(row), 2))
        rows.append(f"{at:08x}: {groups:<39}  {beside(row)}")
    return "\n".join(rows) + "\n"


def hexdump_c(data: bytes) -> str:
    rows = []
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        halves = "  ".join(row[half : half + 8].hex(" ") for half in (0, 8) if row[half:])
        rows.append(f"{at:08x}  {halves:<48}  |{beside(row)}|")
    return "\n".join([*rows, f"{len(data):08x}"]) + "\n"


def wireshark(data: bytes) -> str:
    return "".join(
        f"{at:04x}  {data[at : at + 16].hex(' '):<47}   {beside(data[at : at + 16])}\n"
        for at in range(0, len(data), 16)
    )


def words(data: bytes) -> str:
    """`hexdump` without -C: words whose bytes are swapped, as little-endian machines print them."""
    rows = []
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        rows.append(f"{at:07x} " + " ".join(row[two : two + 2][::-1].hex() for two in range(0, len(row), 2)))
    return "\n".join([*rows, f"{len(data):07x}"]) + "\n"


def beside(row: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)


MAKERS: list[Callable[[bytes], str]] = [
    lambda data: data.hex(),
    lambda data: "0x" + data.hex(),
    lambda data: data.hex(" ").upper(),
    lambda data: data.hex(":"),
    lambda data: ", ".join(f"{byte:02x}" for byte in data),
    lambda data: "\n".join(data[at : at + 30].hex() for at in range(0, len(data), 30)),
    xxd,
    hexdump_c,
    wireshark,
]


@pytest.mark.parametrize("maker", range(len(MAKERS)))
@settings(max_examples=60)
@given(data=st.binary(min_size=1, max_size=70) | st.text("abcdef0123456789 .", min_size=1, max_size=40).map(str.encode))
def test_a_dump_spells_the_bytes(maker: int, data: bytes) -> None:
    dump = MAKERS[maker](data)
    assert bytes_of(dump.encode()) == (data, True), dump


@given(data=st.binary(min_size=2, max_size=70).filter(lambda data: len(data) % 2 == 0))
@settings(max_examples=60)
def test_swapped_words_are_put_right(data: bytes) -> None:
    assert bytes_of(words(data).encode()) == (data, True)


@pytest.mark.parametrize(
    "tool",
    [
        pytest.param(words, marks=pytest.mark.needs(words[0]), id=" ".join(words))
        for words in (["xxd"], ["xxd", "-p"], ["xxd", "-a"], ["hexdump", "-C"], ["hexdump"], ["od", "-Ax", "-tx1"])
    ],
)
def test_the_tools_own_dumps_are_read(tool: list[str], tmp_path: Path) -> None:
    whole = bytes(200) + b"deadbeef cafe|00 11" + bytes(range(256)) + bytes(77)
    for data in (whole, whole[:-1], bytes(33), b"ABC"):
        path = tmp_path / "data"
        path.write_bytes(data)
        dump = subprocess.run([*tool, str(path)], capture_output=True, check=True).stdout
        assert bytes_of(dump) == (data, True), dump.decode()


@settings(max_examples=200)
@given(st.lists(st.text("0123456789abcdef: *|.\t", max_size=60), max_size=6))
def test_any_lines_are_a_dump_or_none(lines: list[str]) -> None:
    made = dumped_bytes(lines)
    assert made is None or isinstance(made, bytes)


# ------------------------------------------------------------------------------------------------ kinds


def test_a_named_kind_is_not_guessed() -> None:
    view = Decode.from_bytes(bytes(16), "guids")
    (record,) = plains(view.records())
    assert (record["guess"], record["buffer"]) == (None, {"guids": ["00000000-0000-0000-0000-000000000000"]})


def test_what_is_no_buffer_is_refused_in_a_sentence() -> None:
    with pytest.raises(InputError, match="these 5 bytes look like no buffer of ours"):
        Decode.from_bytes(b"hello", "auto")


def test_a_kind_without_values_has_no_samples() -> None:
    with pytest.raises(InputError, match="a buffer of kind guids holds no samples"):
        Decode.from_bytes(bytes(32), "guids", samples=True)


def test_bytes_behind_the_buffer_are_reported() -> None:
    data = (VECTORS / "data_type1_single_counter_u32.bin").read_bytes()
    lines = [Text.from_markup(line).plain for line in Decode.from_bytes(data + b"tail", "perf-data").lines(None)]
    assert lines[-1] == "  4 bytes follow the buffer"


@pytest.mark.parametrize(
    ("pack", "words"),
    [
        (lambda data: data, "a pcap capture"),
        (gzip.compress, "a gzip-compressed pcap capture"),
        (bz2.compress, "a bzip2-compressed pcap capture"),
        (lambda data: lzma.compress(gzip.compress(data)), "a xz and gzip-compressed pcap capture"),
    ],
)
def test_a_capture_is_no_buffer_also_where_it_is_compressed(pack: Callable[[bytes], bytes], words: str) -> None:
    with pytest.raises(InputError, match=f"x.gz is {words}, not a buffer"):
        Decode.from_bytes(pack(pcap([(1, b"\0" * 60)])), "auto", source="x.gz")


def test_compressed_data_that_is_no_capture_is_not_called_one() -> None:
    with pytest.raises(InputError, match="look like no buffer of ours"):
        Decode.from_bytes(gzip.compress(b"hello " * 20), "auto", source="x.gz")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", (b"", False)),
        ("hello world", (b"hello world", False)),
        ("0x50455246", (b"PERF", True)),
        ("50:45,52 46", (b"PERF", True)),
        # One line of digits, and a dump of one line, by how its offset stands apart.
        ("0000 5045", (b"\0\0PE", True)),
        ("0000  5045", (b"PE", True)),
        ("0000: 5045", (b"PE", True)),
        ("0000  50 45\n0002  52 46", (b"PERF", True)),
        ("0010  50 45\n0012  52 46", (b"PERF", True)),
        # Where an offset leaps, all are digits; what is none beside digits is the text of the dump.
        ("0000  50 45\n0003  52 46", (b"\0\0PE\0\3RF", True)),
        ("0000  50 45  PE\n0003  52 46  RF", (b"0000  50 45  PE\n0003  52 46  RF", False)),
        ("0000  50 4x", (b"P", True)),
        ("0000  50 45\n*\n0006  52 46", (b"PEPEPERF", True)),
        ("*\n0002  52 46", (b"*\n0002  52 46", False)),
        ("5045\0", (b"5045\0", False)),
    ],
)
def test_digits_and_dumps_are_told_from_bytes(text: str, found: tuple[bytes, bool]) -> None:
    assert bytes_of(text.encode()) == found


@pytest.mark.parametrize(("most", "found"), [(15, None), (16, b"ab" * 9 + b"cd")])
def test_a_star_stands_for_so_many_bytes(most: int, found: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzer.commands.shared.hex_dump.MAX_REPEATED", most)
    assert dumped_bytes(["0000  61 62", "*", "0012  63 64"]) == found
