"""TCP segments as they leave the IP layer, one by one and in dialogues, and the names of the two ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from analyzer.core.events import Event
from analyzer.core.traced import TracedBytes
from analyzer.model.record import Endpoint

FIN, SYN, RST, PSH, ACK, URG = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
# RFC 7323 section 2.3: no window exceeds 1 GiB, so nothing older than that is still under way. The other three quarters
# of the number space are ahead: a capture that paused may have missed much.
FARTHEST_AHEAD = 3 << 30


class Segment(Event, frozen=True):
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


class UdpPayload(Event, frozen=True):
    """What one UDP datagram of a port that is read holds, as far as it was captured."""

    payload: TracedBytes


class Dialogue(Event, frozen=True, eq=False):
    """Segments of one connection, neighbours in the capture, with what both ends say in turn, in order (see `packet.dialogues`).

    `src` speaks first. `payload` is what both say, as it follows in the capture: turn i is its bytes `borders[i]` to
    `borders[i + 1]`, and is of `dst` where `replies[i]`. `seq` is the number of the first byte of `src`, `reply_seq` that of `dst`,
    which is -1 where `dst` says nothing; then `ack` is the same in all segments of `src`. Else neither end acknowledges more than
    was said before in the dialogue. `frame` and `reply_frame` are those of the last data of both, `count` is how many segments have
    data, and `time_ns` is the time of the last segment, and the latest. Iterating gives the segments one by
    one: those from `first` to `stop` of what `segments` makes.
    """

    src: Endpoint
    dst: Endpoint
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
    segments: Callable[[int, int], Iterator[Segment]]
    first: int
    stop: int

    def __iter__(self) -> Iterator[Segment]:
        return self.segments(self.first, self.stop)
