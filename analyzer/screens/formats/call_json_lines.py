"""Writes the timeline as JSON Lines; several processes share a long one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from analyzer.core.output.json import line, lines
from analyzer.interfaces.call_contents.call_records import CallRecords
from analyzer.interfaces.call_contents.damaged_buffers import Damages
from analyzer.results.analysis import Analysis
from analyzer.screens.views.timeline import capture_record, records_behind_calls
from analyzer.screens.views.view_type import OfCalls

# A part of the text has this many calls, or as many kilobytes of answers. At this size, processes do not wait for each other.
_CALLS = 256


def call_lines(view: OfCalls) -> Iterator[bytes]:
    """Yields the JSON lines of the timeline, several at a time, or a long line in pieces."""
    analysis, selection = view.analysis, view.selection
    shown = selection.shown(analysis).numbers
    if analysis.jobs == 1 or len(shown) <= _CALLS:
        return lines(view.records(for_json=True))
    from analyzer.core.child_processes import may_copy  # short timelines start no process

    return _lines_of_copies(analysis, shown, selection.words) if may_copy() else lines(view.records(for_json=True))


def _lines_of_copies(analysis: Analysis, shown: Sequence[int], selected_by: str | None) -> Iterator[bytes]:
    from analyzer.core.child_processes import Copies

    yield line(capture_record(analysis.capture))
    damages = Damages()
    parts = _LineParts(analysis, shown)
    copies = Copies(parts.make, len(parts.firsts), analysis.jobs)
    for first, pieces in zip(parts.firsts, copies.parts(), strict=True):
        # The last piece says what is known of the buffers.
        last = b""
        for piece in pieces:
            if last:
                yield last
            last = piece
        damages.note_known(shown[first], last)
    yield from lines(records_behind_calls(analysis, damages, len(shown), selected_by))


class _LineParts:
    """Makes the JSON lines of the timeline's shown calls, a part at a time."""

    def __init__(self, analysis: Analysis, shown: Sequence[int]) -> None:
        self._calls, self._shown = analysis.calls, shown
        self._records = CallRecords(analysis, for_json=True)
        kilobytes = analysis.calls.column("response_stub_length")[np.asarray(shown) - 1] >> 10
        part_of = np.cumsum(1 + kilobytes.astype(np.int64)) // _CALLS
        # The index of the first shown call of each part.
        self.firsts: list[int] = [0, *(np.flatnonzero(np.diff(part_of)) + 1).tolist()]

    def make(self, part: int) -> Iterator[bytes]:
        """Yields the JSON lines of one part of the timeline's calls, then what is known of their buffers."""
        first, *others = self.firsts[part : part + 2]
        numbers = self._shown[first : others[0] if others else None]
        self._records.go_on_after(self._calls[self._shown[first - 1] - 1].time_ns if first else None)
        damages = Damages(numbers[0])
        yield from lines(self._records.records_of(numbers, damages))
        yield damages.sound_between(numbers[0], numbers[-1])
