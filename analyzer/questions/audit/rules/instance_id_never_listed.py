"""A client asks for an instance id that the server did not list.

Looks for: identifiers that add a counter of a counterset with instances, with an InstanceId other than 0xFFFFFFFF (any) that no
EnumerateCounterSetInstances in the capture listed for it.

Why it matters: the id filters. One that does not exist gives a query without values, and nobody says why.

Specification: [MS-PCQ] section 2.2.4.6: InstanceId is the identifier of the instance; perflib.h: 0xFFFFFFFF leaves the name
alone to choose.

Flagged: as a warning, InstanceId 7, where the instances listed have the ids 0 to 3.

Accepted: 0xFFFFFFFF; any id for a counterset without instances.

Silent: where the instances of the counterset were not listed, or its registration is not in the capture.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import Violation, has_instances, judgements
from analyzer.questions.audit.evidence import AskedEvidence, Evidence
from analyzer.questions.audit.identifiers import INSTANCE_ID
from analyzer.questions.audit.rule import Level, Reads, Rule, Watch
from analyzer.questions.audit.verdicts import Confidence, Judgement, Severity, inconclusive
from analyzer.results.perflib import NONE_ID, Opnum

REQUIREMENT = "PCQ-2.2.4.6-R08"

RULE = Rule("PCQ440", "instance-id-never-listed", Level.SEQUENCES, Severity.WARNING)


@RULE.requests((REQUIREMENT,), Reads((Opnum.VALIDATE_COUNTERS,), ("request", "request.lpData")))
class _Instances(Watch[AskedEvidence]):
    def __init__(self, evidence: Evidence) -> None:
        self._knowledge = evidence.knowledge
        self._listed: dict[tuple[str, str], frozenset[int]] = {}

    def feed(self, call: AskedEvidence) -> Iterator[Judgement]:
        assert call.request is not None
        if not call.asked["dwAdd"]:
            return
        violations: list[Violation] = []
        looked_at = 0
        for block in call.request.identifiers.blocks:
            if block.instance_id != NONE_ID and has_instances(call, block.counterset) is not False:
                listed = self._ids(call.server, block.counterset)
                if listed is None:
                    yield inconclusive(
                        REQUIREMENT, "the instances of the counterset were not listed in the capture", call
                    )
                    continue
                if block.instance_id not in listed:
                    seen = f"{block.instance_id}"
                    violations.append(
                        Violation(f"{block.path}.instance_id", block.span(INSTANCE_ID), "an id that was listed", seen)
                    )
            looked_at += 1
        message = "a client asks for an instance id that the server did not list"
        yield from judgements(call, "request", (REQUIREMENT,), looked_at - len(violations), [], message)
        yield from judgements(
            call, "request", (REQUIREMENT,), 0, violations, message, warn=True, confidence=Confidence.MEDIUM
        )

    def _ids(self, server: str, counterset: str) -> frozenset[int] | None:
        """Every instance id that was listed for a counterset; None where no list is in the capture."""
        key = server, counterset
        if key not in self._listed:
            lists = self._knowledge.instances(server, counterset)
            if not lists:
                return None
            self._listed[key] = frozenset(number for one in lists for number in one.ids)
        return self._listed[key]
