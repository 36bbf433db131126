"""How far reading has come, as a line under a notebook's cell or on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from analyzer.output.terminal import status_line


@contextmanager
def watched(sources: Sequence[Any]) -> Iterator[Callable[[int, int], None] | None]:
    """Yields what `analyze` calls with frames and bytes read of these files."""
    total = 0
    for source in sources:
        if isinstance(source, str | Path):
            with suppress(OSError):
                total += Path(source).stat().st_size
    with status_line("reading ...", notebook=True) as update:
        if update is None:
            yield None
            return

        def notify(frames: int, done: int) -> None:
            part = f" of {total / 1e6:,.1f}" if done <= total else ""
            update(f"{done / 1e6:,.1f}{part} MB, {frames:,} frames read")

        yield notify
