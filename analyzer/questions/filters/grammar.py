"""The text of a filter in, its tree out. docs/filters.md has the language; Wireshark's wireshark-filter(4) is its model.

`tables` gives the same grammar to the script of the page (web/src/parse.ts), which has no lark.

A tree can be written as text again: `parse(str(tree)) == tree`. It has no meaning yet: `binder.py` decides whether a word is a
field or a value. Positions in the text are kept for messages and do not count for equality.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Literal, NoReturn

from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.grammar import Rule
from lark.lexer import PatternStr, TerminalDef
from msgspec import Struct

from analyzer.core.errors import InputError

# ---------------------------------------------------------------------------------------------------------- syntax tree


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


# -------------------------------------------------------------------------------------------------------------- grammar


# Trees are walked by recursion; nobody writes more than this by hand.
MAX_LENGTH, MAX_DEPTH = 10_000, 50

_END = f"(?!{WORD_CHARACTER})"


def _words(words: str) -> str:
    """Returns the pattern of filter keywords in capitals or small letters. To ignore case would also match `ſ` for `s`."""
    return re.sub("[a-z]", lambda letter: f"[{letter[0]}{letter[0].upper()}]", f"({words})")


_FUNCTIONS = "len|count|lower|upper"
_COMPARISONS = "contains|matches|any_eq|any_ne|all_eq|all_ne|eq|ne|gt|ge|lt|le"
_GRAMMAR = rf"""
?start: or_
?or_: xor_ (_OR xor_)*
?xor_: and_ (_XOR and_)*
?and_: unary (_AND unary)*
?unary: NOT unary -> not_
    | "(" or_ ")" -> group
    | relation
    | QUANTIFIER relation -> quantified
?relation: operand -> exists
    | operand (COMPARE operand)+ -> compared
    | operand _IN set -> in_
    | operand NOT _IN set -> not_in
set: "{{" _member ("," _member)* "}}"
_member: operand
    | range_
range_: operand ".." operand
?operand: WORD | STRING | RAW
    | FUNCTION "(" operand ")" -> function

_OR.2: /\|\||{_words("or")}{_END}/
_XOR.2: /\^\^|{_words("xor")}{_END}/
_AND.2: /&&|{_words("and")}{_END}/
NOT.2: /!(?!=)|{_words("not")}{_END}/
QUANTIFIER.2: /{_words("any|all")}{_END}(?=\s+[\w"'])/
_IN.2: /{_words("in")}{_END}/
COMPARE.2: /===|!==|==|!=|~=|<=|>=|<|>|~|&(?!&)|{_words(_COMPARISONS)}{_END}/
FUNCTION.2: /{_words(_FUNCTIONS)}(?=\s*\()/
RAW.3: /[rR]"[^"]*"|[rR]'[^']*'/
STRING: /"([^"\\]|\\.)*"|'([^'\\]|\\.)*'/s
WORD: /{WORD_CHARACTER}+/
%ignore /\s+/
"""

_OPERATORS: dict[str, Operator] = {
    "==": "==",
    "eq": "==",
    "any_eq": "==",
    "!=": "!=",
    "ne": "!=",
    "all_ne": "!=",
    "===": "===",
    "all_eq": "===",
    "!==": "!==",
    "~=": "!==",
    "any_ne": "!==",
    "<": "<",
    "lt": "<",
    "<=": "<=",
    "le": "<=",
    ">": ">",
    "gt": ">",
    ">=": ">=",
    "ge": ">=",
    "&": "&",
    "contains": "contains",
    "matches": "matches",
    "~": "matches",
}
_QUANTIFIERS: dict[str, Quantifier] = {"any": "any", "all": "all"}
_UNESCAPED = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "\\": "\\", '"': '"', "'": "'"}
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)


def parse(source: str) -> Node:
    """Parses the text of a filter to its tree. Raises `FilterError` if it is no filter."""
    if len(source) > MAX_LENGTH:
        raise FilterError(f"a filter may have {MAX_LENGTH:,} characters, this one has {len(source):,}", source, (0, 1))
    if not source.strip():
        raise FilterError("the filter is empty", source, (0, 1))
    try:
        tree = _parser().parse(source)
    except UnexpectedInput as error:
        _explain(error, source)
    return _Builder(source).node(tree, 0)


@cache
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", propagate_positions=True)


# Python's `\w` and `\s` in JavaScript.
_WORD_IN_JAVASCRIPT = r"\p{L}\p{N}_"
_SPACE_IN_JAVASCRIPT = r"[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"


def tables() -> dict[str, Any]:
    """Returns the filter grammar as tables of an LALR parser, for programs without lark.

    `terminals` are names and JavaScript patterns in the order in which they are tried; text of those in `ignore` is skipped. A
    state maps the name of a terminal or rule to what follows: a state, or -1 minus the number of the rule that ends there. A rule
    has the name of what it makes, the name of its tree, a letter for each part (`k` kept, `i` replaced by its own parts, `d`
    dropped), and whether a single part stands for the tree.
    """
    data, memo = _parser().memo_serialize([TerminalDef, Rule])
    parser = data["parser"]["parser"]
    names = parser["tokens"]
    rules = {number: entry for number, entry in sorted(memo.items()) if entry["__type__"] == "Rule"}
    rank = {number: at for at, number in enumerate(rules)}
    # States are numbered as they are reached, which is the same in every run.
    rows = {
        number: sorted((names[token], action) for token, action in row.items())
        for number, row in parser["states"].items()
    }
    order = [parser["start_states"]["start"]]
    for number in order:
        order += dict.fromkeys(to for _, (is_reduce, to) in rows[number] if not is_reduce and to not in order)
    place = {number: at for at, number in enumerate(order)}
    return {
        "terminals": [[one.name, _pattern_in_javascript(one)] for one in sorted(_parser().terminals, key=_tried)],
        "ignore": data["parser"]["lexer_conf"]["ignore"],
        "states": [
            {name: -1 - rank[to["@"]] if is_reduce else place[to] for name, (is_reduce, to) in rows[number]}
            for number in order
        ],
        "end": place[parser["end_states"]["start"]],
        "rules": [_rule(rule) for rule in rules.values()],
        "operators": _OPERATORS,
        "signs": _SIGNS,
        "escapes": _UNESCAPED,
        "most": [MAX_LENGTH, MAX_DEPTH],
    }


def _tried(terminal: TerminalDef) -> tuple[Any, ...]:
    """The key that sorts the terminals of the filter grammar in the order in which lark tries them."""
    pattern = terminal.pattern
    return -terminal.priority, -pattern.max_width, -len(pattern.value), terminal.name


def _pattern_in_javascript(terminal: TerminalDef) -> str:
    value = terminal.pattern.value
    if isinstance(terminal.pattern, PatternStr):
        return re.sub(r"[.(){}]", r"\\\g<0>", value)
    return value.replace(r"\w", _WORD_IN_JAVASCRIPT).replace(r"\s", _SPACE_IN_JAVASCRIPT)


def _rule(rule: dict[str, Any]) -> list[Any]:
    parts = (
        "d" if part.get("filter_out") else "i" if part["__type__"] == "NonTerminal" and part["name"][0] == "_" else "k"
        for part in rule["expansion"]
    )
    name, alias = rule["origin"]["name"], rule["alias"]
    return [name, alias or name, "".join(parts), rule["options"]["expand1"] and alias is None]


class _Builder:
    """Makes the tree of a filter from lark's tree."""

    def __init__(self, source: str) -> None:
        self._source = source

    def node(self, tree: Tree[Token], depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise FilterError(f"this filter nests deeper than {MAX_DEPTH} levels", self._source, _place(tree))
        parts = tree.children
        match tree.data:
            case "group":
                return self._below(parts[0], depth)
            case "not_":
                return Not(self._below(parts[1], depth))
            case "or_":
                return Or(tuple(self._below(part, depth) for part in parts))
            case "xor_":
                return Xor(tuple(self._below(part, depth) for part in parts))
            case "and_":
                return And(tuple(self._below(part, depth) for part in parts))
            case "quantified":
                quantifier, relation = parts
                assert isinstance(quantifier, Token)
                assert isinstance(relation, Tree)
                return self._relation(relation, _QUANTIFIERS[quantifier.lower()])
            case _:
                return self._relation(tree, None)

    def _below(self, part: Tree[Token] | Token, depth: int) -> Node:
        assert isinstance(part, Tree)
        return self.node(part, depth + 1)

    def _relation(self, tree: Tree[Token], quantifier: Quantifier | None) -> Node:
        parts = tree.children
        match tree.data:
            case "exists":
                if quantifier is not None:
                    sentence = f"{quantifier} stands before a comparison, and this is none"
                    raise FilterError(sentence, self._source, _place(tree))
                return Exists(self._operand(parts[0]))
            case "compared":
                return self._compared(parts, quantifier)
            case "in_":
                return In(self._operand(parts[0]), self._members(parts[1]), quantifier)
            case _:
                return Not(In(self._operand(parts[0]), self._members(parts[2]), quantifier))

    def _compared(self, parts: list[Tree[Token] | Token], quantifier: Quantifier | None) -> Node:
        """Builds a filter's chain of comparisons: `a < b < c` means `a < b and b < c`."""
        operands = [self._operand(part) for part in parts[::2]]
        relations: list[Node] = []
        for left, sign, right in zip(operands, parts[1::2], operands[1:], strict=False):
            assert isinstance(sign, Token)
            operator = _OPERATORS[sign.lower()]
            relations.append(Compare(left, operator, right, quantifier, _place(sign)))
        return relations[0] if len(relations) == 1 else And(tuple(relations))

    def _members(self, part: Tree[Token] | Token) -> tuple[Operand | Range, ...]:
        assert isinstance(part, Tree)
        members: list[Operand | Range] = []
        for member in part.children:
            if isinstance(member, Tree) and member.data == "range_":
                low, high = member.children
                members.append(Range(self._operand(low), self._operand(high)))
            else:
                members.append(self._operand(member))
        return tuple(members)

    def _operand(self, part: Tree[Token] | Token, depth: int = 0) -> Operand:
        if isinstance(part, Tree):
            if depth > MAX_DEPTH:
                raise FilterError(f"this filter nests deeper than {MAX_DEPTH} levels", self._source, _place(part))
            name, argument = part.children
            assert isinstance(name, Token)
            return Function(str(name.lower()), self._operand(argument, depth + 1), _place(part))
        if part.type == "RAW":
            return Text(part[2:-1], _place(part))
        if part.type == "STRING":
            return Text(self._unescaped(part), _place(part))
        return Word(str(part), _place(part))

    def _unescaped(self, token: Token) -> str:
        """The text of a filter's string: a backslash before anything it does not escape stands for itself, so that accounts can be
        written plainly."""

        def one(match: re.Match[str]) -> str:
            *codes, character = match.groups()
            for code in codes:
                if code is not None:
                    if int(code, 16) > 0x10FFFF:
                        raise FilterError(f"{match[0]} is no character", self._source, _place(token))
                    return chr(int(code, 16))
            return _UNESCAPED.get(character, match[0])

        return _ESCAPE.sub(one, token[1:-1])


def _place(part: Tree[Token] | Token) -> Place:
    if isinstance(part, Token):
        start, stop = part.start_pos, part.end_pos
    else:
        start, stop = part.meta.start_pos, part.meta.end_pos
    return start or 0, stop or 0


def _explain(error: UnexpectedInput, source: str) -> NoReturn:
    """Raises `FilterError`: says in our words what the parser did not understand in a filter."""
    parser = getattr(error, "interactive_parser", None)
    wanted: set[str] = parser.accepts() if parser is not None else set()
    if isinstance(error, UnexpectedCharacters):
        at = error.pos_in_stream or 0
        found, place = source[at], (at, at + 1)
        if found in "\"'":
            raise FilterError("this text has no closing quote", source, (at, len(source)))
        if found == "=" and "COMPARE" in wanted:
            raise FilterError("a single = is no operator, write == or !=", source, place)
    else:
        assert isinstance(error, UnexpectedToken)
        token = error.token
        if token.type == "$END":
            at = len(source.rstrip())
            raise FilterError(f"the filter ends here, but {_wanted(wanted)} must follow", source, (at, at + 1))
        found, place = str(token), _place(token)
    raise FilterError(f"{_shown(found)} was not expected here, but {_wanted(wanted)}", source, place)


def _shown(found: str) -> str:
    return found if found.isprintable() else ascii(found)


_SIGNS = (
    ("COMPARE", "==, !=, <, >, contains, matches"),
    ("_IN", "in"),
    ("_AND", "and, or"),
    ("LBRACE", "{"),
    ("RBRACE", "}"),
    ("COMMA", "a comma"),
    ("RPAR", ")"),
)


def _wanted(terminals: set[str]) -> str:
    """Returns in words what may stand at a place of a filter."""
    if "WORD" in terminals:
        return "a field or a value"
    signs = ", ".join(sign for terminal, sign in _SIGNS if terminal in terminals)
    return f"one of {signs}" if ", " in signs else signs or "nothing more"
