"""Makes views of audit findings, with the layer and byte range that show each, and the coverage of each section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from analyzer.core.printable_text import counted
from analyzer.questions.audit.audit_engine import Audit
from analyzer.questions.audit.findings_and_coverage import JUDGED, Finding, FindingPattern
from analyzer.results.analysis import Analysis
from analyzer.results.records.display_records import FindingView, SectionCoverage
from analyzer.screens.viewmodel.call_list import frame_label
from analyzer.screens.viewmodel.call_summary_words import section_words

# Patterns of findings that are remembered.
_MOST_PATTERNS = 1024


def finding_views(analysis: Analysis, audit: Audit) -> Iterator[FindingView]:
    """Yields the audit's findings with their places, in the order of the calls. This exhausts the audit."""
    return (replace(view, call=call, frames=frames) for view, call, frames in findings_of_calls(analysis, audit))


def findings_of_calls(analysis: Analysis, audit: Audit) -> Iterator[tuple[FindingView, int | None, tuple[str, ...]]]:
    """Yields the audit's findings with their places, each as a view without call and frames, then its call and frames. Findings
    that are alike share one view."""
    facts, known = analysis.capture, dict[FindingPattern, FindingView]()
    # Several findings of a call are in the same frames.
    last: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    for finding in audit.findings():
        # Calls of a pattern are alike: what shows it is at the same place in each.
        if (view := known.get(finding.pattern)) is None:
            if len(known) >= _MOST_PATTERNS:
                known.clear()
            view = known[finding.pattern] = _view(finding, audit)
        if (frames := finding.frames) != last:
            last, labels = frames, tuple([frame_label(frame, facts) for frame in frames])
        yield view, finding.call, labels


def coverage_views(audit: Audit) -> tuple[SectionCoverage, ...]:
    """Returns, beside the placed findings, the coverage of each section, from an exhausted audit."""
    sections: dict[str, Counter[str]] = {}
    for coverage in audit.coverage.values():
        sections.setdefault(section_words(coverage.requirement), Counter())[coverage.verdict] += 1
    return tuple(SectionCoverage(section, dict(verdicts)) for section, verdicts in sections.items())


def no_finding_words(verdicts: Mapping[str, int]) -> str:
    """Says in place of the placed findings, if there is none, how many requirements could be judged. `verdicts` are their
    counts."""
    judged = sum(verdicts.get(verdict, 0) for verdict in JUDGED)
    unjudged = verdicts.get("inconclusive", 0)
    if not judged:
        why = "what they bind could not be read" if unjudged else "nothing put one to the test"
        return f"no requirement could be judged: {why}"
    more = f"; {unjudged} could not be judged" if unjudged else ""
    return f"nothing was found in the {counted(judged, 'requirement')} that could be judged{more}"


def _view(finding: Finding, audit: Audit) -> FindingView:
    """Makes the view of an audit finding with its place, without call and frames."""
    judgement, place, rule = finding.judgement, finding.place, finding.rule
    requirement = audit.coverage[judgement.requirement].requirement
    return FindingView(
        rule=rule.code,
        name=rule.name,
        severity=finding.severity.value,
        verdict=judgement.outcome.value,
        confidence=judgement.confidence.name.lower(),
        requirements=judgement.requirements,
        section=section_words(requirement),
        statement=requirement.statement,
        actor=finding.actor.value,
        message=judgement.message,
        expected=judgement.expected,
        seen=judgement.seen,
        call=None,
        layer=_layer_id(place.part) if place is not None else None,
        start=place.start if place is not None else 0,
        stop=place.stop if place is not None else 0,
        field=judgement.at.spelled if judgement.at is not None and place is not None else None,
        frames=(),
        excused=finding.is_excused,
    )


def _layer_id(part: str) -> str:
    """Returns the id of the layer that a finding's place is in: `request.pdu1` of the part `request PDU 1`."""
    return part.lower().replace(" ", ".", 1).replace(" ", "")
