"""`pcq browse`: a capture in three panes of the terminal."""

from __future__ import annotations

from pathlib import Path

import typer

from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.exit_codes import exit_of
from analyzer.commands.shared.options import Files
from analyzer.core.errors import InputError
from analyzer.core.output.gate import STANDARD_OUTPUT, is_terminal


@command
def browse(reading: CaptureReading, files: Files) -> None:
    """Three panes in the terminal: call list, decoded tree, bytes; with filters, series and findings. (Extra: browse)"""
    if not is_terminal():
        raise InputError("browse needs a terminal", hint="report writes the same as a page, timeline prints it")
    if STANDARD_OUTPUT in files:
        raise InputError("browse reads its keys from standard input, so no capture can come from there")
    try:
        from analyzer.screens.browse.app import Browser
    except ImportError:
        raise InputError("browse needs Textual", hint="pip install 'pcq-analyzer[browse]'") from None

    size = sum(Path(name).stat().st_size for name in files if Path(name).is_file())
    browser = Browser(
        lambda progress: reading.analysis(files, progress=progress),
        ", ".join(files),
        size,
        lambda analysis: reading.with_packets(analysis, files),
    )
    browser.run()
    if browser.failure is not None:
        raise browser.failure
    if browser.analysis is not None:
        raise typer.Exit(exit_of(browser.analysis, is_enough=True))
