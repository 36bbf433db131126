"""The state of one SMB connection, and the state that all SMB connections of a capture share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from analyzer.auth.kdc_replies import Tickets
from analyzer.auth.keyring import Keyring
from analyzer.auth.token_handshake import TokenHandshake, begin
from analyzer.core.events import Problem, ProblemKind
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.core.session_and_handle_numbers import Numbers
from analyzer.results.connection import ClientMarks
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.channel.channels import Channels, SmbInfo
from analyzer.transport.smb.channel_emitter import Emitter
from analyzer.transport.smb.smb_framing import Message
from analyzer.transport.smb.smb_session import MAX_FRAMES, MAX_NAMES, KnownSessions, Session, SessionLogon
from analyzer.transport.smb.trees_and_opens import DurableOpens
from analyzer.transport.tcp.stream_events import Connection, Direction

# Called with (session id, session key); for `keys`, which prints them, and for nothing else.
KeyLog = Callable[[int, bytes], object]
# Gets the connection and direction of each SMB message, the message as it was sent, and the same one decrypted and decompressed.
MessageLog = Callable[[Connection, Direction, Message, Message], object]
# Ways in which messages of a connection are carried, kept at once.
_MAX_INFOS = 256


class ProblemTally(Struct):
    """A repeated problem of one SMB connection, emitted once with its count: a short snapshot length cuts every message."""

    kind: ProblemKind
    text: str
    count: int = 0
    frames: list[int] = field(default_factory=list)

    def problem(self) -> Problem:
        times = f" ({self.count} times)" if self.count > 1 else ""
        return Problem(self.kind, "smb", tuple(sorted(set(self.frames))), f"{self.text}{times}")


class SharedState(Struct):
    """The numbers, sessions and limits that all SMB connections of a capture share."""

    keyring: Keyring
    tickets: Tickets = field(default_factory=Tickets)
    key_log: KeyLog | None = None
    message_log: MessageLog | None = None
    channels: Channels = field(default_factory=Channels)
    limits: Limits = DEFAULTS
    numbers: Numbers = field(default_factory=Numbers)
    sessions: KnownSessions = field(default_factory=lambda: KnownSessions())
    durable: DurableOpens = field(default_factory=DurableOpens)
    # Opens of all sessions; bytes of compressed messages, and what they promised to become.
    opens: int = 0
    packed: int = 0
    unpacked: int = 0
    # A second reading need not check them.
    checks_signatures: bool = True

    def handshake(self) -> TokenHandshake:
        """Begins to follow a new handshake, with the keyring and the tickets that all SMB connections share."""
        return begin(self.keyring, tickets=self.tickets)

    def logon(self, handshake: TokenHandshake | None, time_ns: int, frames: Iterable[int] = ()) -> SessionLogon:
        """Makes a new SMB logon, numbered by the shared state, whose first message was captured at that time."""
        return SessionLogon(next(self.numbers.smb_logons), handshake, time_ns, frames)


class ConnectionState(Struct):
    """The state of one SMB connection. `client_direction` is the direction of requests, None while that is unknown."""

    shared: SharedState
    connection: Connection
    client_direction: Literal[0, 1] | None
    dialect: str | None = None
    dialect_number: int | None = None
    cipher: int | None = None
    signing: int | None = None
    preauth_hash: bytes | None = None
    client_guid: str | None = None
    server_guid: str | None = None
    hosts: dict[tuple[str, str, str], None] = field(default_factory=dict)
    sessions: dict[int, Session] = field(default_factory=dict)
    crowded_out: list[Session] = field(default_factory=list)
    # About how many bytes of memory its sessions and their trees take.
    memory: int = 0

    @property
    def client(self) -> Endpoint:
        return self.connection.sender(self.client_direction or 0)

    @property
    def server(self) -> Endpoint:
        return self.connection.sender(0 if self.client_direction == 1 else 1)

    tallies: dict[tuple[str, str], ProblemTally] = field(default_factory=dict)

    def note(self, kind: ProblemKind, text: str, frames: tuple[int, ...]) -> None:
        """Counts a problem of the SMB connection that is likely to repeat. `report` emits it."""
        tally = self.tallies.get((kind, text))
        if tally is None and len(self.tallies) < MAX_NAMES:
            tally = self.tallies[kind, text] = ProblemTally(kind, text)
        if tally is not None:
            tally.count += 1
            if len(tally.frames) < MAX_FRAMES:
                tally.frames += frames[: MAX_FRAMES - len(tally.frames)]

    def note_other_session(self, stated: int, asked: int, message: Message) -> None:
        """Notes that an answer on the connection names an SMB session that nothing set up, and its request another one."""
        text = f"an answer names session {stated:#x}, which nothing set up; its request is of session {asked:#x}"
        self.note("malformed", f"{text}, and so it is read", message.frames)

    def note_marks(self, marks: Iterable[str], message: Message, out: Emitter) -> None:
        """Emits with the ends of this SMB connection the marks of the client's program in a message."""
        if found := tuple(marks):
            out.append(ClientMarks(self.client, self.server, message.time_ns, message.frames[:MAX_FRAMES], found))

    def report(self, out: Emitter) -> None:
        """Emits the problems that were counted on the SMB connection."""
        for tally in self.tallies.values():
            out.append(tally.problem())
        self.tallies.clear()

    def add_session(self, session: Session) -> None:
        """Adds an SMB session to the connection by its id. If there are too many, the oldest is dropped."""
        most = self.shared.limits.sessions
        if session.session_id not in self.sessions and len(self.sessions) >= most:
            oldest = self.sessions.pop(next(iter(self.sessions)))
            self.crowded_out.append(oldest)
            text = f"more than {most} sessions on one connection; the oldest are forgotten"
            self.note("limit", text, tuple(oldest.frames[:1]))
        self.sessions[session.session_id] = session

    def forget_session(self, session: Session) -> None:
        """Removes an SMB session from the connection."""
        if self.sessions.get(session.session_id) is session:
            del self.sessions[session.session_id]

    def name_host(self, ip: str, name: str, stated_in: str) -> None:
        if name and len(self.hosts) < MAX_NAMES:
            self.hosts[ip, name, stated_in] = None


def remember_info(
    infos: dict[tuple[object, ...], SmbInfo], key: tuple[object, ...], info: SmbInfo, logon: SessionLogon | None
) -> SmbInfo:
    """Stores and returns how messages of an SMB connection are carried under a logon. Few values differ: a conversation is carried
    alike."""
    if len(infos) >= _MAX_INFOS:
        infos.clear()
    if logon is not None:
        info = replace(info, logon=logon.number, identity=logon.identity)
    infos[key] = info
    return info
