"""A client aggregates over some instances only where it is to be all.

Looks for: counters of countersets of type 4 (global aggregate) and 0xC (global aggregate history) that a client added for
single instances, and whether it asked for all that the server listed, whatever it was answered.

Why it matters: the sum, average, minimum or maximum such a counterset is about is one over all instances.

Specification: [MS-PCQ] section 2.2.4.2, AggregateFunc: only for multiple-instance aggregates (type 6) does the client choose
the instances; otherwise it must aggregate over all of them. What it then computes does not show in traffic.

Flagged: as a warning, "a" and "b" added, where "a", "b" and "c" were listed.

Accepted: the instance name "*"; every listed instance by name.

Silent: where the registration of the counterset, or a list of its instances, is not in the capture.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import Violation, identifiers_of, judgements
from analyzer.questions.audit.evidence import AskedEvidence, Evidence
from analyzer.questions.audit.identifiers import HEADER, IdentifierBlock
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import Confidence, Judgement, Severity, inconclusive, passed
from analyzer.results.perflib import Opnum

REQUIREMENT = "PCQ-2.2.4.2-R74"
OVER_ALL = (4, 0xC)

RULE = Rule("PCQ455", "aggregate-of-some-instances", Level.SEQUENCES, Severity.WARNING)


@RULE.requests((REQUIREMENT,), Reads((Opnum.VALIDATE_COUNTERS,), ("request", "request.lpData")), about="handle")
class _Aggregates:
    def __init__(self, evidence: Evidence) -> None:
        self._knowledge = evidence.knowledge
        # By handle, counterset and counter: the names added, and the first identifier that did.
        self._added: dict[tuple[int, str, int], set[str]] = {}
        self._first: dict[tuple[int, str, int], tuple[AskedEvidence, IdentifierBlock]] = {}

    def feed(self, call: AskedEvidence) -> Iterator[Judgement]:
        if call.handle is not None and call.asked.get("dwAdd"):
            self._note(call, call.handle)
        return iter(())

    def _note(self, call: AskedEvidence, handle: int) -> None:
        for block in identifiers_of(call.request):
            entry = call.catalog.countersets.get(block.counterset)
            if entry is None or entry.instance_type not in OVER_ALL:
                continue
            key = handle, block.counterset, block.counter_id
            self._added.setdefault(key, set()).add((block.name or "").casefold())
            self._first.setdefault(key, (call, block))

    def finish(self) -> Iterator[Judgement]:
        for key, names in self._added.items():
            call, block = self._first[key]
            if "*" in names or names == {""}:
                yield passed(REQUIREMENT)
                continue
            listed = self._knowledge.instances_about(call.server, block.counterset, call.time_ns)
            if listed is None:
                yield inconclusive(REQUIREMENT, "no list of the instances near in time is in the capture", call)
                continue
            left_out = sorted(listed.folded - names)
            violations = []
            if left_out:
                span = (block.at + HEADER, block.at + block.size)
                violations.append(
                    Violation(f"{block.path}.name", span, "all instances", f"not {', '.join(left_out[:5])}")
                )
            message = "a counter that is to be aggregated over all instances was added for some of them"
            yield from judgements(call, "request", (REQUIREMENT,), 1 - len(violations), [], message)
            yield from judgements(
                call, "request", (REQUIREMENT,), 0, violations, message, warn=True, confidence=Confidence.MEDIUM
            )
