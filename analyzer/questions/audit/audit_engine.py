"""The audit: judges the calls of an analysis by rules, and gives findings and the coverage of every requirement.

Each call is shown to the rules that read calls like it (`rule_plans.py`). A profile decides what known deviations count as:

    spec     the letter: they fail
    windows  they pass, and say so (the default)
    strict   they fail, and so does every warning and note

Root causes are violations that displace the parameters of a call, so that further violations only follow from them. Judgements
that follow from a root cause become inconclusive, all others pass unchanged. At the end, each root cause is given with
the number of violations that follow from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from analyzer.core.printable_text import guid_text
from analyzer.questions.audit.call_evidence import CallEvidence, Evidence
from analyzer.questions.audit.findings_and_coverage import JUDGED, Accepted, Coverage, Finding, FindingPattern, actor_of
from analyzer.questions.audit.rule_plans import INTERFACES, Plan, Plans, about, answered_by, checked
from analyzer.questions.audit.rule_registry import Level, Rule, Triggered, Watch, catalogue, every_rule, why_not_shown
from analyzer.questions.audit.rule_verdicts import Actor, Judgement, Outcome, Severity, inconclusive
from analyzer.results.analysis import Analysis

# ---------------------------------------------------------------------------------------------------------- root causes


_REASON = "the parameters of the call are not where the IDL puts them"
_VIOLATIONS = (Outcome.FAILED, Outcome.WARNED)


class RootCauses:
    """Collects the root causes of violations in a capture, by the number of their call."""

    def __init__(self) -> None:
        self._roots: dict[int, tuple[Rule, Judgement]] = {}
        self._follow: dict[int, int] = {}
        # By the handle that was meant: the first call with displaced parameters; what it did to the handle could not be read.
        self._handles: dict[str, int] = {}

    @property
    def are_there(self) -> bool:
        """Tells whether a call with a root cause was found."""
        return bool(self._roots)

    def of_call(self, call: CallEvidence, judged: list[tuple[Rule, Judgement]]) -> Iterator[tuple[Rule, Judgement]]:
        """Yields the judgements of one call, without its root cause; violations that follow from it become inconclusive."""
        root = next((one for one in judged if one[1].displaces), None)
        if root is None:
            yield from self.afterwards(judged)
            return
        self._roots[call.number] = root
        self._follow[call.number] = 0
        for handle in _meant(call, root[1]):
            self._handles.setdefault(handle, call.number)
        for rule, judgement in judged:
            if judgement is not root[1]:
                yield rule, self._following(call.number, judgement)

    def afterwards(self, judged: Iterable[tuple[Rule, Judgement]]) -> Iterator[tuple[Rule, Judgement]]:
        """Yields judgements of audit rules that remember; violations that follow from a root cause become inconclusive."""
        if not self._roots:
            yield from judged
            return
        for rule, judgement in judged:
            call = judgement.call
            if call is None or judgement.outcome not in _VIOLATIONS:
                yield rule, judgement
                continue
            number = call.number if call.number in self._roots else None
            if number is None and rule.level is Level.SEQUENCES:
                number = next((self._handles[one] for one in _handles(call) if one in self._handles), None)
            yield rule, judgement if number is None else self._following(number, judgement)

    def causes(self) -> Iterator[tuple[Rule, Judgement, int]]:
        """Yields the root causes in the order of their calls, and how many violations follow from each."""
        for number, (rule, judgement) in self._roots.items():
            yield rule, judgement, self._follow[number]

    def _following(self, root: int, judgement: Judgement) -> Judgement:
        if judgement.outcome in _VIOLATIONS:
            self._follow[root] += 1
        return replace(judgement, outcome=Outcome.INCONCLUSIVE, message=_REASON)


def _handles(call: CallEvidence) -> Iterator[str]:
    """Yields the query handles in a call's request and response, by which an audit finds what follows from a root cause."""
    for params in (call.asked, call.answered):
        for name in ("hQuery", "phQuery"):
            handle = params.get(name)
            if isinstance(handle, dict):
                yield handle["uuid"]


def _meant(call: CallEvidence, root: Judgement) -> Iterator[str]:
    """Yields the query handle that a root cause displaces: it stands after the bytes which do so."""
    if call.request is not None and call.request.is_readable and root.at is not None:
        place = call.place(root.at)
        start = place.stop + 4 if place is not None else 0
        uuid = call.request.stub[start : start + 16]
        if len(uuid) == 16:
            yield guid_text(uuid)


# --------------------------------------------------------------------------------------------------------- audit engine


# Violations that count as warnings: doubts of rules about errors, and failures (under `strict`) of rules that only inform.
_IN_BETWEEN = ((Outcome.WARNED, Severity.ERROR), (Outcome.FAILED, Severity.INFO))

# Occurrences of at most this many plans are counted together.
_MOST_REPEATED = 512


class Profile(StrEnum):
    SPEC = "spec"
    WINDOWS = "windows"
    STRICT = "strict"


class _OfPart(Struct, frozen=True):
    """The channels, query handles and pairs of hosts (client first) of the calls that an audit was asked for."""

    channels: frozenset[int] = frozenset()
    handles: frozenset[int] = frozenset()
    hosts: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of_analysis(cls, analysis: Analysis) -> _OfPart:
        channels, handles, hosts = set(), set(), set()
        for _, call in analysis.shown:
            channels.add(call.channel)
            hosts.add((call.client.ip, call.server.ip))
            if call.is_perflib and call.query is not None:
                handles.add(call.query.number)
        return cls(frozenset(channels), frozenset(handles), frozenset(hosts))


class Audit:
    """One audit of one analysis. `findings` is to be exhausted before `coverage` is whole.

    `rules` are those to ask (all, if not given); of a selection, only the requirements it judges are covered. Findings of the
    `baseline` are not reported again, but counted in `accepted`. With an `actor`, only requirements that bind this side are
    covered, and violations of the other side are not reported: what a client provoked on purpose is evidence then. `found`
    counts what was reported and is not excused, by outcome. What a probe `triggered` is inconclusive where the capture does not
    show it.

    If the analysis has a `part`, only the judgements of its calls count, with those of the handles, associations and pairs of
    hosts of these calls. The audit follows all calls for what they show of these.
    """

    def __init__(
        self,
        analysis: Analysis,
        *,
        profile: Profile = Profile.WINDOWS,
        rules: Sequence[Rule] | None = None,
        baseline: Collection[Accepted] = (),
        actor: Actor = Actor.EITHER,
        triggered: Triggered = MappingProxyType({}),
    ) -> None:
        self.analysis, self.profile, self.actor = analysis, profile, actor
        self.found: Counter[Outcome] = Counter()
        self.baseline, self._triggered = frozenset(baseline), triggered
        self._matched: Counter[Accepted] = Counter()
        self._causes = RootCauses()
        # How often each plan was used after the first time, as far as that is not counted yet.
        self._repeated: dict[Plan, int] = {}
        # How often requirements passed with calls that were asked about, and how often they were inconclusive for the same reason
        # after the first time, as far as that is not counted yet.
        self._passed: Counter[tuple[str, ...]] = Counter()
        self._doubted: dict[tuple[tuple[str, ...], str], int] = {}
        self.evidence = Evidence(analysis)
        self._shown = analysis.shown
        self._of_part = _OfPart.of_analysis(analysis) if analysis.part is not None else _OfPart()
        self._rules = tuple(every_rule() if rules is None else rules)
        judged: dict[str, list[str]] = {}
        for rule in self._rules:
            for requirement in rule.requirements:
                judged.setdefault(requirement, []).append(rule.code)
        is_whole = len(self._rules) == len(every_rule())
        self.coverage = {
            id: Coverage(requirement, rules=tuple(judged.get(id, ())))
            for id, requirement in catalogue().items()
            if (is_whole or id in judged) and (actor is Actor.EITHER or requirement.actor in (actor.value, "both"))
        }

    @property
    def accepted(self) -> int:
        """Returns how many findings the audit engine did not report because its baseline accepts them."""
        return self._matched.total()

    @property
    def unmatched(self) -> tuple[str, ...]:
        """Returns, in words, the entries of the audit engine's baseline that none of its findings matched."""
        return tuple(sorted(entry.words for entry in self.baseline if not self._matched[entry]))

    @property
    def share_judged(self) -> float:
        """Returns the share of testable requirements whose trigger occurred and was judged; 1 if none is testable."""
        verdicts = [coverage.verdict for coverage in self.coverage.values() if coverage.verdict != "untestable"]
        return sum(verdict in JUDGED for verdict in verdicts) / len(verdicts) if verdicts else 1.0

    def findings(self) -> Iterator[Finding]:
        """Yields the findings of the audit in the order of the calls, then those that only the end of the capture shows, then root
        causes."""
        watches: dict[int, Watch[Any]] = {
            id(look): look.watch(self.evidence) for rule in self._rules for look in rule.looks if look.watch is not None
        }
        plans = Plans(self._rules, watches)
        for call in self.evidence.calls():
            yield from self._of_call(call, plans)
        self._settle_repeated()
        for rule in self._rules:
            for look in rule.looks:
                found: Iterable[Judgement] = ()
                if look.watch is not None:
                    found = watches[id(look)].finish()
                elif look.at_end is not None:
                    found = look.at_end(self.evidence)
                late = ((rule, judgement) for judgement in answered_by(rule, look, found))
                yield from self._judged(self._causes.afterwards(late))
        for rule, judgement, follow in self._causes.causes():
            yield from (replace(finding, follow=follow) for finding in self._judged([(rule, judgement)]))
        for requirement, steps in self._triggered.items():
            coverage = self.coverage.get(requirement)
            if coverage is not None and coverage.verdict == "not-exercised":
                self._note(inconclusive(why_not_shown(steps), None, requirement))

    def _of_call(self, call: CallEvidence, plans: Plans) -> Iterator[Finding]:
        """Yields the findings of the audit about one call."""
        is_shown = self._is_shown(call.number)
        if call.opnum is None:
            if is_shown:
                self._unknown(call)
            return
        plan = plans.plan_of(call)
        self.evidence.note_places(call)
        if is_shown:
            self._settle(plan)
        if not is_shown or plan.is_displaced or self._causes.are_there:
            pairs = [
                (rule, about(one, call) if isinstance(found, tuple) else checked(rule, look, one, call.opnum))
                for rule, look, found in plan.steps
                for one in (found if isinstance(found, tuple) else found(call))
            ]
            yield from self._judged(self._causes.of_call(call, pairs), call.number)
            return
        for patterns, asked in plan.turns(self._pattern):
            for pattern in patterns:
                pattern.unnoted += 1
                if (finding := self._reported(pattern, call)) is not None:
                    yield finding
            if asked is None:
                return
            rule, look, ask = asked
            for one in ask(call):
                requirements = one.requirements or look.concerning(call.opnum)
                if one.outcome is Outcome.PASSED:
                    self._passed[requirements] += one.count
                    continue
                doubt, is_doubt = (requirements, one.message), one.outcome is Outcome.INCONCLUSIVE
                if is_doubt and doubt in self._doubted and one.call in (None, call):
                    self._doubted[doubt] += one.count
                    continue
                own = checked(rule, look, one, call.opnum)
                if is_doubt and own.call in (None, call):
                    if len(self._doubted) >= _MOST_REPEATED:
                        self._settle_repeated()
                    self._doubted[doubt] = 0
                    self._note(own)
                else:
                    yield from self._judged(((rule, own),), call.number)

    def _settle(self, plan: Plan) -> None:
        """Counts the verdicts that a plan gives all of its calls: for the first call at once, for the others together later."""
        if plan in self._repeated:
            self._repeated[plan] += 1
            return
        if len(self._repeated) >= _MOST_REPEATED:
            self._settle_repeated()
        self._repeated[plan] = 0
        self._count_settled(plan, 1)

    def _settle_repeated(self) -> None:
        for plan, times in self._repeated.items():
            self._count_settled(plan, times)
            for pattern in plan.noting():
                self._note(pattern.judgement, excused=pattern.is_excused, times=pattern.unnoted)
                pattern.unnoted = 0
        self._repeated.clear()
        for requirements, count in self._passed.items():
            self._pass(requirements, count)
        self._passed.clear()
        for (requirements, reason), count in self._doubted.items():
            self._doubt(requirements, reason, count)
        self._doubted.clear()

    def _count_settled(self, plan: Plan, times: int) -> None:
        for requirement, count in plan.passed if times else ():
            self._pass((requirement,), count * times)
        for (requirement, reason), count in plan.unknown if times else ():
            self._doubt((requirement,), reason, count * times)

    def _judged(self, judged: Iterable[tuple[Rule, Judgement]], number: int | None = None) -> Iterator[Finding]:
        """Yields the violations among an audit's judgements that are to be reported, and counts the others. `number` is the number
        of the judged call."""
        for rule, judgement in judged:
            if not self._is_shown(judgement.call.number if judgement.call is not None else number) and not (
                judgement.outcome in (Outcome.FAILED, Outcome.WARNED) and self._concerns(rule, judgement)
            ):
                continue
            if judgement.outcome is Outcome.PASSED:
                self._pass(judgement.requirements, judgement.count)
                continue
            if judgement.outcome is Outcome.INCONCLUSIVE:
                self._note(judgement)
                continue
            if (pattern := self._pattern(rule, judgement)) is not None:
                self._note(pattern.judgement, excused=pattern.is_excused)
                if (finding := self._reported(pattern, judgement.call)) is not None:
                    yield finding

    def _pattern(self, rule: Rule, judgement: Judgement) -> FindingPattern | None:
        """Returns the finding pattern that the audit engine makes of a violation under its profile; None if the other side
        committed it."""
        if self.actor is not Actor.EITHER and actor_of(judgement) not in (self.actor, Actor.EITHER):
            return None
        is_note = judgement.outcome is Outcome.WARNED and (judgement.note or rule.severity is Severity.INFO)
        if judgement.outcome is Outcome.WARNED and self.profile is Profile.STRICT:
            judgement, is_note = replace(judgement, outcome=Outcome.FAILED), False
        excused = is_note or (judgement.deviation is not None and self.profile is Profile.WINDOWS)
        severity = rule.severity
        if excused:
            severity = Severity.INFO
        elif (judgement.outcome, severity) in _IN_BETWEEN:
            severity = Severity.WARNING
        return FindingPattern(rule, judgement, severity, excused)

    def _reported(self, pattern: FindingPattern, call: CallEvidence | None) -> Finding | None:
        """Returns the finding that the audit reports about a call; None if the baseline accepts it."""
        judgement, excused = pattern.judgement, pattern.is_excused
        finding = Finding(pattern, call)
        if self.baseline and not excused and (entry := self._accepted_by(finding)) is not None:
            self._matched[entry] += 1
            for coverage in self._covered(judgement):
                coverage.accepted += 1
            return None
        if not excused:
            self.found[judgement.outcome] += 1
        return finding

    def _is_shown(self, call: int | None) -> bool:
        """Tells whether the audit reports findings about a call; without a call, not if only some calls were asked for."""
        return self.analysis.part is None or (call is not None and self._shown.holds(call))

    def _concerns(self, rule: Rule, judgement: Judgement) -> bool:
        """Tells whether an audit's violation concerns the handle, association or hosts of a call that was asked for."""
        about = {look.about for look in rule.looks if judgement.requirement in look.requirements}
        call, channel, part = judgement.call, judgement.channel, self._of_part
        if call is not None:
            one, query = call.decoded, call.decoded.query
            return (
                ("association" in about and one.channel in part.channels)
                or ("handle" in about and query is not None and query.number in part.handles)
                or ("conversation" in about and (one.client.ip, one.server.ip) in part.hosts)
            )
        return channel is not None and channel.number in part.channels

    def _accepted_by(self, finding: Finding) -> Accepted | None:
        """Returns the entry of its baseline by which the audit engine does not report a finding; None if no entry accepts it."""
        entry = Accepted.of_finding(finding)
        return next((key for key in (entry, entry.whatever_seen) if key in self.baseline), None)

    def _note(self, judgement: Judgement, *, excused: bool = False, times: int = 1) -> None:
        """Counts a verdict `times` times in this `Audit`, for each of its requirements."""
        for coverage in self._covered(judgement):
            self._count(coverage, judgement, excused=excused, times=times)

    def _pass(self, requirements: Iterable[str], count: int) -> None:
        for requirement in requirements:
            if (coverage := self.coverage.get(requirement)) is not None:
                coverage.counts[Outcome.PASSED] += count

    def _doubt(self, requirements: Iterable[str], reason: str, count: int) -> None:
        for requirement in requirements:
            if count and (coverage := self.coverage.get(requirement)) is not None:
                coverage.doubt(reason, count)

    def _covered(self, judgement: Judgement) -> Iterator[Coverage]:
        """Yields the coverage of those of a judgement's requirements that this audit covers."""
        for requirement in judgement.requirements:
            if requirement in self.coverage:
                yield self.coverage[requirement]

    def _count(self, coverage: Coverage, judgement: Judgement, *, excused: bool, times: int) -> None:
        if excused:
            # Of two requirements that exclude each other, the one that was not followed did not pass.
            follows = judgement.deviation.instead if judgement.deviation is not None else None
            if coverage.requirement.excludes is None and follows is None:
                coverage.counts[Outcome.PASSED] += times
            coverage.excused += times
            return
        if judgement.outcome is Outcome.INCONCLUSIVE:
            coverage.doubt(judgement.message, judgement.count * times)
        else:
            coverage.counts[judgement.outcome] += judgement.count * times

    def _unknown(self, call: CallEvidence) -> None:
        """Counts for the audit an answer without a captured request: it may have been of any method."""
        interface = call.context.interface.uuid
        requirements = {
            requirement
            for rule in self._rules
            for look in rule.looks
            if look.reads is not None and INTERFACES[look.reads.interface] == interface
            for requirement in look.requirements
        }
        reason = "an answer whose request was not captured may have been of this method"
        if requirements:
            self._note(inconclusive(reason, call, *requirements))
