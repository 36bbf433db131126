"""Text with colours: on a terminal as such, anywhere else without."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from analyzer.output.gate import Destination, guarded_output


def write_markup(lines: Callable[[int | None], Iterable[str]], destination: Destination) -> None:
    """Writes lines that carry rich's markup; `lines` is given the columns there are, None where there is no terminal.

    What came from a capture must have been escaped before it was marked up (`report.text.safe`).
    """
    from rich.console import Console
    from rich.text import Text

    if destination.path is None:
        with guarded_output() as stream:
            console = Console(highlight=False, soft_wrap=True, file=stream)
            if console.is_terminal:
                if isinstance(stream, io.TextIOWrapper):
                    stream.reconfigure(errors="backslashreplace")  # for terminals that know only their own alphabet
                for line in lines(console.width):
                    console.print(Text.from_markup(line, emoji=False))
                return
    with destination.opened() as out:
        for line in lines(None):
            out.write((Text.from_markup(line, emoji=False).plain + "\n").encode("utf-8", "backslashreplace"))


@contextmanager
def status_line(text: str, *, notebook: bool = False) -> Iterator[Callable[[str], None] | None]:
    """A line on standard error that what is yielded changes; None where standard error is no terminal, nor, with `notebook`, a
    notebook that shows it below its cell."""
    if notebook and "ipykernel" in sys.modules:
        from IPython.display import display

        handle = display({"text/plain": text}, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        yield lambda text: handle.update({"text/plain": text}, raw=True)
        return
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(text) as status:
        yield lambda text: status.update(text)
