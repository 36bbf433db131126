"""Converts times: nanoseconds since 1970 in the program, ISO 8601 UTC outside, FILETIME ([MS-DTYP] section 2.3.3) on the wire."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache

NS_PER_S = 1_000_000_000
NS_PER_US = 1_000
FILETIME_EPOCH_NS = -11_644_473_600 * NS_PER_S
UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": NS_PER_S,
    "m": 60 * NS_PER_S,
    "min": 60 * NS_PER_S,
    "h": 3600 * NS_PER_S,
    "d": 86_400 * NS_PER_S,
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = r"(?i)(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?)?"
_DURATION = r"(?i)(\d{1,12}(?:\.\d{1,9})?)\s*(ns|us|µs|ms|s|min|m|h|d)?"


def zone_of(name: str) -> tzinfo | None:
    """Returns a time zone by its IANA name or its distance from UTC, None for the zone of this machine (`local`). Raises
    `ValueError` for other names."""
    try:
        if name.casefold() == "local":
            return None
        if name[:1] in ("+", "-"):
            return datetime.fromisoformat(f"2000-01-01T00:00:00{name}").tzinfo
        from zoneinfo import ZoneInfo

        return UTC if name.upper() == "UTC" else ZoneInfo(name)
    except (OSError, KeyError):
        raise ValueError(name) from None


def earliest(times: Iterable[int | None], since_ns: int) -> int | None:
    """Returns the earliest of the known times that are not before `since_ns`, None if there is none."""
    return min((time for time in times if time is not None and time >= since_ns), default=None)


def iso_time(time_ns: int) -> str:
    """Returns a time as ISO 8601 UTC with nine decimals: `2026-11-20T13:50:16.250123000Z`."""
    seconds, ns = divmod(time_ns, NS_PER_S)
    try:
        return f"{_iso_second(seconds)}.{ns:09d}Z"
    except OverflowError:
        return f"{time_ns} ns after 1970"


class _ShownZone:
    """The time zone in which people are shown times. Programs always get UTC."""

    zone: tzinfo | None = UTC


def show_times_in(zone: tzinfo | None) -> None:
    """Sets the time zone of `shown_time` and `shown_second`. None means the zone of the machine."""
    _ShownZone.zone = zone


def shown_time(time_ns: int) -> str:
    """Returns a time as text for people, in the chosen time zone: with six decimals, as captures have, or nine if it has more."""
    seconds, ns = divmod(time_ns, NS_PER_S)
    decimals = f"{ns // 1000:06d}" if ns % 1000 == 0 else f"{ns:09d}"
    try:
        return f"{{}}.{decimals}{{}}".format(*_zoned_second(seconds))
    except OverflowError:
        return iso_time(time_ns)


def shown_second(time_ns: int) -> str:
    """Returns a time as text for people, in the chosen time zone, without decimals."""
    try:
        return "".join(_zoned_second(time_ns // NS_PER_S))
    except OverflowError:
        return iso_time(time_ns)


def _zoned_second(seconds: int) -> tuple[str, str]:
    """Returns a second in the chosen time zone as text, and its distance from UTC. Raises `OverflowError` beyond known years."""
    if _ShownZone.zone is UTC:
        return _iso_second(seconds), "Z"
    text = (_EPOCH + timedelta(seconds=seconds)).astimezone(_ShownZone.zone).isoformat()
    return text[:19], text[19:]


@lru_cache(maxsize=64)
def _iso_second(seconds: int) -> str:
    """Returns the ISO 8601 text of a second. It is cached, because records made together mostly have the same second."""
    return (_EPOCH + timedelta(seconds=seconds)).isoformat()[:19]


def systemtime_moment(
    year: int, month: int, day: int, hour: int, minute: int, second: int, milliseconds: int
) -> datetime | None:
    """Returns the moment of a SYSTEMTIME ([MS-DTYP] section 2.3.13), None if its date or time does not exist. Its day of the week
    is not checked."""
    if milliseconds > 999:
        return None
    try:
        return datetime(year, month, day, hour, minute, second, milliseconds * 1000, tzinfo=UTC)
    except ValueError:
        return None


def filetime_ns(filetime: int) -> int:
    """Converts a FILETIME (100 ns since 1601) to nanoseconds since 1970."""
    return filetime * 100 + FILETIME_EPOCH_NS


def parse_time(text: str) -> int | None:
    """Parses an ISO 8601 time (default: UTC) to nanoseconds since 1970, None if the text is no time."""
    match = re.fullmatch(_TIME, text)
    if match is None:
        return None
    *numbers, fraction, zone = match.groups()
    year, month, day, hour, minute, second = (int(number) if number else 0 for number in numbers)
    try:
        offset = timedelta(0)
        if zone and zone.upper() != "Z":
            digits = zone[1:].replace(":", "")
            offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:])) * (-1 if zone[0] == "-" else 1)
        moment = datetime(year, month, day, hour, minute, second, tzinfo=timezone(offset))
    except ValueError:
        return None
    return (moment - _EPOCH) // timedelta(seconds=1) * NS_PER_S + int((fraction or "0").ljust(9, "0"))


def parse_duration(text: str) -> int | None:
    """Parses a duration (`5s`, `500ms`, `1.5m`, `2h`, `1d`, or seconds) to nanoseconds, None if the text is no duration."""
    match = re.fullmatch(_DURATION, text.strip())
    if match is None:
        return None
    # The micro sign and the Greek letter are one letter in any case, and both are typed.
    unit = (match[2] or "s").casefold().replace("\u03bc", "\u00b5")
    from fractions import Fraction  # a hundredth of a second, and only options have durations

    return int(Fraction(match[1]) * UNITS_NS[unit])


# The fields of a SYSTEMTIME in their order, with what each may be at least and at most ([MS-DTYP] section 2.3.13).
SYSTEMTIME_RANGES = {
    "year": (1601, 30827),
    "month": (1, 12),
    "day_of_week": (0, 6),
    "day": (1, 31),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
    "milliseconds": (0, 999),
}


def systemtime_culprit(fields: Sequence[int], meant: datetime | None = None) -> str | None:
    """Returns the field of a SYSTEMTIME (in the order of `SYSTEMTIME_RANGES`) to blame: the first that is out of its range, else
    the first in which it differs from the moment that was `meant`. None if there is none."""
    named = dict(zip(SYSTEMTIME_RANGES, fields, strict=True))
    for name, (least, most) in SYSTEMTIME_RANGES.items():
        if not least <= named[name] <= most:
            return name
    if meant is not None:
        for name in ("year", "month", "day", "hour", "minute", "second"):
            if named[name] != getattr(meant, name):
                return name
    return None
