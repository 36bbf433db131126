"""The view of `audit`: one record a finding, then coverage and counts. `audit_text.py` makes its text."""

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
    """The view of one audit. It counts the findings by severity while it shows them."""

    audit: Audit
    severities: Counter[Severity] = field(default_factory=Counter)

    @property
    def analysis(self) -> Analysis:  # type: ignore[override]
        return self.audit.analysis

    def findings(self) -> Iterator[Finding]:
        """Yields the findings of the audit, and counts them by severity."""
        severities = self.severities
        for finding in self.audit.findings():
            severities[finding.pattern.severity] += 1
            yield finding

    @property
    def undecrypted(self) -> str | None:
        """Returns the sentence that nothing of the audited capture was decrypted, else None."""
        return nothing_decrypted(self.analysis)

    def records(self) -> Iterator[Record]:
        """Yields the records of an audit: findings in the order of the calls, the coverage of every requirement, and counts."""
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
        """Returns the audit as text. Loads the text module only here: most programs ask for records."""
        from analyzer.screens.views.audit_text import audit_lines

        return audit_lines(self, width)


class MatrixView(Struct, frozen=True):
    """The view of several audited captures, compared by requirement. It shows what test traffic never exercised."""

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
        """Returns the comparison of audits as text."""
        from analyzer.screens.views.audit_text import matrix_lines

        return matrix_lines(self, width)

    def rows(self) -> Iterator[tuple[str, list[CoverageVerdict]]]:
        for requirement in self.coverages[0]:
            yield requirement, [coverage[requirement].verdict for coverage in self.coverages]
