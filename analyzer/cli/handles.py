"""`handles`: the life of each query handle."""

from __future__ import annotations

import typer

from analyzer.cli.exits import exit_of
from analyzer.cli.options import CaptureReading, Files, Format, Output, OutputFormat, Strict, reads_captures


@reads_captures
def handles(
    reading: CaptureReading,
    files: Files,
    output_format: OutputFormat = Format.text,
    output: Output = None,
    strict: Strict = False,
) -> None:
    """Every query handle: opened, filled, polled, closed, and what it held each time."""
    from analyzer.report.handles import Handles
    from analyzer.report.output import write

    analysis = reading.analysis(files)
    write(Handles(analysis), output_format.value, output)
    raise typer.Exit(exit_of(analysis, strict=strict))
