"""`pcq timeline`: every call in the order of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from msgspec.structs import replace

from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.exit_codes import EXIT_DONE, exit_of
from analyzer.commands.shared.options import (
    CallSelection,
    EntryFormat,
    Files,
    Head,
    NamesFromOption,
    OutputEntryFormat,
    Strict,
    Tail,
    Time,
    TimeColumn,
)
from analyzer.commands.shared.result_writing import Writing
from analyzer.core.output.gate import is_terminal

if TYPE_CHECKING:
    from analyzer.questions.filters.call_selection import Selection


@command
def timeline(
    reading: CaptureReading,
    writing: Writing,
    selection: CallSelection,
    files: Files,
    head: Head = None,
    tail: Tail = None,
    time: Time = "relative",
    all_attempts: Annotated[
        bool, typer.Option("--all-attempts", help="Text: every try of a registry read, not the last.")
    ] = False,
    unfold: Annotated[bool, typer.Option("--unfold", help="Text: a line for every call, also repeated polls.")] = False,
    output_format: OutputEntryFormat = "text",
    names_from: NamesFromOption = "capture",
    strict: Strict = False,
) -> None:
    """Every call: who asked what, when, and what came back."""
    from analyzer.screens.views.timeline import Timeline

    wanted = replace(selection.selection, head=head, tail=tail)
    if names_from == "now":
        _check_streamed(wanted, output_format)
        _stream(reading, writing, wanted, files, time, output_format, strict=strict)

    analysis = reading.analysis(files)
    writing.write(Timeline(analysis, wanted, all_attempts, time, unfold), output_format)
    raise typer.Exit(exit_of(analysis, strict=strict, asked_for=selection.finds(analysis)))


def _check_streamed(selection: Selection, form: EntryFormat) -> None:
    """Refuses a streamed timeline as wrong usage, if its selection or form needs the whole capture."""
    if form not in ("text", "jsonl"):
        raise typer.BadParameter("it prints text and jsonl", param_hint="--names-from now")
    if (what := selection.needs_all) is not None:
        raise typer.BadParameter(f"{what} needs the whole capture", param_hint="--names-from now")


def _stream(
    reading: CaptureReading,
    writing: Writing,
    selection: Selection,
    files: list[str],
    time: TimeColumn,
    form: EntryFormat,
    *,
    strict: bool,
) -> NoReturn:
    """Prints the timeline's calls while the capture is read, and ends the command."""
    from analyzer.screens.views.streamed_timeline import StreamedTimeline

    # A line that changes would stand among the calls.
    with reading.stream(files, watched=writing.path is not None or not is_terminal()) as stream:
        view = StreamedTimeline(stream, tuple(files), selection, clock=time)
        writing.stream(view, form, lambda: reading.note(stream.analysis))
    if (analysis := view.analysis) is None:
        raise typer.Exit(EXIT_DONE)  # nobody reads on
    is_asked_for = selection.is_asking and view.shown > 0
    raise typer.Exit(exit_of(analysis, strict=strict, asked_for=lambda: is_asked_for, met=view.met))
