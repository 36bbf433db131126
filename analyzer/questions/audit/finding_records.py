"""The records of findings and of the coverage of requirements."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from analyzer.core.frame_ids import number_of
from analyzer.questions.audit.findings import Coverage, Finding
from analyzer.questions.audit.requirements import Requirement
from analyzer.questions.audit.verdicts import Confidence, Outcome
from analyzer.results.analysis import CaptureFacts
from analyzer.results.audit import Confidence as ConfidenceWord
from analyzer.results.audit import CoverageRecord, DeviationFacts, FindingRecord
from analyzer.results.record import Extent


def finding_record(finding: Finding, facts: CaptureFacts) -> FindingRecord:
    """`bytes` are a range of `part`; `extents` where these bytes stand in the captured frames."""
    known, place = finding.pattern.record, finding.place
    if known is None:
        known = finding.pattern.record = _first_record(finding)
    frames, files = facts.numbered(finding.frames)
    extents = place.extents if place is not None else ()
    return replace(
        known,
        call=finding.call,
        client=finding.of.decoded.client if finding.of is not None else None,
        frames=frames,
        frame_files=files,
        extents=tuple([Extent(number_of(extent.frame), extent.start, extent.length) for extent in extents]),
        follow=finding.follow,
    )


def _first_record(finding: Finding) -> FindingRecord:
    """The record of a finding, without what the calls of its pattern differ in."""
    pattern, place = finding.pattern, finding.place
    rule, judgement, at = pattern.rule, pattern.judgement, pattern.judgement.at
    call = finding.of.decoded if finding.of is not None else None
    deviation = judgement.deviation
    return FindingRecord(
        rule=rule.code,
        name=rule.name,
        level=rule.level.value,
        requirement=judgement.requirements,
        actor=finding.actor.value,
        severity=pattern.severity.value,
        verdict="fail" if judgement.outcome is Outcome.FAILED else "warn",
        confidence=_CONFIDENCES[judgement.confidence],
        call=None,
        method=call.method if call is not None else None,
        client=None,
        server=call.server if call is not None else None,
        frames=(),
        side=at.side if at is not None else None,
        field=at.path or None if at is not None else None,
        show=at.spelled if at is not None and place is not None else None,
        part=place.part if place is not None else None,
        bytes=(place.start, place.stop) if place is not None else None,
        extents=(),
        message=judgement.message,
        expected=judgement.expected,
        seen=judgement.seen,
        deviation=DeviationFacts(deviation.authority, deviation.text) if deviation is not None else None,
        excused=pattern.is_excused,
        follow=0,
    )


_CONFIDENCES: dict[Confidence, ConfidenceWord] = {
    Confidence.HIGH: "high",
    Confidence.MEDIUM: "medium",
    Confidence.LOW: "low",
}


def coverage_record(coverage: Coverage) -> CoverageRecord:
    return CoverageRecord(
        verdict=coverage.verdict,
        occurrences=coverage.occurrences,
        passed=coverage.counts[Outcome.PASSED],
        warned=coverage.counts[Outcome.WARNED],
        failed=coverage.counts[Outcome.FAILED],
        inconclusive=coverage.counts[Outcome.INCONCLUSIVE],
        excused=coverage.excused,
        accepted=coverage.accepted,
        reasons=dict(coverage.reasons),
        rules=coverage.rules,
        **requirement_keys(coverage.requirement),
    )


def requirement_keys(requirement: Requirement) -> dict[str, Any]:
    """What the records about a requirement have of it."""
    return {
        "requirement": requirement.id,
        "section": requirement.section,
        "level": requirement.level,
        "actor": requirement.actor,
        "statement": requirement.statement,
        "observable": requirement.observable,
        "trigger": requirement.trigger,
        "caused_by": requirement.caused_by,
        "provoked": requirement.provoked,
    }
