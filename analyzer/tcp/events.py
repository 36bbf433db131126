"""What TCP reassembly says: per connection and direction, bytes in order, and what is missing between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from analyzer.core.events import Event
from analyzer.core.traced import TracedBytes
from analyzer.model.record import Endpoint

# 0: sent by `Connection.a`; 1: sent by `Connection.b`.
Direction = Literal[0, 1]


class Connection(Struct, frozen=True):
    """One TCP connection; `number` counts from 0 in the capture, so a reused port pair is another connection.

    `a` sent the SYN where that was captured (`initiator_known`), else it is the end whose segment came first.
    """

    number: int
    a: Endpoint
    b: Endpoint
    initiator_known: bool

    def sender(self, direction: Direction) -> Endpoint:
        return self.a if direction == 0 else self.b


class StreamChunk(Event, frozen=True):
    """Bytes in order. `offset` is the position of the first one in its direction's stream, gaps counted."""

    connection: Connection
    direction: Direction
    offset: int
    data: TracedBytes


class StreamDialogue(Event, frozen=True):
    """What both directions said in turn, in order: turn i is the bytes `borders[i]` to `borders[i + 1]` of `data`.

    `direction` spoke first; a turn is of the other one where `replies[i]`, and `replied` bytes in all. `offset` and `reply_offset`
    are the positions of the first bytes of both in their streams; times ascend. Iterating gives the turns as chunks.
    """

    connection: Connection
    direction: Direction
    offset: int
    reply_offset: int
    data: TracedBytes
    borders: list[int]
    replies: list[bool]
    replied: int

    def way(self, turn: int) -> Direction:
        """The direction of a turn."""
        return 1 if (self.direction == 1) != self.replies[turn] else 0

    def offsets(self) -> list[int]:
        """The position of the first byte of each turn in its stream."""
        found, after = [], [self.offset, self.reply_offset]
        for turn, is_reply in enumerate(self.replies):
            found.append(after[is_reply])
            after[is_reply] += self.borders[turn + 1] - self.borders[turn]
        return found

    def chunk(self, turn: int, offset: int) -> StreamChunk:
        """A turn, which has this offset, on its own."""
        data = self.data[self.borders[turn] : self.borders[turn + 1]]
        return StreamChunk(self.connection, self.way(turn), offset, data)

    def __iter__(self) -> Iterator[StreamChunk]:
        return map(self.chunk, range(len(self.replies)), self.offsets())


class Gap(Event, frozen=True):
    """Bytes `offset` to `offset + length` of a stream were not captured (never zeros in their place).

    `frames` are the last frame before and the first after the hole, as far as there are any. `length` is None where the
    end of the hole is unknown (nothing of this direction was captured after it).
    """

    connection: Connection
    direction: Direction
    offset: int
    length: int | None
    frames: tuple[int, ...]
    reason: str


class StreamClosed(Event, frozen=True):
    """No more events of this connection will come. `reason`: `fin`, `rst`, `reused`, `idle`, `limit` or `end` (of the capture)."""

    connection: Connection
    reason: Literal["fin", "rst", "reused", "idle", "limit", "end"]
