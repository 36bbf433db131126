"""The results of an audit: findings with the bytes that show them, the coverage of each requirement, and their records.

A baseline has the findings that somebody has looked at and accepts, so that the audit reports only new ones. An entry matches a
finding by rule, requirement, method, side, field and what was seen there, whatever the call or the array element. An entry whose
`seen` is null accepts whatever was seen.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from analyzer.core.errors import InputError
from analyzer.core.frame_ids import number_of
from analyzer.questions.audit.call_evidence import CallEvidence, Place, Spot
from analyzer.questions.audit.rule_registry import Requirement, Rule, catalogue
from analyzer.questions.audit.rule_verdicts import Actor, Confidence, Judgement, Outcome, Severity
from analyzer.results.analysis import CaptureFacts
from analyzer.results.records.finding import Confidence as ConfidenceWord
from analyzer.results.records.finding import CoverageRecord, CoverageVerdict, DeviationFacts, FindingRecord
from analyzer.results.records.record_types import Extent

# ------------------------------------------------------------------------------------------------------------- findings


# In the order of every table.
VERDICTS: tuple[CoverageVerdict, ...] = ("pass", "fail", "warn", "not-exercised", "inconclusive", "untestable")
# The verdicts of requirements whose trigger occurred and was judged.
JUDGED: tuple[CoverageVerdict, ...] = ("pass", "warn", "fail")
# A requirement keeps at most this many different reasons; its counts go on.
_MOST_REASONS = 5


def actor_of(judgement: Judgement) -> Actor:
    """Returns the side that a finding accuses: the one that the requirement of its judgement binds; if that is both, the rule's
    own, else the sender."""
    if judgement.actor is not None:
        return judgement.actor
    bound = catalogue()[judgement.requirement].actor
    if bound != "both":
        return Actor(bound)
    if judgement.at is None:
        return Actor.EITHER
    return Actor.CLIENT if judgement.at.side == "request" else Actor.SERVER


class FindingPattern(Struct, eq=False):
    """The common part of audit findings about calls that are alike: `judgement` is that of the first call.

    `is_excused`: a known deviation that the profile lets pass. `record` is that of the first finding, once it was made, and `spot`
    where the bytes of each stand.
    """

    rule: Rule
    judgement: Judgement
    severity: Severity
    is_excused: bool
    record: FindingRecord | None = None
    spot: Spot | None = None
    # How many findings were reported and are not counted for their requirements yet.
    unnoted: int = 0


class Finding(Struct, frozen=True):
    """A finding of the audit: a violation with its pattern and its call.

    `follow` is how many findings follow from this one and are not reported.
    """

    pattern: FindingPattern
    of: CallEvidence | None
    follow: int = 0

    @property
    def place(self) -> Place | None:
        """Returns the place of the captured bytes that show the finding; None if no bytes show it (an answer that never came)."""
        at = self.pattern.judgement.at
        return self.of.find(at) if self.of is not None and at is not None else None

    @property
    def rule(self) -> Rule:
        return self.pattern.rule

    @property
    def judgement(self) -> Judgement:
        """Returns the finding's judgement with its own call."""
        judgement = self.pattern.judgement
        return judgement if judgement.call is self.of else replace(judgement, call=self.of)

    @property
    def severity(self) -> Severity:
        return self.pattern.severity

    @property
    def is_excused(self) -> bool:
        """Tells whether the finding is a known deviation that the profile lets pass."""
        return self.pattern.is_excused

    @property
    def call(self) -> int | None:
        return self.of.number if self.of is not None else None

    @property
    def actor(self) -> Actor:
        """Returns the side that committed the finding's violation."""
        return actor_of(self.pattern.judgement)

    @property
    def frames(self) -> tuple[int, ...]:
        """Returns the ids of the frames that show the finding: those of the bytes, else of the message, else of the call."""
        judgement, call = self.pattern.judgement, self.of
        if judgement.frames is not None:
            return judgement.frames
        if call is None:
            return ()
        side = call.side(judgement.at.side) if judgement.at is not None else None
        if side is None:
            return call.frames
        frames = side.frames
        # Whatever its place, bytes of a message in one frame are in that one.
        if len(frames) > 1 and (place := self.place) is not None:
            return place.frames or frames
        return frames


class Coverage(Struct):
    """The coverage of one requirement by an audit: how often its trigger occurred, and how it was judged then.

    `excused` occurrences departed from the letter in a way that the profile accepts, `accepted` ones are in the baseline.
    """

    requirement: Requirement
    counts: Counter[Outcome] = field(default_factory=Counter)
    excused: int = 0
    accepted: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    rules: tuple[str, ...] = ()

    def doubt(self, reason: str, count: int) -> None:
        """Counts in this coverage occurrences of the requirement's trigger that cannot be judged, and why."""
        self.counts[Outcome.INCONCLUSIVE] += count
        if reason in self.reasons or len(self.reasons) < _MOST_REASONS:
            self.reasons[reason] += count

    @property
    def verdict(self) -> CoverageVerdict:
        """Returns the verdict of this coverage, which is the worst one on the requirement. One that was judged in part still
        passes, with its inconclusive cases counted."""
        if self.requirement.observable == "no":
            return "untestable"
        if self.counts[Outcome.FAILED]:
            return "fail"
        if self.counts[Outcome.WARNED]:
            return "warn"
        if self.counts[Outcome.PASSED]:
            return "pass"
        return "inconclusive" if self.counts[Outcome.INCONCLUSIVE] else "not-exercised"

    @property
    def occurrences(self) -> int:
        """Returns the occurrences in this coverage: how often the requirement's trigger occurred and was judged, without
        inconclusive cases."""
        return self.counts[Outcome.PASSED] + self.counts[Outcome.WARNED] + self.counts[Outcome.FAILED]


def finding_record(finding: Finding, facts: CaptureFacts) -> FindingRecord:
    """Makes the record of a finding: `bytes` are a range of `part`; `extents` where these bytes stand in the captured frames."""
    pattern, of = finding.pattern, finding.of
    known = pattern.record
    if known is None:
        known = pattern.record = _first_record(finding)
    judgement, spot = pattern.judgement, pattern.spot
    side = of.side(judgement.at.side) if of is not None and judgement.at is not None else None
    extents = side.extents_as(*spot) if side is not None and spot is not None else ()
    # Most findings have the one frame of their side.
    is_in_one = side is not None and judgement.frames is None and len(side.frames) == 1
    frames, files = facts.numbered(side.frames if side is not None and is_in_one else finding.frames)
    return replace(
        known,
        call=finding.call,
        client=of.context.client if of is not None else None,
        frames=frames,
        frame_files=files,
        extents=tuple([Extent(number_of(one.frame), one.start, one.length) for one in extents]),
        follow=finding.follow,
    )


def _first_record(finding: Finding) -> FindingRecord:
    """Makes the record of a pattern's first finding, without what differs between the pattern's calls."""
    pattern, call = finding.pattern, finding.of
    rule, judgement, at = pattern.rule, pattern.judgement, pattern.judgement.at
    spot = pattern.spot = call.spot(at) if call is not None and at is not None else None
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
        server=call.context.server if call is not None else None,
        frames=(),
        side=at.side if at is not None else None,
        field=at.path or None if at is not None else None,
        show=at.spelled if at is not None and spot is not None else None,
        part=spot[0] if spot is not None else None,
        bytes=spot[1:3] if spot is not None else None,
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
    """Returns the keys that records of findings and coverage take from a requirement."""
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


# ---------------------------------------------------------------------------------------------------- accepted findings


_SCHEMA = 2
_POSITION = re.compile(r"\[[^\]]*\]")


# The keys by which an entry matches, and those that may be absent or null; `count` and `reason` are for people.
_KEYS = ("rule", "requirement", "method", "field", "seen")
_OPTIONAL = frozenset(("method", "field", "seen"))


class Accepted(Struct, frozen=True):
    """An entry of the audit's baseline: an accepted finding, without array positions."""

    rule: str
    requirement: str
    method: str | None
    field: str | None
    seen: str | None

    @classmethod
    def of_finding(cls, finding: Finding) -> Accepted:
        judgement = finding.judgement
        method = judgement.call.method if judgement.call is not None else None
        field = None
        if judgement.at is not None:
            field = _POSITION.sub("[]", ".".join(word for word in (judgement.at.side, judgement.at.path) if word))
        return cls(finding.rule.code, judgement.requirement, method, field, judgement.seen)

    @property
    def whatever_seen(self) -> Accepted:
        """Returns the entry that accepts findings of an audit like this one, whatever was seen."""
        return Accepted(self.rule, self.requirement, self.method, self.field, None)

    @property
    def words(self) -> str:
        """Returns in one line which findings of an audit this entry of its baseline accepts."""
        place = ", ".join(word for word in (self.method, self.field) if word)
        return (
            f"{self.rule} {self.requirement}"
            + (f", {place}" if place else "")
            + (f": {self.seen}" if self.seen else "")
        )


def read_baseline(path: Path) -> tuple[Accepted, ...]:
    """Reads the accepted findings of an audit's baseline file; raises `InputError` if it is no such file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != _SCHEMA:
            raise InputError(
                f"{path} is a baseline of schema {document['schema']}; this program knows {_SCHEMA}",
                hint="`audit --write-baseline` writes one",
            )
        entries = (
            Accepted(*(entry.get(key) if key in _OPTIONAL else entry[key] for key in _KEYS))
            for entry in document["accepted"]
        )
        return tuple(dict.fromkeys(entries))
    except OSError as error:
        raise InputError(f"the baseline {path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path} is not a baseline", hint="`audit --write-baseline` writes one") from None


def baseline_json(findings: Iterable[Finding]) -> tuple[bytes, int]:
    """Returns a baseline file that accepts all findings of an audit, for a person to give reasons, and its number of entries."""
    counts: dict[Accepted, int] = {}
    for finding in findings:
        if not finding.is_excused:
            entry = Accepted.of_finding(finding)
            counts[entry] = counts.get(entry, 0) + 1
    entries = [
        {
            "rule": entry.rule,
            "requirement": entry.requirement,
            "method": entry.method,
            "field": entry.field,
            "seen": entry.seen,
            "count": counts[entry],
            "reason": "",
        }
        for entry in sorted(counts, key=lambda entry: tuple(getattr(entry, key) or "" for key in _KEYS))
    ]
    document = json.dumps({"schema": _SCHEMA, "accepted": entries}, indent=2) + "\n"
    return document.encode(), len(entries)
