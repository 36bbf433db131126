"""`pcq counters`: what a performance monitor would have shown, series by series."""

from __future__ import annotations

from typing import Annotated

import typer

from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.completion import complete_counter
from analyzer.commands.shared.exit_codes import EXIT_DONE, EXIT_NOTHING, exit_of
from analyzer.commands.shared.options import CounterSelection, Files, OutputFormat, Strict, checked, later
from analyzer.commands.shared.result_writing import Writing
from analyzer.core.output.gate import say

CounterPaths = Annotated[
    list[str] | None,
    typer.Option(
        "--counter",
        metavar="PATH",
        autocompletion=complete_counter,
        help=r"Only these counters: '\Processor(*)\% User Time'. Also \\machine\Process(*)\*; names, GUIDs, numbers; * and ?.",
    ),
]
Interval = Annotated[
    int | None,
    typer.Option(
        "--interval",
        metavar="TIME",
        parser=checked(later("questions.series.counter_records:interval_of")),
        help="One mean value for each interval: 500ms, 5s, 2m. Intervals without values are left out.",
    ),
]
Exact = Annotated[bool, typer.Option("--exact", help="Also each value as a fraction, for programs. In lowest terms.")]


@command
def counters(
    reading: CaptureReading,
    writing: Writing,
    selection: CounterSelection,
    files: Files,
    counter: CounterPaths = None,
    interval: Interval = None,
    exact: Exact = False,
    output_format: OutputFormat = "text",
    strict: Strict = False,
) -> None:
    """What a performance monitor would have shown: rates, percentages, times, series by series. asked 2×: the client asked for a
    counter twice; the second value is `repeated` in records and must not be summed.
    """
    from analyzer.screens.views.counters import Counters

    analysis = reading.analysis(files)
    view = Counters(selection.selected_analysis(analysis), tuple(counter or ()), interval, selection.filter, exact)
    writing.write(view, output_format)
    unmatched = list(view.selection.unmatched()) if analysis.calls else []
    for path, near in unmatched:
        say(f"{path} is no counter of this capture{'; near it: ' if near else ''}{', '.join(near)}")
    code = exit_of(analysis, strict=strict)
    if code == EXIT_DONE and unmatched and len(unmatched) == len(view.patterns):
        code = EXIT_NOTHING
    raise typer.Exit(code)
