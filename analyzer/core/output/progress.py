"""Shows the progress of reading: a line on standard error if that is a terminal, or below the cell of a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic

from analyzer.core.output.terminal import status_line

# An estimate from less would say little.
_LEAST_SECONDS = 2.0


@contextmanager
def watching(sources: Iterable[object], *, notebook: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """Yields the progress function for `analyze`, which takes the frames and bytes read so far of these sources. Yields None if
    nobody watches. `notebook` as for `status_line`."""
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
    """Returns the progress of reading in words: `12.0 of 40.0 MB (30 %), 11,000 frames, about 35 s left`. Unknown parts are left
    out, such as for a pipe or at the start."""
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
