"""The syntax tree of a filter, which can be written as text again: `parse(str(tree)) == tree`.

The tree has no meaning yet: `binder.py` decides whether a word is a field or a value. Positions in the text are kept for messages
and do not count for equality.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from analyzer.core.errors import InputError

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
    """The error for a filter that cannot be used: one sentence, and the place in the text."""

    def __init__(self, sentence: str, source: str, at: Place) -> None:
        self.sentence, self.source = sentence, source
        start = min(at[0], len(source))
        self.column = start + 1
        super().__init__(f"column {self.column} of the filter: {sentence}")
        self.hint = _pointed_at(source, start, max(at[1], start + 1))


_BEFORE, _AFTER = 60, 40


def _pointed_at(source: str, start: int, stop: int) -> str:
    """The text of a filter around a place, and a line of carets below the place."""
    begin = max(0, start - _BEFORE)
    end = min(len(source), max(min(stop, start + _AFTER), start) + _AFTER)
    shown = "".join(one if one.isprintable() else " " for one in source[begin:end])
    left = "…" if begin else ""
    right = "…" if end < len(source) else ""
    carets = "^" * max(1, min(stop, end) - start)
    return f"{left}{shown}{right}\n  {' ' * (len(left) + start - begin)}{carets}"


class _Placed(Struct, frozen=True):
    """A part of a filter with its place in the text, `at`. Equality ignores the place."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and _without_place(self) == _without_place(other)

    def __hash__(self) -> int:
        return hash(_without_place(self))


def _without_place(part: _Placed) -> tuple[object, ...]:
    return tuple(getattr(part, name) for name in part.__struct_fields__ if name != "at")


class Word(_Placed, frozen=True):
    """A word without quotes in a filter: a field, or a value."""

    text: str
    at: Place = _NOWHERE

    def __str__(self) -> str:
        return self.text


class Text(_Placed, frozen=True):
    """A quoted value in a filter."""

    text: str
    at: Place = _NOWHERE

    def __str__(self) -> str:
        return '"' + "".join(_escaped(one) for one in self.text) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class Function(_Placed, frozen=True):
    """A function in a filter: `len`, `count`, `lower` or `upper` of a field."""

    name: str
    argument: Operand
    at: Place = _NOWHERE

    def __str__(self) -> str:
        return f"{self.name}({self.argument})"


Operand = Word | Text | Function


class Range(Struct, frozen=True):
    """A range in a filter: from `low` to `high`, both included."""

    low: Operand
    high: Operand

    def __str__(self) -> str:
        return f"{self.low}..{self.high}"

    @property
    def at(self) -> Place:
        return self.low.at[0], self.high.at[1]


class Exists(Struct, frozen=True):
    """A field alone in a filter: it asks whether the field has a value."""

    operand: Operand

    def __str__(self) -> str:
        return str(self.operand)


class Compare(_Placed, frozen=True):
    """A comparison in a filter: two operands and an operator, with `any` or `all` if written before them."""

    left: Operand
    operator: Operator
    right: Operand
    quantifier: Quantifier | None = None
    at: Place = _NOWHERE

    def __str__(self) -> str:
        return f"{_before(self.quantifier)}{self.left} {self.operator} {self.right}"


class In(Struct, frozen=True):
    """A membership in a filter: an operand and a set of values, ranges and networks."""

    left: Operand
    members: tuple[Operand | Range, ...]
    quantifier: Quantifier | None = None

    def __str__(self) -> str:
        return f"{_before(self.quantifier)}{self.left} in {{{', '.join(map(str, self.members))}}}"


def _before(quantifier: Quantifier | None) -> str:
    return f"{quantifier} " if quantifier is not None else ""


class Not(Struct, frozen=True):
    part: Node

    def __str__(self) -> str:
        return f"not {_inside(self.part, And, Or, Xor)}"


class And(Struct, frozen=True):
    parts: tuple[Node, ...]

    def __str__(self) -> str:
        return " and ".join(_inside(part, And, Or, Xor) for part in self.parts)


class Xor(Struct, frozen=True):
    parts: tuple[Node, ...]

    def __str__(self) -> str:
        return " xor ".join(_inside(part, Or, Xor) for part in self.parts)


class Or(Struct, frozen=True):
    parts: tuple[Node, ...]

    def __str__(self) -> str:
        return " or ".join(_inside(part, Or) for part in self.parts)


Node = Exists | Compare | In | Not | And | Xor | Or


def _inside(part: Node, *loose: type) -> str:
    """Returns a part of a filter as text, in parentheses if it needs them."""
    return f"({part})" if isinstance(part, loose) else str(part)
