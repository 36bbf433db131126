"""Follows SMB on all connections: the SMB layer takes their streams and gives channels of named pipes and sessions."""

from __future__ import annotations

from typing import ClassVar

from analyzer.auth.kdc_replies import TicketIssued, Tickets
from analyzer.auth.keyring import Keyring
from analyzer.core.events import Event, Problem
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.core.memory_budget import MemoryBudget
from analyzer.core.session_and_handle_numbers import Numbers
from analyzer.core.times import earliest
from analyzer.transport.channel.channels import Channels
from analyzer.transport.smb.durable_opens import DurableOpens
from analyzer.transport.smb.sessions_by_id import KnownSessions
from analyzer.transport.smb.smb_connection_reader import SmbConnection
from analyzer.transport.smb.smb_connection_state import KeyLog, MessageLog, SharedState
from analyzer.transport.tcp.stream_events import Connection, Gap, Recognised, StreamBatch, StreamClosed


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
        """Returns the earliest beginning, from `since_ns` on, of an SMB message that is not whole."""
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
