"""Marks calls that were read from conflicting bytes: two versions of these bytes were captured.

A machine in the path may send other bytes again than the first ones. Then the server reads something else than a person who
watches. Such a call keeps its state, and its reason says so.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from analyzer.core.byte_origins import FrameExtent
from analyzer.core.events import Conflict
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.calls.call import Call, Side
from analyzer.results.calls.call_table import CallTable
from analyzer.results.calls.pdus import pdus_alone

REASON = "two versions of its bytes were captured; the first one was read"


def mark_conflicts(calls: CallTable, taken: Sequence[int], conflicts: Sequence[Conflict]) -> Sequence[int]:
    """Sets the reason of calls whose bytes were captured in two versions. `taken` has the positions of all calls; returns their new
    positions."""
    marks, positions = Marks(), array("I", taken)
    marks.add(conflicts)
    rows = np.array(taken, np.int64)
    first, last, began = (calls.column(name)[rows] for name in ("first_frame", "begin_frame", "end_frame"))
    channel = calls.by_context("channel")[rows]
    places: set[int] = set()
    for frame in marks.frames:
        # Those whose request may have come in this frame; and of each channel the one whose answer began last before it or in it.
        places.update(np.flatnonzero((first <= frame) & (frame <= last)).tolist())
        answered = np.flatnonzero((began >= 0) & (began <= frame))
        answered = answered[np.argsort(began[answered], kind="stable")[::-1]]
        places.update(answered[np.unique(channel[answered], return_index=True)[1]].tolist())
    for place in sorted(places):
        call = calls[positions[place]]
        if (found := marks.marked(call)) is not call:
            positions[place] = calls.replaced(positions[place], found)
    return positions


class Marks:
    """The bytes that were captured in two versions, as far as the capture was read."""

    def __init__(self) -> None:
        self.frames: dict[int, list[FrameExtent]] = {}
        self._added = 0

    def add(self, conflicts: Sequence[Conflict]) -> None:
        """Adds the bytes of the conflicts that are new in the list."""
        for conflict in conflicts[self._added :]:
            for extent in conflict.extents:
                self.frames.setdefault(extent.frame, []).append(extent)
        self._added = len(conflicts)

    def marked(self, call: Call) -> Call:
        """Returns the call, with a reason if its bytes were captured in two versions. A reason that it has already stays."""
        return replace(call, reason=REASON) if call.reason is None and self._are_used_by(call) else call

    def _are_used_by(self, call: Call) -> bool:
        sides = (side for side in (call.request, call.response) if side is not None)
        extents = (own for side in sides for data in _captured(side) for own in data.extents())
        return any(_overlap(one, own) for own in extents for one in self.frames.get(own.frame, ()))


def _captured(side: Side) -> Iterator[TracedBytes]:
    """Yields the captured bytes of a call's side: its PDUs, or the stub if it is too long for its PDUs to be kept."""
    if len(side.pdus):
        yield from pdus_alone(side.pdus)
    elif isinstance(side.stub, TracedBytes):
        yield side.stub


def _overlap(one: FrameExtent, other: FrameExtent) -> bool:
    return one.frame == other.frame and one.start < other.start + other.length and other.start < one.start + one.length
