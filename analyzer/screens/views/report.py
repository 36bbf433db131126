"""The contents of a report: the overview of a capture, its calls, series and findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version

from msgspec import Struct

from analyzer.core.caches import cached_property
from analyzer.questions.audit.audit_engine import Audit
from analyzer.questions.processes.process_records import ProcessValues
from analyzer.results.analysis import Analysis
from analyzer.results.records.display_records import FindingView, Overview, SectionCoverage
from analyzer.screens.viewmodel.overview import overview_of
from analyzer.screens.viewmodel.placed_findings import coverage_views, findings_of_calls, no_finding_words
from analyzer.screens.views.view_type import OfCapture


class Report(Struct, OfCapture, frozen=True, dict=True):
    """The view of `report`, from an audit. `name` is its title, None for the names of the files. `processes` has the values of
    processes, if all readings were read before."""

    audit: Audit
    name: str | None = None
    processes: ProcessValues | None = None

    @property
    def analysis(self) -> Analysis:  # type: ignore[override]
        return self.audit.analysis

    @property
    def title(self) -> str:
        names = self.analysis.capture.files
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return self.name or f"{names[0].rpartition('/')[2] if names else 'capture'}{more}"

    @property
    def tool(self) -> str:
        """Returns the name and version of the program that made the report."""
        return f"pcq-analyzer {version('pcq-analyzer')}"

    @property
    def profile(self) -> str:
        return self.audit.profile.value

    @cached_property
    def overview(self) -> Overview:
        return overview_of(self.analysis, self.processes)

    def findings(self) -> Iterator[tuple[FindingView, int | None, tuple[str, ...]]]:
        """Yields the report's findings once, as `findings_of_calls` does; a call may have several."""
        return findings_of_calls(self.analysis, self.audit)

    def coverage(self) -> tuple[SectionCoverage, ...]:
        """Returns the coverage of each section that the view of `report` shows. Call it after all of its findings were made."""
        return coverage_views(self.audit)

    def no_finding_words(self) -> str:
        """Says for a `report` without a finding how many requirements could be judged."""
        return no_finding_words(sum((Counter(one.verdicts) for one in self.coverage()), Counter[str]()))
