"""The pages of the rules: for `docs` and `audit --list`, and all of them as docs/rules.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from analyzer.questions.audit.catalogue import catalogue
from analyzer.questions.audit.rule import Level, Rule, every_rule
from analyzer.results.audit import RuleRecord
from analyzer.screens.views.text import document_lines, folded, page_lines, safe

_OF_LEVEL = {
    Level.TRANSPORT: "Transport: pipe, protocol sequence, SMB",
    Level.RPC: "RPC: binds, authentication, context handles on the wire",
    Level.STUBS: "Stubs: NDR layout and parameters",
    Level.BUFFERS: "Buffers: sizes, alignment, counts, offsets, padding, enumerations",
    Level.VALUES: "Values: counter types, bases, clocks",
    Level.SEQUENCES: "Sequences: handles, adds and removals, what error codes are for",
    Level.WINPERF: "winperf blocks: PERF_DATA_BLOCK and what it holds",
}


_MOST_IN_A_SENTENCE = 8
_ABOUT_REQUIREMENTS = (
    "A requirement is judged where its trigger occurs, else it is `not-exercised`. *provoked*: no conforming conversation that "
    "provokes nothing has it. The side is the one that can bring the trigger about."
)


class RuleList(Struct, frozen=True):
    """The rules, one a line, or with their pages."""

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
        for level, title in _OF_LEVEL.items():
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


def _judged(requirements: Sequence[str]) -> str:
    """The requirements of a rule as a sentence. Those of a rule with many are a list by section, with the ends of each run."""
    if len(requirements) <= _MOST_IN_A_SENTENCE:
        return f"Judges {', '.join(f'`{name}`' for name in requirements)}."
    by_section: dict[str, list[str]] = {}
    for name in requirements:
        by_section.setdefault(name.rpartition("-R")[0], []).append(name)
    return "Judges:\n\n" + "\n".join(f"- {', '.join(_runs(names))}" for names in by_section.values())


def _runs(names: Sequence[str]) -> Iterator[str]:
    """The requirements of one section in order, three and more consecutive ones by the first and the last."""
    numbers = {int(name.rpartition("-R")[2]): f"`{name}`" for name in names}
    for _, run in groupby(enumerate(sorted(numbers)), key=lambda one: one[1] - one[0]):
        shown = [numbers[number] for _, number in run]
        yield f"{shown[0]} to {shown[-1]}" if len(shown) > 2 else ", ".join(shown)


def rules_document() -> str:
    """docs/rules.md: every rule's page, by level, then which rules judge each requirement, and why some are judged by none."""
    out = [
        "# The rules of the audit",
        "",
        *document_lines(
            "Written by `python -m tests.rules_document` from the rules themselves. `pcq docs CODE` prints the same pages."
        ),
    ]
    judged: dict[str, list[str]] = {}
    for level, title in _OF_LEVEL.items():
        of_level = [rule for rule in every_rule() if rule.level is level]
        if not of_level:
            continue
        out += [f"## {title}", ""]
        for rule in of_level:
            out += [
                f"### {rule.code} {rule.name}",
                "",
                f"*{rule.severity.value}, since {rule.since}*",
                "",
            ]
            out += document_lines(rule.page)
            out += document_lines(_judged(rule.requirements))
            for name in rule.requirements:
                judged.setdefault(name, []).append(rule.code)
    out += ["## Requirements", ""]
    out += document_lines(_ABOUT_REQUIREMENTS)
    out += ["| requirement | level | what it asks | trigger | side | judged by |", "|---|---|---|---|---|---|"]
    for requirement in catalogue().values():
        statement = requirement.statement.replace("|", "\\|")
        by = ", ".join(judged.get(requirement.id, ())) or f"none: {requirement.why}"
        trigger = requirement.trigger or ""
        side = (requirement.caused_by or "") + (", provoked" if requirement.provoked else "")
        out.append(f"| {requirement.id} | {requirement.level} | {statement} | {trigger} | {side} | {by} |")
    return "\n".join(out) + "\n"
