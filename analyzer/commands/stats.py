"""`stats`: what a capture amounts to, and what an investigator asks of it."""

from __future__ import annotations

import typer

from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.exit_codes import exit_of
from analyzer.commands.shared.options import CallSelection, Files, OutputFormat, Strict
from analyzer.commands.shared.result_writing import Writing


@command
def stats(
    reading: CaptureReading,
    writing: Writing,
    selection: CallSelection,
    files: Files,
    output_format: OutputFormat = "text",
    strict: Strict = False,
) -> None:
    """Response times, polls, identities, errors; who looked at processes, the network, sessions, and what they saw."""
    from analyzer.screens.views.stats import Stats

    analysis = reading.analysis(files)
    writing.write(Stats(selection.selected_analysis(analysis)), output_format)
    raise typer.Exit(exit_of(analysis, strict=strict, asked_for=selection.finds(analysis)))
