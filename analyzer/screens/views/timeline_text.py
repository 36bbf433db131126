"""Makes the text of the timeline: a legend of who called whom, a line for each call or run of calls, and what could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field

from analyzer.core.printable_text import counted
from analyzer.interfaces.call_contents.damaged_buffers import Damages
from analyzer.interfaces.call_contents.machine_names import machine_names
from analyzer.questions.statistics.call_statistics import Caller, who_of
from analyzer.results.analysis import Analysis, Selected
from analyzer.results.calls.call import Call
from analyzer.results.calls.call_row_columns import Context
from analyzer.results.security import who_words
from analyzer.screens.views.text_report import (
    call_lines,
    call_run_lines,
    find_runs,
    folded,
    header_lines,
    nothing_passes_words,
    problem_lines,
    safe,
    time_words,
    total_words,
)

if TYPE_CHECKING:
    from analyzer.screens.views.timeline import Timeline

_MOST_CHARACTERS = 24
# More pairs than these are counted, not listed.
_SHOWN_PAIRS = 12
# A terminal with fewer columns is narrow.
_WIDE = 110


def timeline_lines(view: Timeline, width: int | None) -> Iterator[str]:
    """Yields the timeline as text lines. Polls of one handle, and other calls alike, share a line unless `unfold`."""
    yield from header_lines(view.analysis, width)
    selected = view.selection.calls(view.analysis)
    lines = view.selection.ends_of(selected if view.all_attempts else _without_early_tries(selected, view.analysis))
    legend = Legend(view.analysis, lines.numbers)
    for line in legend.lines():
        yield from (safe(text) for text in folded(line, 4, width))
    if lines:
        yield ""
    before: int | None = None
    is_narrow = width is not None and width < _WIDE
    damages = Damages()
    runs = {} if view.unfold or view.all_attempts else find_runs(view.analysis, lines.numbers)
    # Only the first call of a run has a line.
    is_hidden = bytearray(len(view.analysis.calls) + 1)
    for one in runs.values():
        for number in islice(one.numbers, 1, None):
            is_hidden[number] = True
    for number, call in lines.only(number for number in lines.numbers if not is_hidden[number]):
        time = time_words(call.time_ns, view.analysis.capture, view.clock, before)
        before = call.time_ns
        # On a narrow page, ends that the legend gives for all calls are not repeated in each.
        ends = "" if is_narrow and len(legend) == 1 else legend.label(call)
        if (run := runs.get(number)) is not None:
            yield from call_run_lines(run, call, view.analysis, width, time=time, ends=ends, damages=damages)
        else:
            yield from call_lines(
                number,
                call,
                view.analysis,
                width,
                all_attempts=view.all_attempts,
                time=time,
                damages=damages,
                ends=ends,
            )
    if view.selection.words is not None and not selected:
        yield ""
        yield from nothing_passes_words(view.analysis, view.selection.words)
    yield from problem_lines(view.analysis, width, damages)
    yield ""
    # All tries of a read are counted, even if only the last is shown; with --tail, only the shown calls.
    counted = selected if view.selection.tail is None else lines
    total = total_words(view.analysis.calls.states_of(counted.numbers), len(view.analysis.calls))
    by = f" ({view.selection.words})" if view.selection.words is not None else ""
    yield from (safe(line) for line in folded(total + by, 4, width))


class _Pair(Struct):
    label: str
    workstation: str | None
    clients: dict[str, None] = field(default_factory=dict)
    servers: dict[str, None] = field(default_factory=dict)
    calls: int = 0


class Legend:
    """The legend of the timeline: short labels for the pairs of client and server among these calls."""

    def __init__(self, analysis: Analysis, numbers: Sequence[int]) -> None:
        self._names = {ip: names[0] for ip, names in machine_names(analysis).items()}
        self._pairs: dict[Caller, _Pair] = {}
        taken: set[str] = set()
        for common, count in analysis.calls.contexts_of(numbers):
            pair = self._pairs.get(who_of(common))
            if pair is None:
                pair = self._pairs[who_of(common)] = _Pair(self._unique_label(common, taken), common.auth.workstation)
            pair.calls += count
            if len(pair.clients) < 2:
                pair.clients[str(common.client)] = None
            if len(pair.servers) < 2:
                pair.servers[str(common.server)] = None

    def __len__(self) -> int:
        return len(self._pairs)

    def label(self, call: Call) -> str:
        """Returns the label in the timeline's text for a call's client and server, which the legend explains; its only blanks are
        around the arrow."""
        return self._pairs[who_of(call)].label

    def lines(self) -> Iterator[str]:
        """Yields the legend of the timeline, one line a pair: label, account, both addresses, number of calls."""
        for (user, client, server, claimed, later), pair in list(self._pairs.items())[:_SHOWN_PAIRS]:
            sender = next(iter(pair.clients)) if len(pair.clients) == 1 else client
            receiver = next(iter(pair.servers)) if len(pair.servers) == 1 else server
            on = f" on {pair.workstation}" if pair.workstation else ""
            calls = counted(pair.calls, "call")
            yield f"{pair.label}: {who_words(user, claimed, later)}{on} at {sender} → {receiver}, {calls}"
        if (more := len(self._pairs) - _SHOWN_PAIRS) > 0:
            yield f"and {more:,} more: pcq-analyzer stats shows who called"

    def _unique_label(self, common: Context, taken: set[str]) -> str:
        auth = common.auth
        user = "anonymous" if auth.anonymous else (auth.user or "").rpartition("\\")[2].partition("@")[0]
        client = _short(auth.workstation or self._names.get(common.client.ip), common.client.ip)
        server = _short(self._names.get(common.server.ip), common.server.ip)
        label = f"{_short(user, '?')}@{client} → {server}" if user else f"{client} → {server}"
        number = 1
        unique = label
        while unique in taken:
            number += 1
            unique = f"{label}#{number}"
        taken.add(unique)
        return unique


def _short(name: str | None, otherwise: str) -> str:
    """Shortens the name of a machine or user to one word, for the legend before the timeline's text; a DNS name to its first
    label."""
    if not name:
        return otherwise
    word = "_".join(name.partition(".")[0].split()) if not name.replace(".", "").isdigit() else name
    return word[:_MOST_CHARACTERS] or otherwise


def _without_early_tries(calls: Selected, analysis: Analysis) -> Selected:
    """Leaves out of the timeline's text early tries: each registry read keeps only its last try."""
    # Few calls are reads, and all reads have a `rare` entry.
    numbers = np.asarray(calls.numbers, np.int64)
    rare = calls.only(numbers[analysis.calls.column("rare")[numbers - 1] > 0].tolist())
    reads = [(number, call.read.number) for number, call in rare if call.read is not None]
    last = {read: number for number, read in reads}
    early = {number for number, read in reads if last[read] != number}
    return calls.only(number for number in calls.numbers if number not in early) if early else calls
