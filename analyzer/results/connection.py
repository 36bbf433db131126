"""What carried calls: channels, SMB sessions, presentation contexts, and PDUs as they were seen."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from analyzer.core.events import Event
from analyzer.results.record import Endpoint
from analyzer.results.security import Decryption, Identity


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


class SmbSession(Event, frozen=True):
    """An SMB session as far as the capture states, stated once when it ends (logoff, connection end, capture end).

    `client_guid` and `server_guid` as text, `cipher` and `signing` by name (`AES-128-GCM`, `AES-CMAC`), `encrypted_messages`
    and `decrypted_messages` count its SMB3 transforms, `decryption` and `reason` what came of the keys. `hosts` are names the ends
    gave themselves (NetBIOS session names, tree paths): (address, name, where it was stated). `refused` is the status with which
    the server refused the logon, None where it did not. `binds`: its setup has SMB2_SESSION_FLAG_BINDING ([MS-SMB2] section 2.2.5),
    and the session that it asks for was not met.
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
    decryption: Decryption
    reason: str | None
    first_time_ns: int
    last_time_ns: int
    frames: tuple[int, ...]
    encrypted_messages: int
    decrypted_messages: int
    signed_messages: int
    verified_messages: int
    trees: tuple[str, ...]
    pipes: tuple[str, ...]
    hosts: tuple[tuple[str, str, str], ...]
    refused: int | None = None
    binds: bool = False


class Pdu(Event, frozen=True):
    """One DCERPC PDU as seen, for counting and comparing with other dissectors."""

    channel: Channel
    from_client: bool
    ptype: int
    flags: int
    call_id: int
    frames: tuple[int, ...]
    length: int
    auth_type: int | None
    auth_level: int | None


class Bound(Event, frozen=True):
    """A presentation context was offered and answered (bind or alter_context).

    `accepted` is None where the answer was not captured; `reason` says why it was refused, `assoc_group_id` is the answer's.
    `syntax` is the one agreed on, else the first of those that were `offered`. `joins_group`: the client asked for an association
    group that existed before, whose handles it may use.
    """

    channel: Channel
    context_id: int
    interface: str
    version: tuple[int, int]
    syntax: str
    accepted: bool | None
    frames: tuple[int, ...]
    reason: str | None = None
    assoc_group_id: int | None = None
    offered: tuple[str, ...] = ()
    joins_group: bool = False


class FeaturesOffered(Event, frozen=True):
    """A bind offered bind-time features in the place of a presentation context ([MS-RPCE] 3.3.1.5.3).

    `result` is that of the answer (3: acknowledged, 2: refused), None where it was not captured.
    """

    channel: Channel
    context_id: int
    result: int | None
    frames: tuple[int, ...]
