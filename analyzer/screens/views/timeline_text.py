"""The timeline as text: a header, one line a call, then what could not be read and why."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from analyzer.interfaces.contents.damages import Damages
from analyzer.questions.filters.selection import EVERYTHING, Selection
from analyzer.results.analysis import Analysis, Selected
from analyzer.screens.views.legend import Legend
from analyzer.screens.views.runs import find_runs
from analyzer.screens.views.text import (
    call_lines,
    call_run_lines,
    folded,
    header_lines,
    problem_lines,
    safe,
    time_words,
    total_words,
)
from analyzer.screens.views.view import Clock

# Below so many columns room is dear.
_WIDE = 110


def timeline_lines(
    analysis: Analysis,
    width: int | None,
    *,
    selection: Selection = EVERYTHING,
    all_attempts: bool = False,
    clock: Clock = "relative",
    unfold: bool = False,
) -> Iterator[str]:
    """The timeline. Polls of one handle, and other calls that say the same again, share a line unless `unfold`."""
    yield from header_lines(analysis, width)
    selected = selection.calls(analysis)
    lines = selection.ends_of(selected if all_attempts else _without_early_tries(selected, analysis))
    legend = Legend(analysis, lines.numbers)
    for line in legend.lines():
        yield from (safe(text) for text in folded(line, 4, width))
    if lines:
        yield ""
    before: int | None = None
    is_narrow = width is not None and width < _WIDE
    damages = Damages()
    runs = {} if unfold or all_attempts else find_runs(analysis, lines.numbers)
    # Of calls in a run, only the first has a line.
    is_hidden = bytearray(len(analysis.calls) + 1)
    for one in runs.values():
        for number in islice(one.numbers, 1, None):
            is_hidden[number] = True
    for number, call in lines.only(number for number in lines.numbers if not is_hidden[number]):
        time = time_words(call.time_ns, analysis.capture, clock, before)
        before = call.time_ns
        # On a narrow page, ends that the legend gives for all calls are not repeated in each.
        ends = "" if is_narrow and len(legend) == 1 else legend.label(call)
        if (run := runs.get(number)) is not None:
            yield from call_run_lines(run, call, analysis, width, time=time, ends=ends, damages=damages)
        else:
            yield from call_lines(
                number, call, analysis, width, all_attempts=all_attempts, time=time, damages=damages, ends=ends
            )
    if selection.words is not None and not selected:
        yield ""
        yield safe(f"no call passes: {selection.words}; without that all calls are shown")
    yield from problem_lines(analysis, width, damages)
    yield ""
    # A read's tries count one by one, also where only the last is shown; of the last calls asked for, those that are shown.
    counted = selected if selection.tail is None else lines
    total = total_words(analysis.calls.states_of(counted.numbers), len(analysis.calls))
    by = f" ({selection.words})" if selection.words is not None else ""
    yield from (safe(line) for line in folded(total + by, 4, width))


def _without_early_tries(calls: Selected, analysis: Analysis) -> Selected:
    """Of each registry read only the last try there is."""
    # Few calls are reads, and all of them have something that few have.
    numbers = np.asarray(calls.numbers, np.int64)
    rare = calls.only(numbers[analysis.calls.column("rare")[numbers - 1] > 0].tolist())
    reads = [(number, call.read.number) for number, call in rare if call.read is not None]
    last = {read: number for number, read in reads}
    early = {number for number, read in reads if last[read] != number}
    return calls.only(number for number in calls.numbers if number not in early) if early else calls
