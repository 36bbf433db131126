"""`pcq files`: what was done to files over SMB."""

from __future__ import annotations

import typer

from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.exit_codes import EXIT_DONE
from analyzer.commands.shared.options import Files, OutputFormat
from analyzer.commands.shared.result_writing import Writing


@command
def files(
    reading: CaptureReading,
    writing: Writing,
    files: Files,
    output_format: OutputFormat = "text",
) -> None:
    """Files that were opened, read, written, renamed or deleted over SMB, with the digest of what passed."""
    from analyzer.screens.views.files import FilesView

    reading.refuse_cases(files, "no content of files is in it")
    reading.refuse_redaction("names of files are what it lists")
    reading.refuse_bounds("files are read in an order of their own")
    analysis = reading.analysis(files, in_sessions="none", with_files=True)
    writing.write(FilesView(analysis, analysis.listed_files()), output_format)
    raise typer.Exit(EXIT_DONE)
