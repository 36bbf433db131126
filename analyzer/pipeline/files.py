"""The files of an analysis as they are listed: their frames as Wireshark counts them."""

from __future__ import annotations

from msgspec.structs import replace

from analyzer.core.errors import InputError
from analyzer.results.analysis import Analysis
from analyzer.results.file import FileRecord, FoundFiles


def files_of(analysis: Analysis) -> FoundFiles:
    """The files of the sessions that are shown. Raises `InputError` where the analysis does not have them."""
    if analysis.files is None:
        raise InputError("files are read from captures", hint="Give the capture itself, and do not redact it.")

    def numbered(one: FileRecord) -> FileRecord:
        frames, files = analysis.capture.numbered(one.frames)
        return replace(one, frames=frames, frame_files=files)

    return FoundFiles(tuple(map(numbered, analysis.shown_files)), analysis.files.omissions)
