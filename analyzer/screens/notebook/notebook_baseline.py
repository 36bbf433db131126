"""`pcq.write_baseline`: writes what a capture or dataset shows as usual to a baseline file for `pcq.diff`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.core.file_names import path_of_text
from analyzer.core.output.gate import Destination, write_document
from analyzer.questions.differences.baseline import usual_json
from analyzer.screens.notebook.notebook_diff import analysis_of

if TYPE_CHECKING:
    from analyzer.screens.notebook.notebook_capture import Capture
    from analyzer.screens.notebook.notebook_dataset import Dataset


def write_baseline(a: Capture | Dataset, path: str | Path, *, force: bool = False) -> Path:
    """Writes a baseline for `diff`: what machines of a capture or dataset run, and who asks them. Raises `InputError` if the file
    cannot be written, or if it exists and `force` is not given.

        pcq.write_baseline(pcq.open("dataset"), "host.json")
    """
    analysis = analysis_of(a)
    document_of_usual, _ = usual_json(analysis)
    reads = map(path_of_text, analysis.capture.files)
    write_document(document_of_usual, Destination(Path(path), force=force).sparing(reads))
    return Path(path)
