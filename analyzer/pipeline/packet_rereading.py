"""Reads captures once more for the packets of calls: the frames that carried calls, and the SMB messages in them.

`report`, `browse` and `show --packets` need them: an analysis itself holds no frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from analyzer.auth.keyring import Keyring
from analyzer.capture.capture_reader import CaptureReader, Source
from analyzer.capture.first_bytes import is_case, special_file
from analyzer.core.errors import InputError
from analyzer.core.events import Event, Problem
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.core.traced_bytes import TracedBytes
from analyzer.pipeline.layer_chain import LayerChain, channel_layers
from analyzer.pipeline.run import with_embedded
from analyzer.pipeline.segment_sources import own_segments
from analyzer.results.analysis import Analysis
from analyzer.results.captured_packets import CapturedFrame, Packets
from analyzer.transport.smb.smb_framing import HEADER_LEN, Message
from analyzer.transport.tcp.stream_events import Connection, Direction

if TYPE_CHECKING:
    from analyzer.transport.packet.segment import SegmentBatch
    from analyzer.transport.smb.smb_connection_state import MessageLog

# Why frames that were there are not, or none is.
CHANGED = "the captures changed since they were read"
# Frames of more bytes than these are left out: they lie in a temporary file while they are looked at.
MAX_PACKET_BYTES = 256 << 20


def packets_of(
    sources: Sequence[Source],
    analysis: Analysis,
    keyring: Keyring,
    *,
    numbers: Iterable[int] | None = None,
    engine: str = "own",
    limits: Limits = DEFAULTS,
    most_bytes: int = MAX_PACKET_BYTES,
) -> Packets:
    """Returns the packets of the calls with these numbers (default: all) of an analysis that was made of these sources.

    If the sources cannot be read again, there are no packets, but the reason.
    """
    lacking = why_not(sources, engine)
    if lacking is not None:
        return Packets(lacking)
    packets = Packets(f"it is beyond the first {most_bytes >> 20} MiB of packets with calls")
    chosen = range(1, len(analysis.calls) + 1) if numbers is None else [*numbers]
    calls = analysis.calls
    carrying = {frame for number in chosen for frame in calls.frames(number)}
    smb_of, smbs = calls.table.meaning("smb"), calls.column("smb")[np.array(chosen, np.int64) - 1]
    has_smb = any(smb_of(number) is not None for number in set(smbs.tolist()))

    def take_message(connection: Connection, direction: Direction, sent: Message, message: Message) -> None:
        if not carrying.isdisjoint(sent.frames):
            packets.add_message(_with_header(sent), message.head, sent.reason or message.reason)

    lost: list[Problem] = []
    try:
        if has_smb:
            follow_messages(
                sources, with_embedded(sources, keyring)[0], limits, message_log=take_message, lost=lost.append
            )
        reader = CaptureReader(sources, limits=limits)
    except InputError as error:
        return Packets(f"the capture could not be read again: {error}", is_lost=True)
    if reader.info.files != analysis.capture.files:  # the numbers of frames would be those of other files
        return Packets(CHANGED, is_lost=True)
    _add_frames(packets, reader, carrying | packets.frames_of_messages, most_bytes)
    if (why := broke_off(lost, analysis, max(carrying, default=0))) is not None:
        packets.lacking, packets.is_lost = why, True
    return packets


def follow_messages(
    sources: Sequence[Source],
    keyring: Keyring,
    limits: Limits,
    *,
    message_log: MessageLog,
    segment_log: Callable[[SegmentBatch], object] | None = None,
    lost: Callable[[Problem], None] | None = None,
) -> None:
    """Rereads captures through the layers up to SMB, and passes on their SMB messages and TCP segments. `lost` is described at
    `run.smb_session_keys`."""
    from analyzer.transport.packet.segment import SegmentBatch
    from analyzer.transport.tcp.reassembler import Reassembler

    segments, _ = own_segments(sources, None, limits)

    def noted() -> Iterator[Event]:
        for event in segments:
            if segment_log is not None and isinstance(event, SegmentBatch):
                segment_log(event)
            yield event

    layers = channel_layers(keyring, limits, message_log=message_log, checks_signatures=False)
    chain = LayerChain([Reassembler(limits), *layers])
    for event in chain.run(noted()):
        if lost is not None and isinstance(event, Problem) and event.is_of_file:
            lost(event)


def broke_off(lost: Sequence[Problem], analysis: Analysis, last: int) -> str | None:
    """Returns why a second reading of an analysis's captures ended before their frame `last`; None if it reached that frame. `lost`
    are the problems of files in the second reading. Problems that the first reading had do not count."""
    if not lost:
        return None
    known = {problem.text for problem in analysis.problems}
    new = (one.text for one in lost if one.text not in known and min(one.frames, default=0) <= last)
    return next((f"the capture could not be read again: {text}" for text in new), None)


def why_not(sources: Sequence[Source], engine: str) -> str | None:
    """Returns why captures cannot be read once more for packets; None if they can."""
    if any(is_case(source) for source in sources):
        return "a case does not hold captured packets"
    if not all(isinstance(source, str | Path) and special_file(source) is None for source in sources):
        return "the capture came through a pipe, which is read once"
    return "tshark gives no captured bytes" if engine != "own" else None


def _with_header(sent: Message) -> TracedBytes:
    """Returns an SMB message, met when the captures were reread, with its framing header ([MS-SMB2] section 2.1), if the header was
    captured before it."""
    data, start = sent.data, sent.start
    if start >= HEADER_LEN and int.from_bytes(data.part(start - HEADER_LEN, start), "big") == sent.length:
        return data[start - HEADER_LEN : sent.stop]
    return sent.head


def _add_frames(packets: Packets, reader: CaptureReader, wanted: set[int], most: int) -> None:
    ids = np.array(sorted(wanted), np.int64)
    found = 0
    for block in reader:
        if isinstance(block, Problem):
            continue
        for index in np.flatnonzero(np.isin(block.frames, ids)).tolist():
            frame = block.frame(index)
            most -= len(frame.data)
            if most < 0:
                return
            packets.add_frame(CapturedFrame(frame.frame, frame.link_type, frame.data, frame.original_length))
            found += 1
    if found < len(ids):
        packets.lacking, packets.is_lost = CHANGED, True
