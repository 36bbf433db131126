"""The time in the header of a data answer cannot be right.

Looks for: a PerfTime100NSec before the year 2000 or after 2100; a SystemTime whose month, day, weekday or time of day does not
exist; the two naming moments more than a second apart.

Why it matters: values are put on a time line by these fields, and rates of system-time counters are divided by them.

Specification: [MS-PCQ] section 2.2.4.7: PerfTime100NSec counts intervals of 100 ns since 1601 in UTC; SystemTime is the time at
which the provider collected the data, in the form of [MS-DTYP] section 2.3.13 (year, month from 1, weekday from Sunday 0, day,
hour, minute, second, milliseconds).

Flagged: month 13; a Saturday that is called Tuesday; a PerfTime100NSec of 0. A warning: the two 3 seconds apart.

Accepted: both within a second of each other and within a day of the capture's own clock.

Silent: where the answer is sealed or was not captured. A time in this century that is more than a day from the capture's clock
is inconclusive: either clock may be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from analyzer.core.times import SYSTEMTIME_RANGES, systemtime_culprit, systemtime_moment
from analyzer.questions.audit.answers import DataAnswer
from analyzer.questions.audit.checks import Violation, data_answers, judgements
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity, inconclusive, passed

EPOCH, DATE, SAME = "PCQ-2.2.4.7-R05", "PCQ-2.2.4.7-R08", "PCQ-2.2.4.7-R09"
REQUIREMENTS = (EPOCH, DATE, SAME)
_TICKS_AT_1970, _TICKS_A_SECOND = 116_444_736_000_000_000, 10_000_000
_YEAR_2000, _YEAR_2100 = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (2000, 2101))

RULE = Rule("PCQ521", "system-time-implausible", Level.VALUES, Severity.WARNING)


@data_answers(RULE, REQUIREMENTS, of_values=True)
def _check(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    if answer.header is None:
        return
    time_100ns, date = answer.header[3], answer.header[5:]
    seconds = (time_100ns - _TICKS_AT_1970) / _TICKS_A_SECOND
    path, span = "lpData.perf_time_100ns", (16, 24)
    is_plausible = _YEAR_2000 <= seconds < _YEAR_2100
    violations = [] if is_plausible else [Violation(path, span, "a time from 2000 to 2100", f"{time_100ns}")]
    assert call.response is not None
    captured = call.response.side.last_time_ns / 1e9
    if is_plausible and abs(seconds - captured) > 86400:
        yield inconclusive(EPOCH, "the time differs from the capture's clock by more than a day", call)
    else:
        yield from judgements(
            call, "response", (EPOCH,), 1, violations, "the system time is of no time such traffic is of"
        )
    moment = _moment(date)
    apart = moment.timestamp() - seconds if moment is not None and is_plausible else None
    if apart is not None and abs(apart) <= 1:
        yield passed(DATE)
        yield passed(SAME)
        return
    named = "{}-{:02}-{:02} {:02}:{:02}:{:02}.{:03}, weekday {}".format(*date[:2], *date[3:], date[2])
    meant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds) if is_plausible else None
    path, span = _place(systemtime_culprit(date, meant) or ("day_of_week" if _is_date(date) else None))
    violations = [] if moment is not None else [Violation(path, span, "a date and time of the calendar", named)]
    yield from judgements(call, "response", (DATE,), 1, violations, "the date and time do not exist")
    if apart is not None and meant is not None:
        violations = [Violation(path, span, meant.strftime("%Y-%m-%d %H:%M:%S"), named)]
        message = "the date and time are another moment than the system time beside them"
        yield from judgements(call, "response", (SAME,), 1, violations, message, warn=True)


def _place(name: str | None) -> tuple[str, tuple[int, int]]:
    """A field of the date and time, the whole where no field is to blame."""
    if name is None:
        return "lpData.system_time", (32, 48)
    at = 32 + 2 * list(SYSTEMTIME_RANGES).index(name)
    return f"lpData.system_time.{name}", (at, at + 2)


def _is_date(date: tuple[int, ...]) -> bool:
    """Whether there is such a date, whatever the day of the week."""
    year, month, _, *rest = date
    return systemtime_moment(year, month, *rest) is not None


def _moment(date: tuple[int, ...]) -> datetime | None:
    year, month, weekday, day, hour, minute, second, milliseconds = date
    moment = systemtime_moment(year, month, day, hour, minute, second, milliseconds)
    return moment if moment is not None and moment.isoweekday() % 7 == weekday else None
