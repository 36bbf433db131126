"""What the rows of calls state, for those who go through many of them: no `Call` is made of each.

Rows are taken out of the columns a block at a time. Nothing is stated here of a call that is out of the ordinary, and it has to be
looked at as a `Call`. Such a call has several PDUs in clear, or PDUs that were carried or unsealed differently, or is long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from analyzer.core.absence import Missing
from analyzer.core.origins import PackedOrigins, only_frame
from analyzer.core.traced import TracedBytes
from analyzer.results.buffer import BufferKind
from analyzer.results.call import CallState, SmbFacts, StubProblem
from analyzer.results.call_rows import (
    APART,
    BIG_ENDIAN,
    KINDS,
    MISSING,
    NOTHING_RARE,
    PARAMS_DECODER,
    RARE_DECODER,
    STATES,
    Context,
    RareOfCall,
    RareOfSide,
    latencies_in,
    trailer_of,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from analyzer.results.call_table import CallTable

# So many rows are a block.
_BLOCK = 256
# So much of the log is read at once, and so long a call may be.
_STRETCH = 1 << 18
# So many different parameters, each up to so many bytes long, are decoded once for all calls that have them.
_PARAMS_KEPT, _PARAMS_LENGTH = 1 << 10, 1 << 10


class HeldSide(NamedTuple):
    """The request or the response of a call, its fields as those of `Side`; `stub` is its bytes, where somebody wants them, None
    where it is missing."""

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


class HeldCall(NamedTuple):
    """A call, its fields as those of `Call`."""

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
    *("pdus_place", "origins", "whole", "params"),
)


class HeldCalls:
    """Goes through rows of a table of calls."""

    def __init__(self, table: CallTable) -> None:
        self._table = table
        self._params: dict[bytes, dict[str, Any]] = {}
        # What was read of the log last, and where it begins.
        self._base, self._data = 0, b""

    def of(self, places: Sequence[int]) -> Iterator[HeldCall | None]:
        """What rows state; None for a call that has to be looked at."""
        for at in range(0, len(places), _BLOCK):
            yield from self._block(places[at : at + _BLOCK])

    def _block(self, places: Sequence[int]) -> Iterator[HeldCall | None]:
        import numpy as np

        rows = self._table.rows(np.asarray(places, np.int64))
        begin, is_plain, latency = _extents(rows)
        stubs = [_stub_places(rows, side) for side in ("request_", "response_")]
        sides = [
            zip(*(rows[side + name].tolist() for name in _OF_SIDE), *found, strict=True)
            for side, found in zip(("request_", "response_"), stubs, strict=True)
        ]
        own = zip(*(rows[name].tolist() for name in _OF_CALL), strict=True)
        shared, decode = self._table.shared, RARE_DECODER.decode
        contexts, smbs, texts = shared.contexts, shared.smbs, shared.texts
        for first, plain, took, call, request, response in zip(begin, is_plain, latency, own, *sides, strict=True):
            context, smb, opnum, method, call_id, context_id, state, status, fault, key_number, time, place, rare = call
            if not plain:
                yield None
                continue
            middle = place + request[_PARAMS]
            stop = middle + response[_PARAMS]
            self._reach(first, stop + rare)
            few = decode(self._data[stop - self._base : stop + rare - self._base]) if rare else NOTHING_RARE
            if not (_is_plain(request, few.request) and _is_plain(response, few.response)):
                yield None
                continue
            yield HeldCall(
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
                self._side(request, place, few.request) if request[0] >= 0 else None,
                self._side(response, middle, few.response) if response[0] >= 0 else None,
            )

    def _reach(self, begin: int, stop: int) -> None:
        """Has these bytes of the log at hand, and what lies behind them."""
        base = self._base
        if begin < base or stop > base + len(self._data):
            log = self._table.log
            self._base, self._data = begin, log.read(begin, min(max(stop - begin, _STRETCH), log.end - begin))

    def _side(self, columns: tuple[int, ...], params_at: int, rare: RareOfSide | None) -> HeldSide:
        (missing, stub_length, wire_length, flags, kind, start, stop, at, origins, whole, params, stub, stub_stop) = (
            columns
        )
        base, data = self._base, self._data
        at -= base
        params_at -= base
        captured = data[at : at + origins]
        frame = only_frame(captured)
        return HeldSide(
            MISSING[missing],
            stub_length,
            wire_length,
            trailer_of(flags) if flags else None,
            flags & BIG_ENDIAN > 0,
            self._decoded(data[params_at : params_at + params]) if params else {},
            None if start < 0 else (start, stop),
            None if kind < 0 else KINDS[kind],
            None if rare is None else rare.problem,
            (frame,) if frame is not None else PackedOrigins(captured, whole).frames(0, whole),
            None if missing else data[stub - base : stub_stop - base],
        )

    def _decoded(self, params: bytes) -> dict[str, Any]:
        """Parameters, which nobody changes: the same object for all that are the same."""
        found = self._params.get(params)
        if found is None:
            found = PARAMS_DECODER.decode(params)
            if len(params) <= _PARAMS_LENGTH:
                if len(self._params) == _PARAMS_KEPT:
                    self._params.clear()
                self._params[params] = found
        return found


# Which column of a side is how long its parameters are.
_PARAMS = _OF_SIDE.index("params")


def _is_plain(columns: tuple[int, ...], rare: RareOfSide | None) -> bool:
    """Whether the frames and the stub of a side are had without looking at each of its PDUs."""
    return rare is None or not (rare.apart or rare.frames_of_dropped or (rare.plains is not None and columns[0] == 0))


def _extents(rows: npt.NDArray[Any]) -> tuple[list[int], list[bool], list[int]]:
    """Where in the log the bytes of each call begin, which of them are at hand from there on, and how long each answer took."""
    import numpy as np

    place = rows["place"].astype(np.int64)
    begin, is_plain = place.copy(), np.ones(len(rows), np.bool_)
    length = rows["rare"].astype(np.int64)
    for side in ("request_", "response_"):
        is_there, number = rows[side + "side"] >= 0, rows[side + "pdus"]
        at = rows[side + "pdus_place"].astype(np.int64)
        is_plain &= ~is_there | (number == 1) | ((rows[side + "unsealed"] >= 0) & (number > 1) & (number < APART))
        # A row that says better what was known of a call has its PDUs where the first one had them.
        is_plain &= ~is_there | (at <= place)
        begin = np.where(is_there, np.minimum(at, begin), begin)
        length += rows[side + "params"]
    is_plain &= place + length - begin <= _STRETCH
    is_known, latency = latencies_in(lambda name: rows[name])
    return begin.tolist(), is_plain.tolist(), np.where(is_known, latency, -1).tolist()


def _stub_places(rows: npt.NDArray[Any], side: str) -> tuple[list[int], list[int]]:
    """Where in the log the stubs of a side begin and end, as far as they lie there in one piece."""
    import numpy as np

    unsealed, start = rows[side + "unsealed"].astype(np.int64), rows[side + "stub_start"].astype(np.int64)
    whole = rows[side + "pdus_place"].astype(np.int64) + rows[side + "origins"]
    # What was unsealed lies behind the PDUs.
    begin = whole + np.where(unsealed >= 0, rows[side + "whole"], start)
    length = np.minimum(rows[side + "stub_length"], np.where(unsealed >= 0, unsealed, rows[side + "stub_stop"] - start))
    return begin.tolist(), (begin + length).tolist()
