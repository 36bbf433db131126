"""Resolves what only the whole capture shows: takes calls as the layers emitted them, returns the calls in order.

Calls without a captured bind are recognised and decoded if that is certain (`unbound_calls`). Then all calls are put in order, and
the state of each one's query handle is found (`pcq.handle_following`). Nothing goes back into a layer. What recognised calls say
about countersets, keys and names is learnt by the functions that the layers use.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec.structs import replace

from analyzer.core.events import Conflict, Problem
from analyzer.interfaces.pcq.handle_following import Following
from analyzer.interfaces.pcq.perflib_layer import CatalogLearner, Loss
from analyzer.interfaces.resolution.conflicting_bytes import mark_conflicts
from analyzer.interfaces.resolution.unbound_calls import recognise
from analyzer.interfaces.winperf.winreg_layer import KeyFollower
from analyzer.results.calls.call import Call
from analyzer.results.calls.call_table import CallTable
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.connection import LateLogon, logon_key
from analyzer.results.security import UNKNOWN_USER


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
