"""Resolves what only the whole capture shows: takes calls as the layers emitted them, returns the calls in order.

Calls without a captured bind are recognised and decoded if that is certain (`unbound_calls`). Then all calls are put in order, and
the state of each one's query handle is found (`pcq.handle_following`). Nothing goes back into a layer. What recognised calls say
about countersets, keys and names is learnt by the functions that the layers use.

Calls that were read from conflicting bytes are marked: two versions of these bytes were captured. A machine in the path may send
other bytes again than the first ones. Then the server reads something else than a person who watches. Such a call keeps its state,
and its reason says so.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from analyzer.core.byte_origins import FrameExtent
from analyzer.core.events import Conflict, Problem
from analyzer.core.traced_bytes import TracedBytes
from analyzer.interfaces.pcq.handle_following import Following
from analyzer.interfaces.pcq.perflib_layer import CatalogLearner, Loss
from analyzer.interfaces.resolution.unbound_calls import recognise
from analyzer.interfaces.winperf.winreg_layer import KeyFollower
from analyzer.results.calls.call import Call, Side
from analyzer.results.calls.call_table import CallTable
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.calls.pdus import pdus_alone
from analyzer.results.connection import LateLogon, logon_key
from analyzer.results.security import UNKNOWN_USER

# ---------------------------------------------------------------------------------------------------- conflicting bytes


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


# --------------------------------------------------------------------------------------------- whole capture resolution


def resolved(
    calls: CallTable,
    learner: CatalogLearner,
    follower: KeyFollower,
    losses: Iterable[Loss],
    conflicts: Sequence[Conflict] = (),
    late: Sequence[LateLogon] = (),
) -> tuple[OrderedCalls, list[Problem]]:
    """Returns the calls of the whole capture in order, and notes on recognised calls."""
    taken, notes = recognise(calls, learner, follower)
    if conflicts:
        taken = mark_conflicts(calls, taken, conflicts)
    if late:
        taken = mark_late_logons(calls, taken, late)
    order, following = call_order(calls, taken), Following(calls, list(losses))
    following.add(order)
    following.until(None)
    return OrderedCalls(calls, order, following.views, following.states), notes


def call_order(calls: CallTable, taken: Sequence[int]) -> Sequence[int]:
    """Returns positions of calls in order: by the first frame of the request (of the response if there is no request), then as in
    `taken`."""
    positions = np.asarray(taken, np.uint32)
    times, frames = (calls.column(name)[positions] for name in ("first_time", "first_frame"))
    earlier = (times[1:] < times[:-1]) | ((times[1:] == times[:-1]) & (frames[1:] < frames[:-1]))
    if not earlier.any():
        return taken
    return array("I", positions[np.lexsort((frames, times))].tobytes())


def mark_late_logons(calls: CallTable, taken: Sequence[int], late: Sequence[LateLogon]) -> Sequence[int]:
    """Sets the later user of calls for which two logons are possible, because the later logon was read after them.

    Such a call was sent before the logon was read, over a further connection of its session. Bytes of that connection are missing
    ([MS-SMB2] section 3.3.5.5.2). `taken` has the positions of all calls; returns their new positions.
    """
    positions, rows = array("I", taken), np.array(taken, np.int64)
    session, time_ns = calls.by_context("session")[rows], calls.column("first_time")[rows]
    for one in late:
        is_between = (session == one.session) & (time_ns >= one.since_ns) & (time_ns <= one.until_ns)
        for place in np.flatnonzero(is_between).tolist():
            call = calls[positions[place]]
            if (found := _with_later(call, one)) is not call:
                positions[place] = calls.replaced(positions[place], found)
    return positions


def _with_later(call: Call, late: LateLogon) -> Call:
    """Returns a call with the user of a later logon beside its own, if SMB names its account and the two differ."""
    auth, user = call.auth, late.identity.account or UNKNOWN_USER
    if auth.user_from == "rpc" or auth.later_user is not None or auth.user == user:
        return call
    return replace(call, auth=replace(auth, later_user=user, later_logon=logon_key("smb", late.logon)))
