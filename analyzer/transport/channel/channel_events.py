"""Byte channels that carry DCERPC, whether a named pipe over SMB or a TCP connection: what they are, and what comes over them."""

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
    """How SMB carried bytes of a channel: dialect as `2.0.2` ... `3.1.1` or `1.0`, session id, and what protected it.

    `dialect` is None where the negotiation was not captured. `client` and `server` are the ends of the connection that carried it,
    which for another channel of a session are not those of the open ([MS-SMB2] section 1.3, multichannel); None where they are.
    `logon` and `identity` are of the logon of the session that was in force, and `session` is its number: another than that of the
    channel where a durable open was opened again.
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
    """Bytes of a channel in order, all of one direction: each span is a piece, and where in it the bytes begin and end.

    `fresh` is True where each span begins a message of the transport (an SMB write, a read's answer), so a lost PDU border may be
    looked for there.
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
        """A batch of channel bytes of one span."""
        return cls(channel, from_client, [(data, 0, len(data))], smb, fresh)

    @property
    def data(self) -> TracedBytes:
        """The channel bytes of all spans, joined."""
        return TracedBytes.pick(self.spans)


class ChannelGap(Event, frozen=True):
    """Bytes of a channel are missing here; `length` is their number where that is known. `frames` stand around the hole."""

    channel: Channel
    from_client: bool
    length: int | None
    frames: tuple[int, ...]
    reason: str


class ChannelClosed(Event, frozen=True):
    channel: Channel
