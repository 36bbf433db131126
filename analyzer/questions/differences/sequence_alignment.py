"""Two sequences in, the pairs of positions that belong together out, both ascending.

What both begin and end with is paired first. Between, the shortest edit script (E. Myers, "An O(ND) Difference Algorithm and Its
Variations", 1986) is looked for up to `_MOST_EDITS` edits. If sequences differ more, the n-th occurrence in one belongs to the n-th
in the other, where these pairs ascend (longest increasing subsequence). That takes n log n steps, whatever they hold.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence

Pairs = list[tuple[int, int]]

_MOST_EDITS = 600


def aligned(a: Sequence[Hashable], b: Sequence[Hashable]) -> Pairs:
    """Aligns two sequences: the positions of equal items that belong together."""
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
    """The stretches between aligned pairs in which at least one sequence has something."""
    before_a, before_b = 0, 0
    for x, y in [*pairs, (length_a, length_b)]:
        if x > before_a or y > before_b:
            yield range(before_a, x), range(before_b, y)
        before_a, before_b = x + 1, y + 1


def aligned_by_levels(a: Sequence[Sequence[Hashable]], b: Sequence[Sequence[Hashable]]) -> Pairs:
    """Aligns items that have several keys each, the finest first: what a finer key leaves unpaired between two pairs, a coarser one
    may pair."""
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
    """The aligned pairs that the shortest edit script keeps; None where it has too many edits."""
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
    """The aligned pairs on the edit script's way from the end back to the beginning."""
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
    """Aligned pairs of n-th occurrences that ascend in both sequences, as many as there can be of these."""
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
