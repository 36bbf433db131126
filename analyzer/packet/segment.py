"""TCP segments as they leave the IP layer, one by one and in runs, and the names of the two ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from analyzer.core.events import Event
from analyzer.core.traced import TracedBytes
from analyzer.core.values import dataclass

FIN, SYN, RST, PSH, ACK, URG = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
# RFC 7323 section 2.3: no window exceeds 1 GiB, so nothing older than that is still under way. The other three quarters
# of the number space are ahead: a capture that paused may have missed much.
FARTHEST_AHEAD = 3 << 30


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """One end of a connection: address as text (IPv6 in RFC 5952 form) and port."""

    ip: str
    port: int

    def __str__(self) -> str:
        return f"[{self.ip}]:{self.port}" if ":" in self.ip else f"{self.ip}:{self.port}"


@dataclass(frozen=True, slots=True)
class Segment(Event):
    """One TCP segment. `payload` is what was captured of its data; `missing` counts data bytes that the snapshot length cut off.

    `seq` and `ack` are the header's 32-bit numbers (`seq` of the first data byte, or of SYN/FIN itself), `frame` the frame
    that completed it (the last one of a fragmented datagram).
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


class SegmentRun(Event):
    """Segments of one connection, neighbours in the capture, that are nothing but data in order (see `packet.runs`).

    `src` sent the data: `payload` together, `count` segments of it, the first at `seq`, the last in `frame`; all its segments
    have the same `ack`. Those of `dst` carry no data, and acknowledge nothing beyond the data that came before them in the run.
    `time_ns` is the time of the last segment, and the latest. Iterating gives the segments one by one.
    """

    __slots__ = ("_first", "_segments", "_stop", "ack", "count", "dst", "frame", "payload", "seq", "src", "time_ns")

    def __init__(
        self,
        src: Endpoint,
        dst: Endpoint,
        seq: int,
        ack: int,
        payload: TracedBytes,
        count: int,
        frame: int,
        time_ns: int,
        segments: Callable[[int, int], Iterator[Segment]],
        first: int,
        stop: int,
    ) -> None:
        self.src = src
        self.dst = dst
        self.seq = seq
        self.ack = ack
        self.payload = payload
        self.count = count
        self.frame = frame
        self.time_ns = time_ns
        self._segments = segments
        self._first = first
        self._stop = stop

    def __iter__(self) -> Iterator[Segment]:
        return self._segments(self._first, self._stop)
