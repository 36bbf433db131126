"""What an audit comes to: findings, each with the bytes that show it, and the coverage of each requirement."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct, field

from analyzer.questions.audit.catalogue import Requirement, catalogue
from analyzer.questions.audit.evidence import Place
from analyzer.questions.audit.rule import Rule
from analyzer.questions.audit.verdicts import Actor, Judgement, Outcome, Severity
from analyzer.results.audit import CoverageVerdict

# In the order of every table.
VERDICTS: tuple[CoverageVerdict, ...] = ("pass", "fail", "warn", "not-exercised", "inconclusive", "untestable")
# The verdicts of requirements whose trigger occurred and was judged.
JUDGED: tuple[CoverageVerdict, ...] = ("pass", "warn", "fail")
# So many different reasons are kept a requirement; the counts go on.
_MOST_REASONS = 5


def actor_of(judgement: Judgement) -> Actor:
    """The side that a requirement binds; where it binds both, the one the rule names, else the side that sent the bytes."""
    if judgement.actor is not None:
        return judgement.actor
    bound = catalogue()[judgement.requirement].actor
    if bound != "both":
        return Actor(bound)
    if judgement.at is None:
        return Actor.EITHER
    return Actor.CLIENT if judgement.at.side == "request" else Actor.SERVER


class Finding(Struct, frozen=True):
    """Something a rule saw that should not be: the judgement, whose it is, and where its bytes are.

    `place` is None where no bytes show it (an answer that never came). `is_excused`: a known deviation that the profile lets pass.
    `follow`: how many findings follow from this one and are not reported.
    """

    rule: Rule
    judgement: Judgement
    severity: Severity
    is_excused: bool
    place: Place | None
    follow: int = 0

    @property
    def call(self) -> int | None:
        return self.judgement.call.number if self.judgement.call is not None else None

    @property
    def actor(self) -> Actor:
        """The side that committed it."""
        return actor_of(self.judgement)

    @property
    def frames(self) -> tuple[int, ...]:
        """Ids of the frames that show it: those of the bytes, else of the message, else of the call."""
        if self.judgement.frames is not None:
            return self.judgement.frames
        if self.place is not None and self.place.extents:
            return tuple(sorted({extent.frame for extent in self.place.extents}))
        call, at = self.judgement.call, self.judgement.at
        if call is None:
            return ()
        side = call.side(at.side) if at is not None else None
        return side.side.frames if side is not None else call.frames


class Coverage(Struct):
    """What the capture says of one requirement: how often its trigger occurred, and how it was judged then.

    `excused` occurrences departed from the letter in a way that the profile accepts, `accepted` ones are in the baseline.
    """

    requirement: Requirement
    counts: Counter[Outcome] = field(default_factory=Counter)
    excused: int = 0
    accepted: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    rules: tuple[str, ...] = ()

    def doubt(self, reason: str, count: int) -> None:
        """Counts occurrences that cannot be judged, and why."""
        self.counts[Outcome.INCONCLUSIVE] += count
        if reason in self.reasons or len(self.reasons) < _MOST_REASONS:
            self.reasons[reason] += count

    @property
    def verdict(self) -> CoverageVerdict:
        """The worst that was seen; what could only be judged in part still passes, with its inconclusive cases counted."""
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
        """How often its trigger occurred and was judged; what was inconclusive is not among them."""
        return self.counts[Outcome.PASSED] + self.counts[Outcome.WARNED] + self.counts[Outcome.FAILED]
