"""Times, frame ids, labels."""

from enum import IntEnum

from analyzer.core.frames import file_of, frame_id, number_of
from analyzer.core.labels import label
from analyzer.core.times import filetime_ns, iso_time, shown_time


class Colour(IntEnum):
    RED = 1


def test_iso_time_has_nine_decimals_and_never_a_float() -> None:
    assert iso_time(1_795_213_816_245_428_601) == "2026-11-20T22:30:16.245428601Z"
    assert iso_time(0) == "1970-01-01T00:00:00.000000000Z"
    assert shown_time(0) == "1970-01-01T00:00:00.000000Z"
    assert shown_time(10**30) == f"{10**30} ns after 1970"
    assert shown_time(1_000_000_001) == "1970-01-01T00:00:01.000000001Z"
    assert iso_time(-1) == "1969-12-31T23:59:59.999999999Z"
    assert iso_time(10**30) == f"{10**30} ns after 1970"


def test_filetime_counts_from_1601() -> None:
    assert filetime_ns(116_444_736_000_000_000) == 0


def test_frame_ids_of_the_first_file_are_the_numbers() -> None:
    assert frame_id(0, 7) == 7
    assert (file_of(frame_id(3, 7)), number_of(frame_id(3, 7))) == (3, 7)
    assert frame_id(0, 9_999_999) < frame_id(1, 1)


def test_an_unknown_number_is_labelled_as_such() -> None:
    assert label(Colour, 1) == "RED"
    assert label(Colour, 0x2A) == "0x2a?"
