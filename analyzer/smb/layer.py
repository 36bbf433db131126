"""The SMB layer: streams that carry SMB in, the channels of named pipes and the sessions out."""

from __future__ import annotations

from analyzer.auth.kdc import Tickets
from analyzer.auth.keyring import Keyring
from analyzer.channel.channels import Channels
from analyzer.core.events import Event
from analyzer.smb.connection import SmbConnection
from analyzer.smb.state import KeyLog, MessageLog, World
from analyzer.tcp.events import Gap, Recognised, StreamBatch, StreamClosed


class SmbLayer:
    """Follows every connection that carries SMB; other events pass unchanged."""

    def __init__(
        self,
        keyring: Keyring,
        channels: Channels | None = None,
        *,
        tickets: Tickets | None = None,
        key_log: KeyLog | None = None,
        message_log: MessageLog | None = None,
    ) -> None:
        """`tickets` are those whose issue by a KDC was seen; `key_log` gets the id and key of every SMB2 session whose handshake
        was opened, `message_log` every message that can be read."""
        self._world = World(keyring, tickets, key_log, message_log, channels if channels is not None else Channels())
        self._connections: dict[int, SmbConnection] = {}

    def feed(self, event: Event) -> list[Event]:
        """Takes one event; gives what it completed."""
        if isinstance(event, StreamBatch | Gap):
            connection = self._connections.get(event.connection.number)
            return connection.feed(event) if connection is not None else [event]
        if isinstance(event, Recognised) and event.protocol == "smb":
            self._connections[event.connection.number] = SmbConnection(self._world, event.connection)
            return [event]
        if isinstance(event, StreamClosed):
            closed = self._connections.pop(event.connection.number, None)
            if closed is not None:
                return closed.finish()
        return [event]

    def finish(self) -> list[Event]:
        """The capture ends, and with it every connection."""
        out = [event for connection in self._connections.values() for event in connection.finish()]
        self._connections.clear()
        return out
