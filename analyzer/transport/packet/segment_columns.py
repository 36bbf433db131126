"""Reads the header fields of TCP segments as columns: one array for each field."""

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
    """TCP segments of a block as columns, in the order of frames. Each array has one entry for each segment.

    `index` is the position in the block. `ip` and `tcp` are the offsets of the headers in `data`. The payload begins at `offsets`
    in its frame and at `begins` in `data`. `sizes` is its captured size, and `missing` the size that was not captured. `good`: the
    lengths in the headers agree. Otherwise only the ports can be trusted.
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
        """Returns the columns of the TCP segments at these positions, in the order of the positions."""
        fields = (getattr(self, name) for name in self.__struct_fields__[1:])
        return SegmentColumns(self.data, *(field[positions] for field in fields))

    def pairs(self, chosen: IntArray) -> list[bytes]:
        """Returns both addresses and both ports of the chosen TCP segments as raw bytes; b"" if there is IPv6."""
        if not len(chosen) or not self.is_ipv4.all():
            return [b""] * len(chosen)
        raw = np.empty((len(chosen), 12), np.uint8)
        for where, column, size in ((slice(0, 8), self.ip[chosen] + 12, 8), (slice(8, 12), self.tcp[chosen], 4)):
            raw[:, where] = bytes_at(self.data, column, size)
        found: list[bytes] = raw.view("V12").ravel().tolist()
        return found

    def segments(self, ends: Ends, first: int, stop: int) -> Iterator[Segment]:
        """Yields the TCP segments from number `first` to `stop` of the columns."""
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
    """Places of the payloads of TCP segments: they begin at `begins` in the data and end at `stops`, as their headers state.

    `captured` is where the captured bytes of the frame end. `good`: the lengths in the headers agree.
    """

    is_ipv4: Bools
    begins: IntArray
    stops: IntArray
    captured: IntArray
    good: Bools

    @property
    def have_data(self) -> Bools:
        """Tells which TCP segments have data, captured or not."""
        found: Bools = self.good & (self.stops > self.begins)
        return found


def payloads_of(block: FrameBlock, views: Views, chosen: TcpFrames) -> Payloads:
    """Returns the places of the TCP payloads of the chosen frames."""
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
    """Reads the header fields of the TCP segments in the chosen frames, as columns."""
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
