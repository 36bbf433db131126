"""The views of `docs`: pages of audit rules (also of `audit --list`) and of known attacks, and the limits of an analysis."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from analyzer.core.limits import ABOUT, DEFAULTS
from analyzer.questions.audit.rule_registry import Level, Rule, catalogue
from analyzer.questions.observations.known_attacks import Attack
from analyzer.results.records.capture_records import LimitRecord
from analyzer.results.records.finding import RuleRecord
from analyzer.results.records.observation import AttackRecord
from analyzer.screens.views.text_report import folded, safe

# ---------------------------------------------------------------------------------------------------------- lines of pages


ITEM = "- "


def parts_of(block: str) -> list[str]:
    """Splits a block of a page that `docs` prints for its lines: a paragraph, or the items of a list, each on one line."""
    return [" ".join(part.split()) for part in re.split(rf"\n(?={ITEM})", block)]


def page_lines(page: str, width: int | None) -> Iterator[str]:
    """Yields the lines of a page that `docs` prints: its paragraphs and lists, folded, with an empty line after each block."""
    for block in page.split("\n\n"):
        for part in parts_of(block):
            yield from folded(part, len(ITEM) if part.startswith(ITEM) else 0, width)
        yield ""


# ----------------------------------------------------------------------------------------------------------- rule pages


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
    """The view of audit rules in `docs` and `audit --list`: one a line, or with `whole` their pages."""

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


# --------------------------------------------------------------------------------------------------------- attack pages


class AttackList(Struct, frozen=True):
    """The view of known attacks in `docs`, with their pages."""

    attacks: Sequence[Attack]

    def inputs(self) -> tuple[str, ...]:
        return ()

    def records(self) -> Iterator[AttackRecord]:
        for one in self.attacks:
            yield AttackRecord(
                attack=one.code,
                name=one.name,
                title=one.title,
                techniques=one.techniques,
                sources=one.sources,
                page=one.page,
            )

    def lines(self, width: int | None) -> Iterator[str]:
        for number, one in enumerate(self.attacks):
            if number:
                yield ""
            yield f"[bold]{one.code} {one.name}[/] ({', '.join(one.techniques)})"
            yield ""
            yield from map(safe, page_lines(one.page, width))
            yield "Sources:"
            for source in one.sources:
                yield from (safe(text) for text in folded(f"  {source}", 4, width))


# ---------------------------------------------------------------------------------------------------------- limit pages


class LimitList(Struct, frozen=True):
    """The view of the limits in `docs`."""

    def inputs(self) -> tuple[str, ...]:
        return ()

    def records(self) -> Iterator[LimitRecord]:
        for name, about in ABOUT.items():
            yield LimitRecord(
                name=name,
                default=getattr(DEFAULTS, name),
                unit=about.unit or None,
                what=about.what,
                reason=about.reason,
                option=about.option,
            )

    def lines(self, width: int | None) -> Iterator[str]:
        for one in self.records():
            changed = f"{one.option} changes it." if one.option else "It is fixed."
            for text in (
                f"{amount(one.default, one.unit):>10}  {one.what}",
                f"{'':12}{one.reason}",
                f"{'':12}{changed}",
            ):
                yield from (safe(line) for line in folded(text, 12, width))
            yield ""
        end = "Reaching a limit is a problem of kind `limit` that names what was given up; what was read before stands."
        yield from (safe(line) for line in folded(end, 0, width))


def amount(number: int, unit: str | None) -> str:
    """Writes for `docs` the amount of a limit with its unit."""
    return f"{number >> 20} MiB" if unit == "bytes" and number >= 1 << 20 else f"{number:,}"
