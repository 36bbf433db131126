"""Follows query handles through the calls of a capture: the counters that each one holds, and the counter of each block in its data
answers.

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

Calls may come some at a time (`add`), each time with the moment up to which the capture was read (`until`).

Calls overlap in time: a data answer describes a handle at some moment between its request and its response. So the begin and the
end of each call are put in order by time, and

* ValidateCounters takes effect when its answer comes. A poll, an info or another ValidateCounters on the handle whose time
  overlaps with it may have seen the handle before or after: nothing is concluded from it, and its blocks have no names.
* ValidateCounters without a readable answer may have done anything to its handle from its request on. A sealed one may have done
  so to all handles of its channel.
* So may a call of which a signature does not fit, whatever it seems to be: others may have changed it. Nothing is concluded from
  its answer.
* So may a call that was captured in another order than it was sent in (`disordered_rows`).
* A handle that is used while its opening is under way is that of this opening. What it holds is not known then.
* A request that was lost (`Loss`) may have been a ValidateCounters on any handle of its channel. Clients count their calls,
  so the next request on the channel states which numbers are missing. If the answers to all of these are there and none can
  be one of ValidateCounters, nothing was changed.
* An answer of QueryCounterInfo also explains earlier polls, back to the last change of the handle.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import numpy as np
from msgspec import Struct, field

from analyzer.core.array_functions import distinct
from analyzer.core.events import Moment
from analyzer.interfaces import buffers
from analyzer.interfaces.pcq.perflib_layer import Loss, identifiers_of, may_answer_validate_counters
from analyzer.results.calls.call import Call, handle_of
from analyzer.results.calls.call_table import NO_HANDLE, CallTable, altered_rows, disordered_rows
from analyzer.results.calls.query_state import Held, Identifier, InOrder, QueryView
from analyzer.results.methods.perflib import COUNTERS, COUNTERSET, ERROR, INSTANCES, INTERFACE, SINGLE, Opnum
from analyzer.results.records.record_types import Endpoint

if TYPE_CHECKING:
    import numpy.typing as npt

    from analyzer.interfaces.buffers.struct_layouts import BlockTypes


# ----------------------------------------------------------------------------------------------------------- query handles


_Key = tuple[str, int, int, str | None]

_NO_BLOCKS: Mapping[int, Identifier] = MappingProxyType({})

_NOT_OPENED = "the opening of the handle is not in the capture, and no answer of QueryCounterInfo lists what it holds"
UNREAD = "a ValidateCounters that may have changed the handle could not be read"
ALTERED = "a signature of a call that may have changed the handle does not fit, so others may have changed the call"
DISORDERED = "which of two calls came first is not certain: the order of their frames contradicts that of their bytes"
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
    # The place of the last call that began on it.
    used_at: int = -1
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
        """Whether following the query handle through its calls (a replay) tells the counter of each block in its answers. A single
        counter has only one possible block."""
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
        """Whether the query handle's counters are known by a replay alone, which a data answer could contradict."""
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

    def is_used_since(self, server: Endpoint, handle: str, at: int) -> bool:
        """Whether a query handle with this UUID was used by a call behind the place `at`."""
        query = self._queries.get((server.ip, handle))
        return query is not None and query.used_at > at

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
    """Returns for an identifier that a query handle holds the types of block that can answer it. A wildcard name finds
    one instance if the counterset has only one. A name that is empty or absent may come with an instance id of "any"."""
    one, many = (SINGLE, INSTANCES) if identifier.names_one_counter else (COUNTERS, COUNTERSET)
    if identifier.instance and identifier.names_one_instance:
        return ERROR, one
    return ERROR, one, many


# --------------------------------------------------------------------------------------------------------------- following


# What is known of lost requests.
_Verdict = Literal["harmless", "unknown"]
# The epoch of a handle that nobody polled.
_NO_POLLS = (-1, array("I"))


class _Watch(Struct):
    """A call under way: its query handle, and the handle's epoch when the call began."""

    query: Query
    epoch: int


# The order of events at the same time.
_END, _LOSS, _BEGIN, _END_AT_ONCE = range(4)


# About so many calls are put in order at a time.
_AT_ONCE = 1 << 16
_Numbers: TypeAlias = "npt.NDArray[np.int64]"
_Positions: TypeAlias = "npt.NDArray[np.int64] | npt.NDArray[np.uint32]"


def _begin_moments(calls: CallTable, taken: _Positions) -> tuple[_Numbers, _Numbers]:
    """Returns times and frames of the begins of the calls by which query handles are followed, at these positions."""
    return calls.column("begin_time")[taken], calls.column("begin_frame")[taken]


def _end_moments(calls: CallTable, taken: _Positions) -> tuple[_Numbers, _Numbers, npt.NDArray[np.int8]]:
    """Returns times, frames and kinds of the ends of the calls by which query handles are followed, at these positions. An answer
    that was captured before its request ends together with it."""
    begun, asked = _begin_moments(calls, taken)
    ended, answered = calls.column("end_time")[taken], calls.column("end_frame")[taken]
    later = (ended > begun) | ((ended == begun) & (answered > asked))
    kinds = np.where(later, _END, _END_AT_ONCE).astype(np.int8)
    return np.maximum(ended, begun), np.where(later, answered, asked), kinds


def _end_times(calls: CallTable, taken: _Positions) -> _Numbers:
    """Returns the times at which the calls end by which query handles are followed (see `_end_moments`)."""
    times: _Numbers = calls.column("end_time")[taken]
    np.maximum(times, calls.column("begin_time")[taken], out=times)
    return times


def _is_before(times: _Numbers, frames: _Numbers, moment: Moment) -> npt.NDArray[np.bool_]:
    """Returns which of these begins or ends of calls on query handles are before a moment up to which the handles are followed."""
    found: npt.NDArray[np.bool_] = (times < moment[0]) | ((times == moment[0]) & (frames < moment[1]))
    return found


def _time_windows(bounds: _Numbers, times: _Numbers) -> npt.NDArray[np.uint32]:
    """Returns, to follow query handles from bound to bound, how many of the time bounds are not after each time of a call."""
    return np.searchsorted(bounds, times, side="right").astype(np.uint32)


class Following:
    """Follows the query handles of a capture from call to call. The place of a call counts from 0, in the order of the calls."""

    def __init__(self, calls: CallTable, losses: list[Loss]) -> None:
        """`losses` are lost requests on channels. They are removed from the list once they are handled."""
        self._calls, self._losses = calls, losses
        # The place of the first call that is there, and from it on: positions among the calls as they were taken, and positions
        # of the states of their handles, -1 for none.
        self._first = 0
        self._order = array("I")
        self.views = array("i")
        self.states: list[QueryView] = []
        # The places of calls that are still to begin, and of those that are still to end.
        self._to_begin = self._to_end = np.empty(0, np.uint32)
        self._book = QueryHandles()
        # The state that was given out last for each handle, by number: the same one serves as long as nothing changes.
        self._latest: dict[int, int] = {}
        self._watches: dict[int, _Watch] = {}
        # The places of calls from which nothing is concluded, and why.
        self._unsound: dict[int, str] = {}
        # ValidateCounters under way, by the number of their handle.
        self._changing: dict[int, int] = {}
        # The polls of a handle since it last changed, by its number: the epoch they belong to, and their places.
        self._polls: dict[int, tuple[int, array[int]]] = {}
        self._counts = _Counts()
        # The place of the call that was looked at last, and the call.
        self._last: tuple[int, Call] | None = None

    def add(self, order: Sequence[int]) -> None:
        """Takes more calls in order, to follow their query handles; `order` has their positions in the table."""
        calls, taken = self._calls, np.asarray(order, np.uint32)
        begin = self._first + len(self._order)
        places = np.arange(begin, begin + len(taken), dtype=np.uint32)
        self._order.extend(order)
        self.views.extend(array("i", [-1]) * len(taken))
        is_perflib, is_asked = calls.is_of(INTERFACE)[taken], calls.column("request_side")[taken] >= 0
        is_answered = calls.column("end_frame")[taken] >= 0
        for rows, why in ((disordered_rows(calls), DISORDERED), (altered_rows(calls), ALTERED)):
            self._unsound.update(dict.fromkeys(places[rows[taken] & is_perflib].tolist(), why))
        self._to_begin = np.concatenate([self._to_begin, places[is_perflib | is_asked]])
        self._to_end = np.concatenate([self._to_end, places[is_perflib & is_answered]])
        for place in places[~is_asked].tolist():
            self._counts.take_answer(self._call(place))

    def until(self, before: Moment | None) -> None:
        """Follows the query handles from where they were followed last up to a moment (None: to the end)."""
        for kind, at, handle, channel, call_id in chain.from_iterable(self._steps(before)):
            if kind == _LOSS:
                self._book.lost(at)
                self._counts.lost(at)
            elif kind == _BEGIN:
                self._begins(at, handle, channel, call_id)
            elif handle >= 0:
                self._polled(at)
            elif handle != NO_HANDLE:
                self._ends(at)

    @property
    def settled(self) -> int:
        """Returns up to where query handles are followed for good: the place of the first call under way, which is still to begin
        or to end; without one, that behind the last call."""
        waiting = [int(places.min()) for places in (self._to_begin, self._to_end) if len(places)]
        return min(waiting, default=self._first + len(self._order))

    def row_of(self, at: int) -> int:
        """Returns the row in the table of calls of a call by which query handles are followed, by its place."""
        return self._order[at - self._first]

    def view(self, at: int) -> QueryView | None:
        """Returns the state in which a call saw its query handle, as that was followed; None if it has none."""
        view = self.views[at - self._first]
        return self.states[view] if view >= 0 else None

    def moved(self, first: int, calls: CallTable, order: Sequence[int]) -> None:
        """Moves the followed query handles to another table of calls. Forgets the calls before the place `first`; `order` has the
        positions of the others in the new table."""
        views, states, known = array("i"), list[QueryView](), dict[int, int]()
        for view in self.views[first - self._first :]:
            if view >= 0 and view not in known:
                known[view] = len(states)
                states.append(self.states[view])
            views.append(known.get(view, -1))
        self._calls, self._first, self._order = calls, first, array("I", order)
        self.views, self.states, self._latest, self._last = views, states, {}, None
        polled = {
            number: (epoch, array("I", [at for at in polls if at >= first]))
            for number, (epoch, polls) in self._polls.items()
        }
        self._polls = {number: polls for number, polls in polled.items() if polls[1]}
        self._unsound = {at: why for at, why in self._unsound.items() if at >= first}

    def _call(self, at: int) -> Call:
        # Most calls end before another one begins.
        last = self._last
        if last is None or last[0] != at:
            last = self._last = at, self._calls[self.row_of(at)]
        return last[1]

    def _steps(self, before: Moment | None) -> Iterator[Iterable[tuple[int, int, int, int, int]]]:
        """Yields the steps in the life of the followed query handles before a moment, in order, some thousand at a time. A step has
        a kind, the place of the call (of a loss the channel), and the call's `handle` column, channel and call id."""
        calls, order = self._calls, np.frombuffer(self._order, np.uint32)
        begins, ends, losses = self._to_begin, self._to_end, list(self._losses)
        if before is not None:
            has_begun = _is_before(*_begin_moments(calls, order[begins - self._first]), before)
            has_ended = _is_before(*_end_moments(calls, order[ends - self._first])[:2], before)
            losses = [loss for loss in losses if loss.after < before]
            self._losses[:] = [loss for loss in self._losses if loss.after >= before]
            self._to_begin, self._to_end = begins[~has_begun], ends[~has_ended]
            begins, ends = begins[has_begun], ends[has_ended]
        else:
            self._losses.clear()
            self._to_begin = self._to_end = np.empty(0, np.uint32)
        lost = np.array([(*loss.after, loss.channel) for loss in losses], np.int64).reshape(-1, 3)
        # One window of time after the other: nothing as long as the capture is sorted, or held in memory.
        bounds = distinct(calls.column("first_time")[order[_AT_ONCE::_AT_ONCE]])
        begin_windows = _time_windows(bounds, calls.column("begin_time")[order[begins - self._first]])
        end_windows = _time_windows(bounds, _end_times(calls, order[ends - self._first]))
        lost_windows = _time_windows(bounds, lost[:, 0])
        columns = calls.column("handle"), calls.by_context("channel"), calls.column("call_id")
        for window in range(len(bounds) + 1):
            begun, ended = begins[begin_windows == window], ends[end_windows == window]
            lost_now = lost[lost_windows == window]
            times, frames = _begin_moments(calls, order[begun - self._first])
            later_times, later_frames, kinds = _end_moments(calls, order[ended - self._first])
            kinds = np.concatenate(
                [np.full(len(begun), _BEGIN, np.int8), kinds, np.full(len(lost_now), _LOSS, np.int8)]
            )
            places = np.concatenate([begun, ended, lost_now[:, 2]])
            times = np.concatenate([times, later_times, lost_now[:, 0]])
            frames = np.concatenate([frames, later_frames, lost_now[:, 1]])
            steps = np.lexsort((places, kinds, frames, times))
            for first in range(0, len(steps), 4096):
                some = steps[first : first + 4096]
                is_of_call = kinds[some] != _LOSS
                stated = np.zeros((len(columns), len(some)), np.int64)
                stated[:, is_of_call] = [column[order[places[some][is_of_call] - self._first]] for column in columns]
                yield zip(kinds[some].tolist(), places[some].tolist(), *stated.tolist(), strict=True)

    def _is(self, at: int, view: QueryView) -> None:
        """Notes the state of the query handle that a call saw."""
        latest = self._latest.get(view.number)
        if latest is None or self.states[latest] is not view:
            latest = self._latest[view.number] = len(self.states)
            self.states.append(view)
        self.views[at - self._first] = latest

    # A call begins

    def _begins(self, at: int, handle: int, channel: int, call_id: int) -> None:
        if (why := self._unsound.get(at)) is not None:
            self._book.doubt(channel, why)
        if handle >= 0 or handle == NO_HANDLE:
            # Only this is needed of an answered poll, or of a call without a handle.
            if (verdict := self._counts.seen(channel, call_id)) is not None:
                self._judged(channel, verdict)
            if handle == NO_HANDLE:
                return
            server, name = self._calls.shared.handles[handle]
            query = self._book.query_of(server, channel, name)
            query.used_at = at
            self._watches[at] = _Watch(query, query.epoch)
            return
        call = self._call(at)
        if call.request is not None and (verdict := self._counts.seen(channel, call_id)) is not None:
            self._judged(channel, verdict)
        if not call.is_perflib:
            return
        opnum = call.opnum
        asked = handle_of(call.request, "hQuery") or handle_of(call.request, "phQuery")
        if asked is None:
            self._begins_unnamed(call)
            return
        query = self._book.query_of(call.server, call.channel, asked)
        query.used_at = at
        if opnum == Opnum.VALIDATE_COUNTERS:
            self._is(at, query.view())
            if call.state != "complete" or call.fault is not None or at in self._unsound:
                # A call that ended in a fault should change nothing, but [MS-PCQ] does not say at which point it failed.
                query.forget(self._unsound.get(at, UNREAD))
                return
            query.changed()
            self._changing[query.number] = self._changing.get(query.number, 0) + 1
        elif opnum != Opnum.QUERY_COUNTER_DATA or call.response is None:
            self._is(at, query.view())
        self._watches[at] = _Watch(query, query.epoch)

    def _judged(self, channel: int, verdict: _Verdict) -> None:
        """Settles the lost requests of a channel by the verdict that a later request allows: do they change a query handle?"""
        if verdict == "harmless":
            self._book.found(channel)
        else:
            self._book.doubt(channel)

    def _begins_unnamed(self, call: Call) -> None:
        """Notes the begin of a call that names no query handle or was not read: it may have changed a handle of its channel."""
        channel, opnum = call.channel, call.opnum
        is_unknown = opnum is None and (call.request is not None or may_answer_validate_counters(call))
        if is_unknown or opnum == Opnum.VALIDATE_COUNTERS:
            self._book.doubt(channel)

    # A call ends

    def _ends(self, at: int) -> None:
        call = self._call(at)
        assert call.is_perflib
        opnum = call.opnum
        succeeded, why = call.state == "complete" and call.status == 0, self._unsound.get(at)
        if opnum == Opnum.OPEN_QUERY_HANDLE and succeeded:
            if (given := handle_of(call.response, "phQuery")) is not None:
                if why is None and self._book.is_used_since(call.server, given, at):
                    why = DISORDERED
                given_out = self._book.opened if why is None else self._book.query_of
                query = given_out(call.server, call.channel, given)
                if why is not None:
                    query.forget(why)
                self._is(at, query.view())
            return
        succeeded &= why is None
        if (watch := self._watches.pop(at, None)) is None:
            return
        query = watch.query
        query.sync()
        if opnum == Opnum.VALIDATE_COUNTERS:
            self._validated(at, call, watch, succeeded=succeeded)
        elif opnum == Opnum.CLOSE_QUERY_HANDLE and succeeded:
            query.closed()
        elif opnum == Opnum.QUERY_COUNTER_INFO and succeeded:
            self._informed(at, call, watch)

    def _is_alone(self, watch: _Watch) -> bool:
        """Whether no other call changed the query handle while this call was under way."""
        return watch.query.epoch == watch.epoch and not self._changing.get(watch.query.number)

    def _is_unclear(self, at: int, query: Query, why: str = TOGETHER) -> None:
        """Notes that the state of the query handle that a call saw is not known."""
        view = query.shown or query.view()
        self._is(at, QueryView(view.handle, view.number, {}, None, unknown=why))

    def _validated(self, at: int, call: Call, watch: _Watch, *, succeeded: bool) -> None:
        query = watch.query
        self._changing[query.number] -= 1
        if not (is_alone := self._is_alone(watch)):
            self._is_unclear(at, query)
        identifiers = identifiers_of(call.response) if succeeded else ()
        if identifiers is None:
            query.forget(UNREAD)
            return
        assert call.request is not None
        if succeeded:
            query.validated(identifiers, add=call.request.params.get("dwAdd") != 0)
            if not is_alone:
                query.unorder(TOGETHER)

    def _informed(self, at: int, call: Call, watch: _Watch) -> None:
        query = watch.query
        identifiers, is_alone = identifiers_of(call.response), self._is_alone(watch)
        if not is_alone:
            self._is_unclear(at, query)
        if identifiers is None:
            query.forget(UNREAD)
        elif is_alone:
            query.informed(identifiers)
            for earlier in self._since(query):
                if self.states[self.views[earlier - self._first]].id_source != "index":
                    self._is(earlier, query.view())

    def _polled(self, at: int) -> None:
        """Settles which counters a query handle held when a poll of it was answered."""
        if (watch := self._watches.pop(at, None)) is None:
            return
        query = watch.query
        if query.happened.count != query.looked:
            query.sync()
        if self._unsound and self._unsound.get(at) == DISORDERED:
            self._is_unclear(at, query, DISORDERED)
            return
        if query.epoch != watch.epoch or (self._changing and not self._is_alone(watch)):
            self._is_unclear(at, query)
            return
        view = query.shown or query.view()
        epoch, polls = self._polls.get(query.number, _NO_POLLS)
        if epoch != query.epoch:
            polls = self._since(query)
        polls.append(at)
        # By the list that QueryCounterInfo gave, nothing is at stake.
        if query.by_index is not None or not query.is_at_stake:
            self._is(at, view)
        elif (answer := _polled_types(self._call(at))) is not None and query.contradicted(answer):
            # The same list was polled before, and is no more certain for that.
            for earlier in polls:
                self._is(earlier, query.view())
        else:
            self._is(at, query.view())

    def _since(self, query: Query) -> array[int]:
        """Returns the polls on a followed query handle since it last changed, by their places."""
        known = self._polls.get(query.number)
        if known is None or known[0] != query.epoch:
            known = self._polls[query.number] = (query.epoch, array("I"))
        return known[1]


class _Counts:
    """Counts the lost calls of each channel, which may have changed query handles, by the call ids that clients give."""

    def __init__(self) -> None:
        self._last: dict[int, int] = {}
        # Channels that lost something; those whose next request is still to come.
        self._lossy: set[int] = set()
        self._waiting: set[int] = set()
        # Channels whose numbers do not grow call by call prove nothing.
        self._useless: set[int] = set()
        # Answers whose request was lost, and whether they can be those of ValidateCounters.
        self._answers: dict[tuple[int, int], bool] = {}

    def take_answer(self, call: Call) -> None:
        """Takes the answer of a call whose request was lost, which may have changed a query handle."""
        place = call.channel, call.call_id
        self._answers[place] = _may_have_changed(call) or place in self._answers

    def lost(self, channel: int) -> None:
        self._lossy.add(channel)
        self._waiting.add(channel)

    def seen(self, channel: int, call_id: int) -> _Verdict | None:
        """Takes the next request of a channel with query handles. Returns what is known of the requests lost before it, None if
        none was lost."""
        last = self._last.get(channel)
        self._last[channel] = call_id
        if last is not None and last >= call_id:
            self._useless.add(channel)
        if channel not in self._lossy:
            return None
        is_first = channel in self._waiting
        self._waiting.discard(channel)
        if last is None or channel in self._useless:
            return "unknown" if is_first else None
        missing = range(last + 1, call_id)
        # A client that skips more numbers than there are answers does not count by one.
        if len(missing) > len(self._answers) or any(self._answers.get((channel, one), True) for one in missing):
            return "unknown"
        return "harmless" if is_first else None


def _may_have_changed(call: Call) -> bool:
    """Whether an answer whose request was lost may be one of ValidateCounters, which changes query handles."""
    return call.interface.uuid in (None, INTERFACE) and may_answer_validate_counters(call)


_BEGINNING = 256


def _polled_types(call: Call) -> BlockTypes | None:
    """Returns of a poll on a query handle the block types that may contradict what the handle holds, None if it has no answer."""
    side = call.response
    assert side is not None
    if side.buffer is None or call.status != 0:
        return None
    # Where a few blocks are all there are, the beginning describes them; a long answer is not read from the spill file for that.
    beginning = buffers.block_types(side.buffer.part(0, _BEGINNING))
    if beginning is None or len(beginning.types) == beginning.promised:
        return beginning
    return buffers.block_types(side.buffer.data)
