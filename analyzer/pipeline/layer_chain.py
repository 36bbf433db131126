"""The chain of layers: each layer feeds the events that it completes to the next.

`stream_layers` and its like make the layers of one reading, from segments to calls; `run.py` and the processes of a shared capture
chain them. They are loaded when a capture is read: a case needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence, Set
from contextlib import closing, nullcontext
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from analyzer.auth.keyring import Keyring
from analyzer.core.events import BlockEnds, CaptureEnds, Event, StandsAlone
from analyzer.core.limits import Limits
from analyzer.core.times import earliest
from analyzer.transport.packet.segment import SegmentBatch

if TYPE_CHECKING:
    from analyzer.auth.kdc_replies import Tickets
    from analyzer.interfaces.pcq.perflib_layer import PerflibLayer
    from analyzer.interfaces.winperf.winreg_layer import KeyFollower
    from analyzer.transport.rpc.exchange_maker import Selection
    from analyzer.transport.rpc.rpc_layer import RpcLayer
    from analyzer.transport.smb.smb_connection_state import KeyLog, MessageLog


# ---------------------------------------------------------------------------------------------------------- layer chain


# So many events, or so many bytes of segments, climb together. Then the code of a layer stays in the caches of the processor, and
# so does what the events hold. Tiny calls of eight clients take a quarter more time with one event alone, a tenth more with 4,000.
MOST_EVENTS, MOST_BYTES = 64, 1 << 17


Feed = Callable[[Event], Iterable[Event]]


class Layer(Protocol):
    """A layer: `feed` takes an event and yields those it completed; `finish` yields those that the end of the capture completes."""

    @property
    def takes(self) -> Set[type[Event]]:
        """The types of event that the layer needs at the moment. It would pass on all others unchanged."""
        ...

    def feed(self, event: Event) -> Iterable[Event]: ...

    def finish(self) -> Iterable[Event]: ...


@runtime_checkable
class Waiting(Protocol):
    """A layer in which events wait for later ones."""

    def open_since(self, since_ns: int) -> int | None: ...


class LayerChain:
    """A chain of layers: what a layer yields is fed to the next."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = layers
        self._failure: Exception | None = None
        self._feeds = [(layer.feed, layer.takes) for layer in layers]

    def open_since(self, since_ns: int) -> int | None:
        """Returns when the first event began that began at this time or later and is incomplete in some layer; None without one."""
        return earliest((layer.open_since(since_ns) for layer in self._layers if isinstance(layer, Waiting)), since_ns)

    def climb(self, events: Sequence[Event], first: int = 0) -> Sequence[Event]:
        """Feeds a group of events to the layer `first` and those above it; returns the events on top of the chain. A layer takes
        all events that the layer below yielded, in order; then the next layer does. Events that stand alone climb alone."""
        kinds = set(map(type, events))
        for at in range(first, len(self._feeds)):
            feed, takes = self._feeds[at]
            if takes.isdisjoint(kinds):
                continue
            if len(events) > 1 and any(issubclass(kind, StandsAlone) for kind in kinds):
                return self._climb_parted(events, at)
            events = self._through(feed, takes, events)
            kinds = set(map(type, events))
        return events

    def _through(self, feed: Feed, takes: Set[type[Event]], events: Sequence[Event]) -> Sequence[Event]:
        """Feeds one layer those events of a group that it takes; returns what it yields, and the other events, in order. If the
        layer fails, the events before the failure climb first."""
        higher: list[Event] = []
        try:
            for event in events:
                if type(event) in takes:
                    higher += feed(event)
                else:
                    higher.append(event)
        except Exception as error:
            self._failure = error
        return higher

    def _climb_parted(self, events: Sequence[Event], first: int) -> Sequence[Event]:
        """Feeds a group of events to the layer `first` and those above it. An event that stands alone climbs alone."""
        out: list[Event] = []
        for part in parted(events):
            out += self.climb(part, first)
            if self._failure is not None:
                break
        return out

    def finish(self) -> Generator[Sequence[Event]]:
        """Finishes all layers of the chain. Yields the events on top at the end of the capture, a group for each layer."""
        return self._tops((list(layer.finish()), at) for at, layer in enumerate(self._layers, 1))

    def run(self, events: Iterable[Event]) -> Generator[Event]:
        """Runs all events of a capture through the layer chain; yields the events on top."""
        for group in self.groups(events):
            yield from group

    def groups(self, events: Iterable[Event]) -> Generator[Sequence[Event]]:
        """Yields a group of events on top of the layer chain for each group from below. Closes `events` when the caller stops. That
        closes the files that they are read from, even if an error still refers to them."""
        with closing(events) if isinstance(events, Generator) else nullcontext():
            yield from self._tops((group, 0) for group in chain(_grouped(events), [(CaptureEnds(),)]))
            yield from self.finish()

    def above(self, groups: Iterable[Sequence[Event]]) -> Generator[Sequence[Event]]:
        """Chains these layers on top of another chain, whose groups of events it takes; yields groups of events on top."""
        with closing(groups) if isinstance(groups, Generator) else nullcontext():
            yield from self._tops((group, 0) for group in groups)
            yield from self.finish()

    def _tops(self, groups: Iterable[tuple[Sequence[Event], int]]) -> Generator[Sequence[Event]]:
        """Yields the events on top of the layer chain for each group and the layer that it is fed to. Where a layer failed, raises
        its error after them."""
        for group, first in groups:
            yield self.climb(group, first)
            if self._failure is not None:
                raise self._failure


def parted(events: Sequence[Event]) -> Generator[Sequence[Event]]:
    """Splits a group of events for the layer chain before and behind each event that stands alone."""
    begin = 0
    for at, event in enumerate(events):
        if isinstance(event, StandsAlone):
            if begin < at:
                yield events[begin:at]
            yield events[at : at + 1]
            begin = at + 1
    if begin < len(events):
        yield events[begin:]


def _grouped(events: Iterable[Event]) -> Generator[Sequence[Event]]:
    """Yields groups of events for the layer chain. None waits for bytes still to come: the end of a streamed block ends a group."""
    group, size = list[Event](), 0
    try:
        for event in events:
            group.append(event)
            if isinstance(event, SegmentBatch):
                size += event.borders[-1]
            if len(group) >= MOST_EVENTS or size >= MOST_BYTES or type(event) is BlockEnds:
                yield group
                group, size = [], 0
    except Exception:
        yield group
        raise
    yield group


# ------------------------------------------------------------------------------------------------------- reading layers


def stream_layers(limits: Limits) -> list[Layer]:
    """Returns the layers that the chain of a reading begins with, from TCP segments to streams and to issued Kerberos tickets."""
    from analyzer.auth.kdc_replies import KdcLayer
    from analyzer.transport.tcp.reassembler import Reassembler

    return [Reassembler(limits), KdcLayer()]


def call_layers(
    keyring: Keyring,
    limits: Limits,
    tickets: Tickets,
    *,
    pdus: bool,
    message_log: MessageLog | None = None,
    selected: Selection | None = None,
) -> tuple[list[Layer], RpcLayer]:
    """Returns the layers of a reading from streams to channels, and the RPC layer from there to exchanges. `selected` chooses the
    calls that it reads in SMB sessions. Both sides know the `tickets`; the first layer notes issued ones."""
    from analyzer.auth import token_handshake
    from analyzer.transport.rpc.rpc_layer import RpcLayer

    begin = partial(token_handshake.begin, tickets=tickets)
    rpc = RpcLayer(keyring, limits=limits, begin=begin, pdus=pdus, selected=selected)
    return channel_layers(keyring, limits, tickets=tickets, message_log=message_log), rpc


def channel_layers(
    keyring: Keyring,
    limits: Limits,
    *,
    tickets: Tickets | None = None,
    key_log: KeyLog | None = None,
    message_log: MessageLog | None = None,
    checks_signatures: bool = True,
) -> list[Layer]:
    """The layers from streams to channels. Signatures decide on no other byte, so that a second reading need not check them."""
    from analyzer.transport.channel.channels import Channels, TcpChannels
    from analyzer.transport.smb.smb_layer import SmbLayer

    channels = Channels()
    smb = SmbLayer(
        keyring,
        channels,
        tickets=tickets,
        key_log=key_log,
        message_log=message_log,
        limits=limits,
        checks_signatures=checks_signatures,
    )
    return [smb, TcpChannels(channels)]


def decoding_layers(pcq: PerflibLayer, follower: KeyFollower) -> list[Layer]:
    """The layers from exchanges to calls."""
    from analyzer.interfaces.svcctl.service_layer import ServiceLayer
    from analyzer.interfaces.winperf.winreg_layer import WinregLayer

    return [pcq, WinregLayer(follower), ServiceLayer()]
