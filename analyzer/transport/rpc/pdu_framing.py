"""Splits one direction of a channel into whole DCERPC PDUs, and states what was lost between them (C706 12.6.3.1).

A direction is in sequence (the next byte begins a PDU, or continues the one that is held), or it seeks the next header:

    state         input                            output         next state
    in sequence   the bytes of whole PDUs          RawPdu each    in sequence
    in sequence   a part of a PDU                  -              in sequence, the part is held
    in sequence   bytes that are no header         CutPdu         seeking
    in sequence   a gap                            CutPdu         seeking
    seeking       a gap                            CutPdu         seeking
    seeking       a plausible header               LostPdus       in sequence
    seeking       the end of the channel           LostPdus       -

Where a message of the transport begins (`fresh`) a header is believed more easily than in the middle of other bytes.
"""

from __future__ import annotations

from collections import deque

from msgspec import Struct
from msgspec.structs import replace

from analyzer.core.errors import DecodeError
from analyzer.core.traced_bytes import EMPTY, TracedBuffer, TracedBytes
from analyzer.transport.channel.channels import ChannelBatch, ChannelGap, SmbInfo
from analyzer.transport.rpc.pdu import HEADER_LEN, PduHeader, looks_like_header, read_header

# A loss may span thousands of frames; a report is served by the first of them.
_MAX_FRAMES = 64


class RawPdu(Struct, frozen=True):
    """One whole DCERPC PDU: bytes of `piece` from `start` on, as many as its header states."""

    header: PduHeader
    piece: TracedBytes
    start: int
    smb: SmbInfo | None

    @property
    def data(self) -> TracedBytes:
        """The bytes of this framed PDU alone."""
        length = self.header.frag_length
        return self.piece if length == len(self.piece) else self.piece[self.start : self.start + length]


class CutPdu(Struct, frozen=True):
    """The event that PDU framing loses its place: the beginning of a PDU whose rest is missing.

    `header` is None if not even the header is whole. `data` is empty if the bytes that follow are no PDU.
    """

    header: PduHeader | None
    data: TracedBytes
    smb: SmbInfo | None


class LostPdus(Struct, frozen=True):
    """The event that PDU framing finds a PDU again (or ends) after `length` bytes without one. `length` is None if unknown."""

    length: int | None
    frames: tuple[int, ...]
    reason: str
    captured: bool


class Framer:
    """Splits one direction of a channel into DCERPC PDUs."""

    def __init__(self) -> None:
        # The held beginning of a PDU.
        self.held = TracedBuffer()
        self._position = 0
        self._spans: deque[tuple[int, SmbInfo | None, bool]] = deque()
        self._seeking = False
        self._lost_length: int | None = 0
        self._lost_frames: set[int] = set()
        self._lost_reason = ""
        self._lost_captured = True

    @property
    def since_ns(self) -> int | None:
        """The time when the held PDU began, None if no PDU is held."""
        return None if self._seeking else self.held.since_ns

    def feed(self, batch: ChannelBatch | ChannelGap) -> list[RawPdu | CutPdu | LostPdus]:
        """Takes bytes of a channel in order; returns its whole PDUs. A gap cuts the held PDU, and the held part is returned."""
        out: list[RawPdu | CutPdu | LostPdus] = []
        if isinstance(batch, ChannelGap):
            out.append(self._gap(batch))
            return out
        for piece, start, stop in batch.spans:
            at = start
            while at < stop:
                if not self.held.length and not self._seeking:
                    # Whole PDUs stay where they lie.
                    data, begun = piece.data, at
                    while stop - at >= HEADER_LEN:
                        try:
                            header = read_header(data, at)
                        except DecodeError:
                            break
                        end = at + header.frag_length
                        if end > stop:
                            break
                        out.append(RawPdu(header, piece, at, batch.smb))
                        at = end
                    self._position += at - begun
                    if at == stop:
                        break
                if batch.fresh and at == start and self.held.length and self._is_another(piece, at, stop):
                    out += self._cut_short()
                    continue
                # Only bytes that complete the held PDU are joined with it. Later bytes stay where they are.
                lacking = self._lacking()
                end = at + lacking if 0 < lacking < stop - at else stop
                self._hold(piece[at:end], batch.smb, batch.fresh and at == start)
                at = end
                self._take_held(out)
        return out

    def _is_another(self, piece: TracedBytes, at: int, stop: int) -> bool:
        """Whether a message of the pipe is a whole PDU of its own, and does not continue the held PDU. No PDU crosses the end of
        its message, whatever its header says ([MS-RPCE] section 2.1.1.2)."""
        if self._seeking or stop - at < HEADER_LEN:
            return False
        head = piece[at : at + HEADER_LEN].data
        return looks_like_header(head, 0, strict=True) and read_header(head).frag_length == stop - at

    def _cut_short(self) -> list[CutPdu | LostPdus]:
        """Gives up the held PDU, because another one begins before its end: no more of it will come."""
        header = read_header(self.held.peek(HEADER_LEN)) if len(self.held) >= HEADER_LEN else None
        promised = f", its header promises {header.frag_length}" if header is not None else ""
        self._lose(f"another PDU begins {len(self.held)} bytes into a PDU{promised}", captured=True)
        return [self._cut(), self._found()]

    def _lacking(self) -> int:
        """Returns how many bytes the held PDU lacks; 0 if no header is held."""
        if self._seeking or len(self.held) < HEADER_LEN:
            return 0
        # Bytes that are no header are not held.
        return read_header(self.held.peek(HEADER_LEN)).frag_length - len(self.held)

    def _hold(self, data: TracedBytes, smb: SmbInfo | None, fresh: bool) -> None:
        if fresh or not self._spans or self._spans[-1][1] != smb:
            self._spans.append((self._position + len(self.held), smb, fresh))
        self.held.append(data)

    def _take_held(self, out: list[RawPdu | CutPdu | LostPdus]) -> None:
        """Takes the whole PDUs out of the bytes that PDU framing holds."""
        while len(self.held) >= HEADER_LEN:
            if self._seeking:
                if not self._seek():
                    return
                out.append(self._found())
            try:
                header = read_header(self.held.peek(HEADER_LEN))
            except DecodeError as error:
                # These bytes are no PDU: everything up to the next plausible header is lost.
                self._lose(str(error), captured=True)
                out.append(CutPdu(None, EMPTY, None))
                continue
            if len(self.held) < header.frag_length:
                return
            smb = self._smb(header.frag_length)
            out.append(RawPdu(header, self._take(header.frag_length), 0, smb))

    def _gap(self, gap: ChannelGap) -> CutPdu:
        self._lose(gap.reason, captured=False)
        if gap.length is None:
            self._lost_length = None
        elif self._lost_length is not None:
            self._lost_length += gap.length
        self._note_frames(gap.frames)
        return self._cut() if self.held else CutPdu(None, EMPTY, None)

    def finish(self) -> list[CutPdu | LostPdus]:
        """Ends PDU framing of this direction; returns what was cut and lost."""
        out: list[CutPdu | LostPdus] = []
        if self.held:
            self._lose("the stream ends in the middle of a PDU", captured=False)
            out.append(self._cut())
        if self._seeking:
            out.append(self._found())
        return out

    def _cut(self) -> CutPdu:
        smb = self._smb(len(self.held))
        held = self.held.peek(HEADER_LEN)
        rest = self._take(len(self.held))
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

    def _found(self) -> LostPdus:
        self._seeking = False
        return LostPdus(self._lost_length, tuple(sorted(self._lost_frames)), self._lost_reason, self._lost_captured)

    def _note_frames(self, frames: tuple[int, ...]) -> None:
        self._lost_frames.update(frames[: max(_MAX_FRAMES - len(self._lost_frames), 0)])

    def _count(self, dropped: TracedBytes) -> None:
        if self._lost_length is not None:
            self._lost_length += len(dropped)
        self._note_frames(dropped.frames)

    def _take(self, length: int) -> TracedBytes:
        self._position += length
        return self.held.take_bytes(length)

    def _smb(self, length: int) -> SmbInfo | None:
        """Returns how SMB carried the first byte of the channel that is held. If the signature of a message does not fit that
        carried one of the first `length` held bytes, that is stated."""
        while len(self._spans) > 1 and self._spans[1][0] <= self._position:
            self._spans.popleft()
        first = self._spans[0][1] if self._spans else None
        for at, smb, _ in self._spans:
            if at >= self._position + length:
                break
            if smb is not None and smb.signature_ok is False:
                return first and replace(first, signature_ok=False)
        return first

    def _seek(self) -> bool:
        """Drops bytes of the channel up to the next plausible PDU header. Returns False if none is in sight yet."""
        data = self.held.peek(len(self.held))
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
            self._smb(0)
        return 0 <= at <= last
