"""Finds marks of the client's program in binds and first requests of DCERPC (C706 section 12.6.4, [MS-RPCE] section 2.2.2).

A mark is `name=value`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from analyzer.core.errors import DecodeError
from analyzer.core.events import Event
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.connection import Channel, ClientMarks
from analyzer.transport.channel.channels import ChannelBatch, ChannelClosed, ChannelGap
from analyzer.transport.rpc.pdu import (
    HEADER_LEN,
    Bind,
    CallHead,
    Framer,
    PduHeader,
    Ptype,
    RawPdu,
    SecTrailer,
    find_sec_trailer,
    head_of_damaged,
    parse_bind,
    parse_call_head,
)
from analyzer.transport.rpc.rpc_names import is_feature_negotiation, syntax_name

_MOST_CONTEXTS, _MOST_FRAMES = 8, 8
# Two requests show how a client counts, three in which order it calls.
_COUNTED, _ORDERED = 2, 3


class MarkNotes:
    """Notes the marks of the client's program in one association. `awaits_calls`: the first calls are still to come."""

    def __init__(self) -> None:
        self.awaits_calls = False
        self._bind_call = 0
        # The interfaces that the bind offers, by their presentation contexts.
        self._offered: dict[int, str] = {}
        # Call ids, presentation contexts and methods of the requests behind the bind.
        self._calls: list[tuple[int, int, int | None]] = []

    def bind(
        self,
        channel: Channel,
        header: PduHeader,
        bind: Bind,
        trailer: SecTrailer | None,
        data: TracedBytes,
        out: list[Event],
    ) -> None:
        """Notes the marks of the client's program in a bind. An alter_context has none, and the calls behind it are not first
        calls."""
        self.awaits_calls, self._bind_call, self._calls = header.ptype == Ptype.BIND, header.call_id, []
        if self.awaits_calls:
            self._offered = {one.context_id: one.abstract.uuid for one in bind.offers}
            _state(channel, bind_marks(header, bind, trailer), data, out)
            self.token(channel, trailer, data, out)

    def token(self, channel: Channel, trailer: SecTrailer | None, data: TracedBytes, out: list[Event]) -> None:
        """Notes the marks of the client's program in a PDU that may carry an NTLM or SPNEGO token."""
        if trailer is not None:
            from analyzer.auth.client_marks_in_tokens import token_marks  # in some captures nobody logs on

            _state(channel, token_marks(data.data[trailer.value], "rpc"), data, out)

    def lost(self) -> None:
        """Notes that bytes of the client were lost, which may have been a request: how it counts and orders its first ones is not
        known."""
        self.awaits_calls = False

    def request(
        self, channel: Channel, header: PduHeader, head: CallHead, piece: TracedBytes, start: int, out: list[Event]
    ) -> None:
        """Notes the marks of the client's program in the first fragment of a request."""
        self._calls.append((header.call_id, head.context_id, head.opnum))
        if len(self._calls) < _COUNTED:
            return
        data = piece[start : start + header.frag_length]
        if len(self._calls) == _COUNTED:
            _state(channel, call_id_marks(self._bind_call, [call_id for call_id, *_ in self._calls]), data, out)
        elif len(self._calls) == _ORDERED:
            self.awaits_calls = False
            _state(channel, self._order(), data, out)

    def _order(self) -> Iterator[str]:
        """Yields the client's mark in the order of its first RPC calls, if all use one interface."""
        contexts = {context_id for _, context_id, _ in self._calls}
        if len(contexts) == 1 and (interface := self._offered.get(contexts.pop())) is not None:
            yield f"rpc.calls={interface}: {' '.join(str(opnum) for *_, opnum in self._calls)}"


class MarksInSessions:
    """Reads only the marks of clients from channels in SMB sessions, and passes on the events of other channels. It serves readers
    that ask about sessions alone."""

    takes: ClassVar[frozenset[type[Event]]] = frozenset({ChannelBatch, ChannelGap, ChannelClosed})

    def __init__(self) -> None:
        # None where nothing more is to be learnt of a channel.
        self._open: dict[int, tuple[Framer, MarkNotes] | None] = {}

    def feed(self, event: Event) -> list[Event]:
        """Takes one event of a channel; gives the marks of its client, or the event itself if no SMB session carried it."""
        assert isinstance(event, ChannelBatch | ChannelGap | ChannelClosed)
        channel = event.channel
        if isinstance(event, ChannelClosed):
            self._open.pop(channel.number, None)
            return [event]
        if channel.session is None:
            return [event]
        out: list[Event] = []
        if event.from_client:
            opened = self._open.setdefault(channel.number, (Framer(), MarkNotes()))
            if opened is not None and _is_done(channel, event, *opened, out):
                self._open[channel.number] = None
        return out

    def finish(self) -> Iterator[Event]:
        return iter(())


def _is_done(
    channel: Channel, event: ChannelBatch | ChannelGap, framer: Framer, notes: MarkNotes, out: list[Event]
) -> bool:
    """Reads the client's PDUs for marks of its program. Returns whether all of its first requests were read."""
    for item in framer.feed(event):
        if not isinstance(item, RawPdu):
            notes.lost()
            continue
        header = item.header
        if header.ptype == Ptype.REQUEST and not notes.awaits_calls:
            return True
        try:
            _note(channel, header, item, notes, out)
        except DecodeError:
            # Who asks for calls is told so.
            head = head_of_damaged(header, item.data.data)
            if head is not None and head.opnum is not None and header.first:
                notes.request(channel, header, head, item.data, 0, out)
    return False


def _note(channel: Channel, header: PduHeader, raw: RawPdu, notes: MarkNotes, out: list[Event]) -> None:
    trailer = find_sec_trailer(header, raw.piece.data, HEADER_LEN, raw.start)
    if header.ptype in (Ptype.BIND, Ptype.ALTER_CONTEXT):
        data = raw.data
        bind = parse_bind(header, data.data, trailer.start if trailer is not None else len(data))
        notes.bind(channel, header, bind, trailer, data, out)
    elif header.ptype == Ptype.AUTH3:
        notes.token(channel, trailer, raw.data, out)
    elif header.ptype == Ptype.REQUEST and header.first:
        head = parse_call_head(header, raw.piece.data, raw.start, raw.start + header.frag_length)
        notes.request(channel, header, head, raw.piece, raw.start, out)


def _state(channel: Channel, marks: Iterable[str], data: TracedBytes, out: list[Event]) -> None:
    if found := tuple(marks):
        frames = data.frames[:_MOST_FRAMES]
        out.append(ClientMarks(channel.client, channel.server, data.time_ns_at(0), frames, found))


def bind_marks(header: PduHeader, bind: Bind, trailer: SecTrailer | None) -> Iterator[str]:
    """Yields the marks of the client's program in a bind."""
    yield f"rpc.fragments={bind.max_xmit_frag} {bind.max_recv_frag}"
    yield f"rpc.bind=5.{header.minor}, flags {header.flags:#04x}"
    yield f"rpc.bind_call={header.call_id}"
    yield f"rpc.group={'new' if bind.assoc_group_id == 0 else 'known'}"
    offers = [f"{one.context_id}:{'+'.join(map(_syntax, (s.uuid for s in one.transfer)))}" for one in bind.offers]
    yield f"rpc.contexts={' '.join(offers[:_MOST_CONTEXTS])}"
    if trailer is not None:
        yield f"rpc.auth={trailer.auth_type}, level {trailer.level}"
        yield f"rpc.auth_context={trailer.context_id}"
        yield f"rpc.auth_padding={trailer.pad_length}"


def _syntax(uuid: str) -> str:
    return "features" if is_feature_negotiation(uuid) else syntax_name(uuid)


def call_id_marks(bind: int, requests: Sequence[int]) -> Iterator[str]:
    """Yields the marks of the client's program in the call ids of a bind and of its first two requests."""
    yield f"rpc.first_call={requests[0] - bind:+d}"
    yield f"rpc.next_call={requests[1] - requests[0]:+d}"
