"""The same walk as `walk_plain`, in many lanes at once: bytes, the rule of their chain and a guess in, offsets out.

A place in the middle of a file that looks like a record header is a guess. One guess a lane, all lanes step together (a
gather of numpy is one step of each), until each has arrived at the next lane's guess or behind it. Then the guesses are
proven from the left: the first lane begins where a record begins, and a lane whose predecessor, itself proven, arrives
exactly at its guess begins where a record begins too. What a disproven lane was to cover is walked plainly until the chain
is at a guess again. So only the speed is speculative: bytes made to look like headers cost time and change nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from analyzer.capture.walk import Chain, IntArray, Walk, walk_plain

# Lanes are cut to take about this many steps: fewer make guesses the greater cost, more make the steps.
STEPS_PER_LANE = 128
FIRST_LANE_BYTES = 32 * 1024
FEWEST_LANE_BYTES = 4 * 1024
# Below this many lanes stepping together costs more than it saves.
FEWEST_LANES = 16
_STEPS_BETWEEN_CHECKS = 8


class Guess(Protocol):
    """Finds what looks like record headers: no more than one in each of the lanes that begin at `starts`, ascending."""

    def __call__(self, data: bytes, starts: range) -> IntArray: ...


def first_right(
    data: bytes,
    sought: bytes,
    offset: int,
    starts: range,
    tries: int,
    look_right: Callable[[IntArray], npt.NDArray[np.bool_]],
) -> IntArray:
    """The first place in each lane that has what is sought `offset` bytes on and looks right, where so many tries find one."""
    lanes = [(start + offset, start + starts.step) for start in starts]
    found: list[IntArray] = []
    for _ in range(tries):
        hits = [data.find(sought, at, stop) for at, stop in lanes]
        at = np.array(hits, np.int64) - offset
        right = look_right(at)
        found.append(at[right])
        lanes = [
            (hit + 1, stop)
            for hit, (_, stop), fits in zip(hits, lanes, right.tolist(), strict=True)
            if hit >= 0 and not fits
        ]
        if not lanes:
            break
    return np.sort(np.concatenate(found))


class Lanes:
    """Walks the blocks of one file; lanes are cut by the length of the records of the block before."""

    def __init__(self) -> None:
        self._lane_bytes = FIRST_LANE_BYTES

    def walk(self, chain: Chain, data: bytes, start: int, guess: Guess) -> Walk:
        """The same as `walk_plain`."""
        found = self._walk(chain, data, start, guess)
        if len(found.at):
            mean = (found.stop - start) // len(found.at)
            self._lane_bytes = max(mean * STEPS_PER_LANE, FEWEST_LANE_BYTES)
        return found

    def _walk(self, chain: Chain, data: bytes, start: int, guess: Guess) -> Walk:
        end = len(data)
        width = self._lane_bytes
        tried = range(start + width, end - width, width)
        if len(tried) < FEWEST_LANES:
            return walk_plain(chain, data, start)
        guesses = guess(data, tried)
        if len(guesses) < FEWEST_LANES:
            return walk_plain(chain, data, start)
        starts = np.concatenate(((start,), guesses[guesses > start]))
        stops = np.append(starts[1:], end)
        # For each offset of the data, what the length field of a record there says.
        lengths = np.ndarray(
            (end - chain.length_at - 3,), chain.order + "u4", data, offset=chain.length_at, strides=(1,)
        )
        at, arrivals = _step(chain, lengths, starts, stops)
        if (arrivals[:-1] != starts[1:]).any():
            at = _stitched(chain, data, at, arrivals, starts, stops)
        return _verified(chain, data, start, lengths, at)


def _step(
    chain: Chain, lengths: npt.NDArray[np.uint32], starts: IntArray, stops: IntArray
) -> tuple[IntArray, IntArray]:
    """All places the lanes came by, ascending, and for each lane the first place at or behind its stop.

    Lanes that stay behind when few are left are given up where they are.
    """
    last = len(lengths) - 1
    arrivals = np.empty_like(starts)
    lanes = np.arange(len(starts))
    pos, until = starts, stops
    found: list[IntArray] = []
    # A lane that does not move is no chain, and would never arrive.
    most_steps = int((stops - starts).max()) // (chain.smallest + chain.extra)
    for _ in range(most_steps // _STEPS_BETWEEN_CHECKS + 1):
        rows = [pos]
        for _ in range(_STEPS_BETWEEN_CHECKS):
            # Lanes run on past their stop until the next check, even past the end of the data (clipped).
            pos = lengths[np.minimum(pos, last)] + pos
            pos += chain.extra
            rows.append(pos)
        table = np.array(rows)
        within = table[:-1] < until
        found.append(table[:-1][within])
        arrived = pos >= until
        if arrived.any():
            steps = within[:, arrived].sum(axis=0)
            arrivals[lanes[arrived]] = table[steps, np.flatnonzero(arrived)]
            going = ~arrived
            pos, until, lanes = pos[going], until[going], lanes[going]
            if len(lanes) < FEWEST_LANES:
                break
    arrivals[lanes] = pos
    at = np.concatenate(found)
    at.sort()
    return at, arrivals


def _stitched(
    chain: Chain, data: bytes, at: IntArray, arrivals: IntArray, starts: IntArray, stops: IntArray
) -> IntArray:
    """Record offsets where not every lane arrived at the next: proven lanes as they are, the rest walked plainly."""
    parts: list[IntArray] = []
    # A lane's places are those from its start to its stop, so they stand together, and beside those of the next lane.
    firsts, lasts = np.searchsorted(at, starts), np.searchsorted(at, stops)
    parted = [*np.flatnonzero(arrivals[:-1] != starts[1:]).tolist(), len(starts) - 1]
    entry, lane = int(starts[0]), 0
    while lane < len(starts):
        if entry == starts[lane]:
            # From here each lane arrives at the next, up to the one that does not.
            last = parted[bisect_left(parted, lane)]
            parts.append(at[firsts[lane] : lasts[last]])
            entry, lane = int(arrivals[last]), last
        stop = int(stops[lane])
        if entry < stop:
            plain = walk_plain(chain, data, entry, stop)
            parts.append(plain.at)
            entry = plain.stop
            if entry < stop:
                break
        lane += 1
    return np.concatenate(parts)


def _verified(chain: Chain, data: bytes, start: int, lengths: npt.NDArray[np.uint32], at: IntArray) -> Walk:
    """The offsets up to the first record that is impossible or not whole; the plain walk says which of the two it is."""
    at = at[: np.searchsorted(at, len(data) - chain.header, "right")]
    if not len(at):
        return walk_plain(chain, data, start)
    # A record ends where the next begins.
    said = np.diff(at, append=int(at[-1]) + int(lengths[at[-1]]) + chain.extra) - chain.extra
    good = (said >= chain.smallest) & (said <= chain.largest)
    if chain.align > 1:
        good &= said % chain.align == 0
    good[-1] &= at[-1] + said[-1] + chain.extra <= len(data)
    whole = len(at) if good.all() else int(np.argmin(good))
    resume = int(at[whole - 1] + said[whole - 1]) + chain.extra if whole else start
    rest = walk_plain(chain, data, resume)
    return Walk(np.concatenate((at[:whole], rest.at)) if len(rest.at) else at[:whole], rest.stop, rest.impossible)
