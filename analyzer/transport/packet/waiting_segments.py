"""Holds segments of TCP flows that are ours by port, until the flow sends data that may be ours.

A scan of a port that is ours makes flows by the million that never send a byte. What else speaks there (web servers, proxies,
whatever a scanner tries) sends nothing that could be SMB, NetBIOS, DCERPC or Kerberos. Nothing has to be put in order there, and
nothing is lost with them. What the first such data of a flow needs of the segments before it (the handshake shows where both
directions begin) is given out when that data is seen. The oldest of all that wait are dropped beyond `MOST_WAITING` segments or
`MOST_BYTES`; such a flow begins with its first data that may be ours, as one does whose beginning was not captured.

Flows are distinguished by a number of 64 bits, the same for both directions. Two flows of one number only wait less long than they
could.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from analyzer.capture.frame_blocks import Frame, FrameBlock
from analyzer.core.limits import DEFAULTS
from analyzer.transport.packet.flow_candidates import End
from analyzer.transport.packet.frame_dissector import Found
from analyzer.transport.packet.tunnels import Bools, IntArray, Views

if TYPE_CHECKING:
    import numpy.typing as npt

Hashes: TypeAlias = "npt.NDArray[np.uint64]"
NO_FLOWS: Hashes = np.empty(0, np.uint64)

MOST_WAITING, MOST_BYTES, MOST_STARTED = DEFAULTS.waiting, DEFAULTS.waiting_bytes, DEFAULTS.started
# What a stream of ours may begin with: the framing of SMB and the types of NetBIOS packets (RFC 1002 section 4.3.1), the version of
# DCERPC, the length of a Kerberos message.
FIRST_BYTES = bytes((0x00, 0x05, 0x81, 0x82, 0x85))
# Within a stream that began before the capture: a protocol id of SMB, or the first bytes of one at the end.
_PROTOCOL_ID = re.compile(rb"[\xfc-\xff](?:S(?:M(?:B|\Z)|\Z)|\Z)")

_MASK = (1 << 64) - 1
# The finalizer of MurmurHash3 (public domain): it spreads every bit over all.
_SPREAD_1, _SPREAD_2, _SHIFT = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53, 33


def may_be_ours(data: bytes, begin: int, end: int) -> bool:
    """Whether a TCP payload (not empty) may belong to a stream that carries SMB, DCERPC or Kerberos."""
    return data[begin] in FIRST_BYTES or _PROTOCOL_ID.search(data, begin, end) is not None


class WaitingSegments:
    """The segments that wait for their TCP flow to start, and the flows that have started (sent data that may be ours)."""

    def __init__(self) -> None:
        self._started: dict[int, None] = {}
        # The flows of segments, the sizes of their payloads, and the segments.
        self._waiting: deque[tuple[Hashes, IntArray, FrameBlock | list[Found]]] = deque()
        self._count = self._bytes = 0
        # Flows that were started since `released` was last called.
        self._fresh: list[int] = []

    def start(self, flows: Iterable[int]) -> None:
        """Notes that TCP flows have sent data that may be ours, so their segments need not wait."""
        for flow in flows:
            if flow not in self._started:
                if len(self._started) >= MOST_STARTED:
                    del self._started[next(iter(self._started))]
                self._started[flow] = None
                self._fresh.append(flow)

    def is_started(self, flow: int) -> bool:
        return flow in self._started

    def are_started(self, flows: Hashes) -> Bools:
        """Tells which TCP flows have sent data that may be ours, so that their segments need not wait."""
        # Neighbours are of the same flow, as a rule.
        border = np.ones(len(flows), np.bool_)
        border[1:] = flows[1:] != flows[:-1]
        first = np.flatnonzero(border)
        started = [flow in self._started for flow in flows[first].tolist()]
        return np.repeat(np.array(started, np.bool_), np.diff(first, append=len(flows)))

    def hold(self, flows: Hashes, sizes: IntArray, block: FrameBlock, index: IntArray) -> None:
        """Holds frames of a block until their TCP flows start. `sizes` are the sizes of their payloads."""
        self._add(flows, sizes, block.only(index))

    def hold_one(self, flow: int, found: Found) -> None:
        """Holds one segment until its TCP flow starts."""
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
        """Releases the waiting segments of the TCP flows that were started since the last call, in the order of frames."""
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
    """Returns the number of the TCP flow between two ends, equal to that of `flow_hashes`."""
    return (_end_hash(*src) + _end_hash(*dst)) & _MASK


def _end_hash(address: bytes, port: int) -> int:
    number = int.from_bytes(address[8:], "little")
    number = int.from_bytes(address[:8], "little") + (_spread(number) if len(address) > 8 else number)
    return _spread(_spread(number & _MASK) + port & _MASK)


def _spread(number: int) -> int:
    number = (number ^ number >> _SHIFT) * _SPREAD_1 & _MASK
    number = (number ^ number >> _SHIFT) * _SPREAD_2 & _MASK
    return number ^ number >> _SHIFT


def flow_hashes(views: Views, ip: IntArray, tcp: IntArray) -> Hashes:
    """Returns the number of each segment's TCP flow. `ip` and `tcp` are the offsets of its headers."""
    is_ipv4 = views.u8[ip] >> 4 == 4
    if is_ipv4.all():
        src, dst = views.u32[ip + 12].astype(np.uint64), views.u32[ip + 16].astype(np.uint64)
    else:
        src, dst = np.empty(len(ip), np.uint64), np.empty(len(ip), np.uint64)
        ipv4, ipv6 = ip[is_ipv4], ip[~is_ipv4]
        src[is_ipv4], dst[is_ipv4] = views.u32[ipv4 + 12], views.u32[ipv4 + 16]
        src[~is_ipv4] = views.u64[ipv6 + 8] + _spread_all(views.u64[ipv6 + 16])
        dst[~is_ipv4] = views.u64[ipv6 + 24] + _spread_all(views.u64[ipv6 + 32])
    ports = views.be16[tcp].astype(np.uint64), views.be16[tcp + 2].astype(np.uint64)
    hashes: Hashes = _spread_all(_spread_all(src) + ports[0]) + _spread_all(_spread_all(dst) + ports[1])
    return hashes


def _spread_all(numbers: Hashes) -> Hashes:
    shift = np.uint64(_SHIFT)
    numbers = (numbers ^ numbers >> shift) * np.uint64(_SPREAD_1)
    numbers = (numbers ^ numbers >> shift) * np.uint64(_SPREAD_2)
    spread: Hashes = numbers ^ numbers >> shift
    return spread
