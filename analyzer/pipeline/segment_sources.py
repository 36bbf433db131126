"""Sources of TCP segments: capture files in, segments out, read by our own reader or by tshark, with the facts about the files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from analyzer.core.events import BlockEnds, ClockSetBack, Event, Problem
from analyzer.core.limits import Limits
from analyzer.results.analysis import CaptureFacts

if TYPE_CHECKING:
    from analyzer.capture.capture_reader import ReadBound
    from analyzer.capture.frame_blocks import FrameBlock
    from analyzer.transport.packet.block_dissector import Dissector

Source = str | Path | BinaryIO


def sources_of(names: Sequence[str]) -> list[Source]:
    """Sources of segments that the file arguments of a command name: `-` is standard input."""
    return [sys.stdin.buffer if name == "-" and sys.stdin is not None else name for name in names]


def own_segments(
    sources: Sequence[Source],
    progress: Callable[[int, int], None] | None,
    limits: Limits,
    *,
    hashing: bool = False,
    bound: ReadBound | None = None,
    streaming: bool = False,
    block_bytes: int | None = None,
    with_links: bool = False,
) -> tuple[Iterable[Event], Callable[[], CaptureFacts]]:
    """Returns the TCP segments that our own reader finds in captures, and the facts; `streaming`, with ends of blocks.
    `with_links`, also the MAC addresses and TTLs of senders."""
    from analyzer.capture.capture_reader import BLOCK_BYTES, CaptureReader
    from analyzer.transport.packet.block_dissector import LOOK_BEHIND_BYTES, Dissector

    reader = CaptureReader(
        sources,
        hashing=hashing,
        limits=limits,
        bound=bound,
        streaming=streaming,
        block_bytes=BLOCK_BYTES if block_bytes is None else block_bytes,
    )

    def facts() -> CaptureFacts:
        info = reader.info
        found = (info.files, info.frames, info.bytes, info.first_time_ns, info.last_time_ns, info.names)
        return CaptureFacts(*found, reader.digests, reader.traces)

    def position() -> int:
        return reader.position

    is_drained = (lambda: reader.is_drained) if streaming else None
    dissector = Dissector(limits=limits, most_passed=LOOK_BEHIND_BYTES if streaming else None, with_links=with_links)
    return segments_of(reader, dissector, progress, position, is_drained, reader.set_back), facts


def segments_of(
    frames: Iterable[FrameBlock | Problem],
    dissector: Dissector,
    progress: Callable[[int, int], None] | None = None,
    position: Callable[[], int] = lambda: 0,
    is_drained: Callable[[], bool] | None = None,
    set_back: Sequence[int] = (),
) -> Iterator[Event]:
    """Makes frames a source of segments: yields the TCP segments in them. `is_drained` says whether there is nothing more to read
    for the moment; with it, the ends of blocks come among the events. `set_back` are the frames so far before which the clock went
    back."""
    count, latest, told = 0, (-1, 0), 0
    for item in frames:
        if isinstance(item, Problem):
            yield item
            continue
        if len(set_back) > told:
            yield ClockSetBack(tuple(set_back[told:]))
            told = len(set_back)
        yield from dissector.feed(item)
        count += len(item)
        if is_drained is not None:
            if is_drained():
                yield from dissector.flush()
            last = int(item.times_ns.argmax())
            latest = max(
                latest, (int(item.times_ns[last]), int(item.frames[item.times_ns == item.times_ns[last]].max()) + 1)
            )
            since = dissector.since_ns
            yield BlockEnds(latest if since is None else min(latest, (since, 0)))
        if progress is not None:
            progress(count, position())
    yield from dissector.finish()


def tshark_segments(
    sources: Sequence[Source], *, streaming: bool = False
) -> tuple[Iterable[Event], Callable[[], CaptureFacts]]:
    """Returns the TCP segments that tshark finds in captures, and the facts; `streaming`, with ends of blocks among them."""
    from analyzer.transport.packet.tshark_engine import TsharkEngine

    tshark = TsharkEngine(sources)

    def facts() -> CaptureFacts:
        info = tshark.info
        return CaptureFacts(info.files, info.frames, info.bytes, info.first_time_ns, info.last_time_ns)

    return _in_blocks(tshark) if streaming else tshark, facts


# The segments of a block if the source has no blocks.
_SEGMENTS_OF_BLOCK = 256


def _in_blocks(segments: Iterable[Event]) -> Iterator[Event]:
    """Yields the segments of a source that tshark reads, with the ends of blocks among them."""
    from analyzer.transport.packet.segment import SegmentBatch

    for count, event in enumerate(segments, 1):
        if isinstance(event, SegmentBatch) and count % _SEGMENTS_OF_BLOCK == 0:
            yield BlockEnds((event.time_ns, 0))
        yield event
