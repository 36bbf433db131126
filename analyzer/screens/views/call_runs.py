"""Finds runs of calls that say the same again and again, so that the timeline shows each run in one line.

A run is three or more successful polls of one handle, with nothing else done on it between them. A run is also three or more calls
of one method of an undecoded interface, with one outcome and nothing else called on their channel between them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, MutableSequence, Sequence

import numpy as np
from msgspec import Struct

from analyzer.questions.statistics.shown_call_columns import ShownCalls
from analyzer.results.analysis import Analysis
from analyzer.results.methods import perflib, scmr, winreg

_FEWEST = 3


class CallRun(Struct):
    """A run of calls that say the same: their numbers and times."""

    numbers: MutableSequence[int]
    times: MutableSequence[int]
    is_polls: bool


# Channel, kind of handle, and number of the handle.
_Place = tuple[int, int, int]


def find_runs(analysis: Analysis, numbers: Sequence[int]) -> dict[int, CallRun]:
    """Finds the runs among the calls with these numbers; returns them by the number of their first call."""
    found: dict[int, CallRun] = {}
    current: dict[_Place, tuple[tuple[object, ...], CallRun]] = {}

    def end(place: _Place) -> None:
        ended = current.pop(place, None)
        if ended is not None and len(ended[1].numbers) >= _FEWEST:
            found[ended[1].numbers[0]] = ended[1]

    for number, time_ns, place, key, is_poll in _rows(ShownCalls(analysis, numbers), analysis):
        if key is None:
            end(place)
            continue
        running = current.get(place)
        if running is None or running[0] != key:
            end(place)
            running = current[place] = key, CallRun(array("q"), array("q"), is_poll)
        running[1].numbers.append(number)
        running[1].times.append(time_ns)
    for place in list(current):
        end(place)
    return found


def _rows(calls: ShownCalls, analysis: Analysis) -> Iterator[tuple[int, int, _Place, tuple[object, ...] | None, bool]]:
    """Yields number, time and place of each call that may be in a run or end one, what it says (None: it is in no run), and whether
    it is a poll."""
    contexts, of_queries = analysis.calls.table.contexts, np.array([*(one.number for one in analysis.calls.states), -1])
    views = calls.views
    handles = np.where(views >= 0, of_queries[views], calls.column("key_number"))
    kinds = np.where(handles < 0, 0, np.where(views >= 0, 1, np.where(calls.is_of(scmr.INTERFACE), 2, 3)))
    polls, of_winreg = calls.polls & (handles >= 0), calls.is_of(winreg.INTERFACE)
    is_one = polls | ~(of_winreg | calls.is_of(perflib.INTERFACE))
    read = {
        number: call.read.value_name for number, call in calls.looked_at(polls & of_winreg) if call.read is not None
    }
    names = ("first_time", "context", "method", "opnum", "status", "fault", "state")
    columns = (calls.numbers, kinds, handles, is_one, polls, *map(calls.column, names))
    for number, kind, handle, may_be, is_poll, time_ns, code, *says in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        key = (contexts[code].interface.uuid, *says, read.get(number)) if may_be else None
        yield number, time_ns, (contexts[code].channel, kind, handle), key, is_poll
