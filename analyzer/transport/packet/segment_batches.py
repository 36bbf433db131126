"""Finds batches of TCP segments that answer each other, from the runs of a block.

SMB asks and answers in turn, and each turn is a run (see `segment_runs`). A batch is one run, or several with nothing of another
connection between them, where each end goes on where its last run ended, and acknowledges no more than what the other end has
sent until then. The runs themselves show that, compared with each other; where the connection stands decides in `tcp`
whether the batch fits there, and what does not fit is taken segment by segment.

Where one run of a batch would not fit the others, each of them is a batch of its own. Runs among which overtaken segments were put
back are never parted, so that a batch has the same segments in either order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from analyzer.transport.packet.segment import FARTHEST_AHEAD
from analyzer.transport.packet.segment_runs import Runs
from analyzer.transport.packet.tunnels import Bools, IntArray

_MASK = 0xFFFFFFFF
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
