"""Layers one above the other: what a layer completes is fed to the next."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import closing, nullcontext
from typing import ClassVar, Protocol, runtime_checkable

from analyzer.core.events import CaptureEnds, Event
from analyzer.core.times import earliest


class Layer(Protocol):
    """A layer: one item in, the events it completed out; `finish` yields what the end of the capture completes.

    `takes` are the types of event that it takes; all others it would pass on unchanged.
    """

    takes: ClassVar[frozenset[type[Event]]]

    def feed(self, event: Event) -> Iterable[Event]: ...

    def finish(self) -> Iterable[Event]: ...


@runtime_checkable
class Waiting(Protocol):
    """A layer in which events wait for what is still to come."""

    def open_since(self, since_ns: int) -> int | None: ...


class LayerChain:
    """Layers one above the other; what a layer yields is fed to the next."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = layers
        self._feeds = [(layer.feed, layer.takes) for layer in layers]

    def open_since(self, since_ns: int) -> int | None:
        """When the first event that began at this time or later, and is not complete in some layer, began."""
        return earliest((layer.open_since(since_ns) for layer in self._layers if isinstance(layer, Waiting)), since_ns)

    def climb(self, events: Collection[Event], first: int = 0) -> Collection[Event]:
        """Feeds events to the layer `first`, and gives what comes out on top of the chain. A layer sees all that it takes of what
        the one below yields, in the order of one by one."""
        for feed, takes in self._feeds[first:] if first else self._feeds:
            if takes.isdisjoint(map(type, events)):
                continue
            higher = list[Event]()
            for event in events:
                if type(event) in takes:
                    higher += feed(event)
                else:
                    higher.append(event)
            events = higher
            if not events:
                break
        return events

    def finish(self) -> Generator[Collection[Event]]:
        """Finishes all layers of the chain: what comes out on top at the end of the capture, together what one layer completes."""
        for at, layer in enumerate(self._layers, 1):
            yield self.climb(list(layer.finish()), at)

    def run(self, events: Iterable[Event]) -> Generator[Event]:
        """Runs all events of a capture through the layer chain, and gives what comes out on top."""
        for group in self.groups(events):
            yield from group

    def groups(self, events: Iterable[Event]) -> Generator[Collection[Event]]:
        """Groups of events on top of the layer chain, together what comes of one event. The events are closed when no more of them
        are taken. The files that they are read from are then closed, whatever holds on to the error that ended it."""
        with closing(events) if isinstance(events, Generator) else nullcontext():
            for event in events:
                yield self.climb((event,))
            yield self.climb((CaptureEnds(),))
            yield from self.finish()

    def above(self, groups: Iterable[Collection[Event]]) -> Generator[Event]:
        """Chains these layers on top of another chain, and gives what comes out on top."""
        with closing(groups) if isinstance(groups, Generator) else nullcontext():
            for group in groups:
                yield from self.climb(group)
            for group in self.finish():
                yield from group
