"""`audit`: what an audit found, one record a finding and requirement. `audit_text.py` shows it to people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from analyzer.questions.audit.audit_engine import Audit
from analyzer.questions.audit.findings import (
    JUDGED,
    Coverage,
    Finding,
    coverage_record,
    finding_record,
    requirement_keys,
)
from analyzer.questions.audit.rule_verdicts import Severity
from analyzer.results.records.finding import AuditSummaryRecord, CoverageVerdict, MatrixRecord
from analyzer.results.records.record_types import Record
from analyzer.screens.viewmodel.nothing_to_read import nothing_decrypted
from analyzer.screens.views.view_type import OfCapture

if TYPE_CHECKING:
    from analyzer.results.analysis import Analysis


class AuditView(Struct, OfCapture, frozen=True):
    """The view of one audit. What was found is counted by severity while it is shown."""

    audit: Audit
    severities: Counter[Severity] = field(default_factory=Counter)

    @property
    def analysis(self) -> Analysis:  # type: ignore[override]
        return self.audit.analysis

    def findings(self) -> Iterator[Finding]:
        """The findings of the audit, counted as they pass."""
        severities = self.severities
        for finding in self.audit.findings():
            severities[finding.pattern.severity] += 1
            yield finding

    @property
    def undecrypted(self) -> str | None:
        """The sentence that nothing of the audited capture was decrypted."""
        return nothing_decrypted(self.analysis)

    def records(self) -> Iterator[Record]:
        """The records of an audit: findings in the order of the calls, then the coverage of every requirement, then counts."""
        facts = self.analysis.capture
        for finding in self.findings():
            yield finding_record(finding, facts)
        verdicts: Counter[str] = Counter()
        for coverage in self.audit.coverage.values():
            verdicts[coverage.verdict] += 1
            yield coverage_record(coverage)
        yield AuditSummaryRecord(
            profile=self.audit.profile.value,
            actor=self.audit.actor.value,
            findings=sum(self.severities.values()),
            findings_by_severity={severity.value: count for severity, count in sorted(self.severities.items())},
            accepted=self.audit.accepted,
            unmatched=tuple(self.audit.unmatched),
            requirements=dict(sorted(verdicts.items())),
            judged=round(self.audit.share_judged, 4),
            undecrypted=self.undecrypted,
        )

    def lines(self, width: int | None) -> Iterator[str]:
        """The audit as text. What makes it is not loaded for records, which most programs ask for."""
        from analyzer.screens.views.audit_text import audit_lines

        return audit_lines(self, width)


class MatrixView(Struct, frozen=True):
    """Several captures, each audited by itself, compared requirement by requirement: what test traffic never exercised."""

    names: tuple[str, ...]
    coverages: Sequence[dict[str, Coverage]]

    def inputs(self) -> tuple[str, ...]:
        return self.names

    def records(self) -> Iterator[Record]:
        for requirement, verdicts in self.rows():
            yield MatrixRecord(
                verdicts=dict(zip(self.names, verdicts, strict=True)),
                exercised=any(verdict in JUDGED for verdict in verdicts),
                **requirement_keys(self.coverages[0][requirement].requirement),
            )

    def lines(self, width: int | None) -> Iterator[str]:
        """The comparison of audits as text."""
        from analyzer.screens.views.audit_text import matrix_lines

        return matrix_lines(self, width)

    def rows(self) -> Iterator[tuple[str, list[CoverageVerdict]]]:
        for requirement in self.coverages[0]:
            yield requirement, [coverage[requirement].verdict for coverage in self.coverages]
