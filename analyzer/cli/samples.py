"""`pcq samples`: raw values, one a line."""

from __future__ import annotations

import typer

from analyzer.cli.exits import exit_of
from analyzer.cli.filters import ListSampleFields, SampleFilterOption
from analyzer.cli.options import CaptureReading, Files, Format, Output, OutputFormat, Strict, reads_captures


@reads_captures
def samples(
    reading: CaptureReading,
    files: Files,
    sample_filter: SampleFilterOption = None,
    list_fields: ListSampleFields = False,
    output_format: OutputFormat = Format.text,
    output: Output = None,
    strict: Strict = False,
) -> None:
    """Every raw counter value that was answered, one a line."""
    from analyzer.report.output import Samples, write

    analysis = reading.analysis(files)
    write(Samples(analysis, sample_filter), output_format.value, output)
    raise typer.Exit(exit_of(analysis, strict=strict))
