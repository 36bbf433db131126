"""Raw counter values: one record or line a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from analyzer.results.analysis import Analysis
from analyzer.results.sample import SampleRecord
from analyzer.screens.views.view import OfCapture

if TYPE_CHECKING:
    from analyzer.interfaces.contents.chunks import SampleChunk
    from analyzer.questions.filters.filter import SampleFilter


class Samples(Struct, OfCapture, frozen=True):
    """The view of `pcq samples`: all values, or those that pass a filter."""

    analysis: Analysis
    filter: SampleFilter | None = None

    def records(self) -> Iterator[SampleRecord]:
        from analyzer.interfaces.contents.samples import sample_records

        return sample_records(self.analysis) if self.filter is None else self.filter.records(self.analysis)

    def lines(self, width: int | None) -> Iterator[str]:
        from analyzer.screens.views.sample_text import sample_lines

        return sample_lines(self.analysis, width, self.filter)

    def chunks(self) -> Iterator[SampleChunk | SampleRecord]:
        """The values as chunks where those of an answer stand in columns (`contents.chunks`)."""
        from analyzer.interfaces.contents.chunks import sample_chunks

        return sample_chunks(self.analysis) if self.filter is None else self.filter.records(self.analysis)
