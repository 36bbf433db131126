"""What leaves the transport rooms: byte channels that carry DCERPC, whether a named pipe over SMB or a TCP connection."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from analyzer.auth.context import Door, Identity
from analyzer.core.events import Event
from analyzer.core.traced import TracedBytes
from analyzer.packet.segment import Endpoint
from analyzer.tcp.events import Connection

# Bytes of which a part is meant: from start to stop.
Span = tuple[TracedBytes, int, int]


class SmbInfo(Struct, frozen=True):
    """How SMB carried a message: dialect as `2.0.2` ... `3.1.1` or `1.0`, session id, and what protected it.

    `dialect` is None where the negotiation was not captured.
    """

    dialect: str | None
    session_id: int
    encrypted: bool
    signed: bool
    compressed: bool
    signature_ok: bool | None = None


class Channel(Struct, frozen=True):
    """One carrier of DCERPC PDUs: an open of a pipe, or a TCP connection. `number` is unique in the capture.

    `impersonation` is the level that the client opened the pipe with ([MS-SMB2] section 2.2.13), None where it was not captured.
    """

    number: int
    transport: Literal["ncacn_np", "ncacn_ip_tcp"]
    client: Endpoint
    server: Endpoint
    pipe: str | None
    session: int | None
    identity: Identity | None
    impersonation: int | None = None


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


class SmbSession(Event, frozen=True):
    """An SMB session as far as the capture tells, said once when it ends (logoff, connection end, capture end).

    `client_guid` and `server_guid` as text, `cipher` and `signing` by name (`AES-128-GCM`, `AES-CMAC`), `encrypted_messages`
    and `opened_messages` count its SMB3 transforms, `door` and `reason` what came of the keys. `hosts` are names the ends
    gave themselves (NetBIOS session names, tree paths): (address, name, where it was said). `refused` is the status with which
    the server refused the logon, None where it did not.
    """

    number: int
    session_id: int
    client: Endpoint
    server: Endpoint
    dialect: str | None
    client_guid: str | None
    server_guid: str | None
    cipher: str | None
    signing: str | None
    identity: Identity
    door: Door
    reason: str | None
    first_time_ns: int
    last_time_ns: int
    frames: tuple[int, ...]
    encrypted_messages: int
    opened_messages: int
    signed_messages: int
    verified_messages: int
    trees: tuple[str, ...]
    pipes: tuple[str, ...]
    hosts: tuple[tuple[str, str, str], ...]
    refused: int | None = None


class Recognised(Event, frozen=True):
    """A connection carries SMB, or DCERPC directly on TCP; emitted once."""

    connection: Connection
    protocol: Literal["smb", "dcerpc"]


class NotOurs(Event, frozen=True):
    """A connection carries neither SMB nor DCERPC; said once, so that the rooms below may forget its bytes."""

    connection: Connection
