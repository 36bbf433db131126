"""The view of `timeline`: every call in order, what could not be read, and how many calls ended how."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from analyzer.interfaces.call_contents.call_records import timeline_records
from analyzer.questions.filters.call_selection import EVERYTHING, Selection
from analyzer.results.analysis import Analysis
from analyzer.results.records.record_types import Record
from analyzer.screens.views.view_type import Clock, OfCalls


class Timeline(Struct, OfCalls, frozen=True):
    """The view of `pcq timeline`."""

    analysis: Analysis
    selection: Selection = EVERYTHING
    all_attempts: bool = False
    clock: Clock = "relative"
    unfold: bool = False

    def records(self, *, for_json: bool = False) -> Iterator[Record]:
        """Yields the records of the timeline. With `for_json`, buffers whose JSON is cheap to make come as JSON text."""
        shown = self.selection.shown(self.analysis)
        return timeline_records(self.analysis, shown=shown.numbers, selected_by=self.selection.words, for_json=for_json)

    def lines(self, width: int | None) -> Iterator[str]:
        """Returns the timeline as text. Loads the text module only here: most programs ask for records."""
        from analyzer.screens.views.timeline_text import timeline_lines

        return timeline_lines(self, width)
