"""The transport room's door: TCP bytes in, byte channels that carry DCERPC out.

Each connection is classified by its first bytes, on any port: NetBIOS session service or direct TCP with SMB inside
([MS-SMB2] section 2.1), DCERPC straight on TCP (C706 section 12.6), or neither. A connection goes from undecided to one of
the three and stays there; what it said while undecided is replayed to the reader that was chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from analyzer.auth.kdc import Tickets
from analyzer.auth.keyring import Keyring
from analyzer.core.events import Event
from analyzer.model.connection import Channel
from analyzer.smb.connection import SmbConnection
from analyzer.smb.events import ChannelClosed, ChannelData, ChannelGap, NotOurs, Recognised
from analyzer.smb.framing import HEADER_LEN, KEEPALIVE, MAGICS, POSITIVE_RESPONSE, SESSION_REQUEST, find_header
from analyzer.smb.state import KeyLog, World, looks_like_dcerpc
from analyzer.tcp.events import Connection, Direction, Gap, StreamChunk, StreamClosed, StreamDialogue

SMB_PORTS = frozenset((445, 139))
RPC_PORT = 135
# A DCERPC header says its length in the tenth byte, and an SMB2 header its size in the sixth behind the framing.
_ENOUGH = 10
# A stream taken up in its middle shows a header within a message: at most 16 MiB on, on a port of ours; elsewhere a longer
# search would only find chance.
_MAX_SEARCHED = 64 * 1024
_MAX_SEARCHED_OURS = 16 * 1024 * 1024
_MAX_ITEMS = 256
# PDU types that only a client sends: request, bind, alter_context, auth3, cancel, orphaned (C706 section 12.6.4).
_CLIENT_PTYPES = frozenset((0, 11, 14, 16, 18, 19))


class _Undecided:
    """A connection whose kind is not known yet, with what it said that may still matter.

    Impatient, its first bytes decide. Patient, because it was taken up in its middle or has a port of ours, it is searched
    for a header, and what was searched is dropped but for the few bytes a header may have begun in.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.items: list[StreamChunk | Gap] = []
        ours = bool({connection.a.port, connection.b.port} & (SMB_PORTS | {RPC_PORT}))
        self._patient = not connection.initiator_known or ours
        self._left = _MAX_SEARCHED_OURS if ours else _MAX_SEARCHED
        # The bytes of each direction still held, and whether they begin where it began.
        self._runs = [b"", b""]
        self._fresh = [True, True]
        self._sender_ptype: tuple[Direction, int] | None = None

    def feed(self, item: StreamChunk | Gap) -> str | None:
        """`smb`, `rpc`, `other`, or None while that is open."""
        way = item.direction
        if isinstance(item, Gap):
            self._patient = True
            self._drop(way, 0)
            self.items.append(item)
            return None if len(self.items) < _MAX_ITEMS else "other"
        start = len(self._runs[way])
        self.items.append(item)
        run = self._runs[way] = self._runs[way] + item.data.data
        self._left -= len(item.data)
        if (self._fresh[way] and _is_smb(run)) or (self._patient and find_header(run) >= 0):
            return "smb"
        for begin in {0, start} if self._fresh[way] else {start}:
            if looks_like_dcerpc(run[begin : begin + _ENOUGH]):
                self._sender_ptype = way, run[begin + 2]
                return "rpc"
        if self._fresh[way] and len(run) < _ENOUGH and _may_begin(run):
            return None
        if self._patient and self._left > 0:
            self._drop(way, _ENOUGH)
            return None
        return "other"

    def _drop(self, way: Direction, keep: int) -> None:
        """Forgets the chunks of a direction but for the last ones, which hold at least `keep` bytes where there are any."""
        kept: list[StreamChunk | Gap] = []
        size = 0
        for item in reversed(self.items):
            if item.direction != way or isinstance(item, Gap):
                kept.append(item)
            elif size < keep:
                kept.append(item)
                size += len(item.data)
        self.items = kept[::-1]
        run = self._runs[way]
        self._runs[way] = run[len(run) - size :]
        self._fresh[way] = False

    def client_direction(self) -> Direction:
        if self._sender_ptype is None or self._sender_ptype[1] in _CLIENT_PTYPES:
            return self._sender_ptype[0] if self._sender_ptype else 0
        return 1 if self._sender_ptype[0] == 0 else 0


class _RpcConnection:
    """DCERPC straight on TCP: every byte belongs to the one channel."""

    def __init__(self, world: World, connection: Connection, client_direction: Direction) -> None:
        client, server = connection.a, connection.b
        if client_direction == 1:
            client, server = server, client
        self._client_direction = client_direction
        self._channel = Channel(next(world.channel_numbers), "ncacn_ip_tcp", client, server, None, None, None)
        self._fresh = [True, True]

    def feed(self, item: StreamChunk | Gap) -> Iterator[Event]:
        from_client = item.direction == self._client_direction
        if isinstance(item, Gap):
            self._fresh[item.direction] = True
            yield ChannelGap(self._channel, from_client, item.length, item.frames, item.reason)
            return
        if len(item.data):
            # TCP has no messages, but what begins like a PDU is a place to look for one.
            fresh = self._fresh[item.direction] or looks_like_dcerpc(item.data.data)
            self._fresh[item.direction] = False
            yield ChannelData(self._channel, from_client, item.data, None, fresh)

    def finish(self) -> Iterator[Event]:
        yield ChannelClosed(self._channel)


class _Ignored:
    """A connection that is none of ours."""

    def feed(self, item: StreamChunk | Gap) -> Iterator[Event]:
        return iter(())

    def finish(self) -> Iterator[Event]:
        return iter(())


_IGNORED = _Ignored()


class Transport:
    """Finds out what each connection carries, and reads it: `feed` takes events, `finish` ends the capture."""

    def __init__(self, keyring: Keyring, *, tickets: Tickets | None = None, key_log: KeyLog | None = None) -> None:
        """`tickets` are those whose issue by a KDC was seen; `key_log` gets the id and key of every SMB2 session whose handshake
        was opened."""
        self._world = World(keyring, tickets, key_log)
        self._connections: dict[int, _Undecided | SmbConnection | _RpcConnection | _Ignored] = {}

    def feed(self, event: Event) -> Iterable[Event]:
        if isinstance(event, StreamChunk):
            reader = self._connections.get(event.connection.number)
            return reader.chunk(event) if isinstance(reader, SmbConnection) else self._item(event)
        if isinstance(event, StreamDialogue):
            reader = self._connections.get(event.connection.number)
            return reader.dialogue(event, 0) if isinstance(reader, SmbConnection) else self._turns(event)
        return self._item(event) if isinstance(event, Gap) else self._other(event)

    def _turns(self, event: StreamDialogue) -> Iterator[Event]:
        """The turns of a dialogue on their own, until one of them shows what the connection carries."""
        for turn, offset in enumerate(event.offsets()):
            reader = self._connections.get(event.connection.number)
            if isinstance(reader, SmbConnection):
                yield from reader.dialogue(event, turn)
                return
            yield from self._item(event.chunk(turn, offset))

    def _other(self, event: Event) -> Iterator[Event]:
        if isinstance(event, StreamClosed):
            reader = self._connections.pop(event.connection.number, None)
            if isinstance(reader, _Undecided):
                yield NotOurs(event.connection)
            elif reader is not None:
                yield from reader.finish()
        else:
            yield event

    def finish(self) -> Iterator[Event]:
        for reader in self._connections.values():
            if not isinstance(reader, _Undecided):
                yield from reader.finish()
        self._connections.clear()

    def _item(self, item: StreamChunk | Gap) -> Iterator[Event]:
        number = item.connection.number
        reader = self._connections.get(number)
        if reader is None:
            reader = self._connections[number] = _Undecided(item.connection)
        if not isinstance(reader, _Undecided):
            yield from reader.feed(item)
            return
        kind = reader.feed(item)
        if kind is None:
            return
        chosen: SmbConnection | _RpcConnection
        if kind == "other":
            self._connections[number] = _IGNORED
            yield NotOurs(item.connection)
            return
        if kind == "smb":
            chosen = SmbConnection(self._world, item.connection)
            yield Recognised(item.connection, "smb")
        else:
            yield Recognised(item.connection, "dcerpc")
            chosen = _RpcConnection(self._world, item.connection, reader.client_direction())
        self._connections[number] = chosen
        for held in reader.items:
            yield from chosen.feed(held)


def _is_smb(run: bytes) -> bool:
    """Whether a stream begins like a NetBIOS session or a direct-TCP SMB message."""
    if run[:1] == b"\0":
        return run[HEADER_LEN : HEADER_LEN + 4] in MAGICS
    if run[:1] == bytes((SESSION_REQUEST,)):
        return len(run) >= 5 and run[1] == 0 and run[4] == 32
    return run[:4] in (bytes((POSITIVE_RESPONSE, 0, 0, 0)), bytes((KEEPALIVE, 0, 0, 0)))


def _may_begin(run: bytes) -> bool:
    """Whether more bytes could still make it one of ours."""
    return not run or run[0] in (0, 5, SESSION_REQUEST, POSITIVE_RESPONSE, KEEPALIVE)
