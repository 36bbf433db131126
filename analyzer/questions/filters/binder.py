"""Binds a filter's tree to the fields that it may name: returns an expression, or a message about a mistake.

Wireshark's rules apply to fields without a value, or with several (docs/filters.md):

* a comparison is false if the field has no value,
* `==`, `<`, `contains` and others are true if any value satisfies them, `!=` if all values do,
* `any` and `all` before a comparison, and `===` (all equal) and `!==` (any differs), state it explicitly.

Regular expressions (`matches`) take time linear in the text, so that no pattern can make them hang. The engine is that of the Rust
crate `regex`, which polars, our library for tables, has built in. Case is ignored, like in Wireshark, unless the pattern says
`(?-i)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from fractions import Fraction
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

import polars as pl

from analyzer.core.times import UNITS_NS, parse_time
from analyzer.questions.filters.bound_expression import Asked, Expression, Joined, Resolve
from analyzer.questions.filters.filterable_fields import (
    NUMBERS,
    TEXTS,
    FilterField,
    buffer_field,
    buffer_names,
    named_methods,
    numbers_of,
    with_article,
)
from analyzer.questions.filters.grammar import (
    And,
    Compare,
    Exists,
    FilterError,
    Function,
    In,
    Node,
    Not,
    Operand,
    Operator,
    Or,
    Place,
    Quantifier,
    Range,
    Text,
    Word,
    Xor,
)
from analyzer.results.records.record_types import Kind

# ----------------------------------------------------------------------------------------------------- regular expressions


# Values repeat: a capture has few users, methods and names.
_REMEMBERED = 4096


class PatternError(ValueError):
    """The error for a text in a filter that is no regular expression; `str()` says why."""


class Pattern:
    def __init__(self, pattern: str) -> None:
        self._pattern = "(?i)" + _storable(pattern)
        self._known: dict[str, bool] = {}
        try:
            self.found_in("")
        except pl.exceptions.ComputeError as error:
            raise PatternError(_reason(str(error))) from None

    def found_in(self, text: str) -> bool:
        """Whether this pattern, with which the binder binds a regular expression of a filter, occurs anywhere in the text."""
        known = self._known.get(text)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = bool(pl.Series([_storable(text)]).str.contains(self._pattern)[0])
            self._known[text] = known
        return known


def _storable(text: str) -> str:
    """Returns text for a regular expression that the binder compiles. A lone surrogate has no UTF-8 form and becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def _reason(message: str) -> str:
    """Returns why the engine refused a filter's regular expression, without the drawing around the message."""
    for line in message.splitlines():
        if line.startswith("error: "):
            return line.removeprefix("error: ")
    return message.partition("\n")[0].removeprefix("regex error: ")


# ------------------------------------------------------------------------------------------------------------------ binder


_Values = Callable[[Resolve], Sequence[Any]]
_Test = Callable[[Any], bool]

# The regular expressions' engine takes time linear in the text, whatever the pattern; this bounds the factor.
MAX_PATTERN = 1_000

# Longer numbers than any field can hold.
_MOST_DIGITS = 100

_GUID = re.compile(r"\{?([0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12})\}?")
_NUMBER = re.compile(r"[+-]?(?:0[xX][0-9A-Fa-f]+|0[bB][01]+|\d+)")
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2})?")
_DURATION = re.compile(rf"({_DECIMAL.pattern})(ns|us|µs|ms|s|min|m|h|d)?")
# Words that users may write when they look for failed calls.
_OF_FAILURES = frozenset({"fail", "failed", "failure", "error", "errors", "refused"})
# Names that Wireshark users may type.
_OF_WIRESHARK = {
    "frame.number": "frame",
    "frame.time": "time",
    "frame.time_epoch": "time",
    "frame.time_relative": "time_relative",
    "ip.addr": "ip",
    "ip.host": "ip",
    "ipv6.addr": "ip",
    "ip.src": "client.ip",
    "ipv6.src": "client.ip",
    "ip.dst": "server.ip",
    "ipv6.dst": "server.ip",
    "tcp.port": "port",
    "tcp.srcport": "client.port",
    "tcp.dstport": "server.port",
    "dcerpc.opnum": "opnum",
    "dcerpc.cn_call_id": "call_id",
    "dcerpc.cn_ctx_id": "context_id",
    "dcerpc.cn_status": "fault",
    "dcerpc.time": "latency",
    "dcerpc.auth_level": "auth.level",
    "dcerpc.auth_type": "auth.type",
    "smb2.sesid": "session",
    "smb2.filename": "pipe",
    "ntlmssp.auth.username": "user",
    "ntlmssp.auth.hostname": "workstation",
}
_FLAGS = {"true": True, "1": True, "false": False, "0": False}
_LESS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
}
_FIELD_FIRST = frozenset({"contains", "matches", "&"})
_SWAPPED: Mapping[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_DEFAULT: Mapping[str, Quantifier] = {"!=": "all", "===": "all"}
_COMPARABLE = NUMBERS | {Kind.SECONDS, Kind.TIME, Kind.ANY}


def bind(tree: Node, source: str, fields: Mapping[str, FilterField]) -> Expression:
    """Binds a filter's tree that was parsed from `source`. Raises `FilterError` if it makes no sense."""
    return _Binder(source, fields).node(tree)


class _Ref:
    """An operand of a filter that has values: a field, or a function of one."""

    def __init__(self, name: str, kind: Kind, values: _Values, field: FilterField, at: Place) -> None:
        self.name, self.kind, self.values, self.field, self.at = name, kind, values, field, at


class _Binder:
    def __init__(self, source: str, fields: Mapping[str, FilterField]) -> None:
        self._source = source
        self._fields = fields

    def fail(self, sentence: str, at: Place) -> FilterError:
        return FilterError(sentence, self._source, at)

    def node(self, node: Node) -> Expression:
        match node:
            case Not(part):
                return Joined("not", (self.node(part),))
            case And(parts):
                return Joined("and", tuple([self.node(part) for part in parts]))
            case Or(parts):
                return Joined("or", tuple([self.node(part) for part in parts]))
            case Xor(parts):
                return Joined("xor", tuple([self.node(part) for part in parts]))
            case Exists(operand):
                return self._exists(operand)
            case Compare():
                return self._compare(node)
            case In():
                return self._in(node)

    # ------------------------------------------------------------------------------------------------ operands

    def _exists(self, operand: Operand) -> Asked:
        if isinstance(operand, Text):
            raise self.fail("a text alone says nothing; compare a field with it", operand.at)
        ref = self._known(operand)
        return Asked((ref.field,), lambda resolve: len(ref.values(resolve)) > 0)

    def _known(self, operand: Operand) -> _Ref:
        """Returns the record field that a filter's operand must name. Raises `FilterError` if it names none."""
        ref = self._ref(operand)
        if ref is None:
            raise self.fail(self._unknown(str(operand)), operand.at)
        return ref

    def _unknown(self, name: str) -> str:
        sentence = f"no field is called {_quoted(name)}"
        if (ours := _OF_WIRESHARK.get(name.lower())) in self._fields:
            return f"{sentence}; what Wireshark calls so is {ours}"
        if name.lower() in _OF_FAILURES and "fault" in self._fields:
            return f"{sentence}; calls that failed pass: status != 0 or fault"
        near = near_names(name, self._names(name))
        if near:
            return f"{sentence}; near it: {', '.join(near)}"
        return f"{sentence}; --list-fields prints all"

    def _names(self, name: str) -> Collection[str]:
        if "buffer." in name:
            start = name[: name.index("buffer.") + len("buffer.")]
            return [*self._fields, *(start + one for one in buffer_names())]
        return self._fields

    def _ref(self, operand: Operand) -> _Ref | None:
        """The record field that a filter's operand names, None for a value."""
        if isinstance(operand, Text):
            return None
        if isinstance(operand, Function):
            return self._function(operand)
        field = self._fields.get(operand.text)
        if field is None and (field := buffer_field(operand.text)) is not None:
            steps = operand.text.partition("buffer.")[2].split(".")
            if "response.buffer" not in self._fields or not buffer_names().issuperset(steps):
                return None
        if field is None:
            return None
        found = field
        return _Ref(field.name, field.kind, lambda resolve: resolve(found), field, operand.at)

    def _function(self, function: Function) -> _Ref:
        inner = self._known(function.argument)
        values, at = inner.values, function.at

        def made(kind: Kind, result: _Values) -> _Ref:
            return _Ref(str(function), kind, result, inner.field, at)

        if function.name == "count":
            return made(Kind.NUMBER, lambda resolve: (len(values(resolve)),))
        if inner.kind not in TEXTS and inner.kind is not Kind.ANY:
            raise self.fail(
                f"{function.name} needs a field of text, and {inner.name} is {with_article(inner.kind)}", at
            )
        if function.name == "len":
            return made(Kind.NUMBER, lambda resolve: [len(one) for one in values(resolve) if isinstance(one, str)])
        change: Callable[[str], str] = str.lower if function.name == "lower" else str.upper
        return made(Kind.TEXT, lambda resolve: [change(one) for one in values(resolve) if isinstance(one, str)])

    # ------------------------------------------------------------------------------------------------ comparisons

    def _compare(self, node: Compare) -> Asked:
        left, right, operator = self._ref(node.left), self._ref(node.right), node.operator
        if left is not None and left.kind is Kind.CHOICE and str(node.right) in left.field.choices:
            right = None  # `auth.user_from == smb` means the word, though there is a field of that name
        if left is not None and right is not None:
            return self._both(node, left, right)
        if left is not None:
            ref, literal = left, node.right
        elif right is not None and operator not in _FIELD_FIRST:
            ref, literal, operator = right, node.left, _SWAPPED.get(operator, operator)
        elif isinstance(node.left, Word):
            raise self.fail(self._unknown(node.left.text), node.left.at)
        elif right is not None:
            raise self.fail(f"the field stands before {operator}", node.left.at)
        else:
            raise self.fail("one side of a comparison must be a field", node.left.at)
        values = ref.values
        if isinstance(literal, Word) and literal.text.lower() == "null":
            if operator not in ("==", "!=", "===", "!=="):
                raise self.fail("null is only compared with == and !=", literal.at)
            absent = operator.startswith("=")
            return Asked((ref.field,), lambda resolve: (len(values(resolve)) == 0) == absent)
        test = self._test(ref, operator, literal, node.at)
        return _quantified(ref, test, node.quantifier or _DEFAULT.get(operator, "any"))

    def _both(self, node: Compare, left: _Ref, right: _Ref) -> Asked:
        """Binds the comparison of a field with a field in a filter: every value of one with every value of the other."""
        for ref in (left, right):
            if ref.kind is Kind.GROUP:
                raise self.fail(f"{ref.name} is a group of fields and has no value; quote it to mean the text", ref.at)
        operator, classes = node.operator, (_class(left.kind), _class(right.kind))
        if classes[0] != classes[1] and Kind.ANY not in classes:
            raise self.fail(
                f"{left.name} is {with_article(left.kind)} and {right.name} is {with_article(right.kind)}; "
                f"quote {right.name} to mean the text",
                node.at,
            )
        if operator == "matches":
            raise self.fail("matches needs a pattern in quotes", right.at)
        pair: Callable[[Any, Any], bool]
        if operator == "contains":
            self._need_text(left, node)
            pair = lambda one, other: isinstance(one, str) and isinstance(other, str) and other in one  # noqa: E731
        elif operator == "&":
            pair = lambda one, other: _is_whole(one) and _is_whole(other) and one & other != 0  # noqa: E731
        elif operator in _LESS:
            self._require_comparable(left, node)
            less = _LESS[operator]
            pair = lambda one, other: _is_number(one) and _is_number(other) and less(one, other)  # noqa: E731
        else:
            equal = operator in ("==", "===")
            pair = lambda one, other: _same(one, other) == equal  # noqa: E731
        first, second = left.values, right.values
        every = (node.quantifier or _DEFAULT.get(operator, "any")) == "all"

        def test(resolve: Resolve) -> bool:
            pairs = [(one, other) for one in first(resolve) for other in second(resolve)]
            if every:
                return bool(pairs) and all(pair(*both) for both in pairs)
            return any(pair(*both) for both in pairs)

        return Asked(tuple({left.field: None, right.field: None}), test)

    def _test(self, ref: _Ref, operator: str, literal: Operand, at: Place) -> _Test:
        assert not isinstance(literal, Function)
        if ref.kind is Kind.GROUP:
            raise self.fail(
                f"{ref.name} is a group of fields and has no value; name it alone to ask whether it is there", ref.at
            )
        if operator == "contains":
            self._need_text(ref, literal)
            wanted = literal.text
            return lambda value: isinstance(value, str) and wanted in value
        if operator == "matches":
            self._need_text(ref, literal)
            return self._pattern(literal)
        if operator == "&":
            if ref.kind not in NUMBERS and ref.kind is not Kind.ANY:
                raise self.fail(f"& needs a number, and {ref.name} is {with_article(ref.kind)}", at)
            mask = self._number(ref, literal)
            if not isinstance(mask, int):
                raise self.fail(f"{_quoted(literal.text)} has no bits", literal.at)
            bits = mask
            return lambda value: _is_whole(value) and value & bits != 0
        if operator in _LESS:
            if ref.kind not in _COMPARABLE:
                raise self.fail(f"{operator} needs a number or a time, and {ref.name} is {with_article(ref.kind)}", at)
            less, limit = _LESS[operator], self._number(ref, literal)
            return lambda value: _is_number(value) and less(value, limit)
        equal = self._equal(ref, literal)
        if operator in ("==", "==="):
            return equal
        return lambda value: not equal(value)

    def _in(self, node: In) -> Asked:
        ref = self._known(node.left)
        if ref.kind is Kind.GROUP:
            raise self.fail(f"{ref.name} is a group of fields and has no value", ref.at)
        tests = [self._member(ref, member) for member in node.members]
        return _quantified(ref, lambda value: any(test(value) for test in tests), node.quantifier or "any")

    def _member(self, ref: _Ref, member: Operand | Range) -> _Test:
        if not isinstance(member, Range):
            if isinstance(member, Function):
                raise self.fail("a set holds values only", member.at)
            return self._equal(ref, member)
        for end in (member.low, member.high):
            if isinstance(end, Function):
                raise self.fail("a range is between values", end.at)
        assert not isinstance(member.low, Function)
        assert not isinstance(member.high, Function)
        if ref.kind is Kind.ADDRESS:
            low, high = self._one_address(member.low), self._one_address(member.high)
            if low.version != high.version or int(low) > int(high):
                raise self.fail(f"{member} is no range of addresses", member.at)
            return lambda value: (
                (address := _address(value)) is not None
                and address.version == low.version
                and int(low) <= int(address) <= int(high)
            )
        if ref.kind not in _COMPARABLE:
            raise self.fail(
                f"a range is of numbers, times or addresses, and {ref.name} is {with_article(ref.kind)}", member.at
            )
        least, most = self._number(ref, member.low), self._number(ref, member.high)
        if least > most:
            raise self.fail(f"the range {member} is empty: its first value is the greater", member.at)
        return lambda value: _is_number(value) and least <= value <= most

    def _need_text(self, ref: _Ref, place: Operand | Compare) -> None:
        if ref.kind not in TEXTS and ref.kind is not Kind.ANY:
            raise self.fail(f"contains and matches need text, and {ref.name} is {with_article(ref.kind)}", place.at)

    def _require_comparable(self, ref: _Ref, node: Compare) -> None:
        if ref.kind not in _COMPARABLE:
            raise self.fail(
                f"{node.operator} needs a number or a time, and {ref.name} is {with_article(ref.kind)}", node.at
            )

    # ------------------------------------------------------------------------------------------------ values

    def _equal(self, ref: _Ref, literal: Word | Text) -> _Test:
        """Returns the filter's test for equality with a value, by the kind of its field."""
        kind, text = ref.kind, literal.text
        if kind is Kind.ANY:
            return _equal_to_anything(literal)
        if kind is Kind.ADDRESS:
            network = self._network(literal)
            return lambda value: (address := _address(value)) is not None and address in network
        if kind is Kind.FLAG:
            flag = _FLAGS.get(text.lower())
            if flag is None:
                raise self.fail(f"{ref.name} is true or false, and {_quoted(text)} is neither", literal.at)
            return lambda value: value is flag
        if kind in _COMPARABLE:
            number = self._number(ref, literal)
            return lambda value: _is_number(value) and value == number
        wanted = frozenset(self._texts(ref, literal))
        return lambda value: value in wanted

    def _texts(self, ref: _Ref, literal: Word | Text) -> Iterator[str]:
        """Yields the texts that a field's value may have to be equal to a value in a filter."""
        text = literal.text
        match ref.kind:
            # A level of RPC security that has no name is shown as its number.
            case Kind.CHOICE if text not in ref.field.choices and not text.isdecimal():
                sentence = f"{ref.name} is never {_quoted(text)}; it is one of {', '.join(ref.field.choices)}"
                raise self.fail(sentence, literal.at)
            case Kind.METHOD:
                # The interface's name may be left out, as the text reports do.
                yield named_methods().get(text.lower().removeprefix("perflibv2"), text)
            case Kind.INTERFACE:
                yield {"perflibv2": "PerflibV2", "winreg": "winreg"}.get(text.lower(), text)
                yield _plain_guid(text)
            case Kind.NAME:
                yield _plain_guid(text)
            case Kind.GUID:
                if _GUID.fullmatch(text) is None:
                    raise self.fail(f"{ref.name} is a GUID, and {_quoted(text)} is none", literal.at)
                yield _plain_guid(text)
            case Kind.HANDLE:
                yield f"q{text}" if text.isdecimal() else _plain_guid(text)
            case _:
                yield text

    def _number(self, ref: _Ref, literal: Operand) -> int | Fraction:
        """Returns the number that a value in a filter means for a field of this kind; times are in nanoseconds."""
        assert not isinstance(literal, Function)
        text, kind = literal.text, ref.kind
        if kind is Kind.TIME:
            time_ns = parse_time(text)
            if time_ns is None:
                sentence = f"{_quoted(text)} is no time like 2026-11-20, 2026-11-20T13:50 or 2026-11-20T13:50:16.25Z"
                raise self.fail(sentence, literal.at)
            return time_ns
        if kind is Kind.SECONDS:
            duration = _DURATION.fullmatch(text)
            if duration is None or len(text) > _MOST_DIGITS:
                sentence = f"{ref.name} is in seconds, and {_quoted(text)} is no duration like 0.5 or 500ms"
                raise self.fail(sentence, literal.at)
            return _whole(Fraction(duration[1]) * UNITS_NS[duration[2] or "s"])
        number = _plain_number(text)
        if number is not None:
            return number
        names = numbers_of(kind)
        if names:
            found = names.get(text.upper())
            if found is not None:
                return found
            near = near_names(text.upper(), names)
            more = f"; near it: {', '.join(near)}" if near else ""
            raise self.fail(f"{_quoted(text)} is no {kind} by number or name{more}", literal.at)
        raise self.fail(f"{ref.name} is {with_article(kind)}, and {_quoted(text)} is none", literal.at)

    def _network(self, literal: Word | Text) -> IPv4Network | IPv6Network:
        try:
            return ip_network(literal.text, strict=False)
        except ValueError:
            raise self.fail(f"{_quoted(literal.text)} is no IP address or network", literal.at) from None

    def _one_address(self, literal: Word | Text) -> IPv4Address | IPv6Address:
        address = _address(literal.text)
        if address is None:
            raise self.fail(f"{_quoted(literal.text)} is no IP address", literal.at)
        return address

    def _pattern(self, literal: Operand) -> _Test:
        assert not isinstance(literal, Function)

        if len(literal.text) > MAX_PATTERN:
            sentence = f"a pattern may have {MAX_PATTERN:,} characters, this one has {len(literal.text):,}"
            raise self.fail(sentence, literal.at)
        try:
            pattern = Pattern(literal.text)
        except PatternError as error:
            raise self.fail(f"this is no regular expression: {error}", literal.at) from None
        return lambda value: isinstance(value, str) and pattern.found_in(value)


# ------------------------------------------------------------------------------------------- helpers


def near_names(name: str, names: Iterable[str]) -> list[str]:
    """Up to three field names like one that the binder of a filter does not know: with the same last part, else spelled much
    alike."""
    by_lower = {one.lower(): one for one in names}
    lower = name.lower()
    last = [one for key, one in by_lower.items() if key.rpartition(".")[2] == lower.rpartition(".")[2]]
    alike = [by_lower[key] for key in get_close_matches(lower, by_lower, n=3, cutoff=0.6)]
    return list(dict.fromkeys([*last[:2], *alike]))[:3]


def _quantified(ref: _Ref, test: _Test, quantifier: Quantifier) -> Asked:
    values = ref.values
    if quantifier == "any":
        return Asked((ref.field,), lambda resolve: any(test(value) for value in values(resolve)))

    def every(resolve: Resolve) -> bool:
        found = values(resolve)
        return len(found) > 0 and all(test(value) for value in found)

    return Asked((ref.field,), every)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal, for the comparisons that the binder makes of a filter's tree. True and false are no numbers
    there."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _class(kind: Kind) -> Kind:
    """Returns the class of a field's kind. Kinds of one class can be compared in a filter."""
    if kind in NUMBERS:
        return Kind.NUMBER
    return Kind.TEXT if kind in TEXTS else kind


def _plain_number(text: str) -> int | Fraction | None:
    if len(text) > _MOST_DIGITS:
        return None
    if _NUMBER.fullmatch(text):
        return int(text, 0) if text.lstrip("+-")[:2].lower() in ("0x", "0b") else int(text)
    return _whole(Fraction(text)) if _DECIMAL.fullmatch(text) else None


def _whole(number: Fraction) -> int | Fraction:
    return number.numerator if number.denominator == 1 else number


def _plain_guid(text: str) -> str:
    """Returns a GUID in a filter in the form that records have; other text stays."""
    match = _GUID.fullmatch(text)
    return match[1].lower() if match is not None else text


def _equal_to_anything(literal: Word | Text) -> _Test:
    """Returns a filter's test for equality of a literal with values of unknown kind. A quoted text is only compared with texts, a
    word with every kind it can be read as."""
    text = _plain_guid(literal.text)
    if isinstance(literal, Text):
        return lambda value: value == text
    number, flag = _plain_number(literal.text), _FLAGS.get(literal.text.lower()) if literal.text.isalpha() else None

    def test(value: Any) -> bool:
        if isinstance(value, str):
            return value == text
        if isinstance(value, bool):
            return value is flag
        return number is not None and bool(value == number)

    return test


@lru_cache(4096)
def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _quoted(text: str) -> str:
    shown = text if len(text) <= 60 else text[:57] + "..."
    return shown if shown.isprintable() and shown else ascii(shown)
