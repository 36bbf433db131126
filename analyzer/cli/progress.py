"""A progress line on standard error, only where that is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def watching() -> Iterator[Callable[[int], None] | None]:
    """Yields what `analyze` tells its frame count to; None where nobody is watching."""
    from analyzer.output.terminal import status_line

    with status_line("reading ...") as update:
        yield None if update is None else lambda frames: update(f"{frames:,} frames read")
