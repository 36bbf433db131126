"""One capture, read by several processes: the same result, in less time.

One process finds packets and puts TCP streams in order, which costs little. The streams are sharded by pair of hosts, as `collect`
cuts captures (by connection, where there is only one pair): each shard is a process of its own (`shard`), which makes calls of
them. Then the tables of the shards are put together.

What comes of an event has the event's moment, its place among all events. By their moments, events and calls of all shards are in
the order in which one process finds them. What each shard has numbered by itself (sessions, logons, channels, handles, reads) gets
the number that one process gives it. What servers state of their counters is learnt in that order, too.

Some captures are no sum of their shards: a session that is bound from other hosts, an open or a handle that others use, a limit of
the whole analysis that may have been reached. Then `read` gives nothing, and one process has to read the capture. Nobody can tell
from the result how many did.
"""

from __future__ import annotations

import os
import pickle
import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import combinations
from queue import Queue
from threading import Thread
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from analyzer.auth.kdc import Issued, Tickets
from analyzer.auth.keyring import Keyring
from analyzer.core.child_processes import ONE_THREAD, StartedProcess
from analyzer.core.errors import InputError
from analyzer.core.events import CaptureEnds, ClockSetBack, Event, Problem
from analyzer.core.limits import Limits
from analyzer.interfaces.pcq.perflib_layer import CatalogLearner, Lesson, Loss
from analyzer.interfaces.winperf.winreg_layer import KeyFollower
from analyzer.pipeline.shard import AT_END, FIRST_NUMBERS, Place, ShardFacts, TicketIssued, work
from analyzer.results.analysis import CaptureFacts
from analyzer.results.call_table import CallTable
from analyzer.results.merged_calls import CallMerger, MergedTable, MovedCalls
from analyzer.results.renumbering import Renumbering
from analyzer.transport.tcp.stream_events import Connection, Gap, Recognised, StreamBatch, StreamClosed

Group = Collection[Event]
_Numbers = npt.NDArray[np.int64]
# What costs time is PDUs of DCERPC, some 60 us each to the end, and with keys twice as much, and messages to be decrypted; the
# contents of files cost less than it takes to pass them on. A process takes a quarter of a second to start: of captures that show
# so many of them, and will have so many to their end, two processes are quicker than one.
_COSTLY = re.compile(rb"\x05[\0\1][\0-\x13][\0-\xff]\x10\0\0\0")
_TO_DECRYPT = re.compile(rb"\xfdSMB")
_LEAST_COSTLY, _LEAST_IN_ALL = 2000, 15_000
# Before that is known, no more is kept.
_MOST_HELD = 16 << 20
# Of the bytes of a capture that is worth several processes, one pair of hosts has no more.
_MOST_OF_ONE = 0.8
# Events are passed on together, when there are so many for a shard, or so many bytes; so many of these wait.
_EVENTS_AT_ONCE, _BYTES_AT_ONCE, _MOST_WAITING = 4096, 2 << 20, 4
# So many more handles than a layer remembers are forgotten by it.
_MOST_HANDLES = 1 << 16


class ShardTickets(Tickets):
    """Tickets whose issue was seen, and those of them that the shards were not told of yet."""

    def __init__(self) -> None:
        super().__init__()
        # None where nobody wants to be told.
        self.untold: list[TicketIssued] | None = []

    def note(self, key: bytes, issued: Issued) -> None:
        super().note(key, issued)
        if self.untold is not None:
            self.untold.append(TicketIssued(key, issued))


class FoundInShards(Struct, frozen=True):
    """What all shards found, as one process would have."""

    events: list[Event]
    closed: list[int]
    calls: CallTable
    losses: list[Loss]
    jobs: int


class ProcessReader(StartedProcess):
    """Reads a shard in a process of its own. What waits for it waits in a thread, so that others get theirs meanwhile."""

    def __init__(self, keyring: Keyring, limits: Limits, shares: int) -> None:
        """Raises `OSError` where no process can be started."""
        super().__init__(work, keyring, limits, shares, variables=ONE_THREAD)
        self._waiting: Queue[bytes | None] = Queue(_MOST_WAITING)
        self._sender = Thread(target=self._send, daemon=True)
        self._sender.start()

    def feed(self, events: list[tuple[int, Event]]) -> None:
        self._waiting.put(pickle.dumps(events, pickle.HIGHEST_PROTOCOL))

    def finish(self) -> ShardFacts | None:
        self._waiting.put(pickle.dumps(None))
        self._receive()  # it has started
        found = self._receive()
        return found if isinstance(found, ShardFacts) else None

    def blocks(self) -> Iterator[MovedCalls]:
        while (block := self._receive()) is not None:
            yield block

    def end(self) -> None:
        """Ends it, whatever it is doing."""
        self.process.kill()  # nothing waits for it any longer
        self._waiting.put(None)
        self._sender.join()
        super().end()

    def _send(self) -> None:
        """What the thread does."""
        is_there = True
        while (data := self._waiting.get()) is not None:
            if is_there:
                try:
                    self.pipe.send_bytes(data)
                except (OSError, ValueError):  # it has ended, which shows when its answer is asked for
                    is_there = False

    def _receive(self) -> Any:
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            raise InputError(
                "a process that decodes calls has ended before its time (out of memory, perhaps)",
                hint="With --jobs 1, one process does it all, in less memory.",
            ) from None


def cores() -> int:
    """How many processes can work at the same time."""
    with suppress(AttributeError):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Preview(Struct, frozen=True):
    """The first groups of events of a capture, until it is known whether several processes pay."""

    groups: deque[Group]
    pays: bool
    # Shards are connections; otherwise pairs of hosts.
    by_connection: bool = False

    def then(self, groups: Generator[Group]) -> Generator[Group]:
        """Those that were taken, and all that follow."""
        with closing(groups):
            while self.groups:
                yield self.groups.popleft()
            yield from groups


def preview(groups: Iterator[Group], share_read: Callable[[], float], *, has_keys: bool, always: bool) -> Preview:
    """Takes as many groups as it needs. `share_read` is which part of the capture was read so far; `has_keys`, encrypted messages
    may be decrypted. `always`, several processes read the capture however small it is."""
    held: deque[Group] = deque()
    sizes, connections = Counter[object](), Counter[object]()
    costly = size = 0
    share = share_read()
    for group in groups:
        held.append(group)
        if not group:
            continue
        # Captures are read a block at a time: what was counted is of all blocks before the one that begins here.
        if (now := share_read()) != share:
            if costly >= _LEAST_COSTLY or size >= _MOST_HELD:
                break
            share = now
        for event in group:
            if isinstance(event, StreamBatch):
                data = event.data.data
                found = len(_COSTLY.findall(data))
                costly += 2 * (found + len(_TO_DECRYPT.findall(data))) if has_keys else found
                size += len(data)
                sizes[pair_of(event.connection)] += len(data)
                connections[event.connection.number] += len(data)
    by_connection = len(sizes) == 1
    largest = max((connections if by_connection else sizes).values(), default=0)
    pays = costly >= _LEAST_COSTLY and costly >= _LEAST_IN_ALL * share and largest <= _MOST_OF_ONE * size
    return Preview(held, pays or always, by_connection)


def pair_of(connection: Connection) -> tuple[str, str]:
    """The hosts of a connection, in the same order whoever began it."""
    a, b = connection.a.ip, connection.b.ip
    return (a, b) if a <= b else (b, a)


class Sharing:
    """How the processes of an analysis share a capture: so many (`jobs`), or one for each core if not given, where the capture is
    large enough for that to pay. `size` is that of its files."""

    def __init__(self, keyring: Keyring, limits: Limits, jobs: int | None, size: int) -> None:
        self._of_each = keyring, limits, jobs or cores()
        self._is_wanted, self._size = jobs is not None, size
        self.tickets = ShardTickets()

    def read(
        self,
        groups: Generator[Group],
        facts: Callable[[], CaptureFacts],
        learner: CatalogLearner,
        follower: KeyFollower,
    ) -> FoundInShards | Generator[Group] | None:
        """What is found in the streams of a capture; the streams themselves where one process has to go on with them; None where
        one process has to read them from the beginning."""
        keyring, _, count = self._of_each
        has_keys = bool(keyring)
        seen = preview(groups, lambda: facts().bytes / self._size, has_keys=has_keys, always=self._is_wanted)
        if seen.pays and count > 1:
            with closing(groups), Shards(self.tickets, by_connection=seen.by_connection) as shards:
                if shards.start(*self._of_each):
                    return shards.read(seen.then(groups), learner, follower)
        self.tickets.untold = None
        return seen.then(groups)


class Shards:
    """Reads a capture in shards. Ends what it has started when it is left."""

    def __init__(self, tickets: ShardTickets, *, by_connection: bool) -> None:
        self._tickets, self._by_connection = tickets, by_connection
        self._readers: list[ProcessReader] = []
        self._waiting: list[list[tuple[int, Event]]] = []
        self._sizes: list[int] = []
        # Which shard each pair of hosts, or connection, is in, and how many bytes each shard had.
        self._shards: dict[object, int] = {}
        self._loads: list[int] = []
        self._own: list[tuple[int, Event]] = []
        self._ended_at = AT_END

    def start(self, keyring: Keyring, limits: Limits, count: int) -> bool:
        """Starts the processes of so many shards. Whether they could be started."""
        for _ in range(count):
            try:
                self._readers.append(ProcessReader(keyring, limits, count))
            except OSError:  # no more processes are allowed
                return False
        self._waiting = [[] for _ in self._readers]
        self._sizes, self._loads = [0] * count, [0] * count
        return True

    def __enter__(self) -> Shards:
        return self

    def __exit__(self, *_: object) -> None:
        for reader in self._readers:
            reader.end()

    def read(self, groups: Iterable[Group], learner: CatalogLearner, follower: KeyFollower) -> FoundInShards | None:
        """What the capture holds; None where that is not the sum of its shards. Names are learnt by `learner` and `follower`.
        Raises `InputError` where a process has ended."""
        moment = 0
        for group in groups:
            self._tell_tickets(moment)
            for event in group:
                moment += 1
                self._pass_on(moment, event)
        for shard in range(len(self._readers)):
            self._flush(shard)
        facts = [found for reader in self._readers if (found := reader.finish()) is not None]
        if len(facts) < len(self._readers) or not self._are_a_sum(facts):
            return None
        return self._together(facts, learner, follower)

    def _tell_tickets(self, moment: int) -> None:
        untold = self._tickets.untold
        assert untold is not None
        for ticket in untold:
            for shard in range(len(self._readers)):
                self._give(shard, moment, ticket)
        untold.clear()

    def _pass_on(self, moment: int, event: Event) -> None:
        match event:
            case StreamBatch(connection=connection, data=data):
                shard = self._shard_of(connection)
                self._give(shard, moment, event)
                self._sizes[shard] += len(data)
                self._loads[shard] += len(data) + 100 * len(event.replies)
                if self._sizes[shard] >= _BYTES_AT_ONCE or len(self._waiting[shard]) >= _EVENTS_AT_ONCE:
                    self._flush(shard)
            case Gap(connection=connection) | Recognised(connection=connection) | StreamClosed(connection=connection):
                self._give(self._shard_of(connection), moment, event)
            case ClockSetBack() | CaptureEnds():
                if isinstance(event, CaptureEnds):
                    self._ended_at = moment
                for shard in range(len(self._readers)):
                    self._give(shard, moment, event)
            case _:
                self._own.append((moment, event))

    def _shard_of(self, connection: Connection) -> int:
        """The shard of a connection: of a new one that which had the fewest bytes."""
        key = connection.number if self._by_connection else pair_of(connection)
        if (shard := self._shards.get(key)) is None:
            shard = self._shards[key] = self._loads.index(min(self._loads))
            self._loads[shard] += 1
        return shard

    def _give(self, shard: int, moment: int, event: Event) -> None:
        self._waiting[shard].append((moment, event))

    def _flush(self, shard: int) -> None:
        if events := self._waiting[shard]:
            self._readers[shard].feed(events)
            self._waiting[shard], self._sizes[shard] = [], 0

    def _are_a_sum(self, facts: Sequence[ShardFacts]) -> bool:
        """Whether one process would have found the same."""
        if any(one.is_partial for one in facts):
            return False
        if any(isinstance(event, Problem) and event.kind == "limit" for one in facts for _, event in one.events):
            return False
        # What only the end completes comes layer by layer, and so do channels that are met there.
        if sum(one.has_end for one in facts) > 1:
            return False
        if sum(moment > self._ended_at for one in facts for moment in one.numbered["channels"]) > 1:
            return False
        if sum(len(one.shared.handles) for one in facts) > _MOST_HANDLES:
            return False
        # Calls without a bind may turn out to use handles of others.
        if any(one.has_unbound for one in facts) and any(one.numbered["keys"] for one in facts):
            return False
        return not any(_meet(one, other) or _meet(other, one) for one, other in combinations(facts, 2))

    def _together(self, facts: Sequence[ShardFacts], learner: CatalogLearner, follower: KeyFollower) -> FoundInShards:
        places = _places_of([one.numbered for one in facts])
        renumbered = [Renumbering(place) for place in places]
        events = [*self._own]
        for one, numbers in zip(facts, renumbered, strict=True):
            events += [(moment, numbers.event(event)) for moment, event in one.events]
        events.sort(key=lambda found: found[0])
        calls = MergedTable()
        merger = CallMerger(
            calls,
            [numbers.values(one.values) for one, numbers in zip(facts, renumbered, strict=True)],
            [{name: place[name] for name in ("keys", "services", "reads")} for place in places],
        )
        school = _School(facts, calls, learner, follower)
        for merged in merger.merge([reader.blocks() for reader in self._readers]):
            school.take(merged.begin, merged.tables, merged.rows)
        return FoundInShards(
            [event for _, event in events],
            [
                int(place["channels"][channel])
                for one, place in zip(facts, places, strict=True)
                for channel in one.closed
            ],
            calls,
            [
                replace(loss, channel=int(place["channels"][loss.channel]))
                for one, place in zip(facts, places, strict=True)
                for loss in one.losses
            ],
            len(facts),
        )


def _meet(one: ShardFacts, other: ShardFacts) -> bool:
    """Whether two shards have something in common."""
    ids = {session_id for session_id, _, _ in other.shared.sessions}
    return bool(
        one.shared.sessions & other.shared.sessions
        or one.shared.bound & ids
        or one.shared.reopened & other.shared.granted
        or one.shared.handles & other.shared.handles
    )


def _places_of(numbered: Sequence[Mapping[str, Sequence[int]]]) -> list[dict[str, _Numbers]]:
    """For each shard, and each kind of number: the numbers of the whole capture by those that the shard gave, counted from 0."""
    found: list[dict[str, _Numbers]] = [{} for _ in numbered]
    for kind, first in FIRST_NUMBERS.items():
        moments = [np.array(one[kind], np.int64) for one in numbered]
        order = np.argsort(np.concatenate(moments), kind="stable")
        numbers = np.empty(len(order), np.int64)
        numbers[order] = np.arange(len(order)) + first
        for of_shard, part in zip(found, np.split(numbers, np.cumsum([len(one) for one in moments])[:-1]), strict=True):
            of_shard[kind] = part
    return found


class _School:
    """Has what calls teach learnt in the order of the calls."""

    def __init__(
        self, facts: Sequence[ShardFacts], calls: CallTable, learner: CatalogLearner, follower: KeyFollower
    ) -> None:
        self._calls, self._learner, self._follower = calls, learner, follower
        self._lessons = [one.lessons for one in facts]
        # The rows that teach something, in each table, and which lesson that is.
        self._taught = [np.array(one.taught, np.int64).reshape(-1, 2) for one in facts]
        # The table of names that a server stated last: once more it teaches nothing.
        self._names: dict[Place, bytes] = {}

    def take(self, begin: int, tables: _Numbers, rows: _Numbers) -> None:
        """Rows were put into the table."""
        found = []
        for table, taught in enumerate(self._taught):
            places = np.flatnonzero(tables == table)
            own = rows[places]
            is_here = np.isin(taught[:, 0], own)
            at = places[np.searchsorted(own, taught[is_here, 0])]
            found += [
                (place, table, lesson) for place, lesson in zip(at.tolist(), taught[is_here, 1].tolist(), strict=True)
            ]
        for place, table, number in sorted(found):
            lesson = self._lessons[table][number]
            if isinstance(lesson, Lesson):
                if not self._learner.knows(lesson):
                    self._learner.learn(self._calls[begin + place])
            elif self._names.get((lesson.server, lesson.language)) != lesson.digest:
                self._names[lesson.server, lesson.language] = lesson.digest
                self._follower.learn(self._calls[begin + place])
