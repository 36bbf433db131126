"""The instances in a data answer are not those the server lists.

Looks for: blocks that answer the instance name "*", and the answer of EnumerateCounterSetInstances for the same counterset
nearest in time, within a minute, where less than half of the names are in both, or where an instance of the same name has another
id.

Why it matters: a client offers its user the instances it was listed. If the data are of others, one of the two is wrong.

Specification: [MS-PCQ] section 3.1.4.1.6: a wildcard gets the values of all active instances; section 3.1.4.1.3: these are what
EnumerateCounterSetInstances lists, each with its id. Instances come and go, so that other names are no more than a note of low
confidence, and another id a warning.

Flagged: instances "a" and "b" in the data, "c" and "d" in the list; instance "a" with the id 1 in the list and 7 in the data.

Accepted: "a", "b" and "d" against "a", "b" and "c".

Silent: where nothing was listed within a minute, or the capture does not state what the block answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from analyzer.interfaces.buffers.layout import COUNTERSET, INSTANCES
from analyzer.questions.audit.answers import Block
from analyzer.questions.audit.checks import DATA, Violation, judgements
from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.knowledge import InstanceList
from analyzer.questions.audit.rule import Level, Rule, Watch
from analyzer.questions.audit.values import counter_of, query_of
from analyzer.questions.audit.verdicts import Confidence, Judgement, Severity, inconclusive, passed

REQUIREMENT = "PCQ-3.1.4.1.6-R29"

RULE = Rule("PCQ550", "instances-unlike-those-listed", Level.SEQUENCES, Severity.WARNING)


@RULE.calls((REQUIREMENT,), DATA)
class _Instances(Watch[CallEvidence]):
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
            time_ns = call.decoded.time_ns
            listed = self._knowledge.instances_about(call.server, known.counterset, time_ns)
            if listed is None:
                yield inconclusive(REQUIREMENT, "no list of the instances near in time is in the capture", call)
                continue
            names = {name.casefold() for name in block.names(answer.data)}
            both = names | listed.folded
            violations = []
            if both and 2 * len(names & listed.folded) < len(both):
                span = (block.instances_at, block.stop)
                expected = f"those call {listed.call} listed: {_shown(listed.folded)}"
                violations.append(Violation(f"{block.path}.body.instances", span, expected, _shown(names)))
            message = "the instances in the data are not those the server lists"
            yield from judgements(
                call, "response", (REQUIREMENT,), 0, violations, message, note=True, confidence=Confidence.LOW
            )
            other = _renumbered(answer.data, block, listed)
            message = "an instance in the data has another id than in the server's list"
            yield from judgements(
                call, "response", (REQUIREMENT,), 0, other, message, warn=True, confidence=Confidence.MEDIUM
            )
            if not violations and not other:
                yield passed(REQUIREMENT)


def _renumbered(data: bytes, block: Block, listed: InstanceList) -> list[Violation]:
    """Instances whose name the list has once, with another id."""
    counts = Counter(name.casefold() for name in listed.names)
    ids = {name.casefold(): number for name, number in zip(listed.names, listed.ids, strict=True)}
    violations = []
    for number, (row, name) in enumerate(zip(block.rows, block.names(data), strict=False)):
        folded = name.casefold()
        if counts[folded] == 1 and ids[folded] != row.instance_id:
            at = row.name_at - 4
            path = f"{block.path}.body.instances.instances[{number}].header.instance_id"
            violations.append(
                Violation(path, (at, at + 4), f"{ids[folded]}, as call {listed.call} listed", f"{row.instance_id}")
            )
    return violations


def _shown(names: frozenset[str] | set[str]) -> str:
    shown = ", ".join(repr(name) for name in sorted(names)[:5])
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown or "none"
