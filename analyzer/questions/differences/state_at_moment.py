"""Finds what was known at a moment of a capture: the last answer to each question, and the processes that ran."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from analyzer.questions.differences.conversation_keys import USED, means
from analyzer.questions.filters.times_machines_and_users import TimeBound
from analyzer.questions.processes.process_records import process_records
from analyzer.results.analysis import Analysis, Part
from analyzer.results.calls.call import handle_of
from analyzer.results.calls.held_calls import held_call_of
from analyzer.results.records.process import ProcessRecord


class Moment(Struct, frozen=True):
    """A capture at a moment: the calls that were answered last, and the processes that ran."""

    analysis: Analysis
    processes: Sequence[ProcessRecord]


def moments(analysis: Analysis, bounds: Sequence[TimeBound]) -> list[Moment]:
    """Returns the state of a capture at each moment that `diff` compares."""
    return [at_moment(analysis, one.at(analysis.capture), f"last answered until {one}") for one in bounds]


def at_moment(analysis: Analysis, time_ns: int, words: str) -> Moment:
    """Returns the state of a capture at a moment: for each question the last shown call that was sent by then and answered. A
    question is a method with its parameters, asked by one client through one handle."""
    calls, numbers = analysis.calls, analysis.shown.numbers
    last: dict[Hashable, int] = {}
    for number, held in zip(numbers, calls.held(numbers), strict=True):
        call = held or held_call_of(calls[number - 1])
        if call.time_ns > time_ns or call.response is None or call.fault is not None or call.status:
            continue
        shared, request = call.shared, call.request
        handle = next((found for name in USED if (found := handle_of(request, name)) is not None), None)
        who = shared.client.ip, shared.server.ip, shared.interface.uuid, shared.auth.user
        last[(*who, call.opnum, handle, hash(means(call)))] = number
    chosen = sorted(last.values())
    before = f"{analysis.part.words}, " if analysis.part is not None else ""
    last_calls = frozenset(chosen)
    running = [one for one in process_records(analysis) if _runs(one, time_ns, last_calls)]
    return Moment(replace(analysis, part=Part(chosen, analysis.shown_sessions, before + words)), running)


def _runs(one: ProcessRecord, time_ns: int, last: Collection[int]) -> bool:
    """Tells whether a process ran at a moment: it was seen before and after, or in an answer that is the last to its question."""
    if one.first_time_ns > time_ns or one.last_time_ns > time_ns:
        return one.first_time_ns <= time_ns
    return one.last_call in last and (one.ended_before_ns is None or one.ended_before_ns > time_ns)
