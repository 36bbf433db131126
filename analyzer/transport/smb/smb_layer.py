"""Follows SMB on all connections: the SMB layer takes their streams and gives channels of named pipes and sessions.

In one connection, stream batches and gaps become channel events. Framing comes first, then transforms (encryption,
compression), then the reader of the dialect family ([MS-SMB2] sections 2.1 and 2.2.1, [MS-CIFS] section 2.2.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from msgspec.structs import replace

from analyzer.auth.kdc_replies import TicketIssued, Tickets
from analyzer.auth.keyring import Keyring
from analyzer.core.errors import DecodeError, MalformedError, OutputLimitError, TruncatedError
from analyzer.core.events import Event, Problem
from analyzer.core.limits import DEFAULTS, Limits, MemoryBudget
from analyzer.core.session_and_handle_numbers import Numbers
from analyzer.core.times import earliest
from analyzer.core.traced_bytes import TracedBytes
from analyzer.transport.channel.channels import Channels
from analyzer.transport.smb.channel_emitter import Emitter
from analyzer.transport.smb.smb2_reader import ENCRYPTED, PLAIN, Smb2Reader
from analyzer.transport.smb.smb2_session_setup import SETUP_COST
from analyzer.transport.smb.smb_connection_state import ConnectionState, KeyLog, MessageLog, SharedState
from analyzer.transport.smb.smb_framing import Framed, Framing, LostMessages, Message, NetbiosNames
from analyzer.transport.smb.smb_session import KnownSessions
from analyzer.transport.smb.trees_and_opens import DurableOpens
from analyzer.transport.tcp.protocol_recognition import COMPRESSION_MAGIC, SMB1_MAGIC, SMB2_MAGIC, TRANSFORM_MAGIC
from analyzer.transport.tcp.stream_events import Connection, Direction, Gap, Recognised, StreamBatch, StreamClosed

if TYPE_CHECKING:
    from analyzer.transport.smb.smb1_reader import Smb1Reader


# ------------------------------------------------------------------------------------------------ smb connection reader


_SERVER_PORTS = (445, 139)
# Memory of a connection without sessions and requests, as measured.
_COST = 4000


class SmbConnection:
    """Reads both directions of a TCP connection that carries SMB."""

    def __init__(self, shared: SharedState, connection: Connection) -> None:
        client: Literal[0, 1] | None = None
        if connection.a.port in _SERVER_PORTS and connection.b.port not in _SERVER_PORTS:
            client = 1
        elif connection.initiator_known or connection.b.port in _SERVER_PORTS:
            client = 0
        self._state = ConnectionState(shared, connection, client)
        # About how many bytes of memory it takes.
        self.memory = _COST
        self._framings: list[Framing | None] = [None, None]
        self._out = Emitter()
        self._smb2 = Smb2Reader(self._state, self._out)
        # There is one from the first message of SMB1 on.
        self._smb1: Smb1Reader | None = None

    def feed(self, item: StreamBatch | Gap) -> list[Event]:
        """Takes a batch of the SMB connection part by part, or a gap. Returns the channel events that it completes."""
        if isinstance(item, Gap):
            begun = self._framings[item.direction] or self._begin(item.direction, seeking=True)
            self._take(item.direction, begun.gap(item))
        else:
            data, borders, ways, framings = item.data, item.borders, item.ways, self._framings
            start = borders[0]
            for is_reply, stop in zip(item.replies, borders[1:], strict=True):
                direction = ways[is_reply]
                framing, other = framings[direction], framings[1 - direction]
                if framing is None:
                    offset = item.reply_offset if is_reply else item.offset
                    seeking = offset != 0 or not self._state.connection.initiator_known
                    framing = self._begin(direction, seeking=seeking)
                if other is not None and other.memory:
                    self._take(0 if direction else 1, other.answered())
                self._take(direction, framing.feed(data, start, stop))
                start = stop
        self._smb2.sessions.times.flush()
        sent, received = self._framings
        held = (sent.memory if sent is not None else 0) + (received.memory if received is not None else 0)
        readers = self._smb2.memory + (self._smb1.memory if self._smb1 is not None else 0)
        setups = SETUP_COST * len(self._smb2.sessions.setups)
        self.memory = _COST + held + self._state.memory + readers + setups
        return self._out.take_events()

    def open_since(self, since_ns: int) -> int | None:
        """Returns since when this connection of the SMB layer waits for the rest of a message: the earliest time from `since_ns`
        on."""
        return earliest((framing.since_ns for framing in self._framings if framing is not None), since_ns)

    def finish(self) -> list[Event]:
        """Ends the readers and sessions of the SMB connection. Returns their last events."""
        for direction in (0, 1):
            framing = self._framings[direction]
            if framing is not None:
                self._take(1 if direction else 0, framing.finish())
        self._smb2.sessions.finish()
        if self._smb1 is not None:
            self._smb1.finish()
        self._leave_crowded_out()
        for session in list(self._state.sessions.values()):
            self._smb2.sessions.leave(session)
        self._state.report(self._out)
        return self._out.take_events()

    def _begin(self, direction: Direction, *, seeking: bool) -> Framing:
        framing = Framing(f"from {self._state.connection.sender(direction)}", seeking=seeking)
        self._framings[direction] = framing
        return framing

    def _begin_smb1(self) -> Smb1Reader:
        from analyzer.transport.smb.smb1_reader import Smb1Reader  # few connections carry SMB1

        return Smb1Reader(self._state, self._smb2.sessions.leave, self._smb2.expect_negotiate, self._out)

    def _take(self, direction: Direction, found: list[Framed]) -> None:
        """Gives the SMB messages found in the stream to their reader."""
        state, smb2 = self._state, self._smb2
        is_logged = state.shared.message_log is not None
        for event in found:
            if isinstance(event, Message):
                data, start = event.data, event.start
                magic = (data.data if type(data) is TracedBytes else data.lead(start + 4))[start : start + 4]
                try:
                    if magic == SMB2_MAGIC and not is_logged:
                        smb2.feed(direction, event, PLAIN)
                    else:
                        self._take_other(direction, event, magic)
                except DecodeError as error:
                    self._decode_error(direction, event, error)
                if state.crowded_out:
                    self._leave_crowded_out()
            elif isinstance(event, LostMessages):
                smb2.lost_data(direction, event, event.reason)
            elif isinstance(event, NetbiosNames):
                self._name_hosts(direction, event)
            else:
                self._out.append(event)

    def _take_other(self, direction: Direction, wrapped: Message, magic: bytes) -> None:
        """Removes the transforms (encryption, compression) of an SMB message that begins with `magic`, and gives it to its reader,
        and to the log of messages where there is one."""
        message, transforms = wrapped, PLAIN
        if magic == TRANSFORM_MAGIC:
            decrypted, transforms = self._smb2.decrypt(direction, wrapped), ENCRYPTED
            if decrypted is None:
                return
            message, magic = decrypted, decrypted.begins_with(4)
        if magic == COMPRESSION_MAGIC:
            if not message.whole:
                raise TruncatedError("a compressed message is not whole in the capture", field="message")
            message, transforms = Message.of_bytes(self._decompress(message.head)), replace(transforms, compressed=True)
            magic = message.begins_with(4)
        if (log := self._state.shared.message_log) is not None:
            log(self._state.connection, direction, wrapped, message)
        if magic == SMB2_MAGIC:
            self._smb2.feed(direction, message, transforms)
        elif magic == SMB1_MAGIC:
            self._smb1 = self._smb1 or self._begin_smb1()
            self._smb1.feed(direction, message)
        else:
            raise MalformedError("no SMB header", field="header.protocol_id", start=0, stop=4)

    def _decode_error(self, direction: Direction, message: Message, error: DecodeError) -> None:
        """Reports an SMB message of the connection that violates its specification. Only this message is lost."""
        reason = message.reason or str(error)
        if isinstance(error, OutputLimitError):
            reason = str(error)
            self._state.note("limit", reason, message.frames)
        elif isinstance(error, TruncatedError) and not message.whole:
            sender = self._state.connection.sender(direction)
            self._state.note("truncated", f"an SMB message from {sender} is cut: {message.reason}", message.frames)
        else:
            self._out.append(Problem.from_error("smb", error, message.frames))
        self._smb2.lost_data(direction, message, reason)

    def _name_hosts(self, direction: Direction, names: NetbiosNames) -> None:
        connection = self._state.connection
        self._state.name_host(connection.sender(direction).ip, names.calling, "NetBIOS session request")
        if names.called != "*SMBSERVER":
            other = connection.receiver(direction)
            self._state.name_host(other.ip, names.called, "NetBIOS session request")

    def _leave_crowded_out(self) -> None:
        while self._state.crowded_out:
            self._smb2.sessions.leave(self._state.crowded_out.pop())

    def _decompress(self, packed: TracedBytes) -> TracedBytes:
        from analyzer.transport.smb.compressed_messages import decompress_message  # few messages are compressed

        shared = self._state.shared
        shared.packed += len(packed)
        # Promised bytes are counted before they are made: few bytes that grow again and again are a bomb too.
        promised = int.from_bytes(packed.data[4:8], "little")
        # Empty pages compress a thousand times, whole conversations do not: beyond the free part the average counts.
        free, ratio = shared.limits.smb_decompressed_free, shared.limits.smb_ratio
        if shared.unpacked + promised > free + ratio * shared.packed:
            raise OutputLimitError(f"compressed messages of the capture grow more than {ratio} times")
        # A message that cannot be decompressed costs its promised bytes, too.
        shared.unpacked += promised
        return decompress_message(packed)


# ------------------------------------------------------------------------------------------------------------ smb layer


class SmbLayer:
    """The layer that follows every connection that carries SMB. Other events pass unchanged."""

    takes: ClassVar[frozenset[type[Event]]] = frozenset({StreamBatch, Gap, Recognised, StreamClosed, TicketIssued})

    def __init__(
        self,
        keyring: Keyring,
        channels: Channels | None = None,
        *,
        tickets: Tickets | None = None,
        key_log: KeyLog | None = None,
        message_log: MessageLog | None = None,
        limits: Limits = DEFAULTS,
        numbers: Numbers | None = None,
        sessions: KnownSessions | None = None,
        durable: DurableOpens | None = None,
        checks_signatures: bool = True,
    ) -> None:
        """`tickets` collects the tickets that KDCs were seen to issue. `key_log` gets the id and key of every SMB2 session whose
        handshake was opened, `message_log` every readable message. `numbers`, `sessions` and `durable` are shared by connections
        (default: new ones)."""
        numbers = numbers or Numbers()
        channels = channels if channels is not None else Channels(numbers.channels)
        self._shared = SharedState(
            keyring,
            tickets if tickets is not None else Tickets(),
            key_log,
            message_log,
            channels,
            limits,
            numbers,
            sessions or KnownSessions(),
            durable or DurableOpens(),
            checks_signatures=checks_signatures,
        )
        self._connections: dict[int, SmbConnection] = {}
        self._memory = MemoryBudget(limits.smb_memory)
        # Connections that were given up and are not closed: what comes of them is read from its middle on.
        self._given_up: set[int] = set()

    def feed(self, event: Event) -> list[Event]:
        """Takes one event of a stream; returns the events of channels and SMB sessions that it completes."""
        if isinstance(event, StreamBatch | Gap):
            number = event.connection.number
            connection = self._connections.get(number)
            if connection is None:
                if number not in self._given_up:
                    return [event]
                connection = self._begin(event.connection)
            out = connection.feed(event)
            for other in self._memory.holds(number, connection.memory):
                self._given_up.add(other)
                out += self._connections.pop(other).finish()
            return out
        if isinstance(event, Recognised) and event.protocol == "smb":
            self._begin(event.connection)
            return [event]
        if isinstance(event, TicketIssued):
            self._shared.tickets.note(event.digest, event.issued)
            return []
        if isinstance(event, StreamClosed):
            self._memory.ends(event.connection.number)
            self._given_up.discard(event.connection.number)
            closed = self._connections.pop(event.connection.number, None)
            if closed is not None:
                return closed.finish()
        return [event]

    def open_since(self, since_ns: int) -> int | None:
        """Returns since when the SMB layer waits for the rest of a message: the earliest time from `since_ns` on."""
        return earliest((each.open_since(since_ns) for each in self._connections.values()), since_ns)

    def finish(self) -> list[Event]:
        """Ends every SMB connection with the capture. Returns their last events."""
        out = [event for connection in self._connections.values() for event in connection.finish()]
        self._connections.clear()
        out += self._shared.durable.finish()
        if count := self._memory.given_up:
            text = f"more than {self._memory.most} bytes of memory for all SMB connections"
            out.append(Problem("limit", "smb", (), f"{text}; {count} times the one silent longest was given up"))
        return out

    def _begin(self, connection: Connection) -> SmbConnection:
        begun = self._connections[connection.number] = SmbConnection(self._shared, connection)
        return begun
