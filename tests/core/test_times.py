"""Times and durations at the ends of what their forms allow: `times.txt` says what comes of which text or number."""

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from analyzer.core.times import (
    FILETIME_EPOCH_NS,
    NS_PER_S,
    UNITS_NS,
    earliest,
    filetime_ns,
    iso_time,
    parse_duration,
    parse_time,
    show_times_in,
    shown_second,
    shown_time,
    systemtime_culprit,
    systemtime_moment,
)
from tests.written import Tables, held

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
TABLES = Tables()


def with_fields(**values: int) -> tuple[int, ...]:
    return tuple(values.get(name, usual) for name, usual in zip(SYSTEMTIME, USUAL, strict=True))


@TABLES.of(
    {},
    *({name: value} for name, ends in SYSTEMTIME.items() for value in (ends[0] - 1, *ends, ends[1] + 1)),
)
def a_field_of_a_systemtime_is_to_blame_beyond_its_range_and_not_at_its_ends(**values: int) -> str | None:
    return systemtime_culprit(with_fields(**values))


@TABLES.of(
    {},
    *({name: with_fields()[list(SYSTEMTIME).index(name)] - 1} for name in SYSTEMTIME if name != "day_of_week"),
    {"day_of_week": 5},
    {"year": 2023, "month": 1, "day": 28, "hour": 22, "minute": 57, "second": 56},
    {"month": 1, "day": 28, "hour": 22, "minute": 57, "second": 56},
    {"day": 28, "hour": 22, "minute": 57, "second": 56},
    {"hour": 22, "minute": 57, "second": 56},
    {"minute": 57, "second": 56},
)
def of_the_fields_in_which_a_systemtime_differs_from_what_was_meant_the_longest_is_to_blame(
    **values: int,
) -> str | None:
    """Neither the day of the week nor milliseconds are held against what was meant."""
    return systemtime_culprit(with_fields(**values), datetime(2024, 2, 29, 23, 58, 57, tzinfo=UTC))


@TABLES.of((2024, 2, 29, 23, 59, 58, 999), (2024, 2, 29, 23, 59, 58, 1000), (2023, 2, 29, 0, 0, 0, 0))
def the_moment_of_a_systemtime_is_one_that_exists(*fields: int) -> datetime | None:
    return systemtime_moment(*fields)


def test_the_units_of_durations_are_those_of_si_and_of_clocks() -> None:
    small = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}
    minute = 60 * 10**9
    assert small | {"m": minute, "min": minute, "h": 60 * minute, "d": 24 * 60 * minute} == UNITS_NS
    assert NS_PER_S == 10**9
    for unit, ns in UNITS_NS.items():
        assert parse_duration(f"1{unit}") == parse_duration(f"1 {unit.upper()}") == ns
        assert parse_duration(f"2.5 {unit}") == 5 * ns // 2


@TABLES.of(
    *("3", "1.5m", " 500 MS ", "7ns", "1w", "-1s", ""),
    # A sign, a small and a capital letter.
    *(f"3 {micro}s" for micro in "\u00b5\u03bc\u039c"),
    *("999999999999", "1000000000000", "0.000000001", "0.0000000001", "0", "0.9ns", "1.", ".5", "1 2s", "1ss"),
)
def a_duration_has_a_unit_or_is_of_seconds_with_twelve_digits_and_nine_decimals_at_most(text: str) -> str:
    return f"{parse_duration(text)} ns"


# FILETIMEs with the times that Windows states for them.
@TABLES.of(
    *(0, 1, 116_444_736_000_000_000, 128_166_372_030_000_000),
    *(2_650_467_743_999_999_999, 2_650_467_744_000_000_000),
)
def a_filetime_is_shown_as_iso_8601(filetime: int) -> str:
    assert FILETIME_EPOCH_NS == -(369 * 365 + 89) * 86_400 * 10**9
    return iso_time(filetime_ns(filetime))


@TABLES.of(
    *("1970-01-01", "1970-01-02T00:00Z", "1970-01-01 00:00:01", "1970-01-01T00:00:01.5"),
    *("1970-01-01T00:00:00.000000001z", "1970-01-01T02:30+02:30", "1969-12-31T22:00:00-0200"),
    *("1969-12-31T23:59:59.25Z", "1970-13-01", "1970-01-01T25:00", "1970-01-01T00:00+99:00", "yesterday"),
    *("2024-02-29T23:59:58.123456789+01:00", "2024-02-29t23:59:58.1-0130", "2024-02-29 23:59", "0001-01-01"),
    *("2024-02-29T23:59:58.1234567890Z", "2024-02-29T23", "2024-02-29Z", "2024-2-29", "2023-02-29"),
    *("2024-02-29T00:00:60Z", "2024-02-29T00:00+24:00", " 2024-02-29", "2024-02-29T00:00Zjunk"),
)
def a_time_is_read_in_the_forms_of_iso_8601_to_the_nanosecond_and_in_its_zone(text: str) -> str | None:
    time_ns = parse_time(text)
    return iso_time(time_ns) if time_ns is not None else None


@TABLES.of(([None, 5, 3, 9], 4), ([None, 5, 4], 4), ([None, 3], 4))
def the_earliest_time_is_one_that_is_known_and_not_before_the_bound(times: list[int | None], bound: int) -> int | None:
    return earliest(times, bound)


BERLIN, ODD = ZoneInfo("Europe/Berlin"), timezone(timedelta(hours=-5, minutes=-30))


@TABLES.of(
    # For people, nine decimals only where they are needed; beyond the dates of Python there are nanoseconds.
    *((UTC, time_ns) for time_ns in (0, 1_000, 1_001, 999_999_000, 1_000_000_001, -1, -1_000_000_000, 10**30)),
    (UTC, 1_795_213_816_245_428_601),
    # Summer and winter of one zone.
    *((ODD, 0), (BERLIN, 1_784_592_000 * NS_PER_S), (BERLIN, 1_795_305_600 * NS_PER_S), (BERLIN, 1 << 70)),
)
def people_are_shown_times_of_the_zone_that_was_asked_for_and_programs_never(zone: tzinfo, time_ns: int) -> str:
    try:
        show_times_in(zone)
        return f"{shown_time(time_ns)}, {shown_second(time_ns)}, {iso_time(time_ns)}"
    finally:
        show_times_in(UTC)


test_times_are_what_was_read_through = held(__file__, TABLES)
