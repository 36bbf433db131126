"""Finds runs in a block: neighbouring TCP segments of one connection that are only data in order.

What may be taken together, so that reassembly need not see each segment? A run has one sender. Its data segments continue each
other, all with the same acknowledgement. Between them are bare acknowledgements of the other end that acknowledge no more than what
the run has brought until then. The segments themselves show all of this, compared with their neighbours; where the connection
stands decides in `tcp` whether the run fits there, and what does not fit is taken segment by segment.

Segments that were overtaken are put back before (`segment_reordering`). A run ends before a segment of another connection, data of
the other end, another acknowledgement of the sender, or data that is still out of order. It also ends before a payload that begins
like SMB or DCERPC: messages that begin with a segment begin a run. Segments with any flag but ACK and PSH, cut short, or with a
wrong checksum are in no run. One that is captured twice in a row brings nothing the second time.
"""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from analyzer.core.byte_origins import FrameTable
from analyzer.core.tcpip_encoding import ACK, FIN, RST, SYN
from analyzer.transport.packet.flow_candidates import PDU_HEADER_LEN
from analyzer.transport.packet.segment import FARTHEST_AHEAD
from analyzer.transport.packet.segment_columns import SegmentColumns
from analyzer.transport.packet.segment_reordering import closed_places, waiting_order
from analyzer.transport.packet.tunnels import Bools, IntArray, Views

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
