"""The next command: the command line under a display that shows more of its subject, quoted for a shell.

It reads and selects the same calls again: it repeats files, keys, limits and filters as given. It contains no secret: `-` stands in
its place, and the command then asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from analyzer.core.printable_text import path_of_text, shell_word
from analyzer.results.analysis import Given

if TYPE_CHECKING:
    from analyzer.results.analysis import Analysis

_PROGRAM = "pcq-analyzer"


def next_command(
    analysis: Analysis, command: str, *words: str, filter: str | None = None, interfaces: Sequence[str] = ()
) -> str:
    """Returns a command line about the same calls, or about those of them that pass `filter` or are of `interfaces`.

    If the analysis has no command line, the next command names only its files.
    """
    given = analysis.given or Given(tuple(str(path_of_text(name)) for name in analysis.capture.files))
    both = [one for one in (given.filter, filter) if one is not None]
    chosen = [f"({one})" for one in both] if len(both) > 1 else both
    options = [*given.options, *_repeated("--interface", interfaces or given.interfaces)]
    options += _repeated("--filter", [" && ".join(chosen)] if chosen else [])
    return " ".join(map(shell_word, (_PROGRAM, command, *given.files, *options, *words)))


def show_command(analysis: Analysis, known: int) -> str | None:
    """Returns the `show` command line for a call, by the number that people know. For a call of a dataset it names the case file of
    its conversation; None if that is on another machine."""
    if analysis.dataset is None:
        return next_command(analysis, "show", "--call", str(known))
    if (place := analysis.dataset.in_case(known)) is None:
        return None
    case, number = place
    return " ".join(map(shell_word, (_PROGRAM, "show", case, "--call", str(number))))


def _repeated(option: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (option, value)]
