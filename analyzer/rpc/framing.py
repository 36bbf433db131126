"""PDU framing: bytes of one direction of a channel in, whole DCERPC PDUs out, and what was lost between them (C706 12.6.3.1).

States: in step (the next byte begins a PDU; its frag_length says where the next one does) and seeking. A gap, or bytes that
cannot be a header, lead from the first to the second; the next plausible header leads back and tells how much was lost.
Where a message of the transport begins (`fresh`) a header is believed more easily than in the middle of other bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from msgspec import Struct

from analyzer.core.errors import DecodeError
from analyzer.core.traced import EMPTY, TracedBuffer, TracedBytes
from analyzer.rpc.pdu import HEADER_LEN, Header, looks_like_header, read_header
from analyzer.smb.events import SmbInfo

# A loss may span thousands of frames; a report is served by the first of them.
_MAX_FRAMES = 64


class RawPdu(Struct, frozen=True):
    """One whole PDU."""

    header: Header
    data: TracedBytes
    smb: SmbInfo | None


class CutPdu(Struct, frozen=True):
    """The stream falls out of step: the beginning of a PDU whose rest is not there.

    `header` is None where not even that is whole, `data` empty where the bytes that follow are no PDU at all.
    """

    header: Header | None
    data: TracedBytes
    smb: SmbInfo | None


class Lost(Struct, frozen=True):
    """The stream is in step again (or ended) after `length` bytes without a PDU; None where nobody knows how many."""

    length: int | None
    frames: tuple[int, ...]
    reason: str
    captured: bool


class Framer:
    """Splits one direction of a channel into PDUs."""

    def __init__(self) -> None:
        self._held = TracedBuffer()
        self._position = 0
        self._spans: deque[tuple[int, SmbInfo | None, bool]] = deque()
        self._seeking = False
        self._lost_length: int | None = 0
        self._lost_frames: set[int] = set()
        self._lost_reason = ""
        self._lost_captured = True

    @property
    def seeking(self) -> bool:
        return self._seeking

    @property
    def at_rest(self) -> bool:
        """A PDU is due, and nothing of it is here yet."""
        return not self._seeking and not len(self._held)

    @property
    def wanted(self) -> int:
        """How many bytes the PDU lacks of which the header is held; 0 where there is none, or none is in sight."""
        if self._seeking or len(self._held) < HEADER_LEN:
            return 0
        try:
            return read_header(self._held.peek(HEADER_LEN)).frag_length - len(self._held)
        except DecodeError:
            return 0

    def passed(self, length: int) -> None:
        """A whole PDU came at rest, and somebody else has taken it."""
        self._position += length

    def feed(self, data: TracedBytes, smb: SmbInfo | None, fresh: bool) -> Iterator[RawPdu | CutPdu | Lost]:
        """Takes bytes in order; yields PDUs as they become whole."""
        end = self._position + len(self._held)
        if fresh or not self._spans or self._spans[-1][1] != smb:
            self._spans.append((end, smb, fresh))
        self._held.append(data)
        while len(self._held) >= HEADER_LEN:
            if self._seeking:
                if not self._seek():
                    return
                yield self._found()
            head = self._held.peek(HEADER_LEN)
            try:
                header = read_header(head)
            except DecodeError as error:
                # What stands here is no PDU: everything up to the next plausible header is lost to us.
                self._lose(str(error), captured=True)
                yield CutPdu(None, EMPTY, None)
                continue
            if len(self._held) < header.frag_length:
                return
            smb_info = self._smb()
            yield RawPdu(header, self._take(header.frag_length), smb_info)

    def gap(self, length: int | None, frames: tuple[int, ...], reason: str) -> Iterator[CutPdu]:
        """Bytes are missing here: what is held of a PDU is all there will be of it."""
        self._lose(reason, captured=False)
        if length is None:
            self._lost_length = None
        elif self._lost_length is not None:
            self._lost_length += length
        self._note_frames(frames)
        if len(self._held):
            yield self._cut()
        else:
            yield CutPdu(None, EMPTY, None)

    def finish(self) -> Iterator[CutPdu | Lost]:
        """No more bytes will come."""
        if len(self._held):
            self._lose("the stream ends in the middle of a PDU", captured=False)
            yield self._cut()
        if self._seeking:
            yield self._found()

    def _cut(self) -> CutPdu:
        smb = self._smb()
        held = self._held.peek(HEADER_LEN)
        rest = self._take(len(self._held))
        self._count(rest)
        header = None
        if len(held) == HEADER_LEN and looks_like_header(held, 0, strict=True):
            header = read_header(held)
        return CutPdu(header, rest, smb)

    def _lose(self, reason: str, *, captured: bool) -> None:
        if not self._seeking:
            self._seeking = True
            self._lost_length = 0
            self._lost_frames.clear()
            self._lost_reason = reason
            self._lost_captured = captured
        elif self._lost_captured and not captured:
            self._lost_reason, self._lost_captured = reason, False

    def _found(self) -> Lost:
        self._seeking = False
        return Lost(self._lost_length, tuple(sorted(self._lost_frames)), self._lost_reason, self._lost_captured)

    def _note_frames(self, frames: tuple[int, ...]) -> None:
        self._lost_frames.update(frames[: max(_MAX_FRAMES - len(self._lost_frames), 0)])

    def _count(self, dropped: TracedBytes) -> None:
        if self._lost_length is not None:
            self._lost_length += len(dropped)
        self._note_frames(dropped.frames)

    def _take(self, length: int) -> TracedBytes:
        self._position += length
        return self._held.take(length)

    def _smb(self) -> SmbInfo | None:
        """How the byte now first in line was carried."""
        while len(self._spans) > 1 and self._spans[1][0] <= self._position:
            self._spans.popleft()
        return self._spans[0][1] if self._spans else None

    def _seek(self) -> bool:
        """Drops bytes up to the next plausible header; False where none is in sight yet."""
        data = self._held.peek(len(self._held))
        fresh = {at - self._position for at, _, fresh in self._spans if fresh}
        last = len(data) - HEADER_LEN
        at = data.find(5)
        while 0 <= at <= last:
            if looks_like_header(data, at, strict=at not in fresh):
                break
            at = data.find(5, at + 1)
        skip = at if 0 <= at <= last else last + 1
        if skip:
            self._count(self._take(skip))
            self._smb()
        return 0 <= at <= last
