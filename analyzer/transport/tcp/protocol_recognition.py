"""Recognises what a TCP connection carries by its first bytes: SMB or DCERPC on any port, Kerberos on the port of a KDC.

NetBIOS session service or direct TCP with SMB inside ([MS-SMB2] section 2.1), or DCERPC straight on TCP (C706 section 12.6). A
connection is undecided until its bytes decide; what it sent meanwhile is held, and given out when they do:

    state        input                                           output                     next state
    UNDECIDED    bytes or gaps that leave it open                -                          UNDECIDED
    UNDECIDED    first bytes that are so except for one          -                          UNDECIDED
    UNDECIDED    bytes that begin like SMB or DCERPC             Recognised, all held RECOGNISED
    UNDECIDED    other bytes, or too many without a header       -                          IGNORED
    UNDECIDED    the end of the connection                       -                          IGNORED
    RECOGNISED   bytes, gaps, the end of the connection          the same                   RECOGNISED
    IGNORED      anything                                        -                          IGNORED
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from operator import ne
from typing import Literal

from analyzer.core.events import Event
from analyzer.transport.packet.flow_candidates import KERBEROS_PORT
from analyzer.transport.tcp.stream_events import (
    Connection,
    Direction,
    Gap,
    Protocol,
    Recognised,
    StreamBatch,
    StreamClosed,
)

SMB1_MAGIC = b"\xffSMB"
SMB2_MAGIC = b"\xfeSMB"
TRANSFORM_MAGIC = b"\xfdSMB"
COMPRESSION_MAGIC = b"\xfcSMB"
MAGICS = frozenset((SMB1_MAGIC, SMB2_MAGIC, TRANSFORM_MAGIC, COMPRESSION_MAGIC))

# The NetBIOS session packet (RFC 1002 section 4.3.1): its header, and its types.
NETBIOS_HEADER_LEN = 4
SESSION_MESSAGE = 0x00
SESSION_REQUEST = 0x81
POSITIVE_RESPONSE = 0x82
KEEPALIVE = 0x85

SMB_PORTS = frozenset((445, 139))
RPC_PORT = 135

# A Kerberos message on TCP has its length in four bytes before it (RFC 4120 section 7.2.2); none of a KDC is longer than this.
KERBEROS_PREFIX_LEN = 4
MAX_KERBEROS_BYTES = 1 << 20
# APPLICATION tags of AS-REP and TGS-REP (RFC 4120 section 5.10).
KDC_REPLIES = frozenset({b"\x6b", b"\x6d"})
# Those, and AS-REQ, TGS-REQ, AP-REQ, AP-REP, KRB-ERROR.
_KERBEROS_TAGS = frozenset((0x6A, 0x6B, 0x6C, 0x6D, 0x6E, 0x6F, 0x7E))
# A DCERPC header has its length in the tenth byte, and an SMB2 header its size in the sixth behind the framing.
_ENOUGH = 10
# A stream taken up in its middle shows a header within a message: at most 16 MiB on, on a port of ours; elsewhere a longer
# search would only find chance.
_MAX_SEARCHED = 64 * 1024
_MAX_SEARCHED_OURS = 16 * 1024 * 1024
_MAX_ITEMS = 256
# Version 5.0, bind, the first and the last fragment (with header signing or without), little-endian integers and ASCII: how nearly
# all binds begin.
_BINDS_BEGIN = tuple(bytes((5, 0, 11, flags, 0x10, 0, 0, 0)) for flags in (3, 7))
# PDU types that only a client sends: request, bind, alter_context, auth3, cancel, orphaned (C706 section 12.6.4).
_CLIENT_PTYPES = frozenset((0, 11, 14, 16, 18, 19))
# An SMB2 header has its size (64) behind the magic; with it a chance match in data is next to impossible.
_HEADER = re.compile(rb"\x00[\x00-\xff]{3}(?:\xfeSMB\x40\x00|[\xff\xfd\xfc]SMB)")
# The longest match.
HEADER_SPAN = 10


def recognise_header(data: bytes) -> int:
    """Recognises SMB within a TCP stream: returns the position of the first framed header in its bytes, -1 if there is none."""
    found = _HEADER.search(data)
    return found.start() if found else -1


def looks_like_dcerpc(data: bytes) -> bool:
    """Recognises DCERPC: whether bytes of a TCP stream or a pipe begin like a connection-oriented DCERPC PDU (C706 section
    12.6.3.1)."""
    if len(data) < 10 or data[0] != 5 or data[1] > 1 or data[2] > 19 or data[4] & 0xEF or data[5] > 3:
        return False
    return int.from_bytes(data[8:10], "little" if data[4] else "big") >= 16


def begins_kerberos(head: bytes) -> bool:
    """Recognises Kerberos: whether bytes of a TCP stream begin with the length prefix and the tag of a Kerberos message."""
    long_enough = len(head) > KERBEROS_PREFIX_LEN
    return long_enough and head[KERBEROS_PREFIX_LEN] in _KERBEROS_TAGS and _is_kerberos_length(head)


def _may_begin_kerberos(head: bytes) -> bool:
    """Whether the first bytes of a TCP stream may begin Kerberos. Some senders put the length prefix in a segment of its own."""
    if len(head) > KERBEROS_PREFIX_LEN:
        return begins_kerberos(head)
    return len(head) > 1 and _is_kerberos_length(head)


def _is_kerberos_length(head: bytes) -> bool:
    return head[0] == 0 and head[1] < MAX_KERBEROS_BYTES >> 16


class Recognition:
    """Recognises for each TCP connection which protocol it carries."""

    def __init__(self) -> None:
        # The protocol of each connection that has sent something. None: not ours.
        self._states: dict[int, _Undecided | Protocol | None] = {}

    def feed(self, events: list[Event]) -> tuple[list[Event], list[Connection]]:
        """Returns the events of TCP connections whose protocol is recognised, and the connections that are not ours."""
        out: list[Event] = []
        others: list[Connection] = []
        for event in events:
            if not isinstance(event, StreamBatch | Gap | StreamClosed):
                out.append(event)
                continue
            state = self._states.get(event.connection.number, _NEW)
            if isinstance(state, str):
                out.append(event)
            elif isinstance(event, StreamClosed):
                others.append(event.connection)
            elif state is not None:
                self._undecided(event, out, others)
            if isinstance(event, StreamClosed):
                self._states.pop(event.connection.number, None)
        return out, others

    def is_ours(self, connection: Connection) -> bool:
        """Whether a TCP connection is known to carry SMB, DCERPC or Kerberos."""
        return isinstance(self._states.get(connection.number), str)

    def forget(self, connection: Connection) -> None:
        """Forgets what was recognised of a TCP connection that has ended."""
        self._states.pop(connection.number, None)

    def _undecided(self, event: StreamBatch | Gap, out: list[Event], others: list[Connection]) -> None:
        connection = event.connection
        number = connection.number
        # The port alone does not make it Kerberos, nor do the bytes alone.
        if (
            KERBEROS_PORT in (connection.a.port, connection.b.port)
            and isinstance(event, StreamBatch)
            and _may_begin_kerberos(event.data.lead(KERBEROS_PREFIX_LEN + 1)[: KERBEROS_PREFIX_LEN + 1])
        ):
            self._states[number] = "kerberos"
            out += [Recognised(connection, "kerberos", 1 if connection.a.port == KERBEROS_PORT else 0), event]
            return
        undecided = self._states.get(number)
        if not isinstance(undecided, _Undecided):
            undecided = _Undecided(connection)
        items: Iterable[StreamBatch | Gap] = event if isinstance(event, StreamBatch) else (event,)
        for part, item in enumerate(items, 1):
            found = undecided.feed(item)
            if found == "open":
                continue
            self._states[number] = None if found == "other" else found
            if found == "other":
                others.append(connection)
            else:
                out.append(Recognised(connection, found, undecided.client_direction()))
                out.extend(undecided.items)
                if isinstance(event, StreamBatch) and part < len(event.replies):
                    out.append(event.since(part))
            return
        self._states[number] = undecided


class _Undecided:
    """A TCP connection whose protocol is not recognised yet, and the items of its stream that are held meanwhile.

    The first bytes decide, unless the connection was taken up in its middle or has a port of ours. Then (`_patient`) its stream is
    searched for a header. Searched bytes are dropped, except the last few, in which a header may begin.
    """

    def __init__(self, connection: Connection) -> None:
        self.items: list[StreamBatch | Gap] = []
        ours = bool({connection.a.port, connection.b.port} & (SMB_PORTS | {RPC_PORT}))
        self._patient = not connection.initiator_known or ours
        self._left = _MAX_SEARCHED_OURS if ours else _MAX_SEARCHED
        # The bytes of each direction still held, and whether they begin where it began.
        self._runs = [b"", b""]
        self._fresh = [True, True]
        self._sender_ptype: tuple[Direction, int] | None = None

    def feed(self, item: StreamBatch | Gap) -> Protocol | Literal["other", "open"]:
        """Takes a gap or one part of the TCP stream. Returns the protocol, `open` if undecided, `other` if none of ours."""
        way = item.direction
        if isinstance(item, Gap):
            self._patient = True
            self._drop(way, 0)
            self.items.append(item)
            return "open" if len(self.items) < _MAX_ITEMS else "other"
        start = len(self._runs[way])
        self.items.append(item)
        run = self._runs[way] = self._runs[way] + item.data.data
        self._left -= len(item.data)
        if (self._fresh[way] and _is_smb(run)) or (self._patient and recognise_header(run) >= 0):
            return "smb"
        for begin in {0, start} if self._fresh[way] else {start}:
            if looks_like_dcerpc(run[begin : begin + _ENOUGH]):
                self._sender_ptype = way, run[begin + 2]
                return "dcerpc"
        if self._fresh[way] and len(run) < _ENOUGH and _may_begin(run):
            return "open"
        if self._fresh[way] and self._left > 0 and _differs_in_one_byte(run):
            return "open"
        if self._patient and self._left > 0:
            self._drop(way, _ENOUGH)
            return "open"
        return "other"

    def _drop(self, way: Direction, keep: int) -> None:
        """Drops the held bytes of an undecided TCP direction, except the last parts that together hold at least `keep` bytes."""
        kept: list[StreamBatch | Gap] = []
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
        """Returns the TCP direction that carries requests, as far as the PDU shows it by which the protocol was recognised."""
        if self._sender_ptype is None or self._sender_ptype[1] in _CLIENT_PTYPES:
            return self._sender_ptype[0] if self._sender_ptype else 0
        return 1 if self._sender_ptype[0] == 0 else 0


class _New:
    """A TCP connection that has sent nothing yet to be recognised by."""


_NEW = _New()


def _is_smb(run: bytes) -> bool:
    """Recognises SMB: whether a TCP stream begins like a NetBIOS session or a direct-TCP SMB message."""
    if run[:1] == b"\0":
        return run[NETBIOS_HEADER_LEN : NETBIOS_HEADER_LEN + 4] in MAGICS
    if run[:1] == bytes((SESSION_REQUEST,)):
        return len(run) >= 5 and run[1] == 0 and run[4] == 32
    return run[:4] in (bytes((POSITIVE_RESPONSE, 0, 0, 0)), bytes((KEEPALIVE, 0, 0, 0)))


def _differs_in_one_byte(run: bytes) -> bool:
    """Whether an undecided TCP stream begins like a bind or an SMB message except for one byte. Then what the other side answers
    decides."""
    if len(run) < _ENOUGH:
        return False
    length = len(run).to_bytes(4, "little")[:2]
    header = bytes((SESSION_MESSAGE,)) + run[1:NETBIOS_HEADER_LEN]
    binds = (begin + length for begin in _BINDS_BEGIN)
    due = (*binds, header + SMB2_MAGIC + b"\x40\0", header + SMB1_MAGIC)
    return any(sum(map(ne, run, one)) == 1 for one in due)


def _may_begin(run: bytes) -> bool:
    """Whether more bytes of an undecided TCP stream could still show a protocol of ours."""
    return not run or run[0] in (0, 5, SESSION_REQUEST, POSITIVE_RESPONSE, KEEPALIVE)
