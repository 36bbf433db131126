"""Runs of calls that say the same again and again: calls with their numbers in, runs out, each to be shown in one line.

A run is three or more successful polls of one handle with nothing else done on it in between, or three or more calls of one
method of an interface that is not decoded, with one outcome and nothing else called over the same channel in between.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, MutableSequence

from msgspec import Struct

from analyzer.questions.statistics.summary import is_poll
from analyzer.results.call import Call

_FEWEST = 3


class Run(Struct):
    """Calls by their numbers, and the time of each."""

    numbers: MutableSequence[int]
    times: MutableSequence[int]
    is_polls: bool


def find_runs(calls: Iterable[tuple[int, Call]]) -> dict[int, Run]:
    """The runs, by the number of their first call."""
    found: dict[int, Run] = {}
    current: dict[tuple[int, str | None], tuple[tuple[object, ...], Run]] = {}

    def end(place: tuple[int, str | None]) -> None:
        ended = current.pop(place, None)
        if ended is not None and len(ended[1].numbers) >= _FEWEST:
            found[ended[1].numbers[0]] = ended[1]

    for number, call in calls:
        place = call.channel, call.handle
        polls = call.handle is not None and is_poll(call)
        if polls or not (call.is_perflib or call.is_winreg):
            value = call.read.value_name if call.read is not None else None
            key = (call.interface.uuid, call.method or call.opnum, call.status, call.fault, call.state, value)
            running = current.get(place)
            if running is None or running[0] != key:
                end(place)
                running = current[place] = key, Run(array("q"), array("q"), polls)
            running[1].numbers.append(number)
            running[1].times.append(call.time_ns)
        else:
            end(place)
    for place in list(current):
        end(place)
    return found
