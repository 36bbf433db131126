"""The carriers of calls: channels, SMB sessions and logons, presentation contexts, and captured PDUs."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from analyzer.core.events import Event
from analyzer.core.printable_text import counted
from analyzer.results.records.record_types import Endpoint
from analyzer.results.security import Decryption, Identity, LogonOutcome, RefusedBy


def logon_key(by: Literal["smb", "rpc"], number: int) -> str:
    """Returns the key by which calls and records refer to a logon on a connection: `smb0`, `rpc2`."""
    return f"{by}{number}"


class Channel(Struct, frozen=True):
    """One carrier of DCERPC PDUs: an open of a pipe, or a TCP connection. `number` is unique in the capture.

    `impersonation` is the level that the client opened the pipe with ([MS-SMB2] section 2.2.13), None where it was not captured.
    `identity` and `logon` are of the logon that was in force when the pipe was opened.
    """

    number: int
    transport: Literal["ncacn_np", "ncacn_ip_tcp"]
    client: Endpoint
    server: Endpoint
    pipe: str | None
    session: int | None
    identity: Identity | None
    impersonation: int | None = None
    logon: int | None = None


class Logon(Event, frozen=True):
    """One logon: somebody authenticated, or tried to, by SMB (a session setup) or by RPC (a security context). The event is stated
    once: when another logon takes its place, or when its session or channel ends.

    `number` counts the logons by SMB and those by RPC from 0; `key` names both kinds. `session` is the number of the SMB session,
    `channel` that of the channel whose security context it is. If the server refused the logon, `refused` is the status and
    `refused_by` the kind of message. If `is_binding`, the logon bound a further connection to the session and left the session with
    its user ([MS-SMB2] section 3.3.5.5.2). `is_answered` says that the server's answer was captured, or that later messages show
    that it let the client in. `is_undecided`: the captured part of an RPC logon does not show what the server decided. `seen` says
    in words what shows the outcome, or what was captured in its place; it is None if the answer to a session setup shows it.
    `opened_by` says in words which of the given keys opened the handshake. The logon is in force from `first_time_ns`, the first
    message of the handshake, to `until_ns`.
    """

    number: int
    by: Literal["smb", "rpc"]
    session: int | None
    channel: int | None
    client: Endpoint
    server: Endpoint
    identity: Identity
    first_time_ns: int
    until_ns: int
    frames: tuple[int, ...]
    refused: int | None = None
    is_binding: bool = False
    is_answered: bool = False
    opened_by: str | None = None
    refused_by: RefusedBy | None = None
    is_undecided: bool = False
    seen: str | None = None

    @property
    def key(self) -> str:
        """The key by which calls and records know this logon on a connection: `smb0`, `rpc2`."""
        return logon_key(self.by, self.number)

    @property
    def is_granted(self) -> bool:
        """Whether the server granted this logon on a connection."""
        return self.is_answered and self.refused is None

    @property
    def outcome(self) -> LogonOutcome:
        """Returns how the server decided the logon to a session or channel. Code that says how a logon ended uses this property."""
        if self.refused is not None:
            return "refused"
        if not self.is_answered:
            return "undecided" if self.is_undecided else "unanswered"
        if self.is_binding:
            return "bound"
        granted = self.identity.granted
        return "anonymous" if self.identity.is_anonymous else granted if granted is not None else "account"


class LateLogon(Event, frozen=True):
    """A later logon of an SMB session, on one of its connections, that was read too late: messages of another connection, sent
    after it, were read first. So calls made from `since_ns` to `until_ns` may belong to the earlier or the later account."""

    session: int
    logon: int
    identity: Identity
    since_ns: int
    until_ns: int


class SmbSession(Event, frozen=True):
    """An SMB session as far as the capture states, stated once when it ends (logoff, connection end, capture end).

    `identity` is that of the logon that began it, `later` are those of later logons by others; each logon has its own `Logon`.

    `client_guid` and `server_guid` are text, `cipher` and `signing` names (`AES-128-GCM`, `AES-CMAC`). `encrypted_messages` and
    `decrypted_messages` count its SMB3 transforms. `decryption` and `reason` state what came of the keys. `hosts` are names the
    ends gave themselves (NetBIOS session names, tree paths): (address, name, where it was stated). `refused` is the status with
    which the server refused the logon, else None. `binds`: its setup has SMB2_SESSION_FLAG_BINDING ([MS-SMB2] section 2.2.5), and
    the session that it asks for was not met. `undecrypted_frames` carried the first messages that stayed encrypted.
    `wrong_signatures` counts messages whose signature does not fit a key that fitted before; `wrong_signature_frames` carried the
    first.
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
    later: tuple[Identity, ...] = ()
    undecrypted_frames: tuple[int, ...] = ()
    wrong_signatures: int = 0
    wrong_signature_frames: tuple[int, ...] = ()

    @property
    def wrong_signature_words(self) -> str:
        """Says how many messages on the connections of the SMB session have a signature that does not fit."""
        return f"SMB session {self.session_id:#x}: {counted(self.wrong_signatures, 'message')} with a wrong signature"

    @property
    def identities(self) -> tuple[Identity, ...]:
        """Returns the identities of all accounts that were logged on to the SMB session over its connections, in order."""
        return (self.identity, *self.later)

    @property
    def who(self) -> str:
        """The identities that were logged on to the SMB session over its connections, in words."""
        return ", then ".join(dict.fromkeys(identity.who for identity in self.identities))


class Pdu(Event, frozen=True):
    """The event that a channel carried a DCERPC PDU, for counting and for comparing with other dissectors."""

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
    """The event that a presentation context, which carries calls, was offered and answered (bind or alter_context).

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


class ClientMarks(Event, frozen=True):
    """The event that a client's message on a connection leaves marks of its program: in a negotiation, a session setup, or a bind
    and the calls after it.

    A mark is `name=value`. The prefix of its name is `smb1`, `smb2`, `smb` (the logon of SMB) or `rpc`.
    `interfaces.call_contents.client_programs` knows which programs leave which marks.
    """

    client: Endpoint
    server: Endpoint
    time_ns: int
    frames: tuple[int, ...]
    marks: tuple[str, ...]


class FeaturesOffered(Event, frozen=True):
    """The event that a bind offered bind-time features in the place of a presentation context ([MS-RPCE] 3.3.1.5.3).

    `result` is that of the answer (3: acknowledged, 2: refused), None where it was not captured.
    """

    channel: Channel
    context_id: int
    result: int | None
    frames: tuple[int, ...]


class FlowLink(Event, frozen=True):
    """What one end of a TCP connection shows in its frames: MAC address and hop limit, stated once at the end of the capture.

    `mac` is the source address of the link layer. It is None if the frames have none, or if a tunnel, PPPoE or MPLS hides that of
    the sender. `hops` is the captured time to live or hop limit. `frames` are the first and the last frame with these two values,
    among the frames that were looked at.
    """

    src: Endpoint
    dst: Endpoint
    mac: str | None
    hops: int
    first_time_ns: int
    last_time_ns: int
    frames: tuple[int, ...]
