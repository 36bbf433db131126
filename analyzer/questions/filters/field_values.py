"""The values of filter fields: in records, in calls, and in columns of all calls of an analysis.

A call is decoded only as far as the fields ask for. A field is a column if the table of calls has what it is made of (`CallTable`).
Any other field has values for some calls only. The table states which calls cannot have a value; the other calls are read
(`LookedAt`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec import UNSET, Struct

from analyzer.core.absence import Missing
from analyzer.core.array_functions import distinct
from analyzer.interfaces.call_contents.call_records import CallRecords, known_stub
from analyzer.interfaces.call_contents.client_programs import client_programs
from analyzer.interfaces.call_contents.damaged_buffers import decoded_buffer
from analyzer.questions.filters.bound_expression import Expression, Resolve
from analyzer.questions.filters.filterable_fields import BOTH_SIDES, FilterField
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call, CallKeys, CallRecord, Side, SideName
from analyzer.results.calls.call_row_columns import latencies_in, return_kinds_in
from analyzer.results.methods import scmr, winreg
from analyzer.results.methods.return_kinds import ReturnKind
from analyzer.results.records.record_types import Kind, Record
from analyzer.results.records.sample import CounterRecord, SampleRecord
from analyzer.transport.rpc.rpc_names import fault_name

if TYPE_CHECKING:
    from analyzer.questions.filters.bound_expression import Mask, Numbers


# --------------------------------------------------------------------------------------------- values in records and calls


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
    for value in _values_at_path([record], path.split(".")):
        if field.kind is Kind.GROUP:
            if value:
                yield True
        elif path == "smb.session_id":
            yield int(value, 16)
        elif not isinstance(value, dict | Struct):
            yield value


def _values_at_path(values: list[Any], steps: list[str]) -> list[Any]:
    """Returns the values of a filter field in a record, at the end of its path; lists are opened, nulls left out."""
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


# ----------------------------------------------------------------------------------------------------------------- columns


_Values = tuple[Any, ...]
# Fields that calls of one context share (`Context`).
_OF_CONTEXT = frozenset(
    ("client", "server", "transport", "pipe", "session", "auth", "interface", "syntax", "channel"),
)


class _Column(NamedTuple):
    """A column of a filter's field: a number for each call, the meaning of a number, and which calls have one."""

    numbers: Numbers
    values: Callable[[int], _Values]
    is_there: Mask | None = None


class CallColumns:
    """The filterable fields of an analysis's calls, as columns. A column is read on demand, and kept."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis, self._calls = analysis, analysis.calls
        self._read: dict[str, Any] = {}
        self._made: dict[str, _Column | None] = {}

    def holds(self, fields: Sequence[FilterField]) -> bool:
        """Whether the calls have columns for all of these filter fields."""
        return all(self._column(field, path) is not None for field in fields for path in field.paths)

    def values(self, fields: Sequence[FilterField], numbers: Numbers) -> tuple[Numbers, list[Resolve]]:
        """Returns the combinations of values that these filter fields have, each once, and which combination each call has."""
        codes = np.zeros(len(numbers), np.int64)
        found: list[dict[FilterField, _Values]] = [{}]
        for field in fields:
            for path in field.paths:
                codes, found = self._joined(codes, found, field, path, numbers)
        return codes, [partial(dict.__getitem__, one) for one in found]

    def _joined(
        self, codes: Numbers, before: list[dict[FilterField, _Values]], field: FilterField, path: str, numbers: Numbers
    ) -> tuple[Numbers, list[dict[FilterField, _Values]]]:
        """Adds the values at one more path to the combinations of values of filter fields."""
        column = self._column(field, path)
        assert column is not None
        chosen = numbers - 1
        own = column.numbers[chosen]
        is_there = column.is_there[chosen] if column.is_there is not None else np.ones(len(own), np.bool_)
        different = distinct(own[is_there])
        values: list[_Values] = [(), *map(column.values, different.tolist())]
        places = np.where(is_there, np.searchsorted(different, own) + 1, 0)
        both = codes * len(values) + places
        pairs = distinct(both)
        found = []
        for one, other in zip(*np.divmod(pairs, len(values)), strict=True):
            known = before[one]
            found.append({**known, field: known.get(field, ()) + values[other]})
        return np.searchsorted(pairs, both), found

    def looked_at(self, expression: Expression, numbers: Numbers) -> Mask:
        """Returns which of these calls pass a filter's expression, by reading the field values of those that can have any."""
        may = np.zeros(len(numbers), np.bool_)
        for field in expression.fields:
            for path in field.paths:
                may |= self._may_have(path)[numbers - 1]
        # Calls that can have a value of none of the fields are alike.
        passed = np.full(len(numbers), expression.passes(lambda _: ()))
        records = CallRecords(self._analysis)
        for at in np.flatnonzero(may).tolist():
            passed[at] = expression.passes(LookedAt(self._calls[numbers[at] - 1], records))
        return passed

    def numbers_of(self, name: str) -> Any:
        """Returns the column of the table of calls that has the values of a filter's field, in the order of the calls."""
        if name not in self._read:
            self._read[name] = self._calls.column(name)
        return self._read[name]

    def _column(self, field: FilterField, path: str) -> _Column | None:
        if path not in self._made:
            self._made[path] = self._made_of(field, path)
        return self._made[path]

    def _made_of(self, field: FilterField, path: str) -> _Column | None:
        """Returns the column with the values of the field at a path, None if the table of calls has none."""
        first, _, rest = path.partition(".")
        facts, numbers_of = self._analysis.capture, self.numbers_of
        if first in BOTH_SIDES:
            return self._of_side(first, rest)
        if first in _OF_CONTEXT:
            meaning = self._calls.table.meaning("context")
            return _Column(numbers_of("context"), lambda number: tuple(values_at(field, meaning(number), path)))
        match first:
            case "number":
                return _Column(np.arange(1, len(self._calls) + 1), _one)
            case "time_ns":
                return _Column(numbers_of("first_time"), _one)
            case "time_relative_ns":
                begun = facts.first_time_ns
                return _Column(numbers_of("first_time"), lambda time: (time - begun,) if begun is not None else ())
            case "time_delta_ns":
                times = numbers_of("first_time").astype(np.int64)
                return _Column(np.diff(times, prepend=0), _one, np.arange(len(times)) > 0)
            case "latency_ns":
                is_known, latency = latencies_in(numbers_of)
                return _Column(latency, _one, is_known)
            case "call_id" | "context_id" | "opnum" | "status" | "fault" | "state" | "method":
                return self._of_table(first)
            case "status_name":
                return self._status_names()
            case "fault_name":
                return self._of_table("fault", fault_name)
            case "smb":
                meant = self._calls.table.meaning("smb")
                return _Column(numbers_of("smb"), lambda number: tuple(values_at(field, {first: meant(number)}, path)))
            case "program":
                contexts, programs = self._calls.table.contexts, client_programs(self._analysis)
                likeness = [programs.between(one.client, one.server) for one in contexts]
                return _Column(numbers_of("context"), lambda number: _some(likeness[number], lambda found: found.name))
            case "handle":
                return self._handles()
            case "handle_uuid":
                return self._uuids_of_handles()
        return None

    def _of_table(self, name: str, word: Callable[[Any], Any] = lambda value: value) -> _Column:
        """Returns a filter's column made of one column of the table of calls; `word` names its values."""
        meaning = self._calls.table.meaning(name)
        return _Column(self.numbers_of(name), lambda number: _some(meaning(number), word))

    def _status_names(self) -> _Column:
        """Returns the column with the values of the field `status_name`. The name of a number depends on the method."""
        kinds, statuses = return_kinds_in(self.numbers_of, self._calls.table.contexts), self.numbers_of("status")
        codes = statuses.astype(np.int64) * len(ReturnKind) + kinds

        def name(code: int) -> _Values:
            status, kind = divmod(code, len(ReturnKind))
            return _some(ReturnKind(kind).name_of(status))

        return _Column(codes, name, statuses >= 0)

    def _handles(self) -> _Column:
        """Returns a filter's column with the names of the handles of calls: `q2` for queries, `k1` for keys, `s1` for services."""
        views, states, keys = self._views, self._calls.states, self.numbers_of("key_number")
        is_svcctl = self._is_of(scmr.INTERFACE)

        def name(number: int) -> _Values:
            if number >= 0:
                return (f"q{states[number].number}",)
            key, is_of_service = divmod(-number - 1, 2)
            return (f"{'s' if is_of_service else 'k'}{key}",)

        return _Column(np.where(views >= 0, views, -1 - 2 * keys - is_svcctl), name, (views >= 0) | (keys >= 0))

    def _uuids_of_handles(self) -> _Column:
        """Returns a filter's column of handle UUIDs: those of queries by their states, those of keys and services by calls."""
        found, uuids = self._views, [state.handle for state in self._calls.states]
        for at in np.flatnonzero((found < 0) & (self.numbers_of("key_number") >= 0)).tolist():
            if (uuid := self._calls[at].handle_uuid) is not None:
                found[at] = len(uuids)
                uuids.append(uuid)
        return _Column(found, lambda number: (uuids[number],), found >= 0)

    def _of_side(self, side: str, path: str) -> _Column | None:
        """Returns a filter's column about one side of calls, None if the table of calls has none."""
        table, is_there = self._calls.table, self._has(side)
        match path:
            case "":
                return _Column(is_there.astype(np.int64), lambda _: (True,), is_there)
            case "wire_length":
                return _Column(self.numbers_of(f"{side}_wire_length"), _one, is_there)
            case "stub_length":
                is_read = (self.numbers_of(f"{side}_side") == 0) & (self.numbers_of("opnum") >= 0)
                return _Column(self.numbers_of(f"{side}_stub_length"), _one, is_read)
            case "why_missing":
                # The stub of an unknown method has no known meaning.
                missing, meaning = self.numbers_of(f"{side}_side").astype(np.int64), table.meaning(f"{side}_side")
                missing[self.numbers_of("opnum") < 0] = -1
                return _Column(missing, lambda one: _why(Missing.UNDECODABLE if one < 0 else meaning(one)), is_there)
            case "params":
                return _Column(is_there.astype(np.int64), lambda _: (True,), self.numbers_of(f"{side}_params") > 0)
            case "buffer_kind":
                return self._of_table(f"{side}_buffer_kind")
            case "verification_trailer":
                meaning = table.meaning(f"{side}_flags")
                return _Column(self.numbers_of(f"{side}_flags"), lambda one: _some(meaning(one)), is_there)
        return None

    def _may_have(self, path: str) -> Mask:
        """Returns which calls may have values of the field at a path."""
        first, _, rest = path.partition(".")
        if first in BOTH_SIDES:
            part = rest.partition(".")[0]
            if part == "params":
                return np.asarray(self.numbers_of(f"{first}_params") > 0)
            if part in ("buffer", "buffer_notes", "buffer_problem"):
                return np.asarray(self.numbers_of(f"{first}_buffer_kind") >= 0)
            return self._has(first)
        match first:
            case "reason" | "read":
                return np.asarray(self.numbers_of("rare") > 0)
            case "registry":
                return self._is_of(winreg.INTERFACE)
            case "service":
                return self._is_of(scmr.INTERFACE)
            case "counterset":
                return np.asarray(self.numbers_of("request_params") > 0)
        return np.ones(len(self._calls), np.bool_)

    def _has(self, side: str) -> Mask:
        return np.asarray(self.numbers_of(f"{side}_side") >= 0)

    @property
    def _views(self) -> Numbers:
        return np.array(self._calls.views, np.int64)

    def _is_of(self, interface: str) -> Mask:
        """Returns which calls are of an interface, since some fields have values for its calls alone."""
        known = np.array([context.interface.uuid == interface for context in self._calls.table.contexts], np.bool_)
        found: Mask = known[self.numbers_of("context")]
        return found


def _why(missing: Missing | None) -> _Values:
    return (missing.value,) if missing is not None else ()


def _one(number: int) -> _Values:
    return (number,)


def _some(value: Any, word: Callable[[Any], Any] = lambda value: value) -> _Values:
    found = word(value) if value is not None else None
    return () if found is None else (found,)
