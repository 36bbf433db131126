"""Splits the bytes of one TCP direction into SMB messages by their session framing ([MS-SMB2] section 2.1, RFC 1002 section 4.3).

A direction is in one of three states:

    state        input                                        output                 next state
    AT_HEADER    a whole message                              Message                AT_HEADER
    AT_HEADER    the header of a session message              -                      IN_MESSAGE (its length is known)
    AT_HEADER    another NetBIOS packet                       names                  AT_HEADER
    AT_HEADER    bytes that are no header, a gap              LostMessages           SEEKING
    IN_MESSAGE   the rest of the message                      Message                AT_HEADER
    IN_MESSAGE   a gap that ends inside the message           -                      IN_MESSAGE (the length gives the next header)
    IN_MESSAGE   a gap that swallows the next header          Message, LostMessages  SEEKING
    IN_MESSAGE   what proves that the length is wrong         Problem, Message       AT_HEADER
    SEEKING      a header                                     Problem                AT_HEADER

The announced length of a message is wrong if it leads to no header, while the message's own fields lead to one
(`message_ends`). An SMB header inside file content proves nothing: by its own fields a message ends behind its content.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from enum import Enum

from msgspec import Struct

from analyzer.core.events import Event, Problem
from analyzer.core.printable_text import plural
from analyzer.core.traced_bytes import EMPTY, TracedBuffer, TracedBytes
from analyzer.transport.channel.channels import Span
from analyzer.transport.tcp.protocol_recognition import (
    HEADER_SPAN,
    KEEPALIVE,
    MAGICS,
    NETBIOS_HEADER_LEN,
    SESSION_MESSAGE,
    SESSION_REQUEST,
    recognise_header,
)
from analyzer.transport.tcp.stream_events import Gap

HEADER_LEN = NETBIOS_HEADER_LEN
# The NetBIOS header of a message, and the magic number behind it.
_BEGINNING = struct.Struct(">I4s").unpack_from
_BEGINNING_LEN = HEADER_LEN + 4
# The longest NetBIOS session packet besides messages is a session request: two encoded names with scopes.
_MAX_CONTROL_LEN = 1024
# A message in more pieces than this is not worth keeping together: its holes would cost more than its bytes.
_MAX_PIECES = 1024
# Memory of a piece beside its bytes.
_PIECE_COST = 300
# So much of a message is read for the fields that state its length: enough for a compound of small operations.
_FIELDS_LEN = 4096
# Beyond this many bytes, fields are not believed that state more than the framing: they would take in what follows.
_MOST_AWAITED = 1 << 16


class FramingState(Enum):
    """The state of SMB framing in one direction; see the table above."""

    AT_HEADER = "at header"
    IN_MESSAGE = "in message"
    SEEKING = "seeking"


_AT_HEADER = FramingState.AT_HEADER


class Hole(Struct, frozen=True):
    """Bytes of a framed SMB message that were not captured, and the frames around them."""

    length: int
    frames: tuple[int, ...]


class Message(Struct, frozen=True):
    """The captured part of one framed SMB message, which has `length` bytes on the wire.

    The bytes from its beginning up to the first hole lie in `data` from `start` to `stop`. Bytes behind holes are the `rest`, each
    piece with its offset in the message. `reason` states why something is missing.
    """

    data: TracedBytes
    start: int
    stop: int
    length: int
    rest: tuple[tuple[int, TracedBytes], ...] = ()
    reason: str = ""

    @classmethod
    def of_bytes(cls, data: TracedBytes) -> Message:
        return cls(data, 0, len(data), len(data))

    @classmethod
    def of_pieces(cls, pieces: Sequence[tuple[int, TracedBytes]], length: int, reason: str = "") -> Message:
        """Makes a framed SMB message of pieces with their offsets. The first piece may begin the message."""
        if pieces and pieces[0][0] == 0:
            head = pieces[0][1]
            return cls(head, 0, len(head), length, tuple(pieces[1:]), reason)
        return cls(EMPTY, 0, 0, length, tuple(pieces), reason)

    @property
    def whole(self) -> bool:
        return self.stop - self.start == self.length

    @property
    def head(self) -> TracedBytes:
        """The captured bytes of the framed SMB message from its beginning up to the first hole."""
        data, start, stop = self.data, self.start, self.stop
        return data if start == 0 and stop == len(data) else data[start:stop]

    def begins_with(self, length: int) -> bytes:
        """Returns the first bytes of the framed SMB message, and does not join the others."""
        start, data = self.start, self.data
        stop = start + length
        if stop > self.stop:
            stop = self.stop
        return (data.data if type(data) is TracedBytes else data.lead(stop))[start:stop]

    @property
    def time_ns(self) -> int:
        """The capture time of the framed SMB message's first byte, 0 if that was not captured."""
        return self.data.time_ns_at(self.start) if self.stop > self.start else 0

    @property
    def frames(self) -> tuple[int, ...]:
        data, start, stop = self.data, self.start, self.stop
        if not self.rest:
            return data.source.frames(data.start + start, data.start + stop)
        return tuple(sorted({frame for _, piece in self._pieces() for frame in piece.frames}))

    def _pieces(self) -> list[tuple[int, TracedBytes]]:
        return [(0, self.head), *self.rest] if self.stop > self.start else list(self.rest)

    def part(self, start: int, stop: int) -> Message:
        """Returns the bytes `start` to `stop` of the framed SMB message as a message of its own."""
        if stop <= self.stop - self.start:
            return Message(
                self.data, self.start + start, self.start + max(start, stop), max(stop - start, 0), (), self.reason
            )
        kept = []
        for at, piece in self._pieces():
            first, last = max(start, at), min(stop, at + len(piece))
            if first < last:
                kept.append((first - start, piece[first - at : last - at]))
        return Message.of_pieces(kept, max(stop - start, 0), self.reason)

    def spans(self, start: int, stop: int) -> Iterator[Span | Hole]:
        """Yields the bytes `start` to `stop` of the framed SMB message: captured runs and holes, in their order."""
        if stop <= self.stop - self.start:
            if start < stop:
                yield self.data, self.start + start, self.start + stop
            return
        pieces = self._pieces()
        at, before = start, pieces[0][1][:1].frames if pieces else ()
        for offset, piece in pieces:
            first, last = max(start, offset), min(stop, offset + len(piece))
            if first >= last:
                if offset + len(piece) <= start and len(piece):
                    before = piece[-1:].frames
                continue
            run = piece[first - offset : last - offset]
            if first > at:
                yield Hole(first - at, tuple(dict.fromkeys((*before, *run[:1].frames))))
            yield run, 0, len(run)
            at, before = last, run[-1:].frames
        if at < stop:
            yield Hole(stop - at, before)


class NetbiosNames(Event, frozen=True):
    """The event that SMB framing meets a NetBIOS session request: the names of the called and the calling end."""

    called: str
    calling: str


class LostMessages(Event, frozen=True):
    """The event that SMB framing loses its place: unknown messages were lost here."""

    length: int | None
    frames: tuple[int, ...]
    reason: str


Framed = Message | NetbiosNames | LostMessages | Problem


class Framing:
    """Splits one direction of a connection into SMB messages. `seeking`: the first byte may lie inside a message."""

    def __init__(self, place: str, *, seeking: bool = False) -> None:
        self._place = place
        self._state = FramingState.SEEKING if seeking else FramingState.AT_HEADER
        self._held = TracedBuffer()
        # Of the message that is coming in: its length, how much of it is in `_pieces` (holes counted), and how many bytes of
        # its framing header precede what is held.
        self._total = 0
        self._at = 0
        self._prefix = 0
        self._pieces: list[tuple[int, TracedBytes]] = []
        self._pieces_length = 0
        self._reason = ""
        # The length that the message announces, if that is proven wrong.
        self._wrong_total: int | None = None
        # The type that its framing header states.
        self._type = SESSION_MESSAGE
        # Whether the message has the length that it announces, whatever its fields state.
        self._is_settled = False
        self._skipped = 0
        self._lost: LostMessages | None = None
        # About how many bytes of memory the message takes that is coming in.
        self.memory = 0

    @property
    def since_ns(self) -> int | None:
        """The time when the incoming SMB message began, None if no message is incoming."""
        if self._state is FramingState.SEEKING:
            return None
        return self._pieces[0][1].time_ns_at(0) if self._pieces else self._held.since_ns

    def feed(self, data: TracedBytes, start: int = 0, stop: int | None = None) -> list[Framed]:
        """Takes the stream's bytes of `data` from `start` to `stop`, and returns the SMB messages that are complete."""
        out: list[Framed] = []
        if stop is None:
            stop = len(data)
        at, held = start, self._held
        while at < stop:
            if not held.length and self._state is _AT_HEADER:
                # Messages that are whole stay where they lie.
                raw, begun = data.data, at
                while stop - at >= _BEGINNING_LEN:
                    length, magic = _BEGINNING(raw, at)
                    begin = at + HEADER_LEN
                    # The first byte of a session message is 0, so that a length beyond 16 MiB is another packet.
                    if length < 4 or begin + length > stop or magic not in MAGICS:
                        break
                    at = begin + length
                    out.append(Message(data, begin, at, length))
                if at == stop:
                    break
                if at > begun and raw[at + HEADER_LEN : at + _BEGINNING_LEN] not in MAGICS:
                    # It is not sure that the length of the last message leads to a header.
                    at = self._taken_back(out, at)
            at = self._hold(data, at, stop, out, is_first=at == start)
        return out

    def gap(self, gap: Gap) -> list[Framed]:
        """Takes a gap in the stream, and returns the SMB messages that end with it."""
        out: list[Framed] = []
        self._lack(gap, out)
        self._count()
        return out

    def _hold(self, data: TracedBytes, at: int, stop: int, out: list[Framed], *, is_first: bool) -> int:
        """Holds the bytes from `at` on that may complete an incoming SMB message, and returns where they end. `is_first`: the part
        of the stream begins there."""
        # Only bytes that complete the held message are joined with it. Later bytes stay where they are.
        end, raw = stop, data.data
        if self._state is FramingState.IN_MESSAGE:
            if is_first and raw[at + HEADER_LEN : at + _BEGINNING_LEN] in MAGICS:
                is_header = recognise_header(raw[at : at + HEADER_SPAN]) == 0
                self._mend(out, goes_on=is_header, is_over=is_header)
                if self._state is not FramingState.IN_MESSAGE:
                    self._count()
                    return at
            end = min(stop, at + self._prefix + self._total - self._at - len(self._held))
            if end < stop and raw[end + HEADER_LEN : end + _BEGINNING_LEN] not in MAGICS:
                end = stop
        self._held.append(data if at == 0 and end == len(data) else data[at:end])
        while self._take_one(out):
            pass
        self._count()
        return end

    def _count(self) -> None:
        self.memory = self._held.length
        if self._pieces:
            self.memory += self._pieces_length + _PIECE_COST * len(self._pieces)

    def _take_one(self, out: list[Framed]) -> bool:
        """Takes one step of SMB framing in the held bytes. Returns False if the next step needs more bytes."""
        if self._state is FramingState.SEEKING:
            if not self._seek():
                return False
            self._resumed(out)
        if self._state is FramingState.IN_MESSAGE:
            need, held = self._prefix + self._total - self._at, len(self._held)
            if held < need:
                return False
            if held > need:
                behind = self._held.peek(need + _BEGINNING_LEN)[need:]
                if behind[HEADER_LEN:] not in MAGICS and not self._is_settled:
                    own = self._length_by_fields(goes_on=True, waits=len(behind) == _BEGINNING_LEN)
                    if own is not None and own != self._total:
                        self._correct(own)
                        return True
            self._take_message(need, out)
            return True
        head = self._held.peek(_BEGINNING_LEN)
        if len(head) < HEADER_LEN:
            return False
        length = int.from_bytes(head[1:HEADER_LEN], "big")
        if head[0] == SESSION_MESSAGE:
            if len(head) < _BEGINNING_LEN:
                return False
            if head[HEADER_LEN:] in MAGICS:
                self._begin(length)
                return True
            if length == 0:
                self._held.take_bytes(HEADER_LEN)
                return True
        elif SESSION_REQUEST <= head[0] <= KEEPALIVE and length <= _MAX_CONTROL_LEN:
            if len(self._held) < HEADER_LEN + length:
                return False
            packet = self._held.take_bytes(HEADER_LEN + length)
            if head[0] == SESSION_REQUEST:
                out.extend(_read_names(packet.data[HEADER_LEN:]))
            return True
        elif head[HEADER_LEN:] in MAGICS and self._is_as_long_as(length):
            self._begin(length, of_type=head[0])
            return True
        frames = self._held.take_bytes(1).frames
        self._skipped = 1
        self._lose(LostMessages(0, frames, "no SMB header where one was due"), out)
        return True

    def _lack(self, gap: Gap, out: list[Framed]) -> None:
        length, frames, reason = gap.length, gap.frames, gap.reason
        self._mend(out, goes_on=False)
        if self._state is FramingState.SEEKING:
            self._skip_held()
            if self._lost is None:
                self._lose(LostMessages(length, frames, reason), out)
            else:
                before = self._lost.length
                total = None if before is None or length is None else before + length
                self._lost = LostMessages(total, tuple(sorted({*self._lost.frames, *frames})), self._lost.reason)
            return
        over: int | None = length
        if (
            self._state is FramingState.AT_HEADER
            and len(self._held) >= HEADER_LEN
            and self._held.peek(1)[0] == SESSION_MESSAGE
        ):
            # The magic itself is cut; the length still gives where the message ends.
            self._begin(int.from_bytes(self._held.peek(HEADER_LEN)[1:], "big"))
        if self._state is FramingState.IN_MESSAGE:
            self._reason = reason
            self._take_piece(len(self._held))
            left = self._total - self._at
            if length is not None and length <= left and len(self._pieces) < _MAX_PIECES:
                self._at += length
                if self._at == self._total:
                    out.append(self._message())
                return
            over = None if length is None else max(length - left, 0)
            out.append(self._message())
        else:
            self._skip_held()
        self._lose(LostMessages(over, frames, reason), out)

    def finish(self) -> list[Framed]:
        """Ends SMB framing with the stream, and returns the incoming message as far as it came."""
        out: list[Framed] = []
        self._mend(out, goes_on=False, is_over=True)
        if self._state is FramingState.SEEKING:
            self._skip_held()
            if self._lost is not None:
                self._resumed(out)
        elif self._state is FramingState.IN_MESSAGE:
            self._reason = self._reason or "the stream ends inside the message"
            last = self._held.take_all()
            self._held.append(last)
            at = recognise_header(last.data[self._prefix :])
            if at >= 0:
                text = (
                    f"{self._place}: an SMB message announces {self._total} bytes, but the stream ends before, and another SMB "
                    "header stands among its bytes: the length may be wrong, and nothing behind it is read"
                )
                out.append(Problem("malformed", "smb", last[self._prefix + at :][:1].frames, text))
            self._take_piece(len(last))
            out.append(self._message())
        return out

    def answered(self) -> list[Framed]:
        """Takes note that the other side of the connection sends something. Returns the SMB messages that are whole for that
        reason: a receiver goes on when a message is there as far as its own fields go, whatever length it announces."""
        out: list[Framed] = []
        self._mend(out, goes_on=True)
        if out:
            self.memory = self._held.length
        return out

    def _taken_back(self, out: list[Framed], at: int) -> int:
        """Takes back the last SMB message, which ends at `at`. Returns where its framing header begins."""
        last = out.pop()
        assert isinstance(last, Message)
        return at - HEADER_LEN - last.length

    def _mend(self, out: list[Framed], *, goes_on: bool, is_over: bool = False) -> None:
        """Frames incoming SMB messages shorter than they announce, where that is proven (`message_ends`).

        `is_over`: no more of the message comes. If it announced fewer bytes than its fields state, it has these.
        """
        while self._state is FramingState.IN_MESSAGE:
            own = self._length_by_fields(goes_on=goes_on)
            if own is not None and own < self._total and len(self._held) >= HEADER_LEN + own:
                self._correct(own)
            elif is_over and self._wrong_total is not None and self._wrong_total < self._total:
                self._total, self._is_settled = self._wrong_total, True
            else:
                return
            while self._take_one(out):
                pass

    def _length_by_fields(self, *, goes_on: bool, waits: bool = False) -> int | None:
        """Returns the length of the incoming SMB message by its own fields, if the next header stands there.

        `goes_on`: what comes next shows that the message is over, so it is enough that the held bytes end there. `waits`: the
        announced length is wrong, so that the rest may be still to come. None if the message has holes, if its fields state no
        length, or if other bytes follow.
        """
        if self._pieces or self._prefix != HEADER_LEN or len(self._held) < _BEGINNING_LEN:
            return None
        from analyzer.transport.smb.message_ends import MAX_PADDING, end_by_fields  # few messages are in doubt

        own = end_by_fields(self._held.peek(HEADER_LEN + _FIELDS_LEN)[HEADER_LEN:])
        if own is None:
            return None
        end, held = HEADER_LEN + own, len(self._held)
        if held < end:
            return own if waits and own <= _MOST_AWAITED else None
        found = recognise_header(self._held.peek(end + MAX_PADDING + HEADER_SPAN)[end:])
        if 0 <= found <= MAX_PADDING:
            return own + found
        announced = HEADER_LEN + self._total
        is_over = goes_on and held <= end + MAX_PADDING and not end <= announced <= held
        return held - HEADER_LEN if is_over else None

    def _is_as_long_as(self, length: int) -> bool:
        """Whether the held bytes are an SMB message that has the announced length by its own fields too."""
        from analyzer.transport.smb.message_ends import MAX_PADDING, end_by_fields  # few messages are in doubt

        own = end_by_fields(self._held.peek(HEADER_LEN + min(length, _FIELDS_LEN))[HEADER_LEN:])
        return own is not None and own <= length <= own + MAX_PADDING

    def _correct(self, length: int) -> None:
        if self._wrong_total is None:
            self._wrong_total = self._total
        self._total = length

    def _begin(self, length: int, of_type: int = SESSION_MESSAGE) -> None:
        """Begins an SMB message of this length in the framing. Its framing header is held. `of_type` is what that states."""
        self._state = FramingState.IN_MESSAGE
        self._total, self._at, self._prefix = length, 0, HEADER_LEN
        self._wrong_total, self._is_settled, self._type = None, False, of_type

    def _take_message(self, need: int, out: list[Framed]) -> None:
        """Takes the incoming SMB message, which is there with the first `need` held bytes."""
        self._take_piece(need)
        message, announced = self._message(), self._wrong_total
        if announced is not None and announced != message.length:
            text = (
                f"{self._place}: an SMB message announces {announced} bytes; by its own fields and what follows it has "
                f"{message.length}, and is read so"
            )
            out.append(Problem("malformed", "smb", message.head[:1].frames, text))
        if self._type != SESSION_MESSAGE:
            text = (
                f"{self._place}: an SMB message stands in a NetBIOS packet of type {self._type:#04x}; it is as long as both say, "
                "and is read"
            )
            out.append(Problem("malformed", "smb", message.head[:1].frames, text))
        out.append(message)

    def _take_piece(self, length: int) -> None:
        """Adds `length` of the held bytes, which may include the framing header, to the incoming SMB message."""
        piece, prefix, self._prefix = self._held.take_bytes(length), self._prefix, 0
        if len(piece) > prefix:
            self._pieces.append((self._at - prefix, piece))
            self._pieces_length += len(piece)
            self._at += len(piece) - prefix

    def _message(self) -> Message:
        pieces, total, reason = self._pieces, self._total, self._reason
        self._pieces, self._reason = [], ""
        self._pieces_length = 0
        self._state = FramingState.AT_HEADER
        if pieces and pieces[0][0] < 0:
            data = pieces[0][1]
            return Message(data, HEADER_LEN, len(data), total, tuple(pieces[1:]), reason)
        return Message.of_pieces(pieces, total, reason)

    def _lose(self, lost: LostMessages, out: list[Framed]) -> None:
        self._state = FramingState.SEEKING
        self._lost = lost
        out.append(lost)

    def _skip_held(self) -> None:
        self._skipped += len(self._held)
        self._held.take_all()

    def _seek(self) -> bool:
        """Drops framing bytes before the next SMB header. Returns False if none is in sight."""
        held = self._held.take_all()
        found = recognise_header(held.data)
        keep = found if found >= 0 else max(len(held) - HEADER_SPAN + 1, 0)
        self._skipped += keep
        self._held.append(held[keep:])
        return found >= 0

    def _resumed(self, out: list[Framed]) -> None:
        """Reports lost SMB messages when a header is in sight again, or the stream ends."""
        lost, skipped = self._lost, self._skipped
        self._state, self._lost, self._skipped = FramingState.AT_HEADER, None, 0
        if lost is None:
            if skipped:
                text = f"{self._place}: {_bytes(skipped)} before the first SMB header passed over"
                out.append(Problem("gap", "smb", (), text))
            return
        missing = "an unknown number of bytes" if lost.length is None else _bytes(lost.length)
        kept = f", {skipped} more passed over to the next SMB header" if skipped else ""
        if lost.length == 0:
            text = f"{self._place}: {lost.reason}; {_bytes(skipped)} passed over to the next one"
            out.append(Problem("malformed", "smb", lost.frames, text))
        else:
            text = f"{self._place}: {missing} of SMB messages not captured ({lost.reason}){kept}"
            out.append(Problem("gap", "smb", lost.frames, text))


def _bytes(number: int) -> str:
    return f"{number} {plural(number, 'byte')}"


def _read_names(body: bytes) -> Iterator[NetbiosNames]:
    called, at = _netbios_name(body, 0)
    calling, _ = _netbios_name(body, at)
    if called or calling:
        yield NetbiosNames(called, calling)


def _netbios_name(body: bytes, at: int) -> tuple[str, int]:
    """Reads a first-level encoded NetBIOS name in SMB framing (RFC 1001 section 14.1). Returns it, empty if invalid, and the offset
    behind it."""
    if len(body) < at + 34 or body[at] != 32:
        return "", len(body)
    nibbles = [byte - 0x41 for byte in body[at + 1 : at + 33]]
    if any(not 0 <= nibble < 16 for nibble in nibbles):
        return "", len(body)
    raw = bytes(high << 4 | low for high, low in zip(nibbles[::2], nibbles[1::2], strict=True))
    behind = body.find(b"\0", at + 33)
    # The sixteenth byte is the service's suffix.
    return raw[:15].decode("latin-1").rstrip(" \0"), (behind + 1 if behind >= 0 else len(body))
