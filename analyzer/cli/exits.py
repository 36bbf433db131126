"""Exit codes, as docs/output.md lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analyzer.model.analysis import Analysis

EXIT_DONE, EXIT_UNUSABLE, EXIT_NOTHING, EXIT_UNREAD, EXIT_DIFFERS = 0, 1, 3, 4, 5


def exit_of(analysis: Analysis, *, strict: bool) -> int:
    """What the exit code says of an analysis that went through; the sentence for it goes to standard error."""
    import typer

    from analyzer.report.verdict import nothing_found, unread

    if (sentence := nothing_found(analysis)) is not None:
        typer.echo(sentence, err=True)
        return EXIT_NOTHING
    if strict and unread(analysis):
        return EXIT_UNREAD
    return EXIT_DONE
