"""Binds of DCERPC in, marks of the client's program out (C706 section 12.6.4.3, [MS-RPCE] section 2.2.2).

A mark is `name=value`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from analyzer.auth.marks import token_marks
from analyzer.core.events import Event
from analyzer.core.traced import TracedBytes
from analyzer.results.connection import Channel, ClientMarks
from analyzer.transport.rpc.pdu import Bind, PduHeader, Ptype, SecTrailer
from analyzer.transport.rpc.syntaxes import is_feature_negotiation, syntax_name

_MOST_CONTEXTS, _MOST_FRAMES = 8, 8
# A bind, and two requests behind it.
_BIND_AND_CALLS = 3


class MarkNotes:
    """States what the binds, tokens and first calls of one association show. `awaits_calls` while first calls are still to come."""

    def __init__(self) -> None:
        self.awaits_calls = False
        # Call ids of the bind, and of the requests behind it.
        self._ids: list[int] = []

    def bind(
        self,
        channel: Channel,
        header: PduHeader,
        bind: Bind,
        trailer: SecTrailer | None,
        data: TracedBytes,
        out: list[Event],
    ) -> None:
        """A bind or alter_context. What comes behind the latter says nothing of first calls."""
        self.awaits_calls, self._ids = header.ptype == Ptype.BIND, [header.call_id]
        if self.awaits_calls:
            _state(channel, bind_marks(header, bind, trailer), data, out)
            self.token(channel, trailer, data, out)

    def token(self, channel: Channel, trailer: SecTrailer | None, data: TracedBytes, out: list[Event]) -> None:
        """A PDU of the client that may carry a token."""
        if trailer is not None:
            _state(channel, token_marks(data.data[trailer.value], "rpc"), data, out)

    def request(self, channel: Channel, header: PduHeader, piece: TracedBytes, start: int, out: list[Event]) -> None:
        """The first fragment of a request; two of them show how the client counts."""
        self._ids.append(header.call_id)
        if len(self._ids) == _BIND_AND_CALLS:
            self.awaits_calls = False
            data = piece[start : start + header.frag_length]
            _state(channel, call_id_marks(self._ids[0], self._ids[1:]), data, out)


def _state(channel: Channel, marks: Iterable[str], data: TracedBytes, out: list[Event]) -> None:
    if found := tuple(marks):
        frames = data.frames[:_MOST_FRAMES]
        out.append(ClientMarks(channel.client, channel.server, data.time_ns_at(0), frames, found))


def bind_marks(header: PduHeader, bind: Bind, trailer: SecTrailer | None) -> Iterator[str]:
    """The marks of a bind."""
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
    """The marks of the call ids of a bind and of the first requests after it."""
    yield f"rpc.first_call={requests[0] - bind:+d}"
    if len(requests) > 1:
        yield f"rpc.next_call={requests[1] - requests[0]:+d}"
