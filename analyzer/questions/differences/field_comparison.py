"""Compares two trees of fields and notes the fields that differ. What differs by its nature is counted and left out.

A context handle of one side stands for the handle at the same place of the other. Clocks, values of counters, referent ids, padding
and the name by which the client calls the server say nothing of who answered. Elements of lists are paired by what names them (id,
name, GUID), whatever their place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from analyzer.interfaces.buffers.field_map import Field
from analyzer.questions.differences.alignment import aligned, gaps
from analyzer.results.calls.call import SideName
from analyzer.results.records.difference import DifferenceKind, FieldDifference

_ELEMENT = re.compile(r"(.+)\[\d+\]")
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
            for one, other in _paired(lists_a.get(name, []), lists_b.get(name, []), self.guids):
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
    match = _ELEMENT.fullmatch(name)
    return match[1] if match is not None else name


def _spelled(one: Field, *, is_of_buffer: bool) -> str:
    """Returns the name of a compared field in paths: in a buffer that of ksy/, elsewhere that of the IDL, if it has one."""
    return one.spelling if not is_of_buffer and one.spelling.isidentifier() else one.name


def _has_elements(one: Field) -> bool:
    return any(_ELEMENT.fullmatch(child.name) for child in one.children)


def _by_list(one: Field) -> dict[str, list[Field]]:
    found: dict[str, list[Field]] = {}
    for child in one.children:
        found.setdefault(_plain_name(child.name), []).append(child)
    return found


def _paired(
    a: Sequence[Field], b: Sequence[Field], guids: Mapping[str, str]
) -> Iterator[tuple[Field | None, Field | None]]:
    """Pairs compared elements of two lists by their names. Unnamed stretches of the same length are paired in order, others stay
    alone."""
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
        level = [child for each in level for child in each.children if not _ELEMENT.fullmatch(child.name)]
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
