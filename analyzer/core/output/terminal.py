"""Writes text with colours to a terminal, and without them anywhere else; long text goes to a pager; shows the progress of reading.

Long text is shown a screen at a time in the user's pager, like git does. The pager is `PCQ_PAGER`, else `PAGER`, else `less`. An
empty name or `cat` means no pager. `less` without `LESS` in the environment is asked to show colours, to leave the screen
unchanged, and to end if all fits on it (`LESS=FRX`).

Progress is a line on standard error if that is a terminal, or below the cell of a notebook.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import IO

from analyzer.core.output.gate import Destination, text_output

# ---------------------------------------------------------------------------------------------------------------- pager


_VARIABLES = ("PCQ_PAGER", "PAGER")
_DEFAULT = "less"
# Options of the pager where the user has set none: those of git, and for those who see `less` through `lv`.
_ENVIRONMENT = {"LESS": "FRX", "LV": "-c"}


def pager_command(environment: Mapping[str, str]) -> list[str] | None:
    """Returns the pager and its arguments, None if the user wants none or it is not installed."""
    import shlex  # few results go to a terminal

    text = next((environment[name] for name in _VARIABLES if name in environment), _DEFAULT)
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    if not words or words == ["cat"] or shutil.which(words[0], path=environment.get("PATH")) is None:
        return None
    return words


class _PagerClosedError(Exception):
    """The error that the user left the pager."""


class _PagerInput(io.TextIOWrapper):
    """The text stream to a pager. Leaving the pager raises its own exception: rich ends the process by `BrokenPipeError`."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except BrokenPipeError:
            raise _PagerClosedError from None

    def flush(self) -> None:
        try:
            super().flush()
        except BrokenPipeError:
            raise _PagerClosedError from None


@contextmanager
def paged(command: list[str]) -> Iterator[IO[str]]:
    """Opens a stream whose text the pager shows. Leaving the pager early ends the writing, and is no error."""
    import subprocess

    pager = subprocess.Popen(command, stdin=subprocess.PIPE, env=_ENVIRONMENT | os.environ)
    assert pager.stdin is not None
    stream = _PagerInput(pager.stdin, encoding="utf-8", errors="backslashreplace")
    try:
        with suppress(_PagerClosedError):
            yield stream
    finally:
        # Ctrl-C is for the pager, as long as it shows something.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            with suppress(OSError, _PagerClosedError):
                stream.close()
            pager.wait()
        finally:
            signal.signal(signal.SIGINT, before)


# ------------------------------------------------------------------------------------------------------------- terminal


# Text that rich may read as a tag, or as escaped backslashes before a tag.
_TAG = r"(?:^|[^\\])\[[a-z#/@]|\\\\\["
# Whether a pager has the terminal.
_paging = False


def write_markup(
    lines: Callable[[int | None], Iterable[str]],
    destination: Destination,
    *,
    pager: list[str] | None = None,
    at_once: bool = False,
) -> None:
    """Writes lines with rich's markup to a terminal or elsewhere. `lines` takes the number of columns, None if there is no
    terminal.

    What came from a capture must have been escaped before it was marked up (`report.text.safe`). On a terminal it goes through the
    `pager`, where there is one. With `at_once`, a reader has each line without delay.
    """
    from rich.text import Text

    if destination.path is None:
        with text_output() as stream:
            if stream.isatty():
                if pager is not None:
                    _write_paged(lines, pager)
                    return
                if isinstance(stream, io.TextIOWrapper):
                    stream.reconfigure(errors="backslashreplace")  # for terminals that know only their own alphabet
                _print_to_terminal(lines, stream)
                return
    with destination.opened() as out:
        for line in lines(None):
            # Most lines have no tags, and brackets that are escaped at most.
            is_plain = re.search(_TAG, line) is None and line.isprintable()
            plain = line.replace("\\[", "[") if is_plain else Text.from_markup(line, emoji=False).plain
            out.write((plain + "\n").encode("utf-8", "backslashreplace"))
            if at_once:
                out.flush()


def _write_paged(lines: Callable[[int | None], Iterable[str]], pager: list[str]) -> None:
    global _paging
    _paging = True
    try:
        with paged(pager) as stream:
            _print_to_terminal(lines, stream, width=shutil.get_terminal_size().columns)
    finally:
        _paging = False


def _print_to_terminal(
    lines: Callable[[int | None], Iterable[str]], stream: IO[str], *, width: int | None = None
) -> None:
    """Writes coloured lines for a terminal, to itself or to a pager that leads to one."""
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, file=stream, force_terminal=True if width else None, width=width)
    for line in lines(console.width):
        console.print(Text.from_markup(line, emoji=False))


@contextmanager
def status_line(text: str, *, notebook: bool = False) -> Iterator[Callable[[str], None] | None]:
    """Shows a line on standard error, and yields a function that changes it. Yields None if standard error is no terminal or a
    pager has it. With `notebook`, a notebook shows the line below its cell."""
    if notebook and "ipykernel" in sys.modules:
        from IPython.display import display

        handle = display({"text/plain": text}, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        yield lambda text: handle.update({"text/plain": text}, raw=True)
        return
    if sys.stderr is None or not sys.stderr.isatty() or _paging:
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(text) as status:
        yield lambda text: status.update(text)


# ------------------------------------------------------------------------------------------------------------- progress


# An estimate from less would say little.
_LEAST_SECONDS = 2.0


@contextmanager
def watching(sources: Iterable[object], *, notebook: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """Yields the progress function for `analyze`, which takes the frames and bytes read so far of these sources. Yields None if
    nobody watches a terminal. `notebook` as for `status_line`."""
    with status_line("reading ...", notebook=notebook) as update:
        if update is None:
            yield None
            return
        total = 0
        for source in sources:
            if isinstance(source, str | Path):
                with suppress(OSError):
                    total += Path(source).stat().st_size
        started = monotonic()
        yield lambda frames, done: update(progress_words(frames, done, total, monotonic() - started))


def progress_words(frames: int, done: int, total: int, seconds: float) -> str:
    """Returns the progress of reading in words, as a terminal shows it: `12.0 of 40.0 MB (30 %), 11,000 frames, about 35 s left`.
    Unknown parts are left out, such as for a pipe or at the start."""
    words = f"{frames:,} frames read"
    if not done:
        return words
    if done > total:
        return f"{done / 1e6:,.1f} MB, {words}"
    words = f"{done / 1e6:,.1f} of {total / 1e6:,.1f} MB ({100 * done // total} %), {words}"
    if seconds < _LEAST_SECONDS or done == total:
        return words
    left = round(seconds * (total - done) / done)
    minutes, rest = divmod(left, 60)
    return f"{words}, about {f'{minutes} min {rest} s' if minutes else f'{rest} s'} left"
