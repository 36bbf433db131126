"""Where the values of a field come from: a record, or a call that has not been made a record.

Most filters look at a few numbers, and a record costs hashes of stubs and the trees of buffers. So a field's values are taken
from the call where that is cheap; `of_record` gives the same from the finished record, and is what the tests hold it against.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct

from analyzer.core.absence import Missing
from analyzer.core.frames import number_of
from analyzer.interfaces.contents.lines import (
    call_record,
    decoded_buffer,
    delta_before,
    known_stub,
    numbered,
    side_record,
)
from analyzer.questions.filters.bind import Resolve
from analyzer.questions.filters.fields import Field
from analyzer.results.analysis import Analysis
from analyzer.results.call import Call, CallRecord, Side, SideName
from analyzer.results.record import Kind, Record
from analyzer.results.sample import CounterRecord, SampleRecord


def of_record(record: Record | Mapping[str, Any]) -> Resolve:
    """Gives the values of fields out of a call's or a sample's record."""
    return lambda field: [value for path in field.paths for value in _at(field, record, path)]


def of_sample(record: SampleRecord | CounterRecord, of_its_call: Resolve) -> Resolve:
    """Gives the values of fields of a sample: its own from its record, the others from its call."""
    own = of_record(record)
    return lambda field: own(field) if field.of_value else of_its_call(field)


def _at(field: Field, record: Struct | Mapping[str, Any], path: str) -> Iterator[Any]:
    side, _, rest = path.partition(".buffer.")
    if rest:
        yield from _found_in(_part(_part(record, side), "buffer"), rest.split("."))
        return
    for value in _walked([record], path.split(".")):
        if field.kind is Kind.GROUP:
            if value:
                yield True
        elif path == "smb.session_id":
            yield int(value, 16)
        elif not isinstance(value, dict | Struct):
            yield value


def _walked(values: list[Any], steps: list[str]) -> list[Any]:
    """What is at the end of a path, lists opened, without nulls."""
    for step in steps:
        values = [_part(value, step) for value in values]
        values = [one for value in values for one in (value if isinstance(value, list | tuple) else [value])]
    return [value for value in values if value is not None]


def _part(value: Any, name: str) -> Any:
    """A field of a record or of a tree; None where there is none, or it is left out."""
    if isinstance(value, Struct):
        found = getattr(value, name) if name in value.__struct_fields__ else None
        return found if found is not UNSET else None
    return value.get(name) if isinstance(value, dict) else None


def _found_in(tree: Any, steps: Sequence[str]) -> list[Any]:
    """The values at any depth whose way there has these steps in this order, the last one being their own name."""
    found: list[Any] = []

    def visit(value: Any, at: int, named: bool) -> None:
        if isinstance(value, dict):
            for key, part in value.items():
                last = at == len(steps) - 1
                visit(part, at if last or key != steps[at] else at + 1, last and key == steps[-1])
        elif isinstance(value, list):
            for part in value:
                visit(part, at, named)
        elif named and value is not None:
            found.append(value)

    visit(tree, 0, False)
    return found


# The fields filters are about most often, without the record.
_DIRECT: dict[str, Callable[[int, Call], Any]] = {
    "number": lambda number, call: number,
    "time_ns": lambda number, call: call.time_ns,
    "client.ip": lambda number, call: call.client.ip,
    "client.port": lambda number, call: call.client.port,
    "server.ip": lambda number, call: call.server.ip,
    "server.port": lambda number, call: call.server.port,
    "opnum": lambda number, call: call.opnum,
    "method": lambda number, call: call.method,
    "state": lambda number, call: call.state,
    "status": lambda number, call: call.status,
    "fault": lambda number, call: call.fault,
    "latency_ns": lambda number, call: call.latency_ns,
    "auth.user": lambda number, call: call.auth.user,
    "auth.claimed_user": lambda number, call: call.auth.claimed_user,
    "smb.session_id": lambda number, call: int(smb.session_id, 16) if (smb := call.smb) is not None else None,
    "handle": lambda number, call: call.handle,
    "handle_uuid": lambda number, call: call.handle_uuid,
}


class CallValues:
    """The values of the fields of one call, each looked up when a filter asks for it."""

    def __init__(self, number: int, call: Call, analysis: Analysis) -> None:
        self._number, self._call, self._analysis = number, call, analysis
        self._head: CallRecord | None = None
        self._trees: dict[str, Any] = {}

    def __call__(self, field: Field) -> Sequence[Any]:
        if len(field.paths) == 1:
            return self._at(field, field.paths[0])
        return [value for path in field.paths for value in self._at(field, path)]

    def _at(self, field: Field, path: str) -> Sequence[Any]:
        if (direct := _DIRECT.get(path)) is not None:
            return _some(direct(self._number, self._call))
        first, _, rest = path.partition(".")
        if first in ("request", "response"):
            name: SideName = "request" if first == "request" else "response"
            side = self._call.request if name == "request" else self._call.response
            return self._values_of_side(field, name, side, rest) if side is not None else ()
        if path == "time_delta_ns":
            return _some(delta_before(self._number, self._call, self._analysis))
        if self._head is None:
            self._head = call_record(self._call, self._analysis, sides=False)
        return list(_at(field, self._head, path))

    def _values_of_side(self, field: Field, which: SideName, side: Side, path: str) -> Sequence[Any]:
        first, _, rest = path.partition(".")
        opnum = self._call.opnum
        match first:
            case "":
                return (True,)
            case "frames":
                return [number_of(frame) for frame in side.frames]
            case "frame_files":
                return numbered(side.frames, self._analysis.capture)[1] or ()
            case "params":
                return list(_at(field, {"params": side.params}, path))
            case "wire_length":
                return (side.wire_length,)
            case "stub_length" | "why_missing":
                stub = known_stub(side, opnum)
                if isinstance(stub, Missing):
                    return (stub.value,) if first == "why_missing" else ()
                return (len(stub),) if first == "stub_length" else ()
            case "buffer_kind":
                return _some(side.buffer_kind)
            case "verification_trailer":
                return _some(side.verification_trailer)
            case "buffer":
                if which not in self._trees:
                    decoded = decoded_buffer(side)
                    self._trees[which] = decoded.tree if decoded is not None else None
                tree = self._trees[which]
                return _found_in(tree, rest.split(".")) if rest else (True,) if tree else ()
            case _:
                return list(_at(field, side_record(self._call, which, self._analysis.capture) or {}, path))


def _some(value: Any) -> Sequence[Any]:
    return () if value is None else (value,)
