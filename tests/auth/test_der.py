"""DER: what a reader of tokens refuses, and says where (ITU-T X.690)."""

from __future__ import annotations

import pytest

from analyzer.auth.der import read
from analyzer.core.errors import DecodeError, MalformedError, TruncatedError


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        (b"", TruncatedError, "ends inside a tag and length"),
        (b"\x02", TruncatedError, "ends inside a tag and length"),
        (b"\x1f\x81\x00", MalformedError, "a tag number above 30"),
        (b"\x30\x80\x00\x00", MalformedError, "an indefinite or oversized length"),
        (b"\x30\x85\x00\x00\x00\x00\x01\x00", MalformedError, "an indefinite or oversized length"),
        (b"\x04\x03ab", TruncatedError, "3 bytes announced, 2 there"),
        (b"\x04\x82\x00", TruncatedError, "ends inside a tag and length"),
    ],
)
def test_what_is_no_value_is_refused(data: bytes, error: type[DecodeError], text: str) -> None:
    with pytest.raises(error, match=text):
        read(data)


def test_a_value_is_what_its_tag_says() -> None:
    number = read(b"\x02\x02\xff\x7f")
    assert (number.integer("n"), number.raw) == (-129, b"\x02\x02\xff\x7f")
    assert read(b"\x0a\x01\x07").integer("n") == 7
    for data in (b"\x02\x00", b"\x02\x0a" + bytes(10), b"\x04\x01\x07"):
        with pytest.raises(MalformedError, match="no INTEGER"):
            read(data).integer("n")
    assert read(b"\x1b\x02\xffb").text("s") == "\ufffdb"
    for data in (b"\xa0\x01a", b"\x30\x01a", b"\x81\x01a"):
        with pytest.raises(MalformedError, match="where a string belongs"):
            read(data).text("s")
    assert read(b"\x04\x02ab").octets("o") == b"ab"
    with pytest.raises(MalformedError, match="tag 0x02 where 0x04 belongs"):
        read(b"\x02\x01\x07").octets("o")


def test_of_members_with_one_number_the_first_counts_and_each_holds_one_value() -> None:
    one, two = b"\xa0\x03\x02\x01\x01", b"\xa0\x03\x02\x01\x02"
    found = read(b"\x30\x0f" + one + two + b"\xa3\x03\x02\x01\x05").fields("s")
    assert {number: piece.integer("n") for number, piece in found.items()} == {0: 1, 3: 5}
    with pytest.raises(MalformedError, match="more than one value"):
        read(b"\x30\x08\xa0\x06" + b"\x02\x01\x01" * 2).fields("s")
    with pytest.raises(MalformedError, match="tag 0x31"):
        read(b"\x31\x00").fields("s")
