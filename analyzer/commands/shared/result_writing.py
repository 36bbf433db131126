"""Writes the result of a command in the form and to the place that the user chose (`Writing`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from copy import copy
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from analyzer.commands.shared.capture_reading import CaptureReading, named_files
from analyzer.commands.shared.options import Columns, CsvRaw, Force, NoPager, Output, TimeZone
from analyzer.core.output.gate import Destination, is_terminal, text_output, write_document
from analyzer.core.output.terminal import paged, pager_command
from analyzer.core.times import show_times_in, zone_of

if TYPE_CHECKING:
    from analyzer.results.analysis import EvidenceRecord
    from analyzer.screens.views.streamed_timeline import StreamedTimeline
    from analyzer.screens.views.view_type import View


class Writing:
    """The place and settings for the result of a command: destination, columns, pager, and whether CSV cells are escaped."""

    # Makes the record of what the result was made from, once everything is read.
    evidence: Callable[[], EvidenceRecord | None] = staticmethod(lambda: None)

    def __init__(
        self,
        path: Path | None,
        destination: Destination,
        *,
        raw_cells: bool,
        force: bool,
        pager: list[str] | None,
        columns: tuple[str, ...],
    ) -> None:
        self.path = path
        self.destination = destination
        self._raw_cells = raw_cells
        self._force = force
        self._pager = pager
        self._columns = columns

    def sparing(self, paths: Iterable[Path]) -> Writing:
        """Returns a writer of results with the same settings that never overwrites these files. It checks that at once, before
        anything is read in vain."""
        destination = self.destination.sparing(paths)
        destination.check()
        writing = copy(self)
        writing.destination = destination
        return writing

    def beside(self, path: Path | None, *, private: bool = False) -> Destination:
        """Returns the checked destination of a second file beside the command's result; only its owner reads a `private` one."""
        destination = Destination(path, force=self._force, reads=self.destination.reads, private=private)
        destination.check()
        return destination

    def stream(self, view: StreamedTimeline, form: str, ended: Callable[[], object]) -> None:
        """Writes the view of a command's result while it is made; calls `ended` when it is complete."""
        from analyzer.screens.formats.view_writer import write_streamed

        def evidence() -> EvidenceRecord | None:
            ended()
            return self.evidence()

        write_streamed(view, form, self.destination, columns=self._columns, evidence=evidence)

    def write(self, view: View, form: str) -> None:
        from analyzer.screens.formats.view_writer import write

        write(
            view,
            form,
            self.destination,
            columns=self._columns,
            raw_cells=self._raw_cells,
            evidence=self.evidence(),
            pager=self._pager,
        )

    def document(self, document: bytes) -> None:
        """Writes a command's text result that is made as a whole."""
        if self._pager is not None and self.path is None:
            with text_output(), paged(self._pager) as stream:
                stream.write(document.decode())
        else:
            write_document(document, self.destination)


def result_writing(
    output: Output = None,
    force: Force = False,
    columns: Columns = None,
    csv_raw: CsvRaw = False,
    time_zone: TimeZone = None,
    no_pager: NoPager = False,
) -> Writing:
    try:
        show_times_in(UTC if time_zone is None else zone_of(time_zone))
    except ValueError:
        raise typer.BadParameter(
            f"this machine knows no zone {time_zone}; +02:00 needs no knowledge", param_hint="--tz"
        ) from None
    pager = None if no_pager or not is_terminal() else pager_command(os.environ)
    names = tuple(name.strip() for name in columns.split(",")) if columns is not None else ()
    return Writing(output, Destination(output, force=force), raw_cells=csv_raw, force=force, pager=pager, columns=names)


def destination_of(
    path: Path | None, files: list[str], reading: CaptureReading, *, force: bool, private: bool
) -> Destination:
    """Returns the destination of a file that a command writes beside its result, checked at once: it replaces nothing that is
    read."""
    destination = Destination(path, force=force, private=private).sparing(
        [*named_files({"files": files}), *reading.files]
    )
    destination.check()
    return destination
