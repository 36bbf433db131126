"""Writes docs/rules.md, docs/attacks.md and docs/programs.md anew from what they show: `python -m tests.rules_document`."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from analyzer.interfaces.call_contents.client_programs import MEANINGS, known_programs
from analyzer.questions.audit.rule_registry import catalogue, every_rule
from analyzer.questions.observations.known_attacks import every_attack
from analyzer.screens.views.docs import TITLES
from tools.markdown import document_lines, item_lines

DOCS = Path(__file__).parent.parent / "docs"
DOCUMENT, ATTACKS, PROGRAMS = DOCS / "rules.md", DOCS / "attacks.md", DOCS / "programs.md"
_MOST_IN_A_SENTENCE = 8
_ABOUT_REQUIREMENTS = (
    "A requirement is judged where its trigger occurs, else it is `not-exercised`. *provoked*: no conforming conversation that "
    "provokes nothing has it. The side is the one that can bring the trigger about."
)
_ABOUT_ATTACKS = (
    "If an observation looks like one of these attacks, `triage` names the attack and its MITRE ATT&CK id, and says how sure that "
    "is. It never claims that somebody attacks: each page states what else does the same."
)
# A line with more than this is hard to read.
_LONGEST_MARK = 160
_ABOUT_PROGRAMS = """
`triage`, `sessions` and `hosts` say which known program a client resembles: `like impacket 0.13 (16 marks of 16)`. A mark is
something that programs do differently and that their users do not choose, such as the order of the dialects. The marks of one TCP
connection are compared. `pcq` reads the same table as this page. The table comes from captures of each program alone.

A likeness is no proof. Programs that are not in this table may leave the same marks, and everybody can imitate them. The version
in a name is the recorded one. Another version may leave the same marks or other ones: a client of 2023 had 11 marks of 11 of
impacket 0.13, which is younger.
"""
_WHEN_NAMED = """
A program is named if at least four marks of the connection are equal to marks of the program, these are at least two thirds of
the connection's marks, and no mark contradicts the program. At least two of the equal marks must be rare among programs. Fragment
sizes, contexts and call ids of RPC, the mechanisms of a logon and the security mode are not rare.

The mechanisms, the security mode, the contexts and the first call ids depend on settings and calls. If they are equal, they count.
If they differ, they do not contradict.

The order of the first calls (`rpc.calls`), and how a client offers more room (`calls.growth`), depend on what the user asks for.
They count only if they are those of a known program. `calls.growth` needs at least two steps of growth, and decoded calls: `hosts`
never has it, and `sessions` only with keys and as text.

If several programs have the same number of marks, the output names each. If no program has enough, it names none.
"""


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
    for level, title in TITLES.items():
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


def attacks_document() -> str:
    """docs/attacks.md: the page of every attack."""
    out = [
        "# What looks like an attack",
        "",
        *document_lines(
            "Written by `python -m tests.rules_document` from the program itself. `pcq docs CODE` prints the same pages."
        ),
        *document_lines(_ABOUT_ATTACKS),
    ]
    for one in every_attack():
        techniques = ", ".join(one.techniques)
        out += [f"## {one.code} {one.name}", "", f"*{techniques}*", ""]
        out += document_lines(one.page.replace("\\", "\\\\"))
        out += ["Sources:", "", *(f"- <{source}>" if "://" in source else f"- {source}" for source in one.sources), ""]
    return "\n".join(out)


def programs_document() -> str:
    """The page: what a likeness means, what each mark is, and the marks of every program."""
    out = ["# Marks of programs", ""]
    out += document_lines(
        "Written by `python -m tests.rules_document` from the table itself, `analyzer/interfaces/call_contents/programs.json`."
    )
    out += document_lines(_ABOUT_PROGRAMS.strip())
    out += ["## When a program is named", ""]
    out += document_lines(_WHEN_NAMED.strip())
    out += ["## Marks", ""]
    for name, meaning in MEANINGS.items():
        out += item_lines(f"- `{name}`: {meaning}")
    for program in known_programs():
        out += ["", f"## {program.name}", ""]
        out += document_lines(f"From: {'; '.join(program.sources)}.")
        for name, values in program.marks.items():
            out += _mark_lines(name, values)
    return "\n".join([*out, ""])


def _mark_lines(name: str, values: Sequence[str]) -> Iterator[str]:
    """A mark with its values. Long ones are a list."""
    line = f"- `{name}`: {' or '.join(f'`{value}`' for value in values)}"
    if len(line) <= _LONGEST_MARK:
        yield from item_lines(line)
        return
    yield f"- `{name}`, one of:"
    for value in values:
        yield from item_lines(f"- `{value}`", "    ")


if __name__ == "__main__":
    DOCUMENT.write_text(rules_document(), encoding="utf-8")
    ATTACKS.write_text(attacks_document(), encoding="utf-8")
    PROGRAMS.write_text(programs_document(), encoding="utf-8")
