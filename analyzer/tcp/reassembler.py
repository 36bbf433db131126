"""TCP reassembly: segments in file order in, both directions of every connection out, in order and in step (RFC 9293).

The state of a connection, and what moves it:

* *opening*: begun without the SYN of a direction that has data. The first few segments are kept, so that a frame which
  the capture put behind a later one still finds its place; then each direction starts at its lowest data byte (or where
  the peer's acknowledgement says it stands), and the kept segments are taken in again in file order.
* *calm*: nothing is held, nothing awaited. A segment that continues its direction leaves at once (`feed`), and so does a
  dialogue (`feed_dialogue`); anything else goes through `_slow`.
* *troubled*: something is held. A direction holds entries sorted by position: data, what a snapshot length cut off,
  FIN. The first entry leaves when it continues its direction and the other direction has delivered everything it
  acknowledges (`need`); so a response never overtakes its request, whatever the order in the file.
* *reset*: an end has sent RST. Some stacks and middle boxes send one into a connection that lives on, so data is still
  taken; the end is said when the connection has been silent for a while (`reset_ns`), or the ports or the room are needed.
* *closed* (FIN both ways, RST, reuse, eviction) or *ignored* (`ignore`): late segments are swallowed, a SYN of another
  connection on the same ports opens a new one. So do a few segments in a row whose numbers are far off in both
  directions (`strays`): their SYN was not captured.

When is a hole a gap? A packet lost on the network is not acknowledged, and is sent again: we wait, without looking at
the clock. A hole that the peer has acknowledged was received, and only the capture missed it, or put it a little later:
we wait a few segments and milliseconds more (`patience_*`), then say `Gap`. Where the peer was never captured nothing
is known of acknowledgements, and we wait longer than a retransmission takes (`lone_ns`). What a snapshot length cut off
is given up when something behind it is seen. Too much held, the end of the connection or of the capture end all
waiting. Acknowledged bytes may also lie behind everything captured: such a hole ends at the acknowledgement; if it is one
byte, it is a FIN that was not captured until later data tells otherwise (`ghost`). An acknowledgement that the peer's
later segments do not repeat was wrong, and is withdrawn instead (`last_ack`).

Two versions of the same bytes: the first captured one stays, the disagreement is a `conflict`, compared as long as the first
version is at hand. Positions are unwrapped 64-bit sequence numbers; `origin` is the one with stream offset 0.
Whoever adds a kind of entry must look at `_place`, `_ready` and `_deliver`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Literal

from msgspec import Struct

from analyzer.core.events import Event, Problem, ProblemKind
from analyzer.core.traced import TracedBytes
from analyzer.model.record import Endpoint
from analyzer.packet.segment import ACK, FARTHEST_AHEAD, FIN, PSH, RST, SYN, Dialogue, Segment
from analyzer.tcp.events import Connection, Direction, Gap, StreamChunk, StreamClosed, StreamDialogue

_MASK = 0xFFFFFFFF
# RFC 7323 section 2.3.
_MAX_WINDOW = 1 << 30
# Farther off than this in both numbers, a segment is not of this connection: senders are a few MiB ahead at most. As many
# in a row are another connection, fewer are damaged.
_STRAY = 64 << 20
_MAX_STRAYS = 3
# What an entry costs beside its bytes: objects around a payload, measured roughly.
_ENTRY_COST = 512
# Delivered segments kept for comparing retransmissions with them.
_RECENT = 128
# A stream with more disagreements than this says so once and compares no more.
_MAX_CONFLICTS = 32

_DATA, _CUT, _FIN = range(3)
_CONTROL = SYN | FIN | RST | ACK

CloseReason = Literal["fin", "rst", "reused", "idle", "limit", "end"]

_ACKED = "the receiver acknowledged these bytes, the capture does not have them"
_SNAPPED = "cut off by the snapshot length of the capture"
_UNSEEN = "no segment of this direction was captured"
_LONE = "not captured, and not sent again in time (the receiver's side was not captured)"
_TOO_MUCH = "not captured before too much waited for it"
_BEFORE_RESET = "not captured before the connection was reset"
_AT_CLOSE: dict[CloseReason, str] = {
    "fin": "not captured before the connection was closed",
    "rst": _BEFORE_RESET,
    "reused": "not captured before the ports were used by another connection",
    "idle": "not captured before the connection was dropped as idle",
    "limit": "not captured before the connection was dropped for want of room",
    "end": "not captured before the capture ended",
}


class TcpLimits(Struct, frozen=True):
    """What reassembly may hold, and how long it waits. Sizes in bytes of memory, times in nanoseconds of capture time."""

    # A connection costs about 1 KiB. A port scan makes many: those without data and the closed ones go first.
    max_connections: int = 32_768
    # SMB clients keep a connection for hours (Windows drops idle sessions after 15 minutes, but keeps those with open
    # files), so age alone ends nothing; above `max_connections`, those idle for this long are said to be idle.
    idle_ns: int = 2 * 3600 * 1_000_000_000
    # Windows and Linux grow receive windows to a few MiB; what waits behind a hole is at most a window.
    held_stream: int = 8 << 20
    held_total: int = 48 << 20
    # Capture queues and merged clocks put frames late by a few, seldom by dozens, and by milliseconds. Both must have
    # passed since a hole was acknowledged, or the time alone in a connection that says little.
    patience_segments: int = 64
    patience_ns: int = 50_000_000
    patience_long_ns: int = 2_000_000_000
    # RFC 6298: first retransmission after at most 1 s, the second after 2 s more.
    lone_ns: int = 5_000_000_000
    # Longer than data that was under way can take; after it, a reset connection is over.
    reset_ns: int = 10_000_000_000
    # Segments kept at a start in mid-stream, and for how long.
    opening_segments: int = 8
    opening_ns: int = 1_000_000_000


class _Held:
    """An entry that waits: positions `start` to `stop`; `need` is the position the other direction must have reached."""

    __slots__ = ("data", "frame", "kind", "need", "start", "stop")

    def __init__(self, start: int, stop: int, kind: int, data: TracedBytes | None, need: int, frame: int) -> None:
        self.start = start
        self.stop = stop
        self.kind = kind
        self.data = data
        self.need = need
        self.frame = frame

    def part(self, start: int, stop: int) -> _Held:
        if start == self.start and stop == self.stop:
            return self
        data = self.data[start - self.start : stop - self.start] if self.data is not None else None
        return _Held(start, stop, self.kind, data, self.need, self.frame)

    @property
    def cost(self) -> int:
        return _ENTRY_COST + (len(self.data) if self.data is not None else 0)


def _stop_of(entry: _Held) -> int:
    return entry.stop


class _Half:
    """One direction of a connection."""

    __slots__ = (
        "acked",
        "calm",
        "closed",
        "conflicts",
        "cost",
        "direction",
        "flow",
        "frame",
        "ghost",
        "held",
        "isn",
        "last_ack",
        "next",
        "origin",
        "other",
        "seen",
        "started",
        "wait_count",
        "wait_since",
        "wait_to",
    )

    other: _Half

    def __init__(self, flow: _Flow, direction: Direction) -> None:
        self.flow = flow
        self.direction = direction
        # Both halves of a calm connection say so; see the module's story.
        self.calm = False
        self.seen = False
        self.started = False
        self.closed = False
        self.isn: int | None = None
        self.origin = 0
        # Position of the next byte to deliver, and the highest one the peer acknowledged (looked at only where it is higher).
        self.next = 0
        self.acked = 0
        # What the peer acknowledged last, in file order.
        self.last_ack = 0
        # Frame of the last delivered byte.
        self.frame: int | None = None
        self.held: list[_Held] = []
        self.cost = 0
        self.wait_to = 0
        self.wait_count = 0
        self.wait_since = 0
        self.ghost = False
        self.conflicts: list[tuple[int, int]] = []

    def start_at(self, seq: int) -> None:
        self.started = True
        self.origin = self.next = self.acked = self.last_ack = (1 << 32) + (seq & _MASK)

    def position(self, seq: int) -> int:
        lead = (seq - self.next) & _MASK
        return self.next + (lead if lead < FARTHEST_AHEAD else lead - (1 << 32))


class _Flow:
    """Both directions of a connection."""

    __slots__ = (
        "closed",
        "closing",
        "connection",
        "count",
        "gapped",
        "halves",
        "ignored",
        "keys",
        "late_told",
        "opening",
        "reset",
        "strays",
        "time_ns",
    )

    def __init__(self, connection: Connection, keys: tuple[_Key, _Key]) -> None:
        self.connection = connection
        self.keys = keys
        self.halves = (_Half(self, 0), _Half(self, 1))
        self.halves[0].other, self.halves[1].other = self.halves[1], self.halves[0]
        self.opening: list[Segment] | None = None
        self.closed = False
        self.closing = False
        self.reset = False
        self.ignored = False
        self.late_told = False
        self.gapped = False
        self.strays: list[Segment] = []
        # Segments that took the slow road.
        self.count = 0
        self.time_ns = 0

    @property
    def cost(self) -> int:
        return self.halves[0].cost + self.halves[1].cost

    @property
    def told(self) -> bool:
        """Something was said about this connection."""
        return self.gapped or any(half.frame is not None for half in self.halves)


class _Recent:
    """The last delivered segments; those of a dialogue came together."""

    __slots__ = ("_count", "_told")

    def __init__(self) -> None:
        self._told: deque[tuple[StreamChunk | StreamDialogue, int]] = deque()
        self._count = 0

    def add(self, told: StreamChunk | StreamDialogue, count: int = 1) -> None:
        self._told.append((told, count))
        self._count += count
        while self._count - self._told[0][1] >= _RECENT:
            self._count -= self._told.popleft()[1]

    def of(self, connection: Connection, direction: Direction) -> Iterator[tuple[int, TracedBytes]]:
        """Offset and data of each segment of a direction, the last one first."""
        left = _RECENT
        for told, count in reversed(self._told):
            if told.connection is connection:
                for way, offset, data in _last_segments(told, left):
                    if way == direction:
                        yield offset, data
            left -= count


def _last_segments(told: StreamChunk | StreamDialogue, most: int) -> Iterator[tuple[Direction, int, TracedBytes]]:
    """Direction, offset and data of the last segments that came together, at most so many, the last one first."""
    turn, stop = 0, len(told.data)
    borders, replies, after = [0], [False], [told.offset + stop, 0]
    ways: tuple[Direction, Direction] = (told.direction, 1 if told.direction == 0 else 0)
    if isinstance(told, StreamDialogue):
        turn, borders, replies = len(told.replies) - 1, told.borders, told.replies
        after = [told.offset + stop - told.replied, told.reply_offset + told.replied]
    for extent in told.data.last_extents(most):
        start = stop - extent.length
        while start < borders[turn]:
            turn -= 1
        is_reply = replies[turn]
        after[is_reply] -= extent.length
        yield ways[is_reply], after[is_reply], told.data[start:stop]
        stop = start


_Key = tuple[str, int, str, int]
_NOTHING: tuple[Event, ...] = ()


class Reassembler:
    """Puts the segments of all connections of a capture in order."""

    def __init__(self, limits: TcpLimits | None = None) -> None:
        self._limits = limits or TcpLimits()
        self._halves: dict[_Key, _Half] = {}
        self._flows: dict[int, _Flow] = {}
        self._holding: dict[int, _Flow] = {}
        self._held_total = 0
        self._resets: dict[int, _Flow] = {}
        self._recent = _Recent()
        self._count = 0
        self._now = 0

    def feed(self, item: Segment) -> Iterator[Event]:
        """What this segment completes."""
        src, dst = item.src, item.dst
        half = self._halves.get((src.ip, src.port, dst.ip, dst.port))
        if half is None:
            return iter(self._begin(item))
        time_ns = item.time_ns
        if time_ns > self._now:
            self._now = time_ns
        flow = half.flow
        flow.time_ns = time_ns
        if half.calm and item.flags & _CONTROL == ACK and not item.missing:
            other = half.other
            lead = (item.ack - other.next) & _MASK
            if lead and lead <= _MAX_WINDOW and not other.seen:
                # A direction that was never captured: nothing to wait for, only to remember how far it went.
                other.acked = other.last_ack = max(other.acked, other.next + lead)
                lead = 0
            if lead == 0 or lead >= FARTHEST_AHEAD:
                size = len(item.payload.data)
                if size == 0:
                    half.seen = True
                    return iter(_NOTHING)
                start = half.next
                if (item.seq - start) & _MASK == 0 and half.seen:
                    half.next = start + size
                    half.frame = item.frame
                    chunk = StreamChunk(flow.connection, half.direction, start - half.origin, item.payload)
                    self._recent.add(chunk)
                    return iter((chunk,))
        elif flow.ignored and not item.flags & SYN:
            return iter(_NOTHING)
        return iter(self._slow(half, item))

    def feed_dialogue(self, said: Dialogue) -> Iterable[Event]:
        """The same as `feed` for each segment of a dialogue: where both ends are calm and it continues both directions at once."""
        src, dst = said.src, said.dst
        half = self._halves.get((src.ip, src.port, dst.ip, dst.port))
        if half is not None and half.calm and half.seen:
            other = half.other
            reply_seq = said.reply_seq
            if reply_seq < 0:
                # What the speaker acknowledges is the same in the whole dialogue, and nothing it acknowledges comes meanwhile.
                lead = (said.ack - other.next) & _MASK
                fits = lead == 0 or lead >= FARTHEST_AHEAD
            else:
                fits = (reply_seq - other.next) & _MASK == 0
            # What else is acknowledged was said in the dialogue, and is checked there. So each segment would take the calm road.
            if fits and other.calm and other.seen:
                flow = half.flow
                if not said.count:
                    self._tick(flow, said.time_ns)
                    return _NOTHING
                if (said.seq - half.next) & _MASK == 0:
                    self._tick(flow, said.time_ns)
                    return (self._said(flow, half, said),)
        return chain.from_iterable(map(self.feed, said))

    def _said(self, flow: _Flow, half: _Half, said: Dialogue) -> StreamChunk | StreamDialogue:
        """Delivers a dialogue that fits."""
        other = half.other
        offset, size = half.next - half.origin, len(said.payload)
        told: StreamChunk | StreamDialogue
        if len(said.replies) == 1:
            told = StreamChunk(flow.connection, half.direction, offset, said.payload)
        else:
            borders, reply_offset, replied = said.borders, other.next - other.origin, 0
            if said.reply_seq >= 0:
                replied = sum([borders[at + 1] - borders[at] for at, is_reply in enumerate(said.replies) if is_reply])
                size -= replied
                other.next += replied
                other.frame = said.reply_frame
            told = StreamDialogue(
                flow.connection, half.direction, offset, reply_offset, said.payload, borders, said.replies, replied
            )
        half.next += size
        half.frame = said.frame
        self._recent.add(told, said.count)
        return told

    def _tick(self, flow: _Flow, time_ns: int) -> None:
        flow.time_ns = time_ns
        if time_ns > self._now:
            self._now = time_ns

    def finish(self) -> Iterator[Event]:
        """What the end of the capture completes."""
        for flow in list(self._flows.values()):
            out: list[Event] = []
            self._close(flow, "end", out)
            yield from out
        self._halves.clear()
        self._flows.clear()

    def ignore(self, connection: Connection) -> None:
        """Nothing more is wanted of this connection: its state goes, and no event of it will come, not even its end.

        A later connection on the same ports is another one.
        """
        flow = self._flows.get(connection.number)
        if flow is not None and not flow.ignored:
            flow.ignored = True
            self._drop_state(flow)

    # Beginning

    def _begin(self, item: Segment) -> list[Event]:
        if item.time_ns > self._now:
            self._now = item.time_ns
        # Without data and without SYN there is nothing to put in order, and nothing to remember.
        if item.flags & RST or not (item.flags & SYN or len(item.payload) or item.missing):
            return []
        out: list[Event] = []
        self._end_resets(out)
        self._make_room(out)
        src, dst = item.src, item.dst
        known = bool(item.flags & SYN)
        a, b = (dst, src) if known and item.flags & ACK else (src, dst)
        flow = self._new_flow(a, b, known)
        flow.time_ns = item.time_ns
        half = self._halves[(src.ip, src.port, dst.ip, dst.port)]
        if known:
            self._take(half, item, out)
            self._settle(flow, out)
        else:
            flow.opening = [item]
        return out

    def _new_flow(self, a: Endpoint, b: Endpoint, known: bool) -> _Flow:
        keys = ((a.ip, a.port, b.ip, b.port), (b.ip, b.port, a.ip, a.port))
        flow = _Flow(Connection(self._count, a, b, known), keys)
        self._count += 1
        self._flows[flow.connection.number] = flow
        self._halves[keys[0]], self._halves[keys[1]] = flow.halves
        return flow

    def _open(self, flow: _Flow, out: list[Event]) -> None:
        """Ends the opening: the directions start where their first data lies, then the kept segments are taken in."""
        kept, flow.opening = flow.opening or [], None
        for half in flow.halves:
            sender = flow.connection.sender(half.direction)
            if half.started:
                continue
            sent = [
                item.seq
                for item in kept
                if item.src == sender and (len(item.payload) or item.missing) and not _like_keep_alive(item)
            ]
            acked = [item.ack for item in kept if item.src != sender and item.flags & ACK]
            if half.other.isn is not None and acked:
                # The other end's first acknowledgements tell where this direction begins, though its SYN was not seen.
                half.start_at(_lowest(sent + acked))
            elif sent:
                half.start_at(_lowest(sent))
            elif acked:
                half.start_at(_highest(acked))
        for item in kept:
            self._take(flow.halves[item.src != flow.connection.a], item, out)
        self._settle(flow, out)

    # The slow road

    def _slow(self, half: _Half, item: Segment) -> list[Event]:
        flow = half.flow
        out: list[Event] = []
        if item.flags & SYN and not item.flags & RST and self._is_another(half, item):
            self._close(flow, "reused", out)
            self._forget(flow)
            out.extend(self._begin(item))
            return out
        if flow.ignored:
            return out
        if flow.closed:
            self._note_late(half, item, out)
            return out
        if flow.opening is not None:
            if item.flags & SYN:
                self._open_with_syn(flow, item, out)
                return out
            flow.opening.append(item)
            waited = item.time_ns - flow.opening[0].time_ns
            if (
                item.flags & (FIN | RST)
                or len(flow.opening) >= self._limits.opening_segments
                or waited > self._limits.opening_ns
            ):
                self._open(flow, out)
            return out
        if _is_stray(half, item):
            flow.strays.append(item)
            half.calm = half.other.calm = False
            if len(flow.strays) == _MAX_STRAYS:
                strays, flow.strays = flow.strays, []
                self._close(flow, "reused", out)
                self._forget(flow)
                for stray in strays:
                    out.extend(self.feed(stray))
            return out
        if flow.closed:
            self._note_late(half, item, out)
            return out
        if flow.strays:
            self._say_strays(flow, out)
        if not half.started and not item.flags & (SYN | RST) and (len(item.payload) or item.missing):
            # Only the other end's SYN was seen so far: this one's may come late in the file.
            flow.opening = [item]
            return out
        self._take(half, item, out)
        self._settle(flow, out)
        return out

    def _say_strays(self, flow: _Flow, out: list[Event]) -> None:
        frames = tuple(stray.frame for stray in flow.strays)
        text = "numbers far outside of what this connection could send; ignored"
        self._say(flow.halves[flow.strays[0].src != flow.connection.a], "malformed", frames, text, out)
        flow.strays = []

    def _open_with_syn(self, flow: _Flow, syn: Segment, out: list[Event]) -> None:
        """A SYN that comes late in the file says where its direction begins, so it goes first."""
        connection = flow.connection
        a = connection.a
        if not connection.initiator_known:
            a, b = (syn.dst, syn.src) if syn.flags & ACK else (syn.src, syn.dst)
            if a != connection.a:
                flow.halves = (flow.halves[1], flow.halves[0])
                flow.halves[0].direction, flow.halves[1].direction = 0, 1
            flow.connection = Connection(connection.number, a, b, True)
        self._take(flow.halves[syn.src != a], syn, out)
        if all(flow.halves[item.src != a].started for item in flow.opening or ()):
            self._open(flow, out)

    def _is_another(self, half: _Half, syn: Segment) -> bool:
        """Whether a SYN on known ports opens another connection, rather than being sent or seen again."""
        flow = half.flow
        if flow.opening is not None and half.isn is None:
            # Late in the file only where its first byte lies just before what was kept.
            kept = [item.seq for item in flow.opening if item.src == syn.src]
            return bool(kept) and all((seq - syn.seq - 1) & _MASK > 0xFFFF for seq in kept)
        if half.isn == syn.seq:
            # The same again. After the end: a refused client tries again with the same number.
            return flow.reset and not flow.told
        if half.isn is not None or flow.closed:
            return True
        if not half.started:
            # The answer to a SYN (which may have brought data), or a SYN that crossed ours.
            other = half.other
            reach = max(other.next, other.held[-1].stop if other.held else 0) - other.origin
            answers = (syn.ack - other.origin) & _MASK <= reach
            return flow.ignored or (not answers if syn.flags & ACK else other.next != other.origin)
        back = (half.origin - syn.seq - 1) & _MASK
        return back != 0 and (back > 0xFFFF or half.next != half.origin or flow.ignored)

    def _take(self, half: _Half, item: Segment, out: list[Event]) -> None:
        """Puts what a segment holds among the entries of its direction."""
        flow, other = half.flow, half.other
        if flow.closed:
            return
        flow.count += 1
        half.seen = True
        seq, flags, need = item.seq, item.flags, 0
        if flags & SYN:
            seq = (seq + 1) & _MASK
            if not half.started:
                half.start_at(seq)
            elif half.isn is None and half.next == half.origin:
                half.next = half.origin = half.origin - ((half.origin - seq) & _MASK & 0xFFFF)
            half.isn = item.seq
        if flags & RST:
            self._take_reset(half, item)
            return
        if flags & ACK:
            if not other.started:
                other.start_at(item.ack)
            lead = (item.ack - other.next) & _MASK
            if 0 < lead <= _MAX_WINDOW:
                need = other.next + lead
                other.acked = max(other.acked, need)
            # An older segment that comes late in the file says nothing of what was acknowledged since.
            reach = half.held[-1].stop if half.held else half.next
            if not half.started or half.position(seq) + len(item.payload) >= reach:
                other.last_ack = max(other.next, need)
        size = len(item.payload)
        if not (size or item.missing or flags & FIN):
            return
        if half.closed:
            self._note_late(half, item, out)
            return
        keep_alive = _like_keep_alive(item)
        if not half.started:
            half.start_at(seq + keep_alive)
        start = half.position(seq)
        if keep_alive and start != half.next and start + 1 == max(half.next, half.acked):
            return
        if half.ghost and start < half.next:
            half.ghost = False
            half.next -= 1
        if start < half.next == half.origin and half.isn is None and half.next - start <= 0xFFFF:
            half.origin = half.next = start
        stop = start + size
        if size:
            if start < half.next:
                self._compare_delivered(half, start, item, out)
            if stop > half.next:
                data = item.payload if start >= half.next else item.payload[half.next - start :]
                self._place(half, _Held(max(start, half.next), stop, _DATA, data, need, item.frame), out)
        if item.missing:
            start, stop = max(stop, half.next), stop + item.missing
            if stop > start:
                self._place(half, _Held(start, stop, _CUT, None, 0, item.frame), out)
        if flags & FIN and stop >= half.next:
            self._place(half, _Held(stop, stop + 1, _FIN, None, need, item.frame), out)

    def _take_reset(self, half: _Half, item: Segment) -> None:
        flow = half.flow
        if not half.started:
            flow.reset = True
            return
        position = half.position(item.seq)
        # RFC 5961 section 3.2: a reset counts where it continues its direction exactly (here: or just behind bytes that may
        # still come). An older number is a late answer or a forgery.
        if half.next - half.closed <= position <= half.next + _MAX_WINDOW:
            flow.reset = True
            self._resets[flow.connection.number] = flow

    def _place(self, half: _Half, new: _Held, out: list[Event]) -> None:
        """Puts an entry among those held. Where bytes are already held they stay; cut-off bytes give way to data."""
        held = half.held
        if not held or new.start >= held[-1].stop:
            held.append(new)
            self._spend(half, new.cost)
            return
        first = bisect_right(held, new.start, key=_stop_of)
        pieces: list[_Held] = []
        at, last = new.start, first
        while last < len(held) and held[last].start < new.stop:
            old = held[last]
            if at < old.start:
                pieces.append(new.part(at, old.start))
            low, high = max(at, old.start), min(new.stop, old.stop)
            if old.kind == _CUT and new.kind == _DATA:
                if old.start < low:
                    pieces.append(old.part(old.start, low))
                pieces.append(new.part(low, high))
                if high < old.stop:
                    pieces.append(old.part(high, old.stop))
            else:
                if old.data is not None and new.data is not None:
                    self._compare(
                        half,
                        low,
                        old.data.data[low - old.start : high - old.start],
                        new.data.data[low - new.start : high - new.start],
                        (old.frame, new.frame),
                        out,
                    )
                pieces.append(old)
            at = high
            last += 1
        if at < new.stop:
            pieces.append(new.part(at, new.stop))
        self._spend(half, sum(piece.cost for piece in pieces) - sum(old.cost for old in held[first:last]))
        held[first:last] = pieces

    def _spend(self, half: _Half, cost: int) -> None:
        half.cost += cost
        self._held_total += cost

    # Two versions of the same bytes

    def _compare_delivered(self, half: _Half, start: int, item: Segment, out: list[Event]) -> None:
        connection, direction = half.flow.connection, half.direction
        offset = start - half.origin
        stop = min(offset + len(item.payload), half.next - half.origin)
        for begin, data in self._recent.of(connection, direction):
            low, high = max(offset, begin), min(stop, begin + len(data))
            if low < high:
                first = data.data[low - begin : high - begin]
                again = item.payload.data[low - offset : high - offset]
                if first != again:
                    frames = (*data[low - begin : high - begin].frames[:1], item.frame)
                    self._compare(half, low + half.origin, first, again, frames, out)
                if low == offset:
                    return

    def _compare(
        self, half: _Half, start: int, first: bytes, again: bytes, frames: tuple[int, ...], out: list[Event]
    ) -> None:
        if first == again or len(half.conflicts) > _MAX_CONFLICTS:
            return
        differing = [at for at, (one, two) in enumerate(zip(first, again, strict=True)) if one != two]
        low, high = start + differing[0] - half.origin, start + differing[-1] + 1 - half.origin
        if any(begin <= low and high <= end for begin, end in half.conflicts):
            return
        half.conflicts.append((low, high))
        if len(half.conflicts) > _MAX_CONFLICTS:
            self._say(half, "limit", frames, "more than enough disagreements; no more are reported for it", out)
            return
        self._say(
            half, "conflict", frames, f"two versions of bytes {low} to {high - 1}; the first captured one was kept", out
        )

    def _say(self, half: _Half, kind: ProblemKind, frames: tuple[int, ...], text: str, out: list[Event]) -> None:
        connection, direction = half.flow.connection, half.direction
        where = f"stream {connection.sender(direction)} to {connection.sender(0 if direction else 1)}"
        out.append(Problem(kind, "tcp", tuple(sorted(set(frames))), f"{where}: {text}"))

    # Letting go

    def _settle(self, flow: _Flow, out: list[Event], force: str | None = None, target: int = -1) -> None:
        """Delivers what may leave, gives up what will not come; with `force` everything, until no more than `target` is held."""
        if force is not None:
            for each in flow.halves:
                each.acked = min(each.acked, each.last_ack)
        while not flow.closed:
            forced = force if force is not None and flow.cost > target else None
            half = self._ready(flow, forced is not None)
            if half is not None:
                self._deliver(half, out)
            elif not self._pass_over(flow, forced, out):
                break
            if flow.halves[0].closed and flow.halves[1].closed and not flow.closing:
                self._close(flow, "fin", out)
        if flow.closed or flow.closing:
            return
        first, second = flow.halves
        waiting = bool(first.held or second.held)
        calm = not waiting and first.started and second.started
        awaited = any(half.seen and half.acked > half.next and not half.closed for half in flow.halves)
        for half in flow.halves:
            half.calm = calm and not awaited and not half.closed and not half.ghost
        if not waiting:
            self._holding.pop(flow.connection.number, None)
        else:
            self._holding[flow.connection.number] = flow
            if force is None:
                self._check_limits(flow, out)

    def _check_limits(self, flow: _Flow, out: list[Event]) -> None:
        for half in flow.halves:
            if half.cost > self._limits.held_stream:
                text = f"more than {self._limits.held_stream} bytes of memory held behind a hole; not waiting longer"
                self._say(half, "limit", (half.held[0].frame,), text, out)
                self._settle(flow, out, _TOO_MUCH, self._limits.held_stream // 2)
                return
        if self._held_total > self._limits.held_total:
            text = f"more than {self._limits.held_total} bytes of memory held behind holes of all connections"
            out.append(Problem("limit", "tcp", (), f"{text}; the oldest wait no longer"))
            for oldest in list(self._holding.values()):
                self._settle(oldest, out, _TOO_MUCH)
                if self._held_total <= self._limits.held_total // 2:
                    break

    def _ready(self, flow: _Flow, forced: bool) -> _Half | None:
        """The half whose first entry may leave now; of two, the one that comes first in the file."""
        best: _Half | None = None
        blocked = 0
        for half in flow.halves:
            if not half.held or half.held[0].start != half.next:
                continue
            entry = half.held[0]
            if entry.kind == _CUT:
                free = forced or len(half.held) > 1 or half.acked > entry.start
            else:
                other = half.other
                free = not other.next < entry.need <= other.acked or other.closed or not other.seen
                blocked += not free
            if free and (best is None or entry.frame < best.held[0].frame):
                best = half
        if blocked == 2:
            # Each acknowledges the other: one was sent again, with a newer acknowledgement than it had the first time.
            best = max(flow.halves, key=lambda half: half.held[0].frame)
        return best

    def _deliver(self, half: _Half, out: list[Event]) -> None:
        entry = half.held.pop(0)
        self._spend(half, -entry.cost)
        connection, direction = half.flow.connection, half.direction
        if entry.kind in (_DATA, _CUT) and half.ghost:
            half.ghost = False
            frames = tuple(frame for frame in (half.frame, entry.frame) if frame is not None)
            half.flow.gapped = True
            out.append(Gap(connection, direction, half.next - 1 - half.origin, 1, frames, _ACKED))
        offset = half.next - half.origin
        half.next = entry.stop
        if entry.kind == _DATA:
            assert entry.data is not None
            half.frame = entry.frame
            chunk = StreamChunk(connection, direction, offset, entry.data)
            self._recent.add(chunk)
            out.append(chunk)
        elif entry.kind == _CUT:
            frames = (entry.frame, *(after.frame for after in half.held[:1]))
            half.flow.gapped = True
            out.append(Gap(connection, direction, offset, entry.stop - entry.start, frames, _SNAPPED))
        else:
            half.closed = True
            beyond = [after for after in half.held if after.kind == _DATA]
            if beyond:
                self._say(half, "malformed", (entry.frame, beyond[0].frame), "data behind its end was ignored", out)
            self._drop_held(half)

    def _pass_over(self, flow: _Flow, forced: str | None, out: list[Event]) -> bool:
        """Gives up one hole whose time has come; False where there is none."""
        for half in sorted(flow.halves, key=lambda half: half.held[0].frame if half.held else 1 << 62):
            end = half.held[0].start if half.held else half.acked
            if end <= half.next or half.closed:
                continue
            if forced is not None:
                reason = _ACKED if half.acked >= end else forced
                if not half.seen:
                    reason = _UNSEEN
            else:
                given_up = self._given_up(half, end)
                if given_up is None:
                    continue
                reason = given_up
                end = min(end, half.wait_to)
            if end - half.next == 1 and not half.held:
                half.ghost = True
            else:
                around = (half.frame, half.held[0].frame if half.held else None)
                frames = tuple(frame for frame in around if frame is not None)
                offset = half.next - half.origin
                flow.gapped = True
                out.append(Gap(flow.connection, half.direction, offset, end - half.next, frames, reason))
            half.next = end
            return True
        return False

    def _given_up(self, half: _Half, end: int) -> str | None:
        """Why the hole up to `end` is no longer waited for, None while it is."""
        limits = self._limits
        if not half.seen:
            return None
        if half.acked >= end:
            reason = _ACKED
        elif half.flow.reset:
            reason = _BEFORE_RESET
        elif not half.other.seen:
            reason = _LONE
        else:
            half.wait_to = 0
            return None
        if half.wait_to <= half.next:
            half.wait_to, half.wait_count, half.wait_since = end, half.flow.count, self._now
            return None
        age = self._now - half.wait_since
        if reason is _LONE:
            return reason if age >= limits.lone_ns else None
        enough = half.flow.count - half.wait_count >= limits.patience_segments and age >= limits.patience_ns
        if not enough and age < limits.patience_long_ns:
            return None
        if reason is _ACKED and half.last_ack < min(end, half.wait_to):
            half.acked, half.wait_to = half.last_ack, 0
            return None
        return reason

    # Ending

    def _close(self, flow: _Flow, reason: CloseReason, out: list[Event]) -> None:
        """Says everything that is left of a connection, then its end."""
        if flow.closed or flow.ignored or flow.closing:
            return
        if flow.opening is not None:
            self._open(flow, out)
            if flow.closed:
                return
        flow.closing = True
        if flow.strays:
            self._say_strays(flow, out)
        self._settle(flow, out, _AT_CLOSE[reason])
        if flow.halves[0].closed and flow.halves[1].closed:
            reason = "fin"
        elif flow.reset:
            reason = "rst"
        flow.closed = True
        self._drop_state(flow)
        if flow.told:
            out.append(StreamClosed(flow.connection, reason))

    def _end_resets(self, out: list[Event]) -> None:
        """Ends a few of the connections that fell silent after a reset; called for each new one, so it keeps pace."""
        for flow in list(islice(self._resets.values(), 4)):
            del self._resets[flow.connection.number]
            if self._now - flow.time_ns >= self._limits.reset_ns:
                self._close(flow, "rst", out)
            else:
                self._resets[flow.connection.number] = flow

    def _note_late(self, half: _Half, item: Segment, out: list[Event]) -> None:
        if len(item.payload) and not half.flow.late_told and half.position(item.seq) >= half.next and half.started:
            half.flow.late_told = True
            self._say(half, "note", (item.frame,), "data after the end of this stream was ignored", out)

    def _drop_state(self, flow: _Flow) -> None:
        flow.opening = None
        self._holding.pop(flow.connection.number, None)
        self._resets.pop(flow.connection.number, None)
        for half in flow.halves:
            half.calm = False
            half.conflicts = []
            self._drop_held(half)

    def _drop_held(self, half: _Half) -> None:
        self._spend(half, -half.cost)
        half.held = []

    def _forget(self, flow: _Flow) -> None:
        self._drop_state(flow)
        del self._flows[flow.connection.number]
        for key in flow.keys:
            # An end that sends to itself has the same key in both directions.
            self._halves.pop(key, None)

    def _make_room(self, out: list[Event]) -> None:
        """Keeps the number of connections in bounds: an eighth goes at once, the least missed first."""
        limits = self._limits
        if len(self._flows) < limits.max_connections:
            return

        def missed(flow: _Flow) -> tuple[int, int]:
            wanted = not (flow.closed or flow.reset or flow.ignored) and (
                flow.told or flow.cost > 0 or flow.opening is not None
            )
            return (2 if wanted else 1 if flow.ignored else 0, flow.time_ns)

        dropped = 0
        for flow in sorted(self._flows.values(), key=missed)[: max(1, limits.max_connections // 8)]:
            idle = self._now - flow.time_ns >= limits.idle_ns
            if missed(flow)[0] == 2 and not idle:
                dropped += 1
            self._close(flow, "idle" if idle else "limit", out)
            self._forget(flow)
        if dropped:
            text = f"more than {limits.max_connections} connections at once; {dropped} that were silent longest were dropped"
            out.append(Problem("limit", "tcp", (), text))


def _before(one: int, two: int) -> bool:
    """Whether sequence number `one` lies before `two` (RFC 1982 serial arithmetic)."""
    return (one - two) & _MASK > 0x7FFFFFFF


def _lowest(numbers: list[int]) -> int:
    lowest = numbers[0]
    for number in numbers:
        lowest = number if _before(number, lowest) else lowest
    return lowest


def _highest(numbers: list[int]) -> int:
    highest = numbers[0]
    for number in numbers:
        highest = number if _before(highest, number) else highest
    return highest


def _is_stray(half: _Half, item: Segment) -> bool:
    """Whether both numbers of a data segment are far from where its connection stands."""
    if not (len(item.payload) and half.started and half.other.started and item.flags & ACK) or item.flags & (SYN | RST):
        return False
    return all(
        _STRAY < (number - place.next) & _MASK < (1 << 32) - _STRAY
        for number, place in ((item.seq, half), (item.ack, half.other))
    )


def _like_keep_alive(item: Segment) -> bool:
    """A lone byte nobody pushed (RFC 9293 section 3.8.4): where it repeats the last position, its value means nothing."""
    return len(item.payload) == 1 and not item.missing and not item.flags & (PSH | SYN | FIN)
