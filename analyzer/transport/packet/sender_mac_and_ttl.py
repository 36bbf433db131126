"""Collects the MAC address and the TTL (hop limit) of the machines that sent the frames of each connection.

Taken from frames that are read anyway: of a block, from the first and last frame of each end, and from those where what they show
changes. A tunnel, PPPoE and MPLS hide the link layer of the sender: then the frame has the address of something in between, and
none is noted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from analyzer.capture.frame_blocks import FrameBlock
from analyzer.core.array_functions import bytes_at
from analyzer.core.events import Problem
from analyzer.core.limits import DEFAULTS
from analyzer.results.connection import FlowLink
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.packet import link_layers
from analyzer.transport.packet.flow_candidates import Flows
from analyzer.transport.packet.segment_columns import Ends, SegmentColumns
from analyzer.transport.packet.segment_runs import Runs
from analyzer.transport.packet.tunnels import IntArray, Views

if TYPE_CHECKING:
    import numpy.typing as npt

# Tags lengthen the header; an IP header farther behind is that of a packet in a tunnel.
_MOST_TAGS_LEN = 16


class _Seen(Struct):
    first_time_ns: int
    last_time_ns: int
    first_frame: int
    last_frame: int

    def again(self, time_ns: int, frame: int) -> None:
        if frame > self.last_frame:
            self.last_frame, self.last_time_ns = frame, time_ns
        if frame < self.first_frame:
            self.first_frame, self.first_time_ns = frame, time_ns


class FlowLinks:
    """Collects MAC address and TTL of the senders of each connection's frames, at most `most` in all. Others are only counted."""

    def __init__(self, most: int = DEFAULTS.flow_links) -> None:
        self._most = most
        # Hashes of those that were not noted, as many again.
        self._left_out: set[int] = set()
        self._seen: dict[tuple[Endpoint, Endpoint, bytes, int], _Seen] = {}
        # The key of a frame by the bytes of its headers that it is made of.
        self._known: dict[bytes, _Seen] = {}

    def note(self, src: Endpoint, dst: Endpoint, address: bytes, hops: int, time_ns: int, frame: int) -> _Seen | None:
        """Notes the MAC address and the TTL of the sender of one frame."""
        key = src, dst, address, hops
        seen = self._seen.get(key)
        if seen is not None:
            seen.again(time_ns, frame)
        elif len(self._seen) < self._most:
            seen = self._seen[key] = _Seen(time_ns, time_ns, frame, frame)
        elif len(self._left_out) < self._most:
            self._left_out.add(hash(key))
        return seen

    def note_runs(
        self,
        block: FrameBlock,
        views: Views,
        runs: Runs,
        ends: Ends,
        flows: Flows,
    ) -> None:
        """Notes MAC address and TTL of the senders in a block's runs, for flows that are ours."""
        columns = runs.columns
        at = _telling(block, views, columns, runs.ends)
        ip, tcp, index = columns.ip[at], columns.tcp[at], columns.index[at]
        starts, is_ipv4 = block.starts[index], columns.is_ipv4[at]
        raw = np.zeros((len(at), 56), np.uint8)
        for chosen, address_at, length, hops_at in ((is_ipv4, 12, 8, 8), (~is_ipv4, 8, 32, 7)):
            rows = np.flatnonzero(chosen)
            if len(rows):
                raw[rows, :length] = bytes_at(block.data, ip[rows] + address_at, length)
                raw[rows, 52] = views.u8[ip[rows] + hops_at]
        raw[:, 32:36] = bytes_at(block.data, tcp, 4)
        if (sender := link_layers.SENDERS.get(block.link_type)) is not None:
            direct = np.flatnonzero(ip - starts <= sender[1] + _MOST_TAGS_LEN)
            raw[direct, 36:52] = bytes_at(block.data, starts[direct] + _words_at(sender), 16)
            raw[direct, 53] = 1
        raw[:, 54] = is_ipv4
        keys = raw.view("V56").ravel().tolist()
        last = dict(zip(keys, range(len(keys)), strict=True))
        first = dict(zip(reversed(keys), range(len(keys) - 1, -1, -1), strict=True))
        times_ns, frames = columns.times_ns[at], columns.frames[at]
        for key, place in first.items():
            seen = self._known.get(key)
            if seen is None:
                src, dst, flow, by_port = ends(block.data, int(ip[place]), int(tcp[place]))
                if not (by_port or flow in flows):
                    continue
                header = block.data[starts[place] : ip[place]] if key[53] else b""
                address = link_layers.link_address(block.link_type, header)
                seen = self.note(src, dst, address, key[52], int(times_ns[place]), int(frames[place]))
                if seen is None:
                    continue
                if len(self._known) < self._most:
                    self._known[key] = seen
            for each in (place, last[key]):
                seen.again(int(times_ns[each]), int(frames[each]))

    def problems(self) -> Iterator[Problem]:
        """States how many flow links (MAC address, TTL) were not noted."""
        if count := len(self._left_out):
            least = "at least " if count == self._most else ""
            text = f"{least}{count} more link-layer addresses and hop limits of senders were met than are noted"
            yield Problem("limit", "packet", (), text)

    def found(self) -> Iterator[FlowLink]:
        """Yields all flow links (MAC address and TTL of a sender), in the order of the first frames that show them."""
        for (src, dst, address, hops), seen in sorted(self._seen.items(), key=lambda one: one[1].first_frame):
            frames = tuple(sorted({seen.first_frame, seen.last_frame}))
            mac = address.hex(":") if address else None
            # The clock of a capture may go back.
            begin_ns, end_ns = sorted((seen.first_time_ns, seen.last_time_ns))
            yield FlowLink(src, dst, mac, hops, begin_ns, end_ns, frames)


def _telling(block: FrameBlock, views: Views, columns: SegmentColumns, ends: IntArray) -> IntArray:
    """Returns the segments of a block that show all that its frames show, in the order of frames: of each end, the first and the
    last of each stretch with the same connection, MAC address and TTL. Segments with impossible headers are left out."""
    order = np.argsort(columns.frames, kind="stable")
    order = order[columns.good[order]]
    ip, is_ipv4 = columns.ip[order], columns.is_ipv4[order]
    shown: list[npt.NDArray[np.unsignedinteger]] = [views.u32[columns.tcp[order]]]
    if is_ipv4.all():
        shown += [views.u64[ip + 12], views.u8[ip + 8]]
    else:
        shown += [views.u64[ip + np.where(is_ipv4, 12, at)] for at in (8, 16, 24, 32)]
        shown.append(views.u8[ip + np.where(is_ipv4, 8, 7)])
    if (sender := link_layers.SENDERS.get(block.link_type)) is not None:
        at = block.starts[columns.index[order]] + _words_at(sender)
        shown += [views.u64[at], views.u64[at + 8]]
    telling = np.zeros(len(order), np.bool_)
    for end in (0, 1):
        sent = np.flatnonzero(ends[order] == end)
        border = np.ones(len(sent) + 1, np.bool_)
        border[1:-1] = False
        for column in shown:
            values = column[sent]
            border[1:-1] |= values[1:] != values[:-1]
        telling[sent[border[:-1]]] = True
        telling[sent[border[1:]]] = True
    return order[telling]


def _words_at(sender: tuple[int, int]) -> int:
    """Returns where in a frame the 16 bytes begin that hold the sender's MAC address and the field that validates it."""
    return max(sender[0] - 8, 0)
