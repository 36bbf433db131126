"""A server listed a counterset twice, or counts its countersets differently from call to call.

Looks for: answers of EnumerateCounterSet in which a GUID occurs twice (a warning), or whose pdwRtnSize differs from that of
the answer before (a warning, with low confidence: providers come and go).

Why it matters: a client that adds up what it finds counts twice.

Specification: [MS-PCQ] section 3.1.4.1.1: lpData is the list of the countersets on the server, pdwRtnSize their number.

Flagged: the GUID of Process twice.

Accepted: any order.

Silent: where the answer is sealed or was not captured, and with other errors, where neither is defined. With
ERROR_NOT_ENOUGH_MEMORY (8) only the number is judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule import Level, Reads, Rule, Watch
from analyzer.questions.audit.verdicts import At, Confidence, Judgement, Severity, passed, warned
from analyzer.results.perflib import ERROR_NOT_ENOUGH_MEMORY, Opnum

DISTINCT, NUMBER = "PCQ-3.1.4.1.1-R16", "PCQ-3.1.4.1.1-R15"

RULE = Rule("PCQ345", "counterset-listed-twice", Level.VALUES, Severity.WARNING)


@RULE.calls((DISTINCT, NUMBER), Reads((Opnum.ENUMERATE_COUNTER_SET,), ("response.lpData",)))
class _Lists(Watch[CallEvidence]):
    def __init__(self, evidence: Evidence) -> None:
        self._numbers: dict[str, int] = {}

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        assert call.response is not None
        if call.status not in (0, ERROR_NOT_ENOUGH_MEMORY):
            return
        number = call.answered["pdwRtnSize"]
        before = self._numbers.get(call.server)
        if number:
            self._numbers[call.server] = number
        if before == number and number:
            yield passed(NUMBER)
        elif before is not None and number:
            yield warned(
                NUMBER,
                call,
                At("response", "pdwRtnSize"),
                "the server counts another number of countersets than before",
                expected=str(before),
                seen=str(number),
                confidence=Confidence.LOW,
            )
        if call.status != 0:
            return
        seen: set[str] = set()
        guids = call.response.tree.get("guids", ())
        for position, guid in enumerate(guids):
            if guid in seen:
                at = At("response", f"lpData.guids[{position}]")
                yield warned(DISTINCT, call, at, "a counterset is listed twice", expected="each once", seen=guid)
            elif len(guids) > 1:
                yield passed(DISTINCT)
            seen.add(guid)
