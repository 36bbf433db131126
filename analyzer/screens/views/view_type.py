"""Defines what every view has: records for programs, lines for people. `formats` writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Protocol

from analyzer.results.analysis import Analysis
from analyzer.results.records.record_types import Record

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
