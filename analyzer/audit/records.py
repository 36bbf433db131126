"""The JSON form of findings and of the coverage of requirements, as documented in docs/output.md."""

from __future__ import annotations

from analyzer.audit.catalogue import Requirement
from analyzer.audit.findings import Coverage, Finding
from analyzer.audit.verdicts import Outcome
from analyzer.contents.lines import Record, endpoint_json, frames_json
from analyzer.core.frames import number_of
from analyzer.model.analysis import CaptureFacts


def finding_record(finding: Finding, facts: CaptureFacts) -> Record:
    """`bytes` are a range of `part`; `extents` where these bytes stand in the captured frames."""
    rule, judgement, place = finding.rule, finding.judgement, finding.place
    call = judgement.call.decoded if judgement.call is not None else None
    deviation = judgement.deviation
    return {
        "record": "finding",
        "rule": rule.code,
        "name": rule.name,
        "level": rule.level.value,
        "requirement": list(judgement.requirements),
        "actor": finding.actor.value,
        "severity": finding.severity.value,
        "verdict": judgement.outcome.value,
        "confidence": judgement.confidence.name.lower(),
        "call": finding.call,
        "method": call.method if call is not None else None,
        "client": endpoint_json(call.client) if call is not None else None,
        "server": endpoint_json(call.server) if call is not None else None,
        **frames_json(finding.frames, facts),
        "side": judgement.at.side if judgement.at is not None else None,
        "field": judgement.at.path or None if judgement.at is not None else None,
        "show": judgement.at.spelled if judgement.at is not None and place is not None else None,
        "part": place.part if place is not None else None,
        "bytes": [place.start, place.stop] if place is not None else None,
        "extents": [
            {"frame": number_of(extent.frame), "start": extent.start, "length": extent.length}
            for extent in (place.extents if place is not None else ())
        ],
        "message": judgement.message,
        "expected": judgement.expected,
        "seen": judgement.seen,
        "deviation": {"authority": deviation.authority, "text": deviation.text} if deviation is not None else None,
        "excused": finding.is_excused,
        "follow": finding.follow,
    }


def coverage_record(coverage: Coverage) -> Record:
    requirement = coverage.requirement
    return {
        "record": "coverage",
        "requirement": requirement.id,
        "verdict": coverage.verdict,
        "occurrences": coverage.occurrences,
        "passed": coverage.counts[Outcome.PASSED],
        "warned": coverage.counts[Outcome.WARNED],
        "failed": coverage.counts[Outcome.FAILED],
        "inconclusive": coverage.counts[Outcome.INCONCLUSIVE],
        "excused": coverage.excused,
        "accepted": coverage.accepted,
        "reasons": dict(coverage.reasons),
        "rules": list(coverage.rules),
        **requirement_json(requirement),
    }


def requirement_json(requirement: Requirement) -> Record:
    return {
        "section": requirement.section,
        "level": requirement.level,
        "actor": requirement.actor,
        "statement": requirement.statement,
        "observable": requirement.observable,
        "trigger": requirement.trigger,
        "caused_by": requirement.caused_by,
        "provoked": requirement.provoked,
    }
