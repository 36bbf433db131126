"""What a filter says, as a tree, and the tree as text again: `parse(str(tree)) == tree`.

The tree is what was written, without a meaning yet: whether a word is a field or a value is decided when it is bound
(`bind.py`). Positions in the text are kept for messages and are no part of equality.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import Literal

from analyzer.core.errors import InputError
from analyzer.core.values import dataclass

# What a word may consist of: two dots in a row are the sign of a range. Names, numbers, addresses, networks, GUIDs, times
# and accounts (LAB\perfmon) are words.
WORD_CHARACTER = r"(?:[\w:\/\\$@*+%#-]|\.(?!\.))"
_WORD = re.compile(f"{WORD_CHARACTER}+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}

Operator = Literal["==", "!=", "===", "!==", "<", "<=", ">", ">=", "&", "contains", "matches"]
Quantifier = Literal["any", "all"]
Place = tuple[int, int]

_NOWHERE: Place = (0, 0)


class FilterError(InputError):
    """A filter that cannot be used: one sentence, and where in the text."""

    def __init__(self, sentence: str, source: str, at: Place) -> None:
        self.sentence, self.source = sentence, source
        start = min(at[0], len(source))
        self.column = start + 1
        super().__init__(f"column {self.column} of the filter: {sentence}")
        self.hint = _pointed_at(source, start, max(at[1], start + 1))


_BEFORE, _AFTER = 60, 40


def _pointed_at(source: str, start: int, stop: int) -> str:
    """The text around a place, and a line of carets below the place."""
    begin = max(0, start - _BEFORE)
    end = min(len(source), max(min(stop, start + _AFTER), start) + _AFTER)
    shown = "".join(one if one.isprintable() else " " for one in source[begin:end])
    left = "…" if begin else ""
    right = "…" if end < len(source) else ""
    carets = "^" * max(1, min(stop, end) - start)
    return f"{left}{shown}{right}\n  {' ' * (len(left) + start - begin)}{carets}"


@dataclass(frozen=True, slots=True)
class Word:
    """A word without quotes: a field, or a value."""

    text: str
    at: Place = field(default=_NOWHERE, compare=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Text:
    """A quoted value."""

    text: str
    at: Place = field(default=_NOWHERE, compare=False)

    def __str__(self) -> str:
        return '"' + "".join(_escaped(one) for one in self.text) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@dataclass(frozen=True, slots=True)
class Function:
    """`len`, `count`, `lower` or `upper` of a field."""

    name: str
    argument: Operand
    at: Place = field(default=_NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"{self.name}({self.argument})"


Operand = Word | Text | Function


@dataclass(frozen=True, slots=True)
class Range:
    """Everything from `low` to `high`, both included."""

    low: Operand
    high: Operand

    def __str__(self) -> str:
        return f"{self.low}..{self.high}"

    @property
    def at(self) -> Place:
        return self.low.at[0], self.high.at[1]


@dataclass(frozen=True, slots=True)
class Exists:
    """A field alone: it has a value."""

    operand: Operand

    def __str__(self) -> str:
        return str(self.operand)


@dataclass(frozen=True, slots=True)
class Compare:
    """Two operands and an operator, `any` or `all` before them where it was written."""

    left: Operand
    operator: Operator
    right: Operand
    quantifier: Quantifier | None = None
    at: Place = field(default=_NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"{_before(self.quantifier)}{self.left} {self.operator} {self.right}"


@dataclass(frozen=True, slots=True)
class In:
    """An operand and a set of values, ranges and networks."""

    left: Operand
    members: tuple[Operand | Range, ...]
    quantifier: Quantifier | None = None

    def __str__(self) -> str:
        return f"{_before(self.quantifier)}{self.left} in {{{', '.join(map(str, self.members))}}}"


def _before(quantifier: Quantifier | None) -> str:
    return f"{quantifier} " if quantifier is not None else ""


@dataclass(frozen=True, slots=True)
class Not:
    part: Node

    def __str__(self) -> str:
        return f"not {_inside(self.part, And, Or, Xor)}"


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Node, ...]

    def __str__(self) -> str:
        return " and ".join(_inside(part, And, Or, Xor) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Xor:
    parts: tuple[Node, ...]

    def __str__(self) -> str:
        return " xor ".join(_inside(part, Or, Xor) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Node, ...]

    def __str__(self) -> str:
        return " or ".join(_inside(part, Or) for part in self.parts)


Node = Exists | Compare | In | Not | And | Xor | Or


def _inside(part: Node, *loose: type) -> str:
    """A part, in parentheses where it would otherwise fall apart."""
    return f"({part})" if isinstance(part, loose) else str(part)
