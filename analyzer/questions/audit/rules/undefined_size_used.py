"""A client took a size from an answer that defines none.

Looks for: QueryCounterData that failed with another error than 8, then a call on the same handle whose dwInSize is the
pdwRtnSize of that failure and was not the client's own before.

Why it matters: the number means nothing. A client that allocates by it allocates at random.

Specification: perflib.h: the size returned is the bytes stored on success, the bytes needed on ERROR_NOT_ENOUGH_MEMORY; with
any other error it is undefined and should not be used.

Flagged: as a warning, error 5 with pdwRtnSize 12345, then dwInSize 12345.

Accepted: another dwInSize, or the same as before the failure.

Silent: where one of the two calls is sealed or was not captured; where the size is 0.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import judgements
from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule import Level, Reads, Rule, Watch
from analyzer.questions.audit.values import query_of
from analyzer.questions.audit.verdicts import At, Confidence, Judgement, Severity, inconclusive, warned
from analyzer.results.perflib import Opnum

REQUIREMENT = "PL-QCD-R05"

RULE = Rule("PCQ561", "undefined-size-used", Level.SEQUENCES, Severity.WARNING)


@RULE.calls(
    (REQUIREMENT,),
    Reads((Opnum.QUERY_COUNTER_DATA,), ("request",)),
    needs_answer="an answer before left the size undefined",
)
class _Sizes(Watch[CallEvidence]):
    def __init__(self, evidence: Evidence) -> None:
        # By handle: the size of a failure that defines none, and what the client had offered.
        self._undefined: dict[int, tuple[int, int]] = {}

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        query = query_of(call)
        if query is None:
            return
        before = self._undefined.pop(query.number, None)
        offered = call.asked["dwInSize"]
        if before is not None:
            size, own = before
            if offered == size != own:
                yield warned(
                    REQUIREMENT,
                    call,
                    At("request", "dwInSize"),
                    "the client took its size from a failure that defines none",
                    expected=f"not the {size} of the failed call before",
                    seen=f"{offered}",
                    confidence=Confidence.MEDIUM,
                )
            else:
                yield from judgements(call, "request", (REQUIREMENT,), 1, [], "")
        size = call.answered.get("pdwRtnSize", 0)
        if call.status not in (None, 0, 8) and size:
            self._undefined[query.number] = size, offered
        elif call.status is None and call.fault is None:
            yield inconclusive(REQUIREMENT, "what the call was answered is not in the capture", call)
