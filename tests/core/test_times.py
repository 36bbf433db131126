"""Times and durations at the ends of what their forms allow."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest

from analyzer.core.times import (
    FILETIME_EPOCH_NS,
    NS_PER_S,
    UNITS_NS,
    filetime_ns,
    iso_time,
    parse_duration,
    parse_time,
    show_times_in,
    shown_second,
    shown_time,
    systemtime_culprit,
)

# [MS-DTYP] section 2.3.13, field by field.
SYSTEMTIME = {
    "year": (1601, 30827),
    "month": (1, 12),
    "day_of_week": (0, 6),
    "day": (1, 31),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
    "milliseconds": (0, 999),
}
USUAL = (2024, 2, 4, 29, 23, 58, 57, 500)


def with_field(name: str, value: int) -> tuple[int, ...]:
    at = list(SYSTEMTIME).index(name)
    return (*USUAL[:at], value, *USUAL[at + 1 :])


@pytest.mark.parametrize("name", SYSTEMTIME)
def test_a_field_of_a_systemtime_is_to_blame_beyond_its_range_and_not_at_its_ends(name: str) -> None:
    least, most = SYSTEMTIME[name]
    assert systemtime_culprit(with_field(name, least - 1)) == name
    assert systemtime_culprit(with_field(name, least)) is None
    assert systemtime_culprit(with_field(name, most)) is None
    assert systemtime_culprit(with_field(name, most + 1)) == name


@pytest.mark.parametrize("name", ["year", "month", "day", "hour", "minute", "second"])
def test_the_field_in_which_a_systemtime_differs_from_what_was_meant_is_to_blame(name: str) -> None:
    meant = datetime(2024, 2, 29, 23, 58, 57, tzinfo=UTC)
    assert systemtime_culprit(USUAL, meant) is None
    assert systemtime_culprit(with_field(name, USUAL[list(SYSTEMTIME).index(name)] - 1), meant) == name


def test_neither_the_day_of_the_week_nor_milliseconds_are_held_against_what_was_meant() -> None:
    meant = datetime(2024, 2, 29, 23, 58, 57, tzinfo=UTC)
    assert systemtime_culprit(with_field("day_of_week", 5), meant) is None
    assert systemtime_culprit(with_field("milliseconds", 501), meant) is None


def test_of_fields_that_differ_the_longest_is_to_blame() -> None:
    meant = datetime(2023, 1, 28, 22, 57, 56, tzinfo=UTC)
    names = ["year", "month", "day", "hour", "minute", "second"]
    for at, name in enumerate(names):
        right = {"year": 2023, "month": 1, "day": 28, "hour": 22, "minute": 57, "second": 56}
        fields = USUAL
        for before in names[:at]:
            place = list(SYSTEMTIME).index(before)
            fields = (*fields[:place], right[before], *fields[place + 1 :])
        assert systemtime_culprit(fields, meant) == name


def test_the_units_of_durations_are_those_of_si_and_of_clocks() -> None:
    microsecond = 10**3
    assert {
        "ns": 1,
        "us": microsecond,
        "µs": microsecond,
        "ms": 10**6,
        "s": 10**9,
        "m": 60 * 10**9,
        "min": 60 * 10**9,
        "h": 60 * 60 * 10**9,
        "d": 24 * 60 * 60 * 10**9,
    } == UNITS_NS
    assert NS_PER_S == 10**9
    for unit, ns in UNITS_NS.items():
        assert parse_duration(f"1{unit}") == parse_duration(f"1 {unit.upper()}") == ns
        assert parse_duration(f"2.5 {unit}") == 5 * ns // 2


@pytest.mark.parametrize("micro", ["\u00b5", "\u03bc", "\u039c"], ids=["sign", "small letter", "capital letter"])
def test_a_microsecond_is_spelt_with_any_letter_that_looks_like_it(micro: str) -> None:
    assert parse_duration(f"3 {micro}s") == parse_duration(f"3{micro}S") == 3000


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("999999999999", 999_999_999_999 * 10**9),
        ("1000000000000", None),
        ("0.000000001", 1),
        ("0.0000000001", None),
        ("0", 0),
        ("0.9ns", 0),
        ("1.", None),
        (".5", None),
        ("1 2s", None),
        ("1ss", None),
    ],
)
def test_a_duration_has_twelve_digits_and_nine_decimals_at_most(text: str, ns: int | None) -> None:
    assert parse_duration(text) == ns


# FILETIMEs with the times that Windows states for them.
@pytest.mark.parametrize(
    ("filetime", "text"),
    [
        (0, "1601-01-01T00:00:00.000000000Z"),
        (1, "1601-01-01T00:00:00.000000100Z"),
        (116_444_736_000_000_000, "1970-01-01T00:00:00.000000000Z"),
        (128_166_372_030_000_000, "2007-02-22T17:00:03.000000000Z"),
        (2_650_467_743_999_999_999, "9999-12-31T23:59:59.999999900Z"),
        (2_650_467_744_000_000_000, "253402300800000000000 ns after 1970"),
    ],
)
def test_a_filetime_is_shown_as_iso_8601(filetime: int, text: str) -> None:
    assert iso_time(filetime_ns(filetime)) == text
    assert FILETIME_EPOCH_NS == -(369 * 365 + 89) * 86_400 * 10**9


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (1_000, "1970-01-01T00:00:00.000001Z"),
        (1_100, "1970-01-01T00:00:00.000001100Z"),
        (999_999_000, "1970-01-01T00:00:00.999999Z"),
        (-1_000_000_000, "1969-12-31T23:59:59.000000Z"),
    ],
)
def test_a_time_for_people_has_nine_decimals_only_where_it_needs_them(ns: int, text: str) -> None:
    assert shown_time(ns) == text


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2024-02-29T23:59:58.123456789+01:00", "2024-02-29T22:59:58.123456789Z"),
        ("2024-02-29t23:59:58.1-0130", "2024-03-01T01:29:58.100000000Z"),
        ("2024-02-29 23:59", "2024-02-29T23:59:00.000000000Z"),
        ("0001-01-01", "0001-01-01T00:00:00.000000000Z"),
        ("2024-02-29T23:59:58.1234567890Z", None),
        ("2024-02-29T23", None),
        ("2024-02-29Z", None),
        ("2024-2-29", None),
        ("2023-02-29", None),
        ("2024-02-29T00:00:60Z", None),
        ("2024-02-29T00:00+24:00", None),
        (" 2024-02-29", None),
        ("2024-02-29T00:00Zjunk", None),
    ],
)
def test_a_time_is_read_to_the_nanosecond_and_in_its_zone(text: str, iso: str | None) -> None:
    time_ns = parse_time(text)
    assert (iso_time(time_ns) if time_ns is not None else None) == iso


@pytest.fixture
def utc_afterwards() -> Iterator[None]:
    yield
    show_times_in(UTC)


@pytest.mark.usefixtures("utc_afterwards")
@pytest.mark.parametrize(
    ("zone", "time_ns", "shown", "second"),
    [
        (UTC, 0, "1970-01-01T00:00:00.000000Z", "1970-01-01T00:00:00Z"),
        (UTC, 1_001, "1970-01-01T00:00:00.000001001Z", "1970-01-01T00:00:00Z"),
        (
            timezone(timedelta(hours=-5, minutes=-30)),
            0,
            "1969-12-31T18:30:00.000000-05:30",
            "1969-12-31T18:30:00-05:30",
        ),
        # Summer and winter of one zone.
        (
            ZoneInfo("Europe/Berlin"),
            1_784_592_000 * NS_PER_S,
            "2026-07-21T02:00:00.000000+02:00",
            "2026-07-21T02:00:00+02:00",
        ),
        (
            ZoneInfo("Europe/Berlin"),
            1_795_305_600 * NS_PER_S,
            "2026-11-22T01:00:00.000000+01:00",
            "2026-11-22T01:00:00+01:00",
        ),
        # A moment that no date of Python reaches.
        (ZoneInfo("Europe/Berlin"), 1 << 70, f"{1 << 70} ns after 1970", f"{1 << 70} ns after 1970"),
    ],
)
def test_people_are_shown_times_of_the_zone_that_was_asked_for(
    zone: tzinfo, time_ns: int, shown: str, second: str
) -> None:
    utc = iso_time(time_ns)
    show_times_in(zone)
    assert (shown_time(time_ns), shown_second(time_ns)) == (shown, second)
    assert iso_time(time_ns) == utc
