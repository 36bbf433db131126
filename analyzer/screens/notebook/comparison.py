"""`pcq.diff`: what differs between two captures or datasets, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analyzer.core.cached import cached_property
from analyzer.core.output.json import document
from analyzer.questions.differences.records import Differences
from analyzer.results.difference import DifferenceRecord, NotComparedRecord
from analyzer.screens.formats.schema import table_of_records
from analyzer.screens.notebook.capture import Capture
from analyzer.screens.views.differences import DifferencesView

if TYPE_CHECKING:
    import polars as pl

    from analyzer.results.analysis import Analysis
    from analyzer.screens.notebook.dataset import Dataset


class Comparison:
    """What differs between two captures or datasets, or parts of them. Shown, it is the text of `diff`.

    found = pcq.diff(before, after)
    found.differences.filter(pl.col("about") == "process")
    """

    def __init__(self, found: Differences) -> None:
        self._found = found

    def __repr__(self) -> str:
        from rich.text import Text

        return "\n".join(Text.from_markup(line).plain for line in DifferencesView(self._found).lines(None))

    @cached_property
    def differences(self) -> pl.DataFrame:
        """One row a difference: what it is about, on which side, and of calls the fields that differ. Raises nothing.

        found.differences.explode("fields")
        """
        return table_of_records(DifferenceRecord, self._found.found)

    @cached_property
    def not_compared(self) -> pl.DataFrame:
        """One row for each kind of calls of which nothing can be said, and why. Raises nothing.

        found.not_compared.select("why", "method")
        """
        return table_of_records(NotComparedRecord, self._found.uncompared)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Both sides and what came of it, as the last record of `diff --format jsonl`. Raises nothing.

        found.summary["outcome"]
        """
        return document(self._found.summary)


def diff(a: Capture | Dataset, b: Capture | Dataset, *, values: bool = False) -> Comparison:
    """Compares two captures or datasets, or parts of them (`filter`, `between`): machines, accounts, countersets, counters,
    processes, services, and calls field by field. With `values`, values of counters are told one by one, too. All conversations
    of a dataset are read, and its calls have the numbers of its tables. Raises `InputError` where one of them cannot be read.

        pcq.diff(pcq.analyze("before.pcapng"), pcq.analyze("after.pcapng"))
        pcq.diff(pcq.open("dataset"), pcq.analyze("today.pcapng"))
    """
    return Comparison(Differences(_analysis_of(a), _analysis_of(b), counts_values=values))


def _analysis_of(side: Capture | Dataset) -> Analysis:
    return side.analysis if isinstance(side, Capture) else side.joined()
