"""Shows traffic made by builders to one rule, and returns what the audit says of it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import groupby
from types import SimpleNamespace
from typing import Any

from analyzer.core.events import Event
from analyzer.questions.audit.audit_engine import Audit, Profile
from analyzer.questions.audit.findings_and_coverage import Coverage, Finding
from analyzer.questions.audit.rule_registry import every_rule
from analyzer.questions.audit.rule_verdicts import Outcome
from analyzer.results.analysis import Analysis
from tests.build.calls import analysis_of
from tests.questions.audit import examples

# A call of which a rule asks nothing but where its findings are.
ANY: Any = SimpleNamespace(judged_side="response")


def judgement_words(judgements: Iterable[Any]) -> list[str]:
    """Of each judgement its outcome, its requirements (of what points anywhere the first), and where it points."""
    found = []
    for (outcome, is_placed), alike in groupby(judgements, lambda one: (one.outcome.value, one.at is not None)):
        if is_placed:
            found += [
                f"{outcome} {(one.requirements or '-')[0]} {one.at.path.removeprefix('lpData.')}" for one in alike
            ]
        else:
            of = [name for one in alike for name in one.requirements or ("-",)]
            found.append(f"{outcome} {examples.sections(of)}")
    return found


def checked(rule: Any, call: Any = ANY) -> list[str]:
    """What a rule says of a call that it is shown as it is."""
    return judgement_words(next(look for look in rule.looks if look.check is not None).check(call))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one rule stated: its findings, and the coverage of its requirements."""

    findings: tuple[Finding, ...]
    coverage: dict[str, Coverage]

    @property
    def requirements(self) -> set[str]:
        """The requirements that failed or were warned of."""
        return {requirement for finding in self.findings for requirement in finding.judgement.requirements}

    def verdict(self, requirement: str) -> str:
        return self.coverage[requirement].verdict

    def count(self, requirement: str, outcome: Outcome = Outcome.PASSED) -> int:
        return self.coverage[requirement].counts[outcome]


def judged(code: str, *events: Event, profile: Profile = Profile.WINDOWS) -> Verdict:
    """The verdict of rule `code` on calls, in the order given."""
    return judged_analysis(code, analysis_of(*events), profile=profile)


def judged_analysis(code: str, analysis: Analysis, *, profile: Profile = Profile.WINDOWS) -> Verdict:
    (rule,) = (rule for rule in every_rule() if rule.code == code)
    audit = Audit(analysis, profile=profile, rules=[rule])
    findings = tuple(audit.findings())
    coverage = {name: audit.coverage[name] for name in rule.requirements}
    examples.check(findings, coverage)
    return Verdict(findings, coverage)


def found_by(codes: Collection[str], *events: Event) -> list[Finding]:
    """What several rules find together."""
    findings = list(Audit(analysis_of(*events), rules=[rule for rule in every_rule() if rule.code in codes]).findings())
    examples.check(findings)
    return findings


# From the worst of the verdicts on a rule's requirements to the best.
_WORST = ("fail", "warn", "pass", "inconclusive", "not-exercised")
# A case of a rule: its code, the promise that it shows, the worst verdict on the rule's requirements, and the events. What else is
# said of it, down to the bytes, stands in examples.txt.
Case = tuple[str, str, str, Iterable[Event]]


def by_name(case: Case) -> str:
    return f"{case[0]} {case[1]}"


def holds(case: Case) -> None:
    """Asks the rule of a case about its events."""
    code, _, expected, events = case
    verdicts = {one.verdict for one in judged(code, *events).coverage.values()}
    assert min(verdicts, key=_WORST.index) == expected
