"""States of TCP connections and of their directions during reassembly, and the entries that a direction holds.

A direction is in one of these states; `stream_ordering_and_gaps` decides:

    state          meaning                                      input                                            next state
    UNKNOWN        nothing shows yet where it begins            its SYN, its first data, an acknowledgement      WAITING
    WAITING        something is held or awaited, or the other   all of both directions delivered or given up     IN_SEQUENCE
                   direction is UNKNOWN                         a hole of one byte at its end is given up        PRESUMED_FIN
                                                                its FIN is delivered                             FINISHED
    IN_SEQUENCE    nothing of the connection is held or         a segment that does not continue it, or is out   WAITING
                   awaited                                      of window
                                                                its FIN                                          FINISHED
    PRESUMED_FIN   one acknowledged byte is missing at its      data or a hole behind it: a gap of one byte      WAITING
                   end: a FIN that was not captured, until      data in its place                                WAITING
                   what follows shows otherwise                 a FIN                                            FINISHED
    FINISHED       its FIN was delivered                        data in its place, until the other direction     WAITING
                                                                is FINISHED too

And a connection in one of these; `reassembler` makes the transitions:

    state            meaning                                    input                                            next state
    -                -                                          a SYN                                            ESTABLISHED
                                                                data without a SYN before it                     UNSYNCHRONIZED
    UNSYNCHRONIZED   a direction that has data is without its   enough segments or time, FIN or RST, the late    ESTABLISHED
                     SYN (RFC 9293 3.3.2): its first segments   SYN, the limit of memory
                     are kept (`first_segments`)
    ESTABLISHED      segments are put in order                  data of the direction whose SYN was not seen     UNSYNCHRONIZED
                                                                its first bytes are of no protocol of ours       IGNORED
                                                                FIN of both directions, a limit, a SYN of        CLOSING
                                                                another connection that is answered or
                                                                followed, or its segments, the end
    CLOSING          what is left is being delivered            all of it delivered or given up                  CLOSED
    CLOSED           late segments are dropped                  a SYN of another connection, a limit             forgotten
    IGNORED          all segments are dropped                   a SYN of another connection, a limit             forgotten

`was_reset` is a fact about a connection, not a state: some stacks and middle boxes send RST into a connection that lives on.
"""

from __future__ import annotations

from enum import Enum
from typing import Literal

from msgspec import Struct

from analyzer.core.traced_bytes import TracedBytes
from analyzer.transport.packet.segment import FARTHEST_AHEAD, Segment
from analyzer.transport.tcp.stream_events import Connection, Direction

MASK = 0xFFFFFFFF
# Memory of an entry beside its bytes: objects around a payload, measured roughly.
SEGMENT_COST = 512

CUT, DOUBTED, DATA, FINISH = range(4)
CloseReason = Literal["fin", "rst", "reused", "idle", "limit", "end"]
# Both ends as they stand in a segment: address and port of the sender, then of the receiver.
FlowKey = tuple[str, int, str, int]


class DirectionState(Enum):
    """The state of one TCP direction; see the table above."""

    UNKNOWN = "unknown"
    IN_SEQUENCE = "in sequence"
    WAITING = "waiting"
    PRESUMED_FIN = "presumed FIN"
    FINISHED = "finished"


class FlowState(Enum):
    """The state of a TCP connection; see the table above."""

    UNSYNCHRONIZED = "unsynchronized"
    ESTABLISHED = "established"
    CLOSING = "closing"
    CLOSED = "closed"
    IGNORED = "ignored"


# Members by names of their own: these are compared for every segment.
UNKNOWN, IN_SEQUENCE, WAITING = DirectionState.UNKNOWN, DirectionState.IN_SEQUENCE, DirectionState.WAITING
PRESUMED_FIN, FINISHED = DirectionState.PRESUMED_FIN, DirectionState.FINISHED


class TcpTimeouts(Struct, frozen=True):
    """How long TCP reassembly waits, in nanoseconds of capture time and in segments. `core.limits` has how much it may hold."""

    # SMB clients keep a connection for hours (Windows drops idle sessions after 15 minutes, but keeps those with open
    # files), so age alone ends nothing; above `Limits.connections`, those idle for this long count as idle.
    idle_ns: int = 2 * 3600 * 1_000_000_000
    # Capture queues and merged clocks put frames late by a few, seldom by dozens, and by milliseconds. Both must have
    # passed since a hole was acknowledged, or the time alone in a connection with little traffic.
    patience_segments: int = 64
    patience_ns: int = 50_000_000
    patience_long_ns: int = 2_000_000_000
    # RFC 6298: first retransmission after at most 1 s, the second after 2 s more.
    lone_ns: int = 5_000_000_000
    # Longer than data that was under way can take; after it, a reset connection is over.
    reset_ns: int = 10_000_000_000
    # How many first segments are kept of a connection without its SYN, and for how long.
    unsynchronized_segments: int = 8
    unsynchronized_ns: int = 1_000_000_000


class HeldEntry:
    """An entry of a TCP direction that waits, from position `start` to `stop`. `need` is the position the other direction must
    reach."""

    __slots__ = ("data", "frame", "kind", "need", "start", "stop")

    def __init__(self, start: int, stop: int, kind: int, data: TracedBytes | None, need: int, frame: int) -> None:
        self.start = start
        self.stop = stop
        self.kind = kind
        self.data = data
        self.need = need
        self.frame = frame

    def part(self, start: int, stop: int) -> HeldEntry:
        if start == self.start and stop == self.stop:
            return self
        data = self.data[start - self.start : stop - self.start] if self.data is not None else None
        return HeldEntry(start, stop, self.kind, data, self.need, self.frame)

    @property
    def cost(self) -> int:
        return SEGMENT_COST + (len(self.data) if self.data is not None else 0)


class Half:
    """The state of one direction of a TCP connection in reassembly. Positions are unwrapped 64-bit sequence numbers; `origin` is
    the position of stream offset 0."""

    __slots__ = (
        "acked",
        "acked_from",
        "conflicts",
        "cost",
        "direction",
        "flow",
        "frame",
        "handshake_ack",
        "held",
        "isn",
        "last_ack",
        "next",
        "origin",
        "other",
        "seen",
        "state",
        "wait_count",
        "wait_since",
        "wait_to",
    )

    other: Half

    def __init__(self, flow: Flow, direction: Direction) -> None:
        self.flow = flow
        self.direction = direction
        self.state = UNKNOWN
        # A segment of it was captured.
        self.seen = False
        self.isn: int | None = None
        # What the peer acknowledged while nothing of the direction was delivered, if that is not where its SYN let it begin.
        self.handshake_ack: int | None = None
        self.origin = 0
        # Position of the next byte to deliver, and the highest one the peer acknowledged (looked at only where it is higher).
        self.next = 0
        self.acked = 0
        # Data from this position of the peer on was sent after that acknowledgement.
        self.acked_from = 0
        # The last acknowledgement of the peer, in file order.
        self.last_ack = 0
        # Frame of the last delivered byte.
        self.frame: int | None = None
        self.held: list[HeldEntry] = []
        self.cost = 0
        self.wait_to = 0
        self.wait_count = 0
        self.wait_since = 0
        self.conflicts: list[tuple[int, int]] = []

    def start_at(self, seq: int) -> None:
        self.state = WAITING
        self.origin = self.next = self.acked = self.last_ack = (1 << 32) + (seq & MASK)

    def position(self, seq: int) -> int:
        lead = (seq - self.next) & MASK
        return self.next + (lead if lead < FARTHEST_AHEAD else lead - (1 << 32))


class Flow:
    """The state of a TCP connection in reassembly, with both directions (`halves`)."""

    __slots__ = (
        "connection",
        "count",
        "first_segments",
        "gapped",
        "halves",
        "keys",
        "late_reported",
        "out_of_window",
        "state",
        "syn",
        "time_ns",
        "was_reset",
    )

    def __init__(self, connection: Connection, keys: tuple[FlowKey, FlowKey]) -> None:
        self.connection = connection
        self.keys = keys
        self.halves = (Half(self, 0), Half(self, 1))
        self.halves[0].other, self.halves[1].other = self.halves[1], self.halves[0]
        self.state = FlowState.ESTABLISHED
        # The first segments, while it is UNSYNCHRONIZED.
        self.first_segments: list[Segment] = []
        self.was_reset = False
        self.late_reported = False
        self.gapped = False
        # The last segments, as long as their numbers were far off in both directions.
        self.out_of_window: list[Segment] = []
        # A SYN of other numbers in the middle of it, as long as nothing shows whether anybody took it.
        self.syn: Segment | None = None
        # Segments taken since it was opened.
        self.count = 0
        self.time_ns = 0

    @property
    def is_closed(self) -> bool:
        """Whether the TCP connection has ended, so that only late segments may come."""
        return self.state is FlowState.CLOSED

    @property
    def cost(self) -> int:
        return self.halves[0].cost + self.halves[1].cost

    @property
    def has_events(self) -> bool:
        """Whether data of this TCP connection was delivered or given up."""
        return self.gapped or any(half.frame is not None for half in self.halves)
