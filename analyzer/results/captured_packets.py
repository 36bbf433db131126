"""The captured packets that carried calls: frames as captured, and the SMB messages in them in readable form.

An analysis holds no packets. To look at them, code reads the capture once more (`pipeline.packets`). If there is no capture any
more, `Packets.lacking` states why.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from msgspec import Struct, msgpack

from analyzer.core.byte_log import Log
from analyzer.core.byte_origins import PackedOrigins
from analyzer.core.printable_text import Discreet
from analyzer.core.traced_bytes import TracedBytes

# Bytes in memory; further ones lie in a temporary file.
_IN_MEMORY = 16 * 1024 * 1024
_LAST = 64
# The numbers that are kept for a frame.
_FACTS = 4


class CapturedFrame(Discreet, frozen=True):
    """A captured frame: its id, LINKTYPE_ number, captured bytes, and how long it was on the wire."""

    hidden = ("data",)
    frame: int
    link_type: int
    data: bytes
    original_length: int


class SmbMessage(Struct, frozen=True):
    """An SMB message in two forms: as sent, with its framing header, and as read, decrypted and decompressed.

    `reason` states why bytes at its end are missing.
    """

    sent: TracedBytes
    message: TracedBytes
    reason: str


class _PackedMessage(Struct, array_like=True):
    """A packed SMB message in the log of captured packets. `data` is None where the message was sent in that form: then its bytes
    are those of the frames."""

    sent: bytes
    sent_length: int
    origins: bytes
    length: int
    data: bytes | None
    steps: tuple[str, ...]
    reason: str


class Packets:
    """Captured packets: frames and SMB messages by the ids of their frames. `lacking` states why a frame is absent. `is_lost` says
    that the capture changed or cannot be read any more."""

    def __init__(self, lacking: str, *, is_lost: bool = False) -> None:
        self.lacking, self.is_lost = lacking, is_lost
        self._log = Log(_IN_MEMORY)
        # Ids of the frames, and for each where it lies in the log, its length, link type and original length; the ids in order,
        # each with its position.
        self._ids, self._facts = array("q"), array("q")
        self._sorted: tuple[array[int], array[int]] | None = None
        # Frames that were looked at: what lies in one is looked at next.
        self._last: dict[int, CapturedFrame] = {}
        # Where each message begins in the log, and how long it is.
        self._messages = array("q")
        # Pairs of frame and message; the pairs sorted by frame.
        self._pairs = array("q")
        self._by_frame: tuple[array[int], array[int]] | None = None

    @property
    def size(self) -> int:
        """Returns the total size of the captured packets in bytes."""
        return sum(self._facts[1::_FACTS])

    def add_frame(self, frame: CapturedFrame) -> None:
        place = self._log.append(frame.data)
        self._ids.append(frame.frame)
        self._facts.extend((place, len(frame.data), frame.link_type, frame.original_length))
        self._sorted = None

    def add_message(self, sent: TracedBytes, message: TracedBytes, reason: str = "") -> None:
        """Adds an SMB message as sent and as read. Its frames are added separately."""
        data = message.data if message.steps else None
        record = _PackedMessage(
            sent.packed_origins, len(sent), message.packed_origins, len(message), data, message.steps, reason
        )
        packed = msgpack.encode(record)
        number = len(self._messages) // 2
        self._messages.extend((self._log.append(packed), len(packed)))
        for frame in sent.frames:
            self._pairs.extend((frame, number))
        self._by_frame = None

    def frame(self, frame: int) -> CapturedFrame | None:
        """Returns the captured frame with this id, None if it is absent."""
        if (captured := self._last.get(frame)) is not None:
            return captured
        if self._sorted is None:
            self._sorted = _in_order(self._ids, array("q", range(len(self._ids))))
        ids, positions = self._sorted
        at = bisect_left(ids, frame)
        if at == len(ids) or ids[at] != frame:
            return None
        first = positions[at] * _FACTS
        place, length, link_type, original = self._facts[first : first + _FACTS]
        if len(self._last) >= _LAST:
            self._last.clear()
        captured = self._last[frame] = CapturedFrame(frame, link_type, self._log.read(place, length), original)
        return captured

    def messages(self, frames: Iterable[int]) -> Iterator[SmbMessage]:
        """Yields the SMB messages that have bytes in these frames, in order, each once."""
        if self._by_frame is None:
            self._by_frame = _in_order(self._pairs[::2], self._pairs[1::2])
        ids, numbers = self._by_frame
        found: set[int] = set()
        for frame in frames:
            first = bisect_left(ids, frame)
            found.update(numbers[first : bisect_left(ids, frame + 1, first)])
        for number in sorted(found):
            packed = self._log.read(*self._messages[2 * number : 2 * number + 2])
            record = msgpack.decode(packed, type=_PackedMessage)
            sent = self._captured(record.sent, record.sent_length)
            if sent is None:
                continue
            if record.data is not None:
                message = TracedBytes(record.data, PackedOrigins(record.origins, len(record.data)), 0, record.steps)
            elif (captured := self._captured(record.origins, record.length)) is not None:
                message = captured
            else:
                continue
            yield SmbMessage(sent, message, record.reason)

    def _captured(self, origins: bytes, length: int) -> TracedBytes | None:
        """Returns bytes of an SMB message as the captured frames have them, None if one of the frames is absent."""
        source = PackedOrigins(origins, length)
        parts = []
        for extent in source.extents(0, length):
            frame = self.frame(extent.frame)
            if frame is None:
                return None
            parts.append(frame.data[extent.start : extent.start + extent.length])
        return TracedBytes(b"".join(parts), source)


def _in_order(ids: array[int], numbers: array[int]) -> tuple[array[int], array[int]]:
    """Sorts frame ids of captured packets, each with its number."""
    import numpy as np

    order = np.argsort(np.array(ids, np.int64), kind="stable")
    return array("q", np.array(ids, np.int64)[order].tobytes()), array(
        "q", np.array(numbers, np.int64)[order].tobytes()
    )
