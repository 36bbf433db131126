"""The lives of query handles: which counters each holds, and what each block of its data answers means.

In: the calls of one interface in the order they completed. Out: for a call on a handle, a `QueryView`. [MS-PCQ] section
3.1.1.1 keeps a list of counters with each handle; section 3.1.4.1.5 says which block of a data answer belongs to which of
them (`Index`), and nothing else does, so only that is believed.

    unknown --OpenQueryHandle--> followed --QueryCounterInfo--> told --ValidateCounters--> followed
                                     |                            |
                                     +------ CloseQueryHandle ----+--> gone

`told`: an answer of QueryCounterInfo named the blocks. An answer is good until the next ValidateCounters on the handle
(AMB: a list may be renumbered by it). While only `followed`, a query that has held exactly one counter since it was opened
still has only one meaning for block 0. A ValidateCounters that could not be read takes that knowledge away. A request that was
lost without a trace may have been one: the knowledge is suspended, until the answer to it shows that it was another method,
or QueryCounterInfo tells anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from analyzer.packet.segment import Endpoint
from analyzer.pcq.identity import NONE_ID

_NO_BLOCKS: Mapping[int, Identifier] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Identifier:
    """_PERF_COUNTER_IDENTIFIER ([MS-PCQ] section 2.2.4.6). `counter_id` and `instance_id` may be 0xFFFFFFFF (all)."""

    counterset: str
    status: int
    counter_id: int
    instance_id: int
    index: int
    instance: str | None

    @property
    def key(self) -> tuple[str, int, int, str | None]:
        """What makes two identifiers the same one: everything but status and index, names without case."""
        return self.counterset, self.counter_id, self.instance_id, self.instance and self.instance.casefold()

    @property
    def names_one_counter(self) -> bool:
        return self.counter_id != NONE_ID

    @property
    def names_one_instance(self) -> bool:
        return self.instance is not None and not any(mark in self.instance for mark in "*?")


@dataclass(frozen=True, slots=True)
class QueryView:
    """A query handle as it stood when a call was made.

    `number` counts the handles of the capture from 1; `blocks` maps a block's position in a data answer to what it is,
    as far as the capture tells; `counterset` is the one counterset all its counters belong to, if that is known.
    """

    handle: str
    number: int
    blocks: Mapping[int, Identifier]
    counterset: str | None


@dataclass(slots=True)
class _Query:
    handle: str
    number: int
    server: Endpoint
    channels: set[int] = field(default_factory=set)
    followed: bool = False
    live: dict[tuple[str, int, int, str | None], Identifier] = field(default_factory=dict)
    told: Mapping[int, Identifier] | None = None
    # Requests lost on its channels that may have changed what it holds.
    lost_requests: int = 0

    def forget(self) -> None:
        """What the handle holds is not known any more."""
        self.followed = False
        self.told = None
        self.live.clear()

    def view(self) -> QueryView:
        if self.lost_requests:
            return QueryView(self.handle, self.number, _NO_BLOCKS, None)
        blocks = self.told
        sets = {identifier.counterset for identifier in self.live.values()} if self.followed else set()
        if blocks is None:
            only = next(iter(self.live.values())) if self.followed and len(self.live) == 1 else None
            blocks = MappingProxyType({0: only}) if only is not None else _NO_BLOCKS
        return QueryView(self.handle, self.number, blocks, sets.pop() if len(sets) == 1 else None)


class QueryBook:
    """Follows every query handle of a capture. Handles are told apart by server and UUID."""

    # A server that hands out handles without end must not make us remember them all; the oldest is forgotten first, and a
    # call on it then has no names for its blocks.
    MAX_QUERIES = 65_536

    def __init__(self) -> None:
        self._queries: dict[tuple[str, str], _Query] = {}
        self._count = 0

    def _query(self, server: Endpoint, handle: str) -> _Query:
        key = (server.ip, handle)
        query = self._queries.get(key)
        if query is None:
            if len(self._queries) >= self.MAX_QUERIES:
                del self._queries[next(iter(self._queries))]
            self._count += 1
            query = self._queries[key] = _Query(handle, self._count, server)
        return query

    def view(self, server: Endpoint, channel: int, handle: str) -> QueryView:
        query = self._query(server, handle)
        query.channels.add(channel)
        return query.view()

    def opened(self, server: Endpoint, channel: int, handle: str) -> QueryView:
        """A handle was given out: it holds nothing yet."""
        self._queries.pop((server.ip, handle), None)
        query = self._query(server, handle)
        query.channels.add(channel)
        query.followed = True
        return query.view()

    def closed(self, server: Endpoint, handle: str) -> None:
        """The handle holds nothing any more. It keeps its number: who uses it yet is still talking of that one."""
        self._query(server, handle).forget()

    def validated(self, server: Endpoint, handle: str, identifiers: list[Identifier], *, add: bool) -> None:
        """Counters were added to or removed from the handle; each identifier's own status says whether it was."""
        query = self._query(server, handle)
        query.told = None
        for identifier in identifiers:
            if identifier.status != 0:
                continue
            if add:
                query.live[identifier.key] = identifier
            else:
                query.live.pop(identifier.key, None)

    def told(self, server: Endpoint, handle: str, identifiers: list[Identifier]) -> None:
        """QueryCounterInfo answered: the whole list, with the position of each counter's block."""
        query = self._query(server, handle)
        by_index: dict[int, list[Identifier]] = {}
        for identifier in identifiers:
            by_index.setdefault(identifier.index, []).append(identifier)
        query.told = MappingProxyType(
            {index: same[0] for index, same in by_index.items() if len(same) == 1 and same[0].status == 0}
        )
        query.live = {identifier.key: identifier for identifier in identifiers if identifier.status == 0}
        query.followed = True
        query.lost_requests = 0

    def doubt(self, channel: int, handle: str | None) -> None:
        """A call that may have changed a handle's counters was not read: of the handles of this channel, or of one."""
        for query in self._queries.values():
            if channel in query.channels and (handle is None or query.handle == handle):
                query.forget()

    def lost(self, channel: int) -> None:
        """A request on this channel was lost, nobody knows which."""
        for query in self._queries.values():
            if channel in query.channels:
                query.lost_requests += 1

    def found(self, channel: int) -> None:
        """What came after shows that a lost request was of a method that changes no handle."""
        for query in self._queries.values():
            if channel in query.channels:
                query.lost_requests = max(0, query.lost_requests - 1)
