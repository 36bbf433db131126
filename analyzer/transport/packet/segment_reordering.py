"""Puts TCP segments of a block that came slightly late in the capture back into the order in which TCP delivers them.

A segment that overtook another on the way, or in the queue of a card, is held until that one comes (`transport/tcp`). What
continues its direction and acknowledges nothing that is not there leaves in the order of the file. All else leaves right behind
what it waited for. The two directions keep the order of the file where neither waits for the other. Where few segments wait, for
less than any hole is given up, the same order follows from their numbers alone, by arrays. Everything else stays where it is, for
`tcp` to see segment by segment.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from analyzer.core.limits import Limits
from analyzer.core.tcpip_encoding import PSH
from analyzer.transport.packet.segment_columns import SegmentColumns
from analyzer.transport.packet.tunnels import Bools, IntArray

_MASK = 0xFFFFFFFF
# What waits together: half of the segments after which a hole that was acknowledged is given up, and half of the shortest time
# that alone is enough (`tcp_states.TcpTimeouts`).
_MOST_SEGMENTS, _MOST_NS, _MOST_BYTES = 32, 1_000_000_000, 256 << 10
# What waits is a small part of what may be held, so that `tcp` would not have given up for want of room; what it counts for a
# segment beside its bytes.
_PART_OF_HELD, _SEGMENT_COST = 16, 512
# Segments that wait for each other in both directions: more of these stay where they are.
_MOST_PASSES = 4


class _Side(Struct, frozen=True, eq=False):
    """The data segments of one end of a connection, sorted by stretch and sequence number. A stretch lies between two walls.
    `positions` are in the columns; `begins` counts bytes from the first captured one of the stretch."""

    positions: IntArray
    stretch: IntArray
    begins: IntArray


def most_waiting(limits: Limits) -> int:
    """Returns how many bytes of memory the segments that wait to be reordered may take together."""
    return min(_MOST_BYTES, limits.held_stream // _PART_OF_HELD, limits.held_total // _PART_OF_HELD)


def waiting_order(
    columns: SegmentColumns, wall: Bools, side: IntArray, sizes: IntArray, again: Bools, most_waiting: int
) -> IntArray | None:
    """Returns the order in which reordered TCP segments are delivered, as positions in the columns. None if no segment waits.

    `side` is the end that sent a segment. `sizes` are the bytes it brings: 0 if it is not regular, or was sent `again`.
    """
    stretch = np.cumsum(wall) - 1
    data = [np.flatnonzero((sizes > 0) & (side == way)) for way in (0, 1)]
    # By end and stretch, the number of the first data; -1 where there is none.
    begun = np.full((2, int(stretch[-1]) + 1), -1, np.int64)
    for way in (0, 1):
        begun[way, stretch[data[way]][::-1]] = columns.seq[data[way]][::-1]
    own, other = begun[side, stretch], begun[1 - side, stretch]
    begins = np.where(own >= 0, _signed(columns.seq - own), 0)
    acked = np.where(other >= 0, _signed(columns.ack - other), 0)
    if not _is_disordered(stretch, side, sizes, begins, acked):
        return None
    sides = []
    for each in data:
        by_number = each[np.lexsort((begins[each], stretch[each]))]
        by_number = by_number[~_repeated(stretch[by_number], begins[by_number], sizes[by_number])]
        sides.append(_Side(by_number, stretch[by_number], begins[by_number]))
    needed = [_needed(sides[1 - way], np.flatnonzero((side == way) & (other >= 0)), stretch, acked) for way in (0, 1)]
    keys = _keys(len(columns), needed, sides)
    if keys is None:
        return None
    # Of segments that waited for the same one, an answer has the larger sum.
    order = np.lexsort((begins + acked, keys))
    return _within_bounds(columns, order, sizes, again, most_waiting)


def closed_places(order: IntArray) -> Bools:
    """Tells at which places of the block reordering moved no segment across."""
    closed = np.ones(len(order), np.bool_)
    closed[1:] = np.maximum.accumulate(order)[:-1] == np.arange(len(order) - 1)
    return closed


def _signed(difference: IntArray) -> IntArray:
    """Returns signed differences of TCP sequence numbers, as RFC 1982 compares them."""
    half = 1 << 31
    return ((difference + half) & _MASK) - half


def _is_disordered(stretch: IntArray, side: IntArray, sizes: IntArray, begins: IntArray, acked: IntArray) -> bool:
    """Whether TCP segments are out of order: data does not continue its end's data, or an acknowledgement comes before its data."""
    ends = np.empty((2, len(side)), np.int64)
    for way in (0, 1):
        mine = np.where(side == way, sizes, 0)
        # The bytes that this end sent in the stretch so far.
        before = np.cumsum(mine) - mine
        ends[way] = before - before[np.searchsorted(stretch, stretch)]
    own, other = np.where(side == 0, ends, ends[::-1])
    return bool((((sizes > 0) & (begins != own)) | (acked > other)).any())


def _repeated(stretch: IntArray, begins: IntArray, sizes: IntArray) -> Bools:
    """Tells which TCP segments, sorted by number, repeat bytes of an earlier segment. No segment waits for these."""
    repeated = np.zeros(len(begins), np.bool_)
    places = _on_a_line(stretch, begins)
    repeated[1:] = places[1:] < np.maximum.accumulate(places + sizes)[:-1]
    return repeated


def _needed(other: _Side, mine: IntArray, stretch: IntArray, acked: IntArray) -> IntArray:
    """Returns the segments of one end that must wait for the other end: their positions, and the segment that each must follow."""
    places = np.searchsorted(_on_a_line(other.stretch, other.begins), _on_a_line(stretch[mine], acked[mine])) - 1
    found = (places >= 0) & (other.stretch[places] == stretch[mine]) if len(mine) else np.zeros(0, np.bool_)
    return np.stack((mine[found], other.positions[places[found]]))


def _on_a_line(stretch: IntArray, begins: IntArray) -> IntArray:
    """Returns places in the TCP streams of all stretches as single numbers that keep their order."""
    return (stretch << 33) + begins


def _keys(count: int, needed: Sequence[IntArray], sides: Sequence[_Side]) -> IntArray | None:
    """Returns the keys that sort TCP segments for delivery, None if segments wait for each other in a circle.

    A key is the position of the segment that ends the waiting, times `span`. A segment that waited adds one and its own position,
    or the position of another segment it waited for, if that is later.
    """
    span = count + 1
    keys = np.arange(count) * span
    for _ in range(_MOST_PASSES):
        before = keys.copy()
        for (waiting, for_these), own in zip(needed, sides, strict=True):
            keys[waiting] = _behind(keys[waiting], keys[for_these], waiting, span)
            positions = own.positions
            last = np.maximum.accumulate(keys[positions] // span)
            keys[positions] = np.maximum.accumulate(_behind(keys[positions], last * span, positions, span))
        if (keys == before).all():
            return keys
    return None


def _behind(own: IntArray, needed: IntArray, positions: IntArray, span: int) -> IntArray:
    """Returns the sort keys of segments, raised so that no segment leaves before the segment it needs."""
    return np.where(needed > own, needed // span * span + np.maximum(needed % span, positions + 1), own)


def _within_bounds(
    columns: SegmentColumns, order: IntArray, sizes: IntArray, again: Bools, most_waiting: int
) -> IntArray | None:
    """Returns the order of TCP segments, with groups left in file order that are too large or too unusual to reorder safely."""
    count = len(order)
    opens = np.flatnonzero(closed_places(order))
    group = np.repeat(np.arange(len(opens)), np.diff(opens, append=count))
    lengths = np.diff(opens, append=count)
    span_ns = np.maximum.reduceat(columns.times_ns, opens) - np.minimum.reduceat(columns.times_ns, opens)
    # A single byte may be a keep-alive: then it depends on what was acknowledged when it came.
    unusual = again | ((sizes == 1) & (columns.flags & PSH == 0))
    kept = (
        (lengths <= _MOST_SEGMENTS)
        & (span_ns <= _MOST_NS)
        & (np.add.reduceat(sizes, opens) + _SEGMENT_COST * lengths <= most_waiting)
        & ~np.logical_or.reduceat(unusual, opens)
    )
    order = np.where(kept[group], order, np.arange(count))
    return order if (order != np.arange(count)).any() else None
