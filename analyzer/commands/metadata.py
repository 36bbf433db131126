"""`export-metadata`: the names and types of a capture's counters, saved for other captures."""

from __future__ import annotations

import typer

from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.exit_codes import EXIT_DONE, EXIT_NOTHING, exit_of
from analyzer.commands.shared.options import Files
from analyzer.commands.shared.result_writing import Writing
from analyzer.core.output.gate import say


@command
def export_metadata(reading: CaptureReading, files: Files, writing: Writing) -> None:
    """Save what servers reported about their countersets, counters and names, for --metadata."""
    from analyzer.screens.views.metadata import SavedMetadata

    view = SavedMetadata(reading.analysis(files))
    writing.write(view, "jsonl")
    say(view.summary())
    has_some = bool(next(view.records()).servers)
    code = exit_of(view.analysis, is_enough=has_some)
    raise typer.Exit(EXIT_NOTHING if code == EXIT_DONE and not has_some else code)
