"""The captured packets that carried calls: frames as they were captured, and the SMB messages in them as they could be read.

An analysis holds no packets. Who wants to look at them has the capture read once more (`pipeline.packets`); where there is no
capture any more, `Packets.lacking` states why.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from msgspec import Struct, msgpack

from analyzer.core.discreet import Discreet
from analyzer.core.origins import PackedOrigins, pack_origins
from analyzer.core.spill import Log
from analyzer.core.traced import TracedBytes

# What lies in memory; what comes then lies in a temporary file.
_IN_MEMORY = 16 * 1024 * 1024
_LAST = 64


class CapturedFrame(Discreet, frozen=True):
    """A frame: its id, LINKTYPE_ number, captured bytes, and how long it was on the wire."""

    hidden = ("data",)
    frame: int
    link_type: int
    data: bytes
    original_length: int


class SmbMessage(Struct, frozen=True):
    """An SMB message as it was sent, with the framing header before it, and as it could be read: decrypted and decompressed.

    `reason` states why bytes at its end are missing.
    """

    sent: TracedBytes
    message: TracedBytes
    reason: str


class _Packed(Struct, array_like=True):
    """A message in the log. `data` is None where the message is as it was sent: then its bytes are those of the frames."""

    sent: bytes
    sent_length: int
    origins: bytes
    length: int
    data: bytes | None
    steps: tuple[str, ...]
    reason: str


class Packets:
    """Frames and messages by the ids of their frames. `lacking` states why a frame that is not here is not. They are lost where
    a capture that was read is not what it was, or cannot be read any more."""

    def __init__(self, lacking: str, *, is_lost: bool = False) -> None:
        self.lacking, self.is_lost = lacking, is_lost
        self._log = Log(_IN_MEMORY)
        self._frames: dict[int, tuple[int, int, int, int]] = {}
        # Frames that were looked at: what lies in one is looked at next.
        self._last: dict[int, CapturedFrame] = {}
        self._messages: list[tuple[int, int]] = []
        # Which message lies in which frame: pairs, and the same sorted by frame.
        self._pairs = array("q")
        self._by_frame: tuple[array[int], array[int]] | None = None

    @property
    def size(self) -> int:
        """How many bytes of frames there are."""
        return sum(length for _, length, _, _ in self._frames.values())

    def add_frame(self, frame: CapturedFrame) -> None:
        place = self._log.append(frame.data)
        self._frames[frame.frame] = place, len(frame.data), frame.link_type, frame.original_length

    def add_message(self, sent: TracedBytes, message: TracedBytes, reason: str = "") -> None:
        """A message as it was sent and as it could be read; its frames are to be added too."""
        data = message.data if message.steps else None
        record = _Packed(
            pack_origins(sent), len(sent), pack_origins(message), len(message), data, message.steps, reason
        )
        packed = msgpack.encode(record)
        number = len(self._messages)
        self._messages.append((self._log.append(packed), len(packed)))
        for frame in sent.frames:
            self._pairs.extend((frame, number))
        self._by_frame = None

    def frame(self, frame: int) -> CapturedFrame | None:
        """A frame by its id."""
        if (captured := self._last.get(frame)) is not None:
            return captured
        if (found := self._frames.get(frame)) is None:
            return None
        place, length, link_type, original = found
        if len(self._last) >= _LAST:
            self._last.clear()
        captured = self._last[frame] = CapturedFrame(frame, link_type, self._log.read(place, length), original)
        return captured

    def messages(self, frames: Iterable[int]) -> Iterator[SmbMessage]:
        """The messages of which some bytes lie in these frames, in their order, each once."""
        if self._by_frame is None:
            import numpy as np

            pairs = np.array(self._pairs, np.int64).reshape(-1, 2)
            order = np.argsort(pairs[:, 0], kind="stable")
            self._by_frame = array("q", pairs[order, 0].tobytes()), array("q", pairs[order, 1].tobytes())
        ids, numbers = self._by_frame
        found: set[int] = set()
        for frame in frames:
            first = bisect_left(ids, frame)
            found.update(numbers[first : bisect_left(ids, frame + 1, first)])
        for number in sorted(found):
            record = msgpack.decode(self._log.read(*self._messages[number]), type=_Packed)
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
        """Bytes that are as they were captured, None where one of their frames is not here."""
        source = PackedOrigins(origins, length)
        parts = []
        for extent in source.extents(0, length):
            frame = self.frame(extent.frame)
            if frame is None:
                return None
            parts.append(frame.data[extent.start : extent.start + extent.length])
        return TracedBytes(b"".join(parts), source)
