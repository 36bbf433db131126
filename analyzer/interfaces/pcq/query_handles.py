"""Query handles: the counters that each one holds, and the counter of each block in its data answers.

[MS-PCQ] section 3.1.1.1 keeps a list of counters with each handle; section 3.1.4.1.5 says which block of a data answer belongs
to which of them (`Index`). If the capture has no such answer, the list is replayed: counters stand in the order in which they
were added. All servers that we have recordings of keep this order.

    unknown --OpenQueryHandle--> followed --QueryCounterInfo--> indexed --ValidateCounters--> followed
                                     |                            |
                                     +------ CloseQueryHandle ----+--> gone

`indexed`: an answer of QueryCounterInfo named the blocks. It holds for all polls between the last ValidateCounters on the handle
and the next one, which may renumber the list. While only `followed`, a replay is believed if

* the handle was opened in the capture, or QueryCounterInfo gave its whole list with the positions 0, 1, 2, ... since,
* every ValidateCounters after that was read, and each added counters (a server may fill the place of a removed counter as it
  likes, but a single counter has only one possible place),
* no lost request on its channels may have been another ValidateCounters, and
* no data answer contradicts it: each has as many blocks as counters are held, and each block the type its counter asks for.

A ValidateCounters that could not be read ends this knowledge. A lost request may have been a ValidateCounters: the knowledge is
suspended until its answer shows that it was another method, or until QueryCounterInfo is answered again.
`pcq.handle_following` puts the calls in order and passes them to the `QueryHandles` here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct, field

from analyzer.results.calls.query_state import Held, Identifier, InOrder, QueryView
from analyzer.results.methods.perflib import COUNTERS, COUNTERSET, ERROR, INSTANCES, SINGLE
from analyzer.results.records.record_types import Endpoint

if TYPE_CHECKING:
    from analyzer.interfaces.buffers.struct_layouts import BlockTypes

_Key = tuple[str, int, int, str | None]

_NO_BLOCKS: Mapping[int, Identifier] = MappingProxyType({})

_NOT_OPENED = "the opening of the handle is not in the capture, and no answer of QueryCounterInfo lists what it holds"
UNREAD = "a ValidateCounters that may have changed the handle could not be read"
ALTERED = "a signature of a call that may have changed the handle does not fit, so others may have changed the call"
_LOST = "a request was lost that may have changed the handle"
TOGETHER = "the handle was changed by another call that was under way at the same time"
_REMOVED = "counters were removed, and no answer of QueryCounterInfo has given the positions of the others since"
CLOSED = "the handle was closed"
_TOO_LONG = "too many counters were removed from a list too long to be followed"
_TOO_MANY = "the handle is used over too many connections to be followed"


class _Channel(Struct):
    """Events on an RPC channel that concern all query handles used on it.

    Handles look here when they are used. To tell each of many handles each event of many channels would take the product.
    """

    # Calls that were not read, or changed by others, and may have changed a handle; why the last of them is one. Whether a lost
    # request may have changed one.
    doubts: int = 0
    why: str = UNREAD
    has_lost: bool = False
    # Counts whatever happened.
    changes: int = 0


class Happened(Struct):
    """Counts the events on all channels. While the count stays, no query handle has to look at its own channels."""

    count: int = 0


class _Use(Struct):
    """The use of a channel by a query handle: which events on the channel the handle knows already."""

    channel: _Channel
    doubts: int
    # The state of the channel in which a loss says nothing of the handle: it was not used there yet, or was described since.
    settled: int


class Query(Struct):
    """The counters that one query handle holds, in the part of the capture that was followed."""

    # A handle that is used over more channels than any client needs is not followed.
    MAX_CHANNELS: ClassVar[int] = 64
    # The most counters to copy when others are removed: long lists that are emptied one by one must not fill memory.
    MAX_COPIED: ClassVar[int] = 4_000_000

    handle: str
    number: int
    server: Endpoint
    happened: Happened
    uses: dict[int, _Use] = field(default_factory=dict)
    # The counts of events on its channels, and on all channels, when it was last looked at.
    synced: int = 0
    looked: int = 0
    copied: int = 0
    followed: bool = False
    # The counters that it holds, in the order of adding (a list that only grows, or is replaced), and their keys.
    live: list[Identifier] = field(default_factory=list)
    keys: set[_Key] = field(default_factory=set)
    countersets: Counter[str] = field(default_factory=Counter)
    by_index: Mapping[int, Identifier] | None = None
    # Whether the order of `live` is that of the blocks.
    ordered: bool = False
    # Why not, and what contradicted it.
    unknown: str = _NOT_OPENED
    # Whether a data answer contradicted the replay.
    refuted: bool = False
    # Counts what may have changed the handle, begun and done.
    epoch: int = 0
    # The view as it was last given out, until something changes.
    shown: QueryView | None = None

    def changed(self) -> None:
        self.epoch += 1
        self.shown = None

    def use(self, number: int, channel: _Channel) -> None:
        """Notes the query handle's first use on a channel. Earlier losses on the channel do not concern it."""
        if len(self.uses) < self.MAX_CHANNELS:
            self.uses[number] = _Use(channel, channel.doubts, channel.changes)
            self.synced += channel.changes
        else:
            self.forget(_TOO_MANY)

    def sync(self) -> None:
        """Updates the query handle by the events on its channels since it was last used."""
        if self.happened.count == self.looked:
            return
        self.looked = self.happened.count
        happened = sum(use.channel.changes for use in self.uses.values())
        if happened == self.synced:
            return
        self.synced = happened
        self.changed()
        doubted = [use.channel for use in self.uses.values() if use.doubts != use.channel.doubts]
        if doubted:
            self.forget(doubted[0].why)
            for use in self.uses.values():
                use.doubts = use.channel.doubts

    @property
    def suspended(self) -> bool:
        """Whether a lost request on one of the query handle's channels may have changed its counters."""
        return any(use.channel.has_lost and use.settled != use.channel.changes for use in self.uses.values())

    def forget(self, why: str) -> None:
        """Notes that the counters of the query handle are not known any more."""
        self.followed = self.ordered = self.refuted = False
        self.unknown = why
        self.by_index = None
        self.hold([])
        self.changed()

    def hold(self, identifiers: list[Identifier]) -> None:
        """Notes that the query handle holds exactly these counters."""
        self.live = identifiers
        self.keys = {identifier.key for identifier in identifiers}
        self.countersets = Counter(identifier.counterset for identifier in identifiers)

    def view(self) -> QueryView:
        if self.shown is None:
            self.shown = self._made()
        return self.shown

    def _made(self) -> QueryView:
        if self.suspended:
            return QueryView(self.handle, self.number, _NO_BLOCKS, None, unknown=_LOST)
        if not self.followed:
            return QueryView(self.handle, self.number, _NO_BLOCKS, None, unknown=self.unknown)
        held = Held(self.live)
        counterset = next(iter(self.countersets)) if len(self.countersets) == 1 else None
        if self.by_index is not None:
            return QueryView(self.handle, self.number, self.by_index, counterset, "index", held)
        if not self.is_replayed:
            return QueryView(self.handle, self.number, _NO_BLOCKS, counterset, held=held, unknown=self.unknown)
        return QueryView(self.handle, self.number, InOrder(held), counterset, "replay", held)

    @property
    def is_replayed(self) -> bool:
        """Whether the order of adding tells the counter of each block in the query handle's answers. A single counter has only one
        possible block."""
        return self.followed and not self.refuted and (self.ordered or len(self.live) <= 1)

    def closed(self) -> None:
        """Notes that the query handle was closed: it holds nothing any more. It keeps its number, because later calls on it still
        mean this handle."""
        self.forget(CLOSED)

    def validated(self, identifiers: Sequence[Identifier], *, add: bool) -> None:
        """Notes a ValidateCounters: it added counters to the query handle or removed them. The status of each identifier says
        whether it succeeded."""
        self.by_index = None
        done = [identifier for identifier in identifiers if identifier.status == 0]
        if add:
            for identifier in done:
                if identifier.key not in self.keys:
                    self.keys.add(identifier.key)
                    self.live.append(identifier)
                    self.countersets[identifier.counterset] += 1
        elif done:
            gone = {identifier.key for identifier in done}
            self.copied += len(self.live)
            if self.copied > self.MAX_COPIED:
                self.forget(_TOO_LONG)
                return
            self.hold([identifier for identifier in self.live if identifier.key not in gone])
            if self.followed:
                self.unorder(_REMOVED)
        self.changed()

    def unorder(self, why: str) -> None:
        """Notes that the query handle's counters are known, but not their order."""
        self.ordered = not self.live
        self.unknown = why
        self.shown = None

    def informed(self, identifiers: Sequence[Identifier]) -> None:
        """Notes the answer of QueryCounterInfo: the whole list of the query handle, with the position of each counter's block.

        The Status of an identifier does not show whether it is held: clients ignore it ([MS-PCQ] section 3.1.4.1.5).
        """
        by_index: dict[int, list[Identifier]] = {}
        for identifier in identifiers:
            by_index.setdefault(identifier.index, []).append(identifier)
        self.by_index = MappingProxyType({index: same[0] for index, same in by_index.items() if len(same) == 1})
        in_order = sorted(identifiers, key=lambda identifier: identifier.index)
        self.hold(list({identifier.key: identifier for identifier in in_order}.values()))
        self.followed = True
        self.ordered = sorted(self.by_index) == list(range(len(identifiers)))
        self.unknown = "QueryCounterInfo gave positions that are not 0, 1, 2, ..., and counters were added since"
        self.refuted = False
        for use in self.uses.values():
            use.settled = use.channel.changes
        self.shown = None

    @property
    def is_at_stake(self) -> bool:
        """Whether a data answer could contradict the replayed counters of the query handle."""
        return self.by_index is None and self.is_replayed and not self.suspended

    def contradicted(self, answer: BlockTypes) -> bool:
        """Whether a data answer contradicts the replayed counters of the query handle. If so, the replay is not believed again."""
        if not self.is_at_stake:
            return False
        if (why := _contradiction(self.live, answer)) is None:
            return False
        self.refuted = True
        self.unknown = why
        self.shown = None
        return True


class QueryHandles:
    """Follows every query handle of a capture. Server and UUID identify a handle."""

    # A server that hands out handles without end must not make us remember them all; the oldest is forgotten first, and a
    # call on it then has no names for its blocks.
    MAX_QUERIES = 65_536

    def __init__(self) -> None:
        self._queries: dict[tuple[str, str], Query] = {}
        self._channels: dict[int, _Channel] = {}
        self._happened = Happened()
        self._count = 0

    def query_of(self, server: Endpoint, channel: int, handle: str) -> Query:
        """Returns the query handle with this UUID, and notes its use on a channel."""
        key = (server.ip, handle)
        query = self._queries.get(key)
        if query is None:
            if len(self._queries) >= self.MAX_QUERIES:
                del self._queries[next(iter(self._queries))]
            self._count += 1
            query = self._queries[key] = Query(handle, self._count, server, self._happened)
        if channel not in query.uses:
            query.use(channel, self._channel(channel))
        if query.looked != self._happened.count:
            query.sync()
        return query

    def opened(self, server: Endpoint, channel: int, handle: str) -> Query:
        """Notes that the server opened a query handle: it holds nothing yet."""
        self._queries.pop((server.ip, handle), None)
        query = self.query_of(server, channel, handle)
        query.followed = query.ordered = True
        return query

    def doubt(self, channel: int, why: str = UNREAD) -> None:
        """Notes that a call on this channel was not read, or was changed by others, as `why` says. It may have changed one of the
        query handles of the channel."""
        state = self._changed(channel)
        state.doubts += 1
        state.why = why

    def lost(self, channel: int) -> None:
        """Notes that a request on this channel was lost. It may have changed any of the channel's query handles."""
        self._changed(channel).has_lost = True

    def found(self, channel: int) -> None:
        """Notes that all lost requests on this channel were of methods that change no query handle."""
        self._changed(channel).has_lost = False

    def _changed(self, number: int) -> _Channel:
        """Returns the channel, and counts an event on it that may have changed its query handles."""
        state = self._channel(number)
        state.changes += 1
        self._happened.count += 1
        return state

    def _channel(self, number: int) -> _Channel:
        return self._channels.setdefault(number, _Channel())


def _contradiction(held: Sequence[Identifier], answer: BlockTypes) -> str | None:
    """Returns a sentence if a data answer cannot belong to the query handle's counters in this order, else None."""
    if answer.promised != len(held):
        return f"a data answer has {answer.promised} blocks, but by the calls before it the handle holds {len(held)} counters"
    for block, (identifier, kind) in enumerate(zip(held, answer.types, strict=False)):
        if kind not in _fitting_types(identifier):
            return f"block {block} of a data answer is of type {kind}, which the counter added at that place does not ask for"
    return None


def _fitting_types(identifier: Identifier) -> tuple[int, ...]:
    """Returns the types of block in a data answer that can answer an identifier. A wildcard name finds one instance if the
    counterset has only one. A name that is empty or absent may come with an instance id of "any"."""
    one, many = (SINGLE, INSTANCES) if identifier.names_one_counter else (COUNTERS, COUNTERSET)
    if identifier.instance and identifier.names_one_instance:
        return ERROR, one
    return ERROR, one, many
