"""`pcq calibrate`: what a Windows returned and displayed, beside what we make of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.exit_codes import EXIT_DIFFERS, EXIT_DONE
from analyzer.commands.shared.options import OutputFormat
from analyzer.commands.shared.result_writing import Writing


@command
def calibrate(
    writing: Writing,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What tools/windows/collect.py wrote.")],
    output_format: OutputFormat = "text",
) -> None:
    """Decode what Windows returned, compare displayed values with PDH's, and state which open points each buffer decides.

    Exit 5 where a value differs or a buffer is damaged.
    """
    from analyzer.results.records.calibration import CalibrationSummaryRecord
    from analyzer.screens.views.calibrate import Calibration

    view = Calibration.read(folder)
    writing.write(view, output_format)
    (summary,) = (record for record in view.records() if isinstance(record, CalibrationSummaryRecord))
    raise typer.Exit(EXIT_DIFFERS if summary.differ or summary.damaged else EXIT_DONE)
