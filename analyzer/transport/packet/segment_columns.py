"""The header fields of segments as columns: positions of TCP headers in, one array a field out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from msgspec import Struct

from analyzer.capture.frame_blocks import FrameBlock
from analyzer.core.array_functions import bytes_at
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.packet.checksums import bad_ip_checksums, bad_tcp_checksums
from analyzer.transport.packet.common_frame_shapes import TcpFrames
from analyzer.transport.packet.flow_candidates import FlowKey
from analyzer.transport.packet.frame_dissector import IPV6_LEN, TCP_LEN
from analyzer.transport.packet.segment import Segment
from analyzer.transport.packet.tunnels import Bools, IntArray, Views

# Both ends of the segment whose IP and TCP headers begin at these offsets of the data.
Ends = Callable[[bytes, int, int], tuple[Endpoint, Endpoint, FlowKey, bool]]


class SegmentColumns(Struct, frozen=True, eq=False):
    """TCP segments of a block in columns, in the order of frames: one entry in each array.

    `index` is the position in the block; `ip` and `tcp` state where the headers begin in `data`. `offsets` states where the payload
    begins in its frame, and `begins` where it begins in `data`. `sizes` is what was captured of it and `missing` what was not.
    `good`: the lengths in the headers agree with each other; else nothing but the ports is to be believed.
    """

    data: bytes
    is_ipv4: Bools
    index: IntArray
    ip: IntArray
    tcp: IntArray
    frames: IntArray
    times_ns: IntArray
    seq: IntArray
    ack: IntArray
    flags: IntArray
    window: IntArray
    offsets: IntArray
    begins: IntArray
    sizes: IntArray
    missing: IntArray
    good: Bools
    bad_ip_checksum: Bools
    bad_tcp_checksum: Bools

    def __len__(self) -> int:
        return len(self.index)

    def chosen(self, positions: IntArray) -> SegmentColumns:
        """The columns of the segments at these positions, in their order."""
        fields = (getattr(self, name) for name in self.__struct_fields__[1:])
        return SegmentColumns(self.data, *(field[positions] for field in fields))

    def pairs(self, chosen: IntArray) -> list[bytes]:
        """Both addresses and both ports of some segments, as they stand in the frames; b"" for IPv6."""
        if not len(chosen) or not self.is_ipv4.all():
            return [b""] * len(chosen)
        raw = np.empty((len(chosen), 12), np.uint8)
        for where, column, size in ((slice(0, 8), self.ip[chosen] + 12, 8), (slice(8, 12), self.tcp[chosen], 4)):
            raw[:, where] = bytes_at(self.data, column, size)
        found: list[bytes] = raw.view("V12").ravel().tolist()
        return found

    def segments(self, ends: Ends, first: int, stop: int) -> Iterator[Segment]:
        """The segments from the one at `first` up to that at `stop`."""
        run = slice(first, stop)
        columns = (
            self.ip,
            self.tcp,
            self.seq,
            self.ack,
            self.flags,
            self.window,
            self.begins,
            self.sizes,
            self.offsets,
            self.missing,
            self.frames,
            self.times_ns,
        )
        for ip, tcp, seq, ack, flags, window, begin, size, offset, missing, frame, time_ns in zip(
            *(column[run].tolist() for column in columns), strict=True
        ):
            src, dst, _, _ = ends(self.data, ip, tcp)
            payload = TracedBytes.of_frame(self.data[begin : begin + size], frame, offset, time_ns)
            yield Segment(src, dst, seq, ack, flags, window, payload, missing, frame, time_ns)


class Payloads(Struct, frozen=True, eq=False):
    """Where the payloads of TCP segments lie: they begin at `begins` in the data, and end at `stops` as their headers give it.

    `captured` is where what was captured of the frame ends. `good`: the lengths in the headers agree with each other.
    """

    is_ipv4: Bools
    begins: IntArray
    stops: IntArray
    captured: IntArray
    good: Bools

    @property
    def have_data(self) -> Bools:
        """Which TCP segments have data, captured or not."""
        found: Bools = self.good & (self.stops > self.begins)
        return found


def payloads_of(block: FrameBlock, views: Views, chosen: TcpFrames) -> Payloads:
    """Where the TCP payloads of the chosen frames lie."""
    ip, tcp, index = chosen.ip, chosen.tcp, chosen.index
    is_ipv4 = views.u8[ip] >> 4 == 4
    lengths = views.be16[np.where(is_ipv4, ip + 2, ip + 4)].astype(np.int64)
    starts, captured = block.starts[index], block.captured[index]
    # Segmentation offload leaves the length zero: the frame's own is then the only one there is.
    wire = starts + np.maximum(block.original[index], captured)
    stops = np.where(lengths == 0, wire, ip + lengths + np.where(is_ipv4, 0, IPV6_LEN))
    header = (views.u8[tcp + 12] >> 4).astype(np.int64) << 2
    begins = tcp + header
    return Payloads(is_ipv4, begins, stops, starts + captured, (header >= TCP_LEN) & (begins <= stops))


def columns_of(block: FrameBlock, views: Views, chosen: TcpFrames) -> SegmentColumns:
    """The header fields of the TCP segments in the chosen frames, as columns."""
    ip, tcp, index = chosen.ip, chosen.tcp, chosen.index
    payloads = payloads_of(block, views, chosen)
    is_ipv4, begins, stops, ends, good = (
        payloads.is_ipv4,
        payloads.begins,
        payloads.stops,
        payloads.captured,
        payloads.good,
    )
    # Sequence and acknowledgement number, length of the header, flags, window.
    fields = np.ndarray((len(block.data) - 11,), "V12", block.data, strides=(1,))[tcp + 4]
    seq, ack, _ = fields.view(">u4").reshape(-1, 3).T.astype(np.int64)
    sizes = np.maximum(np.minimum(stops, ends) - begins, 0)
    missing = stops - begins - sizes
    # Options that the snapshot length cut off are missing too, though no payload is.
    whole = good & (stops <= ends)
    return SegmentColumns(
        block.data,
        is_ipv4,
        index,
        ip,
        tcp,
        block.frames[index],
        block.times_ns[index],
        seq,
        ack,
        fields.view(np.uint8).reshape(-1, 12)[:, 9].astype(np.int64),
        fields.view(">u2").reshape(-1, 6)[:, 5].astype(np.int64),
        begins - block.starts[index],
        begins,
        sizes,
        missing,
        good,
        bad_ip_checksums(block.data, views, ip, tcp, is_ipv4),
        bad_tcp_checksums(block.data, views, ip, tcp, begins + sizes - tcp, whole, is_ipv4),
    )
