"""Times: integer nanoseconds since 1970 inside, ISO 8601 UTC outside; FILETIME ([MS-DTYP] section 2.3.3) in between."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

NS_PER_S = 1_000_000_000
FILETIME_EPOCH_NS = -11_644_473_600 * NS_PER_S
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso_time(time_ns: int) -> str:
    """ISO 8601 UTC with nine decimals: `2026-11-20T13:50:16.250123000Z`."""
    seconds, ns = divmod(time_ns, NS_PER_S)
    try:
        return f"{_iso_second(seconds)}.{ns:09d}Z"
    except OverflowError:
        return f"{time_ns} ns after 1970"


@lru_cache(maxsize=64)
def _iso_second(seconds: int) -> str:
    """What is made a record at a time is mostly of the same second, or of those of a few connections."""
    return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S}"


def systemtime_moment(
    year: int, month: int, day: int, hour: int, minute: int, second: int, milliseconds: int
) -> datetime | None:
    """The moment of a SYSTEMTIME ([MS-DTYP] section 2.3.13), None for a date or time that does not exist; its day of the week is
    for who needs it to compare."""
    if milliseconds > 999:
        return None
    try:
        return datetime(year, month, day, hour, minute, second, milliseconds * 1000, tzinfo=UTC)
    except ValueError:
        return None


def filetime_ns(filetime: int) -> int:
    """A FILETIME (100 ns since 1601) as nanoseconds since 1970."""
    return filetime * 100 + FILETIME_EPOCH_NS
