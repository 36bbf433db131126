"""Reads the header fields of TCP segments as columns: one array for each field.

IPv4 and TCP checksums of many segments are checked at once with arrays. The references are `checksum_fails` and
`tcp_checksum_fails` of `frame_dissector`, which state when a checksum is wrong. A ones' complement sum of 16-bit words (RFC 1071)
is the remainder by 0xFFFF of all bytes as one number, and the same in either byte order. Because 2**16 leaves 1, so do 2**32 and
2**64: words may be added up in larger ones. A run of bytes that begins at an odd place has the sum of its neighbours turned by a
byte, which is a factor of 2**8. So the 64-bit words of a buffer are added up between the borders of all runs at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from msgspec import Struct

from analyzer.capture.frame_blocks import FrameBlock
from analyzer.core.array_functions import at_positions, bytes_at
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.packet.common_frame_shapes import TcpFrames
from analyzer.transport.packet.flow_candidates import FlowKey
from analyzer.transport.packet.frame_dissector import IPV6_LEN, TCP, TCP_LEN, checksum_fails
from analyzer.transport.packet.segment import Segment
from analyzer.transport.packet.tunnels import Bools, IntArray, Views

if TYPE_CHECKING:
    import numpy.typing as npt

# ------------------------------------------------------------------------------------------------------------ checksums


_USUAL_HEADER_LEN = 20
# Segments that are few in a large buffer are copied together first.
_DENSE = 4
_U64: TypeAlias = "npt.NDArray[np.uint64]"


def bad_ip_checksums(data: bytes, views: Views, ip: IntArray, tcp: IntArray, is_ipv4: Bools) -> Bools:
    """Tells by columns of segments which IPv4 headers have a wrong checksum. The result equals `checksum_fails` on each header."""
    bad = np.zeros(len(ip), np.bool_)
    is_usual = is_ipv4 & (tcp - ip == _USUAL_HEADER_LEN)
    usual = np.flatnonzero(is_usual)
    headers = np.ndarray((max(len(data) - _USUAL_HEADER_LEN + 1, 0),), f"V{_USUAL_HEADER_LEN}", data, strides=(1,))
    # Column by column, which takes a fifth of the time that row by row does.
    first, *others = headers[at_positions(ip, usual)].view("<u4").reshape(-1, _USUAL_HEADER_LEN // 4).T
    total = first.astype(np.int64)
    for column in others:
        total += column
    # The checksum is the upper half of the third.
    bad[usual] = (total % 0xFFFF != 0) & (others[1] >> 16 != 0)
    for position in np.flatnonzero(is_ipv4 & ~is_usual).tolist():
        bad[position] = checksum_fails(data[int(ip[position]) : int(tcp[position])])
    return bad


def bad_tcp_checksums(
    data: bytes, views: Views, ip: IntArray, tcp: IntArray, lengths: IntArray, whole: Bools, is_ipv4: Bools
) -> Bools:
    """Tells by columns of segments which whole ones have a wrong TCP checksum. The result equals `tcp_checksum_fails` on each
    segment."""
    bad = np.zeros(len(ip), np.bool_)
    left = views.u16[tcp + 16].astype(np.int64)
    chosen = np.flatnonzero(whole & (left != 0))
    if not len(chosen):
        return bad
    ip, tcp, lengths = (at_positions(column, chosen) for column in (ip, tcp, lengths))
    is_ipv4, left = at_positions(is_ipv4, chosen), at_positions(left, chosen)
    if is_ipv4.all():
        pseudo = _halves(views.u64[ip + 12])
    else:
        pseudo = np.zeros(len(chosen), np.int64)
        for of_version, first, words in ((is_ipv4, 12, 1), (~is_ipv4, 8, 4)):
            at = ip[of_version] + first
            for word in range(words):
                pseudo[of_version] += _halves(views.u64[at + 8 * word])
    pseudo += TCP << 8
    swapped = (lengths & 0xFF) << 8 | lengths >> 8 & 0xFF
    # Segmentation offload makes longer ones; no frame has 16 MiB.
    swapped += (lengths >> 16) << 8
    # Checksums that a card finishes after the capture are accepted.
    left -= pseudo
    finished = np.flatnonzero((left % 0xFFFF != 0) & ((left - swapped) % 0xFFFF != 0))
    if len(finished):
        sums = word_sums(data, tcp[finished], lengths[finished]).astype(np.int64)
        bad[chosen[finished]] = (pseudo[finished] + swapped[finished] + sums) % 0xFFFF != 0
    return bad


def _halves(words: _U64) -> IntArray:
    """Returns for each 64-bit word the sum of its upper and its lower half, a step of the checksums of a column of segments."""
    return (words & np.uint64(0xFFFFFFFF)).astype(np.int64) + (words >> np.uint64(32)).astype(np.int64)


def word_sums(data: bytes, starts: IntArray, lengths: IntArray) -> _U64:
    """Returns the checksum sum of each segment in a column, for stretches of at least sixteen bytes: their 16-bit words modulo
    0xFFFF. An odd last byte counts as a word."""
    if int(lengths.sum()) * _DENSE < len(data):
        pieces = [data[start : start + length] for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)]
        data = b"".join(pieces)
        starts = np.cumsum(lengths) - lengths
    stops = starts + lengths
    if int(stops.max()) + 8 > len(data):
        # There is a word behind the last one of each run.
        data += bytes(8)
    # The 64-bit words that lie in the run, and the bytes before and after them.
    borders = np.empty((len(starts), 2), np.int64)
    first, last = borders.T
    np.right_shift(starts + 7, 3, out=first)
    np.right_shift(stops, 3, out=last)
    head = _bytes_at(data, starts, (first << 3) - starts)
    sums = _bytes_at(data, last << 3, stops & 7)
    # Sums of whole words run over; those of upper halves do not, and with them give what the lower halves come to.
    words = np.frombuffer(data, "<u8", len(data) // 8)[: int(last.max()) + 1]
    upper: _U64 = np.add.reduceat(words >> np.uint64(32), borders.ravel())[::2]
    lower: _U64 = np.add.reduceat(words, borders.ravel())[::2] - (upper << np.uint64(32))
    # Less than 2**56 in the bytes behind them, and in each half less than 2**48 for a frame of 256 KiB.
    sums += upper
    sums += lower
    turned = np.flatnonzero(starts & 1)
    sums[turned] = (sums[turned] % np.uint64(0xFFFF)) << np.uint64(8)
    sums += head
    sums %= np.uint64(0xFFFF)
    return sums


def _bytes_at(data: bytes, starts: IntArray, counts: IntArray) -> _U64:
    """Returns the bytes at each place (fewer than eight) as a little-endian number, for the checksums of a column of segments."""
    words: _U64 = np.ndarray((len(data) - 7,), np.dtype(np.uint64).newbyteorder("<"), data, strides=(1,))
    # A place near the end of the data is read from a little before it.
    at = np.minimum(starts, len(data) - 8)
    found: _U64 = words[at] >> ((starts - at) * 8).astype(np.uint64)
    found &= (np.uint64(1) << (counts * 8).astype(np.uint64)) - np.uint64(1)
    return found


# ------------------------------------------------------------------------------------------------------ segment columns


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
        doubted = self.bad_ip_checksum[run] | self.bad_tcp_checksum[run]
        for ip, tcp, seq, ack, flags, window, begin, size, offset, missing, frame, time_ns, is_doubted in zip(
            *(column[run].tolist() for column in columns), doubted.tolist(), strict=True
        ):
            src, dst, _, _ = ends(self.data, ip, tcp)
            payload = TracedBytes.of_frame(self.data[begin : begin + size], frame, offset, time_ns)
            yield Segment(src, dst, seq, ack, flags, window, payload, missing, frame, time_ns, is_doubted)


class Payloads(Struct, frozen=True, eq=False):
    """Columns with the places of the payloads of TCP segments: they begin at `begins` in the data and end at `stops`, as their
    headers state.

    `captured` is where the captured bytes of the frame end. `good`: the lengths in the headers agree.
    """

    is_ipv4: Bools
    begins: IntArray
    stops: IntArray
    captured: IntArray
    good: Bools

    @property
    def have_data(self) -> Bools:
        """Tells which TCP segments of the columns have data, captured or not."""
        found: Bools = self.good & (self.stops > self.begins)
        return found


def payloads_of(block: FrameBlock, views: Views, chosen: TcpFrames) -> Payloads:
    """Returns the columns with the payload places of the segments in the chosen frames. An IPv4 header with a wrong checksum makes
    none longer than its frame was."""
    ip, tcp, index = chosen.ip, chosen.tcp, chosen.index
    is_ipv4 = views.u8[ip] >> 4 == 4
    lengths = views.be16[np.where(is_ipv4, ip + 2, ip + 4)].astype(np.int64)
    starts, captured = at_positions(block.starts, index), at_positions(block.captured, index)
    # Segmentation offload leaves the length zero: the frame's own is then the only one there is.
    wire = starts + np.maximum(at_positions(block.original, index), captured)
    stops = np.where(lengths == 0, wire, ip + lengths + np.where(is_ipv4, 0, IPV6_LEN))
    beyond = np.flatnonzero((stops > wire) & is_ipv4)
    if len(beyond):
        bad = beyond[bad_ip_checksums(block.data, views, ip[beyond], tcp[beyond], is_ipv4[beyond])]
        stops[bad] = wire[bad]
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
        # Copies: the columns outlive the block, whose arrays may be parts of larger ones.
        block.frames[index],
        block.times_ns[index],
        seq,
        ack,
        fields.view(np.uint8).reshape(-1, 12)[:, 9].astype(np.int64),
        fields.view(">u2").reshape(-1, 6)[:, 5].astype(np.int64),
        begins - at_positions(block.starts, index),
        begins,
        sizes,
        missing,
        good,
        bad_ip_checksums(block.data, views, ip, tcp, is_ipv4),
        bad_tcp_checksums(block.data, views, ip, tcp, begins + sizes - tcp, whole, is_ipv4),
    )
