"""Finds runs in a block: neighbouring TCP segments of one connection that are only data in order.

What may be taken together, so that reassembly need not see each segment? A run has one sender. Its data segments continue each
other, all with the same acknowledgement. Between them are bare acknowledgements of the other end that acknowledge no more than what
the run has brought until then. The segments themselves show all of this, compared with their neighbours; where the connection
stands decides in `tcp` whether the run fits there, and what does not fit is taken segment by segment.

Segments that were overtaken are put back before. A run ends before a segment of another connection, data of
the other end, another acknowledgement of the sender, or data that is still out of order. It also ends before a payload that begins
like SMB or DCERPC: messages that begin with a segment begin a run. Segments with any flag but ACK and PSH, cut short, or with a
wrong checksum are in no run. One that is captured twice in a row brings nothing the second time.

Runs that answer each other are found as batches. SMB asks and answers in turn, and each turn is a run. A batch is one run, or
several with nothing of another connection between them, where each end goes on where its last run ended, and acknowledges no more
than what the other end has sent until then. The runs themselves show that, compared with each other; where the connection stands
decides in `tcp` whether the batch fits there, and what does not fit is taken segment by segment.

Where one run of a batch would not fit the others, each of them is a batch of its own. Runs among which overtaken segments were put
back are never parted, so that a batch has the same segments in either order.

Segments that came slightly late in the capture are put back into the order in which TCP delivers them. A segment that overtook
another on the way, or in the queue of a card, is held until that one comes (`transport/tcp`). What continues its direction and
acknowledges nothing that is not there leaves in the order of the file. All else leaves right behind what it waited for. The two
directions keep the order of the file where neither waits for the other. Where few segments wait, for less than any hole is given
up, the same order follows from their numbers alone, by arrays. Everything else stays where it is, for `tcp` to see segment by
segment.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from analyzer.core.byte_origins import FrameTable
from analyzer.core.limits import Limits
from analyzer.core.tcpip_encoding import ACK, FIN, PSH, RST, SYN
from analyzer.transport.packet.flow_candidates import PDU_HEADER_LEN
from analyzer.transport.packet.segment import FARTHEST_AHEAD
from analyzer.transport.packet.segment_columns import SegmentColumns
from analyzer.transport.packet.tunnels import Bools, IntArray, Views

if TYPE_CHECKING:
    import numpy.typing as npt


# ------------------------------------------------------------------------------------------------------- segments put back


# -------------------------------------------------------------------------------------------------------------------- runs


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
    """Returns how many bytes of memory the segments of a block that wait to be reordered may take together."""
    return min(_MOST_BYTES, limits.held_stream // _PART_OF_HELD, limits.held_total // _PART_OF_HELD)


def waiting_order(
    columns: SegmentColumns, wall: Bools, side: IntArray, sizes: IntArray, again: Bools, most_waiting: int
) -> IntArray | None:
    """Returns the order in which reordered TCP segments of a block are delivered, as positions in the columns. None if no segment
    waits.

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
    if not _is_disordered(wall, side, sizes, begins, acked):
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
    """Returns signed differences of a block's TCP sequence numbers, as RFC 1982 compares them."""
    half = 1 << 31
    return ((difference + half) & _MASK) - half


def _is_disordered(wall: Bools, side: IntArray, sizes: IntArray, begins: IntArray, acked: IntArray) -> bool:
    """Whether TCP segments of a block are out of order: data does not continue its end's data, or an acknowledgement comes before
    its data."""
    ends = np.empty((2, len(side)), np.int64)
    opens = np.maximum.accumulate(np.where(wall, np.arange(len(side)), 0))
    for way in (0, 1):
        mine = np.where(side == way, sizes, 0)
        # The bytes that this end sent in the stretch so far.
        before = np.cumsum(mine) - mine
        ends[way] = before - before[opens]
    own, other = np.where(side == 0, ends, ends[::-1])
    return bool((((sizes > 0) & (begins != own)) | (acked > other)).any())


def _repeated(stretch: IntArray, begins: IntArray, sizes: IntArray) -> Bools:
    """Tells which TCP segments of a block, sorted by number, repeat bytes of an earlier segment. No segment waits for these."""
    repeated = np.zeros(len(begins), np.bool_)
    places = _on_a_line(stretch, begins)
    repeated[1:] = places[1:] < np.maximum.accumulate(places + sizes)[:-1]
    return repeated


def _needed(other: _Side, mine: IntArray, stretch: IntArray, acked: IntArray) -> IntArray:
    """Returns the segments of one end in a block that must wait for the other end: their positions, and the segment that each must
    follow."""
    places = np.searchsorted(_on_a_line(other.stretch, other.begins), _on_a_line(stretch[mine], acked[mine])) - 1
    found = (places >= 0) & (other.stretch[places] == stretch[mine]) if len(mine) else np.zeros(0, np.bool_)
    return np.stack((mine[found], other.positions[places[found]]))


def _on_a_line(stretch: IntArray, begins: IntArray) -> IntArray:
    """Returns places in the TCP streams of all stretches of a block as single numbers that keep their order."""
    return (stretch << 33) + begins


def _keys(count: int, needed: Sequence[IntArray], sides: Sequence[_Side]) -> IntArray | None:
    """Returns the keys that sort a block's TCP segments for delivery, None if segments wait for each other in a circle.

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
    """Returns the sort keys of a block's segments, raised so that no segment leaves before the segment it needs."""
    return np.where(needed > own, needed // span * span + np.maximum(needed % span, positions + 1), own)


def _within_bounds(
    columns: SegmentColumns, order: IntArray, sizes: IntArray, again: Bools, most_waiting: int
) -> IntArray | None:
    """Returns the order of a block's TCP segments, with groups left in file order that are too large or too unusual to reorder
    safely."""
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


# --------------------------------------------------------------------------------------------------------- segment runs


_CONTROL = SYN | FIN | RST | ACK
# Longer runs are cut: what is passed on in one piece is held in one piece.
RUN_BYTES_BITS = 17


class Runs(Struct, frozen=True, eq=False):
    """Runs of TCP segments: stretch i is the segments `first[i]` to `stop[i]` of `columns`, in which overtaken segments are put
    back. `ends` tells which of the two ends of its connection sent each segment.

    A stretch with `is_run` is a run of one end (`side`). Its data segments are `data_first[i]` to `data_stop[i]`, perhaps none;
    their bytes begin in `data_begins` and end in `data_ends`. `seq`, and the position in `table`, belong to the first byte. The
    segments of other stretches are taken one by one. `wall`: the stretch does not continue the one before it. `closed`: no segment
    was put back across its beginning.
    """

    columns: SegmentColumns
    ends: IntArray
    first: IntArray
    stop: IntArray
    is_run: Bools
    wall: Bools
    closed: Bools
    side: IntArray
    seq: IntArray
    ack: IntArray
    positions: IntArray
    sizes: IntArray
    data_first: IntArray
    data_stop: IntArray
    data_begins: IntArray
    data_ends: IntArray
    data_frames: IntArray
    table: FrameTable


class _Parted(Struct, frozen=True, eq=False):
    """The TCP segments of a block with overtaken ones put back, parted by walls. `side` is the end that sent a segment, counted by
    turns. `sizes` is the bytes that it brings: 0 if it is not `regular`, or was sent `again`."""

    columns: SegmentColumns
    regular: Bools
    again: Bools
    sizes: IntArray
    side: IntArray
    wall: Bools
    closed: Bools


def find_runs(columns: SegmentColumns, views: Views, cuts: IntArray, most_waiting: int) -> Runs:
    """Finds the runs of a block's TCP segments; there is at least one segment. No run crosses a cut. Segments that wait
    to be put back take at most `most_waiting` bytes of memory."""
    parted = _parted(columns, views, cuts, most_waiting)
    columns, sizes, side = parted.columns, parted.sizes, parted.side
    is_data, every = sizes > 0, np.arange(len(columns))
    border = parted.wall | (_begins_like_ours(columns, views) & ~parted.again)
    # Bytes that begin like a PDU only together with those of the next segment are not to begin a run together.
    border[1:] |= is_data[:-1] & (sizes[:-1] < PDU_HEADER_LEN)
    sender = _senders(side, is_data, border)
    mine = sender == side
    border[1:] |= sender[1:] != sender[:-1]
    # With these borders each run begins with a segment of its sender, so the last one of the sender is in the same run.
    before = np.zeros(len(columns), np.int64)
    before[1:] = np.maximum.accumulate(np.where(mine, every, 0))[:-1]
    border |= mine & (columns.ack != columns.ack[before])
    # How many bytes of data came before each segment, in the block and in its run.
    brought = np.cumsum(sizes) - sizes
    data = np.flatnonzero(is_data)
    border[_out_of_sequence(columns, brought, data, border)] = True
    bucket = brought - brought[np.maximum.accumulate(np.where(border, every, 0))] >> RUN_BYTES_BITS
    border |= mine & (bucket != bucket[before])
    first = np.flatnonzero(border)
    stop = np.append(first[1:], len(columns))
    number = np.cumsum(border) - 1
    # Data segments by their own count.
    data_first, data_stop = np.searchsorted(data, first), np.searchsorted(data, stop)
    # Where the stream of each run would stand at the beginning of the block; the same for all its segments, if in order.
    zeros = np.zeros(len(first), np.int64)
    has_data = data_stop > data_first
    zeros[has_data] = (columns.seq - brought)[data[data_first[has_data]]] & _MASK
    fits = _continues(columns, brought, zeros[number], is_data)
    fits &= mine | (has_data[number] & _acknowledges(columns, brought, zeros[number]))
    is_run = np.logical_and.reduceat(fits, first) & parted.regular[first]
    begins = columns.begins[data]
    end = int(sizes.sum())
    return Runs(
        columns,
        side,
        first,
        stop,
        is_run,
        parted.wall[first],
        parted.closed[first],
        side[first],
        (zeros + brought[first]) & _MASK,
        columns.ack[first],
        brought[first],
        np.diff(brought[first], append=end),
        data_first,
        data_stop,
        begins,
        begins + sizes[data],
        columns.frames[data],
        _table(columns, data, np.append(brought[data], end)),
    )


def _parted(columns: SegmentColumns, views: Views, cuts: IntArray, most_waiting: int) -> _Parted:
    """Parts the TCP segments of a block by walls, which neither runs nor batches cross."""
    regular = columns.good & (columns.missing == 0) & (columns.flags & _CONTROL == ACK)
    regular &= ~(columns.bad_ip_checksum | columns.bad_tcp_checksum)
    same, turned = _compared(columns, views)
    again = _sent_again(columns, regular, same)
    sizes = np.where(regular & ~again, columns.sizes, 0)
    wall = _walls(regular, same | turned, cuts)
    # Which of the two ends sent a segment, from its neighbours: the number of turns, odd or even.
    side = np.cumsum(turned) & 1
    order = waiting_order(columns, wall, side, sizes, again, most_waiting)
    if order is None:
        return _Parted(columns, regular, again, sizes, side, wall, np.ones(len(columns), np.bool_))
    regular, again, sizes, side = regular[order], again[order], sizes[order], side[order]
    return _Parted(columns.chosen(order), regular, again, sizes, side, wall, closed_places(order))


def _sent_again(columns: SegmentColumns, regular: Bools, same: Bools) -> Bools:
    """Tells which data segments repeat the segment before them in all but the IP header. A mirror port of both ends sends every
    frame twice. Repeated segments bring nothing."""
    again = same & regular & (columns.sizes > 0)
    again[1:] &= regular[:-1]
    for column in (columns.seq, columns.ack, columns.flags, columns.sizes):
        again[1:] &= column[1:] == column[:-1]
    data = columns.data
    for at in np.flatnonzero(again).tolist():
        (first, second), size = columns.begins[at - 1 : at + 1].tolist(), int(columns.sizes[at])
        again[at] = data[first : first + size] == data[second : second + size]
    return again


def _out_of_sequence(columns: SegmentColumns, brought: IntArray, data: IntArray, border: Bools) -> IntArray:
    """Returns the data segments that do not continue those before them in their run. A border there keeps the rest as runs."""
    zeros, run = (columns.seq - brought)[data] & _MASK, np.cumsum(border)[data]
    jumps: IntArray = data[1:][(zeros[1:] != zeros[:-1]) & (run[1:] == run[:-1])]
    return jumps


def _continues(columns: SegmentColumns, brought: IntArray, zero: IntArray, is_data: Bools) -> Bools:
    """Tells which TCP segments have no data, or data that continues the segments before them in the block."""
    fits: Bools = ((columns.seq - brought) & _MASK == zero) | ~is_data
    return fits


def _acknowledges(columns: SegmentColumns, brought: IntArray, zero: IntArray) -> Bools:
    """Tells which TCP segments acknowledge no more than their run has brought so far."""
    ahead = (columns.ack - brought - zero) & _MASK
    fits: Bools = (ahead == 0) | (ahead >= FARTHEST_AHEAD)
    return fits


def _senders(side: IntArray, is_data: Bools, border: Bools) -> IntArray:
    """Returns for each TCP segment the end that sent the last data so far; before any data, the sender of the segment."""
    latest = np.maximum.accumulate(np.where(is_data | border, np.arange(len(side)), 0))
    return np.where(is_data[latest], side[latest], side)


def _walls(regular: Bools, same_connection: Bools, cuts: IntArray) -> Bools:
    """Tells which TCP segments have a wall before them: they do not belong to the segment before, so no run crosses."""
    wall: Bools = ~same_connection | ~regular
    wall[1:] |= ~regular[:-1]
    wall[cuts] = True
    wall[0] = True
    return wall


def _table(columns: SegmentColumns, data: IntArray, starts: IntArray) -> FrameTable:
    """Returns the frame table of a block's runs: the frames and offsets where the payloads of their segments were captured."""
    times_ns, frames = columns.times_ns[data], columns.frames[data]
    return FrameTable(
        _array(starts),
        _array(frames),
        _array(columns.offsets[data]),
        _array(times_ns),
        ordered=not (np.diff(times_ns) < 0).any() and not (np.diff(frames) < 0).any(),
    )


def _compared(columns: SegmentColumns, views: Views) -> tuple[Bools, Bools]:
    """Tells which TCP segments go the same way as the segment before them, and which go the other way of the same connection."""
    ip = columns.ip
    ports = views.u32[columns.tcp].astype(np.uint64)
    turned_ports = ports >> np.uint64(16) | (ports & np.uint64(0xFFFF)) << np.uint64(16)
    version = columns.is_ipv4
    sources: list[npt.NDArray[np.uint64]] = []
    targets: list[npt.NDArray[np.uint64]] = []
    if version.all():
        both = views.u64[ip + 12]
        sources.append(both & np.uint64(_MASK))
        targets.append(both >> np.uint64(32))
    else:
        # An IPv4 address is the upper half of its four bytes and what follows them; the version distinguishes it from IPv6.
        of_ipv6 = np.where(version, 0, 1)
        at = ip + np.where(version, 12, 8)
        masks = np.where(version, np.uint64(_MASK), np.uint64((1 << 64) - 1))
        for word in (0, 8):
            sources.append(views.u64[at + word * of_ipv6] & masks)
            targets.append(views.u64[at + np.where(version, 4, 16 + word)] & masks)
    same = np.zeros(len(columns), np.bool_)
    turned = np.zeros(len(columns), np.bool_)
    same[1:] = (version[1:] == version[:-1]) & (ports[1:] == ports[:-1])
    turned[1:] = (version[1:] == version[:-1]) & (ports[1:] == turned_ports[:-1])
    for source, target in zip(sources, targets, strict=True):
        same[1:] &= (source[1:] == source[:-1]) & (target[1:] == target[:-1])
        turned[1:] &= (source[1:] == target[:-1]) & (target[1:] == source[:-1])
    return same, turned & ~same


def _begins_like_ours(columns: SegmentColumns, views: Views) -> Bools:
    """Tells where a run has to begin, because TCP payloads begin like SMB after its framing, or may begin like DCERPC."""
    at = np.minimum(columns.begins, len(views.u64) - 1)
    words = views.u64[at]
    found: Bools = (words & np.uint64(0xFEFF)) == 5
    found |= (words >> np.uint64(40)) == int.from_bytes(b"SMB", "little")
    return found & (columns.sizes > 0)


def _array(column: IntArray) -> array[int]:
    found = array("q")
    found.frombytes(column.astype(np.int64).tobytes())
    return found


# ------------------------------------------------------------------------------------------------------ segment batches


# Longer batches are cut: what is passed on in one piece is held in one piece.
BATCH_BYTES_BITS = 18


class Batches(Struct, frozen=True, eq=False):
    """Batches of TCP segments: batch i has the segments `first[i]` to `stop[i]` of the columns. Without `is_regular`, take them one
    by one. Its runs are `run_first[i]` to `run_stop[i]`; where `replies`, the other end than the first sender sent the run. Its
    data segments are `data_first[i]` to `data_stop[i]`.

    `seq` and `ack` are those of the first run; `reply_seq` is that of the other end's first run, or -1. `last` and `reply_last`
    are the last data segments of both ends, or -1.
    """

    first: IntArray
    stop: IntArray
    is_regular: Bools
    run_first: IntArray
    run_stop: IntArray
    seq: IntArray
    reply_seq: IntArray
    ack: IntArray
    data_first: IntArray
    data_stop: IntArray
    last: IntArray
    reply_last: IntArray
    replies: Bools

    def rows(self) -> Iterator[tuple[int, ...]]:
        """Yields all batches of segments with their runs as rows: the fields of each batch, without `replies`."""
        return zip(
            self.first.tolist(),
            self.stop.tolist(),
            self.is_regular.tolist(),
            self.run_first.tolist(),
            self.run_stop.tolist(),
            self.seq.tolist(),
            self.reply_seq.tolist(),
            self.ack.tolist(),
            self.data_first.tolist(),
            self.data_stop.tolist(),
            self.last.tolist(),
            self.reply_last.tolist(),
            strict=True,
        )


def find_batches(runs: Runs) -> Batches:
    """Finds the batches of TCP segments in the runs of a block. A stretch that is no run stays alone."""
    count = len(runs.first)
    alone = ~runs.is_run | (runs.data_first == runs.data_stop)
    opening = runs.wall | alone
    opening[1:] |= alone[:-1]
    grown = runs.positions - runs.positions[np.maximum.accumulate(np.where(opening, np.arange(count), 0))]
    bucket = grown >> BATCH_BYTES_BITS
    opening[1:] |= bucket[1:] != bucket[:-1]
    opening |= ~_fitting(runs, opening)
    opening &= runs.closed
    fits = _fitting(runs, opening)
    opens = np.flatnonzero(opening)
    stops = np.append(opens[1:], count)
    other, reply_first, reply_last, last = _both_ends(runs.side, opens)
    replied = reply_first < count
    return Batches(
        runs.first[opens],
        runs.stop[stops - 1],
        np.logical_and.reduceat(runs.is_run & fits, opens),
        opens,
        stops,
        runs.seq[opens],
        np.where(replied, runs.seq[np.minimum(reply_first, count - 1)], -1),
        runs.ack[opens],
        runs.data_first[opens],
        runs.data_stop[stops - 1],
        runs.data_stop[last] - 1,
        np.where(replied, runs.data_stop[reply_last] - 1, -1),
        other,
    )


def _fitting(runs: Runs, opening: Bools) -> Bools:
    """Tells which runs of segments belong to batches in which all runs fit each other."""
    opens = np.flatnonzero(opening)
    batch = np.cumsum(opening) - 1
    other, reply_first, _, _ = _both_ends(runs.side, opens)
    replied = reply_first < len(opening)
    # How many bytes each end sent before the run, in the block.
    of_second = np.where(runs.side == 1, runs.sizes, 0)
    by_second = np.cumsum(of_second) - of_second
    by_first = runs.positions - by_second
    is_second = runs.side == 1
    # Where the streams of both ends would stand at the beginning of the block: the same for all runs, if in order.
    zero = (runs.seq - np.where(is_second, by_second, by_first)) & _MASK
    acked_zero = (runs.ack - np.where(is_second, by_first, by_second)) & _MASK
    first_zero = zero[opens]
    # An end that sends nothing in the batch stands where the first run shows, which is compared in `tcp`.
    reply_zero = np.where(replied, zero[np.minimum(reply_first, len(opening) - 1)], acked_zero[opens])
    fits = zero == np.where(other, reply_zero[batch], first_zero[batch])
    ahead = (acked_zero - np.where(other, first_zero[batch], reply_zero[batch])) & _MASK
    fits &= (ahead == 0) | (replied[batch] & (ahead >= FARTHEST_AHEAD))
    whole: Bools = np.logical_and.reduceat(fits, opens)[batch]
    return whole


def _both_ends(side: IntArray, opens: IntArray) -> tuple[Bools, IntArray, IntArray, IntArray]:
    """Tells which runs of segments the second end of each batch sent. Also returns for each batch the first and the last run of
    that end (number of runs and -1 if there is none), and the last run of the first sender."""
    every = np.arange(len(side))
    other = side != np.repeat(side[opens], np.diff(opens, append=len(side)))
    reply_first = np.minimum.reduceat(np.where(other, every, len(side)), opens)
    reply_last = np.maximum.reduceat(np.where(other, every, -1), opens)
    last = np.maximum.reduceat(np.where(other, -1, every), opens)
    return other, reply_first, reply_last, last
