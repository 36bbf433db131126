"""`handles`: the lifetime of each query handle."""

from __future__ import annotations

import typer

from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.exit_codes import exit_of
from analyzer.commands.shared.options import CallSelection, Files, OutputFormat, Strict
from analyzer.commands.shared.result_writing import Writing


@command
def handles(
    reading: CaptureReading,
    writing: Writing,
    selection: CallSelection,
    files: Files,
    output_format: OutputFormat = "text",
    strict: Strict = False,
) -> None:
    """Every query handle: opened, filled, polled, closed, and what it held each time."""
    from analyzer.screens.views.handles import Handles

    analysis = reading.analysis(files)
    writing.write(Handles(selection.selected_analysis(analysis)), output_format)
    raise typer.Exit(exit_of(analysis, strict=strict))
