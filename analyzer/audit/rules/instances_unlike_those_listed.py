"""The instances in a data answer are not those the server lists.

Looks for: blocks that answer the instance name "*", and the answer of EnumerateCounterSetInstances for the same counterset
nearest in time, within a minute, where less than half of the names are in both.

Why it matters: a client offers its user the instances it was listed. If the data are of others, one of the two is wrong.

Specification: [MS-PCQ] section 3.1.4.1.6: a wildcard gets the values of all active instances; section 3.1.4.1.3: these are what
EnumerateCounterSetInstances lists. Instances come and go, so this is a warning of low confidence.

Flagged: as a warning, instances "a" and "b" in the data, "c" and "d" in the list.

Accepted: "a", "b" and "d" against "a", "b" and "c".

Silent: where nothing was listed within a minute, or the capture does not tell what the block answers.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.audit.answers import COUNTERSET, INSTANCES
from analyzer.audit.evidence import CallEvidence, Evidence
from analyzer.audit.looks import DATA, Odd, told
from analyzer.audit.rule import Level, Rule
from analyzer.audit.values import counter_of, query_of
from analyzer.audit.verdicts import Confidence, Judgement, Severity, inconclusive

REQUIREMENT = "PCQ-3.1.4.1.6-R29"


class _Instances:
    def __init__(self, evidence: Evidence) -> None:
        self._knowledge = evidence.knowledge

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        assert call.response is not None
        query, answer = query_of(call), call.response.answer
        for block in answer.of_type(INSTANCES, COUNTERSET):
            if not block.is_whole or block.instances_at is None:
                continue
            known = counter_of(query, block) if query is not None else None
            if known is None:
                yield inconclusive(REQUIREMENT, "which counter the block is of is not in the capture", call)
                continue
            if known.instance != "*":
                continue
            time_ns = call.call.exchange.first_time_ns
            listed = self._knowledge.instances_about(call.server, known.counterset, time_ns)
            if listed is None:
                yield inconclusive(REQUIREMENT, "no list of the instances near in time is in the capture", call)
                continue
            names = {name.casefold() for name in block.names(answer.data)}
            both = names | listed.folded
            odd = []
            if both and 2 * len(names & listed.folded) < len(both):
                span = (block.instances_at, block.stop)
                expected = f"those call {listed.call} listed: {_shown(listed.folded)}"
                odd.append(Odd(f"{block.path}.body.instances", span, expected, _shown(names)))
            message = "the instances in the data are not those the server lists"
            yield from told(call, "response", (REQUIREMENT,), 1 - len(odd), [], message)
            yield from told(call, "response", (REQUIREMENT,), 0, odd, message, warn=True, confidence=Confidence.LOW)

    def finish(self) -> Iterator[Judgement]:
        return iter(())


def _shown(names: frozenset[str] | set[str]) -> str:
    shown = ", ".join(repr(name) for name in sorted(names)[:5])
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown or "none"


RULE = Rule(
    code="PCQ550",
    name="instances-unlike-those-listed",
    level=Level.SEQUENCES,
    severity=Severity.INFO,
    requirements=(REQUIREMENT,),
    reads=DATA,
    watch=_Instances,
)
