"""docs/programs.md: which marks which programs leave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.interfaces.contents.programs import MEANINGS, known_programs
from analyzer.screens.views.text import document_lines, item_lines

# A line with more than this is hard to read.
_LONGEST_MARK = 160
_ABOUT = """
`triage`, `sessions` and `hosts` say what the program of a client is like: `like impacket 0.13 (16 marks of 16)`. A mark is
something that programs do differently and that their users do not choose, such as the order of the dialects. Marks belong to one
TCP connection. The table below is the data that the program itself reads. It comes from captures of the programs alone.

A likeness is no proof. Programs that are not in this table may leave the same marks, and everybody can imitate them. Another
version of a program may leave other marks.
"""
_RULES = """
A program is named if three things are true. At least four marks of the connection are marks of the program. They are at least two
thirds of the program's marks. No mark contradicts. At least two of the marks must be rare among programs. Fragment sizes, contexts
and call ids of RPC, the mechanisms of a logon and the security mode are not rare.

The mechanisms, the security mode, the contexts and the first call ids depend on settings and calls. They count if they are equal.
They contradict nothing if they differ.

The order of the first calls, and how a client offers more room, depend on what somebody asks for. They count only if they are those
of a known program. How a client offers more room takes two steps or more to see. This mark needs decoded calls: `hosts` never has
it, and `sessions` only with keys and as text.

If several programs have the same number of marks, the output names each. If no program has enough, it names none.
"""


def programs_document() -> str:
    """The page: what a likeness means, what each mark is, and the marks of every program."""
    out = ["# Marks of programs", ""]
    out += document_lines(
        "Written by `python -m tests.rules_document` from the table itself, `analyzer/interfaces/contents/programs.toml`."
    )
    out += document_lines(_ABOUT.strip())
    out += ["## When a program is named", ""]
    out += document_lines(_RULES.strip())
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
