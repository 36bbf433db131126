"""Writes text with colours to a terminal, and without them anywhere else."""

from __future__ import annotations

import io
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO

from analyzer.core.output.gate import Destination, guarded_output
from analyzer.core.output.pager import paged

# Text that rich may read as a tag, or as escaped backslashes before a tag.
_TAG = re.compile(r"(?:^|[^\\])\[[a-z#/@]|\\\\\[")
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
    terminal. `lines` is called with the number of columns, or None. `lines` is called with the number of columns, None if there is
    no terminal.

    What came from a capture must have been escaped before it was marked up (`report.text.safe`). On a terminal it goes through the
    `pager`, where there is one. With `at_once`, a reader has each line without delay.
    """
    from rich.text import Text

    if destination.path is None:
        with guarded_output() as stream:
            if stream.isatty():
                if pager is not None:
                    _write_paged(lines, pager)
                    return
                if isinstance(stream, io.TextIOWrapper):
                    stream.reconfigure(errors="backslashreplace")  # for terminals that know only their own alphabet
                _print(lines, stream)
                return
    with destination.opened() as out:
        for line in lines(None):
            # Most lines have no tags, and brackets that are escaped at most.
            is_plain = _TAG.search(line) is None and line.isprintable()
            plain = line.replace("\\[", "[") if is_plain else Text.from_markup(line, emoji=False).plain
            out.write((plain + "\n").encode("utf-8", "backslashreplace"))
            if at_once:
                out.flush()


def _write_paged(lines: Callable[[int | None], Iterable[str]], pager: list[str]) -> None:
    global _paging
    _paging = True
    try:
        with paged(pager) as stream:
            _print(lines, stream, width=shutil.get_terminal_size().columns)
    finally:
        _paging = False


def _print(lines: Callable[[int | None], Iterable[str]], stream: IO[str], *, width: int | None = None) -> None:
    """Prints lines with colours to a terminal, or to a pager that leads to one."""
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
