"""Events that TCP reassembly emits: bytes of each direction in order, and the gaps between them."""

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
# The protocol that a connection of ours carries.
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
    """The event that the protocol of a TCP connection is recognised. It is the first event of every connection of ours.
    `client_direction` is the direction of requests, as far as the first bytes show it."""

    connection: Connection
    protocol: Protocol
    client_direction: Direction = 0


class StreamBatch(Event, frozen=True):
    """Bytes of a TCP connection in order, of one direction or of both in turn. Part i is `borders[i]` to `borders[i + 1]` of
    `data`.

    A part belongs to `direction`, or to the other direction where `replies[i]` is true. `offset` and `reply_offset` are the
    positions of the first bytes of both in their streams, gaps counted. `reply_offset` is 0 if the other direction sends nothing.
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
        """Returns a batch of TCP stream bytes that has one part."""
        return cls(connection, direction, offset, data, [0, len(data)], [False])

    def way(self, part: int) -> Direction:
        """Returns the TCP direction of one part of the stream batch."""
        return self.ways[self.replies[part]]

    @property
    def ways(self) -> tuple[Direction, Direction]:
        """The TCP directions of the stream batch: first of parts that are no reply, then of replies."""
        return (1, 0) if self.direction else (0, 1)

    @property
    def replied(self) -> int:
        """The number of bytes in the stream batch that the other TCP direction sends."""
        return sum(compress(map(sub, self.borders[1:], self.borders), self.replies))

    def offsets(self) -> list[int]:
        """Returns for each part of the stream batch the position of its first byte in its TCP stream."""
        found, after = [], [self.offset, self.reply_offset]
        for part, is_reply in enumerate(self.replies):
            found.append(after[is_reply])
            after[is_reply] += self.borders[part + 1] - self.borders[part]
        return found

    def since(self, part: int) -> StreamBatch:
        """Returns a stream batch with the parts from number `part` on."""
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
    """The event that bytes `offset` to `offset + length` of a TCP stream were not captured. They are never replaced by zeros.

    `frames` are the last frame before the hole and the first one after it, as far as they exist. `length` is None if nothing of
    this direction was captured after the hole.
    """

    connection: Connection
    direction: Direction
    offset: int
    length: int | None
    frames: tuple[int, ...]
    reason: str


class StreamClosed(Event, frozen=True):
    """The event that a TCP connection has ended and emits no more events. A `reason` of `end` means the end of the capture."""

    connection: Connection
    reason: Literal["fin", "rst", "reused", "idle", "limit", "end"]
