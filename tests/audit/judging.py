"""Shows traffic made by builders to one rule, and returns what the audit says of it."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.audit.engine import Audit, Profile
from analyzer.audit.findings import Coverage, Finding
from analyzer.audit.rule import rule_pages
from analyzer.audit.verdicts import Outcome
from analyzer.core.events import Event
from analyzer.model.analysis import Analysis
from tests.audit import evidence, verdicts
from tests.build.calls import analysis_of


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
    (page,) = (page for page in rule_pages() if page.rule.code == code)
    audit = Audit(analysis, profile=profile, pages=[page])
    findings = tuple(audit.findings())
    evidence.check(findings)
    coverage = {name: audit.coverage[name] for name in page.rule.requirements}
    verdicts.check(findings, coverage)
    return Verdict(findings, coverage)
