"""The captured packets that carried calls: frames as captured, and the SMB messages in them in readable form.

An analysis holds no packets. To look at them, code reads the capture once more (`pipeline.packet_rereading`). If there is no
capture any more, `Packets.lacking` states why.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from msgspec import Struct, msgpack

from analyzer.core.byte_log import Log
from analyzer.core.byte_origins import PACKED_EXTENT, FrameExtent, PackedOrigins
from analyzer.core.printable_text import Discreet
from analyzer.core.traced_bytes import TracedBytes

# Bytes in memory; further ones lie in a temporary file.
_IN_MEMORY = 16 * 1024 * 1024
_LAST = 64
# The numbers that are kept for a frame, and for a message.
_FACTS, _PLACE = 4, 4
# In place of the frame of a message that has a record.
_RECORD = -1


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
        # Most messages were sent in the form in which they are read, in one frame: it, where the sent form begins there, and the
        # lengths of both forms. For others: `_RECORD`, where the record lies in the log, its length, 0.
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
        number, origins = len(self._messages) // _PLACE, sent.packed_origins
        is_end = message.source is sent.source and message.start + len(message) == sent.start + len(sent)
        if is_end and not message.steps and not reason and len(origins) == PACKED_EXTENT.size:
            frame, start, length = PACKED_EXTENT.unpack(origins)
            self._messages.extend((frame, start, length, len(message)))
            self._pairs.extend((frame, number))
        else:
            data = message.data if message.steps else None
            packed = msgpack.encode(
                _PackedMessage(origins, len(sent), message.packed_origins, len(message), data, message.steps, reason)
            )
            self._messages.extend((_RECORD, self._log.append(packed), len(packed), 0))
            for frame in sent.frames:
                self._pairs.extend((frame, number))
        self._by_frame = None

    @property
    def frames_of_messages(self) -> frozenset[int]:
        """Returns the ids of the frames that carried the SMB messages of these captured packets."""
        return frozenset(self._pairs[::2])

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

    def messages(self, carried: Iterable[FrameExtent]) -> Iterator[SmbMessage]:
        """Yields the SMB messages that carried bytes of these frame extents, in order, each once."""
        if self._by_frame is None:
            self._by_frame = _in_order(self._pairs[::2], self._pairs[1::2])
        ids, numbers = self._by_frame
        spans: dict[int, list[tuple[int, int]]] = {}
        for extent in carried:
            spans.setdefault(extent.frame, []).append((extent.start, extent.start + extent.length))
        found: set[int] = set()
        for frame in spans:
            first = bisect_left(ids, frame)
            found.update(numbers[first : bisect_left(ids, frame + 1, first)])
        for number in sorted(found):
            frame, start, sent_length, length = self._messages[_PLACE * number : _PLACE * (number + 1)]
            message: SmbMessage | None = None
            if frame == _RECORD:
                message = self._recorded(start, sent_length)
                extents = message.message.extents() if message is not None else ()
                if not any(_meets(one.start, one.length, spans.get(one.frame, ())) for one in extents):
                    continue
            elif _meets(start + sent_length - length, length, spans[frame]):
                message = self._plain(frame, start, sent_length, length)
            if message is not None:
                yield message

    def _plain(self, frame: int, start: int, sent_length: int, length: int) -> SmbMessage | None:
        """Returns from the captured packets the SMB message that a frame carried in the form in which it is read, None if the frame
        is absent."""
        if (captured := self.frame(frame)) is None:
            return None
        source = PackedOrigins(PACKED_EXTENT.pack(frame, start, sent_length), sent_length)
        sent = TracedBytes(captured.data[start : start + sent_length], source)
        return SmbMessage(sent, sent[sent_length - length :], "")

    def _recorded(self, place: int, size: int) -> SmbMessage | None:
        """Returns an SMB message by its record in the log, None if one of its frames is absent."""
        record = msgpack.decode(self._log.read(place, size), type=_PackedMessage)
        sent = self._captured(record.sent, record.sent_length)
        if record.data is not None:
            source = PackedOrigins(record.origins, len(record.data))
            message: TracedBytes | None = TracedBytes(record.data, source, 0, record.steps)
        else:
            message = self._captured(record.origins, record.length)
        return SmbMessage(sent, message, record.reason) if sent is not None and message is not None else None

    def _captured(self, origins: bytes, length: int) -> TracedBytes | None:
        """Returns bytes of an SMB message out of the captured frames that these packets hold, None if one of the frames is
        absent."""
        source = PackedOrigins(origins, length)
        parts = []
        for extent in source.extents(0, length):
            frame = self.frame(extent.frame)
            if frame is None:
                return None
            parts.append(frame.data[extent.start : extent.start + extent.length])
        return TracedBytes(b"".join(parts), source)


def _meets(start: int, length: int, spans: Iterable[tuple[int, int]]) -> bool:
    """Whether a captured message has bytes in one of these spans of its frame."""
    return any(start < last and first < start + length for first, last in spans)


def _in_order(ids: array[int], numbers: array[int]) -> tuple[array[int], array[int]]:
    """Sorts frame ids of captured packets, each with its number."""
    import numpy as np

    order = np.argsort(np.array(ids, np.int64), kind="stable")
    return array("q", np.array(ids, np.int64)[order].tobytes()), array(
        "q", np.array(numbers, np.int64)[order].tobytes()
    )
