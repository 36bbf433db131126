"""`export-metadata`: the names and types of a capture's counters, saved for other captures."""

from __future__ import annotations

import typer

from analyzer.cli.exits import EXIT_DONE, EXIT_NOTHING
from analyzer.cli.options import CaptureReading, Files, Output, reads_captures


@reads_captures
def export_metadata(reading: CaptureReading, files: Files, output: Output = None) -> None:
    """Save what servers told about their countersets, counters and names, for --metadata."""
    from analyzer.report.metadata import SavedMetadata
    from analyzer.report.output import write

    view = SavedMetadata(reading.analysis(files))
    write(view, "jsonl", output)
    typer.echo(view.summary(), err=True)
    has_some = next(view.records())["servers"]
    raise typer.Exit(EXIT_DONE if has_some else EXIT_NOTHING)
