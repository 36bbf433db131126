"""The next command that a display prints: one that shows more of what it shows, as a shell takes it.

It reads and selects the same again: files, keys, limits and filters are repeated as they were given. No
secret is part of it: in the place of one stands `-`, with which the command asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from analyzer.core.file_names import path_of_text, shell_word
from analyzer.results.provenance import Given

if TYPE_CHECKING:
    from analyzer.results.analysis import Analysis

_PROGRAM = "pcq-analyzer"


def next_command(
    analysis: Analysis, command: str, *words: str, filter: str | None = None, interfaces: Sequence[str] = ()
) -> str:
    """A next command about the same calls, or of these those that pass `filter` or are of `interfaces`.

    An analysis that no command line made names its files alone.
    """
    given = analysis.given or Given(tuple(str(path_of_text(name)) for name in analysis.capture.files))
    both = [one for one in (given.filter, filter) if one is not None]
    chosen = [f"({one})" for one in both] if len(both) > 1 else both
    options = [*given.options, *_repeated("--interface", interfaces or given.interfaces)]
    options += _repeated("--filter", [" && ".join(chosen)] if chosen else [])
    return " ".join(map(shell_word, (_PROGRAM, command, *given.files, *options, *words)))


def show_command(analysis: Analysis, known: int) -> str | None:
    """The command that shows a call, by the number that people know. A call of a dataset is shown in the case file of its
    conversation. None where that is on another machine."""
    if analysis.dataset is None:
        return next_command(analysis, "show", "--call", str(known))
    if (place := analysis.dataset.in_case(known)) is None:
        return None
    case, number = place
    return " ".join(map(shell_word, (_PROGRAM, "show", case, "--call", str(number))))


def _repeated(option: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (option, value)]
