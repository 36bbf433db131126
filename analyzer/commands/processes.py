"""`pcq processes`: the processes of machines, as answers about Process show them."""

from __future__ import annotations

import typer

from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.exit_codes import exit_of
from analyzer.commands.shared.options import CallSelection, Files, OutputFormat, Strict
from analyzer.commands.shared.result_writing import Writing


@command
def processes(
    reading: CaptureReading,
    writing: Writing,
    selection: CallSelection,
    files: Files,
    output_format: OutputFormat = "text",
    strict: Strict = False,
) -> None:
    """Every process that answers showed: parent, start, end, processor time, memory, and what is odd about it."""
    from analyzer.screens.views.processes import Processes

    analysis = reading.analysis(files)
    writing.write(Processes(selection.selected_analysis(analysis)), output_format)
    raise typer.Exit(exit_of(analysis, strict=strict))
