"""`pcq sessions` and `pcq hosts`: who was logged on, how, and what opened it; the machines of a capture and their names."""

from __future__ import annotations

import typer

from analyzer.commands.exits import exit_of
from analyzer.commands.filters import CallSelection
from analyzer.commands.options import (
    CaptureReading,
    EntryFormat,
    Files,
    Format,
    OutputEntryFormat,
    OutputFormat,
    Writing,
    command,
)


@command
def sessions(
    reading: CaptureReading,
    writing: Writing,
    selection: CallSelection,
    files: Files,
    output_format: OutputEntryFormat = EntryFormat.text,
) -> None:
    """Every SMB session: who, on what, how it is protected, and which key decrypted it."""
    from analyzer.screens.views.sessions import Sessions

    # Calls select sessions, names of calls get pseudonyms too, and text states what keys decrypted of calls.
    has_words = output_format is EntryFormat.text and bool(reading.keyring)
    in_sessions = has_words or selection.selection.words is not None or reading.pseudonyms is not None
    analysis = reading.analysis(files, in_sessions=in_sessions)
    writing.write(Sessions(selection.of(analysis)), output_format.value)
    raise typer.Exit(exit_of(analysis, is_enough=bool(analysis.sessions)))


@command
def hosts(
    reading: CaptureReading,
    writing: Writing,
    selection: CallSelection,
    files: Files,
    output_format: OutputFormat = Format.text,
) -> None:
    """Every machine that took part, with the names that the traffic gives it, and where each comes from."""
    from analyzer.screens.views.sessions import Hosts

    analysis = reading.analysis(files)
    writing.write(Hosts(selection.of(analysis)), output_format.value)
    raise typer.Exit(exit_of(analysis, is_enough=bool(analysis.sessions)))
