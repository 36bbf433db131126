"""TCP segments as the IP layer delivers them, alone and in batches, and payloads of UDP."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from analyzer.core.events import Event
from analyzer.core.tcpip_encoding import ACK, FIN, RST, SYN
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.records.record_types import Endpoint

# RFC 7323 section 2.3: no window exceeds 1 GiB, so nothing older than that is still under way. The other three quarters
# of the number space are ahead: a capture that paused may have missed much.
FARTHEST_AHEAD = 3 << 30


class Segment(Struct, frozen=True):
    """One TCP segment. `payload` is the captured data; `missing` counts the data bytes that its frame lacks.

    `seq` and `ack` are the header's 32-bit numbers (`seq` of the first data byte, or of SYN/FIN itself), `frame` the frame
    that completed it (the last one of a fragmented datagram). `is_doubted`: a checksum of TCP or IPv4 is wrong, so its receiver
    may not have taken it.
    """

    src: Endpoint
    dst: Endpoint
    seq: int
    ack: int
    flags: int
    window: int
    payload: TracedBytes
    missing: int
    frame: int
    time_ns: int
    is_doubted: bool = False


class UdpPayload(Event, frozen=True):
    """The captured part of the payload of a UDP datagram whose port is read."""

    payload: TracedBytes


class SegmentBatch(Event, frozen=True, eq=False):
    """TCP segments of one connection, neighbours in the capture, or a single one. Iterating gives the segments. A single segment is
    a batch of one.

    Where they are `in_sequence`, they are nothing but data that continue each other and acknowledgements of it (see
    `segment_runs.py`), and the other fields describe them together. `src` sends first. `payload` is what both ends send, as
    it follows in the capture: part i is its bytes `borders[i]` to `borders[i + 1]`, and is of `dst` where `replies[i]`. `seq` is
    the number of the first byte of `src`, `reply_seq` that of `dst`, which is -1 where `dst` sends no data; then `ack` is the same
    in all segments of `src`. Else neither end acknowledges more than was sent before in the batch. `frame` and `reply_frame` are
    those of the last data of both, `count` is how many segments have data, and `time_ns` is the time of the last segment in the
    capture, `latest_ns` the latest of all. The segments are those from `first` to `stop` of what `segments` makes.
    """

    src: Endpoint
    dst: Endpoint
    in_sequence: bool
    seq: int
    reply_seq: int
    ack: int
    payload: TracedBytes
    borders: list[int]
    replies: list[bool]
    count: int
    frame: int
    reply_frame: int
    time_ns: int
    latest_ns: int
    segments: Callable[[int, int], Iterable[Segment]]
    first: int
    stop: int

    @classmethod
    def of_segment(cls, item: Segment) -> SegmentBatch:
        """Returns a batch of one TCP segment."""
        size = len(item.payload)
        return cls(
            item.src,
            item.dst,
            item.flags & (SYN | FIN | RST | ACK) == ACK and not item.missing and not item.is_doubted,
            item.seq,
            -1,
            item.ack,
            item.payload,
            [0, size],
            [False],
            1 if size else 0,
            item.frame if size else 0,
            0,
            item.time_ns,
            item.time_ns,
            lambda first, stop: (item,),
            0,
            1,
        )

    @property
    def is_one_sided(self) -> bool:
        """Whether all TCP segments of the batch have data, all from the same end."""
        return self.reply_seq < 0 and self.count == self.stop - self.first

    def __iter__(self) -> Iterator[Segment]:
        return iter(self.segments(self.first, self.stop))
