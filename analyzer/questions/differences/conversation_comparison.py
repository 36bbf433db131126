"""Compares two conversations: aligns their calls by what they ask, and compares them pair by pair.

Pairs that differ in the same fields are reported once, with the first of them. Calls of one side only are reported by stretches.

Two calls differ in fields, or cannot be compared, with the reason. Stubs of the same bytes are equal. Answers of one layout (all
bytes but clocks and values) are compared by columns. All others are taken apart into fields, up to `_MOST_BYTES` of stubs.

In two trees of fields, what differs by its nature is counted and left out. A context handle of one side stands for the handle at
the same place of the other. Clocks, values of counters, referent ids, padding and the name by which the client calls the server say
nothing of who answered. Elements of lists are paired by what names them (id, name, GUID), whatever their place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from types import MappingProxyType
from typing import Literal

import numpy as np
from msgspec import UNSET, Struct, field
from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.core.printable_text import counted
from analyzer.interfaces.buffers.field_map import Field
from analyzer.interfaces.buffers.perf_data_layout import PERF_DATA
from analyzer.interfaces.buffers.winperf_layout import WINPERF
from analyzer.interfaces.call_contents.call_field_maps import buffer_fields, status_name, stub_fields
from analyzer.questions.audit.audit_engine import Audit, Profile
from analyzer.questions.audit.findings_and_coverage import Finding
from analyzer.questions.audit.rule_registry import catalogue
from analyzer.questions.differences.conversation_keys import GIVEN, HANDLE_LENGTH, USED, AlignedCall, Conversation
from analyzer.questions.differences.machine_facts import Peers, properties_that_differ
from analyzer.questions.differences.sequence_alignment import Pairs, aligned, aligned_by_levels, gaps
from analyzer.questions.statistics.call_statistics import frames_of_calls, method_label
from analyzer.results.analysis import Analysis, Part
from analyzer.results.calls.call import Call, Side, SideName, handle_of
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
from analyzer.transport.rpc.rpc_names import fault_words

# ------------------------------------------------------------------------------------------------------------------ fields


_NUMBERED = re.compile(r"(.+)\[\d+\]")
# Names that ksy/ and the layouts give to bytes without a meaning.
UNUSED = frozenset({"(padding)", "(alignment)", "(between)"})
_CLOCKS = frozenset({"perf_time_stamp", "perf_time_100ns", "perf_time"})
_VALUES = frozenset({("ms_pcq_perf_data.counter_data", "value"), ("winperf.counter_values", "values")})
_REFERENT, _HANDLE, _MACHINE, _TIME = "referent", "ndr.context_handle", "ms_pcq_stubs.machine_name", "systemtime"
# Fields that name an element of a list.
_NAMING = (
    *("counterset_guid", "counter_id", "instance_id", "name", "unique_id", "index"),
    *("counter_name_title_index", "object_name_title_index"),
)
# Fields that follow from the length and number of other fields.
_FOLLOWING = re.compile(
    r"(lpcbData|lpcbLen|out_size|rtn_size|data_size|data_len|max_count|actual_count|total_size|size|length|maximum_length|ofs_\w+|num_\w+|index|"
    r"\w*_length|\w*_offset|default_counter)"
)
# Paths into a buffer begin with this name.
BUFFER = "lpData"
_SHOWN_BYTES = 64
_SHOWN_TEXT = 200
_DEPTH = 3

NO_HANDLE = "00000000-0000-0000-0000-000000000000"


class HandlePairs:
    """Remembers which context handle of A stands for which of B."""

    def __init__(self) -> None:
        self._of_a: dict[str, str] = {}
        self._of_b: dict[str, str] = {}

    def stand(self, a: str, b: str) -> bool:
        """Tells whether two context handles at the same place of compared calls stand for each other. Two unknown handles do from
        now on."""
        if NO_HANDLE in (a, b):
            return a == b
        known = self._of_a.get(a, b), self._of_b.get(b, a)
        if known == (b, a):
            self._of_a[a], self._of_b[b] = b, a
        return known == (b, a)

    def learn(self, a: str, b: str) -> None:
        """Notes that two context handles stand for each other from now on, instead of earlier pairs."""
        self._of_a[a], self._of_b[b] = b, a


class FieldComparison(Struct):
    """Compares fields of two calls and keeps the differences. `name_the_server` tells whether two texts name the same server. With
    `counts_values`, counter values count as differences. `guids` has for a GUID of B the GUID of A that it stands for."""

    handles: HandlePairs
    counts_values: bool = False
    guids: Mapping[str, str] = {}
    name_the_server: Callable[[str, str], bool] = str.__eq__
    found: list[FieldDifference] = field(default_factory=list)
    volatile: Counter[str] = field(default_factory=Counter)
    values: int = 0
    values_different: int = 0

    def compare(self, side: SideName, a: Field, b: Field, path: str, at: tuple[int, int]) -> None:
        """Compares two root fields, which begin at these offsets in the stubs."""
        self._node(side, a, b, path, at, a.doc_ref)

    def _node(self, side: SideName, a: Field, b: Field, path: str, at: tuple[int, int], reference: str) -> None:
        reference = a.doc_ref or reference
        if a.type == b.type == _HANDLE:
            self._handle(side, a, b, path, at, reference)
        elif a.type == b.type == _MACHINE:
            self._machine(side, a, b, path, at, reference)
        elif a.type == b.type and a.type.endswith(_TIME):
            self._leave_out("clocks", a.raw != b.raw)
        elif not a.children and not b.children:
            self._leaf(side, a, b, path, at, reference)
        elif [one.name for one in a.children] == [one.name for one in b.children] and not _has_elements(a):
            for one, other in zip(a.children, b.children, strict=True):
                self._child(side, (a, b), one, other, path, at, reference)
        else:
            self._children(side, a, b, path, at, reference)

    def _child(
        self,
        side: SideName,
        parents: tuple[Field, Field],
        one: Field | None,
        other: Field | None,
        path: str,
        at: tuple[int, int],
        reference: str,
    ) -> None:
        """Compares a field that both calls have, or notes one that only one call has."""
        known = one or other
        assert known is not None
        spelled = _spelled(known, is_of_buffer=path.startswith(BUFFER))
        place = f"{path}.{spelled}" if path else spelled
        name, kind = _plain_name(known.name), (parents[0] if one is not None else parents[1]).type
        if known.spelling in UNUSED:
            self._leave_out("padding", one is None or other is None or one.raw != other.raw)
        elif one is None or other is None:
            self._note(side, one, other, place, at, reference)
        elif (kind, name) in _VALUES:
            self._value(side, one, other, place, at, reference)
        elif name in _CLOCKS:
            self._leave_out("clocks", one.value != other.value)
        elif name == _REFERENT and bool(one.value) == bool(other.value):
            self._leave_out("referent ids", one.value != other.value)
        else:
            self._node(side, one, other, place, at, reference)

    def _children(self, side: SideName, a: Field, b: Field, path: str, at: tuple[int, int], reference: str) -> None:
        """Compares children of two fields that have not all the same names: list elements by what names them, others by name."""
        lists_a, lists_b = _by_list(a), _by_list(b)
        for name in dict.fromkeys([*lists_a, *lists_b]):
            for one, other in _paired_elements(lists_a.get(name, []), lists_b.get(name, []), self.guids):
                self._child(side, (a, b), one, other, path, at, reference)

    def _leave_out(self, what: str, is_different: bool) -> None:
        if is_different:
            self.volatile[what] += 1

    def _value(self, side: SideName, a: Field, b: Field, path: str, at: tuple[int, int], reference: str) -> None:
        self.values += 1
        if a.raw != b.raw:
            self.values_different += 1
            if self.counts_values:
                self._note(side, a, b, path, at, reference)

    def _handle(self, side: SideName, a: Field, b: Field, path: str, at: tuple[int, int], reference: str) -> None:
        (attributes_a, uuid_a), (attributes_b, uuid_b) = a.children, b.children
        if attributes_a.value != attributes_b.value:
            self._leave_out("handles", True)
        if self.handles.stand(str(uuid_a.value), str(uuid_b.value)):
            self._leave_out("handles", uuid_a.value != uuid_b.value)
        else:
            self.handles.learn(str(uuid_a.value), str(uuid_b.value))
            self._note(side, uuid_a, uuid_b, f"{path}.{uuid_a.name}", at, reference)

    def _machine(self, side: SideName, a: Field, b: Field, path: str, at: tuple[int, int], reference: str) -> None:
        texts = [next((one for one in whole.leaves() if one.type == "text"), None) for whole in (a, b)]
        one, other = texts
        values = str(one.value) if one is not None else "", str(other.value) if other is not None else ""
        if values[0] == values[1]:
            self._children(side, a, b, path, at, reference)
        elif self.name_the_server(*values):
            self._leave_out("names of the server", True)
        else:
            self._note(side, one or a, other or b, path, at, reference)

    def _leaf(self, side: SideName, a: Field, b: Field, path: str, at: tuple[int, int], reference: str) -> None:
        if isinstance(b.value, str) and b.value in self.guids and self.guids[b.value] == a.value:
            self._leave_out("GUIDs of countersets", True)
        elif a.value != b.value or (a.value is None and a.raw != b.raw):
            self._note(side, a, b, path, at, reference)

    def _note(
        self, side: SideName, a: Field | None, b: Field | None, path: str, at: tuple[int, int], reference: str
    ) -> None:
        kind: DifferenceKind = "changed" if a is not None and b is not None else "only-a" if b is None else "only-b"
        known = a or b
        assert known is not None
        self.found.append(
            FieldDifference(
                side=side,
                path=f"{side}.{path}" if path else side,
                kind=kind,
                a=_words(a),
                b=_words(b),
                a_bytes=a.raw[:_SHOWN_BYTES].hex() if a is not None else None,
                b_bytes=b.raw[:_SHOWN_BYTES].hex() if b is not None else None,
                a_start=at[0] + a.start if a is not None else None,
                b_start=at[1] + b.start if b is not None else None,
                reference=(known.doc_ref or reference),
                follows=kind == "changed" and _is_length(known, path),
            )
        )


def marked(found: Sequence[FieldDifference]) -> list[FieldDifference]:
    """Returns the differing fields of one call. Lengths keep the mark that they follow from others only if other fields differ."""
    if any(not one.follows for one in found):
        return list(found)
    return [replace(one, follows=False) for one in found]


def _is_length(one: Field, path: str) -> bool:
    """Tells whether a compared field is a length, count or offset, or the value that a pointer to one points to."""
    names = path.split(".")[-2:-1] if one.name == "value" else [_plain_name(one.name)]
    return any(_FOLLOWING.fullmatch(name) for name in names)


def _plain_name(name: str) -> str:
    match = _NUMBERED.fullmatch(name)
    return match[1] if match is not None else name


def _spelled(one: Field, *, is_of_buffer: bool) -> str:
    """Returns the name of a compared field in paths: in a buffer that of ksy/, elsewhere that of the IDL, if it has one."""
    return one.spelling if not is_of_buffer and one.spelling.isidentifier() else one.name


def _has_elements(one: Field) -> bool:
    return any(_NUMBERED.fullmatch(child.name) for child in one.children)


def _by_list(one: Field) -> dict[str, list[Field]]:
    found: dict[str, list[Field]] = {}
    for child in one.children:
        found.setdefault(_plain_name(child.name), []).append(child)
    return found


def _paired_elements(
    a: Sequence[Field], b: Sequence[Field], guids: Mapping[str, str]
) -> Iterator[tuple[Field | None, Field | None]]:
    """Pairs the elements of two compared calls' lists by their names. Unnamed stretches of the same length are paired in order,
    others stay alone."""
    pairs = aligned([_naming(one) for one in a], [_naming(one, guids) for one in b])
    found: list[tuple[int, int, Field | None, Field | None]] = [(x, y, a[x], b[y]) for x, y in pairs]
    for of_a, of_b in gaps(pairs, len(a), len(b)):
        if len(of_a) == len(of_b):
            found += [(x, y, a[x], b[y]) for x, y in zip(of_a, of_b, strict=True)]
        else:
            found += [(x, of_b.start, a[x], None) for x in of_a]
            found += [(of_a.stop, y, None, b[y]) for y in of_b]
    for _, _, one, other in sorted(found, key=lambda one: one[:2]):
        yield one, other


def _naming(one: Field, guids: Mapping[str, str] = MappingProxyType({})) -> tuple[object, ...]:
    """Returns what names a compared list element among others, with GUIDs replaced by `guids`; empty if nothing does."""
    level: Sequence[Field] = (one,)
    if not one.children and one.type.startswith("ndr.uuid"):
        return (guids.get(str(one.value), one.value),)
    for _ in range(_DEPTH):
        level = [child for each in level for child in each.children if not _NUMBERED.fullmatch(child.name)]
        if found := tuple(guids.get(str(child.value), child.value) for child in level if child.name in _NAMING):
            return found
    return ()


def _words(one: Field | None) -> str | None:
    """Describes the value of a compared field; for a structure what names it."""
    if one is None:
        return None
    if one.value is None:
        names = [str(name) for name in _naming(one) if name is not None]
        return " ".join(names) or f"{one.length} bytes"
    text = f"{one.value} ({one.meaning})" if one.meaning is not None else str(one.value)
    return text if len(text) <= _SHOWN_TEXT else text[: _SHOWN_TEXT - 1] + "…"


# ------------------------------------------------------------------------------------------------- call pair comparison


# ----------------------------------------------------------------------------------------------------------- conversations


# A megabyte of stubs takes seconds.
_MOST_BYTES = 16 << 20
_SIDES: tuple[SideName, ...] = ("request", "response")
_ELEMENTS = "(elements)"


class PairComparison:
    """Compares pairs of calls of two captures; `fields` counts values, and what was left out, over all pairs."""

    def __init__(self, peers: Peers, fields: FieldComparison) -> None:
        self._peers, self._fields = peers, fields
        self._left = _MOST_BYTES

    def compare(self, a: Call, b: Call) -> tuple[list[FieldDifference], WhyNotCompared | None]:
        """Returns the fields in which two calls differ, and why a part of them could not be compared (None: all was)."""
        fields, why = self._fields, None
        fields.found = []
        fields.name_the_server = partial(self._peers.are_names, a.server.ip, b.server.ip)
        for name in _SIDES:
            one, other = (a.request, b.request) if name == "request" else (a.response, b.response)
            if name == "response" and one is not None and other is not None and (a.fault, b.fault) != (None, None):
                self._outcomes(a, b)
            else:
                why = self._side(name, (a, b), one, other) or why
        return marked(fields.found), why

    def _side(self, name: SideName, calls: tuple[Call, Call], a: Side | None, b: Side | None) -> WhyNotCompared | None:
        if a is None or b is None:
            return "not captured"
        if a.missing is not None or b.missing is not None:
            return None if _carried(a) and _carried(a) == _carried(b) else _why(a.missing or b.missing)
        data = a.stub_data, b.stub_data
        if data[0] == data[1] and self._have_like_handles(calls, name):
            return None
        if name == "request" and self._differs_in_handle(calls, data):
            return None
        if name == "response" and self._differs_in_values(a, b, data):
            return None
        self._left -= len(data[0]) + len(data[1])
        return "too much" if self._left < 0 else self._apart(name, calls, (a, b), data)

    def _apart(
        self, name: SideName, calls: tuple[Call, Call], sides: tuple[Side, Side], data: tuple[bytes, bytes]
    ) -> WhyNotCompared | None:
        """Compares the stubs of two calls, and the buffers in them, field by field."""
        stubs = stub_fields(calls[0], name), stub_fields(calls[1], name)
        if stubs[0] is None or stubs[1] is None:
            return None if data[0] == data[1] else "layout unknown"
        buffers = buffer_fields(sides[0]), buffer_fields(sides[1])
        spans = sides[0].buffer_span, sides[1].buffer_span
        if buffers[0] is None or buffers[1] is None or spans[0] is None or spans[1] is None:
            self._fields.compare(name, stubs[0].root, stubs[1].root, "", (0, 0))
        else:
            roots = _without(stubs[0].root, spans[0]), _without(stubs[1].root, spans[1])
            self._fields.compare(name, *roots, "", (0, 0))
            self._fields.compare(name, buffers[0].root, buffers[1].root, BUFFER, (spans[0][0], spans[1][0]))
            self._damages(name, buffers[0].problem, buffers[1].problem)
        self._damages(name, sides[0].problem, sides[1].problem)
        return None

    def _damages(self, name: SideName, a: object, b: object) -> None:
        """Notes a difference between the damage of two calls' stubs or buffers."""
        words = [str(problem) if problem is not None else None for problem in (a, b)]
        if words[0] != words[1]:
            self._fields.found.append(_difference(name, "damage", words[0], words[1], ""))

    def _outcomes(self, a: Call, b: Call) -> None:
        """Notes a difference between the outcomes of two calls: different faults, or a fault and an answer."""
        if a.fault != b.fault:
            words = [
                fault_words(call.fault)
                if call.fault is not None
                else status_name(call.status)
                if call.status is not None
                else "an answer"
                for call in (a, b)
            ]
            reference = "DCE 1.1 RPC (C706) section 12.6.4.7; MS-RPCE section 2.2.2.10"
            self._fields.found.append(_difference("response", "fault", words[0], words[1], reference))

    def _have_like_handles(self, calls: tuple[Call, Call], name: SideName) -> bool:
        """Tells whether the handles in two calls' equal stubs stand for each other."""
        sides = [call.request if name == "request" else call.response for call in calls]
        for param in USED if name == "request" else GIVEN:
            a, b = handle_of(sides[0], param), handle_of(sides[1], param)
            if a is not None and b is not None and not self._fields.handles.stand(a, b):
                return False
        return True

    def _differs_in_handle(self, calls: tuple[Call, Call], data: tuple[bytes, bytes]) -> bool:
        """Tells whether the requests of two calls differ only in handles that stand for each other."""
        handles = [
            next((found for param in USED if (found := handle_of(call.request, param)) is not None), None)
            for call in calls
        ]
        if handles[0] is None or handles[1] is None or data[0][HANDLE_LENGTH:] != data[1][HANDLE_LENGTH:]:
            return False
        if not self._fields.handles.stand(handles[0], handles[1]):
            return False
        self._fields.volatile["handles"] += handles[0] != handles[1]
        return True

    def _differs_in_values(self, a: Side, b: Side, data: tuple[bytes, bytes]) -> bool:
        """Tells whether the answers of two calls differ only in clocks and values, and counts these."""
        if a.buffer_span is None or b.buffer_span is None or self._fields.counts_values:
            return False
        (start, stop), (start_b, stop_b) = a.buffer_span, b.buffer_span
        if data[0][:start] != data[1][:start_b] or data[0][stop:] != data[1][stop_b:]:
            return False
        kinds, buffers = (a.buffer_kind, b.buffer_kind), (data[0][start:stop], data[1][start_b:stop_b])
        counted = (
            self._perf_data_values(*buffers)
            if kinds == ("perf-data", "perf-data")
            else self._winperf_values(*buffers)
            if kinds == ("winperf", "winperf")
            else None
        )
        if counted is None:
            return False
        self._fields.values += counted[0]
        self._fields.values_different += counted[1]
        self._fields.volatile["clocks"] += 1
        return True

    def _perf_data_values(self, a: bytes, b: bytes) -> tuple[int, int] | None:
        """Counts the values of two PerflibV2 answers, and those that differ; None if more than values may differ."""
        one, other = PERF_DATA.read(a), PERF_DATA.read(b)
        if one is None or other is None or one.layout is not other.layout or one.perf_freq != other.perf_freq:
            return None
        return len(one.values), int(np.count_nonzero(one.values != other.values))

    def _winperf_values(self, a: bytes, b: bytes) -> tuple[int, int] | None:
        """Counts the values of two winperf answers, and those that differ; None if more than values may differ."""
        one, other = WINPERF.read(a), WINPERF.read(b)
        if one is None or other is None or one.layout is not other.layout or any(one.layout.mixed):
            return None
        clocks = [(each.perf_freq, *(freq for _, freq in each.object_clocks)) for each in (one, other)]
        return (len(one.values), int(np.count_nonzero(one.values != other.values))) if clocks[0] == clocks[1] else None


def _why(missing: Missing | None) -> WhyNotCompared:
    if missing is Missing.SEALED:
        return "sealed"
    return "not captured" if missing is Missing.NOT_CAPTURED else "undecodable"


def _carried(side: Side) -> tuple[bytes, ...]:
    """Returns the PDU bytes of a compared call as they were captured."""
    return tuple(fragment.pdu.data for fragment in side.pdus)


def _without(root: Field, span: tuple[int, int]) -> Field:
    """Returns the stub fields of a compared call without the content of `lpData`, which is compared by its own layout."""
    kept = [
        _without(child, span) for child in root.children if not (child.spelling == _ELEMENTS and child.start == span[0])
    ]
    return replace(root, children=tuple(kept)) if root.children else root


def _difference(side: SideName, path: str, a: str | None, b: str | None, reference: str) -> FieldDifference:
    """Makes a difference between two calls that is no field's: damage or fault."""
    return FieldDifference(
        side=side,
        path=f"{side}.{path}",
        kind="changed",
        a=a,
        b=b,
        a_bytes=None,
        b_bytes=None,
        a_start=None,
        b_start=None,
        reference=reference,
        follows=False,
    )


# ---------------------------------------------------------------------------------------------- conversation comparison


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
        pairs = self._aligned(a.calls, b.calls)
        unequal: dict[tuple[object, ...], Unequal] = {}
        for x, y in pairs:
            self._pair(a, a.calls[x], b.calls[y], unequal)
        found: list[tuple[int, DifferenceRecord | Unequal]] = []
        place = {a.calls[x].number: x for x, _ in pairs}
        found += ((place[one.a[0]], one) for one in unequal.values())
        for of_a, of_b in gaps(pairs, len(a.calls), len(b.calls)):
            if of_a:
                found.append((of_a.start, self._lone_calls(a, [a.calls[at].number for at in of_a], "only-a")))
            if of_b:
                found.append((of_a.start, self._lone_calls(a, [b.calls[at].number for at in of_b], "only-b")))
        self._found += (one for _, one in sorted(found, key=itemgetter(0)))

    def _aligned(self, a: Sequence[AlignedCall], b: Sequence[AlignedCall]) -> Pairs:
        """Aligns the calls of two conversations. Of several ways to align calls alike, it takes the same whichever capture is A."""

        def rank(calls: Sequence[AlignedCall], analysis: Analysis) -> tuple[int, int, int]:
            return analysis.capture.first_time_ns or 0, len(calls), calls[0].number if calls else 0

        keys_a, keys_b = ([one.keys for one in calls] for calls in (a, b))
        if rank(b, self._b) < rank(a, self._a):
            return [(x, y) for y, x in aligned_by_levels(keys_b, keys_a)]
        return aligned_by_levels(keys_a, keys_b)

    def records(self) -> Iterator[DifferenceRecord]:
        """Yields what comparing the conversations found about their calls, as records, conversation by conversation."""
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
        """Yields the records of what this comparison of conversations could not compare: calls, by reason and method."""
        for (why, method), (a, b) in self._uncompared.items():
            text = f"{counted(len(a), 'call')} of {method}: {_WHY[why]}"
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
        more = f" and {counted(len(own) - 1, 'more field')}" if len(own) > 1 else ""
        alike = f"; {counted(count - 1, 'more pair differs', 'more pairs differ')} alike" if count > 1 else ""
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

    def _lone_calls(self, conversation: Conversation, numbers: Sequence[int], kind: DifferenceKind) -> DifferenceRecord:
        """Makes the record of a stretch of calls in compared conversations that only one capture has."""
        analysis = self._a if kind == "only-a" else self._b
        methods = Counter(_method(analysis.calls[number - 1]) for number in numbers)
        name = ", ".join(f"{count} × {method}" if count > 1 else method for method, count in methods.items())
        side = kind[-1].upper()
        return DifferenceRecord(
            about="call",
            kind=kind,
            machine=conversation.server,
            name=name,
            text=f"{counted(len(numbers), 'call')} of {side} alone: {name}",
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
            text=f"{counted(len(numbers), 'call')} in {side} alone",
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
    """States where one of two compared sides has a difference, as for the calls of compared conversations: the first numbers of its
    calls, and the frames of the first call."""
    found = list(numbers)
    frames, files = frames_of_calls(analysis, found[:1])
    known, altered = tuple(map(analysis.known_as, found[:_MOST_CALLS])), analysis.calls.altered
    return Occurrence(
        calls=known,
        count=len(found),
        frames=frames,
        frame_files=files,
        altered=len(altered.intersection(found)) or UNSET,
    )


def property_words(one: PropertyDifference) -> str:
    return f"{one.name}: {one.a} in A, {one.b} in B"


def field_words(one: FieldDifference) -> str:
    """Describes in one line, in a comparison of conversations, how a field of two calls differs."""
    if one.kind == "only-a":
        return f"{one.path} {one.a} in A alone"
    if one.kind == "only-b":
        return f"{one.path} {one.b} in B alone"
    return f"{one.path} {one.a} in A, {one.b} in B"


def _in_order_of(a: Sequence[AlignedCall], b: Sequence[AlignedCall]) -> list[AlignedCall]:
    """Returns, for comparing two conversations, the calls of B in the order in which A asks the same; calls that A does not ask
    come last."""
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
    """Audits the calls of compared conversations under the profile `spec`, and returns their findings by call number."""
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
        if (one.rule.code, requirement) not in known and any(_is_finding_about(one, each) for each in fields):
            yield Breach(side, one.rule.code, requirement, catalogue()[requirement].statement, one.judgement.seen)


def _is_finding_about(finding: Finding, field: FieldDifference) -> bool:
    """Tells whether an audit's finding about one of two compared calls is about a field that differs between them: its place ends
    with a name on the path to the field."""
    at = finding.judgement.at
    if at is None or at.side != field.side:
        return False
    return _ELEMENT.sub("", at.path).rpartition(".")[2] in _ELEMENT.sub("", field.path).split(".")
