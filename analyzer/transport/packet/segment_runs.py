"""Finds runs in a block: neighbouring TCP segments of one connection that are only data in order.

What may be taken together, so that reassembly need not see each segment? A run has one sender. Its data segments continue each
other, all with the same acknowledgement. Between them are bare acknowledgements of the other end that acknowledge no more than what
the run has brought until then. The segments themselves show all of this, compared with their neighbours; where the connection
stands decides in `tcp` whether the run fits there, and what does not fit is taken segment by segment.

Segments that were overtaken are put back before (`segment_reordering`). A run ends before a segment of another connection, data of
the other end, another acknowledgement of the sender, or data that is still out of order. It also ends before a payload that begins
like SMB or DCERPC: messages that begin with a segment begin a run. Segments with any flag but ACK and PSH, cut short, or with a
wrong checksum are in no run. One that is captured twice in a row brings nothing the second time.

Runs that answer each other are found as batches. SMB asks and answers in turn, and each turn is a run. A batch is one run, or
several with nothing of another connection between them, where each end goes on where its last run ended, and acknowledges no more
than what the other end has sent until then. The runs themselves show that, compared with each other; where the connection stands
decides in `tcp` whether the batch fits there, and what does not fit is taken segment by segment.

Where one run of a batch would not fit the others, each of them is a batch of its own. Runs among which overtaken segments were put
back are never parted, so that a batch has the same segments in either order.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from analyzer.core.byte_origins import FrameTable
from analyzer.core.tcpip_encoding import ACK, FIN, RST, SYN
from analyzer.transport.packet.flow_candidates import PDU_HEADER_LEN
from analyzer.transport.packet.segment import FARTHEST_AHEAD
from analyzer.transport.packet.segment_columns import SegmentColumns
from analyzer.transport.packet.segment_reordering import closed_places, waiting_order
from analyzer.transport.packet.tunnels import Bools, IntArray, Views

if TYPE_CHECKING:
    import numpy.typing as npt

# --------------------------------------------------------------------------------------------------------- segment runs


_MASK = 0xFFFFFFFF
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
    """Finds the runs of a block's TCP segments; there is at least one segment. No run crosses a cut. `most_waiting` is that of
    `segment_reordering`."""
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
    """Returns the frame table of the data segments: the frames and offsets where their payloads were captured."""
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
    """Tells which TCP payloads begin like SMB after its framing, or may begin like DCERPC."""
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
        """Yields all batches of segments as rows of their fields, without `replies`."""
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
