"""`pcq show`: one call, down to its bytes."""

from __future__ import annotations

from typing import Annotated

import typer

from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.exit_codes import EXIT_DONE, EXIT_NOTHING, exit_of
from analyzer.commands.shared.options import CallSelection, Files, OutputFormat
from analyzer.commands.shared.result_writing import Writing


@command
def show(
    reading: CaptureReading,
    writing: Writing,
    files: Files,
    selection: CallSelection,
    call: Annotated[
        int | None,
        typer.Option(
            "--call", help="Number of the call, as timeline prints it. Default: the one call that other options select."
        ),
    ] = None,
    field: Annotated[
        str | None,
        typer.Option("--field", help="Only this field: response.lpData.perf_freq. The audit names fields in this way."),
    ] = None,
    packets: Annotated[
        bool,
        typer.Option(
            "--packets", help="Also its frames, TCP payload and SMB messages. The capture is read once more for them."
        ),
    ] = False,
    output_format: OutputFormat = "text",
) -> None:
    """One call taken apart: each field beside its bytes and the frames that carried them."""
    from analyzer.screens.views.show import Show, ShowPlace

    if call is None and selection.selection.words is None:
        raise typer.BadParameter("which call? --call N, or what selects one", param_hint="--call")
    analysis = reading.analysis(files)
    number = call if call is not None else selection.selection.one(analysis)
    if packets and field is None:
        analysis = reading.with_packets(analysis, files, (number,) if 1 <= number <= len(analysis.calls) else ())
    place = ShowPlace(analysis, number, field) if field is not None else None
    writing.write(place or Show(analysis, number), output_format)
    code = exit_of(analysis, is_enough=True)
    raise typer.Exit(EXIT_NOTHING if code == EXIT_DONE and place is not None and not place.is_found else code)
