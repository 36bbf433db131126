"""`pcq report`: one page for a browser, with everything in it."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from analyzer.commands.audit import ProfileName
from analyzer.commands.exits import exit_of
from analyzer.commands.options import CaptureReading, Files, Strict, Writing, command


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
    from analyzer.screens.formats.page import MAX_DETAILS, write_page
    from analyzer.screens.views.report import Report

    analysis = reading.analysis(files)
    analysis = reading.with_packets(analysis, files, range(1, min(len(analysis.calls), MAX_DETAILS) + 1))
    view = Report(Audit(analysis, profile=Profile(profile.value)), title)
    write_page(view, writing.destination, writing.evidence())
    raise typer.Exit(exit_of(analysis, strict=strict))
