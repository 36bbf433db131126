"""Pairs the requests and responses of one DCERPC association, fragment by fragment (C706 12.6.4.9, 12.6.4.10; [MS-RPCE] 3.3).

Calls of one association may overlap and their fragments interleave, so each is kept by its call id until it is emitted; an id may
be used again afterwards. Each side of a call, request and response, goes through three states:

    state      input                       next state
    EMPTY      a fragment, not the last    PARTIAL
    EMPTY      the last fragment           COMPLETE
    PARTIAL    a fragment, not the last    PARTIAL
    PARTIAL    the last fragment           COMPLETE
    COMPLETE   one behind a damaged one    COMPLETE

The states of both sides decide when the call is emitted:

    request    response    what is waited for
    EMPTY      any         the request: the capture may have swapped frames (`_early`)
    PARTIAL    COMPLETE    the rest of the request, unless a gap took a part of it
    COMPLETE   EMPTY       the response, unless the call is of the kind that has none (maybe)
    COMPLETE   PARTIAL     the rest of the response
    COMPLETE   COMPLETE    nothing: emitted

A gap marks every call it may have touched: requests half sent (client side), responses half sent or still awaited (server side).
What a gap took stays missing, and the call states it.

`PduList` holds the PDUs of a message that is still incoming. Long messages are spilled to a file.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from itertools import accumulate, chain

from msgspec import Struct

from analyzer.auth.security_types import Sender, Unprotected
from analyzer.core.byte_log import Log
from analyzer.core.byte_origins import PackedOrigins, Source, spanned
from analyzer.core.events import Event, Problem
from analyzer.core.limits import Limits
from analyzer.core.times import earliest
from analyzer.core.traced_bytes import EMPTY, StoredBytes, TracedBytes, data_of
from analyzer.results.calls.pdus import Fragments, Pdus, Plain, fragment_of, stub_place
from analyzer.results.security import Decryption
from analyzer.transport.channel.channels import SmbInfo
from analyzer.transport.rpc.pdu import (
    FIRST_FRAG,
    LAST_FRAG,
    MAYBE,
    CallHead,
    PduHeader,
    Ptype,
    SecTrailer,
    pdu_bytes,
)
from analyzer.transport.rpc.presentations import Presentation
from analyzer.transport.rpc.security_table import Security

# --------------------------------------------------------------------------------------------- pdus of incoming message


# Of a PDU: its length, where its stub begins and stops, what came of it (spilled: where that lies in the log), and what opened it.
_OfPdu = tuple[int, int, int, Plain | tuple[int, int], str]
# Piece, where a PDU begins in it, and the rest.
_Row = tuple[TracedBytes, int, _OfPdu]
# So many bytes of a message stay in memory.
_ROOM = 1 << 22


class PduList(Struct):
    """The PDUs of a request or response to be paired that is still incoming. One piece may hold several, and nothing is copied
    until all are there.

    Long requests and responses are spilled to the log; without one, all PDUs stay in memory.
    """

    _log: Log | None = None
    _rows: list[_Row] = []  # each has its own
    _held: int = 0
    # How many rows are spilled.
    _spilled: int = 0

    def add(self, part: FragmentPart) -> int:
        """Adds a PDU, and those alike, to its request or response being paired. Returns how many bytes of memory it holds more: a
        piece with several PDUs is held once."""
        rows, piece = self._rows, part.piece
        of_pdu = part.length, part.start, part.stop, part.plain, part.step
        more = 0 if rows and rows[-1][0] is piece else len(piece.data)
        rows.append((piece, part.at, of_pdu))
        self._held += part.length
        if part.alike:
            for other, at in part.alike:
                if other is not piece:
                    piece, more = other, more + len(other.data)
                rows.append((piece, at, of_pdu))
            self._held += part.length * len(part.alike)
        if self._held > _ROOM and self._log is not None:
            self._spill(self._log)
        return more

    def _spill(self, log: Log) -> None:
        """Writes the held bytes of the PDUs of a request or response being paired to the log."""
        rows, first = self._rows, self._spilled
        for number in range(first, len(rows)):
            piece, at, of_pdu = rows[number]
            length = of_pdu[0]
            position = log.append(piece.data[at : at + length])
            spilled = StoredBytes.from_store(log, position, length, piece.source, piece.start + at, piece.steps)
            rows[number] = (spilled, 0, of_pdu)
        for number in range(first, len(rows)):
            piece, at, (length, start, stop, plain, step) = rows[number]
            if isinstance(plain, bytes):
                rows[number] = (piece, at, (length, start, stop, (log.append(plain), len(plain)), step))
        self._spilled, self._held = len(rows), 0

    @property
    def only_stub(self) -> bytes | None:
        """The stub of a request or response being paired that is one PDU, None if it has several or stayed sealed."""
        if len(self._rows) != 1:
            return None
        piece, at, (_, start, stop, plain, _) = self._rows[0]
        if plain is None:
            return piece.data[at + start : at + stop]
        return plain if isinstance(plain, bytes) else None

    def _runs(self) -> list[tuple[TracedBytes, int, int]]:
        """Returns piece, first and last byte of the PDUs of a request or response being paired. Neighbours in one piece are
        joined."""
        runs: list[tuple[TracedBytes, int, int]] = []
        before, first, last = EMPTY, 0, 0
        for piece, at, of_pdu in self._rows:
            if piece is not before or at != last:
                if last > first:
                    runs.append((before, first, last))
                before, first = piece, at
            last = at + of_pdu[0]
        return [*runs, (before, first, last)]

    def note_frames(self, frames: set[int]) -> None:
        for piece, first, last in self._runs():
            piece.source.note_frames(piece.start + first, piece.start + last, frames)

    @property
    def times(self) -> tuple[int, int] | None:
        """The times of the earliest and the latest frame in a request or response being paired, by its PDUs."""
        spans = [piece.source.times(piece.start + first, piece.start + last) for piece, first, last in self._runs()]
        return spans[0] if len(spans) == 1 else spanned(spans)

    def kept(self) -> tuple[Fragments, tuple[int, int] | None]:
        """Returns all PDUs of the paired request or response, independent of the buffers of the layers, and the times of their
        earliest and latest frame."""
        if not self._rows:
            return (), None
        if len(self._rows) == 1:
            piece, at, (length, start, stop, plain, step) = self._rows[0]
            whole, times = piece.settled(at, at + length)
            found = plain if not isinstance(plain, tuple) else self._plain(plain)
            return Pdus.of_one(whole, start, stop, found, step), times
        if self._spilled and self._log is not None:
            self._spill(self._log)
        pieces, _, of_pdus = zip(*self._rows, strict=True)
        lengths, starts, stops, plains, steps = zip(*of_pdus, strict=True)
        opened_by, carried = set(steps) - {""}, {piece.steps for piece in pieces}
        step = next(iter(opened_by), "")
        if len(opened_by) > 1 or len(carried) > 1:
            # Differently carried or opened: not ordinary traffic, so it may cost more.
            fragments = [
                fragment_of(piece.settled(at, at + length)[0], start, stop, self._plain(plain), own_step or step)
                for piece, at, (length, start, stop, plain, own_step) in self._rows
            ]
            return tuple(fragments), self.times
        runs, bounds = self._runs(), array("I", chain.from_iterable(zip(starts, stops, strict=True)))
        origins, times = TracedBytes.settled_place(runs)
        if not self._spilled or self._log is None:
            whole = TracedBytes(data_of(runs), origins, 0, *carried)
            return Pdus.from_lengths(whole, lengths, bounds, plains, step), times
        return self._spilled_pdus(self._log, origins, lengths, bounds, step), times

    def _spilled_pdus(
        self, log: Log, origins: PackedOrigins, lengths: Sequence[int], bounds: array[int], step: str
    ) -> Pdus:
        """Returns the PDUs of the request or response being paired, which were all spilled to the log. Unsealed stubs stay there
        too, if all are."""
        places = [(piece.position, len(piece)) for piece, *_ in self._rows if isinstance(piece, StoredBytes)]
        whole = _logged(log, places, origins, 0, self._rows[0][0].steps)
        plains = [of_pdu[3] for *_, of_pdu in self._rows]
        unsealed = [plain for plain in plains if isinstance(plain, tuple)]
        if len(unsealed) < len(self._rows):
            return Pdus.from_lengths(whole, lengths, bounds, tuple(map(self._plain, plains)), step)
        stops = array("I", accumulate(lengths))
        stub = _logged(log, unsealed, *stub_place(whole, stops, bounds), (*whole.steps, step))
        return Pdus(whole, stops, bounds, step, None, stub)

    def _plain(self, plain: Plain | tuple[int, int]) -> Plain:
        return self._log.read(*plain) if isinstance(plain, tuple) and self._log is not None else plain  # type: ignore[return-value]


def _logged(
    log: Log, places: Iterable[tuple[int, int]], source: Source, start: int, steps: tuple[str, ...]
) -> TracedBytes:
    """Joins what was spilled of a call being paired: bytes of PDUs or unsealed stubs at some places of a log. Neighbours are read
    together."""
    parts = list[StoredBytes]()
    for position, length in places:
        last = parts[-1] if parts else None
        if last is not None and last.position + len(last) == position:
            parts[-1] = StoredBytes.from_store(log, last.position, len(last) + length, source, last.start, steps)
        else:
            parts.append(StoredBytes.from_store(log, position, length, source, start, steps))
        start += length
    return TracedBytes.rejoined(parts)


# --------------------------------------------------------------------------------------------------------- call pairing


# Memory of a call under way, and of each fragment of it beside the bytes, as measured.
_CALL_COST, _FRAGMENT_COST = 2000, 400
# Responses seen before their request (frames swapped by the capture) wait for it; more than a handful is no swap.
_MAX_EARLY = 16
_FAULT = Ptype.FAULT


class SideState(Enum):
    """The state of a call's request or response: how much of it was captured so far."""

    EMPTY = "empty"
    PARTIAL = "partial"
    COMPLETE = "complete"


_EMPTY, _PARTIAL, _COMPLETE = SideState.EMPTY, SideState.PARTIAL, SideState.COMPLETE


class FragmentPart(Struct, frozen=True):
    """One fragment of a DCERPC call: `length` bytes of `piece` from `at` on. Its stub is `start` to `stop` of them.

    `plain` is what came of the stub, `step` what unsealed it; `cut` states why the fragment ends early, `bad` what is wrong
    with it. `alike` says where fragments lie that follow it and are like it in all of this.
    """

    piece: TracedBytes
    at: int
    length: int
    smb: SmbInfo | None
    start: int
    stop: int
    plain: Plain
    step: str = ""
    security: Security | None = None
    trailer: SecTrailer | None = None
    unsealed: Unprotected | None = None
    cut: str | None = None
    bad: str | None = None
    alike: Sequence[tuple[TracedBytes, int]] = ()

    @property
    def data(self) -> TracedBytes:
        return pdu_bytes(self.piece, self.at, self.length)


class CallSide(Struct):
    """The request or the response of a call under way, as far as its fragments came.

    `memory` is roughly the bytes of memory its fragments take, `whole` whether all are there, `has_cut` whether one of them is cut.
    `lacks_first`: the first one of an answer was not captured.
    `hides_trailer`: the header of one announces a security trailer that cannot be read. `still_sealed` is the first fragment with a
    trailer that stayed sealed. `is_altered`: the SMB signature of a message that carried one does not fit. `place` counts the
    requests (or responses) of the association from 1, in the order in which they became complete; 0 for others.
    """

    pdus: PduList
    state: SideState = _EMPTY
    memory: int = 0
    whole: bool = False
    has_cut: bool = False
    lacks_first: bool = False
    hides_trailer: bool = False
    wire_length: int = 0
    hint: int = 0
    first_length: int = 0
    damage: str | None = None
    malformed: str | None = None
    over_limit: bool = False
    dropped_frames: set[int] | None = None
    dropped_times: tuple[int, int] | None = None
    order_big: bool = False
    security: Security | None = None
    trailer: SecTrailer | None = None
    still_sealed: Unprotected | None = None
    is_sealed: bool = False
    verdicts: frozenset[bool | None] = frozenset()
    header_signed: frozenset[bool] = frozenset()
    is_bare: bool = False
    smb: SmbInfo | None = None
    is_altered: bool = False
    place: int = 0

    def add(self, header: PduHeader, part: FragmentPart, max_stub: int, out: list[Event]) -> int:
        """Takes one fragment of a call's request or response, with those alike. Returns how many more bytes of memory the side
        takes. This is negative if its stub becomes longer than `max_stub` bytes and is dropped."""
        length, before = part.stop - part.start, self.memory
        if self.state is _EMPTY:
            self.smb = part.smb
            self.order_big = header.order == "big"
        if not self.wire_length:
            self.first_length = length
        if header.flags & LAST_FRAG:
            self.state = _COMPLETE
        elif self.state is _EMPTY:
            self.state = _PARTIAL  # after a damaged fragment, more may follow the last one
        if (smb := part.smb) is not None and smb.signature_ok is False:
            self.is_altered = True
        if part.cut is not None:
            self.damage, self.has_cut = self.damage or part.cut, True
        if part.bad is not None:
            self.malformed = self.malformed or part.bad
        if part.unsealed is not None:
            self._note(part, part.unsealed)
        elif header.auth_length:
            self.is_bare = self.hides_trailer = True
        elif header.ptype != _FAULT:
            self.is_bare = True
        count = 1 + len(part.alike)
        if self.wire_length + count * length <= max_stub:
            self.wire_length += count * length
            self.memory += count * _FRAGMENT_COST + self.pdus.add(part)
        else:
            self._add_beyond(header, part, max_stub, out)
        if self.state is _COMPLETE:
            # The first one's alloc_hint announces the length of the whole stub. It is a hint: a gap between first and last is no
            # loss where by it nothing is missing, and fragments are missing without a gap where it lacks at least one of them. What
            # is there of a cut one may be as long as the stub, and only lack what would unseal it.
            hint, there, first = self.hint, self.wire_length, self.first_length
            is_short = there > first and hint - there >= first > 0
            is_there = there == hint > 0 or (self.damage is None and not is_short)
            self.whole = is_there and not (self.over_limit or self.has_cut)
        return self.memory - before

    def _note(self, part: FragmentPart, unsealed: Unprotected) -> None:
        """Notes the result of unsealing a fragment of a call's request or response."""
        if self.security is None:
            self.security, self.trailer = part.security, part.trailer
        if unsealed.body is None and self.still_sealed is None:
            self.still_sealed = unsealed
        self.is_sealed |= unsealed.decryption is not Decryption.NOT_SEALED
        if unsealed.verified not in self.verdicts:
            self.verdicts |= {unsealed.verified}
        if (signed := unsealed.header_signed) is not None and signed not in self.header_signed:
            self.header_signed |= {signed}

    def _add_beyond(self, header: PduHeader, part: FragmentPart, max_stub: int, out: list[Event]) -> None:
        """Takes fragments with which the request or response becomes longer than `max_stub` bytes, and drops all of it."""
        for piece, at in ((part.piece, part.at), *part.alike):
            data = pdu_bytes(piece, at, part.length)
            self.wire_length += part.stop - part.start
            if self.wire_length > max_stub and not self.over_limit:
                text = f"the stub of call {header.call_id} is larger than {max_stub} bytes"
                out.append(Problem("limit", "rpc", data.frames, text))
                self.over_limit = True
            self._drop(data)
        self.memory = 0

    def _drop(self, last: TracedBytes) -> None:
        """Drops all fragments of a request or response, `last` among them, but keeps their frames and times."""
        self.dropped_times = spanned([self.times, last.times])
        dropped = self.dropped_frames = self.dropped_frames or set()
        self.pdus.note_frames(dropped)
        last.note_frames(dropped)
        self.pdus = PduList()

    @property
    def frames(self) -> set[int]:
        found = set(self.dropped_frames or ())
        self.pdus.note_frames(found)
        return found

    @property
    def times(self) -> tuple[int, int] | None:
        """The times of the earliest and the latest frame in the request or response of a call being paired."""
        times = self.pdus.times
        return spanned([self.dropped_times, times]) if self.dropped_times is not None else times


class PendingCall(Struct):
    """One DCERPC call under way.

    `answer_context` is the context id of the response, if it differs from the request's. `is_ahead`: by its call id, the response
    belongs to a request that is still to come. `is_swapped`: it was captured before that.
    """

    call_id: int
    context_id: int
    request: CallSide
    response: CallSide
    opnum: int | None = None
    object_uuid: str | None = None
    drep: bytes = b""
    maybe: bool = False
    fault: int | None = None
    cancelled: bool = False
    orphaned: bool = False
    answer_gap: tuple[int, ...] | None = None
    answer_context: int | None = None
    has_request: bool = False
    is_ahead: bool = False
    is_swapped: bool = False
    # Found when the call is finished.
    presentation: Presentation | None = None

    @property
    def first_frame(self) -> int:
        return min(self.request.frames or self.response.frames or {0})

    @property
    def times(self) -> tuple[int, int] | None:
        """The times of the earliest and the latest frame of the pending call's request, or of its response if the request is
        missing."""
        return self.request.times or self.response.times


# Makes the event of a call as far as it got; the text explains a missing response. None: the call is not wanted.
Emit = Callable[[PendingCall, str], Event | None]


class CallPairing:
    """Pairs DCERPC requests and responses into calls. `emit` makes the event of each finished call."""

    def __init__(self, limits: Limits, emit: Emit, spill: Log | None = None) -> None:
        self._spill = spill
        self._max_stub = limits.stub
        # Calls whose responses a gap took are kept until the channel closes; beyond so many, the oldest is emitted early.
        self._most = limits.calls_pending
        self._has_reported_most = False
        self._give = emit
        # About how many bytes of memory the calls under way take.
        self.memory = 0
        # By call id.
        self.pending: dict[int, PendingCall] = {}
        self._early: dict[int, PendingCall] = {}
        self._last_call_id: int | None = None
        # How many requests and responses became complete.
        self._asked = self._answered = 0
        self._ids_step_by_one = True
        self._gap_since_request = False

    @property
    def has_met_requests(self) -> bool:
        return self._last_call_id is not None

    def open_since(self, since_ns: int) -> int | None:
        """Returns the earliest beginning, from `since_ns` on, of a pending call of the association."""
        times = (call.request.times for call in self.pending.values())
        return earliest((both[0] for both in times if both is not None), since_ns)

    def open_before(self, before_ns: int) -> Iterator[PendingCall]:
        """Yields the pending calls that began before this time, also those whose request is missing."""
        for call in (*self._early.values(), *self.pending.values()):
            if (times := call.times) is not None and times[0] < before_ns:
                yield call

    def request(self, header: PduHeader, head: CallHead, part: FragmentPart, out: list[Event]) -> None:
        """Takes a fragment of a DCERPC request; emits its call if that is complete."""
        call = self.pending.get(header.call_id)
        if call is not None and (header.flags & FIRST_FRAG or call.request.state is _COMPLETE):
            self._emit(call, "its call id was used again before an answer came", out)
            call = None
        if call is None:
            call = self._new_call(header, head, part, out)
        if header.flags & MAYBE:
            call.maybe = True
        call.has_request = True
        self.memory += call.request.add(header, part, self._max_stub, out)
        if call.request.state is not _COMPLETE:
            return
        call.request.place = self._asked = self._asked + 1
        if call.maybe or call.response.state is _COMPLETE:
            self._emit(call, "", out)
        elif self._early:
            early = self._early.get(header.call_id)
            if early is not None and (early.is_ahead or _asked_before(call, early)):
                del self._early[header.call_id]
                call.response, call.fault, call.is_swapped = early.response, early.fault, early.is_ahead
                if early.context_id != call.context_id:
                    call.answer_context = early.context_id
                self.memory -= _CALL_COST
                self._emit(call, "", out)

    def response(self, header: PduHeader, head: CallHead, part: FragmentPart, out: list[Event]) -> None:
        """Takes a fragment of a DCERPC response or fault. The last one emits the call, unless more of its request may come."""
        call, is_first = self.pending.get(header.call_id), header.flags & FIRST_FRAG
        if call is None or call.response.state is _COMPLETE:
            call = self._early_call(header, head, out)
        side = call.response
        if side.state is _EMPTY:
            if head.context_id != call.context_id:
                call.answer_context = head.context_id
            if is_first:
                side.hint = head.alloc_hint
            else:
                side.damage = "the first fragment of the answer was not captured"
                side.lacks_first = True
        elif is_first:
            side.malformed = "a first fragment comes in the middle of an answer"
        if head.status is not None:
            call.fault = head.status
        self.memory += side.add(header, part, self._max_stub, out)
        if side.state is not _COMPLETE:
            return
        side.place = self._answered = self._answered + 1
        request = call.request
        if request.state is _COMPLETE or (call.has_request and request.damage is not None):
            self._emit(call, "", out)

    def lost(self, sender: Sender, frames: tuple[int, ...], where: str) -> None:
        """Notes that bytes of this sender were lost: a fragment of its current call, or a whole response, may be among them."""
        self.damage(sender, where)
        if sender == "initiator":
            self._gap_since_request = True
            return
        for call in self.pending.values():
            if call.request.state is _COMPLETE and call.response.state is _EMPTY:
                call.answer_gap = call.answer_gap or frames

    def damage(self, sender: Sender, where: str) -> None:
        """Marks the half-sent calls of this sender as damaged: one of their fragments may be missing."""
        for call in self.pending.values():
            side = call.request if sender == "initiator" else call.response
            if side.state is _PARTIAL and side.damage is None:
                side.damage = where

    def finish(self, why: str, out: list[Event]) -> None:
        """Emits all calls that are left when the channel ends. `why` explains calls without a response."""
        for call in sorted((*self._early.values(), *self.pending.values()), key=lambda call: call.first_frame):
            self._emit(call, why, out)
        self._early.clear()
        self.pending.clear()

    def _new_call(self, header: PduHeader, head: CallHead, part: FragmentPart, out: list[Event]) -> PendingCall:
        last, self._last_call_id = self._last_call_id, header.call_id
        if last is not None and (self._gap_since_request or header.call_id != last + 1):
            self._note_skipped_ids(last, header, part, out)
        call = self._begun(header, head)
        if header.flags & FIRST_FRAG:
            call.request.hint = head.alloc_hint
        else:
            call.request.damage = "the first fragment of the request was not captured"
        if len(self.pending) >= self._most:
            self._emit_oldest(part, out)
        self.pending[header.call_id] = call
        self.memory += _CALL_COST
        return call

    def _begun(self, header: PduHeader, head: CallHead) -> PendingCall:
        """Makes a new pending call, still without fragments. Long fragments are spilled to the log."""
        request, response = CallSide(PduList(self._spill)), CallSide(PduList(self._spill))
        own = head.opnum, head.object_uuid, header.drep
        return PendingCall(header.call_id, head.context_id, request, response, *own)

    def _emit_oldest(self, part: FragmentPart, out: list[Event]) -> None:
        """Emits the oldest pending call, because too many are under way and it had no answer for long."""
        if not self._has_reported_most:
            self._has_reported_most = True
            text = f"more than {self._most} calls of one association wait for answers; the oldest are given up"
            out.append(Problem("limit", "rpc", part.data.frames, text))
        oldest = self.pending[next(iter(self.pending))]
        self._emit(oldest, f"no answer among the {self._most} calls after it", out)

    def _early_call(self, header: PduHeader, head: CallHead, out: list[Event]) -> PendingCall:
        """Returns the pending call of a response whose request was not met yet, or makes one."""
        call = self._early.get(header.call_id)
        if call is not None and (call.response.state is _COMPLETE or header.flags & FIRST_FRAG):
            del self._early[header.call_id]
            self._emit(call, "", out)
            call = None
        if call is None:
            call, last = self._begun(header, head), self._last_call_id
            is_counted = self._ids_step_by_one and not self._gap_since_request
            call.is_ahead = last is not None and last < header.call_id and is_counted
            if len(self._early) >= _MAX_EARLY:
                self._emit(self._early.pop(next(iter(self._early))), "", out)
            self._early[header.call_id] = call
            self.memory += _CALL_COST
        return call

    def _emit(self, call: PendingCall, why: str, out: list[Event]) -> None:
        """Emits a finished call, its request with its response."""
        if self.pending.get(call.call_id) is call:
            del self.pending[call.call_id]
        self.memory -= _CALL_COST + call.request.memory + call.response.memory
        if (event := self._give(call, why)) is not None:
            out.append(event)

    def _note_skipped_ids(self, last: int, header: PduHeader, part: FragmentPart, out: list[Event]) -> None:
        """Notes DCERPC requests that were not captured: clients count their calls, so after a gap the call ids show which are
        missing."""
        skipped = header.call_id - last - 1
        if self._gap_since_request and self._ids_step_by_one and 0 < skipped < self._most:
            calls = f"call {last + 1}" if skipped == 1 else f"calls {last + 1} to {header.call_id - 1}"
            out.append(Problem("gap", "rpc", part.data.frames, f"the requests of {calls} were not captured"))
        elif not self._gap_since_request and skipped:
            self._ids_step_by_one = False
        self._gap_since_request = False


def _asked_before(call: PendingCall, early: PendingCall) -> bool:
    """Whether a request was sent before its response by the capture's clock, though it stands behind it in the file."""
    asked, answered = call.request.times, early.response.times
    return asked is not None and answered is not None and asked[1] <= answered[0]
