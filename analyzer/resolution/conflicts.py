"""Which calls were read from bytes of which two versions were captured.

Somebody in the path may send other bytes again than those that were there before, so that the server reads something else than who
watches. Such a call keeps its state, and its reason says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from analyzer.core.events import Conflict
from analyzer.core.traced import Extent, TracedBytes
from analyzer.model.call import Call, Side
from analyzer.model.store import CallWriter

REASON = "two versions of its bytes were captured; the first one was read"


def mark_conflicts(calls: CallWriter, conflicts: Sequence[Conflict]) -> None:
    """Gives the calls that used such bytes their reason. Before the times of calls are dropped."""
    marks = Marks()
    marks.add(conflicts)
    for at in sorted({at for frame in marks.frames for at in _candidates(calls, frame)}):
        call = calls[at]
        if (found := marks.marked(call)) is not call:
            calls.replace(at, found)


class Marks:
    """The bytes with two versions that are known so far."""

    def __init__(self) -> None:
        self.frames: dict[int, list[Extent]] = {}
        self._added = 0

    def add(self, conflicts: Sequence[Conflict]) -> None:
        """Takes those of all conflicts that were not there before."""
        for conflict in conflicts[self._added :]:
            for extent in conflict.extents:
                self.frames.setdefault(extent.frame, []).append(extent)
        self._added = len(conflicts)

    def marked(self, call: Call) -> Call:
        """The call, with its reason where it used such bytes; a call that has a reason keeps it."""
        return replace(call, reason=REASON) if call.reason is None and self._are_used_by(call) else call

    def _are_used_by(self, call: Call) -> bool:
        sides = (side for side in (call.request, call.response) if side is not None)
        extents = (own for side in sides for data in _captured(side) for own in data.extents())
        return any(_overlap(one, own) for own in extents for one in self.frames.get(own.frame, ()))


def _candidates(calls: CallWriter, frame: int) -> Iterable[int]:
    """Calls whose request may have come in this frame; and of each channel the one whose answer began last before it or in it."""
    column = calls.moments.column
    asked = np.flatnonzero((column("first_frame") <= frame) & (frame <= column("begin_frame")))
    began = column("end_frame")
    answered = np.flatnonzero((began >= 0) & (began <= frame))
    answered = answered[np.argsort(began[answered], kind="stable")[::-1]]
    _, latest = np.unique(column("channel")[answered], return_index=True)
    return sorted({*asked.tolist(), *answered[latest].tolist()})


def _captured(side: Side) -> Iterator[TracedBytes]:
    """What was captured of a side: its PDUs, or the stub of one too long for these to be kept."""
    if len(side.pdus):
        yield from (fragment.pdu for fragment in side.pdus)
    elif isinstance(side.stub, TracedBytes):
        yield side.stub


def _overlap(one: Extent, other: Extent) -> bool:
    return one.frame == other.frame and one.start < other.start + other.length and other.start < one.start + one.length
