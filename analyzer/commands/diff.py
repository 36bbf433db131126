"""`pcq diff`: what differs between two captures or two moments of one, and what is new on a machine."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.exit_codes import EXIT_DONE, EXIT_FILES, EXIT_NOTHING, exit_of
from analyzer.commands.shared.options import At, CallSelection, Files
from analyzer.commands.shared.result_writing import Writing
from analyzer.core.output.gate import Destination, say, write_document

if TYPE_CHECKING:
    from analyzer.questions.differences.baseline import NewThings
    from analyzer.questions.differences.difference_records import Differences
    from analyzer.results.analysis import Analysis


class DiffFormat(StrEnum):
    text = "text"
    jsonl = "jsonl"
    json = "json"
    csv = "csv"
    parquet = "parquet"
    html = "html"


EXIT_DIFFERENT, EXIT_INCOMPLETE = 10, 12

Values = Annotated[
    bool,
    typer.Option("--values", help="Tell counter values that differ, one by one. Each counts as a difference."),
]
BaselineFile = Annotated[
    Path | None,
    typer.Option("--baseline", help="Tell only what is new against this file. The file is one of --write-baseline."),
]
NewBaseline = Annotated[
    Path | None,
    typer.Option("--write-baseline", help="Write what the captures show as usual. Nothing else is printed."),
]


@command
def diff(
    reading: CaptureReading,
    writing: Writing,
    selection: CallSelection,
    files: Files,
    at: At = None,
    baseline: BaselineFile = None,
    new_baseline: NewBaseline = None,
    values: Values = False,
    output_format: Annotated[
        DiffFormat,
        typer.Option(
            "--format",
            metavar="FORMAT",
            is_eager=True,
            help="text, jsonl, json, csv, html, or parquet with -o. html is a page for a browser.",
        ),
    ] = DiffFormat.text,
) -> None:
    """What differs between A and B, each captures, a case or a dataset: machines, accounts, counters, processes, services, calls.

    Clocks, handles and what else differs by its nature is left out. With --at twice, two moments of the captures; with --baseline,
    what is new on the machines.

    Exit 0: equal, 10: different, 12: no difference, and not all could be compared, 3: no call in either.
    """
    from analyzer.screens.views.diff import DifferencesView

    if sum(one is not None for one in (at or None, baseline, new_baseline)) > 1:
        raise typer.BadParameter("one of --at, --baseline and --write-baseline", param_hint="--at")
    if baseline is not None:
        writing = writing.sparing([baseline])
    destination = writing.beside(new_baseline)
    if new_baseline is not None:
        _write(selection.selected_analysis(reading.analysis_or_dataset(files)), new_baseline, destination)
    found = (
        _new_things(baseline, selection.selected_analysis(reading.analysis_or_dataset(files)))
        if baseline is not None
        else _moments(at, selection.selected_analysis(reading.analysis_or_dataset(files)), values=values)
        if at
        else _sides(reading, selection, files, values=values)
    )
    summary = found.summary
    view = DifferencesView(found, (str(baseline),) if baseline is not None else ())
    if output_format is DiffFormat.html:
        from analyzer.screens.formats.diff_page import diff_page

        write_document(b"".join(diff_page(view, writing.evidence())), writing.destination.sparing(view.inputs()))
    else:
        writing.write(view, output_format.value)
    raise typer.Exit(_exit_of([one for _, one in found.sides], summary.outcome))


def _sides(reading: CaptureReading, selection: CallSelection, files: list[str], *, values: bool) -> Differences:
    """Reads both captures of `diff` and compares them."""
    from analyzer.questions.differences.difference_records import Differences

    if len(files) != 2:
        raise typer.BadParameter(
            f"it compares two sides, and {len(files)} {'is' if len(files) == 1 else 'are'} named: diff A B",
            param_hint="FILE",
        )
    a, b = (selection.selected_analysis(reading.analysis_or_dataset([name])) for name in files)
    return Differences(a, b, counts_values=values)


def _moments(at: list[Any], analysis: Analysis, *, values: bool) -> Differences:
    """Compares two moments of captures, for `diff --at`."""
    from analyzer.questions.differences.difference_records import Differences
    from analyzer.questions.differences.state_at_moment import moments

    if len(at) != 2:
        raise typer.BadParameter("two moments are compared: --at TIME --at TIME", param_hint="--at")
    a, b = moments(analysis, at)
    return Differences(a.analysis, b.analysis, counts_values=values, running=(a.processes, b.processes))


def _new_things(baseline: Path, analysis: Analysis) -> NewThings:
    """Reads a baseline and finds what is new in captures, for `diff --baseline`."""
    from analyzer.questions.differences.baseline import NewThings, read_usual

    return NewThings(read_usual(baseline), str(baseline), analysis)


def _write(analysis: Analysis, path: Path, destination: Destination) -> NoReturn:
    """Writes a baseline of what captures show as usual, and ends the `diff` command."""
    from analyzer.questions.differences.baseline import usual_json

    document, count = usual_json(analysis)
    write_document(document, destination)
    say(f"{path}: {count:,} things that are usual")
    raise typer.Exit(exit_of(analysis))


def _exit_of(sides: list[Analysis], outcome: str) -> int:
    if any(one.unreadable_files for one in sides):
        return EXIT_FILES
    if not any(len(one.shown) for one in sides):
        say("no side has a call: nothing was compared")
        return EXIT_NOTHING
    if outcome == "incomplete":
        say("no difference was found, and not all calls could be compared")
    return {"equal": EXIT_DONE, "different": EXIT_DIFFERENT, "incomplete": EXIT_INCOMPLETE}[outcome]
