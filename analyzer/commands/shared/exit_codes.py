"""Exit codes, as docs/output.md lists them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from analyzer.core.output.gate import say

if TYPE_CHECKING:
    from analyzer.core.errors import InputError
    from analyzer.results.analysis import Analysis
    from analyzer.screens.viewmodel.nothing_to_read import CallsMet

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
    """Reading ended early, because of the error that is its cause; what had been read until then has been shown."""


def say_why(error: InputError) -> None:
    """Writes the sentence of an error and its hint, which may be a drawing of several lines, to standard error."""
    say(f"pcq-analyzer: {error}", *(f"  {error.hint}".splitlines() if error.hint is not None else ()))


def exit_of(
    analysis: Analysis,
    *,
    strict: bool = False,
    is_enough: bool = False,
    asked_for: Callable[[], bool] | None = None,
    met: CallsMet | None = None,
) -> int:
    """The exit code of an analysis that was completed; the sentence for it goes to standard error.

    `is_enough`: the command has shown something, also where the capture has no calls. That some files could not be read
    comes first, since nothing is known of what they hold. `asked_for` says whether it has shown calls that were asked for by
    name, whatever they are about; it is asked where there is no performance call. `met` are the calls of an analysis that holds
    none.
    """
    from analyzer.screens.viewmodel.nothing_to_read import nothing_found, unread, unreadable

    sentence = None if is_enough else nothing_found(analysis, met)
    if sentence is not None and asked_for is not None and asked_for():
        sentence = None
    if sentence is not None:
        say(sentence)
    if unreadable(analysis):
        return EXIT_FILES
    if sentence is not None:
        return EXIT_NOTHING
    if strict and unread(analysis, met):
        return EXIT_UNREAD
    return EXIT_DONE
