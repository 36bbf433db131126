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

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from analyzer.core.times import NS_PER_S, SYSTEMTIME_RANGES, filetime_ns, systemtime_culprit, systemtime_moment
from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule import Level, Rule, Watch
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed, warned
from analyzer.questions.audit.winperf_blocks import READS, block_of, cut_off

SYSTEM, COUNTER, FILETIME, WHICH = "WP-DB-R08", "WP-DB-R09", "WP-DB-R10", "WP-DB-R13"
_FIRST, _LAST = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) * NS_PER_S for year in (1980, 2200))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# [MS-DTYP] section 2.3.13: a SYSTEMTIME begins with 1601.
_FIRST_YEAR = 1601

RULE = Rule("PCQ810", "winperf-clock-implausible", Level.WINPERF, Severity.ERROR)


@RULE.calls((SYSTEM, COUNTER, FILETIME, WHICH), READS)
class _Clocks(Watch[CallEvidence]):
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
            message = "the performance counter went back"
            yield failed(COUNTER, call, at, message, expected=f"at least {before[0]}", seen=str(ticks))
        else:
            yield passed(COUNTER)


def _dates(call: CallEvidence, fields: dict[str, Any]) -> Iterator[Judgement]:
    time_ns = filetime_ns(fields["perf_time_100ns"])
    is_plausible = _FIRST <= time_ns < _LAST
    if is_plausible:
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
    meant = _EPOCH + timedelta(microseconds=time_ns // 1000) if is_plausible else None
    culprit = systemtime_culprit([system[name] for name in SYSTEMTIME_RANGES], meant)
    at = At("response", f"lpData.system_time.{culprit}" if culprit is not None else "lpData.system_time")
    shown = "{year}-{month}-{day} {hour}:{minute}:{second}.{milliseconds}".format(**system)
    moment = systemtime_moment(**{name: value for name, value in system.items() if name != "day_of_week"})
    if moment is None or moment.year < _FIRST_YEAR:
        yield failed(SYSTEM, call, at, "SystemTime is no date", expected="a SYSTEMTIME", seen=shown)
        return
    apart = abs((moment - _EPOCH) // timedelta(microseconds=1) * 1000 - time_ns)
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
