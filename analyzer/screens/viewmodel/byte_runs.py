"""Finds where each part of a layer's bytes was captured, as the fewest runs, and in which other layer the same bytes lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.core.byte_origins import FrameExtent
from analyzer.core.frame_ids import file_of, number_of
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.records.display_records import LayerBytes, Run


def runs_of(source: TracedBytes) -> tuple[Run, ...]:
    """Returns the runs of a layer's bytes: where each part of them was captured."""
    length = len(source)
    if length and (one := source.source.only_extent(source.start, source.start + length)) is not None:
        return (_run(one, 0, length),)
    runs: list[Run] = []
    for run in _runs(source, 0, len(source)):
        last = runs[-1] if runs else None
        if last is not None and (last.frame, last.file, last.stop) == (run.frame, run.file, run.at):
            if _is_byte_by_byte(last) and _is_byte_by_byte(run) and last.start + last.length == run.start:
                runs[-1] = Run(last.at, run.stop, run.frame, run.file, last.start, last.length + run.length)
                continue
            if (last.start, last.length) == (run.start, run.length):
                runs[-1] = Run(last.at, run.stop, run.frame, run.file, run.start, run.length)
                continue
        runs.append(run)
    return tuple(runs)


def _is_byte_by_byte(run: Run) -> bool:
    return run.stop - run.at == run.length


def _runs(source: TracedBytes, start: int, stop: int) -> Iterator[Run]:
    """Yields the runs of bytes that may have been compressed: halves them until all of a half came from the same places."""
    extents = source.origin(start, stop)
    if _length(extents) == stop - start and _length(source.origin(start, start + 1)) <= 1:
        at = start
        for extent in extents:
            yield _run(extent, at, at + extent.length)
            at += extent.length
        return
    middle = (start + stop) // 2
    if middle == start or source.origin(start, middle) == source.origin(middle, stop) == extents:
        yield from (_run(extent, start, stop) for extent in extents)
    else:
        yield from _runs(source, start, middle)
        yield from _runs(source, middle, stop)


def _length(extents: tuple[FrameExtent, ...]) -> int:
    return sum(extent.length for extent in extents)


def _run(extent: FrameExtent, at: int, stop: int) -> Run:
    return Run(at, stop, number_of(extent.frame), file_of(extent.frame), extent.start, extent.length)


def place_of(source: TracedBytes, runs: Sequence[Run], layers: Sequence[LayerBytes]) -> tuple[str, int] | None:
    """Returns the innermost layer that holds bytes with these runs unchanged, and their offset in it; else None."""
    if not runs:
        return None
    for layer in reversed(layers):
        if layer.steps != source.steps:
            continue
        for run in layer.runs:
            at = run.at + runs[0].start - run.start
            is_in = (run.file, run.frame) == (runs[0].file, runs[0].frame) and run.at <= at < run.stop
            if is_in and layer.data[at : at + len(source)] == source.data:
                return layer.id, at
    return None
