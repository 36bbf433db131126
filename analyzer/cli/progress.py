"""A progress line on standard error, only where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def watching() -> Iterator[Callable[[int], None] | None]:
    """Yields what `analyze` tells its frame count to; None where nobody is watching."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading ...") as status:
        yield lambda frames: status.update(f"{frames:,} frames read")
