"""Compares two conversations: aligns their calls by what they ask, and compares them pair by pair.

Pairs that differ in the same fields are reported once, with the first of them. Calls of one side only are reported by stretches.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from analyzer.questions.audit.audit_engine import Audit, Profile
from analyzer.questions.audit.findings import Finding
from analyzer.questions.audit.requirement_catalog import catalogue
from analyzer.questions.differences.call_pair_comparison import PairComparison
from analyzer.questions.differences.conversation_keys import AlignedCall, Conversation
from analyzer.questions.differences.field_comparison import FieldComparison
from analyzer.questions.differences.machine_facts import properties_that_differ
from analyzer.questions.differences.machine_matching import Peers
from analyzer.questions.differences.sequence_alignment import aligned_by_levels, gaps
from analyzer.questions.statistics.summary import frames_of_calls, method_label
from analyzer.results.analysis import Analysis, Part
from analyzer.results.calls.call import Call
from analyzer.results.records.difference import (
    Breach,
    DifferenceKind,
    DifferenceRecord,
    FieldDifference,
    NotComparedRecord,
    Occurrence,
    PropertyDifference,
    WhyNotCompared,
)

_MOST_FIELDS = 64
_MOST_CALLS = 8
_POSITION = re.compile(r"\[\d+\]")
_WHY: dict[WhyNotCompared, str] = {
    "sealed": "no key opens them",
    "not captured": "a part of them was not captured",
    "undecodable": "nothing states what their bytes mean",
    "layout unknown": "their bytes differ, and nothing states which of them are handles",
    "too much": "more differs than is taken apart",
}


class Unequal(Struct, frozen=True):
    """Pairs of calls that differ in the same fields: their numbers, and the differing fields of the first pair."""

    conversation: Conversation
    a: list[int]
    b: list[int]
    fields: Sequence[FieldDifference]


class CallComparison:
    """Compares the conversations of two captures, one after the other, and keeps the results."""

    def __init__(self, a: Analysis, b: Analysis, peers: Peers, fields: FieldComparison, *, in_order: bool) -> None:
        """If calls are not `in_order`, the n-th call that asks something is paired with the n-th of the other side."""
        self._a, self._b, self._in_order = a, b, in_order
        self._pairs = PairComparison(peers, fields)
        self.compared = 0
        # The differences found, and the numbers of the calls of both sides that could not be compared.
        self._found: list[DifferenceRecord | Unequal] = []
        self._uncompared: dict[tuple[WhyNotCompared, str], tuple[list[int], list[int]]] = {}

    def compare_conversations(self, a: Conversation | None, b: Conversation | None) -> None:
        """Compares two conversations that belong together; one is None if only the other capture has it."""
        if a is None or b is None:
            self._found.append(self._lone_conversation(a, b))
            return
        if (changed := self._changed(a, b)) is not None:
            self._found.append(changed)
        if not self._in_order:
            b = replace(b, calls=_in_order_of(a.calls, b.calls))
        pairs = aligned_by_levels([one.keys for one in a.calls], [one.keys for one in b.calls])
        unequal: dict[tuple[object, ...], Unequal] = {}
        for x, y in pairs:
            self._pair(a, a.calls[x], b.calls[y], unequal)
        found: list[tuple[int, DifferenceRecord | Unequal]] = []
        place = {a.calls[x].number: x for x, _ in pairs}
        found += ((place[one.a[0]], one) for one in unequal.values())
        for of_a, of_b in gaps(pairs, len(a.calls), len(b.calls)):
            if of_a:
                found.append((of_a.start, self._lone(a, [a.calls[at].number for at in of_a], "only-a")))
            if of_b:
                found.append((of_a.start, self._lone(a, [b.calls[at].number for at in of_b], "only-b")))
        self._found += (one for _, one in sorted(found, key=itemgetter(0)))

    def records(self) -> Iterator[DifferenceRecord]:
        """Yields the records of differing calls, conversation by conversation."""
        unequal = [one for one in self._found if isinstance(one, Unequal)]
        of_a = findings_by_call(self._a, (one.a[0] for one in unequal))
        of_b = findings_by_call(self._b, (one.b[0] for one in unequal))
        for one in self._found:
            if isinstance(one, Unequal):
                found = breaches(of_a.get(one.a[0], ()), of_b.get(one.b[0], ()), one.fields)
                yield self._record(one, found)
            else:
                yield one

    def uncompared(self) -> Iterator[NotComparedRecord]:
        """Yields the records of calls in conversations that could not be compared, by reason and method."""
        for (why, method), (a, b) in self._uncompared.items():
            text = f"{len(a):,} call{'s' if len(a) != 1 else ''} of {method}: {_WHY[why]}"
            if why == "sealed":
                text += f" in {' and '.join(self._sealed_in(a, b))}"
            yield NotComparedRecord(
                why=why, method=method, text=text, a=occurrence_of(self._a, a), b=occurrence_of(self._b, b)
            )

    def _sealed_in(self, a: Sequence[int], b: Sequence[int]) -> Iterator[str]:
        for side, analysis, numbers in (("A", self._a, a), ("B", self._b, b)):
            if any(analysis.calls[number - 1].state == "sealed" for number in numbers):
                yield side

    def _pair(
        self, conversation: Conversation, a: AlignedCall, b: AlignedCall, unequal: dict[tuple[object, ...], Unequal]
    ) -> None:
        if a.is_whole and b.is_whole and not a.has_handles and not b.has_handles and a.digests == b.digests:
            self.compared += 1
            return
        one, other = self._a.calls[a.number - 1], self._b.calls[b.number - 1]
        fields, why = self._pairs.compare(one, other)
        if why is None:
            self.compared += 1
        else:
            numbers = self._uncompared.setdefault((why, _method(one)), ([], []))
            numbers[0].append(a.number)
            numbers[1].append(b.number)
        if fields:
            own = sorted({(_POSITION.sub("[]", each.path), each.kind) for each in fields if not each.follows})
            known = unequal.setdefault((_method(one), *own), Unequal(conversation, [], [], fields))
            known.a.append(a.number)
            known.b.append(b.number)

    def _record(self, one: Unequal, found: tuple[Breach, ...]) -> DifferenceRecord:
        call, count = self._a.calls[one.a[0] - 1], len(one.a)
        own = [each for each in one.fields if not each.follows]
        more = f" and {len(own) - 1} more field{'s' if len(own) > 2 else ''}" if len(own) > 1 else ""
        alike = f"; {count - 1} more pair{'s differ' if count > 2 else ' differs'} alike" if count > 1 else ""
        ordered = [*own, *(each for each in one.fields if each.follows)]
        return DifferenceRecord(
            about="call",
            kind="changed",
            machine=one.conversation.server,
            name=_method(call),
            text=f"call {self._a.known_as(one.a[0])} of A, {self._b.known_as(one.b[0])} of B: {field_words(own[0])}{more}{alike}",
            fields=tuple(ordered[:_MOST_FIELDS]),
            fields_left_out=max(0, len(ordered) - _MOST_FIELDS),
            breaches=found,
            a=occurrence_of(self._a, one.a),
            b=occurrence_of(self._b, one.b),
        )

    def _lone(self, conversation: Conversation, numbers: Sequence[int], kind: DifferenceKind) -> DifferenceRecord:
        """Makes the record of a stretch of calls that only one capture has."""
        analysis = self._a if kind == "only-a" else self._b
        methods = Counter(_method(analysis.calls[number - 1]) for number in numbers)
        name = ", ".join(f"{count} × {method}" if count > 1 else method for method, count in methods.items())
        side = kind[-1].upper()
        return DifferenceRecord(
            about="call",
            kind=kind,
            machine=conversation.server,
            name=name,
            text=f"{len(numbers):,} call{'s' if len(numbers) > 1 else ''} of {side} alone: {name}",
            a=occurrence_of(self._a, numbers) if kind == "only-a" else None,
            b=occurrence_of(self._b, numbers) if kind == "only-b" else None,
        )

    def _lone_conversation(self, a: Conversation | None, b: Conversation | None) -> DifferenceRecord:
        known = a or b
        assert known is not None
        numbers = [one.number for one in known.calls]
        side = "A" if b is None else "B"
        return DifferenceRecord(
            about="conversation",
            kind="only-a" if b is None else "only-b",
            machine=known.server,
            name=known.words,
            text=f"{len(numbers):,} call{'s' if len(numbers) > 1 else ''} in {side} alone",
            a=occurrence_of(self._a, numbers) if b is None else None,
            b=occurrence_of(self._b, numbers) if a is None else None,
        )

    def _changed(self, a: Conversation, b: Conversation) -> DifferenceRecord | None:
        """Makes the record of a conversation whose transport, security or account differs; None if none does."""
        of_a, of_b = dict(a.properties) | {"account": a.user}, dict(b.properties) | {"account": b.user}
        found = [PropertyDifference(*one) for one in properties_that_differ(of_a, of_b)]
        if not found:
            return None
        return DifferenceRecord(
            about="conversation",
            kind="changed",
            machine=a.server,
            name=a.words,
            text="; ".join(property_words(one) for one in found),
            properties=tuple(found),
            a=occurrence_of(self._a, [one.number for one in a.calls]),
            b=occurrence_of(self._b, [one.number for one in b.calls]),
        )


def occurrence_of(analysis: Analysis, numbers: Iterable[int]) -> Occurrence:
    """Makes the occurrence of some calls in a difference: their first numbers, and the frames of the first call."""
    found = list(numbers)
    frames, files = frames_of_calls(analysis, found[:1])
    known = tuple(map(analysis.known_as, found[:_MOST_CALLS]))
    return Occurrence(calls=known, count=len(found), frames=frames, frame_files=files)


def property_words(one: PropertyDifference) -> str:
    return f"{one.name}: {one.a} in A, {one.b} in B"


def field_words(one: FieldDifference) -> str:
    """Describes in one line how a field of two calls differs."""
    if one.kind == "only-a":
        return f"{one.path} {one.a} in A alone"
    if one.kind == "only-b":
        return f"{one.path} {one.b} in B alone"
    return f"{one.path} {one.a} in A, {one.b} in B"


def _in_order_of(a: Sequence[AlignedCall], b: Sequence[AlignedCall]) -> list[AlignedCall]:
    """Returns the calls of B in the order in which A asks the same; calls that A does not ask come last."""
    left: dict[object, list[AlignedCall]] = {}
    for one in reversed(b):
        left.setdefault(one.keys[1], []).append(one)
    found = [waiting.pop() for one in a if (waiting := left.get(one.keys[1]))]
    rest = {one.number for waiting in left.values() for one in waiting}
    return [*found, *(one for one in b if one.number in rest)]


def _method(call: Call) -> str:
    return method_label(call.method, call.opnum)


# Numbers and names of elements in a path.
_ELEMENT = re.compile(r"\[[^\]]*\]")
ByCall = Mapping[int, Sequence[Finding]]


def findings_by_call(analysis: Analysis, numbers: Iterable[int]) -> ByCall:
    """Audits these compared calls under the profile `spec`, and returns their findings by call number."""
    wanted = sorted(set(numbers))
    found: dict[int, list[Finding]] = {}
    if wanted:
        part = replace(analysis, part=Part(wanted, analysis.shown_sessions, "calls that differ"))
        for one in Audit(part, profile=Profile.SPEC).findings():
            if one.call is not None:
                found.setdefault(one.call, []).append(one)
    return found


def breaches(a: Sequence[Finding], b: Sequence[Finding], fields: Sequence[FieldDifference]) -> tuple[Breach, ...]:
    """Returns the audit's findings that only one of two compared calls has, and that are about fields which differ."""
    return tuple(dict.fromkeys([*_of_side("a", a, b, fields), *_of_side("b", b, a, fields)]))


def _of_side(
    side: Literal["a", "b"], own: Sequence[Finding], others: Sequence[Finding], fields: Sequence[FieldDifference]
) -> Iterable[Breach]:
    known = {(one.rule.code, one.judgement.requirement) for one in others}
    for one in own:
        requirement = one.judgement.requirement
        if (one.rule.code, requirement) not in known and any(_is_of(one, each) for each in fields):
            yield Breach(side, one.rule.code, requirement, catalogue()[requirement].statement, one.judgement.seen)


def _is_of(finding: Finding, field: FieldDifference) -> bool:
    """Tells whether an audit's finding is about a differing field: its place ends with a name on the path to the field."""
    at = finding.judgement.at
    if at is None or at.side != field.side:
        return False
    return _ELEMENT.sub("", at.path).rpartition(".")[2] in _ELEMENT.sub("", field.path).split(".")
