"""What a KDC's replies say in clear: which client each ticket was issued to, and the encryption types (RFC 4120 section 5.4.2).

AS-REP and TGS-REP name the client beside the ticket; the ticket itself hides the name from everybody but its service. The
same ticket, byte for byte, stands in the AP-REQ that the client sends to the service, and so the reply tells who sent it.
Nothing protects the name on its way: it is evidence, not proof. Nothing else of KDC traffic is read.

`KdcLayer` takes TCP streams (RFC 4120 section 7.2.2: a length of four bytes, then the message) and UDP datagrams of port 88.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256

from msgspec import Struct

from analyzer.auth.kerberos import KDC_REPLIES, KdcReply, parse_kdc_reply
from analyzer.core.errors import DecodeError
from analyzer.core.events import Event
from analyzer.core.traced import TracedBytes
from analyzer.packet.candidates import KERBEROS_PORT
from analyzer.packet.segment import UdpPayload
from analyzer.tcp.events import Connection, Direction, Gap, StreamChunk, StreamClosed, StreamDialogue

# A domain controller issues some thousand tickets an hour; a forged capture must not make us hold more. The oldest goes.
MAX_TICKETS = 65_536
# Tickets with a large PAC have tens of kilobytes; no message of a KDC is longer than this.
MAX_MESSAGE_BYTES = 1 << 20
# The name that stands in a reply whose client asked to be hidden (RFC 6113 section 5.4.2): anybody may be meant.
HIDDEN_CLIENT = "WELLKNOWN/ANONYMOUS"
_MAX_CONNECTIONS = 4096
_PREFIX_LEN = 4
# AS-REQ, AS-REP, TGS-REQ, TGS-REP, AP-REQ, AP-REP, KRB-ERROR (RFC 4120 section 5.10).
_TAGS = frozenset((0x6A, 0x6B, 0x6C, 0x6D, 0x6E, 0x6F, 0x7E))


class Issued(Struct, frozen=True):
    """To whom a ticket was issued: `client` as `name@REALM`, the encryption types of the ticket and of the reply's own encrypted
    part, and the frames of the reply."""

    client: str
    ticket_etype: int
    reply_etype: int
    frames: tuple[int, ...]


class Tickets:
    """The tickets whose issue was seen, by their bytes."""

    def __init__(self, most: int = MAX_TICKETS) -> None:
        self._most = most
        self._issued: dict[bytes, Issued] = {}

    def __len__(self) -> int:
        return len(self._issued)

    def add(self, reply: KdcReply, frames: tuple[int, ...]) -> None:
        """Notes the ticket of a reply; beyond the limit the one noted first is forgotten."""
        key = sha256(reply.ticket_raw).digest()
        if key not in self._issued and len(self._issued) >= self._most:
            del self._issued[next(iter(self._issued))]
        self._issued[key] = Issued(f"{reply.client}@{reply.realm}", reply.ticket_etype, reply.reply_etype, frames)

    def find(self, ticket_raw: bytes) -> Issued | None:
        """To whom exactly this ticket was issued."""
        return self._issued.get(sha256(ticket_raw).digest())


class KdcLayer:
    """Reads KDC traffic into `tickets`; everything else passes unchanged."""

    def __init__(self) -> None:
        self.tickets = Tickets()
        self._streams: dict[int, _Stream] = {}

    def feed(self, event: Event) -> Iterable[Event]:
        """Takes one event; yields it where it is none of a KDC's."""
        if isinstance(event, UdpPayload):
            self._message(event.payload)
            return ()
        if not isinstance(event, StreamChunk | StreamDialogue | Gap | StreamClosed):
            return (event,)
        connection = event.connection
        if connection.a.port != KERBEROS_PORT and connection.b.port != KERBEROS_PORT:
            return (event,)
        return self._stream(connection, event)

    def finish(self) -> Iterator[Event]:
        return iter(())

    def _stream(
        self, connection: Connection, event: StreamChunk | StreamDialogue | Gap | StreamClosed
    ) -> Iterable[Event]:
        stream = self._streams.get(connection.number)
        if stream is None:
            # The port alone does not make it Kerberos.
            if not isinstance(event, StreamChunk | StreamDialogue) or not _may_begin(event.data.top(_PREFIX_LEN + 1)):
                return (event,)
            if len(self._streams) >= _MAX_CONNECTIONS:
                del self._streams[next(iter(self._streams))]
            stream = self._streams[connection.number] = _Stream(0 if connection.a.port == KERBEROS_PORT else 1)
        if isinstance(event, StreamClosed):
            del self._streams[connection.number]
            return ()
        if isinstance(event, Gap):
            stream.gap(event.direction)
            return ()
        for chunk in (event,) if isinstance(event, StreamChunk) else event:
            for message in stream.take(chunk):
                self._message(message)
        return ()

    def _message(self, message: TracedBytes) -> None:
        if message.top(1) not in KDC_REPLIES:
            return
        try:
            reply = parse_kdc_reply(message.data)
        except DecodeError:
            # A reply that cannot be read names nobody; nothing that is analysed depends on it.
            return
        if reply.client != HIDDEN_CLIENT:
            self.tickets.add(reply, message.frames)


class _Stream:
    """The KDC's direction of one connection, cut into messages."""

    def __init__(self, direction: Direction) -> None:
        self._direction = direction
        self._drop()

    def _drop(self) -> None:
        # The pieces of a message that is not whole yet, how long they are together, and how long it will be with its prefix.
        self._held: list[TracedBytes] = []
        self._size = 0
        self._wanted = 0

    def gap(self, direction: Direction) -> None:
        if direction == self._direction:
            self._drop()

    def take(self, chunk: StreamChunk) -> Iterator[TracedBytes]:
        """The messages that a chunk completes. After a loss, the next message is taken up where a chunk begins with one."""
        if chunk.direction != self._direction:
            return
        self._held.append(chunk.data)
        self._size += len(chunk.data)
        while self._size > _PREFIX_LEN:
            if not self._wanted:
                head = b"".join(part.top(_PREFIX_LEN + 1) for part in self._held)[: _PREFIX_LEN + 1]
                if not _begins_message(head):
                    self._drop()
                    return
                self._wanted = _PREFIX_LEN + int.from_bytes(head[:_PREFIX_LEN], "big")
            if self._size < self._wanted:
                return
            data, stop = TracedBytes.join(self._held), self._wanted
            self._drop()
            if stop < len(data):
                self._held, self._size = [data[stop:]], len(data) - stop
            yield data[_PREFIX_LEN:stop]


def _may_begin(head: bytes) -> bool:
    """The same for the first bytes of a stream, where some senders give the length a segment of its own."""
    if len(head) > _PREFIX_LEN:
        return _begins_message(head)
    return len(head) > 1 and head[0] == 0 and head[1] < MAX_MESSAGE_BYTES >> 16


def _begins_message(head: bytes) -> bool:
    """Whether a stream goes on like a Kerberos message: a length and the tag of a message."""
    return len(head) > _PREFIX_LEN and head[_PREFIX_LEN] in _TAGS and head[0] == 0 and head[1] < MAX_MESSAGE_BYTES >> 16
