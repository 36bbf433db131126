"""Defines what every view has: records for programs, lines for people. `formats` writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, Protocol

from analyzer.results.analysis import Analysis
from analyzer.results.records.record_types import Record

if TYPE_CHECKING:
    from analyzer.interfaces.call_contents.raw_samples import SampleChunk
    from analyzer.questions.filters.call_selection import Selection
    from analyzer.results.records.sample import SampleRecord

# The origin of a call's time: 1970, the capture's first frame, or the call shown before it.
Clock = Literal["absolute", "relative", "delta"]


class View(Protocol):
    """A view: one command's result, as records and as lines."""

    def records(self) -> Iterator[Record]:
        """Yields the records of the command's result, as documented in docs/output.md."""
        ...

    def lines(self, width: int | None) -> Iterator[str]:
        """Yields the view's text for people, folded at `width` columns (None: not folded), with rich's markup for colours."""
        ...

    def inputs(self) -> tuple[str, ...]:
        """Returns the names of the files that the view was made from; output must not overwrite them."""
        ...


class OfCapture:
    """The part of a view that every view of a capture shares."""

    __slots__ = ()
    analysis: Analysis

    def inputs(self) -> tuple[str, ...]:
        return self.analysis.capture.files


class OfCalls(OfCapture):
    """A view that shows the selected calls of a capture one by one; several processes may share its JSON Lines."""

    __slots__ = ()
    selection: Selection

    def records(self, *, for_json: bool = False) -> Iterator[Record]:
        """Yields the records that every view of calls has. With `for_json`, buffers whose JSON is cheap to make come as JSON
        text."""
        raise NotImplementedError


class OfSamples(OfCapture):
    """A view of raw counter values, whose JSON Lines are made of the columns of an answer."""

    __slots__ = ()

    def chunks(self) -> Iterator[SampleChunk | SampleRecord]:
        """Each view of this type yields what it shows: chunks if an answer comes as columns (`sample_chunks`), else records."""
        raise NotImplementedError
