"""docs/programs.md: which marks which programs leave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.interfaces.contents.programs import MEANINGS, known_programs
from analyzer.screens.views.text import document_lines, item_lines

# A line with more than this is hard to read.
_LONGEST_MARK = 160
_ABOUT = """
`triage`, `sessions` and `hosts` say what the program of a client is like: `like impacket 0.13 (16 marks of 16)`. A mark is
something that programs do differently and that nobody who uses them chooses, such as the order of the dialects they offer. The
marks are those of one TCP connection. The table below is the data that the program itself reads. It holds what captures of the
programs showed, and nothing else.

A likeness is no proof. Programs that are not in this table may leave the same marks, and everybody can imitate them. Another
version of a program may leave other marks.
"""
_RULES = """
A connection is like a program where at least four of its marks are those of the program, where these are two thirds of its marks or
more, and where none contradicts. At least two of them must be marks that few programs have alike. Fragment sizes, contexts and call
ids of RPC, the mechanisms of a logon and the security mode are not among these.

The mechanisms, the security mode, the contexts and the first call ids differ with settings and calls. They count where they are the
same, and contradict nothing where they are not.

The order of the first calls follows from what somebody asks for, and so does how a client offers more room. They count where a
program is known to do so, and are no marks of the connection where none is. How a client offers more room shows in two steps or
more. This mark is seen where calls are read: not by `hosts`, and by `sessions` only where keys are given and the output is text.

Where several programs have the same number of marks, all are named. Where no program has enough, nothing is said.
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
