"""The clocks of a block of performance data cannot be right.

Looks for: a SystemTime that is no date, or more than a second from PerfTime100nSec (a warning); a PerfTime100nSec before
1980 or after 2200; a PerfFreq of zero; a PerfTime below that of a block the server sent before, at the same frequency.

Why it matters: rates are differences of values over differences of these clocks.

Specification: winperf.h reference, PERF_DATA_BLOCK: SystemTime is the time of the measurement in UTC, PerfTime the value of
the performance counter, PerfFreq its frequency, PerfTime100nSec the system time in 100 ns. Types with the object-timer bit
take the clock of their object instead.

Flagged: PerfFreq 0; PerfTime 987654321, then 900000000.

Accepted: the same PerfTime twice; another frequency with a PerfTime that begins anew (the machine was started again).

Silent: where the answer is sealed, was not captured, or is no block; inconclusive for what lies behind damage.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from analyzer.audit.evidence import CallEvidence, Evidence
from analyzer.audit.rule import Level, Rule
from analyzer.audit.verdicts import At, Judgement, Severity, failed, passed, warned
from analyzer.audit.winperf_blocks import READS, block_of, cut_off
from analyzer.core.times import NS_PER_S, filetime_ns

SYSTEM, COUNTER, FILETIME, WHICH = "WP-DB-R08", "WP-DB-R09", "WP-DB-R10", "WP-DB-R13"
_FIRST, _LAST = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) * NS_PER_S for year in (1980, 2200))


class _Clocks:
    def __init__(self, evidence: Evidence) -> None:
        self._last: dict[str, tuple[int, int]] = {}

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        block = block_of(call)
        if block is None:
            return
        if "perf_time_100ns" not in block.fields:
            yield from cut_off((SYSTEM, COUNTER, FILETIME), call)
            return
        yield passed(WHICH)
        yield from _dates(call, block.fields)
        ticks, frequency = block.fields["perf_time"], block.fields["perf_freq"]
        before = self._last.get(call.server)
        self._last[call.server] = ticks, frequency
        if frequency <= 0:
            at = At("response", "lpData.perf_freq")
            yield failed(
                COUNTER, call, at, "the performance counter has no frequency", expected="above 0", seen=str(frequency)
            )
        elif before is not None and before[1] == frequency and ticks < before[0]:
            at = At("response", "lpData.perf_time")
            said = "the performance counter went back"
            yield failed(COUNTER, call, at, said, expected=f"at least {before[0]}", seen=str(ticks))
        else:
            yield passed(COUNTER)

    def finish(self) -> Iterator[Judgement]:
        return iter(())


def _dates(call: CallEvidence, fields: dict[str, Any]) -> Iterator[Judgement]:
    time_ns = filetime_ns(fields["perf_time_100ns"])
    if _FIRST <= time_ns < _LAST:
        yield passed(FILETIME)
    else:
        yield failed(
            FILETIME,
            call,
            At("response", "lpData.perf_time_100ns"),
            "PerfTime100nSec is no date that can be meant",
            expected="1980 to 2200",
            seen=str(fields["perf_time_100ns"]),
        )
    system = fields["system_time"]
    at = At("response", "lpData.system_time")
    shown = "{year}-{month}-{day} {hour}:{minute}:{second}.{milliseconds}".format(**system)
    if not _is_date(system):
        yield failed(SYSTEM, call, at, "SystemTime is no date", expected="a SYSTEMTIME", seen=shown)
        return
    date = datetime(system["year"], system["month"], system["day"], tzinfo=UTC)
    moment = date + timedelta(hours=system["hour"], minutes=system["minute"], seconds=system["second"])
    apart = abs(int(moment.timestamp()) * NS_PER_S + system["milliseconds"] * 1_000_000 - time_ns)
    if apart <= NS_PER_S:
        yield passed(SYSTEM)
    else:
        yield warned(
            SYSTEM,
            call,
            at,
            "SystemTime and PerfTime100nSec are more than a second apart",
            expected="at most 1 s",
            seen=f"{apart / NS_PER_S:.3f} s",
        )


def _is_date(time: dict[str, int]) -> bool:
    """Whether a SYSTEMTIME has the ranges of [MS-DTYP] section 2.3.13 and a day that its month has."""
    if not (1601 <= time["year"] <= 9999 and 1 <= time["month"] <= 12):
        return False
    return (
        1 <= time["day"] <= monthrange(time["year"], time["month"])[1]
        and time["hour"] < 24
        and time["minute"] < 60
        and time["second"] < 60
        and time["milliseconds"] < 1000
    )


RULE = Rule(
    code="PCQ810",
    name="winperf-clock-implausible",
    level=Level.WINPERF,
    severity=Severity.ERROR,
    requirements=(SYSTEM, COUNTER, FILETIME, WHICH),
    reads=READS,
    watch=_Clocks,
)
