"""The second reading: what only the whole capture states. Calls as the layers emitted them in, the calls in order out.

Calls without a captured bind are recognised and decoded where that is certain (`recognise`), all are put in order (`order`), and
for each the state of its query handle is found out (`pcq.follow`). Nothing goes back into a layer: what recognised calls say of
countersets, keys and names is learnt by the same functions that the layers use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analyzer.core.events import Conflict, Problem
from analyzer.interfaces.pcq.follow import Following
from analyzer.interfaces.pcq.layer import CatalogLearner, Loss
from analyzer.interfaces.resolution.conflicts import mark_conflicts
from analyzer.interfaces.resolution.late_logons import mark_late_logons
from analyzer.interfaces.resolution.order import call_order
from analyzer.interfaces.resolution.recognise import recognise
from analyzer.interfaces.winperf.layer import KeyFollower
from analyzer.results.call_table import CallTable, OrderedCalls
from analyzer.results.connection import LateLogon


def resolved(
    calls: CallTable,
    learner: CatalogLearner,
    follower: KeyFollower,
    losses: Iterable[Loss],
    conflicts: Sequence[Conflict] = (),
    late: Sequence[LateLogon] = (),
) -> tuple[OrderedCalls, list[Problem]]:
    """The calls in order, and what is to be stated of those that were recognised."""
    taken, notes = recognise(calls, learner, follower)
    if conflicts:
        taken = mark_conflicts(calls, taken, conflicts)
    if late:
        taken = mark_late_logons(calls, taken, late)
    order, following = call_order(calls, taken), Following(calls, list(losses))
    following.add(order)
    following.until(None)
    return OrderedCalls(calls, order, following.views, following.states), notes
