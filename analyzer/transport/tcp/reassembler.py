"""Reassembles TCP: batches of segments in file order become the ordered bytes of both directions of a connection (RFC 9293).

`tcp_states` has the states of connections and directions, `stream_ordering_and_gaps` how segments are put in order and when a hole
is a gap, `protocol_recognition` which connections are ours. This module finds the connection of a segment, begins and ends it.

A batch whose segments continue both directions of a connection in sequence leaves as it came. Any other is taken segment by
segment.

A connection may begin without the SYN of a direction that has data (UNSYNCHRONIZED). Then the first few segments are kept, so that
a frame which the capture put behind a later one still finds its place. After that each direction starts at its lowest data byte (or
where the peer's acknowledgement shows that it stands), and the kept segments are taken in again in file order. Some stacks and
middle boxes send RST into a connection that lives on, so data is still taken. The end is emitted when the connection has been
silent for a while (`reset_ns`), or the ports or the memory are needed. After the end late segments are dropped; a SYN of another
connection on the same ports opens a new one, in the middle of an open one once it is answered or followed. So do a few segments in
a row whose numbers are far off in both directions (`out_of_window`): their SYN was not captured.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import ClassVar

from analyzer.core.events import Event, Problem
from analyzer.core.limits import DEFAULTS, Limits, MemoryBudget
from analyzer.core.tcpip_encoding import ACK, FIN, RST, SYN
from analyzer.core.times import earliest
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.packet.segment import FARTHEST_AHEAD, Segment, SegmentBatch
from analyzer.transport.tcp.protocol_recognition import Recognition
from analyzer.transport.tcp.stream_events import Connection, StreamBatch, StreamClosed
from analyzer.transport.tcp.stream_ordering_and_gaps import BEFORE_RESET, MAX_WINDOW, Ordering, like_keep_alive
from analyzer.transport.tcp.tcp_states import (
    FINISHED,
    IN_SEQUENCE,
    MASK,
    SEGMENT_COST,
    UNKNOWN,
    WAITING,
    CloseReason,
    Flow,
    FlowKey,
    FlowState,
    Half,
    TcpTimeouts,
)

# Farther off than this in both numbers, a segment is not of this connection: senders are a few MiB ahead at most. As many
# in a row are another connection, fewer are damaged.
_FAR_OFF = 64 << 20
_MAX_OUT_OF_WINDOW = 3
# A SYN brings no more data than a segment usually has; one is kept of a connection.
_MOST_OF_SYN = 1460
_TIMEOUTS = TcpTimeouts()

_AT_CLOSE: dict[CloseReason, str] = {
    "fin": "not captured before the connection was closed",
    "rst": BEFORE_RESET,
    "reused": "not captured before the ports were used by another connection",
    "idle": "not captured before the connection was dropped as idle",
    "limit": "not captured before the connection was dropped for want of room",
    "end": "not captured before the capture ended",
}


class Reassembler:
    """Puts the TCP segments of all connections of a capture in order; other events pass unchanged."""

    takes: ClassVar[frozenset[type[Event]]] = frozenset({SegmentBatch})

    def __init__(
        self,
        limits: Limits = DEFAULTS,
        recognition: Recognition | None = None,
        *,
        timeouts: TcpTimeouts = _TIMEOUTS,
    ) -> None:
        """`recognition` decides which TCP connections carry a protocol of ours."""
        self._limits = limits
        self._timeouts = timeouts
        self._halves: dict[FlowKey, Half] = {}
        self._flows: dict[int, Flow] = {}
        self._order = Ordering(self._limits, self._timeouts, self._close)
        self._recognition = recognition if recognition is not None else Recognition()
        self._count = 0
        # Segments that are kept until it is known where their connection begins, or whether it is another.
        self._undecided = MemoryBudget(limits.held_total)

    def feed(self, event: Event) -> Sequence[Event]:
        """Takes a batch of TCP segments; gives the stream events that it completes."""
        if not isinstance(event, SegmentBatch):
            return (event,)
        src, dst = event.src, event.dst
        half = self._halves.get((src.ip, src.port, dst.ip, dst.port))
        if half is not None and half.state is IN_SEQUENCE and _continues(half, event):
            flow = half.flow
            flow.time_ns = event.time_ns
            flow.count += event.stop - event.first
            if event.latest_ns > self._order.now:
                self._order.now = event.latest_ns
            if not event.count:
                return ()
            batch = self._deliver(half, event)
            if self._recognition.is_ours(flow.connection):
                return (batch,)
            return self._without_others([batch])
        out: list[Event] = []
        for segment in event:
            out.extend(self._without_others(self._segment(segment)))
        return out

    def open_since(self, since_ns: int) -> int | None:
        """Returns the earliest capture time, from `since_ns` on, of a TCP segment that still waits."""
        waiting = [self._flows[number] for number in self._undecided.holders if number in self._flows]
        segments = (item.time_ns for flow in waiting for item in (*flow.first_segments, *flow.out_of_window))
        return earliest((earliest(segments, since_ns), self._order.open_since(since_ns)), since_ns)

    def finish(self) -> list[Event]:
        """Closes all TCP connections at the end of the capture."""
        out: list[Event] = []
        for flow in list(self._flows.values()):
            events: list[Event] = []
            self._close(flow, "end", events)
            out.extend(self._without_others(events))
        self._halves.clear()
        self._flows.clear()
        return out

    def _deliver(self, half: Half, item: SegmentBatch) -> StreamBatch:
        """Delivers a batch of TCP segments that continues both directions, and moves their positions on."""
        other, replies = half.other, item.replies
        offset, reply_offset, size = half.next - half.origin, other.next - other.origin, item.borders[-1]
        batch = StreamBatch(
            half.flow.connection, half.direction, offset, item.payload, item.borders, replies, reply_offset
        )
        if not other.seen:
            lead = (item.ack - other.next) & MASK
            other.last_ack = other.next + (lead if lead <= MAX_WINDOW else 0)
            other.acked = max(other.acked, other.last_ack)
        if item.reply_seq >= 0:
            replied = batch.replied
            size -= replied
            other.next += replied
            other.frame = item.reply_frame
        half.next += size
        half.frame = item.frame
        self._order.recent.add(batch, item.count)
        return batch

    def _without_others(self, events: list[Event]) -> list[Event]:
        """Returns the reassembled stream events of connections of ours. Other connections are reassembled no more (IGNORED)."""
        if not events:
            return events
        out, others = self._recognition.feed(events)
        for connection in others:
            flow = self._flows.get(connection.number)
            if flow is not None:
                flow.late_reported = True
                if not flow.is_closed:
                    flow.state = FlowState.IGNORED
                self._order.drop(flow)
                self._undecided.ends(flow.connection.number)
        return out

    def _segment(self, item: Segment) -> list[Event]:
        """Takes one TCP segment: begins a connection, or passes the segment to the one that it belongs to."""
        src, dst = item.src, item.dst
        if item.time_ns > self._order.now:
            self._order.now = item.time_ns
        half = self._halves.get((src.ip, src.port, dst.ip, dst.port))
        if half is None:
            return self._begin(item)
        half.flow.time_ns = item.time_ns
        return self._out_of_sequence(half, item)

    # Beginning

    def _begin(self, item: Segment) -> list[Event]:
        if item.time_ns > self._order.now:
            self._order.now = item.time_ns
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
            self._order.take_segment(half, item, out)
            self._order.settle(flow, out)
        else:
            flow.state, flow.first_segments = FlowState.UNSYNCHRONIZED, [item]
            self._limit_undecided(flow, out)
        return out

    def _limit_undecided(self, flow: Flow, out: list[Event]) -> None:
        """Limits the memory of segments kept for undecided TCP connections: above the limit, decides the oldest of them."""
        size = sum(SEGMENT_COST + len(item.payload) for item in (*flow.first_segments, *flow.out_of_window))
        leaving = self._undecided.holds(flow.connection.number, size)
        for number in leaving:
            other = self._flows[number]
            if other.state is FlowState.UNSYNCHRONIZED:
                self._synchronize(other, out)
            elif other.out_of_window:
                self._report_out_of_window(other, out)
        if leaving:
            text = f"more than {self._undecided.most} bytes of memory held of connections of which the beginning is not known"
            out.append(Problem("limit", "tcp", (), f"{text}; {len(leaving)} silent longest are read as they are"))

    def _new_flow(self, a: Endpoint, b: Endpoint, known: bool) -> Flow:
        keys = ((a.ip, a.port, b.ip, b.port), (b.ip, b.port, a.ip, a.port))
        flow = Flow(Connection(self._count, a, b, known), keys)
        self._count += 1
        self._flows[flow.connection.number] = flow
        self._halves[keys[0]], self._halves[keys[1]] = flow.halves
        return flow

    def _synchronize(self, flow: Flow, out: list[Event]) -> None:
        """Synchronizes a TCP connection: starts each direction at its first data, then takes in the kept segments."""
        flow.state = FlowState.ESTABLISHED
        self._undecided.ends(flow.connection.number)
        kept, flow.first_segments = flow.first_segments, []
        for half in flow.halves:
            sender = flow.connection.sender(half.direction)
            if half.state is not UNKNOWN:
                continue
            sent = [
                item.seq
                for item in kept
                if item.src == sender and (len(item.payload) or item.missing) and not like_keep_alive(item)
            ]
            acked = [item.ack for item in kept if item.src != sender and item.flags & ACK]
            if half.other.isn is not None and acked:
                # The other end's first acknowledgements show where this direction begins, though its SYN was not seen.
                half.start_at(lowest(sent + acked))
            elif sent:
                half.start_at(lowest(sent))
            elif acked:
                half.start_at(highest(acked))
        for item in kept:
            self._order.take_segment(flow.halves[item.src != flow.connection.a], item, out)
        self._order.settle(flow, out)

    # Segments one by one

    def _out_of_sequence(self, half: Half, item: Segment) -> list[Event]:
        flow = half.flow
        out: list[Event] = []
        if flow.syn is not None and _goes_with(half, item, flow.syn):
            self._reuse(flow, [flow.syn, item], out)
            return out
        if item.flags & SYN and not item.flags & RST and self._is_another(half, item):
            if _may_be_forged(half, item):
                flow.syn = item
            else:
                self._reuse(flow, [item], out)
            return out
        if flow.state is FlowState.IGNORED:
            return out
        if flow.is_closed:
            self._order.note_late(half, item, out)
            return out
        if flow.state is FlowState.UNSYNCHRONIZED:
            if item.flags & SYN:
                self._synchronize_by_syn(flow, item, out)
                return out
            flow.first_segments.append(item)
            waited = item.time_ns - flow.first_segments[0].time_ns
            if (
                item.flags & (FIN | RST)
                or len(flow.first_segments) >= self._timeouts.unsynchronized_segments
                or waited > self._timeouts.unsynchronized_ns
            ):
                self._synchronize(flow, out)
            else:
                self._limit_undecided(flow, out)
            return out
        if _begins_elsewhere(half, item):
            half.start_at(item.seq)
            text = "its SYN has another number than its data and what the other end acknowledges; the data counts"
            self._order.report(half, "malformed", (item.frame,), text, out)
        if _is_out_of_window(half, item):
            flow.out_of_window.append(item)
            for each in flow.halves:
                if each.state is IN_SEQUENCE:
                    each.state = WAITING
            if len(flow.out_of_window) == _MAX_OUT_OF_WINDOW:
                others, flow.out_of_window = flow.out_of_window, []
                self._reuse(flow, others, out)
            else:
                self._limit_undecided(flow, out)
            return out
        if flow.is_closed:
            self._order.note_late(half, item, out)
            return out
        if flow.out_of_window:
            self._report_out_of_window(flow, out)
        if half.state is UNKNOWN and not item.flags & (SYN | RST) and (len(item.payload) or item.missing):
            # Only the other end's SYN was seen so far: this one's may come late in the file.
            flow.state, flow.first_segments = FlowState.UNSYNCHRONIZED, [item]
            self._limit_undecided(flow, out)
            return out
        self._order.take_segment(half, item, out)
        self._order.settle(flow, out)
        return out

    def _reuse(self, flow: Flow, others: list[Segment], out: list[Event]) -> None:
        """Closes a TCP connection, because the given segments begin another connection on the same ports."""
        flow.syn = None
        self._close(flow, "reused", out)
        self._forget(flow)
        for other in others:
            out.extend(self._segment(other))

    def _report_out_of_window(self, flow: Flow, out: list[Event]) -> None:
        frames = tuple(item.frame for item in flow.out_of_window)
        text = "numbers far outside of what this connection could send; ignored"
        self._order.report(flow.halves[flow.out_of_window[0].src != flow.connection.a], "malformed", frames, text, out)
        flow.out_of_window = []
        self._undecided.ends(flow.connection.number)

    def _synchronize_by_syn(self, flow: Flow, syn: Segment, out: list[Event]) -> None:
        """Synchronizes a TCP direction by a SYN that comes late in the file. The SYN goes first: the direction begins there."""
        connection = flow.connection
        a = connection.a
        if not connection.initiator_known:
            a, b = (syn.dst, syn.src) if syn.flags & ACK else (syn.src, syn.dst)
            if a != connection.a:
                flow.halves = (flow.halves[1], flow.halves[0])
                flow.halves[0].direction, flow.halves[1].direction = 0, 1
            flow.connection = Connection(connection.number, a, b, True)
        self._order.take_segment(flow.halves[syn.src != a], syn, out)
        if all(flow.halves[item.src != a].state is not UNKNOWN for item in flow.first_segments):
            self._synchronize(flow, out)

    def _is_another(self, half: Half, syn: Segment) -> bool:
        """Whether a TCP SYN on known ports opens another connection, and is no repeated or late SYN of this connection."""
        flow = half.flow
        if flow.state is FlowState.UNSYNCHRONIZED and half.isn is None:
            # Late in the file only where its first byte lies just before what was kept.
            kept = [item.seq for item in flow.first_segments if item.src == syn.src]
            return bool(kept) and all((seq - syn.seq - 1) & MASK > 0xFFFF for seq in kept)
        if half.isn == syn.seq:
            # A repeated SYN. After the end it is new: a refused client tries again with the same number.
            return flow.was_reset and not flow.has_events
        if half.isn is not None or flow.is_closed:
            return True
        if half.state is UNKNOWN:
            # The answer to a SYN (which may have brought data), or a SYN that crossed ours.
            other = half.other
            reach = max(other.next, other.held[-1].stop if other.held else 0) - other.origin
            answers = (syn.ack - other.origin) & MASK <= reach
            return flow.state is FlowState.IGNORED or (not answers if syn.flags & ACK else other.next != other.origin)
        back = (half.origin - syn.seq - 1) & MASK
        return back != 0 and (back > 0xFFFF or half.next != half.origin or flow.state is FlowState.IGNORED)

    # Ending

    def _close(self, flow: Flow, reason: CloseReason, out: list[Event]) -> None:
        """Closes a TCP connection: emits everything that it still holds, then `StreamClosed`."""
        if flow.state not in (FlowState.UNSYNCHRONIZED, FlowState.ESTABLISHED):
            return
        if flow.state is FlowState.UNSYNCHRONIZED:
            self._synchronize(flow, out)
            if flow.is_closed:
                return
        flow.state = FlowState.CLOSING
        if flow.out_of_window:
            self._report_out_of_window(flow, out)
        if flow.syn is not None:
            half = flow.halves[flow.syn.src != flow.connection.a]
            text = "a SYN with other numbers, which nothing answered or followed, was ignored"
            self._order.report(half, "note", (flow.syn.frame,), text, out)
        self._order.settle(flow, out, _AT_CLOSE[reason])
        if flow.halves[0].state is FINISHED and flow.halves[1].state is FINISHED:
            reason = "fin"
        elif flow.was_reset:
            reason = "rst"
        flow.state = FlowState.CLOSED
        self._order.drop(flow)
        self._undecided.ends(flow.connection.number)
        if flow.has_events:
            out.append(StreamClosed(flow.connection, reason))

    def _end_resets(self, out: list[Event]) -> None:
        """Closes a few TCP connections that are silent since a reset. Each new connection calls it, so it keeps pace."""
        for flow in list(islice(self._order.resets.values(), 4)):
            del self._order.resets[flow.connection.number]
            if self._order.now - flow.time_ns >= self._timeouts.reset_ns:
                self._close(flow, "rst", out)
            else:
                self._order.resets[flow.connection.number] = flow

    def _forget(self, flow: Flow) -> None:
        self._order.drop(flow)
        self._undecided.ends(flow.connection.number)
        if flow.state is FlowState.IGNORED:
            self._recognition.forget(flow.connection)
        del self._flows[flow.connection.number]
        for key in flow.keys:
            # An end that sends to itself has the same key in both directions.
            self._halves.pop(key, None)

    def _make_room(self, out: list[Event]) -> None:
        """Drops an eighth of the TCP connections if there are too many, the least needed first."""
        most = self._limits.connections
        if len(self._flows) < most:
            return

        def missed(flow: Flow) -> tuple[int, int]:
            wanted = (
                flow.state in (FlowState.UNSYNCHRONIZED, FlowState.ESTABLISHED)
                and not flow.was_reset
                and (flow.has_events or flow.cost > 0 or flow.state is FlowState.UNSYNCHRONIZED)
            )
            return (2 if wanted else 1 if flow.state is FlowState.IGNORED else 0, flow.time_ns)

        dropped = 0
        for flow in sorted(self._flows.values(), key=missed)[: max(1, most // 8)]:
            idle = self._order.now - flow.time_ns >= self._timeouts.idle_ns
            if missed(flow)[0] == 2 and not idle:
                dropped += 1
            self._close(flow, "idle" if idle else "limit", out)
            self._forget(flow)
        if dropped:
            text = f"more than {most} connections at once; {dropped} that were silent longest were dropped"
            out.append(Problem("limit", "tcp", (), text))


def _continues(half: Half, item: SegmentBatch) -> bool:
    """Whether reassembly may deliver a batch of segments at once: it continues both directions of a TCP connection in sequence, and
    acknowledges only delivered bytes.

    A batch of both directions also acknowledges bytes of its own. The builder of the batch has checked these.
    """
    other = half.other
    if not (item.in_sequence and half.seen and other.state is IN_SEQUENCE):
        return False
    if item.count and (item.seq - half.next) & MASK != 0:
        return False
    if item.reply_seq >= 0:
        return other.seen and (item.reply_seq - other.next) & MASK == 0
    # What the sender acknowledges is the same in the whole batch, and nothing that it acknowledges comes meanwhile.
    lead = (item.ack - other.next) & MASK
    if lead == 0 or (lead >= FARTHEST_AHEAD and other.frame is not None):
        return other.seen or item.is_one_sided
    # A direction that was never captured: nothing to wait for, only to remember how far it went.
    return lead <= MAX_WINDOW and not other.seen and item.is_one_sided


def _may_be_forged(half: Half, syn: Segment) -> bool:
    """Whether a TCP SYN, or the answer to one, may be forged on an open connection in reassembly. Its ends ignore it (RFC 9293
    section 3.10.7.4), and attackers send one to hide what follows. So the connection stays as it is until somebody answers it."""
    flow = half.flow
    if flow.state is FlowState.ESTABLISHED and half.state is UNKNOWN and half.other.isn is not None:
        # It answers another SYN than the one that was captured, or its numbers are damaged.
        return bool(syn.flags & ACK) and not flow.has_events
    is_open = flow.state is FlowState.ESTABLISHED and flow.has_events and not flow.was_reset
    is_seen = half.seen and half.other.seen and FINISHED not in (half.state, half.other.state)
    return is_open and is_seen and (bool(syn.flags & ACK) or len(syn.payload) <= _MOST_OF_SYN)


def _goes_with(half: Half, item: Segment, syn: Segment) -> bool:
    """Whether a segment confirms that a TCP SYN, or the answer to one, opened a connection. The other end answers it, or its sender
    continues behind it, where the old connection does not stand."""
    behind = (syn.seq + 1 + len(syn.payload)) & MASK
    if item.src == syn.dst and syn.flags & ACK:
        is_answer = item.flags & (SYN | ACK | RST) == ACK and item.seq == syn.ack
        # A segment of the old connection with a wrong flag is acknowledged a byte before that.
        return is_answer and item.ack in ((syn.seq + 1) & MASK, behind)
    if item.src == syn.dst:
        return item.flags & (SYN | ACK | RST) == SYN | ACK and (item.ack - syn.seq - 1) & MASK <= len(syn.payload)
    return item.seq == behind != half.next & MASK and bool(len(item.payload)) and not item.flags & (SYN | RST)


def _begins_elsewhere(half: Half, item: Segment) -> bool:
    """Whether the first data of a TCP direction shows that the number of its SYN is wrong. It stands where the other end
    acknowledged that the direction begins: before its SYN, or farther behind it than what the capture may lack."""
    if half.isn is None or half.frame is not None or half.held or half.next != half.origin:
        return False
    if not len(item.payload) or item.flags & (SYN | RST | ACK) != ACK:
        return False
    return (item.seq - half.next) & MASK > _FAR_OFF and half.handshake_ack == item.seq


def _is_out_of_window(half: Half, item: Segment) -> bool:
    """Whether both numbers (sequence, acknowledgement) of a TCP data segment are far from where reassembly of its connection
    stands."""
    if half.state is UNKNOWN or half.other.state is UNKNOWN:
        return False
    if not len(item.payload) or item.flags & (SYN | RST | ACK) != ACK:
        return False
    return all(
        _FAR_OFF < (number - place.next) & MASK < (1 << 32) - _FAR_OFF
        for number, place in ((item.seq, half), (item.ack, half.other))
    )


def is_before(one: int, two: int) -> bool:
    """Whether TCP sequence number `one` lies before `two`, where a connection begins (RFC 1982 serial arithmetic)."""
    return (one - two) & MASK > 0x7FFFFFFF


def lowest(numbers: list[int]) -> int:
    """Returns the first of the TCP sequence numbers where a connection may begin, in serial order."""
    found = numbers[0]
    for number in numbers:
        found = number if is_before(number, found) else found
    return found


def highest(numbers: list[int]) -> int:
    """Returns the last of the TCP sequence numbers where a connection may begin, in serial order."""
    found = numbers[0]
    for number in numbers:
        found = number if is_before(found, number) else found
    return found
