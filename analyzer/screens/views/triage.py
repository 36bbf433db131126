"""The view of `triage`: for each file who read what from which machine, which processes it shows, what stayed encrypted; then all
files together.

Files are analysed one at a time, when their turn to be shown comes; only the record of each is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from analyzer.core.errors import InputError
from analyzer.core.printable_text import counted, plural, shortened, text_of_path
from analyzer.core.times import NS_PER_S, shown_second
from analyzer.questions.observations.triage_records import Triaged, triage, unreadable
from analyzer.results.analysis import Analysis
from analyzer.results.records.observation import SEVERITIES, Observation, Severity
from analyzer.results.records.record_types import Record
from analyzer.results.records.statistics import Who
from analyzer.results.records.triage import TriageProcess, TriageSummary
from analyzer.screens.viewmodel.call_summary_words import REDACTED, parent_words
from analyzer.screens.viewmodel.overview import account_lines
from analyzer.screens.viewmodel.unread import no_performance_call_words
from analyzer.screens.views.text_report import folded, safe, styled

_STYLES: dict[Severity, str] = {"high": "bold red", "medium": "yellow", "info": "cyan"}
_SHOWN_PROCESSES = 60
_SHOWN_NAME = 32
_SHOWN_FRAMES = 6
_SHOWN_WHO = 5
_MOST_LISTS = 1000
# More files than this share one account.
_MOST_APART = 20


class Triage:
    """The view of `triage`. `summary` counts what was shown so far."""

    def __init__(
        self,
        files: tuple[str, ...],
        analysed: Callable[[str], Analysis],
        failures: tuple[str, ...] = (),
        *,
        is_whole: bool = False,
    ) -> None:
        """`analysed` reads one file to triage and raises `InputError` if it cannot; `failures` say why names stand for no file.
        With `is_whole`, the text has all observations and processes, not a line for each machine and kind."""
        self._is_whole = is_whole
        self._files = files
        self._analysed = analysed
        self._failures = failures
        self._outcomes: Counter[str] = Counter()
        self._severities: Counter[Severity] = Counter()
        self._lists: dict[Who, None] = {}
        self._kept: list[Triaged] | None = None

    def inputs(self) -> tuple[str, ...]:
        return tuple(file for file in self._files if file != "-")

    @property
    def summary(self) -> TriageSummary:
        return TriageSummary(
            files=sum(self._outcomes.values()),
            with_performance_traffic=self._outcomes["performance traffic"],
            unclear=self._outcomes["unclear"],
            unreadable=self._outcomes["unreadable"],
            findings={severity: self._severities[severity] for severity in SEVERITIES if self._severities[severity]},
            process_lists=tuple(self._lists),
        )

    def read(self) -> None:
        """Has the view read every file to triage now, before it shows anything; it keeps only their records."""
        self._kept = list(self._triaged())

    def _triaged(self) -> Iterator[Triaged]:
        if self._kept is not None:
            yield from self._kept
            return
        for reason in self._failures:
            yield self._counted(unreadable(reason.partition(":")[0], reason))
        for file in self._files:
            try:
                analysis = self._analysed(file)
            except InputError as error:
                text = f"{error} {error.hint}" if error.hint is not None else str(error)
                yield self._counted(unreadable(text_of_path(file), text))
                continue
            # A case has the names of its captures.
            yield self._counted(
                triage(analysis, ", ".join(analysis.capture.files), no_performance_call_words(analysis))
            )

    def _counted(self, one: Triaged) -> Triaged:
        self._outcomes[one.file.outcome] += 1
        for finding in one.findings:
            self._severities[finding.severity] += 1
            if finding.kind == "process-list" and finding.who is not None and len(self._lists) < _MOST_LISTS:
                self._lists[finding.who] = None
        return one

    def records(self) -> Iterator[Record]:
        for one in self._triaged():
            yield one.file
            yield from one.findings
            yield from one.processes
        yield self.summary

    def _joined_lines(self, width: int | None) -> Iterator[str]:
        """Yields the text of `triage` for very many files: one account of all, and which of them could not be read."""
        found: list[Observation] = []
        for one in self._triaged():
            found += one.findings
            if one.file.outcome == "unreadable":
                yield from (styled("yellow", line) for line in folded(one.file.text, 4, width))
        yield from _account_lines(found, width)
        yield "  [dim]--verbose shows each file with its observations, processes and the commands that show more[/]"

    def lines(self, width: int | None) -> Iterator[str]:
        if self._is_whole or len(self._files) <= _MOST_APART:
            for one in self._triaged():
                yield from _file_lines(one, width, is_whole=self._is_whole)
        else:
            yield from self._joined_lines(width)
        summary = self.summary
        if summary.files > 1:
            yield ""
            yield from _summary_lines(summary, width)


def _file_lines(one: Triaged, width: int | None, *, is_whole: bool) -> Iterator[str]:
    file = one.file
    if file.outcome == "unreadable" or (file.outcome == "nothing" and not one.findings):
        style = "dim" if file.outcome == "nothing" else "yellow"
        yield from (styled(style, line) for line in folded(file.text, 4, width))
        return
    if file.outcome == "nothing":
        # The sentence names the file.
        yield from (styled("bold", line) for line in folded(file.text, 4, width))
    else:
        yield styled("bold", file.file)
        yield from _plain(f"  {file.text}", 4, width)
    if file.first_performance_ns is not None and file.last_performance_ns is not None:
        seconds = (file.last_performance_ns - file.first_performance_ns) / NS_PER_S
        yield from _plain(f"  from {_time(file.first_performance_ns)} over {seconds:,.1f} s", 4, width)
    if file.redacted is True:
        yield from _plain(f"  {REDACTED}", 4, width)
    names = {host.ip: host.name for host in file.servers}
    for who in file.who[:_SHOWN_WHO]:
        name = names.get(who.server_ip)
        server = f"{name} ({who.server_ip})" if name and name != who.server_ip else who.server_ip
        yield from _plain(f"  {who.name} from {who.client_ip} at {server}", 4, width)
    if (more := len(file.who) - _SHOWN_WHO) > 0:
        yield f"  and {more:,} more"
    for words in file.decrypted_with:
        yield from (styled("yellow", line) for line in folded(f"  to decrypt the rest: {words}", 4, width))
    if not is_whole:
        yield from _account_lines(one.findings, width)
        if one.details is not None and one.findings:
            # Not folded: it is there to be copied.
            yield f"  {styled('dim', one.details)}"
    else:
        for finding in one.findings:
            yield from _finding_lines(finding, width)
        yield from _process_lines(one.processes, one.command)
    yield ""


def _account_lines(findings: Sequence[Observation], width: int | None) -> Iterator[str]:
    """Yields the account lines of `triage`, one for each kind of observation, below their machine."""
    machine = None
    for line in account_lines(findings):
        if line.machine != machine:
            machine = line.machine
            yield from _plain(f"  {machine}", 4, width)
        label = f"    {line.severity:<6} "
        first, *others = folded(f"{label}{line.words}", len(label), width)
        yield styled(_STYLES[line.severity], first[: len(label)]) + safe(first[len(label) :])
        yield from map(safe, others)


def _finding_lines(finding: Observation, width: int | None) -> Iterator[str]:
    label = f"  {finding.severity:<6} "
    first, *others = folded(f"{label}{finding.text}", len(label), width)
    yield styled(_STYLES[finding.severity], first[: len(label)]) + safe(first[len(label) :])
    yield from map(safe, others)
    parts = []
    if finding.first_time_ns is not None and finding.last_time_ns is not None:
        seconds = (finding.last_time_ns - finding.first_time_ns) / NS_PER_S
        parts.append(_time(finding.first_time_ns) + (f" for {seconds:,.1f} s" if seconds >= 0.1 else ""))
    if finding.frames:
        shown = ", ".join(map(str, finding.frames[:_SHOWN_FRAMES]))
        more = " ..." if len(finding.frames) > _SHOWN_FRAMES else ""
        parts.append(f"{plural(len(finding.frames), 'frame')} {shown}{more}")
    indent = " " * len(label)
    if finding.attacks:
        known = f"{', '.join(finding.techniques)}; docs {' '.join(finding.attacks)}"
        yield from _plain(f"{indent}{finding.confidence}: {finding.why} ({known})", len(label), width)
    if parts:
        yield from _plain(indent + "; ".join(parts), len(label), width)
    # Not folded: it is there to be copied.
    yield indent + styled("dim", finding.command)


def _process_lines(processes: tuple[TriageProcess, ...], command: str | None) -> Iterator[str]:
    if not processes:
        return
    viewers = list(dict.fromkeys(who for process in processes for who in process.seen_by))
    yield f"  [bold]Processes that were to be seen[/] ({len(processes):,})"
    for number, who in enumerate(viewers, 1):
        yield safe(f"  {number}: seen by {who.name} from {who.client_ip} at {who.server_ip}")
    rows = [("pid", "parent", "name", "first seen", "last seen", "by")]
    for process in processes[:_SHOWN_PROCESSES]:
        rows.append(
            (
                str(process.pid) if process.pid is not None else "",
                parent_words(process.parent_pid, process.parent_name),
                shortened(process.name, _SHOWN_NAME),
                _time(process.first_time_ns),
                _clock(process.last_time_ns),
                ",".join(str(viewers.index(who) + 1) for who in process.seen_by),
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row, shown in zip(rows, (None, *processes), strict=False):
        pid, *others = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        line = "  ".join(("", row[0].rjust(len(pid)), *others)).rstrip()
        yield styled("yellow", line) if shown is not None and shown.oddities else safe(line)
    if (more := len(processes) - _SHOWN_PROCESSES) > 0:
        yield safe(f"  and {more:,} more: {command}")


def _summary_lines(summary: TriageSummary, width: int | None) -> Iterator[str]:
    counts = [f"{summary.with_performance_traffic:,} with performance traffic"]
    if summary.unclear:
        counts.append(f"{summary.unclear:,} unclear")
    if summary.unreadable:
        counts.append(f"{summary.unreadable:,} unreadable")
    findings = ", ".join(f"{count:,} {severity}" for severity, count in summary.findings.items()) or "none"
    words = f"{counted(summary.files, 'file')}: {', '.join(counts)}; findings: {findings}"
    yield from (styled("bold", line) for line in folded(words, 4, width))
    for who in summary.process_lists:
        text = f"  process list of {who.server_ip} read by {who.name} from {who.client_ip}"
        yield from _plain(text, 4, width)


def _plain(text: str, indent: int, width: int | None) -> Iterator[str]:
    return (safe(line) for line in folded(text, indent, width))


def _time(time_ns: int) -> str:
    return shown_second(time_ns)


def _clock(time_ns: int) -> str:
    return shown_second(time_ns)[11:]
