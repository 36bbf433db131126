"""Aligns two sequences: finds the pairs of positions that belong together, ascending on both sides.

A common beginning and end is paired first. Between them, it searches the shortest edit script (E. Myers, "An O(ND) Difference
Algorithm and Its Variations", 1986) up to `_MOST_EDITS` edits. If the sequences differ more, it pairs n-th occurrences, as many as
ascend on both sides (longest increasing subsequence). That takes n log n steps, whatever they hold.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence

Pairs = list[tuple[int, int]]

_MOST_EDITS = 600


def aligned(a: Sequence[Hashable], b: Sequence[Hashable]) -> Pairs:
    """Aligns two sequences: returns the positions of equal items that belong together."""
    first, most = 0, min(len(a), len(b))
    while first < most and a[first] == b[first]:
        first += 1
    last = 0
    while last < most - first and a[-1 - last] == b[-1 - last]:
        last += 1
    middle_a, middle_b = a[first : len(a) - last], b[first : len(b) - last]
    found = _edited(middle_a, middle_b) if middle_a and middle_b else []
    if found is None:
        found = _by_occurrence(middle_a, middle_b)
    pairs = [(at, at) for at in range(first)]
    pairs += [(first + x, first + y) for x, y in found]
    pairs += [(len(a) - last + at, len(b) - last + at) for at in range(last)]
    return pairs


def gaps(pairs: Pairs, length_a: int, length_b: int) -> Iterator[tuple[range, range]]:
    """Yields the stretches between aligned pairs where at least one sequence has items."""
    before_a, before_b = 0, 0
    for x, y in [*pairs, (length_a, length_b)]:
        if x > before_a or y > before_b:
            yield range(before_a, x), range(before_b, y)
        before_a, before_b = x + 1, y + 1


def aligned_by_levels(a: Sequence[Sequence[Hashable]], b: Sequence[Sequence[Hashable]]) -> Pairs:
    """Aligns items with several keys each, the finest first: a coarser key pairs what finer keys left unpaired between two
    pairs."""
    levels = len(a[0]) if a else len(b[0]) if b else 0
    pairs: Pairs = []
    for level in range(levels):
        added: Pairs = []
        for of_a, of_b in gaps(pairs, len(a), len(b)):
            found = aligned([a[at][level] for at in of_a], [b[at][level] for at in of_b])
            added += [(of_a[x], of_b[y]) for x, y in found]
        pairs = sorted(pairs + added)
    return pairs


def _edited(a: Sequence[Hashable], b: Sequence[Hashable]) -> Pairs | None:
    """Returns the aligned pairs that the shortest edit script keeps; None if it needs too many edits."""
    furthest = {1: 0}
    trace: list[dict[int, int]] = []
    for edits in range(min(len(a) + len(b), _MOST_EDITS) + 1):
        trace.append(dict(furthest))
        for diagonal in range(-edits, edits + 1, 2):
            goes_down = diagonal == -edits or (diagonal != edits and furthest[diagonal - 1] < furthest[diagonal + 1])
            x = furthest[diagonal + 1] if goes_down else furthest[diagonal - 1] + 1
            while x < len(a) and 0 <= x - diagonal < len(b) and a[x] == b[x - diagonal]:
                x += 1
            furthest[diagonal] = x
            if x >= len(a) and x - diagonal >= len(b):
                return _kept(trace, len(a), len(b))
    return None


def _kept(trace: Sequence[dict[int, int]], x: int, y: int) -> Pairs:
    """Follows the edit script back from its end, and returns the aligned pairs on it."""
    pairs: Pairs = []
    for edits in range(len(trace) - 1, -1, -1):
        furthest, diagonal = trace[edits], x - y
        goes_down = diagonal == -edits or (diagonal != edits and furthest[diagonal - 1] < furthest[diagonal + 1])
        before = diagonal + 1 if goes_down else diagonal - 1
        start_x = furthest[before] if edits else 0
        start_y = start_x - before if edits else 0
        while x > start_x and y > start_y:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = start_x, start_y
    return pairs[::-1]


def _by_occurrence(a: Sequence[Hashable], b: Sequence[Hashable]) -> Pairs:
    """Returns the longest ascending list of aligned pairs, each of n-th occurrences of the same item."""
    places: dict[Hashable, list[int]] = {}
    for at in range(len(b) - 1, -1, -1):
        places.setdefault(b[at], []).append(at)
    found = [(x, left.pop()) for x, item in enumerate(a) if (left := places.get(item))]
    ends: list[int] = []
    at_end: list[int] = []
    before: list[int] = []
    for number, (_, y) in enumerate(found):
        length = bisect_left(ends, y)
        before.append(at_end[length - 1] if length else -1)
        if length == len(ends):
            ends.append(y)
            at_end.append(number)
        else:
            ends[length], at_end[length] = y, number
    pairs: Pairs = []
    at = at_end[-1] if at_end else -1
    while at >= 0:
        pairs.append(found[at])
        at = before[at]
    return pairs[::-1]
