"""Collects the events of one SMB connection in order, and joins neighbouring channel data to batches."""

from __future__ import annotations

from analyzer.core.events import Event
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.connection import Channel
from analyzer.transport.channel.channels import ChannelBatch, SmbInfo

# A little more than a request and a response header take between the data of two responses.
_NEIGHBOURING = 512


class Emitter:
    """Collects the events of an SMB connection in order. Neighbouring data of one direction of a channel become one batch."""

    __slots__ = ("_batch", "_events", "_last", "_piece")

    def __init__(self) -> None:
        self._events: list[Event] = []
        # The batch that what follows may belong to, and where its last span ends.
        self._batch: ChannelBatch | None = None
        self._piece: TracedBytes | None = None
        self._last = 0

    def append(self, event: Event) -> None:
        self._batch = None
        self._events.append(event)

    def carry(
        self, channel: Channel, from_client: bool, piece: TracedBytes, start: int, stop: int, smb: SmbInfo, fresh: bool
    ) -> None:
        """Emits the bytes from `start` to `stop` of a piece as data of a channel."""
        batch = self._batch
        if (
            batch is not None
            and fresh
            and batch.fresh
            and channel is batch.channel
            and from_client == batch.from_client
            and smb is batch.smb
            # A piece with much between the wanted bytes is not held for these.
            and (piece is not self._piece or start - self._last <= _NEIGHBOURING)
        ):
            batch.spans.append((piece, start, stop))
        else:
            # The first one holds no more than its own bytes: most have none behind it.
            if type(piece) is TracedBytes:
                own = TracedBytes(piece.data[start:stop], piece.source, piece.start + start, piece.steps)
            else:
                own = piece[start:stop]
            self._batch = ChannelBatch(channel, from_client, [(own, 0, stop - start)], smb, fresh)
            self._events.append(self._batch)
        self._piece, self._last = piece, stop

    def take_events(self) -> list[Event]:
        """Returns all events that the emitter collected so far, and keeps none."""
        events, self._events = self._events, []
        self._batch = self._piece = None
        return events
