"""What TCP reassembly emits: per connection and direction, bytes in order, and what is missing between them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress
from operator import sub
from typing import Literal

from msgspec import Struct

from analyzer.core.events import Event, StandsAlone
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.records.record_types import Endpoint

# 0: sent by `Connection.a`; 1: sent by `Connection.b`.
Direction = Literal[0, 1]
# What a connection of ours carries.
Protocol = Literal["smb", "dcerpc", "kerberos"]


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

    def receiver(self, direction: Direction) -> Endpoint:
        return self.b if direction == 0 else self.a


class Recognised(StandsAlone, frozen=True):
    """The event that the protocol of a TCP connection is recognised; the first event of every connection of ours.
    `client_direction` is that of requests, as far as its bytes show."""

    connection: Connection
    protocol: Protocol
    client_direction: Direction = 0


class StreamBatch(Event, frozen=True):
    """Bytes of a TCP connection in order, of one direction or of both in turn: part i is `borders[i]` to `borders[i + 1]` of
    `data`.

    A part is of `direction`, or of the other one where `replies[i]`. `offset` and `reply_offset` are the positions of
    the first bytes of both in their streams, gaps counted (`reply_offset` is 0 where the other one sends nothing).
    Iterating gives each part as a batch of its own.
    """

    connection: Connection
    direction: Direction
    offset: int
    data: TracedBytes
    borders: list[int]
    replies: list[bool]
    reply_offset: int = 0

    @classmethod
    def of_part(cls, connection: Connection, direction: Direction, offset: int, data: TracedBytes) -> StreamBatch:
        """A batch of TCP stream bytes of one part."""
        return cls(connection, direction, offset, data, [0, len(data)], [False])

    def way(self, part: int) -> Direction:
        """The TCP direction of a part of the stream batch."""
        return self.ways[self.replies[part]]

    @property
    def ways(self) -> tuple[Direction, Direction]:
        """The TCP directions of parts that are no reply, and of those that are."""
        return (1, 0) if self.direction else (0, 1)

    @property
    def replied(self) -> int:
        """How many bytes of the stream batch the other TCP direction sends."""
        return sum(compress(map(sub, self.borders[1:], self.borders), self.replies))

    def offsets(self) -> list[int]:
        """The position of the first byte of each part in its TCP stream."""
        found, after = [], [self.offset, self.reply_offset]
        for part, is_reply in enumerate(self.replies):
            found.append(after[is_reply])
            after[is_reply] += self.borders[part + 1] - self.borders[part]
        return found

    def since(self, part: int) -> StreamBatch:
        """The parts of the stream batch from number `part` on."""
        offsets = [self.offset, self.reply_offset]
        for at, is_reply in enumerate(self.replies[:part]):
            offsets[is_reply] += self.borders[at + 1] - self.borders[at]
        return StreamBatch(
            self.connection, self.direction, offsets[0], self.data, self.borders[part:], self.replies[part:], offsets[1]
        )

    def __iter__(self) -> Iterator[StreamBatch]:
        for part, offset in enumerate(self.offsets()):
            yield StreamBatch.of_part(
                self.connection, self.way(part), offset, self.data[self.borders[part] : self.borders[part + 1]]
            )


class Gap(Event, frozen=True):
    """The event that bytes `offset` to `offset + length` of a TCP stream were not captured (never zeros in their place).

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
    """The event that no more events of this TCP connection will come. `reason`: `fin`, `rst`, `reused`, `idle`, `limit` or `end`
    (of the capture)."""

    connection: Connection
    reason: Literal["fin", "rst", "reused", "idle", "limit", "end"]
