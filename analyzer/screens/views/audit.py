"""The view of `audit`: one record a finding, then coverage and counts.

Its text has findings by severity, each group with its first places, then coverage by section; or several captures compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from analyzer.core.printable_text import counted
from analyzer.questions.audit.audit_engine import Audit
from analyzer.questions.audit.findings_and_coverage import (
    JUDGED,
    VERDICTS,
    Coverage,
    Finding,
    coverage_record,
    finding_record,
    requirement_keys,
)
from analyzer.questions.audit.rule_verdicts import Actor, Confidence, Outcome, Severity
from analyzer.results.next_command import next_command
from analyzer.results.records.finding import AuditSummaryRecord, CoverageVerdict, MatrixRecord
from analyzer.results.records.record_types import Record
from analyzer.screens.viewmodel.call_summary_words import section_words
from analyzer.screens.viewmodel.unread import nothing_decrypted
from analyzer.screens.views.text_report import folded, frames_words, header_lines, safe, styled
from analyzer.screens.views.view_type import OfCapture

if TYPE_CHECKING:
    from analyzer.results.analysis import Analysis


# ---------------------------------------------------------------------------------------------------------------- audit


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
        return matrix_lines(self, width)

    def rows(self) -> Iterator[tuple[str, list[CoverageVerdict]]]:
        for requirement in self.coverages[0]:
            yield requirement, [coverage[requirement].verdict for coverage in self.coverages]


# ----------------------------------------------------------------------------------------------------------- audit text


_SHOWN = 3
# If the counts leave less than this for the section, lines of coverage are longer than the screen.
_LEAST_SECTION = 15
_TITLES = {
    Severity.ERROR: ("bold red", "errors"),
    Severity.WARNING: ("bold yellow", "warnings"),
    Severity.INFO: ("bold cyan", "worth knowing"),
}


class _AlikeFindings(Struct):
    """Findings that the audit's text shows as one group: one rule, the same requirements, one outcome."""

    first: list[Finding] = field(default_factory=list)
    count: int = 0


def audit_lines(view: AuditView, width: int | None) -> Iterator[str]:
    """Yields the text of one audit (`AuditView`): findings by severity, then the coverage."""
    if (sentence := view.undecrypted) is not None:
        yield from (styled("bold red", text) for text in folded(sentence, 4, width))
    yield from header_lines(view.analysis, width)
    groups: dict[tuple[Severity, str, tuple[str, ...], Outcome], _AlikeFindings] = {}
    for finding in view.findings():
        judgement = finding.judgement
        group = groups.setdefault(
            (finding.severity, finding.rule.code, judgement.requirements, judgement.outcome), _AlikeFindings()
        )
        group.count += 1
        if len(group.first) < _SHOWN:
            group.first.append(finding)
    for severity, (style, title) in _TITLES.items():
        of_severity = [groups[key] for key in sorted(groups, key=lambda key: key[1:]) if key[0] is severity]
        if not of_severity:
            continue
        yield ""
        yield f"[{style}]{title}[/]"
        for group in of_severity:
            yield from _group_lines(view, group, width)
    yield from _place_hint(view, groups.values())
    yield ""
    yield from _coverage_lines(view, width)
    for entry in view.audit.unmatched:
        yield from (
            styled("yellow", text) for text in folded(f"the baseline accepts what is not found: {entry}", 4, width)
        )
    yield ""
    yield from (styled("bold", text) for text in folded(_totals(view), 4, width))


def _place_hint(view: AuditView, groups: Iterable[_AlikeFindings]) -> Iterator[str]:
    """Yields the hint that `show --field` prints the bytes of a finding, with the first finding that has some."""
    for group in groups:
        finding = group.first[0]
        at = finding.judgement.at
        if finding.place is not None and at is not None and at.path and at.span is None:
            yield ""
            field = f"{at.side}.{at.path}"
            command = next_command(view.analysis, "show", "--call", str(finding.call), "--field", field)
            yield safe(f"the bytes of a finding: {command}")
            return


def _group_lines(view: AuditView, group: _AlikeFindings, width: int | None) -> Iterator[str]:
    finding = group.first[0]
    judgement, rule = finding.judgement, finding.rule
    requirement = view.audit.coverage[judgement.requirement].requirement
    times = f", {group.count} times" if group.count > 1 else ""
    also = f" (and of {', '.join(judgement.requirements[1:])})" if judgement.requirements[1:] else ""
    line = f"  {rule.code} {rule.name}, {judgement.outcome.value} of {requirement.id}{also}, by {_ACTORS[finding.actor]}{times}"
    first, *rest = (safe(text) for text in folded(line, 4, width))
    yield first.replace(rule.code, f"[bold]{rule.code}[/]", 1)
    yield from rest
    words = judgement.message[:1].upper() + judgement.message[1:] + "."
    sure = f" Confidence is {judgement.confidence.name.lower()}." if judgement.confidence < Confidence.HIGH else ""
    yield from (safe(line) for line in folded(f"    {words}{sure}", 4, width))
    yield from (
        safe(line)
        for line in folded(
            f"    {requirement.level} by section {requirement.section}: {requirement.statement}", 6, width
        )
    )
    follow = sum(one.follow for one in group.first)
    if follow:
        yield from (
            safe(line) for line in folded(f"    {follow} findings that follow from it are not shown.", 4, width)
        )
    if judgement.deviation is not None:
        known = f"    Known: {judgement.deviation.text} ({judgement.deviation.authority})"
        yield from (safe(line) for line in folded(known, 6, width))
    for shown in group.first:
        yield from (safe(line) for line in folded(f"    {_where(view, shown)}", 8, width))
    if group.count > len(group.first):
        yield f"    … and {group.count - len(group.first)} more"


def _where(view: AuditView, finding: Finding) -> str:
    """Describes the place of a finding in the audit's text: `#12 PerflibV2QueryCounterData, frame 57, response dwInSize (bytes 20
    to 24 of the stub): expected 1, seen 2`."""
    judgement, place = finding.judgement, finding.place
    words = []
    if judgement.call is not None:
        words.append(f"#{judgement.call.number} {judgement.call.decoded.method or ''}".rstrip())
    if finding.frames:
        words.append(frames_words(finding.frames, view.analysis.capture))
    if judgement.at is not None:
        path = f" {judgement.at.path}" if judgement.at.path and not judgement.at.path.startswith("pdu") else ""
        span = f" (bytes {place.start} to {place.stop} of the {place.part})" if place is not None else ""
        words.append(f"{judgement.at.side}{path}{span}")
    values = [
        f"{name} {value}"
        for name, value in (("expected", judgement.expected), ("seen", judgement.seen))
        if value is not None
    ]
    return ", ".join(words) + (": " if words and values else "") + ", ".join(values)


def _coverage_lines(view: AuditView, width: int | None) -> Iterator[str]:
    sections: dict[str, Counter[CoverageVerdict]] = {}
    for coverage in view.audit.coverage.values():
        sections.setdefault(section_words(coverage.requirement), Counter())[coverage.verdict] += 1
    wide = max(map(len, sections), default=len("coverage"))
    heads = "".join(f"{verdict.replace('-', ' '):>{len(verdict) + 2}}" for verdict in VERDICTS)
    if width is not None and width - len(heads) - 2 >= _LEAST_SECTION:
        wide = min(wide, width - len(heads) - 2)
    yield f"[bold]{'coverage':<{wide}}  {heads}[/]"
    absent = []
    for section, counts in sections.items():
        if counts["not-exercised"] == counts.total():
            absent.append(section)
            continue
        cells = (_cell(verdict, counts[verdict]) for verdict in VERDICTS)
        if len(section) > wide:
            yield section
            section = ""
        yield f"{section:<{wide}}  {''.join(cells)}"
    if absent:
        yield from folded(f"not exercised by what was read of the capture: {', '.join(absent)}", 4, width)
    reasons: Counter[str] = Counter()
    for coverage in view.audit.coverage.values():
        reasons.update(dict.fromkeys(coverage.reasons, 1))
    for reason, count in reasons.most_common():
        line = f"inconclusive for {counted(count, 'requirement')}, in whole or in part: {reason}"
        yield from (styled("yellow", text) for text in folded(line, 4, width))


def _totals(view: AuditView) -> str:
    verdicts = Counter(coverage.verdict for coverage in view.audit.coverage.values())
    found = ", ".join(
        counted(count, severity.value, severity.value if severity is Severity.INFO else None)
        for severity in Severity
        if (count := view.severities[severity])
    )
    accepted = f"; {view.audit.accepted} accepted by the baseline" if view.audit.accepted else ""
    if unmatched := view.audit.unmatched:
        accepted += f"; {len(unmatched)} of its entries matched nothing"
    of_requirements = ", ".join(f"{verdicts[verdict]} {verdict.replace('-', ' ')}" for verdict in VERDICTS)
    nothing = "nothing found" if any(verdicts[one] for one in JUDGED) else "nothing could be judged"
    return f"{found or nothing}{accepted}; {len(view.audit.coverage)} requirements: {of_requirements}"


def _cell(verdict: CoverageVerdict, count: int) -> str:
    text = f"{count:>{len(verdict) + 2}}"
    return f"[{_STYLES[verdict]}]{text}[/]" if count and verdict in _STYLES else text


_STYLES: dict[CoverageVerdict, str] = {"fail": "red", "warn": "yellow"}
_ACTORS = {Actor.CLIENT: "the client", Actor.SERVER: "the server", Actor.EITHER: "either side"}


def matrix_lines(view: MatrixView, width: int | None) -> Iterator[str]:
    """Yields the text that compares several audits (`MatrixView`): one line a requirement, one mark a capture."""
    for number, name in enumerate(view.names, 1):
        yield safe(f"{number:>3}  {name}")
    yield ""
    yield f"[bold]{'   '.join(f'{mark} {verdict}' for verdict, mark in _MARKS.items())}[/]"
    yield ""
    heads = "".join(str(number % 10) for number in range(1, len(view.names) + 1))
    wide = max(len(requirement) for requirement in view.coverages[0])
    yield f"[bold]{'requirement':<{wide}}  {heads}[/]"
    never = 0
    for requirement, verdicts in view.rows():
        marks = "".join(_MARKS[verdict] for verdict in verdicts)
        statement = view.coverages[0][requirement].requirement.statement
        is_exercised = any(verdict in JUDGED for verdict in verdicts)
        never += not is_exercised
        line = f"{requirement:<{wide}}  {marks}  {statement}"
        style = "red" if "fail" in verdicts else "yellow" if "warn" in verdicts else "green" if is_exercised else "dim"
        yield from (styled(style, text) for text in folded(line, wide + len(marks) + 4, width))
    yield ""
    total = len(view.coverages[0])
    yield f"[bold]{total - never} of {total} requirements were exercised, {never} never[/]"


_MARKS: dict[CoverageVerdict, str] = {
    "pass": "+",
    "fail": "x",
    "warn": "!",
    "not-exercised": ".",
    "inconclusive": "?",
    "untestable": "-",
}
