"""A client made room for what the server stated it needs, and was answered again that it is too small.

Looks for: QueryCounterData that failed with 8, then again on the same handle with a dwInSize of at least the pdwRtnSize that
was returned.

Why it matters: a client that does what the server asked for never gets its data.

Specification: perflib.h: on ERROR_NOT_ENOUGH_MEMORY the size returned is the one needed; the caller enlarges its buffer and
calls again.

Flagged: pdwRtnSize 800, then dwInSize 800 and error 8 with pdwRtnSize 800 again.

Accepted: success with dwInSize 800. That more is needed now (instances came in between) is inconclusive.

Silent: where one of the two calls is sealed or was not captured; where the client offers less than it was asked for, or never tries
again.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule import Level, Reads, Rule, Watch
from analyzer.questions.audit.values import query_of
from analyzer.questions.audit.verdicts import At, Confidence, Judgement, Severity, failed, inconclusive, passed
from analyzer.results.perflib import Opnum

REQUIREMENT = "PL-QCD-R04"
_NOT_ENOUGH = 8

RULE = Rule("PCQ560", "needed-size-not-enough", Level.SEQUENCES, Severity.ERROR)


@RULE.calls((REQUIREMENT,), Reads((Opnum.QUERY_COUNTER_DATA,), ("request", "response")))
class _Needs(Watch[CallEvidence]):
    def __init__(self, evidence: Evidence) -> None:
        self._needed: dict[int, int] = {}

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        query = query_of(call)
        if query is None or call.status is None:
            return
        needed = self._needed.pop(query.number, None)
        offered = call.asked["dwInSize"]
        needs = call.answered.get("pdwRtnSize", 0)
        if needed is not None and offered >= needed:
            if call.status == 0:
                yield passed(REQUIREMENT)
            elif call.status == _NOT_ENOUGH and needs > needed:
                yield inconclusive(REQUIREMENT, "more was needed at the second call", call)
            elif call.status == _NOT_ENOUGH:
                yield failed(
                    REQUIREMENT,
                    call,
                    At("response", "pdwRtnSize"),
                    "a buffer of the size the server had asked for was refused as too small",
                    expected=f"success with {offered} bytes, where {needed} were stated to be needed",
                    seen=f"error 8, and {needs} bytes needed",
                    confidence=Confidence.MEDIUM,
                )
        if call.status == _NOT_ENOUGH:
            self._needed[query.number] = needs
