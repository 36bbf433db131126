"""Follows DCERPC on all channels: takes their bytes and gaps, and gives paired and opened calls (C706 chapters 9 and 12; [MS-RPCE]
3.3).

Each channel is an `Association`. Framing (`pdu`) finds the PDUs of each direction. `_PDU_TYPES` names for each PDU type what takes
it: fragments of calls go to the call table (`call_pairing`), after their security context has unsealed or checked them. Binds and
their answers tell what the presentation contexts are (`presentations`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from analyzer.auth import token_handshake
from analyzer.auth.keyring import Keyring
from analyzer.auth.security_types import SearchBudget, Sender, Unprotected
from analyzer.auth.token_handshake import TokenHandshake
from analyzer.core.absence import Missing
from analyzer.core.byte_log import Log
from analyzer.core.errors import DecodeError, MalformedError
from analyzer.core.events import CaptureEnds, ClockSetBack, Event, Problem
from analyzer.core.limits import DEFAULTS, Limits, MemoryBudget
from analyzer.core.printable_text import counted, plural
from analyzer.core.times import earliest
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.calls.pdus import Plain
from analyzer.results.connection import Bound, Channel, FeaturesOffered, Pdu
from analyzer.results.security import AuthLevel, Decryption, RefusedBy
from analyzer.transport.channel.channels import ChannelBatch, ChannelClosed, ChannelGap
from analyzer.transport.rpc.call_pairing import CallPairing, FragmentPart, PendingCall, SideState
from analyzer.transport.rpc.client_marks_in_rpc import MarkNotes
from analyzer.transport.rpc.exchange_maker import ExchangeMaker, OpenCall, Selection, numbers
from analyzer.transport.rpc.pdu import (
    CLIENT_PTYPES,
    FIRST_FRAG,
    HEADER_LEN,
    RESPONSE_LEN,
    SUPPORT_HEADER_SIGN,
    Bind,
    BindAck,
    CallHead,
    CutPdu,
    Framer,
    LostPdus,
    Offer,
    PduHeader,
    Ptype,
    RawPdu,
    SecTrailer,
    Syntax,
    find_sec_trailer,
    head_of_damaged,
    parse_bind,
    parse_bind_ack,
    parse_bind_nak,
    parse_call_head,
    parse_damaged_bind,
)
from analyzer.transport.rpc.presentations import Presentations, is_features
from analyzer.transport.rpc.rpc_names import bind_nak_reason, bind_result_reason, fault_words, syntax_name
from analyzer.transport.rpc.security_table import Security, SecurityTable

# ------------------------------------------------------------------------------------------------------------- association


_MAX_OFFERS = 16
# Memory of an association without calls, and of what it may have besides, as measured.
_COST, _PRESENTATION_COST, _SECURITY_COST = 6000, 400, 4000
_REQUEST, _RESPONSE, _FAULT = Ptype.REQUEST, Ptype.RESPONSE, Ptype.FAULT
_BINDS = frozenset({Ptype.BIND, Ptype.BIND_ACK})


class _Offered(Struct, frozen=True):
    offers: tuple[Offer, ...]
    frames: tuple[int, ...]
    joins_group: bool
    security: Security | None = None


class Association:
    """The DCERPC association of one channel."""

    def __init__(
        self,
        channel: Channel,
        begin: Callable[[int], TokenHandshake],
        search: SearchBudget,
        limits: Limits,
        pdus: bool,
        logons: Iterator[int],
        spill: Log | None = None,
        set_back: Sequence[int] = (),
        selected: Selection | None = None,
    ) -> None:
        """`logons` numbers the logons of the association's security contexts. Long calls under way are spilled to the log `spill`.
        `set_back` are the frames before which the clock of the capture went back, ascending; more come while it is read. In an SMB
        session only `selected` calls are emitted; default: all."""
        self._pdus = pdus
        self._framers = {True: Framer(), False: Framer()}
        # About how many bytes of memory it takes.
        self.memory = _COST
        self._swapped = False
        self._presentations = Presentations()
        self._offers, self.early_acks = dict[int, _Offered](), dict[int, RawPdu]()
        self._first_bind: RawPdu | None = None
        self._marks = MarkNotes()
        self._security = SecurityTable(begin, search, limits.security_contexts, logons)
        self._exchanges = ExchangeMaker(channel, self._presentations, self._security, limits.stub, set_back, selected)
        self._calls = CallPairing(limits, self._exchanges.make_exchange, spill)

    def feed(self, event: ChannelBatch | ChannelGap) -> list[Event]:
        """Takes bytes of one direction of the association, or a gap in them. Returns the events that they complete."""
        out: list[Event] = []
        from_client = event.from_client
        for item in self._framers[from_client].feed(event):
            if isinstance(item, RawPdu):
                header = item.header
                if header.ptype in _BINDS:
                    self._learn_client(from_client, header.ptype in CLIENT_PTYPES)
                trailer: SecTrailer | None = None
                try:
                    if header.auth_length:
                        trailer = find_sec_trailer(header, item.piece.data, HEADER_LEN, item.start)
                    if self._pdus:
                        out += [self._pdu_event(from_client, each, trailer) for each in item.each()]
                    _PDU_TYPES.get(header.ptype, Association._unknown)(self, from_client, item, trailer, out)
                except DecodeError as error:
                    if self._pdus and trailer is None and header.auth_length:
                        out.append(self._pdu_event(from_client, item, None))
                    self._bad(from_client, item, trailer, error, out)
            elif isinstance(item, CutPdu):
                frames = item.data.frames
                if isinstance(event, ChannelGap):
                    self._presentations.has_loss, frames = True, event.frames
                    if event.captured:
                        self._exchanges.not_read(self._sender(from_client), event.reason)
                self._lost_step(from_client, item, frames, out)
            else:
                out.append(self._found(from_client, item))
        contexts = _PRESENTATION_COST * len(self._presentations) + _SECURITY_COST * self._security.held
        framers = self._framers[True].held.length + self._framers[False].held.length
        self.memory = _COST + framers + contexts + self._calls.memory
        return out

    def finish(self, why: str) -> list[Event]:
        """Ends the association and returns its last events. `why` explains calls without a response."""
        out: list[Event] = []
        for from_client in (True, False):
            for item in self._framers[from_client].finish():
                if isinstance(item, CutPdu):
                    self._lost_step(from_client, item, item.data.frames, out)
                else:
                    out.append(self._found(from_client, item))
        self._calls.finish(why, out)
        for security in self._security.all():
            out.extend(security.problems())
        self._state_logons((*self._security.take_over(), *self._security.current()), out)
        if forgotten := self._security.forgotten:
            text = f"more than {self._security.most} security contexts in one association; {forgotten} were forgotten"
            out.append(Problem("limit", "rpc", (), text))
        for offered in self._offers.values():
            for offer in offered.offers:
                if is_features(offer):
                    out.append(FeaturesOffered(self._channel, offer.context_id, None, offered.frames))
                else:
                    out.append(_bound(self._channel, offer, _first_transfer(offer), None, offered, offered.frames))
        self._offers.clear()
        return out

    def open_since(self, since_ns: int) -> int | None:
        """Returns the earliest beginning, from `since_ns` on, of a PDU or call of the association that is not complete."""
        framers = (framer.since_ns for framer in self._framers.values())
        return earliest((*framers, self._calls.open_since(since_ns)), since_ns)

    def open_before(self, before_ns: int) -> Iterator[PendingCall]:
        """Returns for the RPC layer the calls of this association that are under way and began before this time."""
        return self._calls.open_before(before_ns)

    @property
    def _channel(self) -> Channel:
        return self._exchanges.channel

    def _sender(self, from_client: bool) -> Sender:
        """Returns who sends in this direction of the association. The initiator is the client of the bind."""
        return "initiator" if from_client != self._swapped else "acceptor"

    # Losses

    def _lost_step(self, from_client: bool, cut: CutPdu, frames: tuple[int, ...], out: list[Event]) -> None:
        """Takes a loss of bytes of the association: marks the calls that it may have damaged, and keeps the cut fragment."""
        where = "bytes missing"
        if frames:
            where = f"bytes missing around {plural(len(frames), 'frame')} {numbers(frames)}"
        sender = self._sender(from_client)
        if sender == "initiator":
            self._marks.lost()
        self._calls.lost(sender, frames, where)
        header, data = cut.header, cut.data
        if header is not None and (bind := parse_damaged_bind(header, data.data, None)) is not None:
            self._note_offers(header, bind, data.frames, None)
        if header is None or header.ptype not in (_REQUEST, _RESPONSE, _FAULT) or len(data) < RESPONSE_LEN:
            return
        try:
            head = parse_call_head(header, data.data)
        except DecodeError:
            return
        start, length = min(head.stub, len(data)), len(data)
        part = FragmentPart(data, 0, length, cut.smb, start, length, Missing.NOT_CAPTURED, cut=where)
        self._fragment(from_client, header, head, part, out)

    def _found(self, from_client: bool, lost: LostPdus) -> Problem:
        sender = self._sender(from_client)
        self._security.lost(sender, lost.length)
        if lost.captured:
            self._exchanges.not_read(sender, lost.reason)
        return _stated_loss(lost, "client" if sender == "initiator" else "server")

    def _bad(
        self, from_client: bool, raw: RawPdu, trailer: SecTrailer | None, error: DecodeError, out: list[Event]
    ) -> None:
        """Reports a PDU of the association that violates its specification. Only this PDU and its call are lost."""
        header, data, sender = raw.header, raw.data, self._sender(from_client)
        out.append(Problem.from_error("rpc", error, data))
        self._security.lost(sender, length := len(data))
        head = head_of_damaged(header, data.data)
        if head is None:
            self._exchanges.not_read(sender, str(error))
            if (bind := parse_damaged_bind(header, data.data, trailer)) is not None:
                self._note_offers(header, bind, data.frames, None)
            return
        part = FragmentPart(data, 0, length, raw.smb, length, length, Missing.UNDECODABLE, bad=str(error))
        self._fragment(from_client, header, head, part, out)

    # PDUs

    def _learn_client(self, from_client: bool, is_client: bool) -> None:
        """Learns which end is the association's client: the one that binds. A connection captured from its middle may have it
        reversed."""
        swapped = is_client != from_client
        if swapped != self._swapped:
            self._swapped = swapped
            channel = self._channel
            self._exchanges.channel = replace(channel, client=channel.server, server=channel.client)

    def _pdu_event(self, from_client: bool, raw: RawPdu, trailer: SecTrailer | None) -> Pdu:
        header, data = raw.header, raw.data
        return Pdu(
            self._channel,
            from_client != self._swapped,
            header.ptype,
            header.flags,
            header.call_id,
            data.frames,
            len(data),
            trailer.auth_type if trailer else None,
            trailer.level if trailer else None,
        )

    # Calls

    def _call_pdu(self, from_client: bool, raw: RawPdu, trailer: SecTrailer | None, out: list[Event]) -> None:
        """Takes a PDU with a fragment of a request, response or fault."""
        header, piece, at = raw.header, raw.piece, raw.start
        length = header.frag_length
        head = parse_call_head(header, piece.data, at, at + length)
        stop, pad = length, 0
        security: Security | None = None
        unsealed: Unprotected | None = None
        plain: Plain = None
        step = ""
        if trailer is not None:
            stop, pad = trailer.start, trailer.pad_length
            if stop < head.stub:
                if header.ptype != _FAULT:
                    raise MalformedError("the trailer begins before the stub", field="auth_length", start=10, stop=12)
                # Some servers leave out the reserved bytes after the status.
                head = replace(head, stub=stop)
            security = self._security.known(trailer.context_id) or self._unknown_security(trailer)
            unsealed = self._unseal(from_client, raw, security, trailer, head.stub)
            if unsealed.decryption is not Decryption.NOT_SEALED:
                plain = Missing.SEALED
                if unsealed.body is not None:
                    plain = unsealed.body[: stop - pad - head.stub] if 0 < pad <= stop - head.stub else unsealed.body
                    step = security.step
        bad = _contradiction(self._calls.pending.get(header.call_id), header, trailer) if self._security.held else None
        if pad > stop - head.stub:
            bad = bad or f"auth_pad_length: {pad} bytes of padding in {stop - head.stub} bytes of stub"
        else:
            stop -= pad
        if bad is not None:
            out += [Problem("malformed", "rpc", each.data.frames, bad) for each in raw.each()]
            plain, step = Missing.UNDECODABLE, ""
        part = FragmentPart(
            piece, at, length, raw.smb, head.stub, stop, plain, step, security, trailer, unsealed, None, bad, raw.alike
        )
        self._fragment(from_client, header, head, part, out)

    def _fragment(
        self, from_client: bool, header: PduHeader, head: CallHead, part: FragmentPart, out: list[Event]
    ) -> None:
        if header.ptype == _REQUEST:
            if self._marks.awaits_calls and from_client != self._swapped and header.flags & FIRST_FRAG:
                self._marks.request(self._channel, header, head, part.piece, part.at, out)
            self._calls.request(header, head, part, out)
        elif head.status is not None and self._answers_offer(header):
            why = fault_words(head.status)
            self._refused(header.call_id, "fault", head.status, why, part.data, out)
        else:
            self._calls.response(header, head, part, out)

    def _answers_offer(self, header: PduHeader) -> bool:
        """Whether a fault refuses a bind or alter_context: its call id belongs to an unanswered offer, and to no call."""
        is_other = self._presentations.has_loss or header.call_id in self._calls.pending
        return header.call_id in self._offers and not is_other

    def _unknown_security(self, trailer: SecTrailer) -> Security:
        """Takes a protected PDU into the association without its handshake. Returns the security context that it names."""
        if not self._presentations.has_loss and self._security.was_never_offered(trailer):
            raise MalformedError(
                f"security context {trailer.context_id} was never negotiated",
                field="auth_context_id",
                start=trailer.start + 4,
                stop=trailer.start + 8,
            )
        return self._security.used(trailer)

    def _unseal(
        self, from_client: bool, raw: RawPdu, security: Security, trailer: SecTrailer, start: int
    ) -> Unprotected:
        """Unseals or checks a PDU of the association whose body begins at `start`."""
        data, at, length = raw.piece.data, raw.start, raw.header.frag_length
        pdu = data if length == len(data) else data[at : at + length]
        unsealed = security.open(self._sender(from_client), trailer, pdu, start)
        if unsealed.body is None:
            security.stays_sealed(raw.data.frames, unsealed.reason or unsealed.decryption.value)
        elif unsealed.verified is False:
            unsealed = security.failed_check(unsealed, raw.data.frames)
        return unsealed

    def _given_up(self, from_client: bool, raw: RawPdu, trailer: SecTrailer | None, out: list[Event]) -> None:
        """Takes a PDU of the association by which the client cancels a call, or waits for it no more (orphaned)."""
        if trailer is not None:
            # Their verifier counts in the sequence of the security context like any other.
            data = raw.data.data
            self._security.used(trailer).open(self._sender(from_client), trailer, data, HEADER_LEN)
        if (call := self._calls.pending.get(raw.header.call_id)) is not None:
            call.cancelled |= raw.header.ptype == Ptype.CO_CANCEL
            call.orphaned |= raw.header.ptype == Ptype.ORPHANED

    def _without_effect(self, from_client: bool, raw: RawPdu, trailer: SecTrailer | None, out: list[Event]) -> None:
        """Takes a PDU that does not change the association (shutdown, RTS)."""

    def _unknown(self, from_client: bool, raw: RawPdu, trailer: SecTrailer | None, out: list[Event]) -> None:
        frames, sender = raw.data.frames, self._sender(from_client)
        self._calls.damage(sender, f"an unknown PDU came in between (frame {numbers(frames)})")
        text = f"PDU type {raw.header.ptype} is not of the connection-oriented protocol"
        self._exchanges.not_read(sender, text)
        out.append(Problem("unsupported", "rpc", frames, text))

    # Presentation contexts

    def _token(self, sender: Sender, trailer: SecTrailer | None, raw: RawPdu, out: list[Event]) -> Security | None:
        if trailer is None:
            return None
        data, name = raw.data, Ptype.names[raw.header.ptype].lower()
        carried, token = (data.time_ns_at(0), data.frames), data.data[trailer.value]
        if not self._presentations.has_loss and (wrong := self._security.read_as_the_only_one(sender, trailer, token)):
            out.append(Problem("malformed", "rpc", data.frames, wrong))
        security = self._security.offered(sender, trailer, token, *carried, name)
        self._state_logons(self._security.take_over(), out)
        return security

    def _state_logons(self, over: Iterable[Security], out: list[Event]) -> None:
        out.extend(logon for security in over if (logon := security.stated(self._channel)) is not None)

    def _auth3(self, from_client: bool, raw: RawPdu, trailer: SecTrailer | None, out: list[Event]) -> None:
        self._token("initiator", trailer, raw, out)
        self._marks.token(self._channel, trailer, raw.data, out)

    def _bind(self, from_client: bool, raw: RawPdu, trailer: SecTrailer | None, out: list[Event]) -> None:
        header, data = raw.header, raw.data
        if header.ptype == Ptype.BIND:
            self._presentations.header_signing = bool(header.flags & SUPPORT_HEADER_SIGN)
        # The token stands by itself: a wrong number among the offers costs no sealed call.
        security = self._token("initiator", trailer, raw, out)
        bind = parse_bind(header, data.data, trailer.start if trailer else len(data))
        self._first_bind = self._first_bind or raw
        self._marks.bind(self._channel, header, bind, trailer, data, out)
        self._note_offers(header, bind, data.frames, security)
        early = self.early_acks.get(header.call_id)
        # A client may give its bind, which may be lost, and the alter_context behind it the same call_id.
        if early is not None and (early.header.ptype == Ptype.BIND_ACK) is (header.ptype == Ptype.BIND):
            del self.early_acks[header.call_id]
            found = find_sec_trailer(early.header, early.piece.data, HEADER_LEN, early.start)
            self._ack(from_client, early, found, out)

    def _note_offers(self, header: PduHeader, bind: Bind, frames: tuple[int, ...], security: Security | None) -> None:
        """Notes in this association of the RPC layer the offers of a bind or alter_context, whose answer is then awaited."""
        self._presentations.offer(bind.offers)
        if len(self._offers) >= _MAX_OFFERS:
            self._offers.pop(next(iter(self._offers)))
        joins_group = header.ptype == Ptype.BIND and bind.assoc_group_id != 0
        self._offers[header.call_id] = _Offered(bind.offers, frames, joins_group, security)

    def _ack(self, from_client: bool, raw: RawPdu, trailer: SecTrailer | None, out: list[Event]) -> None:
        header, data = raw.header, raw.data
        self._token("acceptor", trailer, raw, out)
        ack = parse_bind_ack(header, data.data, trailer.start if trailer else len(data))
        offered = self._offers.pop(header.call_id, None)
        if offered is None and not self._calls.has_met_requests and len(self.early_acks) < _MAX_OFFERS:
            self.early_acks[header.call_id] = raw
        if offered is None:
            return
        frames = tuple(sorted({*offered.frames, *data.frames}))
        if len(ack.results) != len(offered.offers):
            error = MalformedError(
                f"{counted(len(ack.results), 'result')} for {counted(len(offered.offers), 'offer')}", field="n_results"
            )
            out.append(Problem.from_error("rpc", error, data))
        self._answered(offered, ack, frames, out)
        self._first_bind = None

    def _answered(self, offered: _Offered, ack: BindAck, frames: tuple[int, ...], out: list[Event]) -> None:
        """Takes the answer to a bind of this association, and emits the result of each offer. They match by position."""
        for offer, result in zip(offered.offers, ack.results, strict=False):
            if is_features(offer):
                out.append(FeaturesOffered(self._channel, offer.context_id, result.result, frames))
                continue
            why = None
            if accepted := result.result == 0:
                if (wrong := self._presentations.accept(offer, result.transfer)) is not None:
                    out.append(Problem("malformed", "rpc", frames, wrong))
            else:
                why = bind_result_reason(result.result, result.reason)
            shown = result.transfer if accepted else _first_transfer(offer)
            out.append(_bound(self._channel, offer, shown, accepted, offered, frames, why, ack.assoc_group_id))

    def _nak(self, from_client: bool, raw: RawPdu, trailer: SecTrailer | None, out: list[Event]) -> None:
        reason = parse_bind_nak(raw.header, raw.data.data)
        self._refused(raw.header.call_id, "bind_nak", reason, bind_nak_reason(reason), raw.data, out)

    def _refused(self, call_id: int, by: RefusedBy, status: int, why: str, data: TracedBytes, out: list[Event]) -> None:
        """Notes that the server refuses a bind or alter_context as a whole, with the logon that it carries."""
        offered = self._offers.pop(call_id, None)
        if offered is not None:
            frames = tuple(sorted({*offered.frames, *data.frames}))
            for offer in offered.offers:
                if not is_features(offer):
                    out.append(_bound(self._channel, offer, _first_transfer(offer), False, offered, frames, why))
            if offered.security is not None:
                offered.security.carried(data.time_ns_at(0), data.frames)
                what = why if by == "fault" else f"{by} ({why})"
                offered.security.refused(by, status, f"refused by {what}, frame {numbers(data.frames)}")
        out.append(Problem("note", "rpc", data.frames, f"the server refused the bind: {why}"))

    # A bind that came over another channel

    @property
    def lacks_bind(self) -> bool:
        """Whether the association of a pipe lacks its bind: the server answers one, and all that the client sent over the pipe was
        captured without it."""
        known = self._presentations
        is_first = not self._calls.has_met_requests and known.header_signing is None and not known.has_loss
        return is_first and self._channel.pipe is not None

    def takes_bind(self, other: Association) -> list[Event] | None:
        """Takes the only PDU of another association as the bind that the server answers here. Returns what comes of that; None if
        it is not that bind."""
        mine, its, bind = self._channel, other._channel, other._first_bind
        if bind is None or its.pipe is not None or (mine.client, mine.server) != (its.client, its.server):
            return None
        is_answered = bind.header.call_id not in other._offers or other._calls.has_met_requests
        if is_answered or bind.header.call_id not in self.early_acks:
            return None
        text = f"the bind of pipe {mine.pipe} names another open; the server answers it here"
        out: list[Event] = [Problem("malformed", "rpc", bind.data.frames, text)]
        self._bind(True, bind, find_sec_trailer(bind.header, bind.piece.data, HEADER_LEN, bind.start), out)
        return out


def _contradiction(call: PendingCall | None, header: PduHeader, trailer: SecTrailer | None) -> str | None:
    """Checks a PDU that an association takes: returns what in its security trailer, or in the lack of one, contradicts the rest of
    its call. None if nothing does.

    All fragments of a call are protected alike, and a response like its request ([MS-RPCE] 3.3.1.5.2). Only faults may be bare.
    So a damaged header that hides the trailer cannot pass noise off as plaintext.
    """
    if trailer is not None and not AuthLevel.NONE <= trailer.level <= AuthLevel.PRIVACY:
        return f"auth_level: {trailer.level} is no authentication level"
    if call is None or header.ptype == _FAULT:
        return None
    request = call.request
    if header.ptype == _REQUEST and (header.flags & FIRST_FRAG or request.state is SideState.COMPLETE):
        return None
    first = request.trailer
    if first is None or first.level < AuthLevel.PRIVACY:
        return None
    if trailer is None:
        return "auth_length: no security trailer in a call that is sealed"
    if trailer.context_id != first.context_id or trailer.level != first.level or trailer.auth_type != first.auth_type:
        return "auth_context_id: the security context is not that of the call"
    return None


def _stated_loss(lost: LostPdus, who: str) -> Problem:
    """States what bytes of an association from the client or the server no PDU was found in."""
    if (length := lost.length) is None:
        amount, is_one = "an unknown number of bytes", False
    else:
        amount, is_one = f"{length} {plural(length, 'byte')}", length == 1
    if lost.captured:
        are = "is" if is_one else "are"
        return Problem("malformed", "rpc", lost.frames, f"{amount} from the {who} {are} no DCERPC PDU: {lost.reason}")
    were = "was" if is_one else "were"
    return Problem("gap", "rpc", lost.frames, f"{amount} of DCERPC from the {who} {were} lost: {lost.reason}")


def _first_transfer(offer: Offer) -> Syntax | None:
    return offer.transfer[0] if offer.transfer else None


_Take = Callable[[Association, bool, RawPdu, SecTrailer | None, list[Event]], None]
# The method that takes each PDU type (C706 12.6.4; RTS: [MS-RPCH] 2.2.3.5).
_PDU_TYPES: dict[int, _Take] = {
    Ptype.RESPONSE: Association._call_pdu,
    Ptype.REQUEST: Association._call_pdu,
    Ptype.FAULT: Association._call_pdu,
    Ptype.BIND: Association._bind,
    Ptype.ALTER_CONTEXT: Association._bind,
    Ptype.BIND_ACK: Association._ack,
    Ptype.ALTER_CONTEXT_RESP: Association._ack,
    Ptype.BIND_NAK: Association._nak,
    Ptype.AUTH3: Association._auth3,
    Ptype.CO_CANCEL: Association._given_up,
    Ptype.ORPHANED: Association._given_up,
    Ptype.SHUTDOWN: Association._without_effect,
    Ptype.RTS: Association._without_effect,
}


def _bound(
    channel: Channel,
    offer: Offer,
    transfer: Syntax | None,
    accepted: bool | None,
    offered: _Offered,
    frames: tuple[int, ...],
    reason: str | None = None,
    group: int | None = None,
) -> Bound:
    return Bound(
        channel,
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


# --------------------------------------------------------------------------------------------------------------- rpc layer


_CAPTURE_ENDS = "the capture ends before the answer"
_GIVEN_UP = "the association was given up before the answer: too much was under way in all of them"


class RpcLayer:
    """The layer that follows DCERPC on every channel. Gaps, ends of channels and unknown events pass unchanged."""

    takes: ClassVar[frozenset[type[Event]]] = frozenset(
        {ChannelBatch, ChannelGap, ChannelClosed, ClockSetBack, CaptureEnds}
    )

    def __init__(
        self,
        keyring: Keyring,
        *,
        limits: Limits = DEFAULTS,
        begin: Callable[[Keyring, int | None], TokenHandshake] = token_handshake.begin,
        search: SearchBudget | None = None,
        pdus: bool = True,
        logons: Iterator[int] | None = None,
        shares: int = 1,
        selected: Selection | None = None,
    ) -> None:
        """Without `pdus`, the RPC layer emits no single PDUs. `search` limits the cost of finding places in keystreams. `logons`
        numbers logons (default: from 0). `shares` layers share the limit of memory. In SMB sessions only `selected` calls are
        emitted (default: all).

        [MS-PCQ] 3.1.4.1.6 lets a client offer a buffer of 1 GiB. A forged stream of fragments must not make us hold that much for
        every call. So a call beyond `limits.stub` is emitted without its stub.
        """
        self._begin = lambda auth_type: begin(keyring, auth_type)
        self._search = search if search is not None else SearchBudget(limits.search_tries, limits.search_keystream)
        self._limits = limits
        self._memory = MemoryBudget(max(limits.rpc_memory, limits.stub + limits.stub // 2) // shares)
        self._pdus, self._selected = pdus, selected
        self._logons = count() if logons is None else logons
        self._spill = Log(0)
        self._associations: dict[int, Association] = {}
        # The frames before which the clock of the capture went back, ascending.
        self._set_back: list[int] = []
        self._unanswered = "no answer was captured before the pipe or connection was closed"

    def feed(self, event: Event) -> list[Event]:
        """Takes one event of a channel; returns the RPC exchanges that it completes."""
        if isinstance(event, ChannelBatch | ChannelGap):
            number = event.channel.number
            association = self._associations.get(number)
            if association is None:
                association = self._begin_association(event.channel)
            out = association.feed(event)
            if association.early_acks and association.lacks_bind:
                out += self._bind_from_elsewhere(association)
            for other in self._memory.holds(number, association.memory):
                out += self._associations.pop(other).finish(_GIVEN_UP)
            if isinstance(event, ChannelGap):
                out.append(event)
            return out
        if isinstance(event, ChannelClosed):
            self._memory.ends(event.channel.number)
            closed = self._associations.pop(event.channel.number, None)
            return [*(closed.finish(self._unanswered) if closed is not None else ()), event]
        if isinstance(event, ClockSetBack):
            is_later = not self._set_back or event.frames[0] > self._set_back[-1]
            self._set_back += event.frames
            if not is_later:  # frames of several files come in turns
                self._set_back.sort()
            return []
        if isinstance(event, CaptureEnds):
            self._unanswered = _CAPTURE_ENDS
        return [event]

    def open_since(self, since_ns: int) -> int | None:
        """Returns the earliest beginning, from `since_ns` on, of an RPC call that is not complete."""
        return earliest((each.open_since(since_ns) for each in self._associations.values()), since_ns)

    def open_before(self, before_ns: int) -> Iterator[OpenCall]:
        """Yields the RPC calls of all channels that are under way and began before this time."""
        for channel, association in self._associations.items():
            for call in association.open_before(before_ns):
                times = call.times
                assert times is not None
                yield OpenCall(channel, call.call_id, (times[0], call.first_frame))

    def finish(self) -> list[Event]:
        """Ends all associations with the capture: returns their RPC calls as far as they got, and the limits that were reached."""
        out = [event for association in self._associations.values() for event in association.finish(_CAPTURE_ENDS)]
        self._associations.clear()
        if count := self._search.given_up:
            where = "sealed message was not looked for in its", "sealed messages were not looked for in their"
            text = f"{counted(count, *where)} keystream to the end: all of an analysis share its searches"
            out.append(Problem("limit", "rpc", (), text))
        if count := self._memory.given_up:
            text = f"more than {self._memory.most} bytes of memory for all DCERPC associations"
            out.append(Problem("limit", "rpc", (), f"{text}; {count} times the one silent longest was given up"))
        return out

    def _bind_from_elsewhere(self, association: Association) -> list[Event]:
        """Gives an association the bind that came over another channel. Returns the events of that."""
        for number, other in self._associations.items():
            if (out := association.takes_bind(other)) is not None:
                del self._associations[number]
                self._memory.ends(number)
                return out
        return []

    def _begin_association(self, channel: Channel) -> Association:
        begun = self._associations[channel.number] = Association(
            channel,
            self._begin,
            self._search,
            self._limits,
            self._pdus,
            self._logons,
            self._spill,
            self._set_back,
            self._selected,
        )
        return begun
