"""What leaves the transport rooms: byte channels that carry DCERPC, whether a named pipe over SMB or a TCP connection."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from analyzer.core.events import Event
from analyzer.core.traced import TracedBytes
from analyzer.model.connection import Channel
from analyzer.tcp.events import Connection

# Bytes of which a part is meant: from start to stop.
Span = tuple[TracedBytes, int, int]


class SmbInfo(Struct, frozen=True, cache_hash=True):
    """How SMB carried a message: dialect as `2.0.2` ... `3.1.1` or `1.0`, session id, and what protected it.

    `dialect` is None where the negotiation was not captured.
    """

    dialect: str | None
    session_id: int
    encrypted: bool
    signed: bool
    compressed: bool
    signature_ok: bool | None = None


class ChannelData(Event, frozen=True):
    """Bytes of a channel in order. `from_client` tells the direction.

    `fresh` is True where the bytes begin a message of the transport (an SMB write, a read's answer), so a lost PDU border may be
    looked for there.
    """

    channel: Channel
    from_client: bool
    data: TracedBytes
    smb: SmbInfo | None
    fresh: bool


class ChannelMessages(Event, frozen=True):
    """What several messages of the transport, one after the other, carried in one direction of a channel: each time the bytes
    from start to stop of others."""

    channel: Channel
    from_client: bool
    spans: list[Span]
    smb: SmbInfo


class ChannelGap(Event, frozen=True):
    """Bytes of a channel are missing here; `length` as far as it is known. `frames` stand around the hole."""

    channel: Channel
    from_client: bool
    length: int | None
    frames: tuple[int, ...]
    reason: str


class ChannelClosed(Event, frozen=True):
    channel: Channel


class Recognised(Event, frozen=True):
    """A connection carries SMB, or DCERPC directly on TCP; emitted once."""

    connection: Connection
    protocol: Literal["smb", "dcerpc"]


class NotOurs(Event, frozen=True):
    """A connection carries neither SMB nor DCERPC; said once, so that the rooms below may forget its bytes."""

    connection: Connection
