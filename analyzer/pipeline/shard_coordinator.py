"""Coordinates several processes that read one capture in shards: the result is the same as with one process, in less time.

The streams are sharded by pair of hosts, as `collect` cuts captures (by connection, if there is only one pair). Each process reads
the files, finds packets and puts TCP streams in order, which costs little. It makes calls of the streams of its shard
(`shard_worker`). Then the first process, which has a shard too, merges the tables.

All results of an event have the event's moment, its place among all events. By their moments, events and calls of all shards come
in the order in which one process finds them. Each shard numbers its sessions, logons, channels, handles and reads by itself. They
get the numbers that one process gives them. What servers state about their counters is learnt in that order, too.

Some captures are no sum of their shards: a session is bound from other hosts, shards share an open or a handle, or a limit of the
whole analysis may have been reached. Then `read` gives nothing, and one process has to read the capture. The result never shows how
many processes made it.
"""

from __future__ import annotations

import os
import re
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.core.child_processes import ONE_THREAD, StartedProcess
from analyzer.core.errors import InputError
from analyzer.core.events import Event, Problem
from analyzer.core.limits import Limits
from analyzer.interfaces.pcq.perflib_layer import CatalogLearner, Lesson, Loss
from analyzer.interfaces.winperf.winreg_layer import KeyFollower
from analyzer.pipeline.shard_worker import FIRST_NUMBERS, Dealer, Place, Shard, ShardFacts, ShardTask, pair_of, work
from analyzer.results.analysis import CaptureFacts
from analyzer.results.calls.call_table import CallTable
from analyzer.results.calls.merged_call_tables import CallMerger, MergedTable, MovedCalls, Renumbering
from analyzer.transport.tcp.stream_events import StreamBatch

if TYPE_CHECKING:
    import numpy.typing as npt

    from analyzer.capture.capture_reader import ReadBound

Group = Sequence[Event]
_Numbers: TypeAlias = "npt.NDArray[np.int64]"
# What costs time is PDUs of DCERPC, some 60 us each to the end, and with keys twice as much, and messages to be decrypted; the
# contents of files cost next to nothing. A process that is no copy takes a quarter of a second to start. Of captures that show so
# many of them, and will have so many to their end, two processes are quicker than one.
_COSTLY = re.compile(rb"\x05[\0\1][\0-\x13][\0-\xff]\x10\0\0\0")
_TO_DECRYPT = re.compile(rb"\xfdSMB")
_LEAST_COSTLY, _LEAST_IN_ALL = 2000, 15_000
# Before that is known, no more is kept.
_MOST_HELD = 16 << 20
# The largest share of bytes that one pair of hosts may have, if several processes are to pay.
_MOST_OF_ONE = 0.8
# With more handles than this, a layer forgets some.
_MOST_HANDLES = 1 << 16


class FoundInShards(Struct, frozen=True):
    """The findings in all shards of a capture, equal to those of one process."""

    events: list[Event]
    closed: list[int]
    calls: CallTable
    losses: list[Loss]
    jobs: int


class ProcessReader(StartedProcess):
    """Has another process read a shard of a capture, and receives what it finds."""

    def __init__(self, task: ShardTask) -> None:
        """Raises `OSError` if no process can be started to read the shard."""
        super().__init__(work, task, variables=ONE_THREAD)

    def facts(self) -> ShardFacts | None:
        """Returns what the process found in its shard; None if it failed."""
        found = self._receive()
        return found if isinstance(found, ShardFacts) else None

    def blocks(self) -> Iterator[MovedCalls]:
        while (block := self._receive()) is not None:
            yield block

    def _receive(self) -> Any:
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            raise InputError(
                "a process that decodes calls has ended before its time (out of memory, perhaps)",
                hint="With --jobs 1, one process does it all, in less memory.",
            ) from None


def cores() -> int:
    """Returns how many processes can work on shards at the same time."""
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
        """The groups of events by which it was decided whether shards pay, and all that follow."""
        with closing(groups):
            while self.groups:
                yield self.groups.popleft()
            yield from groups


def preview(groups: Iterator[Group], share_read: Callable[[], float], *, has_keys: bool, always: bool) -> Preview:
    """Takes as many groups of events as the preview of a capture needs. `share_read` returns which part of the capture was read.
    `has_keys` says that encrypted messages may be decrypted. With `always`, several processes read even a small capture. Then only
    its pairs of hosts count, and two are enough."""
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
        if always and len(sizes) > 1:
            break
    by_connection = len(sizes) == 1
    largest = max((connections if by_connection else sizes).values(), default=0)
    pays = costly >= _LEAST_COSTLY and costly >= _LEAST_IN_ALL * share and largest <= _MOST_OF_ONE * size
    return Preview(held, pays or always, by_connection)


class Sharing:
    """The sharing of a capture among `jobs` processes. Without `jobs`, there is one for each core if the capture is large
    enough."""

    def __init__(
        self,
        files: Sequence[Path],
        size: int,
        bound: ReadBound | None,
        keyring: Keyring,
        limits: Limits,
        jobs: int | None,
        *,
        with_links: bool,
    ) -> None:
        self._files, self._size, self._bound = files, size, bound
        self._keyring, self._limits = keyring, limits
        self._jobs, self._with_links = jobs, with_links

    def read(
        self,
        groups: Generator[Group],
        facts: Callable[[], CaptureFacts],
        learner: CatalogLearner,
        follower: KeyFollower,
    ) -> FoundInShards | Generator[Group] | None:
        """Returns what all shards of a capture hold. Returns the streams if one process must go on with them, None if one process
        must read them from the beginning."""
        keyring, limits, count = self._keyring, self._limits, self._jobs or cores()
        seen = preview(
            groups, lambda: facts().bytes / self._size, has_keys=bool(keyring), always=self._jobs is not None
        )
        if seen.pays and count > 1:
            tasks = [
                ShardTask(
                    self._files, self._bound, keyring, limits, number, count, seen.by_connection, self._with_links
                )
                for number in range(1, count)
            ]
            with Shards() as shards:
                if shards.start(tasks):
                    own = Shard(keyring, limits, count)
                    dealer = Dealer(count, by_connection=seen.by_connection)
                    with closing(groups):
                        events = list(dealer.deal(seen.then(groups), 0, own))
                    read = facts()
                    return shards.read(own, (read.frames, read.bytes), events, learner, follower)
        return seen.then(groups)


class Shards:
    """The processes that read the other shards of a capture. They end when the context is left."""

    def __init__(self) -> None:
        self._readers: list[ProcessReader] = []

    def start(self, tasks: Sequence[ShardTask]) -> bool:
        """Starts a process for each shard of the capture; returns whether all could be started."""
        for task in tasks:
            try:
                self._readers.append(ProcessReader(task))
            except OSError:  # no more processes are allowed
                return False
        return True

    def __enter__(self) -> Shards:
        return self

    def __exit__(self, *_: object) -> None:
        for reader in self._readers:
            reader.end()

    def read(
        self,
        own: Shard,
        read: tuple[int, int],
        events: Sequence[tuple[int, Event]],
        learner: CatalogLearner,
        follower: KeyFollower,
    ) -> FoundInShards | None:
        """Merges the shards to the findings in the capture; None if the capture is no sum of its shards. This process has read its
        `own` shard and `read` frames and bytes, and has the events of no shard. `learner` and `follower` learn names. Raises
        `InputError` if a process has ended."""
        found = [own.finish(read), *(reader.facts() for reader in self._readers)]
        facts = [one for one in found if one is not None]
        if len(facts) < len(found) or not _are_a_sum(facts):
            return None
        blocks = [own.blocks(), *(reader.blocks() for reader in self._readers)]
        return _together(facts, blocks, events, learner, follower)


def _are_a_sum(facts: Sequence[ShardFacts]) -> bool:
    """Whether the shards together are what one process would find in the capture."""
    # A file that grows is not the same for all.
    if len({(one.ended_at, one.read) for one in facts}) > 1:
        return False
    if any(one.is_partial for one in facts):
        return False
    if any(isinstance(event, Problem) and event.kind == "limit" for one in facts for _, event in one.events):
        return False
    # Events that only the end completes come layer by layer, and so do channels that begin there.
    if sum(one.has_end for one in facts) > 1:
        return False
    if sum(moment > one.ended_at for one in facts for moment in one.numbered["channels"]) > 1:
        return False
    if sum(len(one.shared.handles) for one in facts) > _MOST_HANDLES:
        return False
    # Calls without a bind may turn out to use handles of others.
    if any(one.has_unbound for one in facts) and any(one.numbered["keys"] for one in facts):
        return False
    return not any(_meet(one, other) or _meet(other, one) for one, other in combinations(facts, 2))


def _together(
    facts: Sequence[ShardFacts],
    blocks: Sequence[Iterator[MovedCalls]],
    own: Sequence[tuple[int, Event]],
    learner: CatalogLearner,
    follower: KeyFollower,
) -> FoundInShards:
    places = _places_of([one.numbered for one in facts])
    renumbered = [Renumbering(place) for place in places]
    events = [*own]
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
    for merged in merger.merge(blocks):
        school.learn_rows(merged.begin, merged.tables, merged.rows)
    return FoundInShards(
        [event for _, event in events],
        [int(place["channels"][channel]) for one, place in zip(facts, places, strict=True) for channel in one.closed],
        calls,
        [
            replace(loss, channel=int(place["channels"][loss.channel]))
            for one, place in zip(facts, places, strict=True)
            for loss in one.losses
        ],
        len(facts),
    )


def _meet(one: ShardFacts, other: ShardFacts) -> bool:
    """Whether two shards of a capture share anything (SMB sessions, opens, handles)."""
    ids = {session_id for session_id, _, _ in other.shared.sessions}
    return bool(
        one.shared.sessions & other.shared.sessions
        or one.shared.bound & ids
        or one.shared.reopened & other.shared.granted
        or one.shared.handles & other.shared.handles
    )


def _places_of(numbered: Sequence[Mapping[str, Sequence[int]]]) -> list[dict[str, _Numbers]]:
    """Returns for each shard and kind of number the numbers of the whole capture, indexed by the shard's own numbers from 0."""
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
    """Passes lessons in the calls of all shards to the learners, in the order of the calls."""

    def __init__(
        self, facts: Sequence[ShardFacts], calls: CallTable, learner: CatalogLearner, follower: KeyFollower
    ) -> None:
        self._calls, self._learner, self._follower = calls, learner, follower
        self._lessons = [one.lessons for one in facts]
        # The rows that teach something, in each table, and which lesson that is.
        self._taught = [np.array(one.taught, np.int64).reshape(-1, 2) for one in facts]
        # The table of names that a server stated last: once more it teaches nothing.
        self._names: dict[Place, bytes] = {}

    def learn_rows(self, begin: int, tables: _Numbers, rows: _Numbers) -> None:
        """Learns from the rows of calls that the shards just added to the table."""
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
