"""The events of one SMB connection in order, channel data that follow each other in batches."""

from __future__ import annotations

from analyzer.core.events import Event
from analyzer.core.traced import TracedBytes
from analyzer.results.connection import Channel
from analyzer.transport.channel.channel_events import ChannelBatch, SmbInfo, Span

# What a request and the header of its response take between the data of two responses, and little more.
_NEIGHBOURING = 512


class Emitter:
    """Collects the events of a connection in order; data of one direction of a channel that follow each other become one batch."""

    __slots__ = ("_channel", "_events", "_fresh", "_from_client", "_last", "_piece", "_smb", "_spans")

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._channel: Channel | None = None
        self._from_client = False
        self._fresh = False
        self._smb: SmbInfo | None = None
        self._spans: list[Span] = []
        # Where the last span ends.
        self._piece: TracedBytes | None = None
        self._last = 0

    def append(self, event: Event) -> None:
        if self._channel is not None:
            self._close_batch()
        self._events.append(event)

    def carry(
        self, channel: Channel, from_client: bool, piece: TracedBytes, start: int, stop: int, smb: SmbInfo, fresh: bool
    ) -> None:
        """The bytes from `start` to `stop` of a piece belong to a channel."""
        if (
            channel is self._channel
            and from_client == self._from_client
            and smb is self._smb
            and fresh
            and self._fresh
            # What holds much between is not held for the little that is wanted.
            and (piece is not self._piece or start - self._last <= _NEIGHBOURING)
        ):
            self._spans.append((piece, start, stop))
        else:
            if self._channel is not None:
                self._close_batch()
            self._channel, self._from_client, self._smb, self._fresh = channel, from_client, smb, fresh
            self._spans = [(piece, start, stop)]
        self._piece, self._last = piece, stop

    def _close_batch(self) -> None:
        channel, spans = self._channel, self._spans
        if channel is None:
            return
        if len(spans) == 1:
            # A single one holds no more than its own bytes.
            piece, start, stop = spans[0]
            spans = [(piece[start:stop], 0, stop - start)]
        self._events.append(ChannelBatch(channel, self._from_client, spans, self._smb, self._fresh))
        self._channel = self._piece = None

    def take(self) -> list[Event]:
        """All events so far; none are left."""
        self._close_batch()
        events, self._events = self._events, []
        return events
