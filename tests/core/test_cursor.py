"""The cursor reads what is there and says where it stopped."""

import pytest

from analyzer.core.cursor import Cursor
from analyzer.core.errors import MalformedError, TruncatedError


def test_integers_follow_the_byte_order() -> None:
    data = bytes.fromhex("0102 01020304 0102030405060708 ff")
    little, big = Cursor(data), Cursor(data, order="big")
    assert (little.u16("a"), little.u32("b"), little.u64("c"), little.u8("d")) == (
        0x201,
        0x4030201,
        0x807060504030201,
        255,
    )
    assert (big.u16("a"), big.u32("b")) == (0x102, 0x1020304)


def test_reading_past_the_end_names_field_and_place() -> None:
    cursor = Cursor(b"abc")
    cursor.u16("first")
    with pytest.raises(TruncatedError, match=r"second at byte 2: 4 bytes wanted, 1 left"):
        cursor.u32("second")


def test_a_window_confines_and_must_be_used_up() -> None:
    cursor = Cursor(b"abcdef")
    with pytest.raises(TruncatedError), cursor.window("w", 2):
        cursor.u32("too much")
    cursor = Cursor(b"abcdef")
    with pytest.raises(MalformedError, match="1 bytes left over"), cursor.window("w", 3):
        cursor.u16("too little")
    assert cursor.stop == 6
