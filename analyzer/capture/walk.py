"""Where the records of a capture file begin: bytes and the rule of their chain in, offsets out.

A capture file is a linked list: the length in one record's header says where the next begins. `walk_plain` follows it
record by record. `walk` gives the same answer faster: it guesses one record start in each of many lanes, lets all lanes
step together (one numpy gather per step), and then proves the guesses: a lane counts only if the chain that arrives from
the left arrives exactly at its guessed start. Lanes that fail are walked plainly, so only the speed is speculative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct
from typing import Literal

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
# Finds a place in data[start:stop] that looks like a record header, or -1.
Guess = Callable[[bytes, int, int], int]

LANE_BYTES = 24 * 1024
# Below this many lanes stepping together costs more than it saves.
FEWEST_LANES = 8
_STEPS_BETWEEN_CHECKS = 8


@dataclass(frozen=True, slots=True)
class Chain:
    """How records hang together: a record is its length field, rounded up to `align`, plus `extra` bytes.

    The length field is the u32 at `length_at` of the record; `smallest` and `largest` bound what it may say.
    `header` is how many bytes are needed before the length can be trusted to be there.
    """

    order: Literal["<", ">"]
    length_at: int
    extra: int
    header: int
    smallest: int
    largest: int
    align: int = 1


@dataclass(frozen=True, slots=True)
class Walk:
    """Offsets of the whole records, where the first one that is not whole begins, and whether its length is impossible."""

    at: IntArray
    stop: int
    impossible: bool


def walk_plain(chain: Chain, data: bytes, start: int = 0, until: int | None = None) -> Walk:
    """Follows the chain from `start` record by record; with `until`, no further than the first record at or after it."""
    read = Struct(chain.order + "I").unpack_from
    at: list[int] = []
    end = len(data)
    limit = end if until is None else min(until, end)
    length_at, extra, smallest, largest, align = (
        chain.length_at,
        chain.extra,
        chain.smallest,
        chain.largest,
        chain.align,
    )
    pos, impossible = start, False
    while pos < limit and pos + chain.header <= end:
        length = read(data, pos + length_at)[0]
        if not smallest <= length <= largest:
            impossible = True
            break
        after = pos + extra + length + -length % align
        if after > end:
            break
        at.append(pos)
        pos = after
    return Walk(np.array(at, np.int64), pos, impossible)


def walk(chain: Chain, data: bytes, start: int, guess: Guess) -> Walk:
    """The same as `walk_plain`, faster."""
    end = len(data)
    lanes = [start]
    for lane in range(start + LANE_BYTES, end - LANE_BYTES, LANE_BYTES):
        found = guess(data, lane, lane + LANE_BYTES)
        if found > lanes[-1]:
            lanes.append(found)
    if len(lanes) < FEWEST_LANES:
        return walk_plain(chain, data, start)
    starts = np.array(lanes, np.int64)
    stops = np.append(starts[1:], end)
    # For each offset of the data, what the length field of a record there says.
    lengths = np.ndarray((end - chain.length_at - 3,), chain.order + "u4", data, offset=chain.length_at, strides=(1,))
    last = len(lengths) - 1
    rows = [starts]
    pos = starts
    most_steps = 2 * LANE_BYTES // (chain.smallest + chain.extra) + _STEPS_BETWEEN_CHECKS
    while len(rows) <= most_steps:
        for _ in range(_STEPS_BETWEEN_CHECKS):
            # Lanes run on past their stop, even past the end of the data (clipped), until the slowest has arrived.
            pos = lengths[np.minimum(pos, last)] + pos
            pos += chain.extra
            rows.append(pos)
        if (pos >= stops).all():
            break
    table = np.array(rows).T
    within = table < stops[:, None]
    counts = within.sum(axis=1)
    counts[counts == len(rows)] = len(rows) - 1
    arrivals = table[np.arange(len(starts)), counts]
    if (arrivals[:-1] == starts[1:]).all() and within[:, -1].sum() == 0:
        at = table[within]
    else:
        at = _stitch(chain, data, table, counts, starts, stops, arrivals)
    return _verified(chain, data, start, lengths, at)


def _stitch(
    chain: Chain,
    data: bytes,
    table: npt.NDArray[np.int64],
    counts: IntArray,
    starts: IntArray,
    stops: IntArray,
    arrivals: IntArray,
) -> IntArray:
    """Record offsets where some guesses were wrong: proven lanes as they are, the rest walked plainly."""
    parts: list[IntArray] = []
    entry = int(starts[0])
    for lane in range(len(starts)):
        stop = int(stops[lane])
        if entry >= stop:
            continue
        if entry == starts[lane] and arrivals[lane] >= stop:
            parts.append(table[lane, : counts[lane]])
            entry = int(arrivals[lane])
            continue
        plain = walk_plain(chain, data, entry, stop)
        parts.append(plain.at)
        entry = plain.stop
        if entry < stop:
            break
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _verified(chain: Chain, data: bytes, start: int, lengths: npt.NDArray[np.uint32], at: IntArray) -> Walk:
    """The offsets up to the first record that is impossible or not whole; the plain walk says which of the two it is."""
    at = at[at + chain.header <= len(data)]
    said = lengths[at].astype(np.int64)
    ends = at + said + chain.extra
    good = (said >= chain.smallest) & (said <= chain.largest) & (said % chain.align == 0) & (ends <= len(data))
    whole = len(at) if good.all() else int(np.argmin(good))
    resume = int(ends[whole - 1]) if whole else start
    rest = walk_plain(chain, data, resume)
    return Walk(np.concatenate((at[:whole], rest.at)), rest.stop, rest.impossible)
