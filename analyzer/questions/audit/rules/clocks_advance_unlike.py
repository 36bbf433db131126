"""The two clocks in the headers of data answers do not run alike.

Looks for: two answers of one server, one after the other, between which PerfTimeStamp (by PerfFreq) and PerfTime100NSec
advanced by times that differ by more than 5 % and 50 ms.

Why it matters: rates of one counter are divided by one clock, those of the next by the other. Where they disagree, so do the
rates.

Specification: [MS-PCQ] section 2.2.4.7 calls one a high-resolution clock with its frequency and the other the time; that both
measure the same time is ours to say, so it is a warning.

Flagged: 10 seconds by PerfTimeStamp, 1 second by PerfTime100NSec.

Accepted: 1.00 and 1.02 seconds.

Silent: at the first answer of a server; between calls that overlap in time; where a clock went back or changed its frequency,
which another rule reports it; where an answer is sealed or was not captured.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import DATA, Violation, judgements
from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule import Level, Rule, Watch
from analyzer.questions.audit.verdicts import Confidence, Judgement, Severity, inconclusive

REQUIREMENT = "PCQ-2.2.4.7-R07"

RULE = Rule("PCQ522", "clocks-advance-unlike", Level.VALUES, Severity.WARNING)


@RULE.calls((REQUIREMENT,), DATA)
class _Clocks(Watch[CallEvidence]):
    def __init__(self, evidence: Evidence) -> None:
        self._last: dict[str, tuple[int, int, int, int]] = {}

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        assert call.response is not None
        header = call.response.answer.header if call.response.is_readable else None
        if header is None:
            yield inconclusive(REQUIREMENT, "the answer has no header that can be read", call)
            return
        ticks, time_100ns, frequency = header[2:5]
        before = self._last.get(call.server)
        self._last[call.server] = ticks, time_100ns, frequency, call.response.side.last_time_ns
        if before is None or frequency == 0 or before[2] != frequency:
            return
        # Of calls that overlap, nobody knows which the server answered first.
        if call.request is None or call.request.side.first_time_ns < before[3]:
            return
        by_ticks, by_time = (ticks - before[0]) / frequency, (time_100ns - before[1]) / 1e7
        if by_ticks < 0 or by_time < 0:
            return
        violations = []
        if abs(by_ticks - by_time) > 0.05 * max(by_ticks, by_time) + 0.05:
            violations.append(Violation("lpData.perf_time_stamp", (8, 16), f"{by_time:.3f} s", f"{by_ticks:.3f} s"))
        message = "since the answer before, the performance clock ran another time than the system clock"
        yield from judgements(
            call, "response", (REQUIREMENT,), 1, violations, message, warn=True, confidence=Confidence.MEDIUM
        )
