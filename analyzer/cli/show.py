"""`pcq show`: one call, down to its bytes."""

from __future__ import annotations

from typing import Annotated

import typer

from analyzer.cli.exits import exit_of
from analyzer.cli.options import CaptureReading, Files, Format, OutputFormat, Writing, command


@command
def show(
    reading: CaptureReading,
    writing: Writing,
    files: Files,
    call: Annotated[int, typer.Option("--call", help="Number of the call, as `timeline` prints it.")],
    field: Annotated[
        str | None, typer.Option("--field", help="Only this place, as an audit names it: response.lpData.perf_freq")
    ] = None,
    output_format: OutputFormat = Format.text,
) -> None:
    """One call taken apart: each field beside its bytes and the frames that carried them."""
    from analyzer.views.place import ShowPlace
    from analyzer.views.show import Show

    analysis = reading.analysis(files)
    view = Show(analysis, call) if field is None else ShowPlace(analysis, call, field)
    writing.write(view, output_format.value)
    raise typer.Exit(exit_of(analysis, is_enough=True))
