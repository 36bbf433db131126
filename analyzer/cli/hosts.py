"""`pcq hosts`: the machines of a capture and their names."""

from __future__ import annotations

import typer

from analyzer.cli.exits import EXIT_DONE, exit_of
from analyzer.cli.options import CaptureReading, Files, Format, Output, OutputFormat, reads_captures


@reads_captures
def hosts(
    reading: CaptureReading,
    files: Files,
    output_format: OutputFormat = Format.text,
    output: Output = None,
) -> None:
    """Every machine that took part, with the names the traffic gives it and where each was said."""
    from analyzer.report.output import Hosts, write

    analysis = reading.analysis(files)
    write(Hosts(analysis), output_format.value, output)
    raise typer.Exit(EXIT_DONE if analysis.sessions else exit_of(analysis, strict=False))
