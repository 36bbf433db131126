"""Rules about the clocks in the headers of data answers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from analyzer.core.times import SYSTEMTIME_RANGES, systemtime_culprit, systemtime_moment
from analyzer.questions.audit.buffer_checks import DATA, of_data
from analyzer.questions.audit.call_evidence import CallEvidence, Evidence
from analyzer.questions.audit.data_answers import DataAnswer
from analyzer.questions.audit.rule_registry import Level, Watch, of_calls, rule
from analyzer.questions.audit.rule_verdicts import (
    At,
    Confidence,
    Judgement,
    Severity,
    failed,
    inconclusive,
    judge,
    passed,
    warned,
)

_NO_HEADER = "the answer has no header that can be read"
_TIME_AT = At("response", "lpData.perf_time_100ns", (16, 24))
_TICKS_AT = At("response", "lpData.perf_time_stamp", (8, 16))


class _Before(NamedTuple):
    """The clocks of a data answer, when it was captured and its call, to be compared with the next of its server."""

    ticks: int
    time_100ns: int
    frequency: int
    captured_ns: int
    call: int


class _ServerClocks(Watch[CallEvidence]):
    """Keeps the clocks of the last data answer of each server."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence, self._last = evidence, dict[str, _Before]()

    def take_clocks(self, call: CallEvidence) -> tuple[_Before | None, _Before] | None:
        """The clocks of the data answer before and of this one; None where this one has no header that can be read."""
        header = call.reply.answer.header if call.reply.is_readable else None
        if header is None:
            return None
        before = self._last.get(call.server)
        now = _Before(header[2], header[3], header[4], call.reply.side.last_time_ns, call.number)
        self._last[call.server] = now
        return before, now


def _overlaps(call: CallEvidence, before: _Before) -> bool:
    """Whether a call began before the data answer with the earlier clocks was given: nobody knows which the server answered
    first."""
    return call.request is None or call.request.side.first_time_ns < before.captured_ns


CLOCK, FREQUENCY = "PCQ-2.2.4.7-R04", "PCQ-2.2.4.7-R06"


@rule("PCQ520", Level.VALUES, Severity.ERROR)
@of_calls((CLOCK, FREQUENCY), DATA)
class ClockRunsBack(_ServerClocks):
    """The performance clock of a server went back, stood at frequency zero, or changed its frequency.

    Looks for: answers of QueryCounterData of one server whose PerfTimeStamp is below that of an answer given before, or whose
    PerfFreq is zero or another than before.

    Why it matters: every rate is a difference of values divided by a difference of this clock. A clock that jumps makes wild
    numbers of right ones.

    Specification: [MS-PCQ] section 2.2.4.7 calls PerfTimeStamp the time of a high-resolution clock and PerfFreq its frequency,
    which is constant while the machine is up.

    Flagged: PerfTimeStamp 1000, then 900; PerfFreq 0.

    Accepted: the same PerfTimeStamp twice; a clock that starts anew with another frequency counts as a restart, which is stated
    once.

    Silent: between calls that overlap in time; where an answer is sealed, was not captured, or is damaged. A lower PerfTimeStamp is
    not judged where frames are in another order than their bytes.
    """

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        taken = self.take_clocks(call)
        if taken is None:
            yield inconclusive(_NO_HEADER, call)
            return
        before, now = taken
        frequency = now.frequency
        if frequency == 0 or (before is not None and before.frequency != frequency):
            at = At("response", "lpData.perf_freq", (24, 32))
            message = "the frequency of the performance clock changed or is zero"
            yield failed(
                call, at, message, before.frequency if before is not None else "above 0", frequency, of=FREQUENCY
            )
            return
        yield passed(FREQUENCY)
        if before is None:
            yield passed(CLOCK)
        elif not _overlaps(call, before):
            if now.ticks >= before.ticks:
                yield passed(CLOCK)
                return
            if not self._evidence.is_in_order(before.call, call):
                yield inconclusive("which of two answers the server gave first is not certain", call, CLOCK)
                return
            message, expected = "the performance clock went back", f"at least {before.ticks}"
            yield failed(call, _TICKS_AT, message, expected, now.ticks, of=CLOCK)


@rule("PCQ522", Level.VALUES, Severity.WARNING, "clocks-advance-unlike")
@of_calls("PCQ-2.2.4.7-R07", DATA)
class ClocksDisagree(_ServerClocks):
    """The two clocks in the headers of data answers do not run alike.

    Looks for: two answers of one server, one after the other, between which PerfTimeStamp (by PerfFreq) and PerfTime100NSec
    advanced by times that differ by more than 5 % and 50 ms.

    Why it matters: rates of one counter are divided by one clock, those of the next by the other. Where they disagree, so do the
    rates.

    Specification: [MS-PCQ] section 2.2.4.7 calls one a high-resolution clock with its frequency and the other the time; that both
    measure the same time is ours to say, so it is a warning.

    Flagged: 10 seconds by PerfTimeStamp, 1 second by PerfTime100NSec.

    Accepted: 1.00 and 1.02 seconds.

    Silent: at the first answer of a server; between calls that overlap in time; where an answer is sealed or was not captured.
    Another rule reports a clock that went back or changed its frequency.
    """

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        taken = self.take_clocks(call)
        if taken is None:
            yield inconclusive(_NO_HEADER, call)
            return
        before, now = taken
        if before is None or now.frequency == 0 or before.frequency != now.frequency or _overlaps(call, before):
            return
        by_ticks = (now.ticks - before.ticks) / now.frequency
        by_time = (now.time_100ns - before.time_100ns) / 1e7
        if by_ticks < 0 or by_time < 0:
            return
        if abs(by_ticks - by_time) <= 0.05 * max(by_ticks, by_time) + 0.05:
            yield passed()
            return
        message = "since the answer before, the performance clock ran another time than the system clock"
        expected, seen = f"{by_time:.3f} s", f"{by_ticks:.3f} s"
        yield warned(call, _TICKS_AT, message, expected, seen, confidence=Confidence.MEDIUM)


EPOCH, DATE, SAME = "PCQ-2.2.4.7-R05", "PCQ-2.2.4.7-R08", "PCQ-2.2.4.7-R09"
_TICKS_AT_1970, _TICKS_A_SECOND = 116_444_736_000_000_000, 10_000_000
_YEAR_2000, _YEAR_2100 = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (2000, 2101))


@rule("PCQ521", Level.VALUES, Severity.WARNING)
@of_data((EPOCH, DATE, SAME), of_each=True)
def system_time_implausible(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    """The time in the header of a data answer cannot be right.

    Looks for: a PerfTime100NSec before the year 2000 or after 2100; a SystemTime whose month, day, weekday or time of day does not
    exist; the two naming moments more than a second apart.

    Why it matters: values are put on a time line by these fields, and rates of system-time counters are divided by them.

    Specification: [MS-PCQ] section 2.2.4.7: PerfTime100NSec counts intervals of 100 ns since 1601 in UTC. SystemTime is the
    time at which the provider collected the data, in the form of [MS-DTYP] section 2.3.13. Its fields are the year, the month
    (from 1), the weekday (Sunday is 0), the day, the hour, the minute, the second and the milliseconds.

    Flagged: month 13; a Saturday that is called Tuesday; a PerfTime100NSec of 0. A warning: the two 3 seconds apart.

    Accepted: both within a second of each other and within a day of the capture's own clock.

    Silent: where the answer is sealed or was not captured. A time in this century that is more than a day from the capture's clock
    is inconclusive: either clock may be wrong.
    """
    if answer.header is None:
        return
    time_100ns, date = answer.header[3], answer.header[5:]
    seconds = (time_100ns - _TICKS_AT_1970) / _TICKS_A_SECOND
    is_plausible = _YEAR_2000 <= seconds < _YEAR_2100
    if is_plausible and abs(seconds - call.reply.side.last_time_ns / 1e9) > 86400:
        yield inconclusive("the time differs from the capture's clock by more than a day", call, EPOCH)
    else:
        message = "the system time is of no time such traffic is of"
        yield judge(is_plausible, call, _TIME_AT, message, "a time from 2000 to 2100", time_100ns, of=EPOCH)
    moment = _moment(date)
    apart = moment.timestamp() - seconds if moment is not None and is_plausible else None
    if apart is not None and abs(apart) <= 1:
        yield passed(DATE)
        yield passed(SAME)
        return
    named = "{}-{:02}-{:02} {:02}:{:02}:{:02}.{:03}, weekday {}".format(*date[:2], *date[3:], date[2])
    meant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds) if is_plausible else None
    at = _place(systemtime_culprit(date, meant) or ("day_of_week" if _is_date(date) else None))
    message, expected = "the date and time do not exist", "a date and time of the calendar"
    yield judge(moment is not None, call, at, message, expected, named, of=DATE)
    if apart is not None and meant is not None:
        message = "the date and time are another moment than the system time beside them"
        yield warned(call, at, message, meant.strftime("%Y-%m-%d %H:%M:%S"), named, of=SAME)


def _place(name: str | None) -> At:
    """A field of the date and time in a data answer's header, the whole where no field is to blame."""
    if name is None:
        return At("response", "lpData.system_time", (32, 48))
    at = 32 + 2 * list(SYSTEMTIME_RANGES).index(name)
    return At("response", f"lpData.system_time.{name}", (at, at + 2))


def _is_date(date: tuple[int, ...]) -> bool:
    """Whether a date of a data answer's header exists, whatever the day of the week."""
    year, month, _, *rest = date
    return systemtime_moment(year, month, *rest) is not None


def _moment(date: tuple[int, ...]) -> datetime | None:
    year, month, weekday, *rest = date
    moment = systemtime_moment(year, month, *rest)
    return moment if moment is not None and moment.isoweekday() % 7 == weekday else None
