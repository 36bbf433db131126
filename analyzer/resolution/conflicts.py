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
    """Gives the calls that used such bytes their reason, where they have none. Before the times of calls are dropped."""
    for extent in dict.fromkeys(extent for conflict in conflicts for extent in conflict.extents):
        for at in _candidates(calls, extent.frame):
            call = calls[at]
            if call.reason is None and _uses(call, extent):
                calls.replace(at, replace(call, reason=REASON))


def _candidates(calls: CallWriter, frame: int) -> Iterable[int]:
    """Calls whose request may have come in this frame; and of each channel the one whose answer began last before it or in it."""
    column = calls.moments.column
    asked = np.flatnonzero((column("first_frame") <= frame) & (frame <= column("begin_frame")))
    began = column("end_frame")
    answered = np.flatnonzero((began >= 0) & (began <= frame))
    answered = answered[np.argsort(began[answered], kind="stable")[::-1]]
    _, latest = np.unique(column("channel")[answered], return_index=True)
    return sorted({*asked.tolist(), *answered[latest].tolist()})


def _uses(call: Call, extent: Extent) -> bool:
    sides = (side for side in (call.request, call.response) if side is not None)
    return any(_overlap(extent, own) for side in sides for data in _captured(side) for own in data.extents())


def _captured(side: Side) -> Iterator[TracedBytes]:
    """What was captured of a side: its PDUs, or the stub of one too long for these to be kept."""
    if len(side.pdus):
        yield from (fragment.pdu for fragment in side.pdus)
    elif isinstance(side.stub, TracedBytes):
        yield side.stub


def _overlap(one: Extent, other: Extent) -> bool:
    return one.frame == other.frame and one.start < other.start + other.length and other.start < one.start + one.length
