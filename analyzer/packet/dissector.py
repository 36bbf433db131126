"""From frames to TCP segments of the flows that interest us: blocks of frames in, segments and problems out.

Two roads with one result: common shapes are handled by the block with arrays (`fast`), everything else, and with
`fast=False` everything, frame by frame (`plain`). A flow may show only in the middle that it is ours; so a block is given
out when enough of what follows was looked at, and segments leave in the order of their frames. Flows that are not ours
are dropped without a word.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address

import numpy as np
import numpy.typing as npt

from analyzer.capture.frame import FrameBlock
from analyzer.capture.linktypes import LinkType
from analyzer.core.events import Problem, ProblemKind
from analyzer.core.labels import label
from analyzer.core.traced import FrameSource, TracedBytes
from analyzer.packet.candidates import FlowKey, Flows, begins_like_ours, flow_key
from analyzer.packet.fast import NO_FRAMES, IntArray, TcpFrames, Views, is_common, may_begin_like_ours, sort_out
from analyzer.packet.fragments import Fragments
from analyzer.packet.plain import IPV6_LEN, TCP, TCP_LEN, Found, Item, Lost, PlainRoad, checksum_fails
from analyzer.packet.segment import Endpoint, Segment

# A block waits until this many bytes of frames after it were looked at, so that a flow which shows late what it is does
# not lose what came shortly before (the handshake, and a first message cut in pieces).
LOOK_BEHIND_BYTES = 2 * 1024 * 1024
_MOST_ENDPOINTS = 100_000
_FRAMES_NAMED = 16
_MOST_OF_A_KIND = 16

_LOST_TEXTS: dict[str, tuple[ProblemKind, str]] = {
    "truncated": ("truncated", "frames were captured too short to hold their TCP header"),
    "malformed": ("malformed", "frames have an IP or TCP header that says something impossible"),
    "gap": ("gap", "IP datagrams with TCP data are incomplete: not all of their fragments were captured"),
    "limit": ("limit", "frames have more tunnels inside each other than are followed"),
}


@dataclass(slots=True, eq=False)
class _Held:
    """A block that was looked at: TCP in common shapes, and what the plain road found, with positions in the block."""

    block: FrameBlock
    views: Views
    common: TcpFrames
    plain: list[tuple[int, Item]]
    size: int


@dataclass(slots=True)
class _Count:
    """How often something happened, and in which frames first."""

    count: int = 0
    frames: tuple[int, ...] = ()

    def add(self, frame: int) -> None:
        self.count += 1
        if len(self.frames) < _FRAMES_NAMED:
            self.frames = (*self.frames, frame)


class Dissector:
    """Takes frames apart. `fast=False` takes the plain road for every frame, with the same result."""

    def __init__(self, *, fast: bool = True, fragments: Fragments | None = None) -> None:
        self._fast = fast
        self._road = PlainRoad(fragments)
        self._flows = Flows()
        self._held: deque[_Held] = deque()
        self._held_size = 0
        self._endpoints: dict[tuple[bytes, int], Endpoint] = {}
        self._pairs: dict[bytes, tuple[Endpoint, Endpoint, FlowKey]] = {}
        self._lost: dict[str, _Count] = {}
        self._bad_checksums = _Count()
        self._bad_tcp_checksums = _Count()
        self._said: dict[tuple[ProblemKind, str], _Count] = {}

    def feed(self, block: FrameBlock) -> Iterator[Segment | Problem]:
        """Looks at a block; gives out what no later block can change any more."""
        held = self._look_at(block)
        self._held.append(held)
        self._held_size += held.size
        while self._held_size - self._held[0].size >= LOOK_BEHIND_BYTES:
            yield from self._give_out()

    def finish(self) -> Iterator[Segment | Problem]:
        """Gives out the rest, then the sums of what could not be read."""
        while self._held:
            yield from self._give_out()
        for lost in self._road.finish():
            self._count_lost(lost)
        for kind, count in self._lost.items():
            problem_kind, text = _LOST_TEXTS[kind]
            yield Problem(problem_kind, "packet", count.frames, f"{count.count} {text}")
        for (kind_said, text), said in self._said.items():
            if said.count > _MOST_OF_A_KIND:
                yield Problem(kind_said, "packet", said.frames, f"{said.count - _MOST_OF_A_KIND} times more: {text}")
        for link_type, (count_of_type, *frames) in self._road.unknown_links.items():
            yield Problem(
                "unsupported",
                "packet",
                tuple(frames),
                f"{count_of_type} frames have link type {link_type} ({label(LinkType, link_type)}), which is not read",
            )
        if self._flows.forgotten:
            yield Problem(
                "limit",
                "packet",
                (),
                f"{self._flows.forgotten} flows were forgotten: more look like ours than are kept",
            )
        if self._bad_checksums.count:
            yield Problem(
                "note",
                "packet",
                self._bad_checksums.frames,
                f"{self._bad_checksums.count} frames have a wrong IPv4 header checksum (usual where a network card "
                "computes it after the capture); they are used all the same",
            )
        if self._bad_tcp_checksums.count:
            yield Problem(
                "note",
                "packet",
                self._bad_tcp_checksums.frames,
                f"{self._bad_tcp_checksums.count} TCP segments have a wrong checksum; they are used all the same",
            )

    def _look_at(self, block: FrameBlock) -> _Held:
        """First pass: sorts the frames, and learns which flows are ours."""
        views = Views(block.data)
        common, others = NO_FRAMES, np.arange(len(block))
        if self._fast and is_common(block):
            common, others = sort_out(block, views)
        plain: list[tuple[int, Item]] = []
        for index in others.tolist():
            for item in self._road.dissect(block.frame(index)):
                plain.append((index, item))
        # Flows are learned in the order of frames on both roads, so that the limit forgets the same ones.
        ours = [
            (index, item)
            for index, item in plain
            if isinstance(item, Found) and begins_like_ours(item.payload.data[:16])
        ]
        for index in self._hits(block, views, common):
            for item in self._road.dissect(block.frame(index)):
                if isinstance(item, Found) and begins_like_ours(item.payload.data[:16]):
                    ours.append((index, item))
        for _, found in sorted(ours, key=lambda entry: entry[0]):
            key = flow_key(found.src, found.dst)
            if key not in self._flows:
                self._flows.add(key)
        return _Held(block, views, common, plain, int(block.captured.sum()))

    def _hits(self, block: FrameBlock, views: Views, common: TcpFrames) -> list[int]:
        """Positions of the frames that may make their flow ours and are not of a flow that is."""
        if not len(common):
            return []
        others = common.chosen(~common.ours_by_port())
        ends = (block.starts + block.captured)[others.index]
        hits = others.chosen(may_begin_like_ours(views, others, ends))
        return [
            index
            for index, ip, tcp in zip(hits.index.tolist(), hits.ip.tolist(), hits.tcp.tolist(), strict=True)
            if self._ends(block.data, ip, tcp)[2] not in self._flows
        ]

    def _give_out(self) -> Iterator[Segment | Problem]:
        """Second pass over the oldest block: the segments of our flows, in the order of frames."""
        held = self._held.popleft()
        self._held_size -= held.size
        chosen = self._ours(held)
        if not len(chosen):
            for _, item in held.plain:
                yield from self._item(item)
            return
        plain = iter(held.plain)
        waiting = next(plain, None)
        for index, segment, bad_checksum in self._segments(held, chosen):
            while waiting is not None and waiting[0] < index:
                yield from self._item(waiting[1])
                waiting = next(plain, None)
            if isinstance(segment, Segment):
                if bad_checksum:
                    self._bad_checksums.add(segment.frame)
                yield segment
            else:
                yield from self._item(segment)
        while waiting is not None:
            yield from self._item(waiting[1])
            waiting = next(plain, None)

    def _ours(self, held: _Held) -> TcpFrames:
        """The common frames that may belong to our flows; by port for certain, the others by their pair of ports."""
        common = held.common
        if not len(common):
            return common
        mask = common.ours_by_port()
        if len(self._flows):
            mask |= np.isin(common.port_pairs(), self._flows.port_pairs())
        return common.chosen(mask)

    def _segments(self, held: _Held, chosen: TcpFrames) -> Iterator[tuple[int, Segment | Item, bool]]:
        block, views = held.block, held.views
        data = block.data
        columns = _columns(block, views, chosen)
        starts = block.starts[chosen.index].tolist()
        frames = block.frames[chosen.index].tolist()
        times = block.times_ns[chosen.index].tolist()
        for (
            index,
            ip,
            tcp,
            seq,
            ack,
            flags,
            window,
            begin,
            length,
            missing,
            good,
            bad_checksum,
            bad_tcp_checksum,
        ), start, frame, time_ns in zip(zip(*columns, strict=True), starts, frames, times, strict=True):
            src, dst, key = self._ends(data, ip, tcp)
            if key not in self._flows:
                continue
            if not good:
                for odd in self._road.dissect(block.frame(index)):
                    yield index, odd, False
                continue
            payload = TracedBytes(data[begin : begin + length], FrameSource(frame, begin - start, time_ns))
            if bad_tcp_checksum:
                self._bad_tcp_checksums.add(frame)
            yield index, Segment(src, dst, seq, ack, flags, window, payload, missing, frame, time_ns), bad_checksum

    def _item(self, item: Item) -> Iterator[Segment | Problem]:
        """What an item of the plain road amounts to."""
        if isinstance(item, Problem):
            said = self._said.setdefault((item.kind, item.text), _Count())
            said.add(item.frames[-1])
            if said.count <= _MOST_OF_A_KIND:
                yield item
        elif isinstance(item, Lost):
            self._count_lost(item)
        elif flow_key(item.src, item.dst) in self._flows:
            if item.bad_checksum:
                self._bad_checksums.add(item.frame)
            if item.bad_tcp_checksum:
                self._bad_tcp_checksums.add(item.frame)
            yield Segment(
                self._endpoint(item.src),
                self._endpoint(item.dst),
                item.seq,
                item.ack,
                item.flags,
                item.window,
                item.payload,
                item.missing,
                item.frame,
                item.time_ns,
            )

    def _count_lost(self, lost: Lost) -> None:
        if lost.ends is None or flow_key(*lost.ends) in self._flows:
            self._lost.setdefault(lost.kind, _Count()).add(lost.frame)

    def _ends(self, data: bytes, ip: int, tcp: int) -> tuple[Endpoint, Endpoint, FlowKey]:
        """Both ends of a frame in a common shape, from memory where they were seen before."""
        addresses = data[ip + 12 : ip + 20] if data[ip] >> 4 == 4 else data[ip + 8 : ip + IPV6_LEN]
        raw = addresses + data[tcp : tcp + 4]
        known = self._pairs.get(raw)
        if known is None:
            if len(self._pairs) >= _MOST_ENDPOINTS:
                self._pairs.clear()
            half = len(addresses) // 2
            src = (addresses[:half], int.from_bytes(raw[-4:-2], "big"))
            dst = (addresses[half:], int.from_bytes(raw[-2:], "big"))
            known = self._pairs[raw] = self._endpoint(src), self._endpoint(dst), flow_key(src, dst)
        return known

    def _endpoint(self, end: tuple[bytes, int]) -> Endpoint:
        known = self._endpoints.get(end)
        if known is None:
            if len(self._endpoints) >= _MOST_ENDPOINTS:
                self._endpoints.clear()
            known = self._endpoints[end] = Endpoint(str(ip_address(end[0])), end[1])
        return known


def _columns(block: FrameBlock, views: Views, chosen: TcpFrames) -> tuple[list[int], ...]:
    """The fields of the segments, each as a list; `good` says that the header's lengths agree with each other."""
    ip, tcp, index = chosen.ip, chosen.tcp, chosen.index
    is_ipv4 = views.u8[ip] >> 4 == 4
    lengths = views.be16[np.where(is_ipv4, ip + 2, ip + 4)].astype(np.int64)
    starts = block.starts[index]
    ends = starts + block.captured[index]
    wire = starts + np.maximum(block.original[index], block.captured[index])
    stops = np.where(lengths == 0, wire, ip + lengths + np.where(is_ipv4, 0, IPV6_LEN))
    header = (views.u8[tcp + 12] >> 4).astype(np.int64) << 2
    begins = tcp + header
    good = (header >= TCP_LEN) & (begins <= stops)
    payload = np.maximum(np.minimum(stops, ends) - begins, 0)
    return (
        index.tolist(),
        ip.tolist(),
        tcp.tolist(),
        views.be32[tcp + 4].tolist(),
        views.be32[tcp + 8].tolist(),
        views.u8[tcp + 13].tolist(),
        views.be16[tcp + 14].tolist(),
        begins.tolist(),
        payload.tolist(),
        (stops - begins - payload).tolist(),
        good.tolist(),
        _bad_checksums(block.data, views, ip, tcp, is_ipv4).tolist(),
        _bad_tcp_checksums(
            block.data, views, ip, tcp, begins + payload - tcp, good & (stops - begins == payload)
        ).tolist(),
    )


def _bad_checksums(
    data: bytes, views: Views, ip: IntArray, tcp: IntArray, is_ipv4: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    bad = np.zeros(len(ip), np.bool_)
    usual = np.flatnonzero(is_ipv4 & (tcp - ip == 20))
    at = ip[usual]
    # A ones' complement sum is the same in either byte order (RFC 1071).
    total = np.zeros(len(at), np.int64)
    for word in range(0, 20, 2):
        total += views.u16[at + word]
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    bad[usual] = (total != 0xFFFF) & (views.u16[at + 10] != 0)
    for position in np.flatnonzero(is_ipv4 & (tcp - ip != 20)).tolist():
        bad[position] = checksum_fails(data[int(ip[position]) : int(tcp[position])])
    return bad


def _bad_tcp_checksums(
    data: bytes, views: Views, ip: IntArray, tcp: IntArray, lengths: IntArray, whole: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """What `plain.tcp_checksum_fails` says of each whole segment; sums are taken of little-endian words (RFC 1071)."""
    bad = np.zeros(len(ip), np.bool_)
    chosen = np.flatnonzero(whole)
    ip, tcp, lengths = ip[chosen], tcp[chosen], lengths[chosen]
    ends = np.full(len(chosen), TCP << 8, np.int64)
    is_ipv4 = views.u8[ip] >> 4 == 4
    for of_version, first, words in ((is_ipv4, 12, 4), (~is_ipv4, 8, 16)):
        at = ip[of_version] + first
        for word in range(words):
            ends[of_version] += views.u16[at + 2 * word]
    swapped = (lengths & 0xFF) << 8 | lengths >> 8 & 0xFF
    swapped += (lengths >> 16 & 0xFF) << 8 | lengths >> 24
    wrong = (ends + swapped + _word_sums(data, views, tcp, lengths)) % 0xFFFF != 0
    left = views.u16[tcp + 16].astype(np.int64)
    unfinished = (left == 0) | ((left - ends) % 0xFFFF == 0) | ((left - ends - swapped) % 0xFFFF == 0)
    bad[chosen] = wrong & ~unfinished
    return bad


def _word_sums(data: bytes, views: Views, starts: IntArray, lengths: IntArray) -> IntArray:
    """For each run of bytes the sum of its 16-bit words, up to a multiple of 0xFFFF; an odd last byte counts as a word."""
    if int(lengths.sum()) * 8 < len(data):
        # Few runs far apart: as numbers, one by one. The remainder by 0xFFFF is that of the sum of the words.
        ends = (starts + lengths).tolist()
        return np.array(
            [int.from_bytes(data[a:b], "little") % 0xFFFF for a, b in zip(starts.tolist(), ends, strict=True)], np.int64
        )
    sums: IntArray = (lengths & 1) * views.u8[starts + lengths - 1].astype(np.int64)
    for parity in (0, 1):
        chosen = np.flatnonzero(starts & 1 == parity)
        if not len(chosen):
            continue
        words = np.frombuffer(data, "<u2", (len(data) - parity) // 2, parity)
        begin = (starts[chosen] - parity) // 2
        end = begin + lengths[chosen] // 2
        # `reduceat` takes no index behind the end: a run that reaches it gives its last word extra.
        at_end = end == len(words)
        borders = np.column_stack((begin, end - at_end)).ravel()
        sums[chosen] += np.add.reduceat(words, borders, dtype=np.int64)[::2] + at_end * words[-1]
    return sums
