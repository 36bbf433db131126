"""Exit codes, as docs/output.md lists them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from analyzer.core.output.gate import say

if TYPE_CHECKING:
    from analyzer.core.errors import InputError
    from analyzer.results.analysis import Analysis
    from analyzer.screens.viewmodel.unread import CallsMet

EXIT_DONE, EXIT_UNUSABLE, EXIT_USAGE, EXIT_NOTHING, EXIT_UNREAD, EXIT_DIFFERS, EXIT_FILES, EXIT_FOREIGN = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
)
# EX_SOFTWARE of sysexits.h: the command itself failed, whatever it was given.
EXIT_FAILED = 70


class ReadingFailedError(Exception):
    """Says that reading ended early because of its cause, which decides the exit code. Everything read before was shown."""


def say_why(error: InputError) -> None:
    """Writes the reason of an exit code to standard error: the sentence of an error and its hint, which may be a drawing of several
    lines."""
    say(f"pcq-analyzer: {error}", *(f"  {error.hint}".splitlines() if error.hint is not None else ()))


def exit_of(
    analysis: Analysis,
    *,
    strict: bool = False,
    is_enough: bool = False,
    asked_for: Callable[[], bool] | None = None,
    met: CallsMet | None = None,
) -> int:
    """Returns the exit code for a completed analysis, and writes the sentence for it to standard error.

    `is_enough`: the command has shown something, even if the capture has no calls. Unreadable files come first, since nobody knows
    what they hold. If there is no performance call, `asked_for` tells whether the command has shown calls that the user asked for
    by name. `met` are the calls of an analysis that holds none.
    """
    sentence = None
    if not is_enough and (met is not None or not analysis.has_performance_call):
        from analyzer.screens.viewmodel.unread import no_performance_call_words  # most captures have one

        sentence = no_performance_call_words(analysis, met)
    if sentence is not None and asked_for is not None and asked_for():
        sentence = None
    if sentence is not None:
        say(sentence)
    if analysis.unreadable_files:
        return EXIT_FILES
    if sentence is not None:
        return EXIT_NOTHING
    if strict:
        from analyzer.screens.viewmodel.unread import unread

        return EXIT_UNREAD if unread(analysis, met) else EXIT_DONE
    return EXIT_DONE
