"""`pcq report`: one page for a browser, with everything in it."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from analyzer.commands.audit import ProfileName
from analyzer.commands.exits import EXIT_FILES, exit_of
from analyzer.commands.options import CaptureReading, Files, Strict, Writing, command
from analyzer.core.output.gate import say


@partial(command, hashing=True)
def report(
    reading: CaptureReading,
    writing: Writing,
    files: Files,
    title: Annotated[
        str | None, typer.Option("--title", help="Title of the page; the files' names if not given.")
    ] = None,
    profile: Annotated[
        ProfileName, typer.Option("--profile", help="Whose known deviations the audit lets pass.")
    ] = ProfileName.windows,
    strict: Strict = False,
) -> None:
    """One self-contained page for a browser: timeline, calls down to their bytes, counters and findings. It needs -o."""
    if writing.path is None:
        raise typer.BadParameter("name the file to write: -o report.html, or -o - into a pipe", param_hint="-o")
    from analyzer.questions.audit.engine import Audit, Profile
    from analyzer.screens.formats.page import MAX_DETAILS, series_text, write_page
    from analyzer.screens.views.report import Report

    analysis = reading.analysis(files)
    series = series_text(analysis)
    analysis = reading.with_packets(analysis, files, range(1, min(len(analysis.calls), MAX_DETAILS) + 1))
    view = Report(Audit(analysis, profile=Profile(profile.value)), title)
    write_page(view, series, writing.destination, writing.evidence())
    code = exit_of(analysis, strict=strict)
    if analysis.packets is not None and analysis.packets.is_lost:
        say(f"frames, TCP payload and SMB messages are not in the page: {analysis.packets.lacking}")
        code = code or EXIT_FILES
    raise typer.Exit(code)
