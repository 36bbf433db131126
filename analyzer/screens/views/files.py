"""The view of `files`: what was done to files over SMB, as records and as text."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from analyzer.core.printable_text import counted
from analyzer.core.times import iso_time
from analyzer.results.analysis import Analysis
from analyzer.results.records.capture_records import OmissionRecord
from analyzer.results.records.opened_file import FileRecord, FoundFiles, PassedContent
from analyzer.screens.views.text_report import folded, problem_lines, safe, styled
from analyzer.screens.views.view_type import OfCapture

_SHOWN_RANGES = 3


class FilesView(Struct, OfCapture, frozen=True):
    """The view of `pcq files`."""

    analysis: Analysis
    found: FoundFiles

    def records(self) -> Iterator[FileRecord | OmissionRecord]:
        yield from self.found.files
        yield from self.found.omissions

    def lines(self, width: int | None) -> Iterator[str]:
        """Yields a line of `files` for each open that did something to a file, then the number of other opens."""
        shown = [one for one in self.found.files if _is_shown(one)]
        for one in shown:
            style = "yellow" if one.warnings else None
            for line in folded(_words(one), 24, width):
                yield styled(style, line) if style is not None else safe(line)
        others = [one for one in self.found.files if not _is_shown(one)]
        if others:
            refused = sum(not one.actions and one.status is not None for one in others)
            asked = sum(not one.actions and one.status is None for one in others)
            words = (
                f"{counted(len(others), 'more open')}, of which {refused:,} {'was' if refused == 1 else 'were'} refused"
            )
            words += f", and {asked:,} without an answer in the capture" if asked else ""
            yield safe(f"{words}; no content of {'it' if len(others) == 1 else 'them'} was captured")
        if not self.found.files:
            yield safe("no file was opened over SMB in any message that could be read")
        yield from problem_lines(self.analysis, width)
        for omission in self.found.omissions:
            yield styled("yellow", omission.text)


def _is_shown(one: FileRecord) -> bool:
    """Tells whether the view of `files` shows an open: content was read or written, or the file was created, renamed or deleted."""
    return bool(one.read or one.written or {"created", "renamed", "deleted"}.intersection(one.actions))


def _words(one: FileRecord) -> str:
    who = f"{one.user}@{one.client.ip}" if one.user is not None else one.client.ip
    path = f"{one.share or '?'}\\{one.name if one.name is not None else '?'}"
    words = [f"{iso_time(one.first_time_ns)[:19]}Z  {who} → {one.server.ip}  {path}: {', '.join(one.actions)}"]
    if one.renamed_to is not None:
        words.append(f"to {one.renamed_to}")
    if one.size is not None and not one.is_directory:
        words.append(f"({one.size:,} bytes)")
    line = " ".join(words)
    for verb, content in (("written", one.written), ("read", one.read)):
        if content is not None:
            line += f"; {verb}: {_content_words(content)}"
    if one.is_executable:
        line += "; a program (MZ)"
    if one.warnings:
        line += "; onto an administrative share, as tools do that install services"
    return line


def _content_words(content: PassedContent) -> str:
    if content.is_whole:
        return f"whole, SHA-256 {content.sha256}"
    ranges = ", ".join(f"{start:,}-{stop:,}" for start, stop in content.ranges[:_SHOWN_RANGES])
    more = f" and {len(content.ranges) - _SHOWN_RANGES:,} more" if len(content.ranges) > _SHOWN_RANGES else ""
    digest = f", SHA-256 of this part {content.sha256}" if content.sha256 is not None else ""
    return f"bytes {ranges}{more}{digest}"
