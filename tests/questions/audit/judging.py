"""Shows traffic made by builders to one rule, and returns what the audit says of it."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.core.events import Event
from analyzer.questions.audit.engine import Audit, Profile
from analyzer.questions.audit.findings import Coverage, Finding
from analyzer.questions.audit.rule import every_rule
from analyzer.questions.audit.verdicts import Outcome
from analyzer.results.analysis import Analysis
from tests.build.calls import analysis_of
from tests.questions.audit import examples


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
