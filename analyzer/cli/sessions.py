"""`pcq sessions` and `pcq hosts`: who was logged on, how, and what opened it; the machines of a capture and their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from analyzer.cli.exits import EXIT_DONE, exit_of
from analyzer.cli.options import CaptureReading, Files, Format, Output, OutputFormat, reads_captures

if TYPE_CHECKING:
    from pathlib import Path

    from analyzer.model.analysis import Analysis
    from analyzer.report.output import View


@reads_captures
def sessions(
    reading: CaptureReading,
    files: Files,
    output_format: OutputFormat = Format.text,
    output: Output = None,
) -> None:
    """Every SMB session: who, on what, protected how, and which key opened it."""
    from analyzer.report.output import Sessions

    analysis = reading.analysis(files)
    _show(Sessions(analysis), analysis, output_format, output)


@reads_captures
def hosts(
    reading: CaptureReading,
    files: Files,
    output_format: OutputFormat = Format.text,
    output: Output = None,
) -> None:
    """Every machine that took part, with the names the traffic gives it and where each was said."""
    from analyzer.report.output import Hosts

    analysis = reading.analysis(files)
    _show(Hosts(analysis), analysis, output_format, output)


def _show(view: View, analysis: Analysis, output_format: Format, output: Path | None) -> None:
    """Writes a view that a capture has something to say in even where nothing of ours was called."""
    from analyzer.report.output import write

    write(view, output_format.value, output)
    raise typer.Exit(EXIT_DONE if analysis.sessions else exit_of(analysis, strict=False))
