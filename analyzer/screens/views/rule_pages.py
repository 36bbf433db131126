"""The view of `docs` and `audit --list` for audit rules: their pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from analyzer.questions.audit.requirement_catalog import catalogue
from analyzer.questions.audit.rule_registry import Level, Rule
from analyzer.results.records.finding import RuleRecord
from analyzer.screens.views.text_report import folded, page_lines, safe

TITLES = {
    Level.TRANSPORT: "Transport: pipe, protocol sequence, SMB",
    Level.RPC: "RPC: binds, authentication, context handles on the wire",
    Level.STUBS: "Stubs: NDR layout and parameters",
    Level.BUFFERS: "Buffers: sizes, alignment, counts, offsets, padding, enumerations",
    Level.VALUES: "Values: counter types, bases, clocks",
    Level.SEQUENCES: "Sequences: handles, adds and removals, what error codes are for",
    Level.WINPERF: "winperf blocks: PERF_DATA_BLOCK and what it holds",
}


class RuleList(Struct, frozen=True):
    """The view of audit rules: one a line, or with `whole` their pages."""

    rules: Sequence[Rule]
    whole: bool = False

    def inputs(self) -> tuple[str, ...]:
        return ()

    def records(self) -> Iterator[RuleRecord]:
        for rule in self.rules:
            yield RuleRecord(
                rule=rule.code,
                name=rule.name,
                level=rule.level.value,
                severity=rule.severity.value,
                since=rule.since,
                title=rule.title,
                requirements=rule.requirements,
                page=rule.page,
            )

    def lines(self, width: int | None) -> Iterator[str]:
        if self.whole:
            for number, rule in enumerate(self.rules):
                if number:
                    yield ""
                yield from _page_lines(rule, width)
            return
        for level, title in TITLES.items():
            of_level = [rule for rule in self.rules if rule.level is level]
            if of_level:
                yield f"[bold]{title}[/]"
            for rule in of_level:
                line = f"  {rule.code}  {rule.severity.value:<8} {rule.name}: {rule.title}"
                yield from (safe(text) for text in folded(line, 19, width))


def _page_lines(rule: Rule, width: int | None) -> Iterator[str]:
    yield f"[bold]{rule.code} {rule.name}[/] ({rule.severity.value}, {rule.level.value}, since {rule.since})"
    yield ""
    yield from map(safe, page_lines(rule.page, width))
    yield "Requirements judged:"
    for name in rule.requirements:
        requirement = catalogue()[name]
        line = f"  {name} ({requirement.level}, {requirement.actor}): {requirement.statement}"
        yield from (safe(text) for text in folded(line, 4, width))
        conditions = (("trigger", requirement.trigger), ("passes", requirement.passes), ("fails", requirement.fails))
        for words, condition in conditions:
            yield from (safe(text) for text in folded(f"    {words}: {condition}", 6, width))
