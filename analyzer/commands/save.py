"""`pcq save`: the whole analysis as a case, which every command takes in place of its captures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.exit_codes import exit_of
from analyzer.commands.shared.options import Files, Force
from analyzer.commands.shared.result_writing import destination_of
from analyzer.core.output.gate import say
from analyzer.core.printable_text import counted


@command
def save(
    reading: CaptureReading,
    files: Files,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="CASE", help="Write the case to this file.")],
    force: Force = False,
) -> None:
    """Save the whole analysis, decrypted and without keys: every command takes the case in place of the captures."""
    from analyzer.pipeline.case import read_back, write_case
    from analyzer.screens.viewmodel.call_summary_words import REDACTED

    destination = destination_of(output, files, reading, force=force, private=True)
    analysis = replace(reading, hashing=True).analysis(files, with_links=True)
    manifest = None  # where a reader of standard output went away
    with destination.opened(read_back) as out:
        manifest = write_case(analysis, out, limits=reading.limits, options=reading.stated)
    if manifest is not None:
        counts = {"call": manifest.calls, "session": len(analysis.sessions), "problem": manifest.problems}
        rows = ", ".join(f"{counted(count, name)}" for name, count in counts.items() if count)
        redacted = f"; {REDACTED}" if analysis.capture.redacted else ""
        say(f"{output}: {rows or 'nothing of ours'}; it holds what was decrypted, and no key{redacted}")
    raise typer.Exit(exit_of(analysis))
