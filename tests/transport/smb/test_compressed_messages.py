"""Decompression against the examples of [MS-XCA] section 3, and against compressors of the tests' own."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.core.errors import DecodeError, MalformedError, OutputLimitError, TruncatedError, UnsupportedError
from analyzer.core.traced_bytes import TracedBytes, untraced
from analyzer.transport.smb.compressed_messages import (
    LZ4,
    LZ77,
    LZ77_HUFFMAN,
    LZNT1,
    MAX_OUTPUT,
    NONE,
    PATTERN_V1,
    decompress,
    decompress_message,
)
from tests.build.compression import huffman_table, pack_huffman, pack_lz77, pack_lznt1
from tests.build.smb import chained, unchained

ALPHABET = b"abcdefghijklmnopqrstuvwxyz"
NOTES = (
    b"F# F# G A A G F# E D D E F# F# E E F# F# G A A G F# E D D E F# E D D E E F# D E F# G F# D E F# G F# E D E A "
    b"F# F# G A A G F# E D D E F# E D D\0"
)


def test_plain_lz77_examples() -> None:
    """[MS-XCA] 3.1."""
    assert decompress(LZ77, bytes.fromhex("3f000000") + ALPHABET, 26) == ALPHABET
    assert decompress(LZ77, bytes.fromhex("ffffff1f61626317000fff2601"), 300) == b"abc" * 100


def test_lz77_huffman_examples() -> None:
    """[MS-XCA] 3.2."""
    table = huffman_table(
        {ord("a"): 5} | {ord(c): 5 for c in "bcdefghijklmnopqrstuvw"} | {120: 4, 121: 4, 122: 4, 256: 4}
    )
    table = bytes(48) + bytes.fromhex("50" + "55" * 10 + "454404") + bytes(66) + b"\x04" + bytes(127)
    packed = table + bytes.fromhex("d8523ed794115be9195ff9d67cdf8d0400000000")
    assert decompress(LZ77_HUFFMAN, packed, 26) == ALPHABET
    table = huffman_table({97: 3, 98: 3, 99: 2, 256: 2, 287: 2})
    assert decompress(LZ77_HUFFMAN, table + bytes.fromhex("a8dc0000ff2601"), 300) == b"abc" * 100


def test_lznt1_example() -> None:
    """[MS-XCA] 3.3."""
    packed = bytes.fromhex(
        "38b08846232000204720410010a24701a045204400084501507900c045200524138805b4024a44ef0358028c09160148"
        "4500be009e000401189000"
    )
    assert decompress(LZNT1, packed, len(NOTES)) == NOTES


texts = st.one_of(
    st.binary(max_size=300),
    st.lists(st.sampled_from([b"abc", b"\0" * 20, b"counter", b"x"]), max_size=60).map(b"".join),
    st.tuples(st.binary(min_size=1, max_size=4), st.integers(1, 3000))
    .map(lambda pair: pair[0] * pair[1])
    .map(lambda d: d[:6000]),
)


@settings(max_examples=60)
@given(texts)
def test_what_a_compressor_packs_comes_out(data: bytes) -> None:
    assert decompress(LZ77, pack_lz77(data), len(data)) == data
    assert decompress(LZNT1, pack_lznt1(data), len(data)) == data
    assert decompress(LZ77_HUFFMAN, pack_huffman(data), len(data)) == data


@settings(max_examples=200)
@given(st.sampled_from([LZNT1, LZ77, LZ77_HUFFMAN, LZ4, 9]), st.binary(max_size=600), st.integers(0, 70_000))
def test_any_bytes_come_out_at_the_promised_size_or_not_at_all(algorithm: int, packed: bytes, size: int) -> None:
    if algorithm == LZ77_HUFFMAN:
        packed = b"\x99" * 256 + packed
    with suppress(DecodeError):
        assert len(decompress(algorithm, packed, size)) == size


@pytest.mark.parametrize("length", [3, 9, 10, 17, 18, 24, 25, 26, 278, 279, 280, 281, 300, 65_534, 65_535, 70_000])
def test_a_match_of_any_length_ends_where_it_should(length: int) -> None:
    """Two in a row, so that the second takes the other half of a shared byte; what follows shows an end that is off by one."""
    data = bytes(length + 1) + b"Z" + b"ab" * (length // 2 + 2) + b"Y"
    assert decompress(LZ77, pack_lz77(data), len(data)) == data
    assert decompress(LZNT1, pack_lznt1(data), len(data)) == data
    if length < 60_000:
        assert decompress(LZ77_HUFFMAN, pack_huffman(data), len(data)) == data


def test_lz4_block() -> None:
    import lz4.block

    data = b"counter " * 50
    assert decompress(LZ4, lz4.block.compress(data, store_size=False), len(data)) == data


def test_an_unchained_message_keeps_the_address_of_what_was_not_compressed() -> None:
    message = b"\xfeSMB" + bytes(60) + b"abc" * 100
    packed = TracedBytes.of_frame(unchained(message, 64, LZ77, bytes.fromhex("ffffff1f61626317000fff2601")), 5, 100)
    opened = decompress_message(packed)
    assert opened.data == message
    assert opened.origin(4, 8)[0].start == 100 + 16 + 4
    assert opened[70:80].frames == (5,)
    assert "smb3-decompress" in opened.steps


def test_a_chain_of_all_kinds() -> None:
    parts = chained(
        6 + 8 + 300 + 300,
        (NONE, b"header", None),
        (PATTERN_V1, struct.pack("<BBHI", 0x41, 0, 0, 8), None),
        (LZNT1, pack_lznt1(b"xyz" * 100), 300),
        (LZ77, pack_lz77(b"abc" * 100), 300),
    )
    assert decompress_message(untraced(parts)).data == b"header" + b"A" * 8 + b"xyz" * 100 + b"abc" * 100


@pytest.mark.parametrize(
    "message",
    [
        struct.pack("<4sIHHI", b"\xfcSMB", 0xFFFFFFFF, LZ77, 0, 0),
        chained(8, (PATTERN_V1, struct.pack("<BBHI", 0, 0, 0, 0xFFFFFFFF), None)),
        chained(8, (LZ77, b"", MAX_OUTPUT + 1)),
        chained(8, *[(PATTERN_V1, struct.pack("<BBHI", 0, 0, 0, 1 << 23), None)] * 3),
    ],
)
def test_a_bomb_is_refused(message: bytes) -> None:
    with pytest.raises(OutputLimitError):
        decompress_message(untraced(message))


def test_a_chunk_that_is_not_compressed_is_followed_by_others() -> None:
    """[MS-XCA] 2.5.1.2: the highest bit of a chunk's header says whether it is compressed."""
    plain = struct.pack("<H", 0x3000 | 3) + b"abcd"
    packed = struct.pack("<H", 0xB000 | 2) + b"\x00ef"
    assert decompress(LZNT1, plain + packed + plain, 10) == b"abcdefabcd"


def test_a_table_of_codes_is_whole_and_holds_no_more_than_fit() -> None:
    with pytest.raises(TruncatedError, match="the table of code lengths is cut"):
        decompress(LZ77_HUFFMAN, huffman_table({97: 1, 98: 1})[:-1], 1)
    with pytest.raises(MalformedError, match="more codes than fit"):
        decompress(LZ77_HUFFMAN, huffman_table({97: 1, 98: 1, 99: 1}) + bytes(8), 1)
    assert decompress(LZ77_HUFFMAN, huffman_table({97: 1, 98: 1}) + bytes(4), 3) == b"aaa"


@pytest.mark.parametrize(
    ("match", "length"),
    [
        ("0600", 9),  # the length is in three bits
        ("0700 00", 10),  # 7 there: a nibble more
        ("0700 0e", 24),
        ("0700 0f 00", 25),  # 15 there: a byte more
        ("0700 0f fe", 279),
        ("0700 0f ff 1601", 281),  # 255 there: two bytes, which count from the beginning
        ("0700 0f ff ffff", 65538),
        ("0700 0f ff 0000 00000100", 65539),  # 0 there: four bytes
        ("0700 0f ff 0000 16010000", 281),
    ],
)
def test_lengths_of_plain_lz77_by_hand(match: str, length: int) -> None:
    """[MS-XCA] 2.4.4: one literal, one match of distance 1, one literal more."""
    packed = bytes.fromhex("ffffff5f 61" + match + "62")
    assert decompress(LZ77, packed, length + 2) == b"a" * (length + 1) + b"b"


@pytest.mark.parametrize("tail", ["ff 1500", "ff 0000 15000000"])
def test_a_long_length_below_the_short_ones_is_malformed(tail: str) -> None:
    with pytest.raises(MalformedError, match="21 is less than 22"):
        decompress(LZ77, bytes.fromhex("ffffff5f 61 0700 0f" + tail), 300)
    assert decompress(LZ77, bytes.fromhex("ffffff5f 61 0700 0f ff 1600 62"), 27) == b"a" * 26 + b"b"


@pytest.mark.parametrize("algorithm", [LZ77, LZNT1, LZ77_HUFFMAN])
def test_what_does_not_make_as_much_as_was_promised_is_malformed(algorithm: int) -> None:
    packed = {LZ77: pack_lz77, LZNT1: pack_lznt1, LZ77_HUFFMAN: pack_huffman}[algorithm](b"abcabcabcabc")
    assert decompress(algorithm, packed, 12) == b"abcabcabcabc"
    with pytest.raises(DecodeError):
        decompress(algorithm, packed[: len(packed) - 4] if algorithm != LZ77_HUFFMAN else packed[:-8], 40)


def test_no_reference_leads_before_the_beginning() -> None:
    """In LZNT1 the beginning of the chunk."""
    assert decompress(LZ77, bytes.fromhex("ffffff3f 6162 0800"), 5) == b"ababa"
    with pytest.raises(MalformedError, match="a reference 3 bytes back, 2 are there"):
        decompress(LZ77, bytes.fromhex("ffffff3f 6162 1000"), 5)
    first = struct.pack("<H", 0xB000 | 3) + b"\0abc"
    assert decompress(LZNT1, first + struct.pack("<H", 0xB000 | 3) + b"\x02d\0\0", 7) == b"abcdddd"
    with pytest.raises(MalformedError, match="a reference 2 bytes back, 1 are there"):
        decompress(LZNT1, first + struct.pack("<H", 0xB000 | 3) + b"\x02d\0\x10", 7)


def test_a_chunk_of_lznt1_holds_4096_bytes() -> None:
    """[MS-XCA] 2.5: one literal and a reference of 4095 bytes fill it."""
    full = struct.pack("<H", 0xB000 | 3) + b"\x02a" + struct.pack("<H", 4095 - 3)
    assert decompress(LZNT1, full, 4096) == b"a" * 4096
    more = struct.pack("<H", 0xB000 | 3) + b"\x02a" + struct.pack("<H", 4096 - 3)
    with pytest.raises(MalformedError, match="more than 4096 bytes"):
        decompress(LZNT1, more, 5000)
    with pytest.raises(TruncatedError, match="a reference is cut"):
        decompress(LZNT1, struct.pack("<H", 0xB000 | 2) + b"\x02a\0", 8)
    assert decompress(LZNT1, full + bytes(2) + full, 4096) == b"a" * 4096
    # A header with nothing behind it, and one byte of a header, which is none.
    with pytest.raises(TruncatedError, match="chunk"):
        decompress(LZNT1, full + b"\x03\xb0", 5000)
    assert decompress(LZNT1, full + b"\x03", 4096) == b"a" * 4096


@pytest.mark.parametrize(("offset", "is_read"), [(4, True), (5, False)])
def test_what_is_not_compressed_ends_within_the_message(offset: int, is_read: bool) -> None:
    head = b"\xfcSMB" + struct.pack("<IHHI", 0, LZ77, 0, offset) + b"abcd"
    if is_read:
        assert decompress_message(untraced(head)).data == b"abcd"
        return
    with pytest.raises(TruncatedError) as raised:
        decompress_message(untraced(head))
    assert (raised.value.field, raised.value.start, raised.value.stop) == ("compression.offset", 12, 16)


def test_a_message_may_be_as_long_as_its_framing_can_say() -> None:
    for size, is_one in ((MAX_OUTPUT, True), (MAX_OUTPUT + 1, False)):
        head = b"\xfcSMB" + struct.pack("<IHHI", size, 9, 0, 0)
        with pytest.raises(UnsupportedError if is_one else OutputLimitError):
            decompress_message(untraced(head))
        packed = b"\xfcSMB" + struct.pack("<IHHI", size - 4, 9, 0, 4) + b"abcd"
        with pytest.raises(UnsupportedError if is_one else OutputLimitError):
            decompress_message(untraced(packed))


@pytest.mark.parametrize(("promised", "error"), [(7, OutputLimitError), (8, None), (9, MalformedError)])
@pytest.mark.parametrize("algorithm", [NONE, PATTERN_V1, LZ77])
def test_a_chain_makes_exactly_what_was_promised(
    algorithm: int, promised: int, error: type[DecodeError] | None
) -> None:
    part = {
        NONE: (NONE, b"A" * 8, None),
        PATTERN_V1: (PATTERN_V1, struct.pack("<BBHI", 0x41, 0, 0, 8), None),
        LZ77: (LZ77, pack_lz77(b"A" * 8), 8),
    }[algorithm]
    message = untraced(chained(promised, part))
    if error is None:
        assert decompress_message(message).data == b"A" * 8
        return
    with pytest.raises(error):
        decompress_message(message)
    # Behind another part, what that made counts.
    with pytest.raises(error):
        decompress_message(untraced(chained(promised + 2, (NONE, b"xy", None), part)))


@pytest.mark.parametrize(
    ("algorithm", "packed", "made"),
    [
        # [MS-XCA] 2.5.1.1: a chunk header of zero ends the buffer, whatever follows it.
        (LZNT1, struct.pack("<H", 0xB003) + b"\0abc" + b"\0\0" + struct.pack("<H", 0xB003) + b"\0abc", 3),
        # [MS-XCA] 2.4.4: a flag for a match where no input is left ends it.
        (LZ77, bytes.fromhex("ffffff1f 616263"), 3),
    ],
)
def test_what_ends_by_itself_makes_no_more(algorithm: int, packed: bytes, made: int) -> None:
    assert decompress(algorithm, packed, made) == b"abc"
    with pytest.raises(MalformedError, match=f"{made} bytes came out, {made + 3} were promised"):
        decompress(algorithm, packed, made + 3)


def test_a_code_of_no_symbol_is_malformed() -> None:
    """[MS-XCA] 2.2.4: only half of all codes has a symbol here."""
    table = huffman_table({97: 1})
    assert decompress(LZ77_HUFFMAN, table + bytes(4), 2) == b"aa"
    with pytest.raises(MalformedError, match="a code that no symbol has"):
        decompress(LZ77_HUFFMAN, table + b"\0\x40\0\0", 2)
