"""One DCERPC association: its PDUs in, calls paired and opened out (C706 chapters 9 and 12; [MS-RPCE] 3.3).

The story of a call: its request gathers fragments until the last flag, its answer (response or fault) likewise; then it is
told as an `Exchange`. Calls of one association may overlap and their fragments interleave, so each is kept by its call id until
it is told; an id may be used again afterwards. A gap marks every call it may have touched: requests half sent (client side),
answers half sent or still awaited (server side). What a gap took stays missing, and the call says so.

The story of a presentation context: offered in bind or alter_context, kept under the offer's call id until the answer tells,
position by position, what became of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from analyzer.auth.context import Handshake, SearchBudget, Sender
from analyzer.core.absence import Missing
from analyzer.core.errors import DecodeError, MalformedError
from analyzer.core.events import Event, Problem
from analyzer.core.frames import number_of
from analyzer.core.traced import TracedBytes, spanned
from analyzer.model.call import CallState
from analyzer.model.connection import Bound, Channel, FeaturesOffered, Pdu
from analyzer.model.pdus import Plain, stub_of, times_of
from analyzer.model.security import AuthInfo, AuthLevel, AuthType, Door, Identity
from analyzer.rpc import trailer as verification
from analyzer.rpc.events import Exchange, Message
from analyzer.rpc.framing import CutPdu, Framer, Lost, RawPdu
from analyzer.rpc.pdu import (
    CLIENT_PTYPES,
    FIRST_FRAG,
    HEADER_LEN,
    LAST_FRAG,
    LITTLE_SEC,
    MAYBE,
    OBJECT_UUID,
    QUICK_RESPONSE,
    RESPONSE_LEN,
    SEC_TRAILER_LEN,
    SERVER_PTYPES,
    SUPPORT_HEADER_SIGN,
    Bind,
    BindAck,
    CallHead,
    Header,
    Offer,
    Ptype,
    SecTrailer,
    Syntax,
    find_sec_trailer,
    parse_bind,
    parse_bind_ack,
    parse_bind_nak,
    parse_call_head,
    read_header,
)
from analyzer.rpc.pdus import PduList
from analyzer.rpc.security import Opened, Security, SecurityTable
from analyzer.rpc.status import bind_nak_reason, bind_result_reason
from analyzer.rpc.syntaxes import NDR64, is_feature_negotiation, syntax_name
from analyzer.smb.events import ChannelData, ChannelGap, ChannelMessages, SmbInfo, Span

# Calls whose answers a gap took are kept until the channel closes; a channel that loses this many has the oldest told early.
_MAX_PENDING = 1024
# Answers seen before their question (frames swapped by the capture) wait for it; more than a handful is no swap.
_MAX_EARLY = 16
_MAX_OFFERS = 16
# Plain numbers: members of an enumeration are slower to find and to compare.
_REQUEST, _RESPONSE, _PRIVACY = int(Ptype.REQUEST), int(Ptype.RESPONSE), int(AuthLevel.PRIVACY)
_WHOLE_MASK = FIRST_FRAG | LAST_FRAG | MAYBE | OBJECT_UUID


_NO_SECURITY = AuthInfo(AuthType.NONE, AuthLevel.NONE, "none", None, Door.NOT_SEALED, None, None)


class _Side:
    """The request or the answer of a call while it is gathered."""

    __slots__ = (
        "began",
        "damage",
        "done",
        "dropped_frames",
        "dropped_times",
        "first_length",
        "header_signed",
        "hint",
        "is_bare",
        "is_sealed",
        "malformed",
        "order_big",
        "over_limit",
        "pdus",
        "security",
        "shut",
        "smb",
        "trailer",
        "verdicts",
        "wire_length",
    )

    def __init__(self) -> None:
        self.pdus = PduList()
        self.wire_length = 0
        self.hint = 0
        self.first_length = 0
        self.began = False
        self.done = False
        self.damage: str | None = None
        self.malformed: str | None = None
        self.over_limit = False
        self.dropped_frames: set[int] = set()
        self.dropped_times: tuple[int, int] | None = None
        self.order_big = False
        self.security: Security | None = None
        self.trailer: SecTrailer | None = None
        # What came of the PDUs with a trailer: the first one that stayed closed, and all there was of the rest.
        self.shut: Opened | None = None
        self.is_sealed = False
        self.verdicts: set[bool | None] = set()
        self.header_signed: set[bool] = set()
        self.is_bare = False
        self.smb: SmbInfo | None = None

    def note(self, opened: Opened) -> None:
        """What came of a PDU with a trailer."""
        if opened.plain is None and self.shut is None:
            self.shut = opened
        self.is_sealed |= opened.sealed
        self.verdicts.add(opened.verified)
        if opened.header_signed is not None:
            self.header_signed.add(opened.header_signed)

    def drop(self, *more: TracedBytes) -> None:
        """Keeps nothing of the PDUs that were added and of `more` but where they were."""
        self.dropped_times = self.times
        self.pdus.note_frames(self.dropped_frames)
        self.pdus = PduList()
        for pdu in more:
            pdu.note_frames(self.dropped_frames)
            self.dropped_times = spanned([self.dropped_times, pdu.times])

    @property
    def frames(self) -> set[int]:
        found = set(self.dropped_frames)
        self.pdus.note_frames(found)
        return found

    @property
    def times(self) -> tuple[int, int] | None:
        """Times of its earliest and its latest frame."""
        return spanned([self.dropped_times, self.pdus.times])

    @property
    def whole(self) -> bool:
        """All fragments are there.

        The first one's alloc_hint announces the length of the whole stub. It is a hint: a gap between first and last is no loss
        where it says that nothing is missing, and fragments are missing without a gap where it lacks at least one of them.
        """
        if not (self.began and self.done) or self.over_limit:
            return False
        if self.hint and self.wire_length == self.hint:
            return True
        return self.damage is None and not self.is_short

    @property
    def is_short(self) -> bool:
        return self.wire_length > self.first_length and self.hint - self.wire_length >= self.first_length > 0


class _Part(Struct):
    """One fragment and what came of it: `cut` says why it ends early, `bad` what is wrong with it. `step` opened `plain`."""

    data: TracedBytes
    smb: SmbInfo | None
    start: int
    stop: int
    plain: Plain
    step: str = ""
    security: Security | None = None
    trailer: SecTrailer | None = None
    opened: Opened | None = None
    cut: str | None = None
    bad: str | None = None


class _Call:
    """One remote call on its way."""

    def __init__(self, call_id: int, context_id: int) -> None:
        self.call_id = call_id
        self.context_id = context_id
        self.opnum: int | None = None
        self.object_uuid: str | None = None
        self.drep = b""
        self.maybe = False
        self.request = _Side()
        self.response = _Side()
        self.has_request = False
        self.fault: int | None = None
        self.cancelled = False
        self.orphaned = False
        self.answer_gap: tuple[int, ...] | None = None
        self.presentation: _Presentation | None = None


class _Presentation(Struct, frozen=True):
    """A presentation context as far as the capture tells. `transfer` is None where the answer was not captured."""

    abstract: Syntax
    transfer: Syntax | None

    @property
    def is_ndr64(self) -> bool:
        return self.transfer is not None and self.transfer.uuid == NDR64


class _Offered(Struct, frozen=True):
    offers: tuple[Offer, ...]
    frames: tuple[int, ...]
    joins_group: bool


class Association:
    """Everything known of one channel."""

    def __init__(
        self,
        channel: Channel,
        begin: Callable[[int], Handshake],
        search: SearchBudget,
        max_stub: int,
        pdus: bool,
    ) -> None:
        self._channel = channel
        self._max_stub = max_stub
        self._pdus = pdus
        self._framers = {True: Framer(), False: Framer()}
        self._swapped = False
        self._security = SecurityTable(begin, search)
        self._header_signing: bool | None = None
        self._presentations: dict[int, _Presentation] = {}
        self._offers: dict[int, _Offered] = {}
        self._early_acks: dict[int, RawPdu] = {}
        self._calls: dict[int, _Call] = {}
        self._early: dict[int, _Call] = {}
        self._last_call_id: int | None = None
        self._ids_step_by_one = True
        self._gap_since_request = False
        self._has_gap = False
        self._auth_told = _NO_SECURITY

    # What happens on the channel

    def data(self, event: ChannelData) -> Iterable[Event]:
        """Bytes of one direction."""
        from_client, data, smb = event.from_client, event.data, event.smb
        framer = self._framers[from_client]
        if self._pdus:
            return self._long(from_client, data, smb, event.fresh)
        out: list[Event] = []
        begun = 0
        if not framer.at_rest:
            # What completes the PDU that is held goes the long way, and what follows it perhaps not.
            begun = framer.wanted
            if not 0 < begun < len(data):
                return self._long(from_client, data, smb, event.fresh)
            out.extend(self._long(from_client, data[:begun], smb, event.fresh))
        taken = begun
        if framer.at_rest:
            _, taken = self._quick(from_client, smb, out, ((data, begun, len(data)),))
            framer.passed(taken - begun)
        if not taken and (whole := self._only(data, smb)) is not None:
            framer.passed(len(data))
            return self._pdu(from_client, whole)
        if taken < len(data):
            rest, fresh = (data[taken:], False) if taken else (data, event.fresh)
            out.extend(self._long(from_client, rest, smb, fresh))
        return out

    def messages(self, event: ChannelMessages) -> Iterable[Event]:
        """The same as `data` for each of the messages."""
        from_client, smb, spans = event.from_client, event.smb, event.spans
        framer = self._framers[from_client]
        out: list[Event] = []
        number = 0
        while number < len(spans):
            taken = spans[number][1]
            if framer.at_rest and not self._pdus:
                begun = number
                number, taken = self._quick(from_client, smb, out, spans, number)
                framer.passed(sum([stop - start for _, start, stop in spans[begun:number]]))
                if number == len(spans):
                    break
                framer.passed(taken - spans[number][1])
            data, start, stop = spans[number]
            out.extend(self.data(ChannelData(event.channel, from_client, data[taken:stop], smb, taken == start)))
            number += 1
        return out

    @staticmethod
    def _only(data: TracedBytes, smb: SmbInfo | None) -> RawPdu | None:
        """The PDU that the bytes are, if they are exactly one."""
        raw = data.data
        if len(raw) < HEADER_LEN:
            return None
        try:
            header = read_header(raw)
        except DecodeError:
            return None
        return RawPdu(header, data, smb) if header.frag_length == len(raw) else None

    def _long(self, from_client: bool, data: TracedBytes, smb: SmbInfo | None, fresh: bool) -> Iterator[Event]:
        for item in self._framers[from_client].feed(data, smb, fresh):
            yield from self._item(from_client, item)

    def gap(self, event: ChannelGap) -> Iterator[Event]:
        """Bytes of one direction that were not captured."""
        self._has_gap = True
        for item in self._framers[event.from_client].gap(event.length, event.frames, event.reason):
            yield from self._derailed(event.from_client, item, event.frames)

    def close(self, why: str) -> Iterator[Event]:
        """No more bytes will come; `why` explains calls without an answer."""
        for from_client in (True, False):
            for item in self._framers[from_client].finish():
                yield from self._item(from_client, item)
        for call in sorted((*self._early.values(), *self._calls.values()), key=_first_frame):
            yield from self._tell(call, why)
        self._early.clear()
        self._calls.clear()
        for security in self._security.all():
            if (failed := security.failed) is not None:
                number, frames = failed
                whose = f"{number} signed PDU has" if number == 1 else f"{number} signed PDUs have"
                text = f"{whose} a wrong checksum: changed on the way or in the capture; shown as captured"
                yield Problem("malformed", "rpc", frames, text)
            if (shut := security.shut) is not None:
                sealed, closed, frames, reason = shut
                yield Problem("sealed", "rpc", frames, f"{closed} of {sealed} sealed PDUs stayed closed: {reason}")
        for offered in self._offers.values():
            for offer in offered.offers:
                if _is_features(offer):
                    yield FeaturesOffered(self._channel, offer.context_id, None, offered.frames)
                else:
                    yield self._bound(
                        offer, offer.transfer[0] if offer.transfer else None, None, offered, offered.frames
                    )
        self._offers.clear()

    def _item(self, from_client: bool, item: RawPdu | CutPdu | Lost) -> Iterator[Event]:
        if isinstance(item, RawPdu):
            out: list[Event] = []
            if self._pdus or not self._quick(from_client, item.smb, out, ((item.data, 0, len(item.data)),))[0]:
                yield from self._pdu(from_client, item)
            yield from out
        elif isinstance(item, CutPdu):
            yield from self._derailed(from_client, item, item.data.frames)
        else:
            yield self._found(from_client, item)

    def _sender(self, from_client: bool) -> Sender:
        """Who sends in this direction: the initiator is the client of the bind."""
        return "initiator" if from_client != self._swapped else "acceptor"

    def _derailed(self, from_client: bool, cut: CutPdu, frames: tuple[int, ...]) -> Iterator[Event]:
        """One direction is out of step: marks the calls that may have lost something."""
        where = (
            f"bytes missing around frame{'s' if len(frames) > 1 else ''} {_numbers(frames)}"
            if frames
            else "bytes missing"
        )
        sender = self._sender(from_client)
        if sender == "initiator":
            self._gap_since_request = True
        self._damage(sender, where)
        for call in self._calls.values():
            if sender == "acceptor" and call.request.done and not call.response.began:
                call.answer_gap = call.answer_gap or frames
        header = cut.header
        if header is None:
            return
        if header.ptype in (Ptype.REQUEST, Ptype.RESPONSE, Ptype.FAULT) and len(cut.data) >= 24:
            try:
                head = parse_call_head(header, cut.data.data)
            except DecodeError:
                return
            start, stop = min(head.stub, len(cut.data)), len(cut.data)
            gather = self._request if header.ptype == Ptype.REQUEST else self._response
            yield from gather(header, head, _Part(cut.data, cut.smb, start, stop, Missing.NOT_CAPTURED, cut=where))

    def _damage(self, sender: Sender, where: str) -> None:
        """Marks what this sender was in the middle of: a fragment of it may be missing."""
        for call in self._calls.values():
            side = call.request if sender == "initiator" else call.response
            if side.began and not side.done and side.damage is None:
                side.damage = where

    def _found(self, from_client: bool, lost: Lost) -> Problem:
        sender = self._sender(from_client)
        self._security.lost(sender, lost.length)
        amount = "an unknown number of bytes" if lost.length is None else f"{lost.length} bytes"
        who = "client" if sender == "initiator" else "server"
        if lost.captured:
            return Problem("malformed", "rpc", lost.frames, f"{amount} from the {who} are no DCERPC PDU: {lost.reason}")
        return Problem("gap", "rpc", lost.frames, f"{amount} of DCERPC from the {who} were lost: {lost.reason}")

    # PDUs

    def _quick(
        self,
        from_client: bool,
        smb: SmbInfo | None,
        out: list[Event],
        spans: Sequence[Span],
        number: int = 0,
    ) -> tuple[int, int]:
        """The same as `_pdu` for the PDUs that are nearly all there are: whole requests, and whole fragments of answers, that
        are going well.

        Takes as many as there are in the spans from the one with that number on, and gives the number of the first span that is
        not all taken, and where in its bytes it goes on; what they complete goes to `out`.
        """
        calls, most = self._calls, self._max_stub
        call: _Call | None = None
        side: _Side
        asked: SecTrailer | None = None
        sender = self._sender(from_client)
        opener: Security | None = None
        opener_id, opened_by = 0, ""
        at = 0
        while number < len(spans):
            data, at, end = spans[number]
            raw = data.data
            while end - at >= RESPONSE_LEN:
                version, minor, ptype, flags, drep, length, auth_length, call_id, hint, _ = QUICK_RESPONSE.unpack_from(
                    raw, at
                )
                if version != 5 or minor > 1 or drep & 0xF0 != 0x10 or length < RESPONSE_LEN or at + length > end:
                    return number, at
                if ptype == _REQUEST and self._quick_request(sender, smb, data, at, at + length):
                    at += length
                    continue
                if ptype != _RESPONSE:
                    return number, at
                if call is None or call.call_id != call_id:
                    call = calls.get(call_id)
                    if call is None:
                        return number, at
                    side, asked = call.response, call.request.trailer
                # Only the first fragment says that it is.
                if side.done or side.over_limit or side.began == bool(flags & FIRST_FRAG):
                    return number, at
                stop = length
                plain: Plain = None
                step = ""
                if auth_length == 0:
                    grown = side.wire_length + stop - RESPONSE_LEN
                    if grown > most or (asked is not None and asked.level >= _PRIVACY):
                        return number, at
                    side.is_bare = True
                else:
                    start = length - auth_length - SEC_TRAILER_LEN
                    if asked is None or start < RESPONSE_LEN:
                        return number, at
                    auth_type, level, pad, context_id = LITTLE_SEC.unpack_from(raw, at + start)
                    stop = start - pad
                    grown = side.wire_length + stop - RESPONSE_LEN
                    if (
                        level != _PRIVACY
                        or context_id != asked.context_id
                        or auth_type != asked.auth_type
                        or level != asked.level
                        or stop < RESPONSE_LEN
                        or grown > most
                    ):
                        return number, at
                    if opener is None or context_id != opener_id:
                        opener, opener_id = self._security.known(context_id), context_id
                        if opener is None:
                            return number, at
                        opened_by = opener.step
                    pdu = raw if length == len(raw) else raw[at : at + length]
                    opened = opener.open_next(sender, pdu, RESPONSE_LEN, start)
                    if opened is None:
                        return number, at
                    plain, step = opened[: stop - RESPONSE_LEN] if pad else opened, opened_by
                    if side.security is None:
                        side.security = opener
                        side.trailer = SecTrailer(auth_type, level, pad, context_id, start, length)
                    side.is_sealed = True
                    side.verdicts.add(True)
                    side.header_signed.add(opener.header_signed)
                if not side.began:
                    side.began, side.smb, side.hint = True, smb, hint
                if not side.wire_length:
                    side.first_length = grown
                side.wire_length = grown
                side.pdus.add(data, at, length, RESPONSE_LEN, stop, plain, step)
                at += length
                if flags & LAST_FRAG:
                    side.done = True
                    if call.has_request:
                        out.extend(self._conclude(call))
                    call = None
            if at < end:
                return number, at
            number += 1
        return number, at

    def _quick_request(self, sender: Sender, smb: SmbInfo | None, data: TracedBytes, at: int, end: int) -> bool:
        """Takes the request from `at` to `end`, where it is whole in one PDU, and says whether it did."""
        raw, length = data.data, end - at
        _, _, _, flags, _, _, auth_length, call_id, hint, context_id = QUICK_RESPONSE.unpack_from(raw, at)
        if (
            flags & _WHOLE_MASK != FIRST_FRAG | LAST_FRAG
            or call_id in self._calls
            or call_id in self._early
            or self._gap_since_request
            or len(self._calls) >= _MAX_PENDING
        ):
            return False
        start = stop = length
        security: Security | None = None
        if auth_length:
            start = length - auth_length - SEC_TRAILER_LEN
            if start < RESPONSE_LEN:
                return False
            auth_type, level, pad, security_id = LITTLE_SEC.unpack_from(raw, at + start)
            stop = start - pad
            security = self._security.known(security_id)
            if security is None or level != _PRIVACY:
                return False
        if not 0 <= stop - RESPONSE_LEN <= self._max_stub:
            return False
        plain: Plain = None
        step = ""
        if security is not None:
            opened = security.open_next(sender, raw[at:end], RESPONSE_LEN, start)
            if opened is None:
                return False
            plain, step = opened[: stop - RESPONSE_LEN], security.step
        # From here on it is certain that nothing is unusual about the request.
        if self._last_call_id is not None and call_id != self._last_call_id + 1:
            self._ids_step_by_one = False
        self._last_call_id = call_id
        call = self._calls[call_id] = _Call(call_id, context_id)
        call.has_request = True
        call.drep = raw[at + 4 : at + 8]
        call.opnum = int.from_bytes(raw[at + 22 : at + 24], "little")
        call.presentation = self._presentations.get(context_id)
        side = call.request
        side.began, side.done, side.smb, side.hint = True, True, smb, hint
        side.first_length = side.wire_length = stop - RESPONSE_LEN
        if security is not None:
            side.security = security
            side.trailer = SecTrailer(auth_type, level, pad, security_id, start, length)
            side.is_sealed = True
            side.verdicts.add(True)
            side.header_signed.add(security.header_signed)
        else:
            side.is_bare = True
        side.pdus.add(data, at, length, RESPONSE_LEN, stop, plain, step)
        return True

    def _pdu(self, from_client: bool, raw: RawPdu) -> Iterator[Event]:
        header, data = raw.header, raw.data
        if header.ptype in CLIENT_PTYPES or header.ptype in SERVER_PTYPES:
            swapped = (header.ptype in CLIENT_PTYPES) != from_client
            if swapped != self._swapped and header.ptype in (Ptype.BIND, Ptype.BIND_ACK):
                # Only who binds is the client; a connection captured from its middle may have it the wrong way round.
                self._swapped = swapped
                self._channel = replace(self._channel, client=self._channel.server, server=self._channel.client)
        try:
            trailer = find_sec_trailer(header, data.data, HEADER_LEN)
        except DecodeError as error:
            if self._pdus:
                yield self._pdu_event(from_client, raw, None)
            yield from self._bad(from_client, raw, error)
            return
        if self._pdus:
            yield self._pdu_event(from_client, raw, trailer)
        try:
            yield from self._by_type(from_client, raw, trailer)
        except DecodeError as error:
            yield from self._bad(from_client, raw, error)

    def _pdu_event(self, from_client: bool, raw: RawPdu, trailer: SecTrailer | None) -> Pdu:
        return Pdu(
            self._channel,
            from_client != self._swapped,
            raw.header.ptype,
            raw.header.flags,
            raw.header.call_id,
            raw.data.frames,
            len(raw.data),
            trailer.auth_type if trailer else None,
            trailer.level if trailer else None,
        )

    def _bad(self, from_client: bool, raw: RawPdu, error: DecodeError) -> Iterator[Event]:
        """A PDU against its specification costs itself and the call it belongs to, no more."""
        yield Problem.of("rpc", error, raw.data)
        self._security.lost(self._sender(from_client), len(raw.data))
        header, data = raw.header, raw.data
        if header.ptype not in (Ptype.REQUEST, Ptype.RESPONSE, Ptype.FAULT) or len(data) < RESPONSE_LEN:
            return
        # What the call was about stands before whatever is wrong.
        number = int.from_bytes(data.data[22:24], header.order) if header.ptype == Ptype.REQUEST else None
        head = CallHead(0, int.from_bytes(data.data[20:22], header.order), len(data), number)
        gather = self._request if header.ptype == Ptype.REQUEST else self._response
        part = _Part(data, raw.smb, len(data), len(data), Missing.UNDECODABLE, bad=str(error))
        yield from gather(header, head, part)

    def _by_type(self, from_client: bool, raw: RawPdu, trailer: SecTrailer | None) -> Iterator[Event]:
        header, data = raw.header, raw.data
        stop = trailer.start if trailer else len(data)
        match header.ptype:
            case Ptype.REQUEST | Ptype.RESPONSE | Ptype.FAULT:
                yield from self._call_pdu(from_client, raw, trailer)
            case Ptype.BIND | Ptype.ALTER_CONTEXT:
                bind = parse_bind(header, data.data, stop)
                yield from self._on_bind(raw, bind, trailer)
            case Ptype.BIND_ACK | Ptype.ALTER_CONTEXT_RESP:
                ack = parse_bind_ack(header, data.data, stop)
                yield from self._on_ack(raw, ack, trailer)
            case Ptype.BIND_NAK:
                yield from self._on_nak(raw, parse_bind_nak(header, data.data))
            case Ptype.AUTH3:
                self._token("initiator", trailer, data)
            case Ptype.CO_CANCEL | Ptype.ORPHANED:
                if trailer is not None:
                    # Their verifier counts in the sequence of the security context like any other.
                    self._security.used(trailer).open(
                        self._sender(from_client), trailer, data.data, slice(HEADER_LEN, trailer.start)
                    )
                if (call := self._calls.get(header.call_id)) is not None:
                    call.cancelled |= header.ptype == Ptype.CO_CANCEL
                    call.orphaned |= header.ptype == Ptype.ORPHANED
            case Ptype.SHUTDOWN | Ptype.RTS:
                pass
            case _:
                self._damage(
                    self._sender(from_client), f"an unknown PDU came in between (frame {_numbers(data.frames)})"
                )
                yield Problem(
                    "unsupported",
                    "rpc",
                    data.frames,
                    f"PDU type {header.ptype} is not of the connection-oriented protocol",
                )

    def _token(self, sender: Sender, trailer: SecTrailer | None, data: TracedBytes) -> None:
        if trailer is not None:
            self._security.offered(sender, trailer, data.data[trailer.value])

    # Presentation contexts

    def _on_bind(self, raw: RawPdu, bind: Bind, trailer: SecTrailer | None) -> Iterator[Event]:
        if raw.header.ptype == Ptype.BIND:
            self._header_signing = bool(raw.header.flags & SUPPORT_HEADER_SIGN)
        self._token("initiator", trailer, raw.data)
        for offer in bind.offers:
            if not _is_features(offer):
                only = offer.transfer[0] if len(offer.transfer) == 1 else None
                self._presentations.setdefault(offer.context_id, _Presentation(offer.abstract, only))
        if len(self._offers) >= _MAX_OFFERS:
            self._offers.pop(next(iter(self._offers)))
        self._offers[raw.header.call_id] = _Offered(
            bind.offers, raw.data.frames, raw.header.ptype == Ptype.BIND and bind.assoc_group_id != 0
        )
        early = self._early_acks.pop(raw.header.call_id, None)
        if early is not None:
            ack_trailer = find_sec_trailer(early.header, early.data.data, HEADER_LEN)
            ack = parse_bind_ack(early.header, early.data.data, ack_trailer.start if ack_trailer else len(early.data))
            yield from self._on_ack(early, ack, ack_trailer)

    def _on_ack(self, raw: RawPdu, ack: BindAck, trailer: SecTrailer | None) -> Iterator[Event]:
        offered = self._offers.pop(raw.header.call_id, None)
        if offered is None:
            if self._last_call_id is None and len(self._early_acks) < _MAX_OFFERS:
                self._early_acks[raw.header.call_id] = raw
            self._token("acceptor", trailer, raw.data)
            return
        self._token("acceptor", trailer, raw.data)
        frames = tuple(sorted({*offered.frames, *raw.data.frames}))
        if len(ack.results) != len(offered.offers):
            error = MalformedError(f"{len(ack.results)} results for {len(offered.offers)} offers", field="n_results")
            yield Problem.of("rpc", error, raw.data)
        for offer, result in zip(offered.offers, ack.results, strict=False):
            if _is_features(offer):
                yield FeaturesOffered(self._channel, offer.context_id, result.result, frames)
                continue
            accepted = result.result == 0
            if accepted:
                self._presentations[offer.context_id] = _Presentation(offer.abstract, result.transfer)
            transfer = result.transfer if accepted else (offer.transfer[0] if offer.transfer else None)
            why = None if accepted else bind_result_reason(result.result, result.reason)
            yield self._bound(offer, transfer, accepted, offered, frames, why, ack.assoc_group_id)

    def _on_nak(self, raw: RawPdu, reason: int) -> Iterator[Event]:
        why = bind_nak_reason(reason)
        offered = self._offers.pop(raw.header.call_id, None)
        if offered is not None:
            frames = tuple(sorted({*offered.frames, *raw.data.frames}))
            for offer in offered.offers:
                if not _is_features(offer):
                    first = offer.transfer[0] if offer.transfer else None
                    yield self._bound(offer, first, False, offered, frames, why)
        yield Problem("note", "rpc", raw.data.frames, f"the server refused the bind: {why}")

    def _bound(
        self,
        offer: Offer,
        transfer: Syntax | None,
        accepted: bool | None,
        offered: _Offered,
        frames: tuple[int, ...],
        reason: str | None = None,
        group: int | None = None,
    ) -> Bound:
        return Bound(
            self._channel,
            offer.context_id,
            offer.abstract.uuid,
            offer.abstract.version,
            syntax_name(transfer.uuid) if transfer else "",
            accepted,
            frames,
            reason,
            group,
            tuple(syntax_name(one.uuid) for one in offer.transfer),
            offered.joins_group,
        )

    # Calls

    def _call_pdu(self, from_client: bool, raw: RawPdu, trailer: SecTrailer | None) -> Iterator[Event]:
        header, data = raw.header, raw.data
        head = parse_call_head(header, data.data)
        if header.ptype == Ptype.FAULT and trailer is not None and trailer.start < head.stub:
            # Some servers leave out the reserved bytes after the status.
            head = replace(head, stub=trailer.start)
        stop = len(data)
        security: Security | None = None
        opened: Opened | None = None
        if trailer is not None:
            if trailer.start < head.stub:
                raise MalformedError("the trailer begins before the stub", field="auth_length", start=10, stop=12)
            stop = trailer.start
            if not self._has_gap and self._security.was_never_offered(trailer):
                raise MalformedError(
                    f"security context {trailer.context_id} was never negotiated",
                    field="auth_context_id",
                    start=trailer.start + 4,
                    stop=trailer.start + 8,
                )
            security = self._security.used(trailer)
            opened = security.open(self._sender(from_client), trailer, data.data, slice(head.stub, stop))
            if opened.plain is None:
                security.closed(data.frames, opened.reason or opened.door.value)
            elif opened.verified is False:
                security.failed_check(data.frames)
        pad = trailer.pad_length if trailer else 0
        bad = self._contradiction(header, trailer)
        if pad > stop - head.stub:
            bad = bad or f"auth_pad_length: {pad} bytes of padding in {stop - head.stub} bytes of stub"
            pad = 0
        if bad is not None:
            yield Problem("malformed", "rpc", data.frames, bad)
        plain: Plain = None
        step = ""
        if bad is not None:
            plain = Missing.UNDECODABLE
        elif opened is not None and opened.sealed:
            plain = Missing.SEALED
            if opened.plain is not None:
                assert security is not None
                plain, step = opened.plain[: stop - pad - head.stub], security.step
        gather = self._request if header.ptype == Ptype.REQUEST else self._response
        part = _Part(data, raw.smb, head.stub, stop - pad, plain, step, security, trailer, opened, bad=bad)
        yield from gather(header, head, part)

    def _contradiction(self, header: Header, trailer: SecTrailer | None) -> str | None:
        """What is wrong with a security trailer, or its absence, beside the rest of its call.

        All fragments of a call are protected alike, and a response as its request was ([MS-RPCE] 3.3.1.5.2); only faults may be
        bare. Noise must not pass for plaintext because a damaged header hides its trailer.
        """
        if trailer is not None and not AuthLevel.NONE <= trailer.level <= AuthLevel.PRIVACY:
            return f"auth_level: {trailer.level} is no authentication level"
        call = self._calls.get(header.call_id)
        if call is None or not call.request.began or header.ptype == Ptype.FAULT:
            return None
        if header.ptype == Ptype.REQUEST and (header.first or call.request.done):
            return None
        first = call.request.trailer
        if first is None or first.level < AuthLevel.PRIVACY:
            return None
        if trailer is None:
            return "auth_length: no security trailer in a call that is sealed"
        if (trailer.auth_type, trailer.level, trailer.context_id) != (first.auth_type, first.level, first.context_id):
            return "auth_context_id: the security context is not that of the call"
        return None

    def _request(self, header: Header, head: CallHead, part: _Part) -> Iterator[Event]:
        call = self._calls.get(header.call_id)
        if call is not None and (header.first or call.request.done or not call.has_request):
            del self._calls[header.call_id]
            yield from self._tell(call, "its call id was used again before an answer came")
            call = None
        if call is None:
            yield from self._note_skipped_ids(header, part.data)
            call = _Call(header.call_id, head.context_id)
            call.has_request = True
            call.drep = header.drep
            call.opnum = head.opnum
            call.object_uuid = head.object_uuid
            call.presentation = self._presentations.get(head.context_id)
            call.request.hint = head.alloc_hint if header.first else 0
            if not header.first:
                call.request.damage = "the first fragment of the request was not captured"
            if len(self._calls) >= _MAX_PENDING:
                oldest = self._calls.pop(next(iter(self._calls)))
                yield from self._tell(oldest, f"no answer among the {_MAX_PENDING} calls after it")
            self._calls[header.call_id] = call
        call.maybe |= bool(header.flags & MAYBE)
        yield from self._gather(call.request, header, part)
        if not call.request.done:
            return
        early = self._early.get(header.call_id)
        if call.maybe:
            del self._calls[header.call_id]
            yield from self._tell(call, "")
        elif call.response.done:
            yield from self._conclude(call)
        elif early is not None and _asked_before(call, early):
            del self._early[header.call_id]
            call.response, call.fault = early.response, early.fault
            yield from self._conclude(call)

    def _response(self, header: Header, head: CallHead, part: _Part) -> Iterator[Event]:
        call = self._calls.get(header.call_id)
        if call is None or call.response.done:
            call = self._early.get(header.call_id)
            if call is not None and (call.response.done or header.first):
                del self._early[header.call_id]
                yield from self._tell(call, "")
                call = None
            if call is None:
                call = _Call(header.call_id, head.context_id)
                call.presentation = self._presentations.get(head.context_id)
                if len(self._early) >= _MAX_EARLY:
                    yield from self._tell(self._early.pop(next(iter(self._early))), "")
                self._early[header.call_id] = call
        side = call.response
        if not side.began:
            side.hint = head.alloc_hint if header.first else 0
            if not header.first:
                side.damage = "the first fragment of the answer was not captured"
        elif header.first:
            side.malformed = "a first fragment comes in the middle of an answer"
        if head.status is not None:
            call.fault = head.status
        yield from self._gather(side, header, part)
        if side.done and call.has_request:
            yield from self._conclude(call)

    def _gather(self, side: _Side, header: Header, part: _Part) -> Iterator[Event]:
        """Adds one fragment to its side of the call."""
        if not side.began:
            side.began = True
            side.smb = part.smb
            side.order_big = header.order == "big"
        side.damage = side.damage or part.cut
        side.malformed = side.malformed or part.bad
        if side.security is None and part.security is not None:
            side.security, side.trailer = part.security, part.trailer
        if part.opened is not None:
            side.note(part.opened)
        elif header.ptype != Ptype.FAULT:
            side.is_bare = True
        if not side.wire_length:
            side.first_length = part.stop - part.start
        side.wire_length += part.stop - part.start
        if side.wire_length > self._max_stub:
            if not side.over_limit:
                side.over_limit = True
                yield Problem(
                    "limit",
                    "rpc",
                    part.data.frames,
                    f"the stub of call {header.call_id} is larger than {self._max_stub} bytes",
                )
            side.drop(part.data)
        else:
            side.pdus.add(part.data, 0, len(part.data), part.start, part.stop, part.plain, part.step)
        side.done |= header.last

    def _conclude(self, call: _Call) -> Iterator[Event]:
        """Tells a call whose answer is there, unless more of its request may still come."""
        if call.request.done or call.request.damage is not None:
            if self._calls.get(call.call_id) is call:
                del self._calls[call.call_id]
            yield from self._tell(call, "")

    def _note_skipped_ids(self, header: Header, data: TracedBytes) -> Iterator[Event]:
        """Clients count their calls; after a gap the count tells which ones are not there."""
        last, self._last_call_id = self._last_call_id, header.call_id
        if last is None:
            return
        skipped = header.call_id - last - 1
        if self._gap_since_request and self._ids_step_by_one and 0 < skipped < _MAX_PENDING:
            calls = f"call {last + 1}" if skipped == 1 else f"calls {last + 1} to {header.call_id - 1}"
            yield Problem("gap", "rpc", data.frames, f"the requests of {calls} were not captured")
        elif not self._gap_since_request and skipped:
            self._ids_step_by_one = False
        self._gap_since_request = False

    def _tell(self, call: _Call, why: str) -> Iterator[Event]:
        """The exchange as far as it got; `why` it has no answer."""
        request, response = call.request, call.response
        if call.presentation is None or call.presentation.transfer is None:
            # Where the capture swapped frames, the answer to the bind may have been read after the request.
            call.presentation = self._presentations.get(call.context_id, call.presentation)
        presentation = call.presentation
        state: CallState = "complete"
        reasons: list[str] = []
        shut = request.shut or response.shut
        malformed = request.malformed or response.malformed
        if shut is not None:
            state = "sealed"
            reasons.append(shut.reason or shut.door.value)
        if not call.has_request:
            state = "response-only"
            reasons.insert(0, "the request was not captured")
        elif not response.began and not call.maybe:
            state = "request-only"
            reasons.insert(0, self._unanswered(call, why))
        if (call.has_request and not request.whole) or (response.began and not response.whole):
            if state in ("complete", "sealed"):
                state = "partial"
            lacking = request if call.has_request and not request.whole else response
            name = "request" if lacking is request else "answer"
            if lacking.over_limit:
                reasons.insert(0, f"the stub of the {name} is larger than the limit of {self._max_stub} bytes")
            else:
                short = f"{lacking.wire_length} of {lacking.hint} announced bytes are there" if lacking.done else None
                why_not = lacking.damage or short or "its last fragment was not captured"
                reasons.insert(0, f"the {name} is not whole: {why_not}")
            if state == "request-only":
                state = "partial"
        if presentation is None and state == "complete":
            state = "partial"
            reasons.append("the bind was not captured, so the interface and the meaning of the stubs are unknown")
        if malformed is not None:
            state = "malformed"
            reasons.insert(0, malformed)
        yield Exchange(
            self._channel,
            request.smb if call.has_request else response.smb,
            self._auth(call),
            presentation.abstract.uuid if presentation else None,
            presentation.abstract.version if presentation else None,
            "ndr64" if presentation and presentation.is_ndr64 else "ndr",
            call.opnum,
            call.call_id,
            call.context_id,
            call.object_uuid,
            self._message(call, request, is_request=True) if call.has_request else None,
            self._message(call, response, is_request=False) if response.began else None,
            call.fault,
            state,
            "; ".join(reasons) or None,
            call.cancelled,
            call.orphaned,
        )

    def _unanswered(self, call: _Call, why: str) -> str:
        if call.answer_gap is not None:
            around = f" around frames {_numbers(call.answer_gap)}" if call.answer_gap else ""
            return f"the answer was not captured: bytes missing{around}"
        if call.orphaned:
            return "the client gave up waiting (orphaned)"
        return why

    def _message(self, call: _Call, side: _Side, *, is_request: bool) -> Message:
        stub: TracedBytes | Missing
        judged = None
        fragments = side.pdus.kept()
        if side.malformed is not None:
            stub = Missing.UNDECODABLE
        elif not side.whole:
            stub = Missing.NOT_CAPTURED
        elif side.shut is not None:
            stub = Missing.SEALED
        else:
            stub = stub_of(fragments)
            if is_request and (found := self._verification(call, stub.data)):
                at, judged = found
                stub = stub.view(0, at)
        times = times_of(fragments)
        if side.dropped_times is not None:
            times = spanned([side.dropped_times, times])
        first, last = times or (0, 0)
        return Message(
            fragments,
            stub,
            side.wire_length,
            judged,
            side.order_big,
            first,
            last,
            tuple(sorted(side.dropped_frames)) if side.dropped_frames else (),
        )

    def _verification(self, call: _Call, stub: bytes) -> tuple[int, Literal["ok", "bad"]] | None:
        if verification.SIGNATURE not in stub:
            return None
        presentation = call.presentation
        assert call.opnum is not None
        expected = verification.Expected(
            call.drep,
            "big" if call.request.order_big else "little",
            call.call_id,
            call.context_id,
            call.opnum,
            self._header_signing,
            presentation.abstract if presentation else None,
            presentation.transfer if presentation else None,
        )
        return verification.find_trailer(stub, expected)

    def _auth(self, call: _Call) -> AuthInfo:
        for side in (call.request, call.response):
            if side.security is not None and side.trailer is not None:
                security, level = side.security, side.trailer.level
                break
        else:
            connect = self._security.connect_level()
            if connect is None:
                return _NO_SECURITY
            security, level = connect, AuthLevel.CONNECT
        shut = call.request.shut or call.response.shut
        is_sealed = call.request.is_sealed or call.response.is_sealed
        door = shut.door if shut else Door.OPEN if is_sealed else Door.NOT_SEALED
        verdicts = call.request.verdicts | call.response.verdicts
        is_proven = verdicts == {True} and not (call.request.is_bare or call.response.is_bare)
        verified = False if False in verdicts else True if is_proven else None
        signed = call.request.header_signed | call.response.header_signed
        identity: Identity | None = security.identity
        told = AuthInfo(
            security.auth_type,
            level,
            security.mechanism,
            identity,
            door,
            verified,
            signed.pop() if len(signed) == 1 else None,
            security.opened_by,
        )
        # Call after call says the same, and all are kept.
        if told != self._auth_told:
            self._auth_told = told
        return self._auth_told


def _is_features(offer: Offer) -> bool:
    """Bind-time feature negotiation ([MS-RPCE] 3.3.1.5.3) looks like a presentation context and is none."""
    return any(is_feature_negotiation(syntax.uuid) for syntax in offer.transfer)


def _asked_before(call: _Call, early: _Call) -> bool:
    """Whether a request that was read later was sent earlier, by the capture's clock."""
    asked, answered = call.request.times, early.response.times
    return asked is not None and answered is not None and asked[1] <= answered[0]


def _first_frame(call: _Call) -> int:
    return min(call.request.frames or call.response.frames or {0})


def _numbers(frames: tuple[int, ...]) -> str:
    shown = ", ".join(str(number_of(frame)) for frame in frames[:4])
    return shown + (", ..." if len(frames) > 4 else "")
