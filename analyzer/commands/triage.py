"""`pcq triage`: what a responder needs first, of one file or of thousands."""

from __future__ import annotations

import gc
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.exit_codes import EXIT_DONE, EXIT_FILES, EXIT_NOTHING
from analyzer.commands.shared.options import CallSelection, Files, OutputFormat
from analyzer.commands.shared.result_writing import Writing
from analyzer.core.output.gate import STANDARD_OUTPUT

if TYPE_CHECKING:
    from analyzer.results.analysis import Analysis
    from analyzer.results.records.triage import TriageSummary

EXIT_MEDIUM, EXIT_HIGH = 10, 11


class FailOnSeverity(StrEnum):
    high = "high"
    medium = "medium"
    never = "never"


@command
def triage(
    reading: CaptureReading,
    writing: Writing,
    selection: CallSelection,
    files: Files,
    fail_on: Annotated[
        FailOnSeverity,
        typer.Option(
            "--fail-on",
            help="Exit 10 or 11 from here on: medium, high or never. 10: a finding of medium severity, 11: of high severity.",
        ),
    ] = FailOnSeverity.medium,
    output_format: OutputFormat = "text",
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Text: each observation with frames; processes.")
    ] = False,
) -> None:
    """Who did what to what on which machine, and what became of it: a line for each machine and kind; each file by itself.
    `pcq-analyzer FILE` is the same.

    Exit 11: findings of severity high, 10: medium, 3: no performance traffic in any file, 0: nothing of these.
    """
    from analyzer.capture.capture_reader import named_captures
    from analyzer.capture.file_digest import digest_of
    from analyzer.core.errors import InputError
    from analyzer.pipeline.segment_sources import sources_of
    from analyzer.screens.views.triage import Triage

    failures: list[InputError] = []
    found = named_captures(sources_of(files), failures)
    names = tuple(str(one) if hasattr(one, "suffix") else "-" for one in found)

    def analysed(name: str) -> Analysis:
        try:
            return selection.selected_analysis(reading.analysis([name], with_files=True))
        except InputError:
            if reading.hashing and name != STANDARD_OUTPUT:
                reading.read.append((digest_of(Path(name)),))
            raise
        finally:
            # Each file is read for itself, and what was read before is not needed any more.
            gc.unfreeze()

    view = Triage(names, analysed, tuple(map(str, failures)), is_whole=verbose)
    if reading.hashing:
        # The record of what the result was made from comes first, but is known only when the files were read.
        view.read()
    writing.write(view, output_format)
    raise typer.Exit(_exit_of(view.summary, fail_on))


def _exit_of(summary: TriageSummary, fail_on: FailOnSeverity) -> int:
    if fail_on is not FailOnSeverity.never and summary.findings.get("high"):
        return EXIT_HIGH
    if fail_on is FailOnSeverity.medium and summary.findings.get("medium"):
        return EXIT_MEDIUM
    if summary.unreadable:
        return EXIT_FILES
    if not summary.with_performance_traffic and not summary.unclear:
        return EXIT_NOTHING
    return EXIT_DONE
