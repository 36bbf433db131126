"""`pcq.diff`: compares two captures, datasets or moments, or one with a baseline, and gives the differences as tables.

`pcq.write_baseline`: writes what a capture or dataset shows as usual to a baseline file for `pcq.diff`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyzer.core.caches import cached_property
from analyzer.core.errors import InputError
from analyzer.core.output.gate import Destination, write_document
from analyzer.core.output.standard_json import document
from analyzer.core.printable_text import path_of_text
from analyzer.questions.differences.baseline import NewThings, read_usual, usual_json
from analyzer.questions.differences.difference_records import Differences
from analyzer.questions.differences.state_at_moment import moments
from analyzer.results.records.difference import DifferenceRecord, NotComparedRecord
from analyzer.screens.formats.record_tables import table_of_records
from analyzer.screens.notebook.notebook_capture import Capture, bound_of
from analyzer.screens.views.diff import DifferencesView

if TYPE_CHECKING:
    import polars as pl

    from analyzer.results.analysis import Analysis
    from analyzer.screens.notebook.notebook_capture import Moment
    from analyzer.screens.notebook.notebook_dataset import Dataset


# -------------------------------------------------------------------------------------------------------- notebook diff


class Comparison:
    """The result of `pcq.diff`: what differs between two captures, datasets or moments, or is new in one. Prints like `diff`.

    found = pcq.diff(before, after)
    found.differences.filter(pl.col("about") == "process")
    """

    def __init__(self, found: Differences | NewThings, baseline: tuple[str, ...] = ()) -> None:
        self._found, self._baseline = found, baseline

    def __repr__(self) -> str:
        from rich.text import Text

        return "\n".join(
            Text.from_markup(line).plain for line in DifferencesView(self._found, self._baseline).lines(None)
        )

    @cached_property
    def differences(self) -> pl.DataFrame:
        """Returns the table of differences: what each is about, on which side, and a call's differing fields. Raises nothing.

        found.differences.explode("fields")
        """
        return table_of_records(DifferenceRecord, self._found.found)

    @cached_property
    def not_compared(self) -> pl.DataFrame:
        """Returns the table of calls that `diff` could not compare: one row for each kind, and why. Raises nothing.

        found.not_compared.select("why", "method")
        """
        return table_of_records(NotComparedRecord, self._found.uncompared)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Returns both sides of the comparison and its result, as the last record of `diff --format jsonl`. Raises nothing.

        found.summary["outcome"]
        """
        return document(self._found.summary)


def diff(
    a: Capture | Dataset,
    b: Capture | Dataset | None = None,
    *,
    values: bool = False,
    at: tuple[Moment, Moment] | None = None,
    baseline: str | Path | None = None,
) -> Comparison:
    """Compares two captures or datasets, or parts of them (`filter`, `between`): machines, accounts, countersets, counters,
    processes, services, and calls field by field. Instead of `b`, `at` names two moments of `a`, as for `Capture.between`, or
    `baseline` a file of `write_baseline`: then only new things are reported.

    With `values`, values of counters are told one by one, too. All conversations of a dataset are read, and its calls have the
    numbers of its tables. Raises `InputError` for what cannot be read, is no moment or no baseline, or where there is not one thing
    to compare with.

        pcq.diff(pcq.analyze("before.pcapng"), pcq.analyze("after.pcapng"))
        pcq.diff(pcq.open("dataset"), pcq.analyze("today.pcapng"))
        pcq.diff(cap, at=("13:50", "13:55"))
        pcq.diff(cap, baseline="host.json")
    """
    if sum(one is not None for one in (b, at, baseline)) != 1:
        raise InputError("diff compares with one thing", hint="Give a second capture, or `at`, or `baseline`.")
    analysis = analysis_of(a)
    if b is not None:
        return Comparison(Differences(analysis, analysis_of(b), counts_values=values))
    if baseline is not None:
        usual = read_usual(Path(baseline))
        return Comparison(NewThings(usual, str(baseline), analysis), (str(baseline),))
    before, after = moments(analysis, [bound for one in at or () if (bound := bound_of(one)) is not None])
    running = before.processes, after.processes
    return Comparison(Differences(before.analysis, after.analysis, counts_values=values, running=running))


def analysis_of(side: Capture | Dataset) -> Analysis:
    """Returns the analysis of a capture, or one of all conversations of a dataset, for `diff`."""
    return side.analysis if isinstance(side, Capture) else side.joined()


# ---------------------------------------------------------------------------------------------------- notebook baseline


def write_baseline(a: Capture | Dataset, path: str | Path, *, force: bool = False) -> Path:
    """Writes a baseline for `diff`: what machines of a capture or dataset run, and who asks them. Raises `InputError` if the file
    cannot be written, or if it exists and `force` is not given.

        pcq.write_baseline(pcq.open("dataset"), "host.json")
    """
    analysis = analysis_of(a)
    document_of_usual, _ = usual_json(analysis)
    reads = map(path_of_text, analysis.capture.files)
    write_document(document_of_usual, Destination(Path(path), force=force).sparing(reads))
    return Path(path)
