"""`pcq samples`: raw values, one a line."""

from __future__ import annotations

import typer

from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.exit_codes import exit_of
from analyzer.commands.shared.options import Files, OutputFormat, SampleSelection, Strict
from analyzer.commands.shared.result_writing import Writing


@command
def samples(
    reading: CaptureReading,
    writing: Writing,
    selection: SampleSelection,
    files: Files,
    output_format: OutputFormat = "text",
    strict: Strict = False,
) -> None:
    """Every raw counter value that was answered, one a line."""
    from analyzer.screens.views.samples import Samples

    analysis = reading.analysis(files)
    writing.write(Samples(selection.selected_analysis(analysis), selection.filter), output_format)
    raise typer.Exit(exit_of(analysis, strict=strict))
