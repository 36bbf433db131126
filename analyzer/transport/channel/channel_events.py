"""Events of the channels that carry DCERPC: a channel is a named pipe over SMB or a TCP connection."""

from __future__ import annotations

from msgspec import Struct

from analyzer.core.events import Event
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.connection import Channel
from analyzer.results.records.record_types import Endpoint
from analyzer.results.security import Identity

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
    """The event that bytes of a channel are missing. `length` is their number, None if unknown. `frames` stand around the hole."""

    channel: Channel
    from_client: bool
    length: int | None
    frames: tuple[int, ...]
    reason: str


class ChannelClosed(Event, frozen=True):
    channel: Channel
