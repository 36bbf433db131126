"""Reads the clear part of KDC replies: the client to which each ticket was issued, and encryption types (RFC 4120 section 5.4.2).

AS-REP and TGS-REP name the client beside the ticket; the ticket itself hides the name from everybody but its service. The AP-REQ
that the client sends to the service holds this ticket, byte for byte, and so the reply states who sent it. Nothing protects the
name on its way: it is evidence, not proof. Nothing else of KDC traffic is read.

`KdcLayer` takes TCP streams (RFC 4120 section 7.2.2: a length of four bytes, then the message) and UDP datagrams of port 88.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256

from msgspec import Struct

from analyzer.core.errors import DecodeError
from analyzer.core.events import Event, StandsAlone
from analyzer.core.traced_bytes import TracedBytes
from analyzer.transport.packet.segment import UdpPayload
from analyzer.transport.tcp.protocol_recognition import KDC_REPLIES, KERBEROS_PREFIX_LEN, begins_kerberos
from analyzer.transport.tcp.stream_events import Direction, Gap, Recognised, StreamBatch, StreamClosed

# A domain controller issues some thousand tickets an hour; a forged capture must not make us hold more. The oldest goes.
MAX_TICKETS = 65_536
# The name that stands in a reply whose client asked to be hidden (RFC 6113 section 5.4.2): anybody may be meant.
HIDDEN_CLIENT = "WELLKNOWN/ANONYMOUS"
_MAX_CONNECTIONS = 4096


class Issued(Struct, frozen=True):
    """The client (`name@REALM`) to which a KDC's reply issued a ticket. It has the encryption types of the ticket and of the
    reply's own encrypted part, and the frames of the reply."""

    client: str
    ticket_etype: int
    reply_etype: int
    frames: tuple[int, ...]


class Tickets:
    """The Kerberos tickets that a KDC was seen to issue, by the digest of their bytes."""

    def __init__(self, most: int = MAX_TICKETS) -> None:
        self._most = most
        self._issued: dict[bytes, Issued] = {}

    def __len__(self) -> int:
        return len(self._issued)

    def note(self, digest: bytes, issued: Issued) -> None:
        """Notes a Kerberos ticket that a KDC's reply issues, by the digest of its bytes. Above the limit, the ticket noted first is
        forgotten."""
        if digest not in self._issued and len(self._issued) >= self._most:
            del self._issued[next(iter(self._issued))]
        self._issued[digest] = issued

    def find(self, ticket_raw: bytes) -> Issued | None:
        """Returns to whom the KDC issued this ticket, None if that was not seen."""
        return self._issued.get(sha256(ticket_raw).digest())


class TicketIssued(StandsAlone, frozen=True):
    """The event that a KDC issued a ticket, with the digest of the ticket's bytes. Later logons may learn their client from it."""

    digest: bytes
    issued: Issued


class KdcLayer:
    """The layer that reads KDC traffic and yields the tickets that are issued in it. Other events pass unchanged."""

    def __init__(self) -> None:
        self._streams: dict[int, _KdcStream] = {}
        # Streams concern it once one of them is found to be a KDC's.
        self.takes: set[type[Event]] = {UdpPayload, Recognised}

    def feed(self, event: Event) -> Sequence[Event]:
        """Takes one event; returns the tickets that a KDC's replies issue, or the event itself if it is no KDC traffic."""
        if isinstance(event, UdpPayload):
            return _issued(event.payload)
        if isinstance(event, Recognised) and event.protocol == "kerberos":
            if len(self._streams) >= _MAX_CONNECTIONS:
                del self._streams[next(iter(self._streams))]
            self._streams[event.connection.number] = _KdcStream(0 if event.client_direction else 1)
            self.takes |= {StreamBatch, Gap, StreamClosed}
            return ()
        if not isinstance(event, StreamBatch | Gap | StreamClosed):
            return (event,)
        stream = self._streams.get(event.connection.number)
        if stream is None:
            return (event,)
        if isinstance(event, StreamClosed):
            del self._streams[event.connection.number]
            return ()
        parts = (event,) if isinstance(event, Gap) else event
        return [issued for part in parts for message in stream.feed(part) for issued in _issued(message)]

    def finish(self) -> Sequence[Event]:
        return ()


def _issued(message: TracedBytes) -> tuple[TicketIssued, ...]:
    """Returns the event of the ticket that a KDC's message issues, if it is such a reply and names the client."""
    if message.lead(1)[:1] not in KDC_REPLIES:
        return ()
    from analyzer.auth.kerberos import parse_as_or_tgs_rep  # few captures have KDC traffic

    try:
        reply = parse_as_or_tgs_rep(message.data)
    except DecodeError:
        # A reply that cannot be read names nobody; nothing that is analysed depends on it.
        return ()
    if reply.client == HIDDEN_CLIENT:
        return ()
    issued = Issued(f"{reply.client}@{reply.realm}", reply.ticket_etype, reply.reply_etype, message.frames)
    return (TicketIssued(sha256(reply.ticket_raw).digest(), issued),)


class _KdcStream:
    """The KDC's direction of one TCP connection, which it cuts into replies."""

    def __init__(self, direction: Direction) -> None:
        self._direction = direction
        self._drop()

    def _drop(self) -> None:
        # The pieces of a message that is not whole yet, how long they are together, and how long it will be with its prefix.
        self._held: list[TracedBytes] = []
        self._size = 0
        self._wanted = 0

    def feed(self, part: StreamBatch | Gap) -> Iterator[TracedBytes]:
        """Yields the KDC replies that one part of the stream completes. After a loss, reading resumes at a part that begins with a
        message."""
        if part.direction != self._direction:
            return
        if isinstance(part, Gap):
            self._drop()
            return
        self._held.append(part.data)
        self._size += len(part.data)
        while self._size > KERBEROS_PREFIX_LEN:
            if not self._wanted:
                length = KERBEROS_PREFIX_LEN + 1
                head = b"".join(part.lead(length)[:length] for part in self._held)[:length]
                if not begins_kerberos(head):
                    self._drop()
                    return
                self._wanted = KERBEROS_PREFIX_LEN + int.from_bytes(head[:KERBEROS_PREFIX_LEN], "big")
            if self._size < self._wanted:
                return
            data, stop = TracedBytes.join(self._held), self._wanted
            self._drop()
            if stop < len(data):
                self._held, self._size = [data[stop:]], len(data) - stop
            yield data[KERBEROS_PREFIX_LEN:stop]
