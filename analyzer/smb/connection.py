"""One SMB connection: stream chunks and gaps in, channel events out. Framing, then the shells (encryption, compression),
then the reader of the dialect family ([MS-SMB2] sections 2.1 and 2.2.1, [MS-CIFS] section 2.2.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec.structs import replace

from analyzer.core.errors import DecodeError, MalformedError, TruncatedError
from analyzer.core.events import Event, Problem
from analyzer.core.traced import TracedBytes
from analyzer.smb.compression import OutputLimitError, decompress_message
from analyzer.smb.framing import (
    COMPRESSION_MAGIC,
    HEADER_LEN,
    SMB1_MAGIC,
    SMB2_MAGIC,
    TRANSFORM_MAGIC,
    Framing,
    Lost,
    Message,
    NetbiosNames,
)
from analyzer.smb.smb1 import Smb1Reader
from analyzer.smb.smb2 import PLAIN, SEALED, Shell, Smb2Reader
from analyzer.smb.state import Link, World
from analyzer.tcp.events import Connection, Direction, Gap, StreamChunk, StreamDialogue

_SERVER_PORTS = (445, 139)
# Empty pages compress a thousand times, whole conversations do not: beyond the free part, the average counts.
_FREE_OUTPUT = 256 * 1024 * 1024
_MAX_RATIO = 64


class SmbConnection:
    """Reads both directions of a connection that carries SMB."""

    def __init__(self, world: World, connection: Connection) -> None:
        client: Literal[0, 1] | None = None
        if connection.a.port in _SERVER_PORTS and connection.b.port not in _SERVER_PORTS:
            client = 1
        elif connection.initiator_known or connection.b.port in _SERVER_PORTS:
            client = 0
        self._link = Link(world, connection, client)
        self._framings: list[Framing | None] = [None, None]
        self._packed = self._unpacked = 0
        self._smb2 = Smb2Reader(self._link)
        self._smb1 = Smb1Reader(self._link, self._smb2.leave, self._smb2.expect_negotiate)

    def feed(self, item: StreamChunk | Gap) -> Iterable[Event]:
        if isinstance(item, StreamChunk):
            return self.chunk(item)
        direction = item.direction
        framing = self._framings[direction] or self._begin(item)
        return self._each(direction, framing.gap(item.length, item.frames, item.reason))

    def chunk(self, item: StreamChunk) -> Iterable[Event]:
        """`feed` for bytes, which nearly everything is."""
        direction = item.direction
        framing = self._framings[direction] or self._begin(item)
        found = framing.offer(item.data)
        if found is True:
            return ()
        if found is False:
            return self._each(direction, framing.feed(item.data))
        told = self._short(direction, found, HEADER_LEN)
        return told if told is not None else self._framed(direction, Message.of(found[HEADER_LEN:]))

    def dialogue(self, item: StreamDialogue, first: int) -> Iterable[Event]:
        """The same as `feed` for each of the turns from number `first` on: those that are one whole message have a short way."""
        out: list[Event] = []
        messages = _messages(item)
        offsets: list[int] | None = None
        number = first
        while number < len(messages):
            if all(framing is not None and framing.at_rest for framing in self._framings):
                number, opened = self._smb2.quick(item.direction, item.data, messages, item.replies, number, out)
                if opened is not None:
                    direction = item.way(number)
                    out.extend(self._framed(direction, Message.of(opened), SEALED))
                    number += 1
                    continue
            if number < len(messages):
                offsets = offsets or item.offsets()
                out.extend(self.chunk(item.chunk(number, offsets[number])))
                number += 1
        return out

    def _begin(self, item: StreamChunk | Gap) -> Framing:
        begins = isinstance(item, StreamChunk) and item.offset == 0 and self._link.connection.initiator_known
        framing = Framing(f"from {self._link.connection.sender(item.direction)}", seeking=not begins)
        self._framings[item.direction] = framing
        return framing

    def _short(self, direction: Direction, data: TracedBytes, at: int) -> Iterable[Event] | None:
        """What the whole message at `at` of `data` says, where there is a short way to it; None where nothing has happened yet."""
        out: list[Event] = []
        taken, opened = self._smb2.quick(direction, data, ((at, len(data)),), (False,), 0, out)
        if opened is not None:
            return self._framed(direction, Message.of(opened), SEALED)
        return out if taken else None

    def _each(self, direction: Direction, found: Iterator[Message | NetbiosNames | Lost | Problem]) -> Iterator[Event]:
        for event in found:
            told = self._short(direction, event.head, 0) if isinstance(event, Message) and event.whole else None
            yield from told if told is not None else self._framed(direction, event)

    def finish(self) -> Iterator[Event]:
        for direction in (0, 1):
            framing = self._framings[direction]
            if framing is not None:
                for event in framing.finish():
                    yield from self._framed(1 if direction else 0, event)
        self._smb2.finish()
        self._smb1.finish()
        yield from self._leave_crowded_out()
        for session in list(self._link.sessions.values()):
            yield from self._smb2.leave(session)
        yield from self._link.told()

    def _framed(
        self, direction: Direction, event: Message | NetbiosNames | Lost | Problem, shell: Shell = PLAIN
    ) -> Iterator[Event]:
        """What was found on the way up; a message with a `shell` is out of it already."""
        if isinstance(event, Message):
            try:
                yield from self._message(direction, event, shell)
            except OutputLimitError as error:
                self._link.note("limit", str(error), event.frames)
                yield from self._smb2.lost_data(direction, event.frames, str(error))
            except DecodeError as error:
                if isinstance(error, TruncatedError) and not event.whole:
                    sender = self._link.connection.sender(direction)
                    self._link.note("truncated", f"an SMB message from {sender} is cut: {event.reason}", event.frames)
                else:
                    yield Problem.of("smb", error, event.frames)
                yield from self._smb2.lost_data(direction, event.frames, event.reason or str(error))
            yield from self._leave_crowded_out()
        elif isinstance(event, Lost):
            yield from self._smb2.lost_data(direction, event.frames, event.reason)
        elif isinstance(event, NetbiosNames):
            self._link.name_host(self._link.connection.sender(direction).ip, event.calling, "NetBIOS session request")
            other = self._link.connection.sender(0 if direction else 1)
            if event.called != "*SMBSERVER":
                self._link.name_host(other.ip, event.called, "NetBIOS session request")
        else:
            yield event

    def _leave_crowded_out(self) -> Iterator[Event]:
        while self._link.crowded_out:
            yield from self._smb2.leave(self._link.crowded_out.pop())

    def _decompress(self, packed: TracedBytes) -> TracedBytes:
        self._packed += len(packed)
        # What a header promises is counted before it is made: few bytes that grow again and again are a bomb too.
        promised = int.from_bytes(packed.data[4:8], "little")
        if self._unpacked + promised > _FREE_OUTPUT + _MAX_RATIO * self._packed:
            raise OutputLimitError(f"compressed messages of the connection grow more than {_MAX_RATIO} times")
        opened = decompress_message(packed)
        self._unpacked += len(opened)
        return opened

    def _message(self, direction: Direction, message: Message, shell: Shell) -> Iterator[Event]:
        magic = message.head.top(4)
        if magic == TRANSFORM_MAGIC and shell is PLAIN:
            opened = yield from self._smb2.open_transform(direction, message)
            if opened is None:
                return
            message, shell = opened
            magic = message.head.data[:4]
        if magic == COMPRESSION_MAGIC:
            if not message.whole:
                raise TruncatedError("a compressed message is not whole in the capture", field="message")
            message = Message.of(self._decompress(message.head))
            shell = replace(shell, compressed=True)
            magic = message.head.data[:4]
        if magic == SMB2_MAGIC:
            yield from self._smb2.feed(direction, message, shell)
        elif magic == SMB1_MAGIC:
            yield from self._smb1.feed(direction, message)
        else:
            raise MalformedError("no SMB header", field="header.protocol_id", start=0, stop=4)


def _messages(item: StreamDialogue) -> list[tuple[int, int] | None]:
    """Where in the data of a dialogue the message lies that each turn is; None where a turn is not one whole message."""
    raw = item.data.data
    return [
        (start + HEADER_LEN, stop)
        if stop - start > HEADER_LEN
        and int.from_bytes(raw[start : start + HEADER_LEN], "big") == stop - start - HEADER_LEN
        else None
        for start, stop in zip(item.borders, item.borders[1:], strict=False)
    ]
