"""`pcq timeline`: every call in the order of time."""

from __future__ import annotations

from typing import Annotated

import typer

from analyzer.cli.exits import exit_of
from analyzer.cli.filters import CallFilterOption, FollowHandle, FollowSession, ListCallFields, Tail, Time, TimeColumn
from analyzer.cli.options import (
    CaptureReading,
    EntryFormat,
    Files,
    Interface,
    OutputEntryFormat,
    Strict,
    Writing,
    command,
)


@command
def timeline(
    reading: CaptureReading,
    writing: Writing,
    files: Files,
    call_filter: CallFilterOption = None,
    list_fields: ListCallFields = False,
    interface: Interface = None,
    follow_handle: FollowHandle = None,
    follow_session: FollowSession = None,
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
    from analyzer.filters.selection import Selection
    from analyzer.views.timeline import Timeline

    selection = Selection(tuple(interface or ()), follow_handle, follow_session, call_filter, tail)
    analysis = reading.analysis(files)
    writing.write(Timeline(analysis, selection, all_attempts, time.value, unfold), output_format.value)
    raise typer.Exit(exit_of(analysis, strict=strict))
