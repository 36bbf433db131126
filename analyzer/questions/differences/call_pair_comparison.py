"""Compares two calls: returns the fields in which they differ, or why they cannot be compared.

Stubs of the same bytes are equal. Answers of one layout (all bytes but clocks and values) are compared by columns. All others are
taken apart into fields, up to `_MOST_BYTES` of stubs.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.interfaces.buffers import Field
from analyzer.interfaces.buffers.perf_data_layout import PERF_DATA
from analyzer.interfaces.buffers.winperf_layout import WINPERF
from analyzer.interfaces.call_contents.call_field_maps import buffer_fields, status_name, stub_fields
from analyzer.questions.differences.conversation_keys import GIVEN, HANDLE_LENGTH, USED
from analyzer.questions.differences.field_comparison import BUFFER, FieldComparison, marked
from analyzer.questions.differences.machine_matching import Peers
from analyzer.results.calls.call import Call, Side, SideName, handle_of
from analyzer.results.records.difference import FieldDifference, WhyNotCompared
from analyzer.transport.rpc.fault_names import fault_name

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
                f"fault {fault_name(call.fault) or hex(call.fault)}"
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
        texts = sum(text != other.texts.get(at) for at, text in one.texts.items())
        return len(one.values), int(np.count_nonzero(one.values != other.values)) + texts

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
