"""The calls of a case file, which anybody may have written: contradictions raise `CaseError` when a call is looked at.

Columns are checked a block of rows at a time; the bytes of a row in the log, when it is looked at. Each check is done once. A sound
row is read like a row of any table. A row that is not sound, or is unusual, is checked again whenever its call is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np

from analyzer.core.arrow_files import WIDTHS, ArrowColumn, ArrowTable, ArrowValues, SavedColumns, written
from analyzer.core.byte_log import Readable
from analyzer.core.byte_origins import PackedOrigins, only_frame, packed_length
from analyzer.core.caches import cached_property
from analyzer.core.errors import CONTRADICTIONS, CaseError
from analyzer.core.frame_ids import file_of
from analyzer.results.calls.call import Call, SideName
from analyzer.results.calls.call_row_columns import (
    FORMATS,
    KINDS,
    MISSING,
    NOTHING_RARE,
    NOTHING_RARE_OF_SIDE,
    OF_CALL,
    OWN_OF_CALL,
    OWN_OF_SIDE,
    PARAMS_AT,
    PARAMS_DECODER,
    SIDE_COLUMNS,
    STATE_NUMBERS,
    STATES,
    STORED,
    Context,
    PdusRow,
    RareOfCall,
    RareOfSide,
    StoredColumn,
    rare_of,
)
from analyzer.results.calls.call_table import CallTable, Tally, together
from analyzer.results.calls.held_calls import HeldCall
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.calls.pdus import Pdus
from analyzer.results.calls.query_state import QueryView
from analyzer.results.methods.perflib import INTERFACE, PARAMS
from analyzer.results.records.saved_record_tables import SavedTable, TableFacts, narrowest

if TYPE_CHECKING:
    import numpy.typing as npt

# The column, beside those of the table, with the state of the query handle that a call saw.
VIEW = "view"
# Rows to check at once.
_BLOCK = 256
# The most different parameters, and their longest form in bytes, that are known to be sound.
_PARAMS_KEPT, _PARAMS_LENGTH = 1 << 12, 1 << 10
_SIDES: tuple[SideName, SideName] = ("request", "response")
# What is known of a row: nothing; its columns fit; all of it fits; it is damaged or unusual.
_UNKNOWN, _ORDERLY, _SOUND, _ODD = range(4)
# The columns that determine which parameters a call has.
_OF_CALL = itemgetter(*map(list(OF_CALL).index, ("context", "opnum", "state", "fault", "place", "rare")))
_COMPLETE = STATE_NUMBERS["complete"]
_NO_ORIGIN = "bytes without an origin"
# Columns that state how many bytes of the log a call has.
_LENGTHS = ("rare", "params", "origins", "whole", "unsealed", "ends")


# --------------------------------------------------------------------------------------------------------- calls of a case


class SavedViews(Sequence[int]):
    """The states of query handles in a case: for each call the number of its state, -1 for none."""

    def __init__(self, calls: CallTable, states: int) -> None:
        self._calls, self._states = calls, states

    def __len__(self) -> int:
        return len(self._calls)

    @overload
    def __getitem__(self, where: int) -> int: ...

    @overload
    def __getitem__(self, where: slice) -> Sequence[int]: ...

    def __getitem__(self, where: int | slice) -> int | Sequence[int]:
        if isinstance(where, slice):
            return [self[at] for at in range(*where.indices(len(self)))]
        found = self._calls.number(VIEW, where)
        if not -1 <= found < self._states:
            raise CaseError(f"the case is damaged: call {where + 1} refers to a state of a handle that is not there")
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        found = self._calls.column(VIEW)
        if len(found) and not (found.min() >= -1 and found.max() < self._states):
            raise CaseError("the case is damaged: a call refers to a state of a handle that is not there")
        return found.astype(dtype)


class SavedCalls(CallTable):
    """The table of calls of a case; `files` is the number of its capture files."""

    files = 0

    @cached_property
    def _known(self) -> bytearray:
        """Returns what is known about each row of the case's calls: not checked, its columns fit, sound, or unusual."""
        self._check_lengths()
        return bytearray(len(self))

    @cached_property
    def _params(self) -> set[tuple[SideName, int, bytes]]:
        """Returns the parameters of a case's calls that were found sound, by side and method."""
        return set()

    def _is_sound(self, at: int) -> bool:
        known = self._known
        if known[at] == _UNKNOWN:
            first = at - at % _BLOCK
            rows = super().rows(np.arange(first, min(first + _BLOCK, len(self))))
            known[first : first + len(rows)] = (
                np.where(self._columns_fit(rows), _ORDERLY, _ODD).astype(np.uint8).tobytes()
            )
        if known[at] == _ORDERLY:
            known[at] = _SOUND if self._row_fits(self._columns.row(at)) else _ODD
        return known[at] == _SOUND

    def _seems_sound(self, at: int) -> bool:
        try:
            return self._is_sound(at)
        except (CaseError, *CONTRADICTIONS):
            return False  # who looks at it says why

    def _columns_fit(self, rows: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Returns for rows of a case's calls whether their numbers refer to existing values and their places in the log fit."""
        shared = self.shared
        fits = (rows["context"] < len(shared.contexts)) & (rows["smb"] < len(shared.smbs))
        fits &= (rows["method"] < len(shared.texts)) & (rows["state"] < len(STATES))
        for name in _SIDES:
            column = {one: rows[f"{name}_{one}"].astype(np.int64) for one in (*PdusRow._fields, "side", "buffer_kind")}
            its = (column["side"] < len(MISSING)) & (column["buffer_kind"] < len(KINDS)) & (column["pdus"] > 0)
            its &= (column["steps"] < len(shared.steps)) & (column["step"] < len(shared.texts))
            its &= (column["stub_start"] <= column["stub_stop"]) & (column["stub_stop"] <= column["whole"])
            end = column["pdus_place"] + column["origins"] + column["whole"] + np.maximum(column["unsealed"], 0)
            its &= end + column["ends"] <= rows["place"].astype(np.int64)
            fits &= its | (column["side"] < 0)
        return fits

    def _row_fits(self, row: tuple[int, ...]) -> bool:
        """Whether the bytes of a row in the case's log agree with its columns; False also for an unusual row."""
        context, opnum, state, fault, place, rare = _OF_CALL(row)
        request, response = row[OWN_OF_CALL:][:SIDE_COLUMNS], row[OWN_OF_CALL + SIDE_COLUMNS :][:SIDE_COLUMNS]
        try:
            is_whole = state == _COMPLETE and self.shared.contexts[context].interface.uuid == INTERFACE
            wanted = opnum if is_whole else -1
            middle = request[PARAMS_AT]
            end = middle + response[PARAMS_AT]
            data = self.log.read(place, end + rare)
            few = rare_of(data[end:]) if rare else NOTHING_RARE
            if response[0] >= 0:
                is_decoded = fault < 0 and end > middle
                self._check_side("response", response, few.response, data[middle:end], wanted if is_decoded else -1)
            if request[0] >= 0:
                self._check_side("request", request, few.request, data[:middle], wanted)
        except (CaseError, *CONTRADICTIONS):
            return False  # why is said of the call
        return True

    def _check_side(
        self, name: SideName, columns: tuple[int, ...], rare: RareOfSide | None, params: bytes, opnum: int
    ) -> None:
        """Raises `ValueError` or `LookupError` where a side of a case's call is not sound."""
        few, row = rare or NOTHING_RARE_OF_SIDE, PdusRow._make(columns[OWN_OF_SIDE:])
        if few.apart or few.frames_of_dropped:
            raise ValueError("it is out of the ordinary")
        origins = self.log.read(row.pdus_place, row.origins)
        if packed_length(origins) < row.whole:
            raise ValueError(_NO_ORIGIN)
        frame = only_frame(origins)
        frames = (frame,) if frame is not None else PackedOrigins(origins, row.whole).frame_range(0, row.whole)
        check_frames(frames or (), self.files)
        if row.pdus > 1 or few.plains is not None:
            _check_bounds(self._stored(row, few.plains))
        key = name, opnum if few.problem is None else -1, params
        if key not in self._params:
            _check_params(name, PARAMS_DECODER.decode(params) if params else {}, key[1])
            if len(self._params) < _PARAMS_KEPT and len(params) <= _PARAMS_LENGTH:
                self._params.add(key)

    def _check_call(self, call: Call) -> None:
        """Raises `ValueError` or `LookupError` if one call of a case is not sound."""
        opnum = call.opnum if call.opnum is not None and call.state == "complete" and call.is_perflib else -1
        for name, side in zip(_SIDES, (call.request, call.response), strict=True):
            if side is None:
                continue
            if isinstance(side.pdus, Pdus):
                _check_pdus(side.pdus)
            has_none = name == "response" and (call.fault is not None or not side.params)
            _check_params(name, side.params, -1 if has_none or side.problem is not None else opnum)
            check_frames((*side.frames_of_dropped, *side.frame_range), self.files)

    def _check_lengths(self) -> None:
        """Raises `ValueError` if the calls of a case state more bytes together than its log has. Otherwise the calls of a small
        case could share the same bytes: one megabyte would become a gigabyte."""
        stated = sum(int(np.maximum(self.column(name), 0).sum()) for name in FORMATS if name.endswith(_LENGTHS))
        if stated > self.log.end:
            raise ValueError(f"calls have {stated} bytes together, more than there are")

    def read(self, at: int, number: int, query: QueryView | None) -> Call:
        try:
            is_sound = self._is_sound(at)
            call = super().read(at, number, query)
            if not is_sound:
                self._check_call(call)
            return call
        except CONTRADICTIONS as error:
            raise CaseError(f"the case is damaged: call {at + 1} cannot be read ({error})") from None

    def rare(self, at: int) -> RareOfCall:
        if self._seems_sound(at):
            return super().rare(at)
        call = self[at]
        return RareOfCall(call.reason, call.read, call.key, call.path)

    def frames(self, at: int) -> tuple[int, ...]:
        return super().frames(at) if self._seems_sound(at) else self[at].frames

    def buffers(self, side: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        try:
            self._check_lengths()
        except ValueError as error:
            raise CaseError(f"the case is damaged: {error}") from None
        places, lengths = super().buffers(side)
        whole, start, unsealed, stop = (
            self.column(f"{side}_{name}").astype(np.int64)
            for name in ("whole", "stub_start", "unsealed", "buffer_stop")
        )
        # A place outside the bytes of its own call is no buffer.
        places[(lengths < 0) | (stop > np.where(unsealed >= 0, unsealed, whole - start))] = -1
        return places, lengths

    def held(self, places: Sequence[int], *, pdus: bool = False) -> Iterator[HeldCall | None]:
        for start in range(0, len(places), _BLOCK):
            block = places[start : start + _BLOCK]
            are_sound = list(map(self._seems_sound, block))
            found = super().held([at for at, is_sound in zip(block, are_sound, strict=True) if is_sound], pdus=pdus)
            yield from (next(found) if is_sound else None for is_sound in are_sound)

    def _apart(self, row: PdusRow, rare: RareOfSide) -> list[Pdus]:
        if together([one for one, _ in rare.apart]) != row:
            raise ValueError("PDUs that are not its own")
        found = super()._apart(row, rare)
        for one in found:
            _check_pdus(one)
        return found

    def column(self, name: str) -> npt.NDArray[Any]:
        try:
            found = super().column(name)
        except CONTRADICTIONS as error:
            raise CaseError(f"the case is damaged: {error}") from None
        if name == "context" and len(found) and found.max() >= len(self.contexts):
            raise CaseError("the case is damaged: a call refers to a context that is not there")
        return found

    def number(self, name: str, at: int) -> int:
        try:
            return super().number(name, at)
        except CONTRADICTIONS as error:
            raise CaseError(f"the case is damaged: {name} of call {at + 1} cannot be read ({error})") from None

    def rows(self, places: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        try:
            return super().rows(places)
        except CONTRADICTIONS as error:
            raise CaseError(f"the case is damaged: {error}") from None

    @cached_property
    def tally(self) -> Mapping[Tally, int]:
        """Counts the saved calls by state, interface and method, when somebody asks."""
        try:
            return super().tally
        except LookupError as error:
            raise CaseError(f"the case is damaged: {error}") from None

    def context(self, at: int) -> Context:
        try:
            return super().context(at)
        except CONTRADICTIONS as error:
            raise CaseError(f"the case is damaged: call {at + 1} cannot be read ({error})") from None

    def meaning(self, name: str) -> Callable[[int], Any]:
        meaning = super().meaning(name)

        def found(number: int) -> Any:
            try:
                return meaning(number)
            except LookupError as error:
                raise CaseError(f"the case is damaged: {name} of a call cannot be read ({error})") from None

        return found


def check_frames(frames: Iterable[int], files: int) -> None:
    """Raises `ValueError` if frames of a saved call, or of what is saved beside calls, are in none of a case's `files` files.
    Captures without a name count as one."""
    if any(not 0 <= file_of(frame) < max(files, 1) for frame in frames):
        raise ValueError("frames of a file that is not there")


def _check_params(name: SideName, params: Mapping[str, Any], opnum: int) -> None:
    """Raises `ValueError` if the parameters of a case's call are not those of its PerflibV2 method: one is absent or has another
    type. `opnum` is -1 for other methods."""
    for key, kind in PARAMS.get((opnum, name), {}).items():
        value = params.get(key)
        is_null = key == "szMachine" and key in params and value is None
        if not isinstance(value, kind) and not is_null:
            raise ValueError(f"its {key} is not what its method has")
    for key, value in params.items():
        if not isinstance(value, dict):
            continue
        # The names of handles in the IDL: hKey, phQuery, lpServiceHandle.
        if (key.startswith(("h", "ph")) or key.endswith("Handle") or "uuid" in value) and not _is_handle(value):
            raise ValueError(f"its {key} is no handle")
        if key in _OF_SERVICES and not _is_of_a_service(value):
            raise ValueError(f"its {key} is not what its method has")


def _check_pdus(pdus: Pdus) -> None:
    """Raises `ValueError` if bytes of PDUs in a case have no origin, or if `_check_bounds` raises it."""
    if packed_length(pdus.whole.packed_origins) < len(pdus.whole):
        raise ValueError(_NO_ORIGIN)
    _check_bounds(pdus)


def _check_bounds(pdus: Pdus) -> None:
    """Raises `ValueError` if a stub of a case's call is not inside its PDU, or a PDU not inside the bytes of all."""
    bounds, stops = pdus.bounds, [*pdus.stops] if pdus.stops is not None else [len(pdus.whole)]
    sizes = [stop - start for start, stop in pairwise((0, *stops))]
    starts, ends = bounds[::2], bounds[1::2]
    if not len(starts) == len(ends) == len(sizes) > 0 or stops[-1] > len(pdus.whole) or min(sizes) < 0:
        raise ValueError("PDUs that do not lie in their bytes")
    if any(start > end or end > size for start, end, size in zip(starts, ends, sizes, strict=True)):
        raise ValueError("stubs that do not lie in their PDUs")
    if pdus.plains is not None and len(pdus.plains) != len(sizes):
        raise ValueError("more or fewer stubs than PDUs")


# Structures among parameters that are read by their members ([MS-SCMR] sections 2.2.15 and 2.2.47).
_OF_SERVICES = frozenset({"lpServiceConfig", "lpServiceStatus"})


def _is_handle(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("uuid"), str) and isinstance(value.get("attributes"), int)


def _is_of_a_service(value: Mapping[str, Any]) -> bool:
    """Whether the members of a structure in a case's calls have the types that their names say. Damage may end it early."""
    return all(isinstance(one, int if name.startswith("dw") else str | None) for name, one in value.items())


# --------------------------------------------------------------------------------------------------------- table of a case


# Rows of a batch of calls: one column of them is some 200 KB.
_CALLS_OF_BATCH = 1 << 16
# The columns of the table of calls, and which state of a query handle a call saw.
ColumnsOfCalls: TypeAlias = "dict[str, npt.NDArray[Any]]"
SAVED: Mapping[str, StoredColumn] = {
    **STORED,
    VIEW: StoredColumn("i", "the state of its query handle: row of `views`", may_lack=True),
}


def table_of_calls(calls: OrderedCalls) -> SavedTable:
    """Returns the calls of an analysis, in their order, as a table of a case."""
    order, views = np.asarray(calls.order, np.int64), np.asarray(calls.views, np.int32)
    cuts = [slice(start, start + _CALLS_OF_BATCH) for start in range(0, len(order), _CALLS_OF_BATCH)]

    def batches() -> Iterator[ColumnsOfCalls]:
        for cut in cuts:
            rows = calls.table.rows(order[cut])
            yield {name: rows[name] for name in FORMATS} | {VIEW: views[cut]}

    return saved_calls(len(order), batches)


def saved_calls(count: int, batches: Callable[[], Iterator[ColumnsOfCalls]]) -> SavedTable:
    """Returns the table of `count` saved calls. `batches` yields its columns some rows at a time, each time it is called."""
    bounds: dict[str, tuple[int, int]] = {}
    for batch in batches():
        for name, values in batch.items():
            low, high = int(values.min()), int(values.max())
            known = bounds.get(name, (low, high))
            bounds[name] = min(low, known[0]), max(high, known[1])
    widths = {
        name: narrowest(*bounds.get(name, (0, 0)), stored.form) for name, stored in SAVED.items() if not stored.is_time
    }
    columns = _columns_of_calls(widths)

    def pieces() -> Iterator[bytes]:
        return written(columns, ([_of_call(column, batch[column.name]) for column in columns] for batch in batches()))

    return SavedTable(count, " ".join(widths.values()), pieces)


def _columns_of_calls(widths: Mapping[str, str]) -> list[ArrowColumn]:
    """Returns the Arrow columns of saved calls. Numbers have these widths; times have the width of times."""
    return [
        ArrowColumn(name, "time", nullable=stored.may_lack)
        if stored.is_time
        else ArrowColumn(name, "number", widths[name], stored.may_lack)
        for name, stored in SAVED.items()
    ]


def _of_call(column: ArrowColumn, numbers: npt.NDArray[Any]) -> ArrowValues:
    present = numbers >= 0 if column.nullable else None
    return ArrowValues(len(numbers), (numbers.astype(f"<{column.width}"),), (), present)


def saved_columns(facts: TableFacts, source: Readable) -> SavedColumns:
    names = [name for name, stored in SAVED.items() if not stored.is_time]
    widths = dict(zip(names, facts.widths.split(), strict=True))
    for name, width in widths.items():
        if width not in WIDTHS or not np.can_cast(width, SAVED[name].form):
            raise ValueError(f"{name} is no column of its numbers")
    if facts.rows * len(SAVED) > source.size:
        raise ValueError(f"calls has {facts.rows} rows, and {source.size} bytes of them")
    table = ArrowTable(_columns_of_calls(widths), source, facts.rows, _CALLS_OF_BATCH)
    return SavedColumns({name: stored.form for name, stored in SAVED.items()}, table)
