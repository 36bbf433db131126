"""The values of filter fields in records, and in calls. A call is decoded only as far as the fields ask for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct

from analyzer.core.absence import Missing
from analyzer.interfaces.call_contents.call_records import CallRecords, known_stub
from analyzer.interfaces.call_contents.damaged_buffers import decoded_buffer
from analyzer.questions.filters.bound_expression import Resolve
from analyzer.questions.filters.filterable_fields import FilterField
from analyzer.results.calls.call import Call, CallKeys, CallRecord, Side, SideName
from analyzer.results.records.record_types import Kind, Record
from analyzer.results.records.sample import CounterRecord, SampleRecord


def of_record(record: Record | Mapping[str, Any]) -> Resolve:
    """Returns a function that gives the values of filter fields in a call's or a sample's record."""
    return lambda field: [value for path in field.paths for value in values_at(field, record, path)]


def of_sample(record: SampleRecord | CounterRecord, of_its_call: Resolve) -> Resolve:
    """Returns a function that gives the values of filter fields of a sample: its own from its record, the others from its call."""
    own = of_record(record)
    return lambda field: own(field) if field.of_value else of_its_call(field)


def values_at(field: FilterField, record: Struct | Mapping[str, Any], path: str) -> Iterator[Any]:
    """Yields the values of a filter's field at one path of a record."""
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
    """Returns the values at the end of a filter's path; lists are opened, nulls left out."""
    for step in steps:
        values = [_part(value, step) for value in values]
        values = [one for value in values for one in (value if isinstance(value, list | tuple) else [value])]
    return [value for value in values if value is not None]


def _part(value: Any, name: str) -> Any:
    """Returns the field of a record or tree that a filter names; None if it is absent."""
    if isinstance(value, Struct):
        found = getattr(value, name) if name in value.__struct_fields__ else None
        return found if found is not UNSET else None
    return value.get(name) if isinstance(value, dict) else None


def _found_in(tree: Any, steps: Sequence[str]) -> list[Any]:
    """Returns the values in a tree that a filter's path finds at any depth. The keys above a value must contain these steps in
    order; the last step is its own key."""
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


# Fields that a call has in the form of its record.
_HELD = {*CallKeys.__struct_fields__, "latency_ns", "handle", "handle_uuid"}


class LookedAt:
    """The values of filter fields of one call. Each is read when a filter asks for it."""

    def __init__(self, call: Call, records: CallRecords) -> None:
        self._call, self._records = call, records
        self._head: CallRecord | None = None
        self._trees: dict[str, Any] = {}

    def __call__(self, field: FilterField) -> Sequence[Any]:
        return [value for path in field.paths for value in self._at(field, path)]

    def _at(self, field: FilterField, path: str) -> Iterator[Any]:
        first, _, rest = path.partition(".")
        if first in ("request", "response"):
            name: SideName = "request" if first == "request" else "response"
            side = self._call.request if name == "request" else self._call.response
            return self._of_side(field, name, side, rest) if side is not None else iter(())
        if first in _HELD:
            return values_at(field, {first: getattr(self._call, first)}, path)
        if path == "time_delta_ns":
            calls, number = self._records.analysis.calls, self._call.number
            before = calls.table.number("first_time", calls.order[number - 2]) if number > 1 else None
            return iter((self._call.time_ns - before,) if before is not None else ())
        if self._head is None:
            self._head = self._records.head(self._call)
        return values_at(field, self._head, path)

    def _of_side(self, field: FilterField, name: SideName, side: Side, path: str) -> Iterator[Any]:
        first, _, rest = path.partition(".")
        match first:
            case "":
                return iter((True,))
            case "frames" | "frame_files":
                frames, files = self._records.analysis.capture.numbered(side.frames)
                return iter(frames if first == "frames" else files or ())
            case "params" | "wire_length" | "buffer_kind" | "verification_trailer":
                return values_at(field, {first: getattr(side, first)}, path)
            case "stub_length" | "why_missing":
                stub = known_stub(side, self._call.opnum)
                if isinstance(stub, Missing):
                    return iter((stub.value,) if first == "why_missing" else ())
                return iter((len(stub),) if first == "stub_length" else ())
            case "buffer":
                if name not in self._trees:
                    decoded = decoded_buffer(side)
                    self._trees[name] = decoded.tree if decoded is not None else None
                tree = self._trees[name]
                return iter(_found_in(tree, rest.split(".")) if rest else (True,) if tree else ())
            case _:
                return values_at(field, getattr(self._records.record(self._call), name), path)
