"""`pcq sessions`: who was logged on, how, and what opened it."""

from __future__ import annotations

import typer

from analyzer.cli.exits import EXIT_DONE, exit_of
from analyzer.cli.options import CaptureReading, Files, Format, Output, OutputFormat, reads_captures


@reads_captures
def sessions(
    reading: CaptureReading,
    files: Files,
    output_format: OutputFormat = Format.text,
    output: Output = None,
) -> None:
    """Every SMB session: who, on what, protected how, and which key opened it."""
    from analyzer.report.output import Sessions, write

    analysis = reading.analysis(files)
    write(Sessions(analysis), output_format.value, output)
    raise typer.Exit(EXIT_DONE if analysis.sessions else exit_of(analysis, strict=False))
