"""A data answer has more or fewer blocks than the query holds counters.

Looks for: answers of QueryCounterData on handles whose counters the capture states, and the number of their blocks.

Why it matters: with a block missing, every one behind it stands at the place of another counter.

Specification: [MS-PCQ] section 3.1.1.5: a data query covers every counter identifier of the handle's list. One that could not
be read has an error block, which counts.

Flagged: two blocks on a handle to which three counters were added.

Accepted: three blocks, one of type 0.

Silent: where the capture does not state what the handle holds, or the same counter was added to it twice with success: then it
may count once or twice.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.answers import FlawKind
from analyzer.questions.audit.checks import DATA, Violation, judgements
from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule import Level, Rule, Watch
from analyzer.questions.audit.values import held_of
from analyzer.questions.audit.verdicts import Confidence, Judgement, Severity, inconclusive

REQUIREMENT = "PCQ-3.1.1.5-R03"

RULE = Rule("PCQ546", "blocks-unlike-the-query", Level.SEQUENCES, Severity.ERROR)


@RULE.calls((REQUIREMENT,), DATA)
class _Blocks(Watch[CallEvidence]):
    def __init__(self, evidence: Evidence) -> None:
        self._knowledge = evidence.knowledge

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        assert call.response is not None
        found = held_of(call, self._knowledge)
        if isinstance(found, str):
            yield inconclusive(REQUIREMENT, found, call)
            return
        (query, held), answer = found, call.response.answer
        reason = None
        if query.id_source == "index" and len(query.blocks) != len(held):
            reason = "QueryCounterInfo reported the same counter, or the same position, twice"
        elif not answer.is_walked or answer.of(FlawKind.BLOCK_COUNT):
            reason = "the blocks of the answer cannot be counted"
        if reason is not None:
            yield inconclusive(REQUIREMENT, reason, call)
            return
        violations = []
        if len(answer.blocks) != len(held):
            expected = f"{len(held)}, one for each counter held"
            violations.append(Violation("lpData.num_blocks", (4, 8), expected, f"{len(answer.blocks)} blocks"))
        message = "the answer has another number of blocks than the query holds counters"
        yield from judgements(call, "response", (REQUIREMENT,), 1, violations, message, confidence=Confidence.MEDIUM)
