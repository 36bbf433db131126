"""Orders the bytes of each TCP direction: places segments among the entries that wait, and delivers entries whose turn has come.

A direction holds entries sorted by position: data, data with a wrong checksum, what a snapshot length cut off, FIN. The first entry
leaves when it continues its direction and the other direction has delivered everything it acknowledges (`need`). So a response
never overtakes its request, whatever the order in the file.

When is a hole a gap? A packet lost on the network is not acknowledged, and is sent again: we wait, without looking at the clock. A
hole that the peer has acknowledged was received, and only the capture missed it, or put it a little later: we wait a few segments
and milliseconds more (`patience_*`), then emit `Gap`. Where the peer was never captured nothing is known of acknowledgements, and
we wait longer than a retransmission takes (`lone_ns`). What is missing of a frame (a snapshot length cut it off) is given up where
it is acknowledged, or when something behind it is seen. If the IP length is wrong, later segments have the bytes. Too much held,
the end of the connection or of the capture end all waiting. Acknowledged bytes may also lie behind everything captured: such a hole
ends at the acknowledgement. If it is one byte, it is a FIN that was not captured until later data shows otherwise (PRESUMED_FIN).
An acknowledgement that the peer's later segments do not repeat was wrong, and is withdrawn instead: with the next data of the peer
(`acked_from`), or when the hole would be given up (`last_ack`).

Two versions of the same bytes: the first captured one stays, the disagreement is a `conflict`, compared as long as the first
version is at hand. Data with a wrong checksum waits until it is acknowledged, and gives way to data with a right one. Whoever adds
a kind of entry must look at `_place`, `_ready` and `_deliver`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from operator import attrgetter

from msgspec import Struct

from analyzer.core.events import Conflict, Event, Problem, ProblemKind
from analyzer.core.limits import Limits
from analyzer.core.tcpip_encoding import ACK, FIN, PSH, RST, SYN
from analyzer.core.times import earliest
from analyzer.core.traced_bytes import TracedBytes
from analyzer.transport.packet.segment import Segment
from analyzer.transport.tcp.stream_events import Connection, Direction, Gap, StreamBatch
from analyzer.transport.tcp.tcp_states import (
    CUT,
    DATA,
    DOUBTED,
    FINISH,
    FINISHED,
    IN_SEQUENCE,
    MASK,
    PRESUMED_FIN,
    UNKNOWN,
    WAITING,
    CloseReason,
    Flow,
    FlowState,
    Half,
    HeldEntry,
    TcpTimeouts,
)

# RFC 7323 section 2.3.
MAX_WINDOW = 1 << 30
# The position of a segment whose direction has none yet.
_NOWHERE = 1 << 62
_FIRST = "the first captured one"
# Delivered segments kept for comparing retransmissions with them.
_stop_of = attrgetter("stop")
_RECENT = 128
# A stream with more disagreements than this states so once and compares no more.
_MAX_CONFLICTS = 32

_ACKED = "the receiver acknowledged these bytes, the capture does not have them"
_SNAPPED = "the frame is shorter than its IP packet, as with a snapshot length"
_UNSEEN = "no segment of this direction was captured"
_LONE = "not captured, and not sent again in time (the receiver's side was not captured)"
_TOO_MUCH = "not captured before too much waited for it"
BEFORE_RESET = "not captured before the connection was reset"


class _Delivered(Struct, eq=False):
    """A delivered batch of `count` TCP segments. `ranges` has the offsets of both directions, once they were needed."""

    batch: StreamBatch
    count: int
    ranges: tuple[tuple[int, int], tuple[int, int]] | None = None

    def has(self, direction: Direction, start: int, stop: int) -> bool:
        """Whether this batch delivered, in order, any bytes of a TCP direction between the offsets `start` and `stop`."""
        if self.ranges is None:
            batch = self.batch
            replied = batch.replied
            sent = (batch.offset, batch.offset + len(batch.data) - replied)
            answered = (batch.reply_offset, batch.reply_offset + replied)
            self.ranges = (answered, sent) if batch.direction else (sent, answered)
        first, last = self.ranges[direction]
        return first < stop and start < last


class Recent:
    """The TCP segments delivered last, in batches. Retransmissions are compared with them."""

    __slots__ = ("_batches", "_count")

    def __init__(self) -> None:
        self._batches: deque[_Delivered] = deque()
        self._count = 0

    def add(self, batch: StreamBatch, count: int = 1) -> None:
        self._batches.append(_Delivered(batch, count))
        self._count += count
        while self._count - self._batches[0].count >= _RECENT:
            self._count -= self._batches.popleft().count

    def deliveries_of(
        self, connection: Connection, direction: Direction, start: int, stop: int
    ) -> Iterator[tuple[int, TracedBytes]]:
        """Yields offset and data of a direction's TCP segments that were delivered in order, the last one first, from batches with
        bytes between `start` and `stop`."""
        left = _RECENT
        for delivered in reversed(self._batches):
            if delivered.batch.connection is connection and delivered.has(direction, start, stop):
                for way, offset, data in _last_segments(delivered.batch, left):
                    if way == direction:
                        yield offset, data
            left -= delivered.count


def _last_segments(batch: StreamBatch, most: int) -> Iterator[tuple[Direction, int, TracedBytes]]:
    """Yields direction, offset and data of the last `most` TCP segments of a batch that was delivered in order, the last one
    first."""
    borders, replies, replied = batch.borders, batch.replies, batch.replied
    part, stop = len(replies) - 1, len(batch.data)
    after = [batch.offset + stop - replied, batch.reply_offset + replied]
    ways = batch.ways
    for extent in batch.data.last_extents(most):
        start = stop - extent.length
        while start < borders[part]:
            part -= 1
        is_reply = replies[part]
        after[is_reply] -= extent.length
        yield ways[is_reply], after[is_reply], batch.data[start:stop]
        stop = start


class Ordering:
    """Orders the TCP segments of all connections. `close` closes a connection whose two directions have ended."""

    def __init__(
        self, limits: Limits, timeouts: TcpTimeouts, close: Callable[[Flow, CloseReason, list[Event]], None]
    ) -> None:
        self._limits = limits
        self._timeouts = timeouts
        self._close = close
        self._holding: dict[int, Flow] = {}
        self._held_total = 0
        # Connections that were reset, the one silent longest first.
        self.resets: dict[int, Flow] = {}
        self.recent = Recent()
        # The latest time of the capture so far.
        self.now = 0

    def take_segment(self, half: Half, item: Segment, out: list[Event]) -> None:
        """Places the data, SYN, FIN or RST of a TCP segment in its direction, among the entries that wait."""
        flow = half.flow
        if flow.state is FlowState.CLOSED:
            return
        flow.count += 1
        half.seen = True
        seq, flags, need = item.seq, item.flags, 0
        if flags & SYN:
            seq = (seq + 1) & MASK
            if half.state is UNKNOWN:
                half.start_at(seq)
            elif half.isn is None and half.next == half.origin:
                half.next = half.origin = half.origin - ((half.origin - seq) & MASK & 0xFFFF)
            half.isn = item.seq
        if flags & RST:
            if not item.is_doubted:
                self._take_reset(half, item)
            return
        if flags & ACK:
            need = self._take_ack(half, item, seq)
        size = len(item.payload)
        if not (size or item.missing or flags & FIN):
            return
        keep_alive = like_keep_alive(item)
        if half.state is FINISHED:
            if not size or keep_alive or half.position(seq) != half.next - 1:
                self.note_late(half, item, out)
                return
            # Nobody sends data where it sent a FIN: one of both is forged, and a FIN hides more than data adds.
            self.report(
                half, "conflict", (item.frame,), "data in the place of the end of this stream, which went on", out
            )
            half.state, half.next = WAITING, half.next - 1
        if half.state is UNKNOWN:
            half.start_at(seq + keep_alive)
        start = half.position(seq)
        if keep_alive and start != half.next and start + 1 == max(half.next, half.acked):
            return
        if half.state is PRESUMED_FIN and start < half.next:
            half.state = WAITING
            half.next -= 1
        if start < half.next == half.origin and half.isn is None and half.next - start <= 0xFFFF:
            half.origin = half.next = start
        stop = start + size
        if size:
            if start < half.next:
                self._compare_delivered(half, start, item, out)
            if stop > half.next:
                data = item.payload if start >= half.next else item.payload[half.next - start :]
                kind = DOUBTED if item.is_doubted else DATA
                self._place(half, HeldEntry(max(start, half.next), stop, kind, data, need, item.frame), out)
        if item.missing:
            start, stop = max(stop, half.next), stop + item.missing
            if stop > start:
                self._place(half, HeldEntry(start, stop, CUT, None, 0, item.frame), out)
        if flags & FIN and stop >= half.next:
            self._place(half, HeldEntry(stop, stop + 1, FINISH, None, need, item.frame), out)

    @staticmethod
    def _take_ack(half: Half, item: Segment, seq: int) -> int:
        """Takes the acknowledgement of a segment in order; returns the position up to which it newly acknowledges the other
        direction, 0 if nothing is new."""
        other, need = half.other, 0
        if other.state is UNKNOWN:
            other.start_at(item.ack)
        lead, size = (item.ack - other.next) & MASK, len(item.payload)
        if lead and other.frame is None:
            other.handshake_ack = item.ack
        at = half.position(seq) if half.state is not UNKNOWN else _NOWHERE
        if 0 < lead <= MAX_WINDOW:
            need = other.next + lead
            if need > other.acked:
                other.acked, other.acked_from = need, at + size
        # An older segment that comes late in the file shows nothing of what was acknowledged since.
        reach = half.held[-1].stop if half.held else half.next
        if at + size >= reach:
            other.last_ack = max(other.next, need)
            if size and at >= other.acked_from and other.last_ack < other.acked:
                other.acked, other.wait_to = other.last_ack, 0
        return need

    def _take_reset(self, half: Half, item: Segment) -> None:
        flow = half.flow
        if half.state is UNKNOWN:
            flow.was_reset = True
            return
        position = half.position(item.seq)
        # RFC 5961 section 3.2: a reset counts where it continues its direction exactly (here: or just behind bytes that may
        # still come). An older number is a late answer or a forgery.
        if half.next - (half.state is FINISHED) <= position <= half.next + MAX_WINDOW:
            flow.was_reset = True
            self.resets[flow.connection.number] = flow

    def _place(self, half: Half, new: HeldEntry, out: list[Event]) -> None:
        """Places an entry of TCP data among those held. Bytes already held stay, but data replaces doubted and cut-off bytes."""
        held = half.held
        if not held or new.start >= held[-1].stop:
            held.append(new)
            self._spend(half, new.cost)
            return
        first = bisect_right(held, new.start, key=_stop_of)
        pieces: list[HeldEntry] = []
        at, last = new.start, first
        while last < len(held) and held[last].start < new.stop:
            old = held[last]
            if at < old.start:
                pieces.append(new.part(at, old.start))
            low, high = max(at, old.start), min(new.stop, old.stop)
            is_better = old.kind < new.kind != FINISH
            if old.data is not None and new.data is not None:
                versions = old.data[low - old.start : high - old.start], new.data[low - new.start : high - new.start]
                used, other = reversed(versions) if is_better else versions
                kept = "the one with a right checksum" if is_better else _FIRST
                self._compare(half, low, used, other.data, (old.frame, new.frame), out, kept)
            if is_better:
                if old.start < low:
                    pieces.append(old.part(old.start, low))
                pieces.append(new.part(low, high))
                if high < old.stop:
                    pieces.append(old.part(high, old.stop))
            else:
                pieces.append(old)
            at = high
            last += 1
        if at < new.stop:
            pieces.append(new.part(at, new.stop))
        self._spend(half, sum(piece.cost for piece in pieces) - sum(old.cost for old in held[first:last]))
        held[first:last] = pieces

    def _spend(self, half: Half, cost: int) -> None:
        half.cost += cost
        self._held_total += cost

    # Two versions of the same bytes

    def _compare_delivered(self, half: Half, start: int, item: Segment, out: list[Event]) -> None:
        connection, direction = half.flow.connection, half.direction
        offset = start - half.origin
        stop = min(offset + len(item.payload), half.next - half.origin)
        for begin, data in self.recent.deliveries_of(connection, direction, offset, stop):
            low, high = max(offset, begin), min(stop, begin + len(data))
            if low < high:
                first = data[low - begin : high - begin]
                again = item.payload.data[low - offset : high - offset]
                if first.data != again:
                    self._compare(half, low + half.origin, first, again, (*data.frames, item.frame), out)
                if low == offset:
                    return

    def _compare(
        self,
        half: Half,
        start: int,
        first: TracedBytes,
        again: bytes,
        frames: tuple[int, ...],
        out: list[Event],
        kept: str = _FIRST,
    ) -> None:
        if first.data == again or len(half.conflicts) > _MAX_CONFLICTS:
            return
        differing = [at for at, (one, two) in enumerate(zip(first.data, again, strict=True)) if one != two]
        low, high = start + differing[0] - half.origin, start + differing[-1] + 1 - half.origin
        if any(begin <= low and high <= end for begin, end in half.conflicts):
            return
        half.conflicts.append((low, high))
        if len(half.conflicts) > _MAX_CONFLICTS:
            self.report(half, "limit", frames, "more than enough disagreements; no more are reported for it", out)
            return
        self.report(half, "conflict", frames, f"two versions of bytes {low} to {high - 1}; {kept} was kept", out)
        out.append(Conflict(first.origin(differing[0], differing[-1] + 1)))

    def report(self, half: Half, kind: ProblemKind, frames: tuple[int, ...], text: str, out: list[Event]) -> None:
        connection, direction = half.flow.connection, half.direction
        where = f"stream {connection.sender(direction)} to {connection.receiver(direction)}"
        out.append(Problem(kind, "tcp", tuple(sorted(set(frames))), f"{where}: {text}"))

    # Letting go

    def settle(self, flow: Flow, out: list[Event], force: str | None = None, target: int = -1) -> None:
        """Delivers the TCP data of a connection that may leave, and gives up holes whose time has come. With `force`, the reason
        for gaps, it continues until at most `target` bytes are held."""
        if force is not None:
            for each in flow.halves:
                each.acked = min(each.acked, each.last_ack)
        while flow.state is not FlowState.CLOSED:
            forced = force if force is not None and flow.cost > target else None
            half = self._ready(flow, forced is not None)
            if half is not None:
                self._deliver(half, out)
            elif not self._pass_over(flow, forced, out):
                break
            if flow.halves[0].state is FINISHED and flow.halves[1].state is FINISHED:
                self._close(flow, "fin", out)
        if flow.state is not FlowState.ESTABLISHED:
            return
        first, second = flow.halves
        waiting = bool(first.held or second.held)
        awaited = any(half.seen and half.acked > half.next and half.state is not FINISHED for half in flow.halves)
        known = first.state is not UNKNOWN and second.state is not UNKNOWN
        state = IN_SEQUENCE if known and not waiting and not awaited else WAITING
        for half in flow.halves:
            if half.state is IN_SEQUENCE or half.state is WAITING:
                half.state = state
        if not waiting:
            self._holding.pop(flow.connection.number, None)
        else:
            self._holding[flow.connection.number] = flow
            if force is None:
                self._check_limits(flow, out)

    def open_since(self, since_ns: int) -> int | None:
        """Returns the earliest capture time, from `since_ns` on, of TCP data that waits behind holes."""
        held = (half.held[0].data for flow in self._holding.values() for half in flow.halves if half.held)
        return earliest((data.first_time_ns for data in held if data is not None), since_ns)

    def _check_limits(self, flow: Flow, out: list[Event]) -> None:
        for half in flow.halves:
            if half.cost > self._limits.held_stream:
                text = f"more than {self._limits.held_stream} bytes of memory held behind a hole; not waiting longer"
                self.report(half, "limit", (half.held[0].frame,), text, out)
                self.settle(flow, out, _TOO_MUCH, self._limits.held_stream // 2)
                return
        if self._held_total > self._limits.held_total:
            text = f"more than {self._limits.held_total} bytes of memory held behind holes of all connections"
            out.append(Problem("limit", "tcp", (), f"{text}; the oldest are given up"))
            for oldest in list(self._holding.values()):
                self.settle(oldest, out, _TOO_MUCH)
                if self._held_total <= self._limits.held_total // 2:
                    break

    def _ready(self, flow: Flow, forced: bool) -> Half | None:
        """Returns the TCP direction whose first entry may leave now. If both may, the entry that is first in the file decides."""
        best: Half | None = None
        blocked = 0
        for half in flow.halves:
            if not half.held or half.held[0].start != half.next:
                continue
            entry = half.held[0]
            if entry.kind == CUT:
                free = forced or len(half.held) > 1 or half.acked > entry.start
            else:
                other = half.other
                free = not other.next < entry.need <= other.acked or other.state is FINISHED or not other.seen
                blocked += not free
                if entry.kind == DOUBTED and not forced and half.acked <= entry.start:
                    free = free and len(half.held) > (self._timeouts.patience_segments if other.seen else 1)
            if free and (best is None or entry.frame < best.held[0].frame):
                best = half
        if blocked == 2:
            # Each acknowledges the other: one was sent again, with a newer acknowledgement than it had the first time.
            best = max(flow.halves, key=lambda half: half.held[0].frame)
        return best

    def _deliver(self, half: Half, out: list[Event]) -> None:
        entry = half.held.pop(0)
        if entry.kind == CUT and not half.held and entry.start < half.acked < entry.stop:
            half.held.append(entry.part(half.acked, entry.stop))
            self._spend(half, entry.cost)
            entry = entry.part(entry.start, half.acked)
        self._spend(half, -entry.cost)
        connection, direction = half.flow.connection, half.direction
        if half.state is PRESUMED_FIN and entry.kind != FINISH:
            self._was_no_fin(half, entry.frame, out)
        offset = half.next - half.origin
        half.next = entry.stop
        if entry.data is not None:
            half.frame = entry.frame
            batch = StreamBatch.of_part(connection, direction, offset, entry.data)
            self.recent.add(batch)
            out.append(batch)
        elif entry.kind == CUT:
            frames = tuple(dict.fromkeys((entry.frame, *(after.frame for after in half.held[:1]))))
            half.flow.gapped = True
            out.append(Gap(connection, direction, offset, entry.stop - entry.start, frames, _SNAPPED))
        else:
            half.state = FINISHED
            beyond = [after for after in half.held if after.data is not None]
            if beyond:
                self.report(half, "malformed", (entry.frame, beyond[0].frame), "data behind its end was ignored", out)
            self._drop_held(half)

    def _was_no_fin(self, half: Half, behind: int | None, out: list[Event]) -> None:
        """Takes back a presumed TCP FIN: more data follows, so the missing byte was data. Emits a gap of one byte."""
        half.state = WAITING
        half.flow.gapped = True
        frames = tuple(frame for frame in (half.frame, behind) if frame is not None)
        out.append(Gap(half.flow.connection, half.direction, half.next - 1 - half.origin, 1, frames, _ACKED))

    def _pass_over(self, flow: Flow, forced: str | None, out: list[Event]) -> bool:
        """Gives up one hole in a TCP direction whose time has come. Returns False if there is no such hole."""
        for half in sorted(flow.halves, key=lambda half: half.held[0].frame if half.held else 1 << 62):
            end = half.held[0].start if half.held else half.acked
            if end <= half.next or half.state is FINISHED:
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
            behind = half.held[0].frame if half.held else None
            if half.state is PRESUMED_FIN:
                self._was_no_fin(half, behind, out)
            if end - half.next == 1 and not half.held:
                half.state = PRESUMED_FIN
            else:
                frames = tuple(frame for frame in (half.frame, behind) if frame is not None)
                offset = half.next - half.origin
                flow.gapped = True
                out.append(Gap(flow.connection, half.direction, offset, end - half.next, frames, reason))
            half.next = end
            return True
        return False

    def _given_up(self, half: Half, end: int) -> str | None:
        """Returns the reason why the hole up to `end` in a TCP direction is given up, None while we still wait for it."""
        timeouts = self._timeouts
        if not half.seen:
            return None
        if half.acked >= end:
            reason = _ACKED
        elif half.flow.was_reset:
            reason = BEFORE_RESET
        elif not half.other.seen:
            reason = _LONE
        else:
            half.wait_to = 0
            return None
        if half.wait_to <= half.next:
            half.wait_to, half.wait_count, half.wait_since = end, half.flow.count, self.now
            return None
        age = self.now - half.wait_since
        if reason is _LONE:
            return reason if age >= timeouts.lone_ns else None
        enough = half.flow.count - half.wait_count >= timeouts.patience_segments and age >= timeouts.patience_ns
        if not enough and age < timeouts.patience_long_ns:
            return None
        if reason is _ACKED and half.last_ack < min(end, half.wait_to):
            half.acked, half.wait_to = half.last_ack, 0
            return None
        return reason

    def note_late(self, half: Half, item: Segment, out: list[Event]) -> None:
        if (
            len(item.payload)
            and not half.flow.late_reported
            and half.position(item.seq) + len(item.payload) > half.next
            and half.state is not UNKNOWN
        ):
            half.flow.late_reported = True
            self.report(half, "note", (item.frame,), "data after the end of this stream was ignored", out)

    def drop(self, flow: Flow) -> None:
        """Drops all held data of a TCP connection, and takes its directions out of sequence."""
        flow.first_segments = []
        self._holding.pop(flow.connection.number, None)
        self.resets.pop(flow.connection.number, None)
        for half in flow.halves:
            if half.state is IN_SEQUENCE:
                half.state = WAITING
            half.conflicts = []
            self._drop_held(half)

    def _drop_held(self, half: Half) -> None:
        self._spend(half, -half.cost)
        half.held = []


def like_keep_alive(item: Segment) -> bool:
    """Whether a TCP segment looks like a keep-alive (RFC 9293 section 3.8.4): a single byte without PSH. If it repeats the last
    position, its value means nothing."""
    return len(item.payload) == 1 and not item.missing and not item.flags & (PSH | SYN | FIN)
