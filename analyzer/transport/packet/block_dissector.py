"""Dissects blocks of frames: yields the TCP segments of flows that are ours, and problems.

One result in two ways: common shapes are handled by the block with arrays (`common_frame_shapes`), everything else, and with
`fast=False` everything, frame by frame (`frame_dissector`). A flow may show only in the middle that it is ours; so a block is given
out when enough of what follows was looked at, and segments leave in the order of their frames. Flows that are not ours
are dropped without a word. Segments of our ports wait for the data that may be ours (`flow_candidates`).

`Coalesced` is for few frames of ours. What is done with the frames of a block costs the same for a dozen as for a thousand. The
block is held until then, though perhaps a hundredth of it is ours. So few frames of several blocks wait, on their own, to become
one block.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from analyzer.capture.frame_blocks import Frame, FrameBlock
from analyzer.core.events import Conflict, Problem, ProblemKind
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.core.printable_text import counted
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.connection import FlowLink
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.packet.common_frame_shapes import (
    NO_FRAMES,
    TcpFrames,
    is_common,
    sort_out,
)
from analyzer.transport.packet.flow_candidates import (
    NO_FLOWS,
    FlowKey,
    Flows,
    Hashes,
    WaitingSegments,
    begins_like_ours,
    flow_hash,
    flow_hashes,
    flow_key,
    is_by_port,
    may_be_ours,
    may_begin_like_ours,
    segment_may_be_ours,
)
from analyzer.transport.packet.frame_dissector import IPV6_LEN, Found, FrameDissector, Item, LostSegment
from analyzer.transport.packet.frame_tallies import FRAMES_NAMED, Tallies, Tally
from analyzer.transport.packet.segment import Segment, SegmentBatch, UdpPayload
from analyzer.transport.packet.segment_columns import SegmentColumns, columns_of, payloads_of
from analyzer.transport.packet.segment_runs import find_batches, find_runs, most_waiting
from analyzer.transport.packet.tunnels import IntArray, Views

if TYPE_CHECKING:
    import numpy.typing as npt

    from analyzer.transport.packet.sender_mac_and_ttl import FlowLinks


# ----------------------------------------------------------------------------------------------------- coalesced frames


# So many frames of a block are worth going on with at once; and so many that wait, or so many bytes of them.
FEW_FRAMES = 1024
ENOUGH_FRAMES = 2048
ENOUGH_BYTES = 1 << 20


class Coalesced:
    """Frames in common shapes, from several blocks, that wait to be coalesced. All have the same link type."""

    def __init__(self) -> None:
        self._blocks: list[FrameBlock] = []
        self._found: list[TcpFrames] = []
        self._size = 0
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def blocks(self) -> Sequence[FrameBlock]:
        """The frames of dissected blocks that wait to be coalesced, one block for each block they came from."""
        return self._blocks

    @property
    def enough(self) -> bool:
        return self._count >= ENOUGH_FRAMES or self._size >= ENOUGH_BYTES

    @property
    def link_type(self) -> int | None:
        """The link type of the dissected frames that wait to be coalesced, None if none wait."""
        return self._blocks[0].link_type if self._blocks else None

    def add(self, block: FrameBlock, chosen: TcpFrames) -> None:
        """Copies the frames that the dissector chose of one block to those that wait to be coalesced."""
        index = chosen.index
        copied = block.only(index)
        moved = copied.starts + self._size
        by = moved - block.starts[index]
        self._blocks.append(replace(copied, starts=moved))
        self._found.append(
            TcpFrames(
                np.arange(self._count, self._count + len(index)),
                chosen.ip + by,
                chosen.tcp + by,
                chosen.by_port,
                chosen.unclear,
            )
        )
        self._size += len(copied.data)
        self._count += len(index)

    def take_block(self) -> tuple[FrameBlock, TcpFrames]:
        """Returns the waiting frames of several blocks, coalesced for the dissector to one block. None wait any more. At least one
        must wait before."""
        blocks, found = self._blocks, self._found
        block, frames = FrameBlock.joined(blocks), TcpFrames.joined(found)
        self._blocks, self._found = [], []
        self._size = self._count = 0
        return block, frames


# --------------------------------------------------------------------------------------------------------------- dissector


# A block waits until this many bytes of frames after it were looked at, so that a flow which is recognised late does
# not lose what came shortly before (the handshake, and a first message cut in pieces).
LOOK_BEHIND_BYTES = 2 * 1024 * 1024
# Bytes that each frame adds for its record, so that frames without bytes do not wait for ever.
FRAME_COST = 16
_MOST_ENDPOINTS = 100_000
_MOST_OF_A_KIND = 16


class DissectedBlock(Struct, eq=False):
    """A block of frames after the first pass: its TCP frames in common shapes, and the items of all others with their positions.

    These columns are about TCP in common shapes that is ours by port. `waiting` are the positions of segments whose flows had sent
    nothing that may be ours when the block was looked at. `waiting_flows` are the numbers of these flows, and `waiting_sizes` the
    sizes of the payloads.
    """

    block: FrameBlock
    views: Views
    common: TcpFrames
    plain: deque[tuple[int, Item]]
    size: int
    waiting: IntArray
    waiting_flows: Hashes
    waiting_sizes: IntArray


class Dissector:
    """Dissects captured frames block by block into TCP segments. `fast=False` dissects each frame alone, with the same result."""

    def __init__(
        self,
        *,
        fast: bool = True,
        limits: Limits = DEFAULTS,
        tallies: Tallies | None = None,
        most_passed: int | None = None,
        with_links: bool = True,
    ) -> None:
        """`tallies` gets the counts of frames if given, and the caller reports them; otherwise `finish` does. A few frames of ours
        wait until `most_passed` bytes of other frames have passed; None: until there are more of ours. `with_links` collects MAC
        address and TTL of the senders of frames."""
        self._most_passed, self._passed = most_passed, 0
        self._fast = fast
        self._reports = tallies is None
        self.tallies = tallies if tallies is not None else Tallies()
        self._frames = FrameDissector(limits)
        self._most_waiting = most_waiting(limits)
        self._flows = Flows(limits.flows)
        self._held: deque[DissectedBlock] = deque()
        self._held_size = 0
        self._waiting = WaitingSegments()
        self._thin = Coalesced()
        self._links: FlowLinks | None = None
        if with_links:
            from analyzer.transport.packet.sender_mac_and_ttl import FlowLinks  # few commands tell machines apart

            self._links = FlowLinks(limits.flow_links)
        self._endpoints: dict[tuple[bytes, int], Endpoint] = {}
        self._pairs: dict[bytes, tuple[Endpoint, Endpoint, FlowKey, bool]] = {}
        self._repeated: dict[tuple[ProblemKind, str], Tally] = {}

    def feed(self, block: FrameBlock) -> Iterator[SegmentBatch | UdpPayload | Problem | Conflict]:
        """Dissects a block of frames; yields the TCP segments and problems that no later block can change."""
        for held in self._settled(block):
            yield from self._give_out(held)

    @property
    def since_ns(self) -> int | None:
        """The time of the first dissected frame whose segments are not given out yet, None if there is none."""
        blocks = [held.block for held in self._held]
        return min((int(block.times_ns.min()) for block in (*blocks, *self._thin.blocks)), default=None)

    def flush(self) -> Iterator[SegmentBatch | UdpPayload | Problem | Conflict]:
        """Yields the segments of all dissected frames now. Flows that are recognised later then lack their earlier segments."""
        for held in self._last_held():
            yield from self._give_out(held)
        yield from self._give_out_thin()

    def finish(self) -> Iterator[SegmentBatch | UdpPayload | Problem | Conflict | FlowLink]:
        """Yields the remaining TCP segments, links (MAC address, TTL) of their senders, and problems of the whole capture."""
        yield from self.flush()
        for lost in self._frames.finish():
            self._count_lost(lost)
        for (kind, text), stated in self._repeated.items():
            if stated.count > _MOST_OF_A_KIND:
                yield Problem(
                    kind, "packet", stated.frames, f"{counted(stated.count - _MOST_OF_A_KIND, 'time')} more: {text}"
                )
        self.tallies.unknown_links = self._frames.unknown_links
        self.tallies.forgotten = self._flows.forgotten
        if self._links is not None:
            yield from self._links.found()
            yield from self._links.problems()
        if self._reports:
            yield from self.tallies.problems()

    def _look_at(self, block: FrameBlock) -> DissectedBlock:
        """Begins to dissect a block of frames by a first pass: sorts the frames, and learns which TCP flows are ours."""
        views = Views(block.data)
        common, others = NO_FRAMES, np.arange(len(block))
        if self._fast and is_common(block):
            common, others = sort_out(block, views)
        plain: deque[tuple[int, Item]] = deque()
        empty = others[block.captured[others] == 0]
        if len(empty) > FRAMES_NAMED:
            others = others[block.captured[others] > 0]
            plain.extend(self._without_bytes(block, empty))
        for index in others.tolist():
            for item in self._frames.dissect(block.frame(index)):
                plain.append((index, item))
        if len(empty) > FRAMES_NAMED:
            plain = deque(sorted(plain, key=lambda entry: entry[0]))
        # Flows are learned in the order of frames in both ways, so that the limit forgets the same ones.
        ours = [
            (index, item)
            for index, item in plain
            if isinstance(item, Found) and begins_like_ours(item.payload.data[:16])
        ]
        for index in self._worth_dissecting(block, views, common):
            for item in self._frames.dissect(block.frame(index)):
                if isinstance(item, Found) and begins_like_ours(item.payload.data[:16]):
                    ours.append((index, item))
        for _, found in sorted(ours, key=lambda entry: entry[0]):
            key = flow_key(found.src, found.dst)
            if key not in self._flows:
                self._flows.add(key)
        size = int(block.captured.sum()) + FRAME_COST * len(block)
        return DissectedBlock(block, views, common, plain, size, *self._start_flows(block, views, common, plain))

    def _start_flows(
        self, block: FrameBlock, views: Views, common: TcpFrames, plain: Iterable[tuple[int, Item]]
    ) -> tuple[IntArray, Hashes, IntArray]:
        """Starts flows in a block that are ours by port and send data that may be ours. Returns the other common frames: their
        positions, the numbers of their flows, and the sizes of their payloads."""
        # In the order of frames in both ways, so that the limit forgets the same ones.
        started = [
            (index, flow_hash(item.src, item.dst))
            for index, item in plain
            if isinstance(item, Found) and is_by_port(item.src, item.dst) and segment_may_be_ours(item)
        ]
        by_port = common.only(common.by_port)
        flows = flow_hashes(views, by_port.ip, by_port.tcp)
        unknown = np.flatnonzero(~self._waiting.are_started(flows))
        if not len(unknown):
            self._waiting.start(flow for _, flow in sorted(started))
            return NO_FRAMES.index, NO_FLOWS, NO_FRAMES.index
        positions, flows, chosen = np.flatnonzero(common.by_port)[unknown], flows[unknown], by_port.chosen(unknown)
        payloads = payloads_of(block, views, chosen)
        unread = np.flatnonzero(payloads.good)
        with_data = unread[payloads.stops[unread] > payloads.begins[unread]]
        begun: set[int] = set()
        for index, flow, begin, stop, captured in zip(
            chosen.index[with_data].tolist(),
            flows[with_data].tolist(),
            payloads.begins[with_data].tolist(),
            payloads.stops[with_data].tolist(),
            payloads.captured[with_data].tolist(),
            strict=True,
        ):
            if flow not in begun and (stop > captured or may_be_ours(block.data, begin, stop)):
                begun.add(flow)
                started.append((index, flow))
        self._waiting.start(flow for _, flow in sorted(started))
        sizes = np.maximum(np.minimum(payloads.stops, payloads.captured) - payloads.begins, 0)
        return positions[unread], flows[unread], sizes[unread]

    def _without_bytes(self, block: FrameBlock, empty: npt.NDArray[np.int64]) -> Iterator[tuple[int, Item]]:
        """Dissects the frames of a block that have no bytes: yields their problems. A small file can have many, so the first few
        stand for the rest."""
        items: list[Item] = []
        for place, index in enumerate(empty.tolist()):
            items = list(self._frames.dissect(block.frame(index)))
            more = len(empty) - place - 1
            if place >= FRAMES_NAMED and more and len(items) == 1 and isinstance(items[0], LostSegment):
                yield index, replace(items[0], more=more)
                return
            for item in items:
                yield index, item

    def _worth_dissecting(self, block: FrameBlock, views: Views, common: TcpFrames) -> list[int]:
        """Returns the positions in a block of frames to dissect one by one, because they may make their flow ours that is not
        yet."""
        if not len(common):
            return []
        hits = common.chosen(may_begin_like_ours(block, views, common))
        return [
            index
            for index, ip, tcp in zip(hits.index.tolist(), hits.ip.tolist(), hits.tcp.tolist(), strict=True)
            if self._ends(block.data, ip, tcp)[2] not in self._flows
        ]

    def _settled(self, block: FrameBlock) -> Iterator[DissectedBlock]:
        """Looks at a block of frames; gives the dissected blocks that no later one can change any more."""
        self._held.append(self._look_at(block))
        self._held_size += self._held[-1].size
        while self._held_size - self._held[0].size >= LOOK_BEHIND_BYTES:
            self._held_size -= self._held[0].size
            yield self._held.popleft()

    def _last_held(self) -> Iterator[DissectedBlock]:
        """Yields the blocks that the dissector still holds, the oldest first."""
        self._held_size = 0
        while self._held:
            yield self._held.popleft()

    def _give_out(self, held: DissectedBlock) -> Iterator[SegmentBatch | UdpPayload | Problem | Conflict]:
        """Makes the second pass over a block of frames: yields the TCP segments of our flows, in the order of frames."""
        released = self._waiting.released()
        if released:
            yield from self._give_out_thin()
            for waited in released:
                for item in self._frames.dissect(waited) if isinstance(waited, Frame) else (waited,):
                    yield from self._item(item)
        chosen = self._ours(held)
        # Few frames wait, if nothing is between them and nothing that is learned later can make others ours.
        is_thin = len(chosen) < FEW_FRAMES and not held.plain and not len(self._flows)
        if self._thin.enough or not is_thin or self._thin.link_type not in (None, held.block.link_type):
            yield from self._give_out_thin()
        if is_thin:
            if len(chosen):
                self._thin.add(held.block, chosen)
            self._passed += held.size
            if self._most_passed is not None and self._passed >= self._most_passed:
                yield from self._give_out_thin()
            return
        if len(chosen):
            yield from self._common(held, columns_of(held.block, held.views, chosen))
        yield from self._plain_before(held, len(held.block))

    def _give_out_thin(self) -> Iterator[SegmentBatch | UdpPayload | Problem | Conflict]:
        """Yields the segments of the coalesced frames, which waited for more frames of ours."""
        self._passed = 0
        if len(self._thin):
            block, chosen = self._thin.take_block()
            held = DissectedBlock(
                block, Views(block.data), chosen, deque(), 0, NO_FRAMES.index, NO_FLOWS, NO_FRAMES.index
            )
            yield from self._common(held, columns_of(block, held.views, chosen))

    def _plain_before(
        self, held: DissectedBlock, index: int
    ) -> Iterator[SegmentBatch | UdpPayload | Problem | Conflict]:
        """Yields the items of frames dissected one by one, up to this position of the block."""
        while held.plain and held.plain[0][0] < index:
            yield from self._item(held.plain.popleft()[1])

    def _common(
        self, held: DissectedBlock, columns: SegmentColumns
    ) -> Iterator[SegmentBatch | UdpPayload | Problem | Conflict]:
        """Yields the TCP segments of our flows in common frames, and before each of them the items of frames dissected alone."""
        data, index, plain = columns.data, columns.index, held.plain
        between = np.array([at for at, item in plain if not isinstance(item, LostSegment)], np.int64)
        cuts = np.searchsorted(index, between)
        runs = find_runs(columns, held.views, cuts[cuts < len(columns)], self._most_waiting)
        batches = find_batches(runs)
        if self._links is not None:
            self._links.note_runs(held.block, held.views, runs, self._ends, self._flows)
        positions = np.append(runs.positions, runs.positions[-1] + runs.sizes[-1]).tolist()
        replies = batches.replies.tolist()
        begins, ends, frames = runs.data_begins.tolist(), runs.data_ends.tolist(), runs.data_frames.tolist()
        segments, captured = partial(columns.segments, self._ends), memoryview(data)
        opens = batches.first
        for row, at, pair, ip, tcp, time_ns, latest_ns in zip(
            batches.rows(),
            index[opens].tolist(),
            runs.columns.pairs(opens),
            runs.columns.ip[opens].tolist(),
            runs.columns.tcp[opens].tolist(),
            columns.times_ns[batches.stop - 1].tolist(),
            np.maximum.reduceat(columns.times_ns, opens).tolist(),
            strict=True,
        ):
            first, stop, is_regular, run_first, run_stop, seq, reply_seq, ack, low, high, last, reply_last = row
            src, dst, key, by_port = self._pairs.get(pair) or self._ends(data, ip, tcp)
            if not (by_port or key in self._flows):
                continue
            if plain and plain[0][0] < at:
                yield from self._plain_before(held, at)
            if not is_regular:
                yield from self._one_by_one(held, columns, first, stop)
                continue
            parts = zip(begins[low:high], ends[low:high], strict=True)
            payload = b"".join([captured[begin:end] for begin, end in parts])
            position = positions[run_first]
            yield SegmentBatch(
                src,
                dst,
                True,
                seq,
                reply_seq,
                ack,
                TracedBytes(payload, runs.table, position),
                [border - position for border in positions[run_first : run_stop + 1]],
                replies[run_first:run_stop],
                high - low,
                frames[last] if high > low else 0,
                frames[reply_last] if reply_last >= 0 else 0,
                time_ns,
                latest_ns,
                segments,
                first,
                stop,
            )

    def _one_by_one(
        self, held: DissectedBlock, columns: SegmentColumns, first: int, stop: int
    ) -> Iterator[SegmentBatch | UdpPayload | Problem | Conflict]:
        """Yields one by one the TCP segments of a stretch of frames that is no run, and tallies their wrong checksums."""
        for at, segment in zip(range(first, stop), columns.segments(self._ends, first, stop), strict=True):
            index = int(columns.index[at])
            yield from self._plain_before(held, index)
            if not columns.good[at]:
                for item in self._frames.dissect(held.block.frame(index)):
                    yield from self._item(item)
                continue
            if columns.bad_tcp_checksum[at]:
                self.tallies.bad_tcp_checksums.note(segment.frame, segment.time_ns)
            if columns.bad_ip_checksum[at]:
                self.tallies.bad_checksums.note(segment.frame, segment.time_ns)
            yield SegmentBatch.of_segment(segment)

    def _ours(self, held: DissectedBlock) -> TcpFrames:
        """Returns the common frames that may belong to TCP flows of ours: by port for certain, else by their pair of ports.

        Frames of a flow wait until the flow has sent data that may be ours.
        """
        common, ours = held.common, held.common.by_port
        if len(held.waiting):
            wait = ~self._waiting.are_started(held.waiting_flows)
            waiting = held.waiting[wait]
            if len(waiting):
                self._waiting.hold(
                    held.waiting_flows[wait], held.waiting_sizes[wait], held.block, common.index[waiting]
                )
                ours = ours.copy()
                ours[waiting] = False
        if len(self._flows) and len(common):
            ours = ours | ~common.by_port & np.isin(common.port_pairs(held.views), self._flows.port_pairs())
        return common.only(ours)

    def _item(self, item: Item) -> Iterator[SegmentBatch | UdpPayload | Problem | Conflict]:
        """Gives out one item of a block's frame that was dissected alone: yields the segment or problem that follows from it."""
        if isinstance(item, Problem):
            stated = self._repeated.setdefault((item.kind, item.text), Tally())
            stated.note(item.frames[-1], 0)
            if stated.count <= _MOST_OF_A_KIND:
                yield item
        elif isinstance(item, LostSegment):
            self._count_lost(item)
        elif isinstance(item, UdpPayload | Conflict):
            yield item
        elif is_by_port(item.src, item.dst) and self._waits(item):
            self._waiting.hold_one(flow_hash(item.src, item.dst), item)
        elif flow_key(item.src, item.dst) in self._flows:
            if item.bad_checksum:
                self.tallies.bad_checksums.note(item.frame, item.time_ns)
            if item.bad_tcp_checksum:
                self.tallies.bad_tcp_checksums.note(item.frame, item.time_ns)
            src, dst = self._endpoint(item.src), self._endpoint(item.dst)
            if self._links is not None:
                self._links.note(src, dst, item.address, item.hops, item.time_ns, item.frame)
            yield SegmentBatch.of_segment(
                Segment(
                    src,
                    dst,
                    item.seq,
                    item.ack,
                    item.flags,
                    item.window,
                    item.payload,
                    item.missing,
                    item.frame,
                    item.time_ns,
                    item.bad_checksum or item.bad_tcp_checksum,
                )
            )

    def _waits(self, item: Found) -> bool:
        """Whether the block dissector gives a segment out later: its flow has sent no data yet that may be ours."""
        return not self._waiting.is_started(flow_hash(item.src, item.dst))

    def _count_lost(self, lost: LostSegment) -> None:
        if lost.ends is None or flow_key(*lost.ends) in self._flows:
            self.tallies.lose(lost.kind, lost.frame, lost.time_ns, lost.more)

    def _ends(self, data: bytes, ip: int, tcp: int) -> tuple[Endpoint, Endpoint, FlowKey, bool]:
        """Returns both ends of the TCP segment that a dissected block has at these offsets, the key of its flow, and whether a port
        makes it ours. Caches them."""
        addresses = data[ip + 12 : ip + 20] if data[ip] >> 4 == 4 else data[ip + 8 : ip + IPV6_LEN]
        raw = addresses + data[tcp : tcp + 4]
        known = self._pairs.get(raw)
        if known is None:
            if len(self._pairs) >= _MOST_ENDPOINTS:
                self._pairs.clear()
            half = len(addresses) // 2
            src = (addresses[:half], int.from_bytes(raw[-4:-2], "big"))
            dst = (addresses[half:], int.from_bytes(raw[-2:], "big"))
            ends = self._endpoint(src), self._endpoint(dst)
            known = self._pairs[raw] = *ends, flow_key(src, dst), is_by_port(src, dst)
        return known

    def _endpoint(self, end: tuple[bytes, int]) -> Endpoint:
        known = self._endpoints.get(end)
        if known is None:
            if len(self._endpoints) >= _MOST_ENDPOINTS:
                self._endpoints.clear()
            known = self._endpoints[end] = Endpoint(str(ip_address(end[0])), end[1])
        return known
