"""The performance clock of a server went back, stood at frequency zero, or changed its frequency.

Looks for: answers of QueryCounterData of one server whose PerfTimeStamp is below that of an answer given before, or whose
PerfFreq is zero or another than before.

Why it matters: every rate is a difference of values divided by a difference of this clock. A clock that jumps makes wild
numbers of right ones.

Specification: [MS-PCQ] section 2.2.4.7 calls PerfTimeStamp the time of a high-resolution clock and PerfFreq its frequency,
which is constant while the machine is up.

Flagged: PerfTimeStamp 1000, then 900; PerfFreq 0.

Accepted: the same PerfTimeStamp twice; a clock that starts anew with another frequency counts as a restart, which is stated once.

Silent: between calls that overlap in time; where an answer is sealed, was not captured, or is damaged.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import DATA, cannot_say
from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule import Level, Rule, Watch
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed

CLOCK, FREQUENCY = "PCQ-2.2.4.7-R04", "PCQ-2.2.4.7-R06"

RULE = Rule("PCQ520", "clock-runs-back", Level.VALUES, Severity.ERROR)


@RULE.calls((CLOCK, FREQUENCY), DATA)
class _Clocks(Watch[CallEvidence]):
    def __init__(self, evidence: Evidence) -> None:
        self._last: dict[str, tuple[int, int, int]] = {}

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        assert call.response is not None
        header = call.response.answer.header if call.response.is_readable else None
        if header is None:
            yield from cannot_say((CLOCK, FREQUENCY), "the answer has no header that can be read", call)
            return
        ticks, frequency = header[2], header[4]
        before = self._last.get(call.server)
        self._last[call.server] = ticks, frequency, call.response.side.last_time_ns
        if frequency == 0 or (before is not None and before[1] != frequency):
            yield failed(
                FREQUENCY,
                call,
                At("response", "lpData.perf_freq", (24, 32)),
                "the frequency of the performance clock changed or is zero",
                expected=str(before[1]) if before is not None else "above 0",
                seen=str(frequency),
            )
            return
        yield passed(FREQUENCY)
        # Of calls that overlap, nobody knows which the server answered first.
        if before is not None and (call.request is None or call.request.side.first_time_ns < before[2]):
            return
        if before is not None and ticks < before[0]:
            yield failed(
                CLOCK,
                call,
                At("response", "lpData.perf_time_stamp", (8, 16)),
                "the performance clock went back",
                expected=f"at least {before[0]}",
                seen=str(ticks),
            )
        else:
            yield passed(CLOCK)
