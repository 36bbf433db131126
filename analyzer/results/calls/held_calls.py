"""Held calls: what the rows of the table of calls state, for code that goes through many rows. No `Call` is made of each.

Rows are taken out of the columns a block at a time. An unusual call has no held form and must be read as a `Call`. Such a call is
long, or its PDUs were carried or unsealed in different ways.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from analyzer.core.absence import Missing
from analyzer.core.byte_origins import PACKED_EXTENT, PackedOrigins
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.buffer_kinds import BufferKind
from analyzer.results.calls.call import Call, CallState, Side, SmbFacts, StubProblem
from analyzer.results.calls.call_row_columns import (
    APART,
    BIG_ENDIAN,
    KINDS,
    MISSING,
    NOTHING_RARE,
    PARAMS_DECODER,
    STATES,
    Context,
    RareOfCall,
    RareOfSide,
    context_of,
    latencies_in,
    rare_of,
    trailer_of,
)
from analyzer.results.calls.pdus import clear_stubs, ends_in

if TYPE_CHECKING:
    import numpy.typing as npt

    from analyzer.results.calls.call_table import CallTable

# Rows of a block.
_BLOCK = 256
# Bytes of a stub of a `Call` that are held at once.
_LONG_STUB = 1 << 20
# Bytes of the log to read at once; a longer call is not held.
_STRETCH = 1 << 18
# The most different parameters, and their longest form in bytes, that are decoded once for all calls.
_PARAMS_KEPT, _PARAMS_LENGTH = 1 << 10, 1 << 10


class HeldPdus(Struct, frozen=True):
    """The PDUs of a held call's side: their bytes, and where each of several ends in them.

    The stub of a single PDU begins at `stub_start`. `place` is the frame that carried the PDUs, and their position in it; None if
    several frames carried them.
    """

    data: bytes
    stops: Sequence[int] | None
    stub_start: int
    place: tuple[int, int] | None


class HeldSide(Struct, frozen=True):
    """The request or the response of a held call, with the fields of `Side`. `stub` has its bytes, None if it is missing. `pdus` is
    set only if they were asked for."""

    missing: Missing | None
    stub_length: int
    wire_length: int
    verification_trailer: Literal["ok", "bad"] | None
    big_endian: bool
    params: dict[str, Any]
    buffer_span: tuple[int, int] | None
    buffer_kind: BufferKind | None
    problem: StubProblem | None
    frames: tuple[int, ...]
    stub: bytes | TracedBytes | None
    first_time_ns: int
    last_time_ns: int
    pdus: HeldPdus | None = None


class HeldCall(Struct, frozen=True):
    """A held call: what one row of the table of calls states, with the fields of `Call`."""

    shared: Context
    smb: SmbFacts | None
    opnum: int | None
    method: str | None
    call_id: int
    context_id: int
    state: CallState
    status: int | None
    fault: int | None
    key_number: int | None
    time_ns: int
    latency_ns: int | None
    rare: RareOfCall
    request: HeldSide | None
    response: HeldSide | None


# The columns of a call and of a side that are taken as they are.
_OF_CALL = (
    *("context", "smb", "opnum", "method", "call_id", "context_id", "state", "status", "fault", "key_number"),
    *("first_time", "place", "rare"),
)
_OF_SIDE = (
    *("side", "stub_length", "wire_length", "flags", "buffer_kind", "buffer_start", "buffer_stop"),
    *("pdus_place", "origins", "whole", "params", "pdus", "ends", "unsealed", "stub_start"),
)
# Columns of the call with the times of the first and last frame of each side.
_TIMES = {"request_": ("first_time", "begin_time"), "response_": ("end_time", "last_time")}


class HeldCalls:
    """Reads rows of the table of calls by blocks, as held calls; with `pdus`, sides have their PDUs."""

    def __init__(self, table: CallTable, *, pdus: bool = False) -> None:
        self._table, self._with_pdus = table, pdus
        self._params: dict[bytes, dict[str, Any]] = {}
        # The bytes that were last read from the log, and where they begin.
        self._base, self._data = 0, b""

    def stretches(self, places: Sequence[int]) -> Iterator[list[HeldCall | None]]:
        """Yields lists of held calls whose bytes lie together in the log. None stands for a row that must be read as a `Call`."""
        for at in range(0, len(places), _BLOCK):
            yield from self._block(places[at : at + _BLOCK])

    def _block(self, places: Sequence[int]) -> Iterator[list[HeldCall | None]]:
        import numpy as np

        rows = self._table.rows(np.asarray(places, np.int64))
        begin, stop, is_plain, latency = _extents(rows)
        own = list(zip(*(rows[name].tolist() for name in _OF_CALL), latency, strict=True))
        requests, responses = _side_columns(rows, "request_"), _side_columns(rows, "response_")
        first = 0
        for at, (begins, stops, plain) in enumerate(zip(begin, stop, is_plain, strict=True)):
            is_here = self._base <= begins and stops <= self._base + len(self._data)
            if plain and is_here:
                continue
            if first < at:
                yield self._calls(own[first:at], requests[first:at], responses[first:at])
            first = at
            if plain:
                log, self._base = self._table.log, begins
                self._data = log.read(begins, min(max(stops - begins, _STRETCH), log.end - begins))
            else:
                first += 1
                yield [None]
        if first < len(own):
            yield self._calls(own[first:], requests[first:], responses[first:])

    def _calls(
        self, own: Sequence[tuple[int, ...]], requests: Sequence[tuple[int, ...]], responses: Sequence[tuple[int, ...]]
    ) -> list[HeldCall | None]:
        """Returns the held calls of rows whose bytes were read from the log."""
        base, data = self._base, self._data
        shared = self._table.shared
        contexts, smbs, texts = shared.contexts, shared.smbs, shared.texts
        places: list[int] = []
        middles: list[int] = []
        rares: list[RareOfCall] = []
        for call, request, response in zip(own, requests, responses, strict=True):
            place, rare = call[_PLACE] - base, call[_RARE]
            middle = place + request[_PARAMS]
            end = middle + response[_PARAMS]
            places.append(place)
            middles.append(middle)
            rares.append(rare_of(data[end : end + rare]) if rare else NOTHING_RARE)
        asked = self._sides(requests, places, [few.request for few in rares])
        answered = self._sides(responses, middles, [few.response for few in rares])
        made: list[HeldCall | None] = []
        for numbers, few, its_request, its_response in zip(own, rares, asked, answered, strict=True):
            if few is not NOTHING_RARE and not (
                _is_plain(its_request, few.request) and _is_plain(its_response, few.response)
            ):
                made.append(None)
                continue
            context, smb, opnum, method, call_id, context_id, state, status, fault, key_number, time, _, _, took = (
                numbers
            )
            made.append(
                HeldCall(
                    contexts[context],
                    smbs[smb],
                    None if opnum < 0 else opnum,
                    texts[method],
                    call_id,
                    context_id,
                    STATES[state],
                    None if status < 0 else status,
                    None if fault < 0 else fault,
                    None if key_number < 0 else key_number,
                    time,
                    None if took < 0 else took,
                    few,
                    its_request,
                    its_response,
                )
            )
        return made

    def _sides(
        self, columns: Sequence[tuple[int, ...]], params_at: Sequence[int], rares: Sequence[RareOfSide | None]
    ) -> list[HeldSide | None]:
        """Returns one side of held calls whose bytes were read from the log."""
        base, data, known, with_pdus = self._base, self._data, self._params, self._with_pdus
        made: list[HeldSide | None] = []
        for of_side, place, rare in zip(columns, params_at, rares, strict=True):
            missing, stub_length, wire_length, flags, kind, start, stop, at, origins, whole, params, *of_stub = of_side
            if missing < 0:
                made.append(None)
                continue
            at, stub = at - base, None
            pdus, ends, unsealed, stub_start, first_time, last_time, begin, end = of_stub
            if not missing:
                if end >= 0:
                    stub = data[begin - base : end - base]
                else:
                    stub = _joined(data, at + origins, whole, pdus, ends)[:stub_length]
            if origins == PACKED_EXTENT.size:
                frames = PACKED_EXTENT.unpack_from(data, at)[:1]
            else:
                frames = PackedOrigins(data[at : at + origins], whole).frames(0, whole)
            held_pdus = None
            if with_pdus:
                ends_at = at + origins + whole + max(unsealed, 0)
                held_pdus = _held_pdus(data, at, at + origins, whole, stub_start, data[ends_at : ends_at + ends], pdus)
            packed = data[place : place + params]
            if (its_params := known.get(packed)) is None:
                its_params = self._decoded(packed)
            made.append(
                HeldSide(
                    MISSING[missing],
                    stub_length,
                    wire_length,
                    trailer_of(flags) if flags else None,
                    flags & BIG_ENDIAN > 0,
                    its_params,
                    None if start < 0 else (start, stop),
                    None if kind < 0 else KINDS[kind],
                    None if rare is None else rare.problem,
                    frames,
                    stub,
                    first_time,
                    last_time,
                    held_pdus,
                )
            )
        return made

    def _decoded(self, params: bytes) -> dict[str, Any]:
        """Unpacks the parameters that a row has for a side of a held call. Equal ones share one object, which nobody changes."""
        found: dict[str, Any] = PARAMS_DECODER.decode(params) if params else {}
        if len(params) <= _PARAMS_LENGTH:
            if len(self._params) == _PARAMS_KEPT:
                self._params.clear()
            self._params[params] = found
        return found


# The columns with the place of a call's parameters, the length of its rare facts, and the length of a side's parameters.
_PLACE, _RARE, _PARAMS = _OF_CALL.index("place"), _OF_CALL.index("rare"), _OF_SIDE.index("params")


def _is_plain(side: HeldSide | None, rare: RareOfSide | None) -> bool:
    """Whether the frames and the stub of a held call's side are known without reading each of its PDUs."""
    if side is None or rare is None:
        return True
    return not (rare.apart or rare.frames_of_dropped or (rare.plains is not None and side.missing is None))


def _extents(rows: npt.NDArray[Any]) -> tuple[list[int], list[int], list[bool], list[int]]:
    """Returns where in the log the bytes of each held call begin and end, which calls are short and in one piece there, and each
    latency."""
    import numpy as np

    place = rows["place"].astype(np.int64)
    begin, is_plain = place.copy(), np.ones(len(rows), np.bool_)
    length = rows["rare"].astype(np.int64)
    for side in ("request_", "response_"):
        is_there, number = rows[side + "side"] >= 0, rows[side + "pdus"]
        at = rows[side + "pdus_place"].astype(np.int64)
        is_plain &= ~is_there | ((number > 0) & (number < APART))
        # A row that replaces another has its PDUs in the place of the first one's.
        is_plain &= ~is_there | (at <= place)
        begin = np.where(is_there, np.minimum(at, begin), begin)
        length += rows[side + "params"]
    stop = place + length
    is_plain &= stop - begin <= _STRETCH
    is_known, latency = latencies_in(lambda name: rows[name])
    return begin.tolist(), stop.tolist(), is_plain.tolist(), np.where(is_known, latency, -1).tolist()


def _side_columns(rows: npt.NDArray[Any], side: str) -> list[tuple[int, ...]]:
    """Returns the columns of one side of held calls, and where each stub begins and ends in the log. The end is -1 if the stub does
    not lie there in one piece."""
    import numpy as np

    unsealed, start = rows[side + "unsealed"].astype(np.int64), rows[side + "stub_start"].astype(np.int64)
    whole = rows[side + "pdus_place"].astype(np.int64) + rows[side + "origins"]
    # The unsealed stub lies behind the PDUs.
    begin = whole + np.where(unsealed >= 0, rows[side + "whole"], start)
    length = np.minimum(rows[side + "stub_length"], np.where(unsealed >= 0, unsealed, rows[side + "stub_stop"] - start))
    end = np.where((unsealed >= 0) | (rows[side + "pdus"] == 1), begin + length, -1)
    columns = [rows[side + name].tolist() for name in _OF_SIDE] + [rows[name].tolist() for name in _TIMES[side]]
    return list(zip(*columns, begin.tolist(), end.tolist(), strict=True))


def _held_pdus(data: bytes, origins_at: int, at: int, whole: int, stub_start: int, ends: bytes, pdus: int) -> HeldPdus:
    """Returns the PDUs of a held call's side from the bytes of the log; `at` is their first byte."""
    if pdus > 1:
        return HeldPdus(data[at : at + whole], ends_in(ends, pdus)[1], stub_start, None)
    place = PACKED_EXTENT.unpack_from(data, origins_at)[:2] if at - origins_at == PACKED_EXTENT.size else None
    return HeldPdus(data[at : at + whole], None, stub_start, place)


def _joined(data: bytes, at: int, whole: int, pdus: int, ends: int) -> bytes:
    """Returns the joined clear stubs of several PDUs of a held call. `whole` is the size of the PDUs, `ends` that of the bounds
    behind them."""
    bounds, stops = ends_in(data[at + whole : at + whole + ends], pdus)
    view = memoryview(data)[at : at + whole]
    return b"".join([view[start:stop] for start, stop in clear_stubs(stops, bounds)])


def held_call_of(call: Call, *, stubs: bool = True) -> HeldCall:
    """Returns a `Call` in the held form, like rows that are not read as one. Without `stubs`, only the parameters of its sides are
    read."""
    return HeldCall(
        shared=Context(*context_of(call)),
        smb=call.smb,
        opnum=call.opnum,
        method=call.method,
        call_id=call.call_id,
        context_id=call.context_id,
        state=call.state,
        status=call.status,
        fault=call.fault,
        key_number=call.key_number,
        time_ns=call.time_ns,
        latency_ns=call.latency_ns,
        rare=RareOfCall(call.reason, call.read, call.key, call.path),
        request=_held_side(call.request, stubs=stubs),
        response=_held_side(call.response, stubs=stubs),
    )


def _held_side(side: Side | None, *, stubs: bool) -> HeldSide | None:
    if side is None:
        return None
    stub = None
    if stubs and side.missing is None:
        # A short stub is read once, a long one in parts.
        found = side.stub
        assert not isinstance(found, Missing)
        stub = side.stub_data if side.stub_length <= _LONG_STUB else found
    return HeldSide(
        missing=side.missing,
        stub_length=side.stub_length,
        wire_length=side.wire_length,
        verification_trailer=side.verification_trailer,
        big_endian=side.big_endian,
        params=side.params,
        buffer_span=side.buffer_span,
        buffer_kind=side.buffer_kind,
        problem=side.problem,
        frames=side.frames if stubs else (),
        stub=stub,
        first_time_ns=side.first_time_ns,
        last_time_ns=side.last_time_ns,
    )
