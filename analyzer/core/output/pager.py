"""Shows long text a screen at a time in the user's pager, like git does.

The pager is `PCQ_PAGER`, else `PAGER`, else `less`. An empty name or `cat` means no pager. `less` without `LESS` in the environment
is asked to show colours, to leave the screen unchanged, and to end if all fits on it (`LESS=FRX`).
"""

from __future__ import annotations

import io
import os
import shlex
import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO

_VARIABLES = ("PCQ_PAGER", "PAGER")
_DEFAULT = "less"
# Options of the pager where the user has set none: those of git, and for those who see `less` through `lv`.
_ENVIRONMENT = {"LESS": "FRX", "LV": "-c"}


def pager_command(environment: Mapping[str, str]) -> list[str] | None:
    """Returns the pager and its arguments, None if the user wants none or it is not installed."""
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
