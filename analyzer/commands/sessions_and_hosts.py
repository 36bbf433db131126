"""`pcq sessions` and `pcq hosts`: who was logged on, how, and what opened it; the machines of a capture and their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.exit_codes import exit_of
from analyzer.commands.shared.options import CallSelection, Files, OutputEntryFormat, OutputFormat
from analyzer.commands.shared.result_writing import Writing

if TYPE_CHECKING:
    from analyzer.pipeline.run import InSessions


@command
def sessions(
    reading: CaptureReading,
    writing: Writing,
    selection: CallSelection,
    files: Files,
    output_format: OutputEntryFormat = "text",
) -> None:
    """Every SMB session: who, on what, how it is protected, and which key decrypted it."""
    from analyzer.screens.views.sessions_and_hosts import Sessions

    # Text states what keys decrypted of calls.
    has_words = output_format == "text" and bool(reading.keyring)
    analysis = reading.analysis(files, in_sessions="all" if has_words else _of_sessions("none", selection, reading))
    writing.write(Sessions(selection.selected_analysis(analysis)), output_format)
    raise typer.Exit(exit_of(analysis, is_enough=bool(analysis.sessions)))


@command
def hosts(
    reading: CaptureReading,
    writing: Writing,
    selection: CallSelection,
    files: Files,
    output_format: OutputFormat = "text",
) -> None:
    """Every machine that took part, with the names that the traffic gives it, and where each comes from."""
    from analyzer.screens.views.sessions_and_hosts import Hosts

    calls = _of_sessions("naming", selection, reading)
    analysis = reading.analysis(files, in_sessions=calls, with_links=True)
    writing.write(Hosts(selection.selected_analysis(analysis)), output_format)
    raise typer.Exit(exit_of(analysis, is_enough=bool(analysis.sessions)))


def _of_sessions(enough: InSessions, selection: CallSelection, reading: CaptureReading) -> InSessions:
    """Returns which calls the `sessions` command reads: `enough`, or all calls, if options select calls or names get pseudonyms."""
    return enough if selection.selection.words is None and reading.pseudonyms is None else "all"
