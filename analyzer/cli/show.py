"""`pcq show`: one call, down to its bytes."""

from __future__ import annotations

from typing import Annotated

import typer

from analyzer.cli.options import CaptureReading, Files, Format, Output, OutputFormat, reads_captures


@reads_captures
def show(
    reading: CaptureReading,
    files: Files,
    call: Annotated[int, typer.Option("--call", help="Number of the call, as `timeline` prints it.")],
    field: Annotated[
        str | None, typer.Option("--field", help="Only this place, as an audit names it: response.lpData.perf_freq")
    ] = None,
    output_format: OutputFormat = Format.text,
    output: Output = None,
) -> None:
    """One call taken apart: each field beside its bytes and the frames that carried them."""
    from analyzer.report.output import write
    from analyzer.report.place import ShowPlace
    from analyzer.report.show import Show

    analysis = reading.analysis(files)
    view = Show(analysis, call) if field is None else ShowPlace(analysis, call, field)
    write(view, output_format.value, output)
