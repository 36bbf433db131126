"""Decides which TCP flows are ours, by their ports and by the first bytes of their payloads.

A flow is ours from its first segment when a port is one that SMB, the DCERPC endpoint mapper or a KDC uses. On any port, it is ours
from the moment a payload begins like SMB or connection-oriented DCERPC (servers behind port forwards, dynamic RPC ports).

Segments of flows that are ours by port wait until the flow sends data that may be ours (`WaitingSegments`). A scan of a port that
is ours makes flows by the million that never send a byte. What else speaks there (web servers, proxies, whatever a scanner tries)
sends nothing that could be SMB, NetBIOS, DCERPC or Kerberos. Nothing has to be put in order there, and nothing is lost with them.
What the first such data of a flow needs of the segments before it (the handshake shows where both directions begin) is given out
when that data is seen. The oldest of all that wait are dropped beyond `MOST_WAITING` segments or `MOST_BYTES`; such a flow begins
with its first data that may be ours, as one does whose beginning was not captured.

Flows are distinguished by a number of 64 bits, the same for both directions. Two flows of one number only wait less long than they
could.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from analyzer.capture.frame_blocks import Frame, FrameBlock
from analyzer.core.array_functions import distinct
from analyzer.core.limits import DEFAULTS

if TYPE_CHECKING:
    import numpy.typing as npt

    from analyzer.transport.packet.common_frame_shapes import TcpFrames
    from analyzer.transport.packet.frame_dissector import Found
    from analyzer.transport.packet.tunnels import Bools, IntArray, Views

# ------------------------------------------------------------------------------------------------------------- flows of ours


SMB_PORT, NBSS_PORT, EPMAPPER_PORT, KERBEROS_PORT = 445, 139, 135, 88
PORTS: Final = frozenset({SMB_PORT, NBSS_PORT, EPMAPPER_PORT, KERBEROS_PORT})
# MS-SMB 2.2.3.1, MS-SMB2 2.2.1, 2.2.41 and 2.2.42: protocol ids of SMB1, SMB2, encrypted and compressed SMB.
_SMB_IDS = frozenset({b"\xffSMB", b"\xfeSMB", b"\xfdSMB", b"\xfcSMB"})
# C706 12.6.4: the connection-oriented PDU types (request, response, fault, bind ... orphaned), and AUTH3 of MS-RPCE.
_PDU_TYPES = frozenset({0, 2, 3, *range(11, 20)})
_DREP_BYTES = frozenset({0x00, 0x10})
# Bytes of a payload that are needed to recognise SMB, and DCERPC (its common header).
SMB_SIGNATURE_LEN, PDU_HEADER_LEN = 8, 16
# What a stream of ours may begin with: the framing of SMB and the types of NetBIOS packets (RFC 1002 section 4.3.1), the version of
# DCERPC, the length of a Kerberos message.
FIRST_BYTES = bytes((0x00, 0x05, 0x81, 0x82, 0x85))
_SMB_AFTER_FRAMING = int.from_bytes(b"SMB", "little")
# Within a stream that began before the capture: a protocol id of SMB, or the first bytes of one at the end.
_PROTOCOL_ID = re.compile(rb"[\xfc-\xff](?:S(?:M(?:B|\Z)|\Z)|\Z)")


# One end is its address as bytes and its port; a flow is both ends in order, so that both directions have one key.
End = tuple[bytes, int]
FlowKey = tuple[End, End]


def flow_key(src: End, dst: End) -> FlowKey:
    """Returns the key of a TCP flow that may be ours, equal for both of its directions."""
    return (src, dst) if src <= dst else (dst, src)


def is_by_port(src: End, dst: End) -> bool:
    """Whether a port makes the TCP flow between two ends ours."""
    return src[1] in PORTS or dst[1] in PORTS


def begins_like_ours(payload: bytes) -> bool:
    """Whether a TCP payload begins like an SMB message or a DCERPC PDU. `PDU_HEADER_LEN` bytes are enough."""
    if len(payload) < SMB_SIGNATURE_LEN:
        return False
    if payload[5:8] == b"SMB":
        # NBSS session message (RFC 1002 4.3.1) or direct TCP (MS-SMB2 2.1): a zero byte and the length come first.
        return payload[0] == 0 and payload[4:8] in _SMB_IDS
    if payload[1:4] == b"SMB":
        # Some senders put the four bytes of framing in a segment of their own.
        return payload[0:4] in _SMB_IDS
    if len(payload) < PDU_HEADER_LEN or payload[0] != 5 or payload[1] > 1 or payload[2] not in _PDU_TYPES:
        return False
    if payload[4] not in _DREP_BYTES:
        return False
    return int.from_bytes(payload[8:10], "little" if payload[4] else "big") >= PDU_HEADER_LEN


def may_be_ours(data: bytes, begin: int, end: int) -> bool:
    """Whether a TCP payload (not empty) in a dissected block may belong to a stream that carries SMB, DCERPC or Kerberos."""
    return data[begin] in FIRST_BYTES or _PROTOCOL_ID.search(data, begin, end) is not None


def may_begin_like_ours(block: FrameBlock, views: Views, found: TcpFrames) -> IntArray:
    """Returns the positions of TCP frames on other ports whose payloads may begin like SMB or DCERPC: all that do, and few
    others."""
    positions = np.flatnonzero(found.unclear)
    tcp, index = found.tcp[positions], found.index[positions]
    begins = tcp + ((views.u8[tcp + 12] >> 4).astype(np.int64) << 2)
    long_enough = begins + SMB_SIGNATURE_LEN <= block.starts[index] + block.captured[index]
    positions, begins = positions[long_enough], begins[long_enough]
    words = views.u64[begins]
    low = words.astype(np.uint32)
    hits = (words >> np.uint64(40)) == _SMB_AFTER_FRAMING
    hits |= low >> 8 == _SMB_AFTER_FRAMING
    # C706 12.6.4: version 5, minor version 0 or 1.
    hits |= (low & 0xFEFF) == 5
    hit: IntArray = positions[hits]
    return hit


def segment_may_be_ours(item: Found) -> bool:
    """Whether a TCP segment has data that may belong to a flow of ours. Bytes that were not captured may."""
    payload = item.payload.data
    return item.missing > 0 or (len(payload) > 0 and may_be_ours(payload, 0, len(payload)))


class Flows:
    """The TCP flows that are ours because of their payloads. Flows that are ours by port need no memory."""

    def __init__(self, most: int = DEFAULTS.flows) -> None:
        self._most = most
        self._known: dict[FlowKey, None] = {}
        self.forgotten = 0
        self._pairs: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[FlowKey]:
        return iter(self._known)

    def add(self, key: FlowKey) -> None:
        """Notes a TCP flow that its payload shows to be ours. Above the limit, the flow noted first is forgotten."""
        if key in self._known:
            return
        if len(self._known) >= self._most:
            del self._known[next(iter(self._known))]
            self.forgotten += 1
        self._known[key] = None
        self._pairs = None

    def port_pairs(self) -> npt.NDArray[np.int64]:
        """Returns both ports of each noted TCP flow in one number, the smaller port first."""
        if self._pairs is None:
            self._pairs = distinct(np.array([min(a, b) << 16 | max(a, b) for (_, a), (_, b) in self._known], np.int64))
        return self._pairs

    def __contains__(self, key: FlowKey) -> bool:
        return is_by_port(*key) or key in self._known


# -------------------------------------------------------------------------------------------------------- waiting segments


Hashes: TypeAlias = "npt.NDArray[np.uint64]"
NO_FLOWS: Hashes = np.empty(0, np.uint64)

MOST_WAITING, MOST_BYTES, MOST_STARTED = DEFAULTS.waiting, DEFAULTS.waiting_bytes, DEFAULTS.started

_MASK = (1 << 64) - 1
# The finalizer of MurmurHash3 (public domain): it spreads every bit over all.
_SPREAD_1, _SPREAD_2, _SHIFT = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53, 33
# Where the number of an end has its port before it is spread: behind an IPv4 address.
_PORT_AT = 32


class WaitingSegments:
    """The segments of candidate flows that wait for their flow to start, and the flows that have started (sent data that may be
    ours)."""

    def __init__(self) -> None:
        self._started: dict[int, None] = {}
        # The flows of segments, the sizes of their payloads, and the segments.
        self._waiting: deque[tuple[Hashes, IntArray, FrameBlock | list[Found]]] = deque()
        self._count = self._bytes = 0
        # Flows that were started since `released` was last called.
        self._fresh: list[int] = []

    def start(self, flows: Iterable[int]) -> None:
        """Notes that candidate flows have sent data that may be ours, so their segments need not wait."""
        for flow in flows:
            if flow not in self._started:
                if len(self._started) >= MOST_STARTED:
                    del self._started[next(iter(self._started))]
                self._started[flow] = None
                self._fresh.append(flow)

    def is_started(self, flow: int) -> bool:
        return flow in self._started

    def are_started(self, flows: Hashes) -> Bools:
        """Tells which candidate flows have sent data that may be ours, so that their segments need not wait."""
        # Neighbours are of the same flow, as a rule.
        border = np.ones(len(flows), np.bool_)
        border[1:] = flows[1:] != flows[:-1]
        first = np.flatnonzero(border)
        started = [flow in self._started for flow in flows[first].tolist()]
        return np.repeat(np.array(started, np.bool_), np.diff(first, append=len(flows)))

    def hold(self, flows: Hashes, sizes: IntArray, block: FrameBlock, index: IntArray) -> None:
        """Holds frames of a block until their candidate flows start. `sizes` are the sizes of their payloads."""
        self._add(flows, sizes, block.only(index))

    def hold_one(self, flow: int, found: Found) -> None:
        """Holds one segment until its candidate flow starts."""
        self._add(np.array([flow], np.uint64), np.array([len(found.payload)], np.int64), [found])

    def _add(self, flows: Hashes, sizes: IntArray, items: FrameBlock | list[Found]) -> None:
        self._waiting.append((flows, sizes, items))
        self._count += len(flows)
        self._bytes += int(sizes.sum())
        while (self._count > MOST_WAITING or self._bytes > MOST_BYTES) and len(self._waiting) > 1:
            flows, sizes, _ = self._waiting.popleft()
            self._count -= len(flows)
            self._bytes -= int(sizes.sum())

    def released(self) -> list[Frame | Found]:
        """Releases the waiting segments of the candidate flows that were started since the last call, in the order of frames."""
        fresh, self._fresh = np.array(self._fresh, np.uint64), []
        if not len(fresh) or not self._waiting:
            return []
        out: list[Frame | Found] = []
        left: deque[tuple[Hashes, IntArray, FrameBlock | list[Found]]] = deque()
        for flows, sizes, items in self._waiting:
            free = np.isin(flows, fresh)
            if not free.any():
                left.append((flows, sizes, items))
                continue
            out += [
                items.frame(at) if isinstance(items, FrameBlock) else items[at] for at in np.flatnonzero(free).tolist()
            ]
            if not free.all() and isinstance(items, FrameBlock):
                left.append((flows[~free], sizes[~free], items.only(np.flatnonzero(~free))))
        self._waiting = left
        self._count = sum(len(flows) for flows, _, _ in left)
        self._bytes = sum(int(sizes.sum()) for _, sizes, _ in left)
        out.sort(key=attrgetter("frame"))
        return out


def flow_hash(src: End, dst: End) -> int:
    """Returns the number of the TCP flow between two ends, as `flow_hashes` numbers those in a block."""
    return (_end_hash(*src) + _end_hash(*dst)) & _MASK


def _end_hash(address: bytes, port: int) -> int:
    number = int.from_bytes(address[:8], "little")
    if len(address) > 8:
        number = _spread(number + _spread(int.from_bytes(address[8:], "little")) & _MASK)
    return _spread(number + (port << _PORT_AT) & _MASK)


def _spread(number: int) -> int:
    number = (number ^ number >> _SHIFT) * _SPREAD_1 & _MASK
    number = (number ^ number >> _SHIFT) * _SPREAD_2 & _MASK
    return number ^ number >> _SHIFT


def flow_hashes(views: Views, ip: IntArray, tcp: IntArray) -> Hashes:
    """Returns the number of the TCP flow of each segment in a block. `ip` and `tcp` are the offsets of its headers."""
    is_ipv4 = views.u8[ip] >> 4 == 4
    if is_ipv4.all():
        src, dst = views.u32[ip + 12].astype(np.uint64), views.u32[ip + 16].astype(np.uint64)
    else:
        src, dst = np.empty(len(ip), np.uint64), np.empty(len(ip), np.uint64)
        ipv4, ipv6 = ip[is_ipv4], ip[~is_ipv4]
        src[is_ipv4], dst[is_ipv4] = views.u32[ipv4 + 12], views.u32[ipv4 + 16]
        src[~is_ipv4] = _spread_all(views.u64[ipv6 + 8] + _spread_all(views.u64[ipv6 + 16]))
        dst[~is_ipv4] = _spread_all(views.u64[ipv6 + 24] + _spread_all(views.u64[ipv6 + 32]))
    ports, low = views.be32[tcp].astype(np.uint64), np.uint64(0xFFFF)
    shift = np.uint64(_PORT_AT)
    hashes: Hashes = _spread_all(src + (ports >> np.uint64(16) << shift)) + _spread_all(dst + ((ports & low) << shift))
    return hashes


def _spread_all(numbers: Hashes) -> Hashes:
    shift = np.uint64(_SHIFT)
    numbers = (numbers ^ numbers >> shift) * np.uint64(_SPREAD_1)
    numbers = (numbers ^ numbers >> shift) * np.uint64(_SPREAD_2)
    spread: Hashes = numbers ^ numbers >> shift
    return spread
