"""`pcq timeline`: every call in the order of time."""

from __future__ import annotations

from typing import Annotated

import typer
from msgspec.structs import replace

from analyzer.cli.exits import exit_of
from analyzer.cli.filters import CallSelection, Tail, Time, TimeColumn
from analyzer.cli.options import (
    CaptureReading,
    EntryFormat,
    Files,
    OutputEntryFormat,
    Strict,
    Writing,
    command,
)


@command
def timeline(
    reading: CaptureReading,
    writing: Writing,
    selection: CallSelection,
    files: Files,
    tail: Tail = None,
    time: Time = TimeColumn.relative,
    all_attempts: Annotated[
        bool, typer.Option("--all-attempts", help="Show every try of a registry read, not only the last (text).")
    ] = False,
    unfold: Annotated[
        bool, typer.Option("--unfold", help="A line for every call, also where polls of a handle repeat (text).")
    ] = False,
    output_format: OutputEntryFormat = EntryFormat.text,
    strict: Strict = False,
) -> None:
    """Every call: who asked what, when, and what came back."""
    from analyzer.views.timeline import Timeline

    analysis = reading.analysis(files)
    wanted = replace(selection.selection, tail=tail)
    writing.write(Timeline(analysis, wanted, all_attempts, time.value, unfold), output_format.value)
    raise typer.Exit(exit_of(analysis, strict=strict, asked_for=selection.finds(analysis)))
