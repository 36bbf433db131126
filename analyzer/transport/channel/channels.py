"""Makes the channels of a capture, and their events: a channel is an open named pipe that SMB finds, or a TCP connection that
carries DCERPC (C706 section 12.6).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import ClassVar

from msgspec import Struct

from analyzer.core.events import Event
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.connection import Channel
from analyzer.results.records.record_types import Endpoint
from analyzer.results.security import Identity
from analyzer.transport.tcp.protocol_recognition import looks_like_dcerpc
from analyzer.transport.tcp.stream_events import Gap, Recognised, StreamBatch, StreamClosed

# ------------------------------------------------------------------------------------------------------- channel events


# Bytes of which a part is meant: from start to stop.
Span = tuple[TracedBytes, int, int]


class SmbInfo(Struct, frozen=True, cache_hash=True):
    """How SMB carried bytes of a channel: dialect (`2.0.2` to `3.1.1`, or `1.0`), session id, and protection.

    `dialect` is None if the negotiation was not captured. `client` and `server` are the ends of the connection that carried the
    bytes. They are None if it is the connection of the open; on another channel of the session they differ ([MS-SMB2] section 1.3,
    multichannel). `logon` and `identity` are of the logon that was in force. `session` is the number of the session; it is not that
    of the channel if a durable open was opened again.
    """

    dialect: str | None
    session_id: int
    encrypted: bool
    signed: bool
    compressed: bool
    signature_ok: bool | None = None
    client: Endpoint | None = None
    server: Endpoint | None = None
    logon: int | None = None
    identity: Identity | None = None
    session: int | None = None


class ChannelBatch(Event, frozen=True):
    """Bytes of a channel in order, all of one direction. Each span is a piece, and where in it the bytes begin and end.

    `fresh` is true if each span begins a message of the transport (an SMB write, a read's answer). A lost PDU border may be looked
    for there.
    """

    channel: Channel
    from_client: bool
    spans: list[Span]
    smb: SmbInfo | None
    fresh: bool

    @classmethod
    def of_span(
        cls, channel: Channel, from_client: bool, data: TracedBytes, smb: SmbInfo | None, *, fresh: bool
    ) -> ChannelBatch:
        """Returns a batch of channel bytes that has one span."""
        return cls(channel, from_client, [(data, 0, len(data))], smb, fresh)

    @property
    def data(self) -> TracedBytes:
        """The channel bytes of all spans, joined."""
        return TracedBytes.pick(self.spans)


class ChannelGap(Event, frozen=True):
    """The event that bytes of a channel are missing. `length` is their number, None if unknown. `frames` stand around the hole.

    `captured`: their frames were captured, and it cannot be read what they carry."""

    channel: Channel
    from_client: bool
    length: int | None
    frames: tuple[int, ...]
    reason: str
    captured: bool = False


class ChannelClosed(Event, frozen=True):
    channel: Channel


# ------------------------------------------------------------------------------------------------------------- channels


class Channels:
    """Makes the channels of a capture, and numbers them in the order in which they are opened."""

    def __init__(self, numbers: Iterator[int] | None = None) -> None:
        """`numbers` gives the numbers of the channels. Default: count from 0."""
        self._numbers = count() if numbers is None else numbers

    def pipe(
        self,
        client: Endpoint,
        server: Endpoint,
        name: str | None,
        session: int,
        identity: Identity | None,
        impersonation: int | None,
        logon: int | None = None,
    ) -> Channel:
        """Makes the channel of an open of a named pipe."""
        return Channel(next(self._numbers), "ncacn_np", client, server, name, session, identity, impersonation, logon)

    def tcp(self, client: Endpoint, server: Endpoint) -> Channel:
        """Makes the channel of a TCP connection that carries DCERPC."""
        return Channel(next(self._numbers), "ncacn_ip_tcp", client, server, None, None, None)


class _TcpChannel:
    """The channel of a TCP connection that carries DCERPC directly: every byte of the connection belongs to it."""

    def __init__(self, channel: Channel, client_direction: int) -> None:
        self.channel = channel
        self._client_direction = client_direction
        self._fresh = [True, True]

    def feed(self, item: StreamBatch | Gap) -> list[Event]:
        if isinstance(item, Gap):
            self._fresh[item.direction] = True
            from_client = item.direction == self._client_direction
            return [ChannelGap(self.channel, from_client, item.length, item.frames, item.reason)]
        out: list[Event] = []
        data, borders = item.data, item.borders
        for part in range(len(item.replies)):
            start, stop = borders[part], borders[part + 1]
            if start == stop:
                continue
            direction = item.way(part)
            # TCP has no messages, but what begins like a PDU is a place to look for one.
            fresh = self._fresh[direction] or looks_like_dcerpc(data.data[start : min(stop, start + 16)])
            self._fresh[direction] = False
            from_client = direction == self._client_direction
            out.append(ChannelBatch(self.channel, from_client, [(data, start, stop)], None, fresh))
        return out


class TcpChannels:
    """The layer that makes a channel of each TCP connection that carries DCERPC. Other events pass unchanged."""

    takes: ClassVar[frozenset[type[Event]]] = frozenset({StreamBatch, Gap, Recognised, StreamClosed})

    def __init__(self, channels: Channels) -> None:
        self._channels = channels
        self._open: dict[int, _TcpChannel] = {}

    def feed(self, event: Event) -> list[Event]:
        """Takes one TCP event; gives channel events if its connection carries DCERPC, else the event itself."""
        if isinstance(event, StreamBatch | Gap):
            opened = self._open.get(event.connection.number)
            return opened.feed(event) if opened is not None else [event]
        if isinstance(event, Recognised) and event.protocol == "dcerpc":
            connection, way = event.connection, event.client_direction
            client, server = connection.sender(way), connection.sender(0 if way else 1)
            self._open[connection.number] = _TcpChannel(self._channels.tcp(client, server), way)
            return [event]
        if isinstance(event, StreamClosed) and (closed := self._open.pop(event.connection.number, None)) is not None:
            return [ChannelClosed(closed.channel)]
        return [event]

    def finish(self) -> list[Event]:
        """Closes all TCP channels at the end of the capture."""
        closed: list[Event] = [ChannelClosed(each.channel) for each in self._open.values()]
        self._open.clear()
        return closed
