"""Session framing: the bytes of one TCP direction in, SMB messages out ([MS-SMB2] section 2.1, RFC 1002 section 4.3).

A direction is either in step, at a header or inside a message whose end is known, or seeking the next header. `offer` is the
short way for messages that neither share a chunk nor have holes; `feed` does the same and everything else. A hole
inside a message leaves it in step, since the length said where the next header stands; a hole that swallows a header,
or bytes that are no header, make it seek.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from analyzer.core.events import Event, Problem
from analyzer.core.traced import EMPTY, TracedBuffer, TracedBytes

SMB1_MAGIC = b"\xffSMB"
SMB2_MAGIC = b"\xfeSMB"
TRANSFORM_MAGIC = b"\xfdSMB"
COMPRESSION_MAGIC = b"\xfcSMB"
MAGICS = frozenset((SMB1_MAGIC, SMB2_MAGIC, TRANSFORM_MAGIC, COMPRESSION_MAGIC))

HEADER_LEN = 4
SESSION_MESSAGE = 0x00
SESSION_REQUEST = 0x81
POSITIVE_RESPONSE = 0x82
KEEPALIVE = 0x85
# The longest NetBIOS session packet besides messages is a session request: two encoded names with scopes.
_MAX_CONTROL_LEN = 1024
# A message in more pieces than this is not worth keeping together: its holes would cost more than its bytes.
_MAX_PIECES = 1024
# An SMB2 header says its size (64) behind the magic; with it a chance match in data is next to impossible.
_HEADER = re.compile(rb"\x00[\x00-\xff]{3}(?:\xfeSMB\x40\x00|[\xff\xfd\xfc]SMB)")
_HEADER_SPAN = 10


def find_header(data: bytes) -> int:
    """Where the first framed SMB header begins, -1 where there is none."""
    found = _HEADER.search(data)
    return found.start() if found else -1


class Hole(Struct, frozen=True):
    """Bytes of a message that were not captured, and the frames around them."""

    length: int
    frames: tuple[int, ...]


class Message(Struct, frozen=True):
    """One SMB message as far as it was captured: `pieces` with their offsets, of `length` bytes on the wire."""

    pieces: tuple[tuple[int, TracedBytes], ...]
    length: int
    reason: str = ""

    @classmethod
    def of(cls, data: TracedBytes) -> Message:
        return cls(((0, data),), len(data))

    @property
    def whole(self) -> bool:
        return len(self.head) == self.length

    @property
    def head(self) -> TracedBytes:
        """What was captured without a hole from the beginning."""
        if self.pieces and self.pieces[0][0] == 0:
            return self.pieces[0][1]
        return EMPTY

    @property
    def frames(self) -> tuple[int, ...]:
        if len(self.pieces) == 1:
            return self.pieces[0][1].frames
        return tuple(sorted({frame for _, piece in self.pieces for frame in piece.frames}))

    def part(self, start: int, stop: int) -> Message:
        """The bytes `start` to `stop` as a message of their own."""
        kept = []
        for at, piece in self.pieces:
            first, last = max(start, at), min(stop, at + len(piece))
            if first < last:
                kept.append((first - start, piece[first - at : last - at]))
        return Message(tuple(kept), max(stop - start, 0), self.reason)

    def spans(self, start: int, stop: int) -> Iterator[TracedBytes | Hole]:
        """The bytes `start` to `stop`, captured runs and holes in their order."""
        if stop <= len(self.head):
            if start < stop:
                yield self.head[start:stop]
            return
        at, before = start, self.pieces[0][1][:1].frames if self.pieces else ()
        for offset, piece in self.pieces:
            first, last = max(start, offset), min(stop, offset + len(piece))
            if first >= last:
                if offset + len(piece) <= start and len(piece):
                    before = piece[-1:].frames
                continue
            run = piece[first - offset : last - offset]
            if first > at:
                yield Hole(first - at, (*before, *run[:1].frames))
            yield run
            at, before = last, run[-1:].frames
        if at < stop:
            yield Hole(stop - at, before)


class NetbiosNames(Event, frozen=True):
    """A NetBIOS session request: the names of the called and the calling end."""

    called: str
    calling: str


class Lost(Event, frozen=True):
    """The framing is out of step: unknown messages were lost here."""

    length: int | None
    frames: tuple[int, ...]
    reason: str


class Framing:
    """Splits one direction of a connection into messages. `seeking`: the first byte need not be a header."""

    def __init__(self, place: str, *, seeking: bool = False) -> None:
        self._place = place
        self._held = TracedBuffer()
        self._pieces: list[tuple[int, TracedBytes]] = []
        self._at = 0
        self._total: int | None = None
        # The length of a message that `offer` holds the beginning of, its framing header counted; 0 where there is none.
        self._wanted = 0
        self._reason = ""
        self._seeking = seeking
        self._skipped = 0
        self._lost: Lost | None = None

    @property
    def at_rest(self) -> bool:
        """A message is due, and nothing of it is here yet."""
        return not (self._wanted or self._seeking or self._total is not None or len(self._held))

    def offer(self, data: TracedBytes) -> TracedBytes | bool:
        """Takes bytes the short way: a message (with its framing header) that they complete, True where they are held for
        one, and False where they are neither the beginning of one message, nor its middle, nor its end: `feed` has to take them.
        """
        size = len(data.data)
        if wanted := self._wanted:
            have = len(self._held) + size
            if have > wanted:
                return False
            self._held.append(data)
            if have < wanted:
                return True
            self._wanted = 0
            return self._held.take_all()
        if not self.at_rest:
            return False
        head = data.data[: HEADER_LEN + 4]
        if head[HEADER_LEN:] not in MAGICS or head[0] != SESSION_MESSAGE:
            return False
        wanted = HEADER_LEN + int.from_bytes(head[1:HEADER_LEN], "big")
        if wanted < size:
            return False
        if wanted == size:
            return data
        self._held.append(data)
        self._wanted = wanted
        return True

    def _go_on(self) -> None:
        """Goes the long way from here, where `offer` began a message."""
        if self._wanted:
            self._held.take(HEADER_LEN)
            self._total, self._at = self._wanted - HEADER_LEN, 0
            self._wanted = 0

    def feed(self, data: TracedBytes) -> Iterator[Message | NetbiosNames | Lost | Problem]:
        self._go_on()
        self._held.append(data)
        while True:
            if self._seeking:
                if not self._seek():
                    return
                yield from self._resumed()
            if self._total is not None:
                need = self._total - self._at
                if len(self._held) < need:
                    return
                if need:
                    self._pieces.append((self._at, self._held.take(need)))
                yield self._message(self._total)
                continue
            head = self._held.peek(HEADER_LEN + 4)
            if len(head) < HEADER_LEN:
                return
            length = int.from_bytes(head[1:4], "big")
            if head[0] == SESSION_MESSAGE:
                if length == 0:
                    self._held.take(HEADER_LEN)
                    continue
                if length >= 4 and len(head) < HEADER_LEN + 4:
                    return
                if head[HEADER_LEN:] in MAGICS:
                    self._held.take(HEADER_LEN)
                    self._total, self._at = length, 0
                    continue
            elif SESSION_REQUEST <= head[0] <= KEEPALIVE and length <= _MAX_CONTROL_LEN:
                if len(self._held) < HEADER_LEN + length:
                    return
                packet = self._held.take(HEADER_LEN + length)
                if head[0] == SESSION_REQUEST:
                    yield from _read_names(packet.data[HEADER_LEN:])
                continue
            frames = self._held.take(1).frames
            self._skipped = 1
            self._seeking = True
            self._lost = Lost(0, frames, "no SMB header where one was due")
            yield self._lost

    def gap(
        self, length: int | None, frames: tuple[int, ...], reason: str
    ) -> Iterator[Message | NetbiosNames | Lost | Problem]:
        """`length` bytes (None: unknown) are missing behind what was fed."""
        self._go_on()
        if self._seeking:
            self._skipped += len(self._held)
            self._held.take_all()
            if self._lost is None:
                self._lost = Lost(length, frames, reason)
                yield self._lost
            else:
                known = self._lost.length is not None and length is not None
                total = (self._lost.length or 0) + (length or 0) if known else None
                self._lost = Lost(total, tuple(sorted({*self._lost.frames, *frames})), self._lost.reason)
            return
        over: int | None = length
        if self._total is None and len(self._held) >= HEADER_LEN and self._held.peek(1)[0] == SESSION_MESSAGE:
            # The magic itself is cut; the length still tells where the message ends.
            self._total, self._at = int.from_bytes(self._held.take(HEADER_LEN).data[1:], "big"), 0
        if self._total is not None:
            self._reason = reason
            if len(self._held):
                held = self._held.take_all()
                self._pieces.append((self._at, held))
                self._at += len(held)
            left = self._total - self._at
            if length is not None and length <= left and len(self._pieces) < _MAX_PIECES:
                self._at += length
                if self._at == self._total:
                    yield self._message(self._total)
                return
            over = None if length is None else max(length - left, 0)
            yield self._message(self._total)
        else:
            self._skipped += len(self._held)
            self._held.take_all()
        self._seeking = True
        self._lost = Lost(over, frames, reason)
        yield self._lost

    def finish(self) -> Iterator[Message | NetbiosNames | Lost | Problem]:
        """The end of the stream: what was begun is handed over as it is."""
        self._go_on()
        if self._seeking:
            self._skipped += len(self._held)
            self._held.take_all()
            if self._lost is not None:
                yield from self._resumed()
        elif self._total is not None:
            self._reason = self._reason or "the stream ends inside the message"
            if len(self._held):
                self._pieces.append((self._at, self._held.take_all()))
            yield self._message(self._total)

    def _message(self, total: int) -> Message:
        message = Message(tuple(self._pieces), total, self._reason)
        self._pieces, self._at, self._total, self._reason = [], 0, None, ""
        return message

    def _seek(self) -> bool:
        """Drops what precedes the next header; False while none is in sight."""
        held = self._held.take_all()
        found = find_header(held.data)
        keep = found if found >= 0 else max(len(held) - _HEADER_SPAN + 1, 0)
        self._skipped += keep
        self._held.append(held[keep:])
        return found >= 0

    def _resumed(self) -> Iterator[Problem]:
        lost, skipped = self._lost, self._skipped
        self._seeking, self._lost, self._skipped = False, None, 0
        if lost is None:
            if skipped:
                yield Problem(
                    "gap", "smb", (), f"{self._place}: {skipped} bytes before the first SMB header passed over"
                )
            return
        missing = "an unknown number of" if lost.length is None else str(lost.length)
        kept = f", {skipped} more passed over to the next SMB header" if skipped else ""
        if lost.length == 0:
            text = f"{self._place}: {lost.reason}; {skipped} bytes passed over to the next one"
            yield Problem("malformed", "smb", lost.frames, text)
        else:
            text = f"{self._place}: {missing} bytes of SMB messages not captured ({lost.reason}){kept}"
            yield Problem("gap", "smb", lost.frames, text)


def _read_names(body: bytes) -> Iterator[NetbiosNames]:
    called, at = _netbios_name(body, 0)
    calling, _ = _netbios_name(body, at)
    if called or calling:
        yield NetbiosNames(called, calling)


def _netbios_name(body: bytes, at: int) -> tuple[str, int]:
    """A first-level encoded name (RFC 1001 section 14.1) and the offset behind it; empty where it is none."""
    if len(body) < at + 34 or body[at] != 32:
        return "", len(body)
    nibbles = [byte - 0x41 for byte in body[at + 1 : at + 33]]
    if any(not 0 <= nibble < 16 for nibble in nibbles):
        return "", len(body)
    raw = bytes(high << 4 | low for high, low in zip(nibbles[::2], nibbles[1::2], strict=True))
    behind = body.find(b"\0", at + 33)
    # The sixteenth byte is the service's suffix.
    return raw[:15].decode("latin-1").rstrip(" \0"), (behind + 1 if behind >= 0 else len(body))
