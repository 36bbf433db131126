"""Reads a shard of a capture in one of several processes: the streams of some pairs of hosts in, their calls and events out.

Every process reads the whole capture up to the streams, which costs a tenth of the time, and takes those of its shard (`Dealer`):
so nothing has to be passed on. A shard numbers its results by itself; `pipeline.shard_coordinator` gives them the numbers that they
have in the whole capture. For that, each event has a moment, its place among all events of the capture, and all results of an event
have its moment.
"""

from __future__ import annotations

import gc
from array import array
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import partial
from hashlib import sha256
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from analyzer.auth import token_handshake
from analyzer.auth.kdc_replies import TicketIssued, Tickets
from analyzer.auth.keyring import Keyring
from analyzer.auth.security_types import SearchBudget
from analyzer.capture.capture_reader import ReadBound
from analyzer.core.absence import Missing
from analyzer.core.events import CaptureEnds, ClockSetBack, Event, StandsAlone
from analyzer.core.limits import Limits
from analyzer.core.printable_text import guid_text
from analyzer.core.session_and_handle_numbers import Numbers
from analyzer.interfaces.calls_from_exchanges import plain_call
from analyzer.interfaces.pcq.perflib_layer import CatalogLearner, Lesson, Loss, PerflibLayer, lesson_of
from analyzer.interfaces.svcctl.service_layer import ServiceLayer
from analyzer.interfaces.winperf.winreg_layer import KeyFollower, WinregLayer, holds_names
from analyzer.pipeline.layer_chain import MOST_BYTES, MOST_EVENTS, Feed, Layer, LayerChain, stream_layers
from analyzer.pipeline.segment_sources import own_segments
from analyzer.results.calls.call import Call, handle_of
from analyzer.results.calls.call_row_columns import SharedValues
from analyzer.results.calls.call_table import CallTable
from analyzer.results.calls.merged_call_tables import MovedCalls, blocks_of
from analyzer.results.methods import perflib, scmr, winreg
from analyzer.results.reported_names.counter_name_tables import table_language
from analyzer.transport.channel.channels import ChannelClosed, Channels, TcpChannels
from analyzer.transport.rpc.exchange_maker import Exchange
from analyzer.transport.rpc.rpc_layer import RpcLayer
from analyzer.transport.smb.smb_connection_state import ConnectionState
from analyzer.transport.smb.smb_layer import SmbLayer
from analyzer.transport.smb.smb_session import KnownSessions, Session
from analyzer.transport.smb.trees_and_opens import DurableKey, DurableOpens, Open
from analyzer.transport.tcp.stream_events import Connection, Gap, Recognised, StreamBatch, StreamClosed

if TYPE_CHECKING:
    from multiprocessing.connection import Connection as Pipe

# The moment of what only the end of the capture completes.
AT_END = 1 << 62
# More events than this are not handed back: limits of the whole capture decide which of them are listed.
_MOST_EVENTS = 200_000
# The parameters with handles: those that calls use, and those that answers give out.
_KEY_HANDLES, _SERVICE_HANDLES = ("hKey",), ("hService", "hSCObject")
_KEYS_GIVEN, _SERVICES_GIVEN = ("phKey", "phkResult"), ("lpServiceHandle", "lpScHandle")
_GUID_AT, _HANDLE_BYTES = 4, 20
# Limits that all connections of an analysis share.
_SHARED_LIMITS = ("opens_in_all", "smb_memory", "smb_decompressed_free", "search_tries", "search_keystream")
# The taker of an event that each shard takes.
_EACH = -1
# Server and handle.
Place = tuple[str, str]


class Dealer:
    """Deals the events of a capture to its shards. Each process deals in the same way, and takes its own shard."""

    def __init__(self, count: int, *, by_connection: bool) -> None:
        """Deals to `count` shards by pairs of hosts, or by connections."""
        self._by_connection = by_connection
        # Which shard each pair of hosts, or connection, is in, and how many bytes each shard had.
        self._shards: dict[object, int] = {}
        self._loads = [0] * count

    def deal(self, groups: Iterable[Sequence[Event]], number: int, shard: Shard) -> Iterator[tuple[int, Event]]:
        """Feeds a worker's shard, of that number, the events that belong to it; gives those that belong to no shard, with their
        moments."""
        moments, latest, full = count(1), 0, MOST_BYTES
        dealt: list[Event] = []
        for group in groups:
            for event, moment in zip(group, moments, strict=False):
                if (taker := self._taker_of(event)) is None:
                    yield moment, event
                if taker not in (number, _EACH):
                    continue
                is_alone = isinstance(event, StandsAlone)
                if is_alone and dealt:
                    shard.feed(dealt)
                    dealt = []
                # What follows an event of the shard at once may have its moment: no event of another lies between.
                if not dealt or taker == _EACH or moment > latest + 1:
                    dealt.append(EventMoment(moment))
                dealt.append(event)
                latest = moment if taker == number else 0
                if is_alone:
                    shard.feed(dealt)
                    dealt = []
            # As many climb together as in one process. A group of all events has only some of each shard.
            if dealt and (len(dealt) >= MOST_EVENTS or self._loads[number] >= full):
                shard.feed(dealt)
                dealt, full = [], self._loads[number] + MOST_BYTES
        if dealt:
            shard.feed(dealt)

    def _taker_of(self, event: Event) -> int | None:
        """Returns the number of the shard that takes an event; `_EACH` if each does, None if none does."""
        match event:
            case StreamBatch():
                taker = self._shard_of(event.connection)
                self._loads[taker] += len(event.data.data) + 100 * len(event.replies)
                return taker
            case Gap() | Recognised() | StreamClosed():
                return self._shard_of(event.connection)
            case ClockSetBack() | CaptureEnds() | TicketIssued():
                return _EACH
            case _:
                return None

    def _shard_of(self, connection: Connection) -> int:
        """Returns the number of a connection's shard, as every worker counts it. A new connection goes to the shard that had the
        fewest bytes."""
        key = connection.number if self._by_connection else pair_of(connection)
        if (shard := self._shards.get(key)) is None:
            shard = self._shards[key] = self._loads.index(min(self._loads))
            self._loads[shard] += 1
        return shard


def pair_of(connection: Connection) -> tuple[str, str]:
    """Returns the pair of hosts by which every worker decides on a connection's shard, in the same order for both directions."""
    a, b = connection.a.ip, connection.b.ip
    return (a, b) if a <= b else (b, a)


class EventClock:
    """Holds the moment of the event that the shard is processing."""

    def __init__(self) -> None:
        self.now = 0


class NotedNumbers(Iterator[int]):
    """Numbers that a shard gives out from `first` on, with the moment of each."""

    def __init__(self, clock: EventClock, first: int) -> None:
        self._clock, self._first = clock, first
        self.moments = array("q")

    def __next__(self) -> int:
        self.moments.append(self._clock.now)
        return self._first + len(self.moments) - 1


class EventMoment(Event, frozen=True):
    """The event that all events which follow it, up to the next one of these, have this moment. Each group that is fed to a shard
    begins with one."""

    number: int


class _ClockedChain(LayerChain):
    """The layer chain of a shard, which sets the clock to the moment of each event."""

    def __init__(self, layers: Sequence[Layer], clock: EventClock) -> None:
        super().__init__(layers)
        self._clock = clock

    def _through(self, feed: Feed, takes: Set[type[Event]], events: Sequence[Event]) -> Sequence[Event]:
        higher: list[Event] = []
        for event in events:
            if type(event) in takes:
                higher += feed(event)
            else:
                if isinstance(event, EventMoment):
                    self._clock.now = event.number
                higher.append(event)
        return higher


class SharedMatter(Struct, frozen=True):
    """What a shard met or looked for that other shards may have too. If two shards share any of it, the capture is no sum of them.
    It has sessions (by id, server and client) and the ids of sessions that connections bind themselves to. It also has durable
    opens that were granted or taken up again, and handles of keys and services."""

    sessions: set[tuple[int, str, str]] = field(default_factory=set)
    bound: set[int] = field(default_factory=set)
    granted: set[DurableKey] = field(default_factory=set)
    reopened: set[DurableKey] = field(default_factory=set)
    handles: set[Place] = field(default_factory=set)


class _Sessions(KnownSessions):
    """Notes the SMB sessions that other shards may have too."""

    def __init__(self, shared: SharedMatter) -> None:
        super().__init__()
        self._shared = shared

    def register(self, session: Session) -> None:
        self._shared.sessions.add((session.session_id, session.server.ip, session.client.ip))
        super().register(session)

    def bound(self, session_id: int, state: ConnectionState) -> Session | None:
        self._shared.bound.add(session_id)
        return super().bound(session_id, state)


class _Durable(DurableOpens):
    """Notes the SMB opens that other shards may take up again."""

    def __init__(self, shared: SharedMatter) -> None:
        super().__init__()
        self._shared = shared

    def granted(self, session: Session, file_id: bytes, opened: Open) -> None:
        super().granted(session, file_id, opened)
        if opened.durable is not None:
            self._shared.granted.add(opened.durable)

    def take_open(self, session: Session, file_id: bytes) -> Open | None:
        self._shared.reopened.add(self.key_of(session, file_id))
        return super().take_open(session, file_id)


class _ShardSearch(SearchBudget):
    """The search budget of a shard. It notes whether the search wanted more than there was."""

    def __init__(self, tries: int, keystream: int) -> None:
        super().__init__(tries, keystream)
        self._has_refused = False

    def spend(self, size: int) -> bool:
        if super().spend(size):
            return True
        self._has_refused = True
        return False

    @property
    def is_exhausted(self) -> bool:
        return self._has_refused or self.given_up > 0


class NameLesson(Struct, frozen=True):
    """A table of counter names in an answer of a shard, for learning: its server, its language, and its digest."""

    server: str
    language: str
    digest: bytes


class ShardFacts(Struct, frozen=True):
    """What a shard found, without its calls.

    `events` have their moments. `numbered` has for each kind of `Numbers` the moments at which the shard gave them out. `taught`
    are rows of calls with the position of their lesson in `lessons`. `closed` are channels that were closed before the capture
    ended. That was at `ended_at`, after `read` frames and bytes. `has_unbound`: there are calls without a bind. `has_end`: the end
    of the capture completed some results. `is_partial`: results depend on limits that all shards share.
    """

    events: list[tuple[int, Event]]
    ended_at: int
    read: tuple[int, int]
    closed: list[int]
    losses: list[Loss]
    numbered: dict[str, Sequence[int]]
    values: SharedValues
    lessons: list[Lesson | NameLesson]
    taught: Sequence[int]
    shared: SharedMatter
    has_unbound: bool
    has_end: bool
    is_partial: bool


class Shard:
    """Reads the streams of one shard. `shares` shards share the limits of the analysis."""

    def __init__(self, keyring: Keyring, limits: Limits, shares: int) -> None:
        of_each, tickets = limits_of_shard(limits, shares), Tickets()
        self._clock = EventClock()
        self._noted = {name: NotedNumbers(self._clock, first) for name, first in FIRST_NUMBERS.items()}
        numbers = Numbers(**self._noted)
        self._shared = SharedMatter()
        self._search = _ShardSearch(of_each.search_tries, of_each.search_keystream)
        channels = Channels(numbers.channels)
        smb = SmbLayer(
            keyring,
            channels,
            tickets=tickets,
            limits=of_each,
            numbers=numbers,
            sessions=_Sessions(self._shared),
            durable=_Durable(self._shared),
        )
        rpc = RpcLayer(
            keyring,
            limits=of_each,
            begin=partial(token_handshake.begin, tickets=tickets),
            search=self._search,
            pdus=False,
            logons=numbers.rpc_logons,
            shares=shares,
        )
        self._pcq = PerflibLayer(CatalogLearner(), learning=False)
        self._chain = _ClockedChain(
            [
                smb,
                TcpChannels(channels),
                rpc,
                self._pcq,
                WinregLayer(KeyFollower(learning=False, numbers=numbers)),
                ServiceLayer(numbers),
            ],
            self._clock,
        )
        self._table = CallTable()
        self._moments, self._ends = array("q"), array("q")
        self._events: list[tuple[int, Event]] = []
        self._closed: list[int] = []
        self._has_ended = self._has_end = self._is_overfull = False
        self._ended_at = AT_END
        self._lessons: dict[Lesson | NameLesson, int] = {}
        self._taught = array("q")

    def feed(self, dealt: Sequence[Event]) -> None:
        """Takes events of the shard behind their moments. An event that stands alone comes alone."""
        assert isinstance(dealt[0], EventMoment)
        self._clock.now = dealt[0].number
        for higher in self._chain.climb(dealt):
            if isinstance(higher, EventMoment):
                self._clock.now = higher.number
            else:
                self._take(higher)

    def finish(self, read: tuple[int, int]) -> ShardFacts:
        """Ends the shard with the capture, after `read` frames and bytes; returns what it found."""
        self._clock.now = AT_END
        for higher in chain.from_iterable(self._chain.finish()):
            self._has_end = True
            self._take(higher)
        return ShardFacts(
            self._events,
            self._ended_at,
            read,
            self._closed,
            self._pcq.losses,
            {name: noted.moments for name, noted in self._noted.items()},
            self._table.shared,
            list(self._lessons),
            self._taught,
            self._shared,
            bool(self._table.unbound),
            self._has_end,
            self._is_overfull or self._search.is_exhausted,
        )

    def blocks(self) -> Iterator[MovedCalls]:
        """Yields the calls of the shard in blocks of table rows."""
        return blocks_of(self._table, np.array(self._moments, np.int64), np.array(self._ends, np.int64))

    def _take(self, event: Event) -> None:
        if isinstance(event, Call):
            self._add(event)
        elif isinstance(event, Exchange):
            self._add(plain_call(event))
        elif isinstance(event, ChannelClosed):
            if not self._has_ended:
                self._closed.append(event.channel.number)
        elif isinstance(event, CaptureEnds):
            self._has_ended, self._ended_at = True, self._clock.now
        elif len(self._events) < _MOST_EVENTS:
            self._events.append((self._clock.now, event))
        else:
            self._is_overfull = True

    def _add(self, call: Call) -> None:
        row = self._table.append(call)
        self._moments.append(self._clock.now)
        self._ends.append(self._table.log.end)
        match call.interface.uuid:
            case perflib.INTERFACE:
                if (taught := lesson_of(call)) is not None:
                    self._teaches(row, taught)
            case winreg.INTERFACE:
                self._shared.handles.update(_handles_in_shard(call, _KEY_HANDLES, _KEYS_GIVEN))
                if (lesson := _names_of(call)) is not None:
                    self._teaches(row, lesson)
            case scmr.INTERFACE:
                self._shared.handles.update(_handles_in_shard(call, _SERVICE_HANDLES, _SERVICES_GIVEN))

    def _teaches(self, row: int, lesson: Lesson | NameLesson) -> None:
        self._taught.extend((row, self._lessons.setdefault(lesson, len(self._lessons))))


# The first number of each kind.
FIRST_NUMBERS = {"sessions": 0, "smb_logons": 0, "rpc_logons": 0, "channels": 0, "keys": 1, "services": 1, "reads": 1}


def limits_of_shard(limits: Limits, shares: int) -> Limits:
    """Returns the limits with which a shard worker reads one of `shares` shards. If a shard reaches its part, the whole capture may
    reach the limit or not: one process has to find out."""
    return replace(limits, **{name: getattr(limits, name) // shares for name in _SHARED_LIMITS})


def _handles_in_shard(call: Call, used: Iterable[str], given: Iterable[str]) -> Iterator[Place]:
    """Yields for the worker of a shard the handles, by server, that a call read there uses and gives out."""
    server = call.server.ip
    sides = ((call.request, used), *(((call.response, given),) if call.status == 0 else ()))
    for side, names in sides:
        for name in names:
            if (handle := handle_of(side, name)) is not None:
                yield server, handle
    side = call.request
    if side is None or side.params or isinstance(stub := side.stub, Missing) or len(stub) < _HANDLE_BYTES:
        return
    # A request that is not decoded begins with the handle that it uses.
    yield server, guid_text(stub.part(_GUID_AT, _HANDLE_BYTES))


def _names_of(call: Call) -> NameLesson | None:
    if not holds_names(call):
        return None
    assert call.read is not None
    assert call.response is not None
    table = table_language(call.read.value_name, call.read.key)
    if table is None or table[0] != "counter":
        return None
    return NameLesson(call.server.ip, table[1], sha256(call.response.buffer_data).digest())


class ShardTask(Struct, frozen=True):
    """The task of a shard's process: which files to read up to which bound, and which of the shards to take. All processes of a
    capture read it with the links of senders, or without."""

    files: Sequence[Path]
    bound: ReadBound | None
    keyring: Keyring
    limits: Limits
    number: int
    count: int
    by_connection: bool
    with_links: bool


def read_shard(task: ShardTask) -> tuple[ShardFacts, Iterator[MovedCalls]]:
    """Reads a shard; returns its facts, and its calls in blocks."""
    segments, read = own_segments(task.files, None, task.limits, bound=task.bound, with_links=task.with_links)
    shard = Shard(task.keyring, task.limits, task.count)
    dealer = Dealer(task.count, by_connection=task.by_connection)
    groups = LayerChain(stream_layers(task.limits)).groups(segments)
    for _ in dealer.deal(groups, task.number, shard):
        pass  # what belongs to no shard is for the first process
    return shard.finish((read().frames, read().bytes)), shard.blocks()


def work(pipe: Pipe, task: ShardTask) -> None:
    """Does the work of a shard's process: sends the shard's facts, then its calls; after an error only the error's type."""
    from analyzer.core.child_processes import works_for_parent

    works_for_parent()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
    try:
        facts, blocks = read_shard(task)
    except Exception as error:
        pipe.send(type(error).__name__)
        return
    pipe.send(facts)
    for block in blocks:
        pipe.send(block)
    pipe.send(None)
