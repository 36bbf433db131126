"""`pcq report`: one page for a browser, with everything in it."""

from __future__ import annotations

import sys
from functools import partial
from io import FileIO
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from analyzer.commands.audit import ProfileName
from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.exit_codes import EXIT_FILES, exit_of
from analyzer.commands.shared.options import Strict
from analyzer.commands.shared.result_writing import Writing
from analyzer.core.output.gate import say

if TYPE_CHECKING:
    from analyzer.results.analysis import Analysis
    from analyzer.screens.formats.report_page import ValueBlocks
    from analyzer.screens.views.report import Report

ReportFiles = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE...", help="Captures or cases, globs; - is stdin. With --live the default is standard input."
    ),
]
# How long the end waits for the last frames of tcpdump, and for a browser to fetch the last page.
_LAST_FRAMES_S, _LAST_PAGE_S = 1.0, 5.0


@partial(command, hashing=True)
def report(
    reading: CaptureReading,
    writing: Writing,
    files: ReportFiles = None,
    title: Annotated[
        str | None, typer.Option("--title", help="Title of the page; the files' names if not given.")
    ] = None,
    profile: Annotated[
        ProfileName, typer.Option("--profile", help="Whose known deviations the audit lets pass.")
    ] = ProfileName.windows,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Serve a page of what comes on standard input. On 127.0.0.1; it is kept new while the capture grows.",
        ),
    ] = False,
    strict: Strict = False,
) -> None:
    """One self-contained page for a browser: timeline, calls down to their bytes, counters and findings. It needs -o.

    tcpdump -U -w - | pcq-analyzer report --live prints an address that this machine's browsers open; -o then keeps the last page.
    """
    if live:
        _serve(reading, writing, files or ["-"], title, profile, strict=strict)
    if not files:
        raise typer.BadParameter("name a capture", param_hint="FILE")
    if writing.path is None:
        raise typer.BadParameter("name the file to write: -o report.html, or -o - into a pipe", param_hint="-o")
    from analyzer.screens.formats.report_page import write_page

    analysis, view, values = _made(reading, files, title, profile)
    write_page(view, values, writing.destination, writing.evidence())
    code = exit_of(analysis, strict=strict)
    if analysis.packets is not None and analysis.packets.is_lost:
        say(f"frames, TCP payload and SMB messages are not in the page: {analysis.packets.lacking}")
        code = code or EXIT_FILES
    raise typer.Exit(code)


def _made(
    reading: CaptureReading, files: list[str], title: str | None, profile: ProfileName, *, quiet: bool = False
) -> tuple[Analysis, Report, ValueBlocks]:
    """Reads captures, and makes the report of `report` with its blocks of values."""
    from analyzer.questions.audit.audit_engine import Audit, Profile
    from analyzer.screens.formats.report_page import value_blocks
    from analyzer.screens.formats.report_page_call_sides import calls_with_layers
    from analyzer.screens.views.report import Report

    progress = (lambda *_: None) if quiet else None
    analysis = reading.analysis(files, with_files=True, with_links=True, progress=progress)
    values = value_blocks(analysis)
    shown = [number for number in calls_with_layers(analysis, values.most_details) if number is not None]
    analysis = reading.with_packets(analysis, files, shown)
    return analysis, Report(Audit(analysis, profile=Profile(profile.value)), title, values.processes), values


def _serve(
    reading: CaptureReading,
    writing: Writing,
    files: list[str],
    title: str | None,
    profile: ProfileName,
    *,
    strict: bool,
) -> NoReturn:
    """Serves the `report` page of a growing capture, until the capture ends or the user ends it; both are a good end."""
    from analyzer.capture.growing_file import GrowingCapture
    from analyzer.commands.shared.guard import ending_well
    from analyzer.screens.formats.report_page import LiveVersion, page_parts, write_page
    from analyzer.screens.live import LivePage

    if files != ["-"]:
        raise typer.BadParameter(
            "it follows standard input: tcpdump -U -w - | pcq-analyzer report --live", param_hint="--live"
        )
    made: tuple[Analysis, Report, ValueBlocks] | None = None
    with TemporaryDirectory(prefix="pcq-live-") as folder, LivePage() as page:
        capture = GrowingCapture(FileIO(sys.stdin.fileno(), closefd=False), Path(folder))

        def show(*, is_last: bool) -> None:
            nonlocal made
            # What the last page was made of is let go before the next is made.
            made = None
            made = _made(reading, [str(capture.path)], title or "live", profile, quiet=True)
            page.show(
                b"".join(page_parts(made[1], made[2], None, LiveVersion(page.version + 1, is_last))), is_ended=is_last
            )

        try:
            with ending_well():
                say(f"open {page.url}", "Ctrl-C ends it")
                while not page.is_ended:
                    capture.wait(1.0)
                    is_last = capture.is_ended
                    began = monotonic()
                    if capture.grow() or is_last:
                        show(is_last=is_last)
                        # Each page reads the capture anew: half of the time is left to others.
                        capture.rest(max(1.0, monotonic() - began))
        except KeyboardInterrupt:
            # The same Ctrl-C ends tcpdump, which writes what it holds before.
            capture.rest(_LAST_FRAMES_S)
            capture.grow()
            if capture.path.stat().st_size == 0:
                say("ended by the user: nothing was captured")
                raise typer.Exit(0) from None
            say("ended by the user" + ("; the last page is being made" if writing.path is not None else ""))
            show(is_last=True)
        finally:
            capture.close()
        page.wait_until_given(_LAST_PAGE_S)
        assert made is not None
        if writing.path is not None:
            write_page(made[1], made[2], writing.destination, writing.evidence())
    raise typer.Exit(exit_of(made[0], strict=strict))
