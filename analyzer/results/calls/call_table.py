"""The table of calls of a capture: a completed call is a row of numbers, and its bytes lie in a log.

`CallTable` takes calls as they complete; `ordered_calls.py` has them in order. A `Call` is made of a row when somebody looks at it.
Values that calls share are in tables of values. A row has the number of the value:

* `contexts`: ends, security, interface; as a rule all calls of one presentation context share it,
* `smbs`: how SMB carried a call; `texts`: names of methods and of unsealing steps; `steps`: what was undone to reach PDUs.

An absent value is -1. The log holds the PDUs of each side: their origins (see `core/byte_origins.py`), their bytes, the unsealed
stubs, and the bounds of several PDUs. Then follow the parameters of both sides and facts that few calls have (`RareOfCall`), as
MessagePack. A row is never changed: what becomes known later is another row.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Self, TypeVar

from msgspec import msgpack

from analyzer.core.absence import Missing
from analyzer.core.byte_log import Log
from analyzer.core.byte_origins import PACKED_EXTENT, PackedOrigins, only_frame
from analyzer.core.growing_columns import Columns, GrowingColumns
from analyzer.core.traced_bytes import StoredBytes, TracedBytes
from analyzer.results.calls.call import Call, CallState, Side, SmbFacts, is_altered
from analyzer.results.calls.call_row_columns import (
    APART,
    BIG_ENDIAN,
    FORMATS,
    KIND_NUMBERS,
    KINDS,
    MISSING,
    MISSING_NUMBERS,
    NO_PDUS,
    NO_RARE,
    NO_SIDE,
    NOTHING_RARE,
    NOTHING_RARE_OF_SIDE,
    OVERTOOK,
    OWN_OF_CALL,
    OWN_OF_SIDE,
    PARAMS_AT,
    PARAMS_DECODER,
    SIDE_COLUMNS,
    STATE_NUMBERS,
    STATES,
    UNTIMED,
    Context,
    PackedPlains,
    PdusRow,
    RareOfCall,
    RareOfSide,
    SharedValues,
    context_of,
    flags_of,
    rare_of,
    trailer_of,
)
from analyzer.results.calls.held_calls import HeldCall, HeldCalls
from analyzer.results.calls.pdus import Fragment, Fragments, Pdus, Plain, ends_in, stub_place
from analyzer.results.calls.query_state import QueryView
from analyzer.results.methods.perflib import INTERFACE, Opnum
from analyzer.results.records.record_types import Endpoint

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# How much of the log of calls stays in memory, and how much of their columns.
MEMORY_BYTES = 8 << 20
# Bytes of PDUs up to so many are read with them, longer ones when they are asked for.
_READ_AT_ONCE = 2048
# Bytes beyond this are moved into the log in parts.
_WRITTEN_AT_ONCE = 1 << 20

# Rows to count at once.
_COUNTED_AT_ONCE = 1 << 16

_Item = TypeVar("_Item", bound=Hashable)


_ENCODER = msgpack.Encoder()

# State, interface and method (its number, where it has no name) of a call.
Tally = tuple[CallState, str, str | int | None]


def tally_of(call: Call) -> Tally:
    """Returns the key by which the tally of the table counts a call: its state, interface and method."""
    return call.state, call.interface.name or call.interface.uuid or "unknown", call.method or call.opnum


# In the column `handle`: the call has no handle, and following needs only that it was made.
NO_HANDLE = -2
# The method of polls, as a plain number.
_POLL = Opnum.QUERY_COUNTER_DATA
# The columns that state where what few calls have lies, and how long it is.
_RARE_AT = itemgetter(*map(list(FORMATS).index, ("place", "rare", "request_params", "response_params")))
# Methods of PerflibV2 that name no query handle.
_WITHOUT_HANDLE = frozenset(
    {
        Opnum.ENUMERATE_COUNTER_SET,
        Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO,
        Opnum.ENUMERATE_COUNTER_SET_INSTANCES,
    }
)


class Numbered(dict[_Item, int]):
    """Numbers the values that many calls of the table share. Maps each value to its number, and lists the values by number."""

    def __init__(self) -> None:
        super().__init__()
        self.values_by_number: list[_Item] = []

    def __missing__(self, item: _Item) -> int:
        number = self[item] = len(self.values_by_number)
        self.values_by_number.append(item)
        return number


class CallTable:
    """The table of calls: takes calls one by one. The position of a call is that of its row."""

    def __init__(self, memory: int | None = None) -> None:
        """`memory` bytes of the log, and as many of the columns, stay in memory; default `MEMORY_BYTES`."""
        room = MEMORY_BYTES if memory is None else memory
        self.log = Log(room)
        self._growing = GrowingColumns(FORMATS, Log(room))
        self._columns: Columns = self._growing
        # How many rows there are for whose calls better ones were appended.
        self._out_of_date: Counter[Tally] = Counter()
        self._contexts: Numbered[Context] = Numbered()
        self._smbs: Numbered[SmbFacts | None] = Numbered()
        self._texts: Numbered[str | None] = Numbered()
        self._steps: Numbered[tuple[str, ...]] = Numbered()
        self._handles: Numbered[tuple[Endpoint, str]] = Numbered()
        # The values that the numbers of the table refer to.
        self.shared = SharedValues(
            self._contexts.values_by_number,
            self._smbs.values_by_number,
            self._texts.values_by_number,
            self._steps.values_by_number,
            self._handles.values_by_number,
        )
        self._last_context: dict[int, tuple[tuple[Any, ...], int]] = {}
        # Positions of the calls whose interface is not known, by channel and presentation context.
        self.unbound: dict[tuple[int, int], array[int]] = {}

    @classmethod
    def over(cls, columns: Columns, log: Log, shared: SharedValues) -> Self:
        """Returns a table of calls for reading, over columns and a log that exist already."""
        table = cls()
        table.log, table._columns, table.shared = log, columns, shared
        return table

    def kind_of(self, state: int, context: int, method: int, opnum: int) -> Tally:
        """Returns the key that the tally of the table has for a row with these numbers. Raises `LookupError` for unknown
        numbers."""
        interface, name = self.shared.contexts[context].interface, self.shared.texts[method]
        return STATES[state], interface.name or interface.uuid or "unknown", name or (opnum if opnum >= 0 else None)

    @property
    def tally(self) -> Mapping[Tally, int]:
        """Returns how many calls the table has of each state, interface and method."""
        columns = [self.column(name) for name in ("state", "context", "method", "opnum")]
        numbers = Counter[tuple[int, ...]]()
        for first in range(0, len(self), _COUNTED_AT_ONCE):
            some = [column[first : first + _COUNTED_AT_ONCE].tolist() for column in columns]
            numbers.update(zip(*some, strict=True))
        found = Counter[Tally]()
        for kind, count in numbers.items():
            found[self.kind_of(*kind)] += count
        found.subtract(self._out_of_date)
        return found

    def __len__(self) -> int:
        return len(self._columns)

    def column(self, name: str) -> npt.NDArray[Any]:
        """Returns the numbers of all rows of the table of calls in one column; `FORMATS` lists the columns."""
        return self._columns.column(name)

    def number(self, name: str, at: int) -> int:
        """The number that a row of the table of calls has in a column."""
        return self._columns.number(name, at)

    def rows(self, places: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Returns some rows of the table of calls as an array with the columns as its fields."""
        return self._columns.rows(places)

    @property
    def contexts(self) -> Sequence[Context]:
        """Returns the contexts that calls of the table share, by their numbers in the column `context`."""
        return self.shared.contexts

    def context(self, at: int) -> Context:
        """Returns the context of a row of the table of calls: the fields that the call shares with others."""
        return self.shared.contexts[self._columns.number("context", at)]

    def meaning(self, name: str) -> Callable[[int], Any]:
        """Returns a function that maps a number in a column of the table of calls to its value; None for an absent value."""
        match name.removeprefix("request_").removeprefix("response_"):
            case "context":
                return self.shared.contexts.__getitem__
            case "smb":
                return self.shared.smbs.__getitem__
            case "method":
                return self.shared.texts.__getitem__
            case "state":
                return STATES.__getitem__
            case "side":
                return lambda number: MISSING[number] if number > 0 else None
            case "buffer_kind":
                return lambda number: KINDS[number] if number >= 0 else None
            case "flags":
                return trailer_of
            case _:
                return lambda number: number if number >= 0 else None

    def by_context(self, field: str) -> npt.NDArray[np.signedinteger[Any]]:
        """Returns an array with one integer field of `Context` for every row of the table of calls; -1 stands for None."""
        from analyzer.core.array_functions import narrowed

        stated = [getattr(context, field) for context in self.contexts]
        numbers = narrowed([-1 if number is None else number for number in stated])
        found: npt.NDArray[np.signedinteger[Any]] = numbers[self.column("context")]
        return found

    def is_of(self, interface: str) -> npt.NDArray[np.bool_]:
        """Returns an array that says for every row of the table of calls whether it is of this interface."""
        import numpy as np

        known = np.array([context.interface.uuid == interface for context in self.contexts], np.bool_)
        found: npt.NDArray[np.bool_] = known[self.column("context")]
        return found

    def buffers(self, side: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Returns for every row of the table of calls the place in the log of a side's `lpData`, and its length. The place is -1 if
        there is no `lpData`, or if it does not lie there in one piece."""
        import numpy as np

        start, unsealed = self.column(f"{side}_buffer_start"), self.column(f"{side}_unsealed")
        lengths = self.column(f"{side}_buffer_stop").astype(np.int64) - start
        places = self.column(f"{side}_pdus_place").astype(np.int64) + start
        places += self.column(f"{side}_origins")
        # The unsealed stub lies behind the PDUs, without headers.
        places += np.where(unsealed >= 0, self.column(f"{side}_whole"), self.column(f"{side}_stub_start"))
        number = self.column(f"{side}_pdus")
        is_whole = (number == 1) | ((unsealed >= 0) & (number < APART))
        places[(start < 0) | (self.column("rare") > 0) | ~is_whole] = -1
        return places, lengths

    def append(self, call: Call) -> int:
        """Appends a call to the table; returns its position from now on."""
        at = self._append(call)
        if call.interface.uuid is None:
            self.unbound.setdefault((call.channel, call.context_id), array("I")).append(at)
        return at

    def replaced(self, at: int, call: Call) -> int:
        """Replaces the row of a call of which more is known now; returns the position of the new row."""
        self._out_of_date[tally_of(self[at])] += 1
        return self._append(call)

    def _append(self, call: Call) -> int:
        request, response, opnum, key_number = call.request, call.response, call.opnum, call.key_number
        parts: list[bytes | TracedBytes] = []
        begin = self.log.end
        of_request, params, rare_of_request, frames, place = self._row_of(request, begin, parts)
        of_response, params_of_response, rare_of_response, end_frames, place = self._row_of(response, place, parts)
        packed, rare = b"", (call.reason, call.read, call.key, call.path, rare_of_request, rare_of_response)
        if rare != NO_RARE:
            packed = _ENCODER.encode(rare)
        parts += params, params_of_response, packed
        _put(self.log, parts, place + len(params) + len(params_of_response) + len(packed) - begin)
        first_time = begin_time = 0
        end_time = end_frame = last_time = -1
        if response is not None:
            end_time, last_time, end_frame = response.first_time_ns, response.last_time_ns, end_frames[0]
            if request is None:
                first_time, begin_time, frames = end_time, last_time, end_frames
        if request is not None:
            first_time, begin_time = request.first_time_ns, request.last_time_ns
        context = context_of(call)
        last = self._last_context.get(call.channel)
        # Usually it is that of the channel's last call. Tuples compare identical objects quickly.
        if last is None or last[0] != context:
            last = self._last_context[call.channel] = context, self._contexts[Context(*context)]
        # In the order of `OF_CALL`; a plain tuple is made nine times as fast.
        row = (
            last[1],
            -1 if opnum is None else opnum,
            self._texts[call.method],
            call.call_id,
            call.context_id,
            STATE_NUMBERS[call.state],
            -1 if call.status is None else call.status,
            -1 if call.fault is None else call.fault,
            self._smbs[call.smb],
            -1 if key_number is None else key_number,
            _handle_of(call, self._handles),
            first_time,
            frames[0],
            begin_time,
            frames[1],
            end_time,
            end_frame,
            last_time,
            place,
            len(packed),
        )
        return self._growing.append(row + of_request + of_response)

    def _row_of(
        self, side: Side | None, place: int, parts: list[bytes | TracedBytes]
    ) -> tuple[tuple[int, ...], bytes, tuple[Any, ...] | None, tuple[int, int], int]:
        """Returns the row of a call's side in the table: columns, parameters, rare facts (as `RareOfSide`), and first and last
        frame. Also returns where in the log its PDUs end. They begin at `place`, and are appended to `parts`."""
        if side is None:
            return NO_SIDE, b"", None, (0, 0), place
        pdus, plains, apart, frame = side.pdus, None, None, None
        if not isinstance(pdus, tuple):
            row, plains, frame, place = self._pdus(pdus, place, parts)
        elif pdus:
            apart = []
            for one in pdus:
                of_one, plains_of_one, _, place = self._pdus(_stored_alone(one), place, parts)
                apart.append((of_one, plains_of_one))
            row = together([PdusRow._make(one) for one, _ in apart])
        else:
            row = NO_PDUS
        params = _ENCODER.encode(side.params) if side.params else b""
        start, stop = side.buffer_span or (-1, -1)
        rare, overtook = None, side.overtook_ns is not None
        if overtook or side.frames_of_dropped or side.problem is not None or plains is not None or apart is not None:
            rare = _rare_of_side(side, plains, apart)
        # In the order of `OF_SIDE`.
        columns = (
            MISSING_NUMBERS[side.missing],
            side.stub_length,
            side.wire_length,
            flags_of(side) if side.big_endian or side.verification_trailer or side.is_untimed or overtook else 0,
            KIND_NUMBERS[side.buffer_kind],
            start,
            stop,
            len(params),
        )
        return columns + row, params, rare, side.frame_range if frame is None else (frame, frame), place

    def _pdus(
        self, pdus: Pdus, place: int, parts: list[bytes | TracedBytes]
    ) -> tuple[tuple[int, ...], PackedPlains | None, int | None, int]:
        """Returns the columns of a call's PDUs in the table (as `PdusRow`), and the result for each stub if these differ. Also
        returns the frame if only one carried them, and where they end in the log."""
        if type(pdus) is _StoredPdus and pdus.is_of(self):
            return pdus.row, pdus.packed_plains, None, place
        whole, stops, unsealed, plains = pdus.whole, pdus.stops, pdus.unsealed, pdus.plains
        data, length = _written(whole)
        origins = whole.source.located(whole.start, whole.start + length)[0]
        size, first = len(origins), place
        parts += origins, data
        place += size + length
        opened = -1
        if unsealed is not None:
            data, opened = _written(unsealed)
            parts.append(data)
            place += opened
        count, start, stop, ends = 1, 0, 0, 0
        if stops is None:
            start, stop = pdus.bounds
        else:
            bounds = pdus.bounds.tobytes() + stops.tobytes()
            count, ends = len(stops), len(bounds)
            parts.append(bounds)
            place += ends
        # In the order of `PdusRow`.
        shared = self._steps[whole.steps], self._texts[pdus.step]
        row = (count, first, size, length, opened, ends, start, stop, *shared)
        frame = PACKED_EXTENT.unpack(origins)[0] if size == PACKED_EXTENT.size else None
        if plains is None:
            return row, None, frame, place
        return row, tuple([MISSING_NUMBERS[one] if isinstance(one, Missing) else one for one in plains]), frame, place

    def held(self, places: Sequence[int], *, pdus: bool = False) -> Iterator[HeldCall | None]:
        """Yields rows of this table of calls as held calls, block by block; None for a call that must be read as a `Call`."""
        return chain.from_iterable(HeldCalls(self, pdus=pdus).stretches(places))

    def rare(self, at: int) -> RareOfCall:
        """Returns rare facts about the call at a position of the table, without those of its sides."""
        place, length, *params = _RARE_AT(self._columns.row(at))
        return rare_of(self.log.read(place + sum(params), length)) if length else NOTHING_RARE

    def frames(self, at: int) -> tuple[int, ...]:
        """Returns the frame ids of the call at a position of the table, like `Call.frames`."""
        if self.number("rare", at):
            return self[at].frames
        columns = self._columns.row(at)[OWN_OF_CALL:]
        rows = [side[OWN_OF_SIDE:SIDE_COLUMNS] for side in (columns, columns[SIDE_COLUMNS:]) if side[0] >= 0]
        return tuple(sorted({frame for row in rows for frame in self._stored(PdusRow._make(row), None).frames}))

    def __getitem__(self, at: int) -> Call:
        """The call at a position of the table, without number and query handle."""
        return self.read(at, 0, None)

    def read(self, at: int, number: int, query: QueryView | None) -> Call:
        """Makes a `Call` of a row of the table of calls, with its number and the state of its query handle."""
        row = self._columns.row(at)
        context, opnum, method, call_id, context_id, state, status, fault, smb, key_number, *rest = row[:OWN_OF_CALL]
        _, first_time, _, begin_time, _, end_time, _, last_time, place, rare_length = rest
        shared, values = self.shared.contexts[context], self.shared
        asked, answered = row[OWN_OF_CALL:], row[OWN_OF_CALL + SIDE_COLUMNS :]
        middle = asked[PARAMS_AT]
        end = middle + answered[PARAMS_AT]
        data = self.log.read(place, end + rare_length)
        rare = rare_of(data[end:]) if rare_length else NOTHING_RARE
        request = self._side(asked, first_time, begin_time, data[:middle], rare.request)
        response = self._side(answered, end_time, last_time, data[middle:end], rare.response)
        # In the order of the fields: so many keywords take six times as long.
        return Call(
            number,
            first_time,
            shared.client,
            shared.server,
            shared.transport,
            shared.pipe,
            shared.session,
            values.smbs[smb],
            shared.auth,
            shared.interface,
            shared.syntax,
            None if opnum < 0 else opnum,
            values.texts[method],
            call_id,
            context_id,
            STATES[state],
            rare.reason,
            None if status < 0 else status,
            None if fault < 0 else fault,
            shared.channel,
            shared.impersonation,
            shared.security,
            shared.smb_identity,
            request,
            response,
            query,
            rare.read,
            rare.key,
            None if key_number < 0 else key_number,
            rare.path,
        )

    def _side(
        self, columns: tuple[int, ...], first_time: int, last_time: int, params: bytes, rare: RareOfSide | None
    ) -> Side | None:
        missing, stub_length, wire_length, flags, kind, start, stop, _ = columns[:OWN_OF_SIDE]
        if missing < 0:
            return None
        rare, row = rare or NOTHING_RARE_OF_SIDE, PdusRow._make(columns[OWN_OF_SIDE:SIDE_COLUMNS])
        pdus: Fragments
        if row.pdus == APART:
            pdus = tuple([one[0] for one in self._apart(row, rare)])
        else:
            pdus = self._stored(row, rare.plains) if row.pdus else ()
        return Side(
            pdus=pdus,
            missing=MISSING[missing],
            stub_length=stub_length,
            wire_length=wire_length,
            verification_trailer=trailer_of(flags),
            big_endian=bool(flags & BIG_ENDIAN),
            first_time_ns=first_time,
            last_time_ns=last_time,
            frames_of_dropped=rare.frames_of_dropped,
            params=PARAMS_DECODER.decode(params) if params else {},
            buffer_span=None if start < 0 else (start, stop),
            buffer_kind=None if kind < 0 else KINDS[kind],
            problem=rare.problem,
            is_untimed=bool(flags & UNTIMED),
            overtook_ns=rare.overtook_ns,
        )

    def _apart(self, row: PdusRow, rare: RareOfSide) -> list[Pdus]:
        """Returns of a call in the table the PDUs that were carried or unsealed in different ways; `row` describes all of them."""
        return [self._stored(one, plains) for one, plains in rare.apart]

    def _stored(self, row: PdusRow, plains: PackedPlains | None) -> Pdus:
        return _StoredPdus(self, row, plains)

    def unpacked(self, row: PdusRow, packed_plains: PackedPlains | None) -> tuple[Any, ...]:
        """Reads from the log of the table, by their row, the parts that the `Pdus` of a stored call are made of."""
        steps, step = self.shared.steps[row.steps], self.shared.texts[row.step] or ""
        plains: tuple[Plain, ...] | None = None
        if packed_plains is not None:
            plains = tuple([MISSING[one] if isinstance(one, int) else one for one in packed_plains])
        whole_at = row.pdus_place + row.origins
        at_once = row.whole if row.whole <= _READ_AT_ONCE else 0
        packed = self.log.read(row.pdus_place, row.origins + at_once)
        origins, data = PackedOrigins(packed[: row.origins], row.whole), packed[row.origins :]
        whole = TracedBytes(data, origins, 0, steps) if data else self._traced(whole_at, row.whole, origins, 0, steps)
        unsealed_at = whole_at + row.whole
        bounds, stops = array("I", (row.stub_start, row.stub_stop)), None
        if row.pdus > 1:
            bounds, stops = ends_in(self.log.read(unsealed_at + max(row.unsealed, 0), row.ends), row.pdus)
        if row.unsealed < 0:
            return whole, stops, bounds, step, plains
        source, start = (origins, row.stub_start) if stops is None else stub_place(whole, stops, bounds)
        unsealed = self._traced(unsealed_at, row.unsealed, source, start, (*steps, step) if step else steps)
        return whole, stops, bounds, step, plains, unsealed

    def _traced(self, place: int, length: int, source: Any, start: int, steps: tuple[str, ...]) -> TracedBytes:
        if length <= _READ_AT_ONCE:
            return TracedBytes(self.log.read(place, length), source, start, steps)
        return StoredBytes.from_store(self.log, place, length, source, start, steps)


def _rare_of_side(side: Side, plains: PackedPlains | None, apart: Sequence[Any] | None) -> tuple[Any, ...]:
    """Returns the rare facts about a side of a call that is put into the table, in the order of `RareOfSide`."""
    rare = side.frames_of_dropped, side.problem, plains, apart or ()
    return rare if side.overtook_ns is None else (*rare, side.overtook_ns)


def altered_rows(calls: CallTable) -> npt.NDArray[np.bool_]:
    """Returns an array that says for every call in a table of calls whether others may have changed it (`is_altered`)."""
    import numpy as np

    by_smb = np.array([is_altered(smb, None) for smb in calls.shared.smbs], np.bool_)
    by_rpc = np.array([is_altered(None, context.security) for context in calls.contexts], np.bool_)
    found: npt.NDArray[np.bool_] = by_smb[calls.column("smb")] | by_rpc[calls.column("context")]
    return found


def disordered_rows(calls: CallTable) -> npt.NDArray[np.bool_]:
    """Returns an array that says for every row of a table of calls, in the table's own order, whether frames leave open when the
    call was made.

    These are the calls that overtook another one of their channel (`Side.overtook_ns`), and those under way at that time.
    """
    import numpy as np

    found = np.zeros(len(calls), np.bool_)
    flags = calls.column("request_flags") | calls.column("response_flags")
    if not (overtaking := np.flatnonzero(flags & OVERTOOK)).size:
        return found
    spans: dict[int, list[tuple[int, int]]] = {}
    for at in overtaking.tolist():
        call = calls[at]
        for side in (call.request, call.response):
            if side is not None and side.overtook_ns is not None:
                span = sorted((side.last_time_ns, side.overtook_ns))
                spans.setdefault(call.channel, []).append((span[0], span[1]))
    channels, first, last = calls.by_context("channel"), calls.column("first_time"), calls.column("last_time")
    for channel, of_channel in spans.items():
        of_channel.sort()
        begins = np.array([begin for begin, _ in of_channel], np.int64)
        # The latest end of all spans so far: one that begins before a call ends reaches it if one of them does.
        ends = np.maximum.accumulate(np.array([end for _, end in of_channel], np.int64))
        rows = np.flatnonzero(channels == channel)
        before = np.searchsorted(begins, np.maximum(last, calls.column("begin_time"))[rows], side="right")
        found[rows] = (before > 0) & (ends[before - 1] >= first[rows])
    return found


def _put(log: Log, parts: Sequence[bytes | TracedBytes], length: int) -> None:
    """Appends the parts of a call's bytes to the log of the table of calls; `length` is their total size."""
    if length <= _WRITTEN_AT_ONCE:
        log.extend(parts, length)  # type: ignore[arg-type]  # so few are all in memory
        return
    for part in parts:
        if isinstance(part, bytes):
            log.append(part)
            continue
        for at in range(0, len(part), _WRITTEN_AT_ONCE):
            log.append(part.part(at, min(at + _WRITTEN_AT_ONCE, len(part))))


def _written(traced: TracedBytes) -> tuple[bytes | TracedBytes, int]:
    """Returns what the table of calls writes for traced bytes, and its length: the bytes, unless they are many and not in
    memory."""
    if type(traced) is TracedBytes:
        data = traced.data
        return data, len(data)
    length = len(traced)
    return traced.data if length <= _WRITTEN_AT_ONCE else traced, length


def _handle_of(call: Call, handles: Numbered[tuple[Endpoint, str]]) -> int:
    """Returns what a call has in the column `handle` when the table of calls takes it: the number of its query handle."""
    request, opnum = call.request, call.opnum
    if request is None:
        return -1
    if call.interface.uuid != INTERFACE or opnum in _WITHOUT_HANDLE:
        return NO_HANDLE
    if opnum != _POLL or call.response is None:
        return -1
    handle = request.params.get("hQuery")
    return handles[call.server, handle["uuid"]] if isinstance(handle, dict) else -1


def together(rows: Sequence[PdusRow]) -> PdusRow:
    """Returns the one row that the table of calls keeps for PDUs with a row each; its lengths are the sums."""
    return NO_PDUS._replace(
        pdus=APART,
        origins=sum(row.origins for row in rows),
        whole=sum(row.whole for row in rows),
        unsealed=sum(max(row.unsealed, 0) for row in rows),
    )


class _StoredPdus(Pdus):
    """PDUs of a call in the table. Their row answers what it can; everything else is read from the log on demand."""

    __slots__ = ("_calls", "packed_plains", "row")

    def __init__(self, calls: CallTable, row: PdusRow, packed_plains: PackedPlains | None) -> None:
        self._calls, self.row, self.packed_plains = calls, row, packed_plains

    def __getattr__(self, name: str) -> Any:
        # The fields of `Pdus`. All are read when the first is asked for.
        if name not in Pdus.__slots__:
            raise AttributeError(name)
        Pdus.__init__(self, *self._calls.unpacked(self.row, self.packed_plains))
        return getattr(self, name)

    def is_of(self, calls: CallTable) -> bool:
        """Whether this table of calls has stored the PDUs: they lie in its log."""
        return self._calls is calls

    def __len__(self) -> int:
        return self.row.pdus

    @property
    def _origins(self) -> PackedOrigins:
        row = self.row
        return PackedOrigins(self._calls.log.read(row.pdus_place, row.origins), row.whole)

    @property
    def frames(self) -> tuple[int, ...]:
        row = self.row
        frame = only_frame(self._calls.log.read(row.pdus_place, row.origins))
        return (frame,) if frame is not None else self._origins.frames(0, row.whole)

    @property
    def frame_range(self) -> tuple[int, int] | None:
        return self._origins.frame_range(0, self.row.whole)

    def stub_bytes(self, length: int) -> bytes:
        row = self.row
        if row.unsealed >= 0:
            return self._calls.log.read(row.pdus_place + row.origins + row.whole, min(length, row.unsealed))
        if row.pdus == 1 and self.packed_plains is None:
            start = row.pdus_place + row.origins + row.stub_start
            return self._calls.log.read(start, min(length, row.stub_stop - row.stub_start))
        return super().stub_bytes(length)


def _stored_alone(fragment: Fragment) -> Pdus:
    """Returns one fragment as the table of calls stores it: as `Pdus`, as if it were a whole message."""
    plain = fragment.plain
    bounds = array("I", (fragment.stub_start, fragment.stub_stop))
    if isinstance(plain, Missing):
        return Pdus(fragment.pdu, None, bounds, "", (plain,))
    if plain.steps == fragment.pdu.steps and plain == fragment.pdu[fragment.stub_start : fragment.stub_stop]:
        return Pdus(fragment.pdu, None, bounds)
    return Pdus(fragment.pdu, None, bounds, plain.steps[-1] if plain.steps else "", None, plain)
