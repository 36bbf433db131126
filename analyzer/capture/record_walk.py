"""Finds where the records of a capture file begin, by the rule that chains them.

A capture file is a linked list: the length in one record's header states where the next begins. `walk_plain` follows it record by
record; `SpeculativeScan` gives the same answer faster, in many partitions at once.

A place in the middle of a file that looks like a record header is a guess. Each partition begins with one guess. All partitions
step together (a gather of numpy is one step of each), until each has arrived at the next partition's guess or behind it. Then the
guesses are proven in order: a guess is proven if the partition before it is proven and arrives exactly at it. A disproven partition
is walked plainly until the chain is at a guess again. So only the speed is speculative: bytes made to look like headers cost time
and change nothing.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Callable, Sequence
from math import isqrt
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import numpy as np
from msgspec import Struct

if TYPE_CHECKING:
    import numpy.typing as npt

# ---------------------------------------------------------------------------------------------------------- record walk


IntArray: TypeAlias = "npt.NDArray[np.int64]"


class Chain(Struct, frozen=True):
    """The rule that chains the records of a capture file: a record is its length field, rounded up to `align`, plus `extra` bytes.

    The length field is the u32 at `length_at` of the record; `smallest` and `largest` are its bounds. `header` is how many bytes
    are needed before the length can be trusted to be there.
    """

    order: Literal["<", ">"]
    length_at: int
    extra: int
    header: int
    smallest: int
    largest: int
    align: int = 1


class Walk(Struct, frozen=True):
    """Offsets of the whole records of a capture file. The first incomplete record begins at `stop`, and may have an impossible
    length."""

    at: IntArray
    stop: int
    impossible: bool


def words_of(data: bytes, order: Literal["<", ">"]) -> npt.NDArray[np.uint32]:
    """Returns the 32-bit number at each offset of the capture's data, such as the length of a record that begins there."""
    return np.ndarray((len(data) - 3,), order + "u4", data, strides=(1,))


def walk_plain(chain: Chain, data: bytes, start: int = 0, until: int | None = None) -> Walk:
    """Follows the chain of a capture file's records from `start`. With `until`, it stops at the first record at or behind that."""
    read = struct.Struct(chain.order + "I").unpack_from
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


# ----------------------------------------------------------------------------------------------------- partitioned walk


FIRST_PARTITION_BYTES = 32 * 1024
FEWEST_PARTITION_BYTES = 4 * 1024
FIRST_STEPS, FEWEST_STEPS = 64, 16
# Below this many partitions stepping together costs more than it saves.
FEWEST_PARTITIONS = 16
# As many more steps for all as an eighth of what was expected cost more than walking fewer partitions than this to their ends.
FEWEST_BEHIND = 8


class HeaderFinder(Protocol):
    """Finds places that look like record headers of a capture file, at most one in each partition. `starts` are where partitions
    begin."""

    def __call__(self, data: bytes, starts: range) -> IntArray: ...


def first_right(
    data: bytes,
    sought: bytes,
    offset: int,
    starts: range,
    tries: int,
    look_right: Callable[[IntArray], npt.NDArray[np.bool_]],
) -> IntArray:
    """Returns for each partition of a capture file the first place that looks like a record and has the sought bytes `offset` bytes
    on. Partitions in which `tries` tries find none are left out."""
    width = starts.step
    hits = [data.find(sought, at, at + width) for at in range(starts.start + offset, starts.stop + offset, width)]
    stops: Sequence[int] = range(starts.start + width, starts.stop + width, width)
    found: list[IntArray] = []
    for _ in range(tries):
        at = np.array(hits, np.int64) - offset
        right = look_right(at)
        found.append(at[right])
        if len(found[-1]) == len(at):
            break
        wrong = [
            (hit, stop) for hit, stop, fits in zip(hits, stops, right.tolist(), strict=True) if hit >= 0 and not fits
        ]
        hits, stops = [data.find(sought, hit + 1, stop) for hit, stop in wrong], [stop for _, stop in wrong]
    return np.sort(np.concatenate(found))


class SpeculativeScan:
    """Walks the records of one capture file in partitions. The record lengths of one block set the partition size of the next."""

    def __init__(self) -> None:
        self._partition_bytes = FIRST_PARTITION_BYTES
        self._steps = FIRST_STEPS

    def walk_records(self, chain: Chain, data: bytes, start: int, guess: HeaderFinder) -> Walk:
        """Returns the offsets of a capture file's records. Arguments and result are those of `walk_plain`."""
        found = self._walk(chain, data, start, guess)
        if len(found.at):
            # One more partition costs a guess, one more step a few calls, about the same: as many of the one as of the other.
            mean = (found.stop - start) // len(found.at)
            steps = max(isqrt(len(found.at)), FEWEST_STEPS)
            self._partition_bytes = max(mean * steps, FEWEST_PARTITION_BYTES)
            self._steps = self._partition_bytes // max(mean, 1)
        return found

    def _walk(self, chain: Chain, data: bytes, start: int, guess: HeaderFinder) -> Walk:
        end = len(data)
        width = self._partition_bytes
        tried = range(start + width, end - width, width)
        if len(tried) < FEWEST_PARTITIONS:
            return walk_plain(chain, data, start)
        guesses = guess(data, tried)
        if len(guesses) < FEWEST_PARTITIONS:
            return walk_plain(chain, data, start)
        starts = np.concatenate(((start,), guesses[guesses > start]))
        stops = np.append(starts[1:], end)
        # For each offset of the data, what the length field of a record there says.
        lengths = words_of(data, chain.order)[chain.length_at :]
        at, counts, arrivals = _step(chain, lengths, starts, stops, self._steps)
        if (arrivals[:-1] != starts[1:]).any():
            at = _stitched(chain, data, at, counts, arrivals, starts, stops)
        return _verified_walk(chain, data, start, lengths, at)


def _step(
    chain: Chain, lengths: npt.NDArray[np.uint32], starts: IntArray, stops: IntArray, expected: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Walks the records of all partitions up to their stops. Returns the places, how many each partition has, and where each was
    next.

    The next place is the first one at or behind the stop. But if few partitions are left behind, they are given up where they are.
    A partition that does not move is no chain, and would never arrive.
    """
    shortest = chain.smallest + chain.extra
    last_step = min(int((stops - starts).max()) // shortest + 1, len(lengths) // shortest)
    here, beyond, step = starts, False, 0
    rows = [starts[None]]
    while step < last_step:
        # All but a few partitions arrive in the first round.
        count = expected // 8 if step else expected + expected // 8
        more = np.empty((min(count, last_step - step), len(starts)), np.int64)
        rows.append(more)
        for following in more:
            # Rows lag behind: instead of adding what a record is longer than its length says, read that much further on.
            stated = lengths[chain.extra * step :]
            step += 1
            if not beyond:
                try:
                    np.add(here, stated[here], following)
                except IndexError:
                    beyond = True
            if beyond:
                # Partitions run on past their stop, even past the end of the data.
                np.add(here, stated[np.minimum(here, len(stated) - 1)], following)
            here = following
        if np.count_nonzero(here < stops - chain.extra * step) < FEWEST_BEHIND:
            break
    places = np.concatenate([row.T for row in rows], axis=1)
    places += chain.extra * np.arange(step + 1)
    within = places[:, :-1] < stops[:, None]
    counts = np.count_nonzero(within, axis=1)
    return places[:, :-1][within], counts, places[np.arange(len(starts)), counts]


def _stitched(
    chain: Chain,
    data: bytes,
    at: IntArray,
    counts: IntArray,
    arrivals: IntArray,
    starts: IntArray,
    stops: IntArray,
) -> IntArray:
    """Returns a file's record offsets if some partition missed the next one: proven partitions as they are, the rest walked
    plainly."""
    parts: list[IntArray] = []
    lasts = np.cumsum(counts)
    firsts = lasts - counts
    parted = [*np.flatnonzero(arrivals[:-1] != starts[1:]).tolist(), len(starts) - 1]
    entry, partition = int(starts[0]), 0
    while partition < len(starts):
        if entry == starts[partition]:
            # From here each partition arrives at the next, up to the one that does not.
            last = parted[bisect_left(parted, partition)]
            parts.append(at[firsts[partition] : lasts[last]])
            entry, partition = int(arrivals[last]), last
        stop = int(stops[partition])
        if entry < stop:
            plain = walk_plain(chain, data, entry, stop)
            parts.append(plain.at)
            entry = plain.stop
            if entry < stop:
                break
        partition += 1
    return np.concatenate(parts)


def _verified_walk(chain: Chain, data: bytes, start: int, lengths: npt.NDArray[np.uint32], at: IntArray) -> Walk:
    """Returns the walk over a file's records up to the first impossible or incomplete one. The plain walk tells which of both it
    is."""
    at = at[: np.searchsorted(at, len(data) - chain.header, "right")]
    if not len(at):
        return walk_plain(chain, data, start)
    # A record ends where the next begins.
    stated = np.diff(at, append=int(at[-1]) + int(lengths[at[-1]]) + chain.extra)
    stated -= chain.extra
    # One comparison for both bounds: what is too small is very large without its sign.
    good = (stated - chain.smallest).view(np.uint64) <= chain.largest - chain.smallest
    if chain.align > 1:
        good &= stated % chain.align == 0
    good[-1] &= at[-1] + stated[-1] + chain.extra <= len(data)
    whole = len(at) if good.all() else int(np.argmin(good))
    resume = int(at[whole - 1] + stated[whole - 1]) + chain.extra if whole else start
    rest = walk_plain(chain, data, resume)
    return Walk(np.concatenate((at[:whole], rest.at)) if len(rest.at) else at[:whole], rest.stop, rest.impossible)
